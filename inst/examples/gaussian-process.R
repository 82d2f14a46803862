# A Gaussian process's log-likelihood and its gradient, for matrices of any kind: plain ones, or
# ones that stay on a GPU.
#
#   source(system.file("examples", "gaussian-process.R", package = "cudafactor"))
#   x <- matrix(runif(2000), ncol = 2)
#   y <- sin(6 * x[, 1]) + x[, 2]^2 + rnorm(1000, sd = 0.1)
#   fit <- gp_fit(squared_distances(cudafactor::as_gpu(x)), cudafactor::as_gpu(y), steps = 100)
#
# The loop copies no matrix between GPU and host, only sums and diagonals.

# Between the rows of x, by |a - b|^2 = |a|^2 - 2 a'b + |b|^2; rounding can make it negative.
squared_distances <- function(x) {
  squares <- rowSums(x^2)
  d <- t(t(-2 * tcrossprod(x) + squares) + squares)
  (d + abs(d)) / 2
}

# Covariance signal^2 exp(-d / (2 length^2)) + noise^2 I of observations y, a matrix of one column.
# `theta` are the logarithms of length, signal and noise, in this order; so is the gradient by them.
gp_log_likelihood <- function(theta, d, y) {
  length <- exp(theta[[1L]])
  noise <- exp(theta[[3L]])
  k <- exp(2 * theta[[2L]]) * exp(d * (-0.5 / length^2))
  covariance <- k
  diag(covariance) <- diag(k) + noise^2
  r <- chol(covariance)
  inverse <- chol2inv(r)
  alpha <- inverse %*% y
  # The derivative by theta is sum(w * dK / dtheta) / 2.
  w <- tcrossprod(alpha) - inverse
  wk <- w * k
  list(
    value = -sum(y * alpha) / 2 - sum(log(diag(r))) - nrow(y) / 2 * log(2 * pi),
    gradient = c(sum(wk * d) / length^2 / 2, sum(wk), noise^2 * sum(diag(w)))
  )
}

# Steps uphill, no longer than `longest` in any of the parameters.
gp_fit <- function(d, y, theta = log(c(0.5, 1, 0.5)), steps = 100, longest = 0.05) {
  values <- numeric(steps)
  for (step in seq_len(steps)) {
    at <- gp_log_likelihood(theta, d, y)
    values[[step]] <- at$value
    theta <- theta + longest * at$gradient / max(abs(at$gradient), 1)
  }
  list(theta = theta, values = values)
}
