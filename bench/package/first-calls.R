# What a user waits for at the first call of each verb in a new session, with default options save
# the device. Each case runs in processes of its own: with an empty cache of the driver, then with
# that cache filled. The seconds are from the call to the result; loading the
# package comes before.
#   Rscript bench/package/first-calls.R [--device=cuda] [--runs=3] [--peers=PYTHON] \
#     [--output=first-calls] [CASE]...
# CASE: a name from `cases`; all where none is given. --peers: a Python with PyTorch and CuPy, whose
# first calls are timed too, from NumPy array to NumPy array; importing them comes before.
# Results: first-calls.md and .csv, or what --output names, such as first-calls-ptx for a package
# without machine code.

file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(file))
source(file.path(dirname(here), "common.R"))

words <- commandArgs(trailingOnly = TRUE)
option <- function(name, default) {
  given <- sub(sprintf("^--%s=", name), "", grep(sprintf("^--%s=", name), words, value = TRUE))
  if (length(given)) given[[1]] else default
}
device <- option("device", "cuda")
runs <- as.integer(option("runs", "3"))
peers <- option("peers", "")
output <- option("output", "first-calls")

# What a case has before its call, all of it computed by base R.
dense <- "n <- 1000; set.seed(1); x <- matrix(rnorm(n * n), n); b <- rnorm(n)"
definite <- paste(dense, "; p <- crossprod(x) + diag(n)")
factor <- paste(definite, "; r <- chol(p)")
points <- "set.seed(1); at <- cbind(runif(1500), runif(1500)); y <- rnorm(1500)"
sparse <- "n <- 40000; a <- Matrix::bandSparse(n, k = c(0, 1, 200),
  diagonals = list(rep(4.1, n), rep(-1, n), rep(-1, n)), symmetric = TRUE); b <- rep(1, n)"
program <- "set.seed(1); m <- 200; a <- matrix(runif(m * 400), m); b <- rowSums(a); f <- runif(400)"
image <- "set.seed(1); image <- matrix(runif(300 * 400), 300); seeds <- matrix(0, 300, 400)
  seeds[5, 5:75] <- 1; seeds[150:160, 150:160] <- 2"

# The set-up and the call of each case. The first five are the dense verbs.
cases <- list(
  gpu_matmult = c(dense, "gpu_matmult(x, x)"),
  gpu_chol = c(definite, "gpu_chol(p)"),
  gpu_lu = c(dense, "gpu_lu(x)"),
  gpu_qr = c(dense, "gpu_qr(x)"),
  gpu_solve = c(dense, "gpu_solve(x, b)"),
  gpu_crossprod = c(dense, "gpu_crossprod(x)"),
  gpu_tcrossprod = c(dense, "gpu_tcrossprod(x)"),
  `gpu_chol, pivot` = c(definite, "gpu_chol(p, pivot = TRUE)"),
  `gpu_qr, LAPACK` = c(dense, "gpu_qr(x, LAPACK = TRUE)"),
  `gpu_chol, batch` = c("p <- array(diag(16) + 1, c(16, 16, 1000))", "gpu_chol(p)"),
  `gpu_chol, single` = c(definite, "gpu_chol(p, precision = \"single\")"),
  `gpu_matmult, single` = c(dense, "gpu_matmult(x, x, precision = \"single\")"),
  `gpu_qr, single` = c(dense, "gpu_qr(x, precision = \"single\")"),
  gpu_chol2inv = c(factor, "gpu_chol2inv(r)"),
  gpu_backsolve = c(factor, "gpu_backsolve(r, b)"),
  gpu_forwardsolve = c(factor, "gpu_forwardsolve(t(r), x)"),
  gpu_determinant = c(dense, "gpu_determinant(x)"),
  gpu_qr.Q = c(paste(dense, "; f <- qr(x[, 1:200])"), "gpu_qr.Q(f)"),
  gpu_qr.qty = c(paste(dense, "; f <- qr(x[, 1:200])"), "gpu_qr.qty(f, b)"),
  gpu_eigen = c(definite, "gpu_eigen(p, device = \"auto\")"),
  `gpu_eigen, few` = c(definite, "gpu_eigen(p, k = 20)"),
  `gpu_eigen, batch` = c("p <- array(diag(16) + 1, c(16, 16, 1000))", "gpu_eigen(p)"),
  `gpu_svd, few` = c(dense, "gpu_svd(x, k = 20)"),
  gpu_svd = c(dense, "gpu_svd(x, device = \"auto\")"),
  gpu_norm = c(dense, "gpu_norm(x, \"2\", device = \"auto\")"),
  gpu_prcomp = c(dense, "gpu_prcomp(x, device = \"auto\")"),
  gpu_ginv = c(dense, "gpu_ginv(x, device = \"auto\")"),
  gpu_lm_fit = c(dense, "gpu_lm_fit(x[, 1:100], b)"),
  chol_update = c(factor, "chol_update(r, x[, 1:16])"),
  chol_drop = c(factor, "chol_drop(r, 7)"),
  as_gpu = c(dense, "as_gpu(x)"),
  `gpu_matrix, arithmetic` = c(dense, "as.matrix(exp(as_gpu(x)) * 2 + 1)"),
  `gpu_matrix, sums` = c(dense, "colSums(as_gpu(x))"),
  `gpu_matrix, subset` = c(dense, "as.matrix(as_gpu(x)[1:10, -3])"),
  `gpu_matrix, chol and solve` = c(definite, "as.matrix(solve(as_gpu(p), b))"),
  gpu_covariance = c(points, "gpu_covariance(at, range = 0.2)"),
  chol_gpus = c(definite, "chol_gpus(p)"),
  chol_solve = c(definite, "chol_solve(chol_gpus(p), b)"),
  chol_file = c(
    paste(definite, "; file <- tempfile(); k <- tile_matrix(p, file, tile = 256)"),
    "chol_file(k, tempfile())"
  ),
  `pcg, dense` = c(definite, "pcg(p, b)"),
  `pcg, sparse` = c(sparse, "pcg(a, b, M = \"ic0\")"),
  `pcg, sparse, amg` = c(sparse, "pcg(a, b, M = \"amg\")"),
  `lp_ipm, dense` = c(program, "lp_ipm(f, a, rep(\">=\", m), b)"),
  random_walker = c(image, "random_walker(image, seeds)")
)

# The peers' cases have these names, too.
same <- c("gpu_matmult", "gpu_chol", "gpu_lu", "gpu_qr", "gpu_solve")

# Runs `code` in a new process, and returns the numbers that its last line has.
numbers <- function(program, arguments, caches) {
  env <- c(
    paste0("CUDA_CACHE_PATH=", file.path(caches, "driver")),
    paste0("CUPY_CACHE_DIR=", file.path(caches, "cupy"))
  )
  out <- suppressWarnings(system2(program, shQuote(arguments), stdout = TRUE, stderr = TRUE,
    env = env))
  found <- suppressWarnings(as.numeric(strsplit(utils::tail(c("", out), 1), " ")[[1]]))
  if (length(found) != 2 || anyNA(found)) {
    message(paste(utils::tail(out, 5), collapse = "\n"))
    return(c(NA_real_, NA_real_))
  }
  found
}

ours <- function(case) {
  c("-e", paste(c(
    "suppressMessages(library(cudafactor))",
    sprintf("options(cudafactor.device = \"%s\")", device),
    case[[1]],
    "now <- function() as.numeric(Sys.time())",
    "start <- now()", sprintf("value <- %s", case[[2]]), "first <- now() - start",
    "start <- now()", sprintf("value <- %s", case[[2]]), "second <- now() - start",
    "cat(sprintf('\\n%.4f %.4f', first, second))"
  ), collapse = "\n"))
}

# Medians of the first call with empty and with filled caches, and of the second call.
measure <- function(program, arguments) {
  times <- vapply(seq_len(runs), function(run) {
    caches <- tempfile("caches")
    dir.create(caches)
    on.exit(unlink(caches, recursive = TRUE))
    empty <- numbers(program, arguments, caches)
    filled <- numbers(program, arguments, caches)
    c(empty[[1]], filled[[1]], filled[[2]])
  }, numeric(3))
  apply(times, 1, stats::median)
}

table <- data.frame()
# After each case, since the time on a machine can end before the last one.
keep <- function() {
  bench_write(output, "First calls in a new session", list(`Seconds` = table),
    notes = c(
      sprintf("Medians of %d processes each; device = \"%s\".", runs, device),
      "`empty`: first call with an empty cache of the driver (and of CuPy); `filled`: first call",
      "of the next process; `second`: its second call."
    ))
}
add <- function(library, case, times) {
  row <- data.frame(library = library, case = case, empty = times[[1]], filled = times[[2]],
    second = times[[3]])
  message(paste(row, collapse = " "))
  table <<- rbind(table, row)
  keep()
}

chosen <- grep("^--", words, value = TRUE, invert = TRUE)
if (!length(chosen)) chosen <- names(cases)
for (name in chosen) {
  add("cudafactor", name, measure(file.path(R.home("bin"), "Rscript"), ours(cases[[name]])))
}
if (nzchar(peers)) {
  script <- file.path(here, "first_calls.py")
  for (library in c("torch", "cupy")) {
    for (name in intersect(same, chosen)) {
      add(library, name, measure(peers, c(script, library, name)))
    }
  }
}
