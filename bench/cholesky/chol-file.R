# Cholesky factorizations of files with little memory, compared with the same in memory:
# cudafactor's own on the same device, from R matrix to R matrix where R holds it. Writes
# chol-file.md and chol-file.csv.
#   Rscript bench/cholesky/chol-file.R FOLDER [ORDER,HOST_MEMORY,GPU_MEMORY[,TILE]]...
# FOLDER is where the files go: two of them, of half the matrix each. On the GPU where there is one.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

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
# Exponential covariance on a line. Blocks above the diagonal have rank one, so that they cost
# little compared with what is measured.
covariance <- function(i, j) {
  last <- i[[length(i)]]
  if (last < j[[1L]]) {
    exp((last - j[[1L]]) / 50) * outer(exp((i - last) / 50), exp((j[[1L]] - j) / 50))
  } else {
    exp(-abs(outer(i, j, "-")) / 50) + outer(i, j, "==")
  }
}

# What the disk does in GB/s with so many processes that read and that write at once, see disk.sh.
disk_rate <- function(readers, writers, gib = 8) {
  script <- file.path(here, "disk.sh")
  took <- as.numeric(system2("sh", c(script, shQuote(folder), readers, writers, gib),
    stdout = TRUE))
  data.frame(readers = readers, writers = writers, GB = gib * 2^30 / 1e9,
    GB_per_s = gib * 2^30 / 1e9 / took)
}
disk <- if (nzchar(Sys.which("fallocate"))) {
  do.call(rbind, Map(disk_rate, c(1, 4, 8, 0, 0, 0, 4), c(0, 0, 0, 1, 4, 8, 4)))
}
print(disk)
reading <- max(disk$GB_per_s[disk$writers == 0], -Inf)
writing <- max(disk$GB_per_s[disk$readers == 0], -Inf)

rows <- lapply(cases, function(case) {
  n <- as.numeric(case[[1L]])
  path <- file.path(folder, "chol-file.tiles")
  unlink(path)
  on.exit(unlink(path))
  tile <- if (length(case) > 3L) as.numeric(case[[4L]])
  made <- seconds(x <- tile_matrix(covariance, path, dim = n, triangle = TRUE, tile = tile))
  factor <- chol_file(x, host_memory = case[[2L]], gpu_memory = case[[3L]], device = device,
    verbose = TRUE)
  report <- attr(factor, "report")
  # Once more with default arguments and options: all GPUs, and the memory that is free.
  another <- file.path(folder, "chol-file-default.tiles")
  y <- tile_matrix(covariance, another, dim = n, triangle = TRUE)
  by_default <- seconds(chol_file(y))
  rm(y)
  unlink(another)
  in_memory <- NA_real_
  error <- NA_real_
  if (n <= largest) {
    s <- covariance(seq_len(n), seq_len(n))
    in_memory <- median(vapply(1:3, function(i) seconds(r <- gpu_chol(s, device = device)), 0))
    r <- gpu_chol(s, device = device)
    error <- max(abs(as.matrix(factor) - r)) / max(abs(r)) / .Machine$double.eps
    rm(s, r)
  }
  # The triangle once each way, or what no order goes below with so much memory: n^3 / (3 sqrt(2 M))
  # numbers.
  once <- n^2 * 8 / 2 / 1e9
  bound <- n^3 * 8 / (3 * sqrt(2 * report$host_memory / 8)) / 1e9
  floor <- max(once, bound - once) / reading + once / writing
  row <- data.frame(
    n = n, tile = x$tile, host_memory = case[[2L]], gpu_memory = case[[3L]],
    seconds = report$seconds, gflops = report$gflops,
    read_GB = report$read / 1e9, written_GB = report$written / 1e9, sent_GB = report$sent / 1e9,
    fetched_GB = report$fetched / 1e9,
    least_GB = max(2 * once, bound), reading_s = report$reading, writing_s = report$writing,
    idle_s = report$idle,
    disk_floor_s = floor, over_floor = report$seconds / floor,
    default_s = by_default, making_s = made, in_memory_s = in_memory,
    in_memory_to_file = in_memory / report$seconds, error_eps = error
  )
  print(row, digits = 3)
  row
})
table <- do.call(rbind, rows)
bench_write(if (device == "cuda") "chol-file" else "chol-file-cpu",
    "Cholesky factorizations of files", list(Runs = table), c(
  paste0(
    "- in place; `least_GB`: what any order moves at least: the triangle once each way, n^2 ",
    "numbers, or n^3 / (3 sqrt(2 M)) numbers through a memory of M"
  ),
  paste0(
    "- `disk_floor_s`: those bytes by the best rates of the disk below, reading and writing; ",
    "`over_floor`: the time in units of it, which says little where computing takes longer than ",
    "the disk"
  ),
  paste0(
    "- `reading_s`, `writing_s`: time in which files were read, and written; `idle_s`: time in ",
    "which the device had nothing to compute"
  ),
  "- `default_s`: `chol_file(x)` of such a file, without options",
  paste0(
    "- `in_memory_s`: `gpu_chol()` on the same device, R matrix to R matrix, median of 3; ",
    "`in_memory_to_file` its share of the file's time"
  ),
  paste0(
    "- `error_eps`: the largest difference of the two factors, against the largest entry, in ",
    "units of eps"
  ),
  "- the disk past the system's cache (`disk.sh`), with so many processes:",
  if (!is.null(disk)) paste0("-     ", capture.output(print(disk, row.names = FALSE, digits = 3)))
))
