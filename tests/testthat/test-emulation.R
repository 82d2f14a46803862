# Products in double precision from 8-bit integers, wherever the bound on errors allows it. Without
# a GPU the option changes nothing.

with_emulation <- function(code, wanted = "always") {
  with_options(cudafactor.emulation = wanted, code = code)
}

test_that("products of integers are exact", {
  set.seed(1)
  x <- matrix(sample(-40:40, 300 * 170, TRUE), 300) * 2^-3
  y <- matrix(sample(0:2, 170 * 290, TRUE), 170)
  for_each_device(function(device) {
    with_emulation({
      expect_identical(gpu_matmult(x, y, device = device), x %*% y)
      expect_identical(gpu_crossprod(x, device = device), crossprod(x))
      expect_identical(gpu_tcrossprod(t(y), device = device), tcrossprod(t(y)))
      g <- as_gpu(x, device)
      expect_identical(as.matrix(g %*% y), x %*% y)
      expect_identical(as.matrix(t(g) %*% g), t(x) %*% x)
    })
  })
})

# The largest error in units of k 2^-53 |A||B|, where sums of doubles are within 1. Products of the
# halves of entries are exact, and so is what they sum to but for the last bits.
largest_error <- function(x, y, product) {
  top <- function(a) {
    high <- a * (2^27 + 1)
    high - (high - a)
  }
  parts <- list(top(x), x - top(x), top(y), y - top(y))
  worst <- 0
  for (j in sample(ncol(y), 5)) {
    for (i in sample(nrow(x), 5)) {
      a <- cbind(parts[[1]][i, ], parts[[2]][i, ])
      b <- cbind(parts[[3]][, j], parts[[4]][, j])
      terms <- c(a[, 1] * b[, 1], a[, 1] * b[, 2], a[, 2] * b[, 1], a[, 2] * b[, 2])
      error <- abs(sum(c(-product[i, j], terms)))
      if (error > 0) worst <- max(worst, error / (ncol(x) * 2^-53 * sum(abs(x[i, ] * y[, j]))))
    }
  }
  worst
}

test_that("errors of entries are within the bound of double precision", {
  skip_if(.Machine$sizeof.longdouble <= 8, "sum() has no more digits than doubles")
  set.seed(2)
  x <- matrix(rnorm(200 * 700), 200)
  y <- matrix(rnorm(700 * 260), 700)
  graded <- x * 2^sample(-200:200, 200, TRUE)
  spread <- x * 2^sample(-30:30, length(x), TRUE)
  for_each_device(function(device) {
    for (a in list(x, graded, spread)) {
      product <- with_emulation(gpu_matmult(a, y, device = device))
      expect_lte(largest_error(a, y, product), 1)
    }
  })
})

test_that("designs with groups keep their zeros and the bound", {
  skip_if(.Machine$sizeof.longdouble <= 8, "sum() has no more digits than doubles")
  set.seed(3)
  group <- rep_len(1:9, 700)
  x <- cbind(1, outer(group, 1:9, "=="), matrix(rnorm(700 * 300), 700) * (runif(700 * 300) < 0.8))
  for_each_device(function(device) {
    with_emulation({
      product <- gpu_crossprod(x, device = device)
      expect_identical(product[2:10, 2:10], diag(as.double(table(group))))
      expect_lte(largest_error(t(x), x, product), 1)
      expect_equal(product, crossprod(x), tolerance = 1e-14)
    })
  })
})

test_that("NA, NaN, infinities and zeros come out as without integers", {
  x <- matrix(rnorm(60 * 50), 60)
  y <- matrix(rnorm(50 * 40), 50)
  for_each_device(function(device) {
    for (odd in list(NaN, Inf, -Inf, 0, 1e300, NA_real_)) {
      z <- x
      z[7, 3] <- odd
      with_emulation({
        ours <- gpu_matmult(z, y, device = device)
        expect_equal(ours, z %*% y, tolerance = 1e-13)
        expect_identical(is.na(ours), is.na(z %*% y))
      })
    }
    with_emulation({
      expect_identical(gpu_matmult(0 * x, y, device = device), 0 * x %*% y)
      expect_identical(gpu_matmult(x[0, ], y, device = device), x[0, ] %*% y)
      expect_identical(gpu_matmult(x[, 0], y[0, ], device = device), x[, 0] %*% y[0, ])
    })
  })
})

test_that("factorizations keep their residuals", {
  set.seed(3)
  n <- 900
  x <- matrix(rnorm(n * n), n)
  a <- crossprod(x) + diag(n)
  eps <- .Machine$double.eps
  for_each_device(function(device) {
    residual <- function(wanted) with_emulation(wanted = wanted, {
      r <- gpu_chol(a, device = device)
      q <- gpu_qr(x, device = device)
      s <- gpu_solve(x, diag(n), device = device)
      c(
        chol = norm(crossprod(r) - a) / norm(a),
        qr = norm(qr.X(q) - x) / norm(x),
        solve = norm(x %*% s - diag(n)) / (norm(x) * norm(s))
      ) / (n * eps)
    })
    never <- residual("never")
    always <- residual("always")
    expect_true(all(always <= pmax(1.5 * never, 0.02)), info = paste(always, never))
  })
})
