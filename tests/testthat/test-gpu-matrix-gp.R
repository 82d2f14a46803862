# A Gaussian process's log-likelihood and gradient: base R's numbers, and no matrix crosses the bus.

source(system.file("examples", "gaussian-process.R", package = "cudafactor"), local = TRUE)

problem <- function(n) {
  set.seed(41)
  x <- matrix(runif(2 * n), n)
  list(x = x, y = matrix(sin(6 * x[, 1]) + x[, 2]^2 + rnorm(n, sd = 0.1)))
}

# Calls that bring a whole matrix to a device, or home, while `code` runs.
count_crossings <- function(code) {
  space <- asNamespace("cudafactor")
  crossings <- 0L
  count <- function() crossings <<- crossings + 1L
  on.exit(for (name in c("upload", "fetch")) suppressMessages(untrace(name, where = space)))
  for (name in c("upload", "fetch")) {
    suppressMessages(trace(name, bquote((.(count))()), print = FALSE, where = space))
  }
  force(code)
  crossings
}

test_that("likelihood and gradient are base R's", {
  for (n in c(1, 2, 33, 130)) {
    p <- problem(n)
    theta <- log(c(0.3, 1.2, 0.2))
    want <- gp_log_likelihood(theta, squared_distances(p$x), p$y)
    for_each_setting(function(device, precision) {
      d <- squared_distances(as_gpu(p$x, device, precision))
      got <- gp_log_likelihood(theta, d, as_gpu(p$y, device, precision))
      expect_s4_class(d, "gpu_matrix")
      # The condition number is at most about n signal^2 / noise^2.
      tolerance <- 50 * max(n, 10) * 36 * unit[[precision]]
      expect_equal(got$value, want$value, tolerance = tolerance)
      expect_lt(max(abs(got$gradient - want$gradient)), tolerance * max(n, abs(want$gradient)))
    })
  }
})

test_that("the gradient is that of the likelihood", {
  p <- problem(40)
  d <- squared_distances(as_gpu(p$x))
  y <- as_gpu(p$y)
  theta <- log(c(0.3, 1.2, 0.2))
  step <- 1e-5
  slope <- vapply(1:3, function(k) {
    at <- function(h) gp_log_likelihood(theta + h * (1:3 == k), d, y)$value
    (at(step) - at(-step)) / (2 * step)
  }, 0)
  expect_equal(gp_log_likelihood(theta, d, y)$gradient, slope, tolerance = 1e-6)
})

test_that("a hundred steps move no matrix", {
  n <- 64
  p <- problem(n)
  base <- gp_fit(squared_distances(p$x), p$y)
  for_each_device(function(device) {
    d <- squared_distances(as_gpu(p$x, device))
    y <- as_gpu(p$y, device)
    before <- unlist(native_transfer_bytes()$ok)
    fit <- NULL
    expect_identical(count_crossings(fit <- gp_fit(d, y)), 0L)
    moved <- unlist(native_transfer_bytes()$ok) - before
    # A diagonal up and three down in each step.
    expect_lte(moved[["up"]], 100 * 8 * (n + 100))
    expect_lte(moved[["down"]], 100 * 8 * (3 * n + 100))
    expect_equal(fit$values, base$values, tolerance = 1e-8)
    expect_gt(fit$values[[100]], fit$values[[1]])
    # The tool of this test sees what does cross.
    expect_identical(count_crossings(as.matrix(as_gpu(p$x, device))), 2L)
  })
})
