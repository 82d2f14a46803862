# Test matrices by kind. Every call draws from R's generator: tests set the seed.

random_matrix <- function(m, n) matrix(rnorm(m * n), m, n)

# Symmetric positive definite with condition number about `condition`.
definite_matrix <- function(n, condition = 100) {
  if (n == 0) {
    return(matrix(0, 0, 0))
  }
  q <- qr.Q(qr(random_matrix(n, n)))
  d <- condition^(-(seq_len(n) - 1) / max(1, n - 1))
  x <- q %*% (d * t(q))
  (x + t(x)) / 2
}

# Square with singular values from 1 down to 1/condition.
conditioned_matrix <- function(n, condition) {
  d <- condition^(-(seq_len(n) - 1) / max(1, n - 1))
  qr.Q(qr(random_matrix(n, n))) %*% (d * t(qr.Q(qr(random_matrix(n, n)))))
}

# Rows and columns of very different size, as far apart as 10^-exponent to 10^exponent.
graded_matrix <- function(m, n, exponent = 8) {
  x <- random_matrix(m, n)
  x * 10^seq(-exponent, exponent, length.out = m) *
    rep(10^seq(exponent, -exponent, length.out = n), each = m)
}

# `n` columns of which some repeat, vanish or combine others.
deficient_matrix <- function(m, n) {
  x <- random_matrix(m, n)
  for (j in sample.int(n, sample.int(max(1L, n %/% 2L), 1L))) {
    others <- setdiff(seq_len(n), j)
    x[, j] <- switch(if (n == 1L) 1L else sample.int(3L, 1L),
      0,
      x[, others[[sample.int(length(others), 1L)]]],
      x[, others, drop = FALSE] %*% rnorm(length(others))
    )
  }
  x
}

named <- function(x) {
  dimnames(x) <- list(row = sprintf("r%d", seq_len(nrow(x))),
    column = sprintf("c%d", seq_len(ncol(x))))
  x
}

edge_sizes <- c(1L, 2L, 31L, 32L, 33L, 127L, 128L, 129L)

# Tall, square and wide, around the block sizes of the kernels.
edge_shapes <- list(
  c(1L, 1L), c(2L, 1L), c(1L, 2L), c(31L, 33L), c(33L, 31L), c(32L, 32L), c(127L, 129L),
  c(129L, 127L),
  c(128L, 128L), c(300L, 5L), c(5L, 300L), c(257L, 64L), c(64L, 257L)
)

# The numbers a device of single precision can hold.
as_single <- function(x) {
  attributes_of_x <- attributes(x)
  missing <- is.na(x) & !is.nan(x)
  x <- readBin(writeBin(as.double(x), raw(), size = 4L), "numeric", n = length(x), size = 4L)
  x[missing] <- NA
  attributes(x) <- attributes_of_x
  x
}
