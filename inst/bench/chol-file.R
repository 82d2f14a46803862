# Cholesky factorizations of files with little memory, beside the same in memory: cudafactor's own on the same device, from R matrix to R matrix where R
# holds it. Writes chol-file.md and chol-file.csv.
#   Rscript inst/bench/chol-file.R FOLDER [ORDER,HOST_MEMORY,GPU_MEMORY[,TILE]]...
# FOLDER is where the files go: two of them, of half the matrix each. On the GPU where there is one.

library(cudafactor)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(if (length(here)) dirname(here) else "inst/bench", "common.R"))

given <- commandArgs(trailingOnly = TRUE)
folder <- if (length(given)) given[[1L]] else tempdir()
cases <- strsplit(if (length(given) > 1L) given[-1L] else "16384,512MiB,512MiB", ",", fixed = TRUE)
device <- if (gpu_available()) "cuda" else "cpu"
# R matrices above this order are not made.
largest <- if (device == "cuda") 16384 else 20000

now <- function() as.double(Sys.time())
seconds <- function(call) {
  start <- now()
  force(call)
  now() - start
}
# Exponential covariance on a line: entries cost little beside what is measured.
covariance <- function(i, j) exp(-abs(outer(i, j, "-")) / 50) + outer(i, j, "==")

rows <- lapply(cases, function(case) {
  n <- as.numeric(case[[1L]])
  path <- file.path(folder, "chol-file.tiles")
  unlink(path)
  on.exit(unlink(path))
  tile <- if (length(case) > 3L) as.numeric(case[[4L]])
  made <- seconds(x <- tile_matrix(covariance, path, dim = n, triangle = TRUE, tile = tile))
  factor <- chol_file(x, host_memory = case[[2L]], gpu_memory = case[[3L]], device = device, verbose = TRUE)
  report <- attr(factor, "report")
  in_memory <- NA_real_
  error <- NA_real_
  if (n <= largest) {
    s <- covariance(seq_len(n), seq_len(n))
    in_memory <- median(vapply(1:3, function(i) seconds(r <<- gpu_chol(s, device = device)), 0))
    error <- max(abs(as.matrix(factor) - r)) / max(abs(r)) / .Machine$double.eps
    rm(s, r, envir = environment())
  }
  row <- data.frame(
    n = n, tile = x$tile, host_memory = case[[2L]], gpu_memory = case[[3L]], seconds = report$seconds, gflops = report$gflops,
    read_GB = report$read / 1e9, written_GB = report$written / 1e9, sent_GB = report$sent / 1e9, fetched_GB = report$fetched / 1e9,
    once_GB = n^2 * 8 / 1e9, bound_GB = 8 * n^3 / (3 * sqrt(2 * report$host_memory / 8)) / 1e9,
    making_s = made, in_memory_s = in_memory, in_memory_to_file = in_memory / report$seconds, error_eps = error
  )
  print(row, digits = 3)
  row
})
table <- do.call(rbind, rows)
bench_write("chol-file", "Cholesky factorizations of files", list(Runs = table), c(
  "- in place; `once_GB`: the triangle once each way, the least that any order moves; `bound_GB`: the other bound, n^3 / (3 sqrt(2 M)) numbers",
  "- `in_memory_s`: `gpu_chol()` on the same device, R matrix to R matrix, median of 3; `in_memory_to_file` its share of the file's time",
  "- `error_eps`: the largest difference of the two factors, against the largest entry, in units of eps"
))
