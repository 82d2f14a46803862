# What becomes of each function where the system has little memory left:
# `Rscript memory-limits.R [limits [device [calls [name]]]]`, where `name` is that of a file of
# results, for some calls. CUDAFACTOR_WORKERS calls at a time are looked at.
#
# Each call has a separate process, which has loaded the package and reads operands that another one
# has made, so that it has not computed anything. Forks of that run the call, each under a limit of
# address space (RLIMIT_AS, that of `ulimit -v`) from hardly more than it has to more than it needs.
# An outcome is "ok", "memory" (a condition of memory of this package), "base" (base R's "cannot
# allocate"); all else is a fault: "died", "hung", another class of condition, changed operands, or
# a session that is of no use afterwards.

limits <- 40L
device <- "cpu"
args <- commandArgs(TRUE)
if (length(args) > 0L) limits <- as.integer(args[[1]])
if (length(args) > 1L) device <- args[[2]]
only <- if (length(args) > 2L) strsplit(args[[3]], ",")[[1]]
name <- if (length(args) > 3L) args[[4]] else ""

# R compiles a function at its second call, which takes a megabyte of stack: where that cannot grow
# R jumps to its prompt.
invisible(compiler::enableJIT(0L))
library(cudafactor)
suppressPackageStartupMessages(library(Matrix))
options(cudafactor.device = device)
# Loaded while there is memory.
kill <- function(pid) tools::pskill(pid, tools::SIGKILL)
invisible(loadNamespace("tools"))
# The stack stays mapped once it has grown; where it cannot grow R jumps to its prompt, too. Forks
# inherit it.
deepen <- function(n) if (n > 0L) deepen(n - 1L)
options(expressions = 50000L)
deepen(3000L)

# Bytes beyond those of the forked process. A thread's first product takes twice the last cache.
last_cache <- tryCatch({
  size <- readLines("/sys/devices/system/cpu/cpu0/cache/index3/size")
  as.numeric(sub("K$", "", size)) * 1024
}, error = function(e) 0, warning = function(e) 0)
least <- 4 * 2^20
most <- 800 * 2^20 + 4 * last_cache
patience <- 60

folder <- tempfile("limits")
dir.create(folder)
path <- function(name) file.path(folder, paste0(name, "-", Sys.getpid()))

square <- function(n = 1024L) {
  set.seed(1)
  matrix(rnorm(n * n), n)
}
definite <- function(n = 1024L) diag(n) * n + crossprod(matrix(rnorm(4 * n), 4))
factor_of <- function(n = 1024L) gpu_chol(definite(n), device = "cpu")
grid <- function(k) {
  one <- Matrix::bandSparse(k, k = 0:1, diagonals = list(rep(2, k), rep(-1, k - 1)),
    symmetric = TRUE)
  eye <- Matrix::Diagonal(k)
  Matrix::forceSymmetric(kronecker(one, eye) + kronecker(eye, one))
}
image <- function(k) {
  seeds <- matrix(0L, k, k)
  seeds[1, ] <- 1L
  seeds[k, ] <- 2L
  list(x = matrix(sin(seq_len(k * k) / 50), k), s = seeds)
}
program <- function(m = 400L, k = 800L) {
  set.seed(2)
  a <- matrix(rnorm(m * k), m)
  list(a = a, b = drop(a %*% rep(1, k)), c = abs(rnorm(k)))
}
stored <- function(x, triangle = NULL) {
  file <- tempfile(tmpdir = folder)
  tile_matrix(x, file, triangle = triangle, device = "cpu")
  file
}
factored <- function(x) {
  file <- tempfile(tmpdir = folder)
  chol_file(tile_matrix(x, tempfile(tmpdir = folder), triangle = TRUE, device = "cpu"), file,
    device = "cpu")
  file
}
saved <- function(x) {
  file <- tempfile(tmpdir = folder)
  gpu_save(as_gpu(x, device = "cpu"), file)
  file
}
written <- function(x) {
  file <- tempfile(tmpdir = folder, fileext = ".npy")
  write_matrix_file(tile_matrix(x, tempfile(tmpdir = folder), device = "cpu"), file)
  file
}
# A linear program of n variables with a row each.
mps <- function(n) {
  file <- tempfile(tmpdir = folder, fileext = ".mps")
  k <- seq_len(n)
  writeLines(c(
    "NAME many", "ROWS", " N cost", paste0(" L r", k), "COLUMNS",
    sprintf(" x%d cost 1 r%d 2", k, k), "RHS", sprintf(" b r%d 3", k), "ENDATA"
  ), file)
  file
}
cov2 <- function(n) lazy_covariance(matrix(seq_len(2 * n) %% 97, n), range = 5, nugget = 1)

# The call; operands, which another process makes; names of those that are files of tiles to be
# opened, and of those that stay on the device.
case <- function(call, ..., files = NULL, there = NULL) {
  list(call = substitute(call), operands = substitute(list(...)), files = files, there = there)
}
cases <- list(
  gpu_matmult = case(gpu_matmult(x, x), x = square()),
  gpu_crossprod = case(gpu_crossprod(x), x = square()),
  gpu_tcrossprod = case(gpu_tcrossprod(x), x = square()),
  gpu_matmult_single = case(gpu_matmult(x, x, precision = "single"), x = square()),
  gpu_chol = case(gpu_chol(x), x = definite(2000L)),
  gpu_chol_pivot = case(gpu_chol(x, pivot = TRUE), x = definite()),
  gpu_chol_batch = case(gpu_chol(x), x = array(diag(8) + 1, c(8, 8, 20000))),
  gpu_chol_list = case(gpu_chol(x), x = rep(list(definite(200L)), 40)),
  gpu_chol2inv = case(gpu_chol2inv(r), r = factor_of()),
  gpu_determinant = case(gpu_determinant(x), x = square()),
  gpu_lu = case(gpu_lu(x), x = square()),
  gpu_eigen = case(gpu_eigen(x, FALSE), x = square(300L)),
  gpu_eigen_symmetric = case(gpu_eigen(x, TRUE), x = square(500L)),
  gpu_eigen_batch = case(gpu_eigen(x), x = array(diag(8) + 1, c(8, 8, 20000))),
  gpu_eigen_few = case(gpu_eigen(x, TRUE, k = 3), x = definite(2000L)),
  gpu_eigen_sparse = case(gpu_eigen(x, k = 3), x = grid(200L)),
  gpu_eigen_file = case(gpu_eigen(x, k = 3), x = stored(definite(), TRUE), files = "x"),
  gpu_svd = case(gpu_svd(x), x = square(500L)),
  gpu_svd_few = case(gpu_svd(x, k = 3), x = square(2000L)),
  gpu_norm = case(gpu_norm(x, "2"), x = square(500L)),
  gpu_prcomp = case(gpu_prcomp(x), x = square(500L)),
  gpu_ginv = case(gpu_ginv(x), x = square(500L)),
  lu_expand = case(lu_expand(f), f = gpu_lu(square(), device = "cpu")),
  gpu_solve = case(gpu_solve(x, x), x = square()),
  gpu_backsolve = case(gpu_backsolve(r, x), r = factor_of(), x = square()),
  gpu_forwardsolve = case(gpu_forwardsolve(t(r), x), r = factor_of(), x = square()),
  gpu_qr = case(gpu_qr(x), x = square()),
  gpu_qr_lapack = case(gpu_qr(x, LAPACK = TRUE), x = square()),
  gpu_qr_deficient = case(gpu_qr(x), x = cbind(square(700L), square(700L))),
  gpu_qr.Q = case(gpu_qr.Q(q), q = gpu_qr(square(), device = "cpu")),
  gpu_qr.qy = case(gpu_qr.qy(q, x), q = gpu_qr(square(), device = "cpu"), x = square()),
  gpu_qr.qty = case(gpu_qr.qty(q, x), q = gpu_qr(square(), device = "cpu"), x = square()),
  gpu_lm_fit = case(gpu_lm_fit(x, y), x = matrix(rnorm(2e6), 20000), y = rnorm(20000)),
  gpu_lm_fit_batch = case(gpu_lm_fit(x, y), x = array(rnorm(2e6), c(50, 4, 10000)),
    y = array(rnorm(5e5), c(50, 1, 10000))),
  gpu_covariance = case(gpu_covariance(x), x = matrix(seq_len(3000), 1500)),
  chol_update = case(chol_update(r, v), r = factor_of(), v = square()[, 1:8]),
  chol_downdate = case(chol_downdate(r, v), r = factor_of(), v = square()[, 1:4] / 100),
  chol_insert = case(chol_insert(r, 5, c(rep(0, 4), 1e4, rep(0, 1020))), r = factor_of()),
  chol_drop = case(chol_drop(r, 5), r = factor_of()),
  chol_gpus = case(chol_gpus(x), x = definite()),
  tile_matrix = case(tile_matrix(x, path("t")), x = definite()),
  tile_matrix_covariance = case(tile_matrix(x, path("c")), x = cov2(1500L)),
  chol_file = case(chol_file(x, path("f")), x = stored(cov2(1500L)), files = "x"),
  chol_file_of_covariance = case(chol_file(tile_matrix(x, path("g"))), x = cov2(1500L)),
  chol_solve = case(chol_solve(r, x), r = factor_of(), x = square()),
  chol_solve_file = case(chol_solve(r, x), r = factored(definite()), x = square(), files = "r"),
  chol2inv_diag = case(chol2inv_diag(r), r = factored(definite()), files = "r"),
  chol_update_file = case(chol_update(r, v, file = path("u")), r = factored(definite()),
    v = square()[, 1:8], files = "r"),
  tile_matrix_product = case(gpu_matmult(x, y), x = stored(definite()), y = square(), files = "x"),
  tile_matrix_dense = case(as.matrix(x), x = stored(definite()), files = "x"),
  open_tile_matrix = case(open_tile_matrix(f), f = stored(definite())),
  write_matrix_file = case(write_matrix_file(x, path("w.npy")), x = stored(definite()),
    files = "x"),
  pcg_ic0 = case(pcg(A, b), A = grid(200L), b = rep(1, 40000)),
  pcg_jacobi = case(pcg(A, b, M = "jacobi"), A = grid(200L), b = rep(1, 40000)),
  pcg_amg = case(pcg(A, b, M = "amg"), A = grid(200L), b = rep(1, 40000)),
  pcg_direct = case(pcg(A, b, method = "direct"), A = grid(200L), b = rep(1, 40000)),
  pcg_dense = case(pcg(A, b), A = definite(), b = rep(1, 1024)),
  ichol = case(ichol(A), A = grid(200L)),
  ichol_droptol = case(ichol(A, droptol = 1e-3), A = grid(200L)),
  lp_ipm_dense = case(lp_ipm(p$c, p$a, rep("==", nrow(p$a)), p$b), p = program()),
  lp_ipm_sparse = case(lp_ipm(p$c, p$a, rep("==", nrow(p$a)), p$b),
    p = {
      p <- program()
      p$a <- methods::as(p$a * (abs(p$a) > 2), "CsparseMatrix")
      p$b <- as.numeric(p$a %*% rep(1, 800))
      p
    }),
  random_walker = case(random_walker(i$x, i$s), i = image(400L)),
  random_walker_direct = case(random_walker(i$x, i$s, method = "direct", prob = TRUE),
    i = image(400L)),
  random_walker_cg = case(random_walker(i$x, i$s, method = "cg"), i = image(400L)),
  random_walker_system = case(random_walker_system(i$x, i$s), i = image(400L)),
  as_gpu = case(as_gpu(x), x = square()),
  as.matrix = case(as.matrix(g), g = square(), there = "g"),
  arithmetic = case(exp(g) + g * 2, g = square(), there = "g"),
  index = case(g[1:500, ], g = square(), there = "g"),
  bind = case(cbind(g, g), g = square(), there = "g"),
  transpose = case(t(g), g = square(), there = "g"),
  sums = case(c(sum(g), colSums(g)), g = square(), there = "g"),
  product = case(g %*% g, g = square(), there = "g"),
  chol_resident = case(chol(g), g = definite(), there = "g"),
  solve_resident = case(solve(g, g), g = definite(), there = "g"),
  qr_resident = case(qr.coef(qr(g), g), g = square(), there = "g"),
  determinant_resident = case(determinant(g), g = square(), there = "g"),
  eigen_resident = case(eigen(g), g = definite(500L), there = "g"),
  svd_resident = case(svd(g), g = square(500L), there = "g"),
  gpu_save = case(gpu_save(g, path("s")), g = square(), there = "g"),
  gpu_restore = case(gpu_restore(f), f = saved(square())),
  lazy_covariance = case(lazy_covariance(x, range = 5), x = matrix(seq_len(2e6), 1e6)),
  matrix_file = case(tile_matrix(matrix_file(f), path("m")), f = written(definite())),
  lp_read_mps = case(lp_read_mps(f), f = mps(50000L)),
  # Without base R's products: OpenBLAS waits for ever where it has no memory for its buffers.
  gpu_benchmark = case(gpu_benchmark("lu", n = 256, against = "cpu", seconds = 1), x = 1),
  about_devices = case(list(gpu_available(), gpu_info(), gpu_sitrep(), gpu_max_n("chol"), gpu_mem(),
    gpu_free(), gpu_last_device()), x = 1)
)

address_space <- function() {
  line <- grep("^VmSize", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) * 1024
}

# Of all numbers among the operands, to see whether they change.
digest_of <- function(x) {
  if (is.numeric(x)) sum(x) else if (is.list(x) && !is.object(x))
    vapply(x, function(e) sum(digest_of(e)), 0) else 0
}

class_of <- function(e) {
  class <- class(e)[[1]]
  if (class %in% c("cudafactor_error_host_memory", "cudafactor_error_device_memory"))
    return("memory")
  text <- conditionMessage(e)
  if (grepl("cannot allocate|memory exhausted|unable to load shared object|could not allocate",
    text)) return("base")
  paste0(class, ": ", text)
}

# NULL, or the error.
attempt <- function(expr) tryCatch({
  suppressWarnings(expr)
  NULL
}, error = identity)

outcome <- function(error) if (is.null(error)) "ok" else class_of(error)

# In a forked process.
under_limit <- function(case, env, extra, out) {
  # Opened while there is memory.
  to <- file(out, "w")
  # A fork has no use for its parent's GPU.
  for (x in case$there) env[[x]] <- as_gpu(env[[x]])
  before <- digest_of(as.list(env))
  invisible(gc())
  # What the script itself needs when the call has taken all there is.
  ballast <- numeric(2^20)
  # The fork's own size: R has taken memory since it began. Without any left R could not even call a
  # function.
  system2("prlimit", c("--pid", Sys.getpid(), sprintf("--as=%.0f", address_space() + extra)))
  error <- attempt(eval(case$call, env))
  ballast <- NULL
  got <- tryCatch({
    invisible(gc())
    got <- outcome(error)
    after <- outcome(attempt(gpu_crossprod(diag(3), device = "cpu")))
    if (!after %in% c("ok", "memory", "base")) got <- paste("afterwards", after)
    if (!identical(digest_of(as.list(env)), before)) got <- "operands changed"
    got
  }, error = class_of)
  writeLines(got, to)
  close(to)
}

lives <- function(pid) {
  state <- tryCatch(suppressWarnings(readLines(sprintf("/proc/%d/stat", pid))),
    error = function(e) character())
  length(state) > 0L && !grepl(") [ZX] ", state[[1]])
}

outcome_of <- function(case, env, extra) {
  out <- tempfile(tmpdir = folder)
  child <- parallel::mcparallel({
    # Ends without a word to the process that waits, which looks for the file.
    try(under_limit(case, env, extra, out), silent = TRUE)
    kill(Sys.getpid())
  })
  written <- function() file.exists(out) && file.size(out) > 0
  end <- Sys.time() + patience
  # A child that has said its outcome is over: it may lack the memory to end itself.
  while (!written() && lives(child$pid) && Sys.time() < end) Sys.sleep(0.01)
  hung <- !written() && lives(child$pid)
  if (lives(child$pid)) kill(child$pid)
  suppressWarnings(parallel::mccollect(child, wait = FALSE))
  if (hung) "hung" else if (written()) readLines(out)[[1]] else "died"
}

# The value that a separate process computes.
apart <- function(compute) {
  out <- tempfile(tmpdir = folder)
  child <- parallel::mcparallel({
    # Also ends after an error: the process that waits would wait for ever.
    try(saveRDS(compute(), out), silent = TRUE)
    kill(Sys.getpid())
  })
  while (lives(child$pid)) Sys.sleep(0.01)
  suppressWarnings(parallel::mccollect(child, wait = FALSE))
  readRDS(out)
}

run_case <- function(name) {
  case <- cases[[name]]
  env <- list2env(apart(function() eval(case$operands)), parent = globalenv())
  for (x in case$files) env[[x]] <- open_tile_matrix(env[[x]])
  invisible(gc())
  # Most of what can go wrong does so where there is little.
  extras <- exp(seq(log(least), log(most), length.out = limits))
  got <- vapply(extras, function(extra) outcome_of(case, env, extra), "")
  count <- function(what) sum(got == what)
  bad <- !got %in% c("ok", "memory", "base")
  data.frame(
    call = name, runs = limits, ok = count("ok"), memory = count("memory"), base = count("base"),
    faults = sum(bad),
    fault = if (any(bad)) paste(unique(got[bad]), collapse = "; ") else "", stringsAsFactors = FALSE
  )
}

main <- function() {
  if (is.null(only)) only <- names(cases)
  workers <- as.integer(Sys.getenv("CUDAFACTOR_WORKERS", "1"))
  table <- do.call(rbind,
      parallel::mclapply(only, mc.cores = workers, mc.preschedule = FALSE, FUN = function(name) {
    row <- apart(function() tryCatch(run_case(name), error = function(e) {
      data.frame(call = name, runs = 0L, ok = 0L, memory = 0L, base = 0L, faults = 1L,
        fault = paste("driver:", conditionMessage(e)))
    }))
    cat(do.call(sprintf,
      c("%-26s %d runs: %d ok, %d memory, %d base, %d faults %s\n", unname(row))))
    row
  }))
  unlink(folder, recursive = TRUE)
  table
}
table <- main()
cat(sprintf("%d runs, %d faults\n", sum(table$runs), sum(table$faults)))
if (file.exists("bench/common.R") && (is.null(only) || nzchar(name))) {
  source("bench/common.R")
  bench_write(
    if (nzchar(name)) {
      name
    } else {
      paste0("memory-limits", if (device != "cpu") paste0("-", device))
    },
    sprintf("Little memory, device \"%s\"", device), list(Outcomes = table),
    c(
      sprintf(
        paste(
          "- each call under limits of address space from 4 to %.0f MiB above what the process",
          "with the operands has; the last cache has %.0f MiB"
        ),
        most / 2^20, last_cache / 2^20
      ),
      paste0(
        "- ok: the result; memory: a condition of memory of this package; base: base R's ",
        "\"cannot allocate\""
      ))
  )
}
if (sum(table$faults) > 0L) quit(status = 1)
