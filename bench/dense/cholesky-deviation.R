# The table of "Improving Parallel Cholesky Factorization" (itzmeanjan.in, 2021): single precision,
# time and largest deviation max|U'U - A| by order: ours, and its better published run (Xeon Gold
# 6128).
#   Rscript bench/dense/cholesky-deviation.R
# A = BB' + nI with B uniform on [0, 1), rounded to single first, so that both sides are given the
# same matrix. The deviation is the largest over ten such matrices, computed in double precision.
# Time is from R matrix to R matrix, conversions and transfers included.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

published <- data.frame(
  n = 2^(5:10),
  paper_ms = c(8, 6, 10, 21, 52, 172),
  paper_deviation = c(1.14441e-05, 3.8147e-05, 9.15527e-05, 0.000305176, 0.000976562, 0.00524902)
)

# To single precision and back, by the package's own conversion: a product with the identity.
to_single <- function(a) gpu_matmult(a, diag(nrow(a)), device = "cpu", precision = "single")

run <- function(device) {
  rows <- lapply(published$n, function(n) {
    set.seed(n)
    deviation <- 0
    for (i in 1:10) {
      b <- matrix(stats::runif(n * n), n)
      a <- to_single(tcrossprod(b) + diag(n, n))
      u <- gpu_chol(a, device = device, precision = "single")
      deviation <- max(deviation, abs(crossprod(u) - a))
    }
    call <- function() gpu_chol(a, device = device, precision = "single")
    data.frame(n = as.integer(n), ms = median_ms(call, 11), deviation = deviation)
  })
  d <- merge(do.call(rbind, rows), published)
  d$below_in_both <- ifelse(d$ms < d$paper_ms & d$deviation < d$paper_deviation, "yes", "no")
  d[order(d$n), ]
}

devices <- c("cpu", if (gpu_available()) "cuda")
tables <- stats::setNames(lapply(devices, run), devices)
stem <- if ("cuda" %in% devices) "cholesky-deviation-gpu" else "cholesky-deviation-cpu"
cat(bench_write(stem, "Single-precision Cholesky: time and largest deviation", tables), sep = "\n")
