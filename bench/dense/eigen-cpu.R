# gpu_eigen() and gpu_svd() on the CPU beside base R's eigen() and svd(): milliseconds from R matrix
# to R result, and the ratio of base R's time to ours (above 1: ours is faster).
#   Rscript bench/dense/eigen-cpu.R [ORDER]...
# The default orders are 64 to 2048. Each pair is timed in turns on the same matrices, and the
# median counts. Threads: CUDAFACTOR_NUM_THREADS for ours, OPENBLAS_NUM_THREADS or OMP_NUM_THREADS
# for base R's BLAS; set both alike. Unset OPENBLAS_CORETYPE, which may slow OpenBLAS. Needs a quiet
# machine.
# Writes eigen-cpu.md and eigen-cpu.csv, or eigen-cpu-2 for two threads.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

orders <- as.integer(commandArgs(trailingOnly = TRUE))
if (!length(orders)) orders <- c(64L, 128L, 256L, 512L, 1024L, 2048L)

# Pairs of calls: ours and base R's.
tasks <- list(
  `symmetric, values` = list(
    function(x, s) gpu_eigen(s, TRUE, only.values = TRUE, device = "cpu"),
    function(x, s) eigen(s, TRUE, only.values = TRUE)
  ),
  `symmetric, vectors` = list(
    function(x, s) gpu_eigen(s, TRUE, device = "cpu"), function(x, s) eigen(s, TRUE)
  ),
  `general, values` = list(
    function(x, s) gpu_eigen(x, FALSE, only.values = TRUE, device = "cpu"),
    function(x, s) eigen(x, FALSE, only.values = TRUE)
  ),
  `general, vectors` = list(
    function(x, s) gpu_eigen(x, FALSE, device = "cpu"), function(x, s) eigen(x, FALSE)
  ),
  `svd, values` = list(
    function(x, s) gpu_svd(x, 0, 0, device = "cpu"), function(x, s) svd(x, 0, 0)
  ),
  `svd, vectors` = list(function(x, s) gpu_svd(x, device = "cpu"), function(x, s) svd(x))
)

seconds <- function(f, x, s) {
  start <- proc.time()[["elapsed"]]
  # So often that the clock's resolution does not matter.
  times <- max(1L, as.integer(1e6 / nrow(x)^2.5))
  for (i in seq_len(times)) f(x, s)
  (proc.time()[["elapsed"]] - start) / times
}

measure <- function(n, name) {
  x <- matrix(stats::rnorm(n * n), n)
  s <- x + t(x)
  repeats <- max(3L, as.integer(20 / log2(n)^0.5 / (n / 256)))
  pair <- tasks[[name]]
  times <- vapply(seq_len(repeats), function(i) {
    c(seconds(pair[[1]], x, s), seconds(pair[[2]], x, s))
  }, numeric(2))
  ms <- 1000 * apply(times, 1, stats::median)
  data.frame(n = n, task = name, cudafactor_ms = ms[[1]], base_ms = ms[[2]],
    ratio = ms[[2]] / ms[[1]])
}

set.seed(20261127)
rows <- do.call(rbind, unlist(lapply(orders, function(n) {
  lapply(names(tasks), function(name) {
    row <- measure(n, name)
    message(sprintf("%5d  %-20s %9.2f %9.2f  %.2f", n, name, row$cudafactor_ms, row$base_ms,
      row$ratio))
    row
  })
}), recursive = FALSE))

threads <- Sys.getenv("CUDAFACTOR_NUM_THREADS", "1")
bench_write(
  if (threads == "1") "eigen-cpu" else paste0("eigen-cpu-", threads),
  "Eigenvalues and singular values on the CPU",
  list(`Milliseconds, R matrix to R result` = rows),
  notes = c(
    "Random normal matrices; for symmetric eigenvalues a matrix plus its transpose.",
    sprintf("Threads: CUDAFACTOR_NUM_THREADS = \"%s\", OPENBLAS_NUM_THREADS = \"%s\".",
      Sys.getenv("CUDAFACTOR_NUM_THREADS"), Sys.getenv("OPENBLAS_NUM_THREADS"))
  )
)
