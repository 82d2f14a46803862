# Batches of gpu_lm_fit(): what is refused, the range of numbers, and the choice of a device.

designs <- function(m, n, k, make = random_matrix) {
  array(vapply(seq_len(k), function(i) make(m, n), matrix(0, m, n)), c(m, n, k))
}

test_that("what is not finite, and what does not fit, is refused and named", {
  x <- designs(6L, 2L, 5L)
  y <- random_matrix(6, 5)
  for (special in c(NA, NaN, Inf)) {
    bad <- x
    bad[3, 2, 4] <- bad[1, 1, 5] <- special
    e <- expect_error(
      gpu_lm_fit(bad, y), "problem 4: NA/NaN/Inf in 'x'", class = "cudafactor_error_non_finite"
    )
    expect_identical(e[c("argument", "index")], list(argument = "x", index = 4L))
    expect_identical(conditionCall(e)[[1]], quote(gpu_lm_fit))
    bad <- y
    bad[6, 2] <- special
    e <- expect_error(
      gpu_lm_fit(x, bad), "problem 2: NA/NaN/Inf in 'y'", class = "cudafactor_error_non_finite"
    )
    expect_identical(e$index, 2L)
    several <- array(1, c(6, 3, 5))
    several[1, 1, 5] <- special
    dimnames(several) <- list(NULL, NULL, letters[1:5])
    e <- expect_error(gpu_lm_fit(x, several), class = "cudafactor_error_non_finite")
    expect_identical(e[c("index", "name")], list(index = 5L, name = "e"))
  }
  for (no in list(
    1:6, matrix(1, 5, 5), matrix(1, 6, 4), array(1, c(6, 1, 4)), array(1, c(5, 1, 5)),
    array(1, c(6, 1, 5, 1)), NULL
  )) {
    expect_error(
      gpu_lm_fit(x, no), "incompatible dimensions: 'x' is 6 x 2 x 5",
      class = "cudafactor_error_dimension"
    )
  }
  for (no in list(array(1, c(6, 2, 5, 1)), list(x[, , 1], x[, , 2]))) {
    expect_error(
      gpu_lm_fit(no, y), "'x' must be a matrix, or an array of dimensions c",
      class = "cudafactor_error_type"
    )
  }
  expect_error(gpu_lm_fit(x + 0i, y), "complex", class = "cudafactor_error_type")
  expect_error(gpu_lm_fit(x, y + 0i), "complex", class = "cudafactor_error_type")
  expect_error(
    gpu_lm_fit(array("a", c(1, 1, 1)), matrix(1)), class = "cudafactor_error"
  ) |> expect_warning("coercion")
  expect_error(gpu_lm_fit(x, y, tol = "a"), class = "cudafactor_error_argument")
})

test_that("numbers near the ends of the range do not overflow", {
  set.seed(7)
  x <- designs(30L, 4L, 6L)
  y <- random_matrix(30, 6)
  for_each_device(function(device) {
    fit <- gpu_lm_fit(x, y, device = device)
    for (scale in c(2^-1000, 2^1000)) {
      scaled <- gpu_lm_fit(x * scale, y, device = device)
      expect_equal(scaled$coefficients * scale, fit$coefficients, tolerance = 1e-10)
      expect_equal(scaled$residuals, fit$residuals, tolerance = 1e-10)
      expect_identical(scaled$rank, fit$rank)
    }
  })
})

test_that("\"auto\" counts the operations of all problems", {
  skip_unless(gpu_available(), "there is no GPU")
  x <- array(rnorm(2000 * 200), c(20, 10, 2000))
  y <- random_matrix(20, 2000)
  # A little below the count of 2000 problems, for rounding, and far above that of 1999.
  before <- options(cudafactor.min_flops = (1 - 1e-9) * 2000 * (2 * 100 * (20 - 10 / 3) + 4 * 200))
  on.exit(options(before))
  gpu_lm_fit(x[, , -1], y[, -1])
  expect_identical(gpu_last_device(), "cpu")
  gpu_lm_fit(x, y)
  expect_identical(gpu_last_device(), "cuda:0")
})
