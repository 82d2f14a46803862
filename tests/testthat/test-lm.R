test_that("fits are lm.fit()'s, names and attributes included", {
  set.seed(1)
  n <- 30L
  plain <- random_matrix(n, 4)
  designed <- structure(
    cbind(`(Intercept)` = 1, u = rnorm(n), v = rnorm(n)), assign = 0:2,
    contrasts = list(f = "contr.treatment")
  )
  responses <- list(
    vector = rnorm(n), named = setNames(rnorm(n), paste0("obs", seq_len(n))),
    whole = sample.int(9L, n, TRUE),
    matrix = random_matrix(n, 2), columns = cbind(y = rnorm(n), z = rnorm(n)),
    column = cbind(y = rnorm(n)),
    series = ts(rnorm(n), start = 2000),
    classed = structure(rnorm(n), class = "reading", unit = "m"),
    logical = rnorm(n) > 0
  )
  for_each_device(function(device) {
    for (x in list(plain, named(plain), designed, round(4 * plain), plain > 0)) {
      for (kind in names(responses)) {
        y <- responses[[kind]]
        expect_as_base(gpu_lm_fit(x, y, device = device), lm.fit(x, y), tolerance = 1e-7,
          info = kind)
      }
    }
  })
})

# The entries of a factor in columns found dependent are rounding errors.
without_rounding <- function(fit) {
  rest <- seq_along(fit$qr$pivot) > fit$rank
  fit$qr$qr[, rest] <- 0
  fit$qr$qraux[rest] <- 0
  fit
}

expect_same_fit <- function(ours, base) {
  expect_as_base(without_rounding(ours), without_rounding(base), tolerance = 1e-7)
}

test_that("dependent columns have NA coefficients and base R's pivot", {
  set.seed(2)
  n <- 25L
  x <- cbind(a = 1, b = rnorm(n), c = 0, d = rnorm(n), e = 0)
  x[, "c"] <- x[, "a"] + x[, "b"]
  x[, "e"] <- x[, "d"]
  y <- cbind(u = rnorm(n), v = rnorm(n))
  for_each_device(function(device) {
    fit <- expect_same_fit(gpu_lm_fit(x, y[, 1], device = device), lm.fit(x, y[, 1]))
    expect_identical(is.na(fit$coefficients),
      c(a = FALSE, b = FALSE, c = TRUE, d = FALSE, e = TRUE))
    expect_identical(fit$rank, 3L)
    expect_same_fit(gpu_lm_fit(x, y, device = device), lm.fit(x, y))
    expect_same_fit(gpu_lm_fit(unname(x), y, device = device), lm.fit(unname(x), y))
    expect_as_base(gpu_lm_fit(matrix(0, 3, 2), 1:3, device = device), lm.fit(matrix(0, 3, 2), 1:3))
    wide <- random_matrix(4, 7)
    expect_same_fit(gpu_lm_fit(wide, 1:4, device = device), lm.fit(wide, 1:4))
    e <- expect_as_base(
      gpu_lm_fit(x, y, singular.ok = FALSE, device = device), lm.fit(x, y, singular.ok = FALSE)
    )
    expect_identical(e$rank, 3L)
  })
})

test_that("summaries of lm take the fit", {
  fit <- lm(dist ~ speed, cars)
  ours <- fit
  part <- gpu_lm_fit(model.matrix(fit), cars$dist)
  ours[names(part)] <- part
  expect_equal(coef(summary(ours)), coef(summary(fit)))
  expect_equal(vcov(ours), vcov(fit))
})

test_that("large residual problems have small gradients", {
  set.seed(3)
  for_each_setting(function(device, precision) {
    for (shape in list(c(50L, 3L), c(129L, 33L), c(600L, 64L))) {
      x <- random_matrix(shape[1], shape[2])
      y <- random_matrix(shape[1], 2)
      fit <- gpu_lm_fit(x, y, device = device, precision = precision)
      expect_small(residual_gradient(fit, x, y, precision), "gradient")
    }
  })
})

test_that("offset, method and further arguments behave as in base R", {
  x <- cbind(1, 1:6)
  y <- c(2, 1, 4, 3, 6, 5)
  expect_as_base(gpu_lm_fit(x, y, offset = rep(0.5, 6)), lm.fit(x, y, offset = rep(0.5, 6)))
  expect_as_base(gpu_lm_fit(x, cbind(y, y), offset = t(cbind(y, y))),
    lm.fit(x, cbind(y, y), offset = t(cbind(y, y))))
  expect_as_base(gpu_lm_fit(x, y, method = "svd"), lm.fit(x, y, method = "svd"))
  expect_warning(gpu_lm_fit(x, y, other = 3), "extra argument .other. will be disregarded")
  expect_as_base(gpu_lm_fit(x, y, tol = 0.9), lm.fit(x, y, tol = 0.9))
})

test_that("what lm.fit() refuses is refused in its words", {
  x <- cbind(1, 1:4)
  expect_as_base(gpu_lm_fit(1:4, 1:4), lm.fit(1:4, 1:4))
  expect_as_base(gpu_lm_fit(x, 1:3), lm.fit(x, 1:3))
  expect_as_base(gpu_lm_fit(x[0, ], numeric()), lm.fit(x[0, ], numeric()))
  expect_as_base(gpu_lm_fit(x[, 0], 1:4), lm.fit(x[, 0], 1:4))
  for (special in list(NA_real_, NaN, Inf)) {
    e <- expect_as_base(gpu_lm_fit(x, c(1, special, 3, 4)), lm.fit(x, c(1, special, 3, 4)))
    expect_identical(e$argument, "y")
    e <- expect_as_base(gpu_lm_fit(x * special, 1:4), lm.fit(x * special, 1:4))
    expect_identical(e$argument, "x")
  }
  expect_as_base(gpu_lm_fit(x, letters[1:4]), lm.fit(x, letters[1:4]))
  expect_error(gpu_lm_fit(data.frame(x), 1:4), "must be a matrix", class = "cudafactor_error_type")
  expect_error(gpu_lm_fit(x + 0i, 1:4), "complex", class = "cudafactor_error_type")
  expect_error(gpu_lm_fit(x, 1:4 + 0i), "complex", class = "cudafactor_error_type")
})

test_that("arrays of responses and weights are refused, since the fit would be another one", {
  x <- cbind(1, c(1, 2, 4))
  for_each_device(function(device) {
    for (y in list(array(1:6, c(3, 2, 1)), array(1:3, c(3, 1, 1)))) {
      expect_error(gpu_lm_fit(x, y, device = device), "array of 3 dimensions",
        class = "cudafactor_error_dimension")
    }
    for (name in c("w", "wt", "weights", "weight")) {
      arguments <- c(list(x, 1:3, device = device), stats::setNames(list(1:3), name))
      e <- expect_error(do.call(gpu_lm_fit, arguments), "square roots of the weights",
        class = "cudafactor_error_argument")
      expect_identical(e$argument, name)
    }
    batch <- array(x, c(dim(x), 2))
    expect_error(gpu_lm_fit(batch, matrix(1:6, 3), w = 1:3, device = device), "sqrt",
      class = "cudafactor_error_argument")
    expect_warning(gpu_lm_fit(x, 1:3, why = 1, device = device), "disregarded")
  })
  w <- c(1, 2, 0.5)
  expect_equal(gpu_lm_fit(sqrt(w) * x, sqrt(w) * 1:3)$coefficients,
    unname(stats::lm.wfit(x, 1:3, w)$coefficients), ignore_attr = TRUE)
})

test_that("dates and times are responses", {
  x <- cbind(1, c(2, 1, 4, 3, 5))
  day <- as.Date("2024-02-03") + c(1, 3, 2, 5, 4)
  for_each_device(function(device) {
    for (y in list(day, as.POSIXct(day), as.difftime(1:5, units = "mins"))) {
      expect_as_base(gpu_lm_fit(x, y, device = device), lm.fit(x, y), tolerance = 1e-7)
      y[2] <- NA
      expect_error(gpu_lm_fit(x, y, device = device), "'y'", class = "cudafactor_error_non_finite")
    }
    several <- structure(as.double(c(day, day + 7)), dim = c(5L, 2L), class = "Date")
    fit <- gpu_lm_fit(array(x, c(5, 2, 2)), several, device = device)
    expect_equal(fit$coefficients, unname(lm.fit(x, unclass(several))$coefficients),
      tolerance = 1e-7, ignore_attr = TRUE)
  })
})

test_that("missing arguments and flags that are none are named, with the call", {
  x <- cbind(1, 1:5)
  deficient <- cbind(x, x)
  e <- expect_as_base(gpu_lm_fit(deficient, 1:5, singular.ok = NA),
    lm.fit(deficient, 1:5, singular.ok = NA))
  expect_s3_class(e, "cudafactor_error_argument")
  expect_identical(e$argument, "singular.ok")
  for (no in list(NA, "yes", NULL)) {
    expect_error(gpu_lm_fit(x, 1:5, singular.ok = no), class = "cudafactor_error_argument")
    expect_error(gpu_lm_fit(array(x, c(5, 2, 3)), matrix(1, 5, 3), singular.ok = no),
      class = "cudafactor_error_argument")
  }
  for (x in list(x, array(x, c(5, 2, 3)))) {
    e <- expect_error(gpu_lm_fit(x), "argument \"y\" is missing, with no default",
      class = "cudafactor_error_argument")
    expect_identical(list(e$argument, conditionCall(e)), list("y", quote(gpu_lm_fit(x))))
  }
  e <- expect_error(gpu_lm_fit(), "argument \"x\" is missing", class = "cudafactor_error_argument")
  expect_identical(conditionCall(e), quote(gpu_lm_fit()))
})
