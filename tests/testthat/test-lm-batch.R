# Slice i of an array, or column i of a matrix, for any dimensions.
problem <- function(x, i) {
  d <- dim(x)
  if (length(d) == 2L) x[, i] else matrix(x[, , i], d[[1L]], d[[2L]], dimnames = dimnames(x)[1:2])
}

# The fit of problem i with the parts that lm.fit() computes, out of a fit of many. Entries that
# are rounding errors in base R too, those of a factor in columns found dependent, are left out.
one_of <- function(fit, i) {
  rank <- fit$rank[[i]]
  list(
    coefficients = unname(problem(fit$coefficients, i)),
    residuals = unname(problem(fit$residuals, i)),
    effects = unname(problem(fit$effects, i)),
    fitted.values = unname(problem(fit$fitted.values, i)),
    rank = rank, df.residual = fit$df.residual[[i]], pivot = unname(fit$qr$pivot[, i]),
    qr = unname(problem(fit$qr$qr, i)[, seq_len(rank)]),
    qraux = unname(fit$qr$qraux[seq_len(rank), i]), tol = fit$qr$tol
  )
}

alone <- function(x, y, ...) {
  fit <- lm.fit(x, y, ...)
  rank <- fit$rank
  plain <- function(v) {
    attributes(v) <- attributes(v)["dim"]
    v
  }
  list(
    coefficients = plain(fit$coefficients), residuals = plain(fit$residuals),
    effects = plain(fit$effects),
    fitted.values = plain(fit$fitted.values), rank = rank, df.residual = fit$df.residual,
    pivot = fit$qr$pivot,
    qr = unname(fit$qr$qr[, seq_len(rank)]), qraux = fit$qr$qraux[seq_len(rank)], tol = fit$qr$tol
  )
}

designs <- function(m, n, k, make = random_matrix) {
  array(vapply(seq_len(k), function(i) make(m, n), matrix(0, m, n)), c(m, n, k))
}

test_that("each problem has lm.fit()'s answer", {
  set.seed(1)
  for_each_device(function(device) {
    for (shape in list(
      c(1, 1), c(2, 1), c(1, 3), c(5, 2), c(7, 7), c(4, 9), c(31, 3), c(33, 33), c(64, 5),
      c(100, 34), c(257, 2)
    )) {
      for (k in c(1L, 2L, 5L)) {
        x <- designs(shape[1], shape[2], k)
        y <- random_matrix(shape[1], k)
        fit <- gpu_lm_fit(x, y, device = device)
        expect_identical(names(fit), names(lm.fit(problem(x, 1), y[, 1])))
        several <- array(rnorm(shape[1] * 3 * k), c(shape[1], 3, k))
        fits <- gpu_lm_fit(x, several, device = device)
        for (i in seq_len(k)) {
          info <- paste(c(shape, k, i), collapse = " ")
          expect_equal(one_of(fit, i), alone(problem(x, i), y[, i]), tolerance = 1e-7, info = info)
          expect_equal(
            one_of(fits, i), alone(problem(x, i), problem(several, i)), tolerance = 1e-7,
            info = info
          )
        }
      }
    }
  })
})

test_that("dependent columns are those of lm.fit(), in each problem its own", {
  set.seed(2)
  for_each_device(function(device) {
    for (shape in list(c(12L, 5L), c(9L, 9L), c(5L, 12L), c(60L, 20L), c(3L, 2L))) {
      k <- 40L
      x <- designs(shape[1], shape[2], k, deficient_matrix)
      x[, , 7] <- 0
      x[, , 8] <- rnorm(shape[1] * shape[2])
      y <- random_matrix(shape[1], k)
      fit <- gpu_lm_fit(x, y, device = device)
      expect_identical(which(fit$rank < shape[2])[1:3], 1:3)
      for (i in seq_len(k)) {
        base <- alone(problem(x, i), y[, i])
        expect_equal(
          one_of(fit, i), base, tolerance = 1e-6, info = paste(c(shape, i), collapse = " ")
        )
        expect_identical(is.na(unname(fit$coefficients[, i])), is.na(base$coefficients))
      }
      e <- expect_error(
        gpu_lm_fit(x, y, singular.ok = FALSE, device = device),
        "problem 1: singular fit encountered",
        class = "cudafactor_error_singular"
      )
      expect_identical(e[c("index", "rank")], list(index = 1L, rank = fit$rank[[1]]))
    }
  })
})

test_that("many problems of every size are solved, in both precisions", {
  set.seed(3)
  for_each_setting(function(device, precision) {
    for (shape in list(
      c(20L, 1L, 20000L), c(40L, 4L, 3000L), c(200L, 30L, 60L), c(400L, 90L, 3L), c(1500L, 40L, 2L)
    )) {
      k <- shape[3]
      x <- array(rnorm(prod(shape)), shape)
      y <- random_matrix(shape[1], k)
      fit <- gpu_lm_fit(x, y, device = device, precision = precision)
      expect_identical(fit$rank, rep(shape[2], k))
      for (i in unique(c(1L, 2L, k - 1L, k))) {
        part <- list(residuals = fit$residuals[, i])
        expect_small(residual_gradient(part, problem(x, i), y[, i], precision), "gradient")
        error <- relative(fit$residuals[, i] + problem(x, i) %*% fit$coefficients[, i] - y[, i],
          max(shape[1:2]) * unit[[precision]] * (norm_one(y[, i]) + norm_one(problem(
            x, i
          )) * norm_one(fit$coefficients[, i])))
        expect_small(error, "qr")
      }
      expect_identical(gpu_lm_fit(x, y, device = device, precision = precision), fit)
    }
  })
})

test_that("the answer to a problem does not depend on where it stands", {
  set.seed(4)
  x <- designs(20L, 6L, 5L, deficient_matrix)
  y <- random_matrix(20L, 5L)
  for_each_device(function(device) {
    fit <- gpu_lm_fit(x, y, device = device)
    many <- gpu_lm_fit(x[, , rep(1:5, 300)], y[, rep(1:5, 300)], device = device)
    expect_identical(many$coefficients, fit$coefficients[, rep(1:5, 300)])
    expect_identical(many$qr$pivot, fit$qr$pivot[, rep(1:5, 300)])
    expect_identical(many$residuals, fit$residuals[, rep(1:5, 300)])
  })
})

test_that("names and attributes are carried", {
  set.seed(5)
  x <- array(rnorm(60), c(10, 2, 3), list(paste0("r", 1:10), c("a", "b"), c("u", "v", "w")))
  attr(x, "assign") <- 0:1
  y <- random_matrix(10, 3)
  fit <- gpu_lm_fit(x, y)
  expect_identical(dimnames(fit$coefficients), list(c("a", "b"), c("u", "v", "w")))
  expect_identical(colnames(fit$residuals), c("u", "v", "w"))
  expect_identical(colnames(fit$fitted.values), c("u", "v", "w"))
  expect_identical(names(fit$rank), c("u", "v", "w"))
  expect_identical(names(fit$df.residual), c("u", "v", "w"))
  expect_identical(dimnames(fit$qr$qr), list(paste0("r", 1:10), NULL, c("u", "v", "w")))
  expect_identical(dimnames(fit$qr$pivot), list(NULL, c("u", "v", "w")))
  expect_identical(fit$assign, 0:1)
  expect_identical(fit$qr$rank, fit$rank)
  y <- array(rnorm(60), c(10, 2, 3), list(letters[1:10], c("p", "q"), NULL))
  fit <- gpu_lm_fit(x, y)
  expect_identical(dimnames(fit$coefficients), list(c("a", "b"), c("p", "q"), c("u", "v", "w")))
  expect_identical(dimnames(fit$residuals), list(letters[1:10], c("p", "q"), c("u", "v", "w")))
  expect_identical(dimnames(fit$effects), list(NULL, c("p", "q"), c("u", "v", "w")))
  plain <- gpu_lm_fit(unname(x), matrix(1:30, 10, dimnames = list(NULL, c("k", "l", "m"))))
  expect_identical(dimnames(plain$coefficients), list(c("x1", "x2"), c("k", "l", "m")))
  expect_identical(names(plain$rank), c("k", "l", "m"))
  expect_null(names(gpu_lm_fit(unname(x), matrix(1:30, 10))$rank))
  whole <- array(sample(9L, 60, TRUE), c(10, 2, 3))
  expect_identical(gpu_lm_fit(whole, matrix(1:30, 10)), gpu_lm_fit(whole + 0, matrix(1:30, 10) + 0))
  cube <- methods::setClass("cudafactor_test_designs", contains = "array", where = environment())
  expect_identical(gpu_lm_fit(cube(whole), matrix(1:30, 10)), gpu_lm_fit(whole, matrix(1:30, 10)))
})

test_that("problems have the names of x in every part, with a warning where those of y differ", {
  x <- array(rnorm(60), c(10, 2, 3), list(NULL, NULL, c("u", "v", "w")))
  responses <- list(
    matrix(rnorm(30), 10, dimnames = list(NULL, c("w", "v", "u"))),
    array(rnorm(60), c(10, 2, 3), list(NULL, c("p", "q"), c("k", "l", "m")))
  )
  for (y in responses) {
    expect_warning(
      fit <- gpu_lm_fit(x, y), "names of the problems", class = "cudafactor_warning_names"
    )
    parts <- c(
      fit[c("coefficients", "residuals", "effects", "fitted.values")],
      fit$qr[c("qr", "qraux", "pivot")]
    )
    for (part in parts) {
      expect_identical(dimnames(part)[[length(dim(part))]], c("u", "v", "w"))
    }
    expect_identical(c(names(fit$rank), names(fit$df.residual)), rep(c("u", "v", "w"), 2))
    dimnames(y)[length(dim(y))] <- list(c("u", "v", "w"))
    expect_identical(expect_silent(gpu_lm_fit(x, y)), fit)
  }
})

test_that("nothing, and next to nothing, is solved too", {
  for_each_device(function(device) {
    none <- gpu_lm_fit(array(0, c(4, 2, 0)), matrix(0, 4, 0), device = device)
    expect_identical(lapply(none[c("coefficients", "residuals", "effects", "fitted.values")], dim),
      list(
        coefficients = c(2L, 0L), residuals = c(4L, 0L), effects = c(4L, 0L),
        fitted.values = c(4L, 0L)
      ))
    expect_identical(none$rank, integer())
    expect_identical(dim(none$qr$qr), c(4L, 2L, 0L))
    y <- matrix(1:8 + 0, 4)
    bare <- gpu_lm_fit(array(0, c(4, 0, 2)), y, device = device)
    expect_identical(dim(bare$coefficients), c(0L, 2L))
    expect_identical(
      list(bare$residuals, bare$fitted.values, bare$rank, bare$df.residual),
      list(y, 0 * y, c(0L, 0L), c(4L, 4L))
    )
    silent <- gpu_lm_fit(array(1:8, c(4, 1, 2)), array(0, c(4, 0, 2)), device = device)
    expect_identical(dim(silent$coefficients), c(1L, 0L, 2L))
    expect_identical(silent$rank, c(1L, 1L))
    expect_identical(
      gpu_lm_fit(array(0, c(0, 2, 0)), matrix(0, 0, 0), device = device)$rank, integer()
    )
  })
  expect_error(
    gpu_lm_fit(array(0, c(0, 2, 3)), matrix(0, 0, 3)), "0 (non-NA) cases", fixed = TRUE,
    class = "cudafactor_error_dimension"
  )
})

test_that("offset, tol and method are lm.fit()'s", {
  set.seed(6)
  x <- designs(8L, 3L, 4L)
  y <- random_matrix(8, 4)
  for (offset in list(rnorm(8), random_matrix(8, 4))) {
    fit <- gpu_lm_fit(x, y, offset = offset)
    for (i in 1:4) {
      expect_equal(
        one_of(fit, i), alone(problem(x, i), y[, i], offset = matrix(offset, 8, 4)[, i]),
        tolerance = 1e-8
      )
    }
  }
  expect_error(gpu_lm_fit(x, y, offset = 1:3), "offset", class = "cudafactor_error_dimension")
  several <- array(rnorm(8 * 2 * 4), c(8, 2, 4))
  shift <- array(rnorm(8 * 2 * 4), c(8, 2, 4))
  fit <- gpu_lm_fit(x, several, offset = shift)
  expect_equal(
    one_of(fit, 3), alone(problem(x, 3), several[, , 3], offset = shift[, , 3]), tolerance = 1e-8
  )
  for (wrong in list(t(y), matrix(0, 8, 1), matrix(0, 2, 4), array(0, 8), array(0, c(8, 1, 4)))) {
    e <- expect_error(
      gpu_lm_fit(x, y, offset = wrong), "non-conformable arrays",
      class = "cudafactor_error_dimension"
    )
    expect_identical(conditionCall(e)[[1]], quote(gpu_lm_fit))
  }
  fit <- gpu_lm_fit(x, y, tol = 0.9)
  for (i in 1:4) {
    expect_equal(one_of(fit, i), alone(problem(x, i), y[, i], tol = 0.9), tolerance = 1e-8)
  }
  expect_warning(gpu_lm_fit(x, y, method = "svd"), "svd", class = "cudafactor_warning_argument")
  expect_warning(gpu_lm_fit(x, y, other = 3), "extra argument .other. will be disregarded")
})
