# What the tests of gpu_eigen(k = ) and gpu_svd(k = ) share.

with_spectrum <- function(values) {
  q <- qr.Q(qr(random_matrix(length(values), length(values))))
  x <- q %*% (values * t(q))
  (x + t(x)) / 2
}

# Values, residuals, orthogonality and signs. `multiply` is the matrix as a function.
expect_few_eigen <- function(e, multiply, values, tol = 1e-9) {
  size <- max(abs(values))
  expect_s3_class(e, "eigen")
  expect_lte(max(abs(e$values - values)), tol * size)
  v <- e$vectors
  expect_identical(dim(v)[[2L]], length(values))
  away <- sqrt(colSums((multiply(v) - sweep(v, 2, e$values, "*"))^2))
  expect_lte(max(away), tol * size)
  expect_lte(max(abs(e$residuals - away / size)), tol)
  expect_lte(max(abs(crossprod(v) - diag(ncol(v)))), 1e-12)
  # The first of components that agree to half of their digits.
  lead <- function(x) x[[which(abs(x) >= max(abs(x)) * (1 - 1.5e-8))[[1L]]]]
  expect_true(all(apply(v, 2, lead) > 0))
}

expect_few_svd <- function(s, x, k, tol = 1e-9) {
  d <- svd(x, 0, 0)$d[seq_len(k)]
  expect_lte(max(abs(s$d - d)), tol * d[[1L]])
  away <- max(abs(x %*% s$v - sweep(s$u, 2, s$d, "*")), abs(t(x) %*% s$u - sweep(s$v, 2, s$d, "*")))
  expect_lte(away, tol * d[[1L]])
  expect_lte(max(abs(crossprod(s$u) - diag(k)), abs(crossprod(s$v) - diag(k))), 1e-12)
}
