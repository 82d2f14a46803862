# A hundred steps of a Gaussian process's fit, on matrices that stay on the GPU and on plain ones,
# and the bytes that crossed the bus.
#   Rscript bench/dense/gp-loop.R [SIZE...]

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
source(system.file("examples", "gaussian-process.R", package = "cudafactor"))

sizes <- as.numeric(commandArgs(trailingOnly = TRUE))
if (!length(sizes)) sizes <- c(1024, 2048, 4096)
steps <- 100
# Base R is not waited for longer than it takes to tell its rate.
base_steps <- function(n) max(2, min(steps, ceiling(2e11 / n^3)))

rows <- lapply(sizes, function(n) {
  set.seed(1)
  x <- matrix(runif(2 * n), n)
  y <- matrix(sin(6 * x[, 1]) + x[, 2]^2 + rnorm(n, sd = 0.1))
  d <- squared_distances(as_gpu(x))
  on_device <- as_gpu(y)
  # Kernels are loaded once a session.
  gp_fit(d, on_device, steps = 1)
  bytes <- function() unlist(cudafactor:::native_transfer_bytes()$ok)
  before <- bytes()
  seconds <- system.time(fit <- gp_fit(d, on_device, steps = steps))[["elapsed"]]
  moved <- bytes() - before
  few <- base_steps(n)
  plain <- squared_distances(x)
  base_seconds <- system.time(base <- gp_fit(plain, y, steps = few))[["elapsed"]]
  error <- max(abs(fit$values[seq_len(few)] / base$values - 1))
  stopifnot(error < 1e-6, sum(moved) < n * n * 8)
  data.frame(
    n = n, device = d@device, steps = steps, ms_a_step = seconds / steps * 1e3,
    ms_base_r = base_seconds / few * 1e3,
    KiB_up_a_step = moved[["up"]] / steps / 1024, KiB_down_a_step = moved[["down"]] / steps / 1024,
    KiB_of_a_matrix = n * n * 8 / 1024,
    error = error
  )
})
table <- do.call(rbind, rows)
print(table)
bench_write("gp-loop", "A Gaussian process's fit: matrices that stay on the device",
    list("Steps" = table), c(
  paste0(
    "Each step builds the covariance from squared distances, factors and inverts it, and takes ",
    "likelihood and gradient;"
  ),
  paste0(
    "base R runs the same code on plain matrices, for fewer steps. Bytes are all that crossed ",
    "the bus; the error is"
  ),
  "relative, of the likelihoods of the steps that both ran."
))
