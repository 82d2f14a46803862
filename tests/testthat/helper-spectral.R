# Matrices and residuals for tests of eigenvalues and singular values.

# The power of two that brings the largest entry to order 1, in two steps of half its exponent.
to_unit <- function(x, by = x) {
  largest <- max(abs(by), 0)
  half <- if (largest > 0) floor(log2(largest)) / 2 else 0
  x * 2^-floor(half) * 2^-ceiling(half)
}

# Matrices of a class that is.numeric() denies, although they hold numbers.
times_matrices <- function() {
  days <- as.Date("2024-02-03") + c(0, 3, 7)
  list(
    difftime = outer(days, days, "-"), date = structure(matrix(1:9 + 0, 3), class = "Date"),
    integer_date = structure(matrix(1:9, 3), class = "Date"),
    time = structure(crossprod(matrix(1:9 + 0, 3)), class = c("POSIXct", "POSIXt"))
  )
}

frobenius <- function(x) sqrt(sum(Mod(x)^2))

# ||x V - V L|| and the loss of orthogonality, in units of n eps.
residual_eigen <- function(x, e) {
  values <- to_unit(e$values, x)
  x <- to_unit(x)
  error <- frobenius(x %*% e$vectors - e$vectors %*% diag(values, length(values)))
  error / (max(frobenius(x), .Machine$double.xmin) * nrow(x) * .Machine$double.eps)
}

loss_of_orthogonality <- function(q) {
  max(abs(crossprod(q) - diag(ncol(q)))) / (nrow(q) * .Machine$double.eps)
}

residual_svd <- function(x, s) {
  d <- to_unit(s$d, x)
  x <- to_unit(x)
  k <- seq_along(d)
  product <- s$u[, k, drop = FALSE] %*% (d * t(s$v[, k, drop = FALSE]))
  frobenius(x - product) /
    (max(frobenius(x), .Machine$double.xmin) * max(dim(x)) * .Machine$double.eps)
}

symmetric_kinds <- function(n) {
  x <- matrix(rnorm(n * n), n)
  x <- x + t(x)
  grade <- 10^(-10 * seq_len(n) / n)
  near <- abs(outer(seq_len(n), seq_len(n), "-"))
  q <- qr.Q(qr(matrix(rnorm(n * n), n)))
  of_values <- function(w) {
    y <- q %*% (w * t(q))
    (y + t(y)) / 2
  }
  list(
    random = x, graded = x * outer(grade, grade), tiny = x * 1e-300, small = x * 1e-16,
    large = x * 1e12, huge = x * 1e300,
    clustered = of_values(seq_len(n) %% 3 - 1), deficient = tcrossprod(x[, 1, drop = FALSE]),
    equal = of_values(rep(2, n)), ones = matrix(1, n, n),
    wilkinson = ifelse(near == 1, 1, 0) + diag(abs(seq_len(n) - (n + 1) / 2), n),
    zero = matrix(0, n, n), identity = diag(n)
  )
}
