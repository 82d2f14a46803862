# The CPU backend and base R on the BLAS that R is linked to: R matrix to R matrix, the same number
# of threads for both.
#   Rscript bench/dense/cpu-openblas.R [SIZE...]
#
# Both sides take turns in random order, each repetition at least 0.2 s; both answers are compared
# before anything is timed. With one thread the time is the processor time of the R process, which
# other processes on the machine disturb little. With two it is elapsed time, and a repetition
# counts as quiet when other processes used less than a tenth of one core meanwhile: medians are
# over the quiet ones where there are at least three, else over all (column `quiet`: quiet / all).
# The numbers of cpu_scipy.py, when it has been run, are a column of the tables: a newer OpenBLAS,
# without R.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

lapack_qr <- function(x) {
  n <- ncol(x)
  .Fortran("dgeqrf",
    nrow(x), n, qr = x, nrow(x), tau = double(n), work = double(64L * n), 64L * n, info = 0L
  )$qr
}

close_to <- function(a, b) max(abs(a - b)) <= 1e-9 * max(abs(b))

# Our call, the peers' calls, and whether an answer of ours agrees with one of base R.
operations <- function(n) {
  x <- matrix(stats::rnorm(n * n), n)
  y <- matrix(stats::rnorm(n * n), n)
  spd <- crossprod(x) / n + diag(n)
  b <- stats::rnorm(n)
  list(
    matmult = list(
      ours = function() gpu_matmult(x, y),
      peers = list("%*%" = function() x %*% y),
      agrees = function(ours, base) close_to(ours, base)
    ),
    crossprod = list(
      ours = function() gpu_crossprod(x),
      peers = list("crossprod()" = function() crossprod(x)),
      agrees = function(ours, base) close_to(ours, base)
    ),
    chol = list(
      ours = function() gpu_chol(spd),
      peers = list("chol()" = function() chol(spd)),
      agrees = function(ours, base) close_to(ours, base)
    ),
    qr = list(
      ours = function() gpu_qr(x),
      peers = list("qr()" = function() qr(x), "dgeqrf" = function() lapack_qr(x)),
      agrees = function(ours, base) {
        identical(ours$pivot, base$pivot) && ours$rank == base$rank &&
          close_to(qr.R(ours), qr.R(base))
      }
    ),
    qr_pivoted = list(
      ours = function() gpu_qr(x, LAPACK = TRUE),
      peers = list("qr(LAPACK=TRUE)" = function() qr(x, LAPACK = TRUE)),
      agrees = function(ours, base) {
        identical(ours$pivot, base$pivot) && close_to(qr.R(ours), qr.R(base))
      }
    ),
    solve = list(
      ours = function() gpu_solve(x, b),
      peers = list("solve()" = function() solve(x, b)),
      agrees = function(ours, base) max(abs(x %*% ours - b)) <=
        100 * max(abs(x %*% base - b), 1e-12)
    )
  )
}

# Seconds that all processes, and this one, have used.
busy <- function() {
  ticks <- tryCatch(as.numeric(strsplit(readLines("/proc/stat", 1), " +")[[1]][-1]),
    error = function(e) NULL)
  own <- proc.time()
  c(all = if (is.null(ticks)) NA else sum(ticks[c(1:3, 6:8)]) / 100, own = own[[1]] + own[[2]])
}

# Waits for other processes to leave the machine alone, a few seconds at most.
settle <- function(limit = 3) {
  start <- Sys.time()
  repeat {
    before <- busy()
    Sys.sleep(0.2)
    used <- busy() - before
    if (!isTRUE(used[["all"]] - used[["own"]] > 0.02)) break
    if (as.numeric(Sys.time() - start, units = "secs") > limit) break
  }
}

repetition <- function(f, calls, threads) {
  before <- busy()
  start <- Sys.time()
  for (i in seq_len(calls)) f()
  elapsed <- as.numeric(Sys.time() - start, units = "secs")
  used <- busy() - before
  time <- if (threads == 1) used[["own"]] else elapsed
  c(ms = 1000 * time / calls, others = (used[["all"]] - used[["own"]]) / elapsed)
}

# Median times of several calls, and how many repetitions were quiet, of how many.
in_turns <- function(calls, threads, budget) {
  counts <- vapply(calls, function(f) max(1, ceiling(200 / max(repetition(f, 1, 2)[["ms"]], 1e-3))),
    0)
  seen <- lapply(calls, function(f) matrix(0, 0, 2))
  start <- Sys.time()
  repeat {
    for (i in sample(length(calls))) {
      if (threads == 1) Sys.sleep(0.08) else settle()
      seen[[i]] <- rbind(seen[[i]], repetition(calls[[i]], counts[[i]], threads))
    }
    quiet <- vapply(seen, function(s) sum(s[, 2] < 0.1, na.rm = TRUE), 0)
    spent <- as.numeric(Sys.time() - start, units = "secs")
    done <- if (threads == 1) nrow(seen[[1]]) >= 9 else all(quiet >= 5)
    if (done || (spent > budget && nrow(seen[[1]]) >= 3)) break
  }
  lapply(seq_along(calls), function(i) {
    s <- seen[[i]]
    use <- if (threads > 1 && quiet[[i]] >= 3) s[, 2] < 0.1 else TRUE
    list(ms = stats::median(s[use, 1]), quiet = sprintf("%d/%d", quiet[[i]], nrow(s)))
  })
}

measure <- function(sizes, threads) {
  rows <- list()
  for (n in sizes) {
    set.seed(n)
    for (op in names(operations(1))) {
      o <- operations(n)[[op]]
      stopifnot(o$agrees(o$ours(), o$peers[[1]]()))
      times <- in_turns(c(list(o$ours), o$peers), threads, budget = 25)
      for (p in seq_along(o$peers)) {
        rows[[length(rows) + 1]] <- data.frame(
          operation = op, n = as.integer(n), threads = threads, peer = names(o$peers)[[p]],
          ours_ms = times[[1]]$ms, peer_ms = times[[p + 1]]$ms,
          speedup = times[[p + 1]]$ms / times[[1]]$ms, quiet = times[[p + 1]]$quiet
        )
        message(paste(format(rows[[length(rows)]]), collapse = " "))
      }
    }
  }
  do.call(rbind, rows)
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) && arguments[[1]] == "--measure") {
  options(cudafactor.device = "cpu")
  dyn.load(La_library())
  threads <- as.integer(arguments[[2]])
  utils::write.csv(measure(as.numeric(arguments[-(1:3)]), threads), arguments[[3]],
    row.names = FALSE)
} else {
  sizes <- if (length(arguments)) arguments else c(64, 256, 512, 1024, 2048, 4096)
  script <- normalizePath(file.path(here, "cpu-openblas.R"))
  tables <- lapply(1:2, function(threads) {
    out <- tempfile(fileext = ".csv")
    # A fresh process for each number of threads; what a shell may have set to slow OpenBLAS down is
    # taken back.
    code <- system2("env", c(
      "-u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE",
      paste0(c("OPENBLAS_NUM_THREADS=", "CUDAFACTOR_NUM_THREADS="), threads),
      file.path(R.home("bin"), "Rscript"), shQuote(script), "--measure", threads, out, sizes
    ))
    stopifnot(code == 0)
    utils::read.csv(out)
  })
  names(tables) <- c("1 thread", "2 threads")
  newer <- file.path(here, "..", "results", "cpu-scipy.csv")
  if (file.exists(newer)) {
    newer <- utils::read.csv(newer)
    tables <- lapply(tables, function(t) {
      at <- match(paste(t$operation, t$n, t$threads, t$peer),
        paste(newer$operation, newer$n, newer$threads, newer$peer))
      t$scipy_ms <- newer$ms[at]
      t
    })
  }
  bench_write(
    "cpu-openblas", "The CPU backend compared with base R on OpenBLAS", tables,
    c(
      paste0(
        "Median milliseconds from R matrix to R matrix; speedup above 1 means that cudafactor is ",
        "faster."
      ),
      "`quiet` counts the peer's repetitions during which the machine was otherwise idle, of all.",
      "`scipy_ms` is the same LAPACK routine from scipy, in place, without R's copy of the operand."
    )
  )
}
