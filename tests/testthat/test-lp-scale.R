# Linear programs whose numbers, bounds or interiors are extreme.

test_that("numbers out of all proportion are told, or solved", {
  r <- tryCatch(suppressWarnings(lp_ipm(c(1, 1), rbind(c(1e300, 1e-300)), ">=", 5)),
    cudafactor_error_argument = function(e) e)
  if (inherits(r, "error")) {
    expect_identical(r$argument, "mat")
  } else {
    expect_true(r$status %in% c(0L, 6L))
  }
})

test_that("lower bounds that stand for none do not spoil the answer", {
  x <- cbind(1, 1:5)
  for (far in c(-Inf, -1e5, -1e8, -1e15)) {
    fit <- lp_ipm(c(0, 0, rep(1, 10)), cbind(x, diag(5), -diag(5)), rep("==", 5), c(2, 4, 5, 4, 5),
      list(lower = list(ind = 1:2, val = c(far, far))))
    expect_identical(fit$status, 0L)
    expect_equal(fit$optimum, 3, tolerance = 1e-6)
  }
})

test_that("dependence and single precision do not make a problem infeasible", {
  set.seed(3)
  a <- matrix(rnorm(300), 10)
  a <- rbind(a, colSums(a))
  r <- lp_ipm(runif(30), a, rep("==", 11), drop(a %*% runif(30)), precision = "single")
  expect_identical(r[c("status", "dependent_rows")], list(status = 0L, dependent_rows = 1L))
  r <- lp_ipm(c(1, 1), matrix(1, 2, 2), c("<=", ">="), 1:2, precision = "single")
  expect_identical(r$status, 1L)
  twice <- lp_ipm(c(1, 2), matrix(1, 2, 2), c("==", "=="), c(1, 1 + 1.5e-7))
  expect_identical(twice$status, 1L)
  free <- list(lower = list(ind = 1:2, val = c(-Inf, -Inf)))
  r <- lp_ipm(c(1, 2, 1), rbind(c(1, 2, 0), c(2, 4, 1)), c(">=", ">="), c(1, 3), free)
  expect_identical(r[c("status", "dependent_columns")], list(status = 0L, dependent_columns = 1L))
})

test_that("what is at bounds is counted by distance, and only of an optimum", {
  r <- lp_ipm(c(1, 0), rbind(c(1, 1), c(1, 0)), c("<=", "<="), c(3, 9), list(upper = c(4, 5)))
  expect_identical(r$at_bounds[["variables"]], 1L)
  expect_output(print(summary(r)), "variables at a bound: 1 of 2")
  none <- lp_ipm(1, matrix(1), "<=", -1)
  expect_null(none$at_bounds)
  expect_false(any(grepl("at a bound", utils::capture.output(print(summary(none))))))
  expect_identical(none$solution, NA_real_)
  expect_false(is.nan(none$solution))
})

test_that("problems without an interior are decided", {
  decided <- function(status, optimum, ...) {
    r <- expect_silent(lp_ipm(...))
    expect_identical(r$status, status)
    expect_equal(r$optimum, optimum, tolerance = 1e-6)
    r
  }
  free <- list(lower = c(-Inf, 0), upper = c(Inf, 2))
  decided(1L, NA_real_, c(1, 1), rbind(c(1, 0), c(1, 1)), c("==", ">="), c(-2, 1), free)
  decided(1L, NA_real_, c(1, 1), rbind(c(0, 1), 0, 0, c(2, -1)), c("==", ">=", "<=", "=="),
    c(4, 5, -5, 2),
    list(lower = c(-4, -Inf), upper = c(3, Inf)))
  decided(0L, 2e-5, 1e-5, matrix(1), "==", 2, list(upper = 2))
  decided(0L, 0, .002, matrix(c(1e-5, 0)), c("<=", "<="), c(.01, 0), range = c(NA, 3))
  decided(
    0L, 9, 3000, matrix(c(.3, 0)), c("==", "<="), c(.0009, 0), list(lower = -Inf),
    range = c(NA, 2000)
  )
  # A ray without a point is no proof of an unbounded problem.
  decided(1L, NA_real_, c(-1, 0), rbind(c(0, 1)), "==", -1)
  decided(2L, -Inf, c(-1, 0), rbind(c(0, 1)), "==", 1)
  for (by in c(1e-5, 1e-6)) {
    decided(1L, NA_real_, 1, matrix(1), ">=", 3 + by, list(upper = 3))
    decided(1L, NA_real_, c(1, 1), rbind(1:2, 1:2), c("<=", ">="), c(3, 3 + by))
  }
})

test_that("tolerances are relative to the problem's own scale", {
  for (size in c(1e-8, 1e-10, 1e-12)) {
    a <- rbind(c(1, 1, 1), c(1, -1, 2))
    bounds <- list(upper = list(ind = c(1, 3), val = c(size, size)))
    r <- lp_ipm(c(1, 2, -1), a, c("==", "<="), c(3, 2) * size, bounds)
    expect_identical(r$status, 0L)
    expect_equal(r$solution / size, c(1, 1, 1), tolerance = 1e-6)
    r <- lp_ipm(c(1, 2, -1) * size, a, c("==", "<="), c(3, 2) * size, bounds)
    expect_equal(r$optimum / size^2, 2, tolerance = 1e-6)
  }
  # Presolve leaves no bounds in this one but 0.
  bounds <- list(lower = c(-Inf, -Inf, 0), upper = c(0, 5e-8, 2e-8))
  r <- lp_ipm(c(-4, 1, 3), rbind(c(0, -3, 0), c(-4, 3, 0)), c(">=", ">="), c(0, 0), bounds)
  expect_lt(max(abs(r$solution)), 1e-6 * 5e-8)
})
