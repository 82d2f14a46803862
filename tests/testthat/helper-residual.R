# Scaled residuals: errors in units of what rounding alone may do, so that one bound serves every
# size and condition. The arithmetic of the residual is base R's, in double precision.

unit <- c(double = .Machine$double.eps, single = 2^-23)

# The largest value a test accepts, for each residual: a few times what the CPU shows. LAPACK's own
# tests accept 30.
limit <- c(
  product = 2, cholesky = 5, inverse = 3, orthogonality = 5, qr = 3, lu = 3, solve = 3,
  triangular = 2, gradient = 0.1
)

norm_one <- function(x) {
  x <- as.matrix(x)
  if (length(x) == 0) 0 else max(colSums(abs(x)))
}

relative <- function(error, scale) {
  if (norm_one(error) == 0) 0 else norm_one(error) / scale
}

residual_product <- function(out, x, y, precision) {
  bound <- max(1, ncol(x)) * unit[[precision]] * (abs(x) %*% abs(y))
  error <- abs(out - x %*% y)
  if (all(error <= 0)) 0 else max(error[error > 0] / bound[error > 0])
}

residual_cholesky <- function(r, x, precision) {
  relative(crossprod(r) - x, nrow(x) * unit[[precision]] * norm_one(x))
}

residual_inverse <- function(inverse, x, precision) {
  n <- nrow(x)
  relative(diag(n) - x %*% inverse, n * unit[[precision]] * norm_one(x) * norm_one(inverse))
}

residual_qr <- function(f, x, precision) {
  q <- qr.Q(f)
  error <- q %*% qr.R(f) - x[, f$pivot, drop = FALSE]
  relative(error, max(dim(x)) * unit[[precision]] * norm_one(x))
}

residual_orthogonality <- function(f, precision) {
  q <- qr.Q(f)
  relative(crossprod(q) - diag(ncol(q)), nrow(q) * unit[[precision]])
}

residual_lu <- function(f, x, precision) {
  e <- lu_expand(f)
  relative(e$P %*% e$L %*% e$U - x, max(dim(x)) * unit[[precision]] * norm_one(x))
}

residual_solve <- function(z, a, b, precision) {
  scale <- norm_one(a) * norm_one(z) + norm_one(b)
  relative(as.matrix(b) - a %*% z, nrow(a) * unit[[precision]] * scale)
}

residual_triangular <- function(z, r, b, precision) {
  bound <- nrow(r) * unit[[precision]] * (abs(r) %*% abs(z) + abs(as.matrix(b)))
  error <- abs(r %*% z - b)
  if (all(error <= 0)) 0 else max(error[error > 0] / bound[error > 0])
}

residual_gradient <- function(fit, x, y, precision) {
  relative(crossprod(x, as.matrix(fit$residuals)),
    max(dim(x)) * unit[[precision]] * norm_one(t(x)) * norm_one(y))
}

expect_small <- function(residual, kind) {
  expect(
    isTRUE(residual <= limit[[kind]]),
    sprintf("the scaled residual \"%s\" is %g, above %g", kind, residual, limit[[kind]])
  )
  invisible(residual)
}
