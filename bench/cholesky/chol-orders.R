# Run by chol-orders.sh: the times of this package, base R and the peers. plot-orders.R draws them.
#   Rscript bench/cholesky/chol-orders.R PEERS.csv ORDER...

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

given <- commandArgs(trailingOnly = TRUE)
peers <- utils::read.csv(given[[1L]], header = FALSE, comment.char = "#",
  col.names = c("name", "n", "s"))
orders <- as.numeric(given[-1L])
gpus <- nrow(gpu_info())
# What the paper says of its Figure 7: four Tesla C2050.
paper <- c(n = 32768, gflops = 244.1, over_plasma = 33)

now <- function() as.double(Sys.time())
# The median of some calls, after one that is not counted.
seconds <- function(call, times) {
  once <- function(i) {
    start <- now()
    call()
    now() - start
  }
  once()
  stats::median(vapply(seq_len(times), once, 0))
}
with_options <- function(call, times, ...) {
  old <- options(...)
  on.exit(options(old))
  seconds(call, times)
}
peer <- function(name, n) {
  found <- peers$s[peers$name == name & peers$n == n]
  if (length(found)) found[[1L]] else NA_real_
}

rows <- lapply(orders, function(n) {
  x <- as.matrix(lazy_covariance(matrix(runif(2 * n), n), range = 0.1, nugget = 0.1))
  times <- if (n < 30000) 5 else 2
  slow <- if (n < 10000) 3 else 1
  row <- data.frame(
    n = n,
    one_gpu = with_options(function() gpu_chol(x, device = "cuda"), times, cudafactor.devices = 0),
    gpus = gpus,
    all_gpus = if (gpus > 1L) with_options(function() gpu_chol(x, device = "auto"), times,
      cudafactor.devices = seq_len(gpus) - 1) else NA_real_,
    default = seconds(function() gpu_chol(x), times),
    cpu = seconds(function() gpu_chol(x, device = "cpu"), slow),
    base_r = seconds(function() chol(x), slow),
    cusolver = peer("cusolver_host", n), cusolver_on_gpu = peer("cusolver_device", n),
    cusolvermg_on_gpus = peer("cusolvermg_device", n)
  )
  best <- pmin(row$one_gpu, row$all_gpus, na.rm = TRUE)
  row$gflops <- n^3 / 3 / best / 1e9
  row$paper <- if (n == paper[["n"]]) n^3 / 3 / paper[["gflops"]] / 1e9 else NA_real_
  print(row, digits = 3)
  row
})
table <- do.call(rbind, rows)

notes <- c(
  paste0(
    "Seconds of a Cholesky factorization, medians of 5 calls after one, of 2 from order 30000 ",
    "on; on the CPU of 3, of one from order 10000 on."
  ),
  "",
  sprintf(
    paste0(
      "- `one_gpu`, `all_gpus`: `gpu_chol()` from R matrix to R matrix, on one GPU and, with ",
      "`options(cudafactor.devices =)`, on %d; `default`: without options; `gflops`: n^3 / 3 ",
      "operations in the shorter of the two"
    ),
    gpus),
  "- `cpu`: `gpu_chol(device = \"cpu\")`; `base_r`: `chol()` on the BLAS above, all cores",
  paste0(
    "- `cusolver`: PyTorch, from NumPy array to NumPy array, one GPU; `cusolver_on_gpu`: the ",
    "same with the data on the GPU"
  ),
  "- `cusolvermg_on_gpus`: `cusolverMgPotrf` on all GPUs, blocks of 256 columns, data on the GPUs",
  sprintf(
    "- `paper`: %.1f GFLOP/s on four Tesla C2050, where PLASMA on the CPU took %d times as long",
    paper[["gflops"]], as.integer(paper[["over_plasma"]])),
  paste("-", sub("^# *", "", grep("^#", readLines(given[[1L]]), value = TRUE)))
)
bench_write("chol-orders", "Time of a Cholesky factorization by order", list(Seconds = table),
  notes, by = "bench/cholesky/chol-orders.sh")
