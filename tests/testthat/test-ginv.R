# gpu_ginv() against its definition and against MASS::ginv().

# MASS is not among the suggested packages, so its name is in a variable.
mass_ginv <- function() {
  package <- "MASS"
  skip_unless(requireNamespace(package, quietly = TRUE), "MASS is not installed")
  getExportedValue(package, "ginv")
}

cases <- function() {
  set.seed(81)
  x <- random_matrix(7, 4)
  list(
    tall = named(x), wide = t(x), square = random_matrix(5, 5), one = matrix(-4),
    zero = matrix(0, 3, 5), column = matrix(1:4), row = matrix(1:4, 1),
    deficient = x[, c(1, 2, 1, 3)], rank_one = outer(1:5, 3:1),
    integer = matrix(c(2L, 1L, 5L, 3L), 2), graded = x %*% diag(10^-(3 * 0:3)),
    diagonal = diag(c(3, 0, 2)), vector = c(a = 3, b = 4)
  )
}

test_that("it is MASS::ginv()", {
  for_each_device(function(device) {
    ginv <- mass_ginv()
    for (name in names(data <- cases())) {
      x <- data[[name]]
      for (tol in c(sqrt(.Machine$double.eps), 1e-4, 0.3, 2)) {
        base <- ginv(x, tol)
        ours <- gpu_ginv(x, tol, device = device)
        expect_identical(shape_of(ours), shape_of(base), info = name)
        error <- max(abs(ours - base)) / max(abs(base), 1e-300)
        expect_lt(error, 1e-7, label = paste(name, tol))
      }
    }
    expect_identical(gpu_ginv(cases()$zero), ginv(cases()$zero))
    # A negative tolerance lets every positive singular value count.
    expect_equal(gpu_ginv(cases()$graded, -1), ginv(cases()$graded, -1), tolerance = 1e-6)
    for (x in list(matrix(c(1, NA), 1), matrix(Inf), matrix(0, 0, 2), matrix(0, 2, 0))) {
      expect_as_base(gpu_ginv(x), ginv(x))
    }
  })
})

test_that("it has the four properties of the pseudo-inverse", {
  data <- cases()
  for (name in setdiff(names(data), "graded")) {
    x <- as.matrix(data[[name]])
    dimnames(x) <- NULL
    y <- gpu_ginv(x)
    expect_null(dimnames(y))
    expect_identical(dim(y), rev(dim(x)))
    expect_equal(x %*% y %*% x, x + 0, tolerance = 1e-12, info = name)
    expect_equal(y %*% x %*% y, y, tolerance = 1e-12, info = name)
    expect_equal(x %*% y, t(x %*% y), tolerance = 1e-12, info = name)
    expect_equal(y %*% x, t(y %*% x), tolerance = 1e-12, info = name)
  }
  expect_identical(gpu_ginv(matrix(0, 2, 3)), matrix(0, 3, 2))
})

test_that("`tol` decides which singular values count", {
  x <- diag(c(1, 1e-3, 1e-6))
  counted <- function(tol) sum(diag(gpu_ginv(x, tol)) != 0)
  expect_identical(vapply(c(2, 1, 0.5, 1e-2, 1e-4, 1e-7, 0, -1), counted, 0L),
    c(0L, 0L, 1L, 1L, 2L, 3L, 3L, 3L))
  # Zero never counts.
  expect_equal(gpu_ginv(diag(c(2, 0)), -1), diag(c(0.5, 0)))
  expect_identical(gpu_ginv(matrix(0, 2, 3), -1), matrix(0, 3, 2))
  for (wrong in list("a", NA, character(), 1:2)) {
    expect_error(gpu_ginv(x, wrong), "'tol'", class = "cudafactor_error_argument")
  }
})

test_that("entries may be of any scale", {
  set.seed(82)
  x <- random_matrix(6, 4)
  for (scale in c(2^-664, 2^664)) {
    expect_equal(gpu_ginv(x * scale) * scale, gpu_ginv(x), tolerance = 1e-12)
  }
})

test_that("the default of `tol` depends on the precision", {
  set.seed(85)
  x <- random_matrix(9, 3)
  x <- x[, c(1, 2, 1, 3)]
  wanted <- gpu_ginv(x)
  expect_identical(gpu_ginv(x, sqrt(.Machine$double.eps)), wanted)
  expect_identical(gpu_ginv(x, NULL), wanted)
  for_each_device(function(device) {
    expect_equal(gpu_ginv(x, precision = "single", device = device), wanted, tolerance = 1e-4)
    g <- as_gpu(x, device, "single")
    expect_equal(as.matrix(gpu_ginv(g)), wanted, tolerance = 1e-4)
  })
  small <- diag(c(1, 1e-4))
  expect_equal(gpu_ginv(small), diag(c(1, 1e4)))
  expect_equal(gpu_ginv(small, precision = "single"), diag(c(1, 0)))
})

test_that("entries may be beyond the range of single precision", {
  set.seed(86)
  x <- random_matrix(6, 4)
  unit <- gpu_ginv(x, precision = "single")
  for (scale in 2^c(-600, -160, 160, 600)) {
    expect_equal(gpu_ginv(x * scale, precision = "single") * scale, unit, tolerance = 1e-6)
  }
})

test_that("the same call gives the same bits, and single precision is near", {
  set.seed(83)
  x <- random_matrix(120, 90)
  expect_identical(gpu_ginv(x), gpu_ginv(x))
  single <- gpu_ginv(x, precision = "single", tol = 1e-5)
  expect_equal(single, gpu_ginv(x), tolerance = 1e-3)
  expect_false(identical(single, gpu_ginv(x)))
})

test_that("the result of a gpu_matrix stays on its device", {
  set.seed(84)
  x <- named(random_matrix(6, 3))
  for_each_setting(function(device, precision) {
    g <- as_gpu(x, device, precision)
    wanted <- gpu_ginv(x, device = "cpu")
    expect_resident(gpu_ginv(g), wanted, g, tolerance = tolerance_for(precision))
    zero <- as_gpu(matrix(0, 2, 3), device, precision)
    expect_resident(gpu_ginv(zero), matrix(0, 3, 2), zero)
  })
})

test_that("operands are coerced or refused", {
  x <- matrix(c(2, 1, 1, 3, 5, 6), 3)
  expect_equal(gpu_ginv(as.data.frame(x)), gpu_ginv(x))
  expect_equal(gpu_ginv(x > 1), gpu_ginv((x > 1) + 0))
  expect_error(gpu_ginv(array(1, c(2, 2, 2))), "3 dimensions.*x\\[, , 1\\]",
    class = "cudafactor_error_dimension")
  for (wrong in odd_operands[c("text", "numeric_text", "raw", "factor", "text_data", "bad_list")]) {
    expect_error(gpu_ginv(wrong), "'x' must be a (numeric )?matrix, not",
      class = "cudafactor_error_type")
  }
  for (times in times_matrices()) {
    text <- sprintf("'x' must be a numeric matrix, not of class \"%s\"", class(times)[[1]])
    expect_error(gpu_ginv(times), text, fixed = TRUE, class = "cudafactor_error_type")
  }
  expect_error(gpu_ginv(x + 0i), "MASS::ginv", class = "cudafactor_error_type")
  expect_error(gpu_ginv(sum), class = "cudafactor_error_type")
  expect_not_found(gpu_ginv(nosuch))
  expect_error(gpu_ginv(), "missing", class = "cudafactor_error_argument")
  expect_error(gpu_ginv(x, toll = 1), "unused argument", class = "cudafactor_error_argument")
  e <- expect_error(gpu_ginv(matrix(NaN)), class = "cudafactor_error_non_finite")
  expect_identical(conditionCall(e), quote(gpu_ginv(matrix(NaN))))
})
