# Scaled residuals and orthogonality, in units of eps, of every verb on every device of this
# machine.
#   Rscript bench/dense/agreement.R
#
# matmult   ||C - XY|| / (k ||X|| ||Y|| eps), XY from base R
# chol      ||A - R'R|| / (n ||A|| eps)
# qr        ||A - QR|| / (max(m, n) ||A|| eps), Q from base's qr.Q;  ||I - Q'Q|| / (m eps)
# lu        ||A - PLU|| / (max(m, n) ||A|| eps)
# solve     ||B - AX|| / (n ||A|| ||X|| eps)
# All norms are 1-norms; eps = 2.2e-16, or 1.2e-7 for single precision. A size of 0 must give the
# base shape.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

eps_of <- function(precision) if (precision == "double") .Machine$double.eps else 2^-23
norm1 <- function(a) if (length(a)) max(colSums(abs(a))) else 0
scaled <- function(r, scale) if (scale > 0) norm1(r) / scale else norm1(r)

matrix_of <- function(m, n) matrix(stats::rnorm(m * n), m, n)

square <- c(0, 1, 2, 31, 32, 33, 127, 128, 129, 1000, 2049)
shapes <- c(
  lapply(square, function(n) c(n, n)),
  list(c(2049, 127), c(127, 2049), c(1000, 33), c(33, 1000), c(129, 1), c(1, 129))
)

one <- function(m, n, device, precision) {
  eps <- eps_of(precision)
  x <- matrix_of(m, n)
  k <- max(m, n, 1)
  out <- list(m = as.integer(m), n = as.integer(n), device = device, precision = precision)
  y <- matrix_of(n, m)
  p <- gpu_matmult(x, y, device = device, precision = precision)
  out$matmult <- scaled(p - x %*% y, max(n, 1) * norm1(x) * norm1(y) * eps)
  f <- gpu_qr(x, device = device, precision = precision, tol = 1e-14)
  if (m == 0 || n == 0) {
    stopifnot(identical(dim(f$qr), dim(x)), all(dim(p) == m))
    return(as.data.frame(c(out, qr = 0, orthogonality = 0, lu = NA, chol = NA, solve = NA)))
  }
  q <- qr.Q(f)
  out$qr <- scaled(x[, f$pivot, drop = FALSE] - q %*% qr.R(f), k * norm1(x) * eps)
  out$orthogonality <- scaled(diag(1, ncol(q)) - crossprod(q), max(m, 1) * eps)
  e <- lu_expand(gpu_lu(x, device = device, precision = precision))
  out$lu <- scaled(x - e$P %*% e$L %*% e$U, k * norm1(x) * eps)
  out$chol <- NA_real_
  out$solve <- NA_real_
  if (m == n) {
    a <- crossprod(x) + diag(n, n)
    r <- gpu_chol(a, device = device, precision = precision)
    out$chol <- scaled(a - crossprod(r), n * norm1(a) * eps)
    b <- matrix_of(n, 3)
    s <- gpu_solve(x, b, tol = 0, device = device, precision = precision)
    out$solve <- scaled(b - x %*% s, n * norm1(x) * norm1(s) * eps)
  }
  as.data.frame(out)
}

set.seed(20261120)
devices <- c("cpu", if (gpu_available()) "cuda")
tables <- list()
for (device in devices) {
  for (precision in c("double", "single")) {
    rows <- lapply(shapes, function(s) one(s[1], s[2], device, precision))
    d <- do.call(rbind, rows)
    tables[[paste(device, precision)]] <- d[setdiff(names(d), c("device", "precision"))]
  }
}
stem <- if ("cuda" %in% devices) "agreement-gpu" else "agreement-cpu"
cat(bench_write(stem, "Scaled residuals in units of eps", tables), sep = "\n")
