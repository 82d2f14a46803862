# Reductions of a gpu_matrix, compared with base R's.

shapes <- list(c(0L, 0L), c(0L, 3L), c(3L, 0L), c(1L, 1L), c(2L, 3L), c(33L, 31L), c(700L, 5L),
  c(5L, 700L))

# Sums of doubles, in any order.
expect_sums <- function(ours, base, info = NULL) {
  expect_identical(names(ours), names(base), info = info)
  expect_identical(is.na(ours), is.na(base), info = info)
  expect_equal(ours, base, tolerance = 1e-12, info = info)
}

with_holes <- function(x) {
  if (length(x) > 5L) x[c(2L, length(x))] <- c(NA, NaN)
  x
}

test_that("sums and means of rows and columns are base R's", {
  set.seed(31)
  for_each_setting(function(device, precision) {
    for (shape in shapes) {
      for (holes in c(FALSE, TRUE)) {
        x <- named(random_matrix(shape[[1]], shape[[2]]))
        if (holes) x <- with_holes(x)
        if (precision == "single") x <- as_single(x)
        g <- as_gpu(x, device, precision)
        info <- paste(device, precision, paste(shape, collapse = " x "), holes)
        for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
          f <- get(name, asNamespace("cudafactor"))
          of_base <- get(name, baseenv())
          expect_sums(f(g), of_base(x), info)
          expect_sums(f(g, na.rm = TRUE), of_base(x, na.rm = TRUE), info)
        }
      }
    }
    expect_null(names(rowSums(as_gpu(matrix(1, 2, 2), device, precision))))
  })
  expect_error(rowSums(as_gpu(diag(2), "cpu"), dims = 2), class = "cudafactor_error_argument")
})

test_that("sums, extremes and means are base R's, with its warnings", {
  set.seed(32)
  for_each_setting(function(device, precision) {
    for (shape in shapes) {
      for (holes in c(FALSE, TRUE)) {
        x <- random_matrix(shape[[1]], shape[[2]])
        if (holes) x <- with_holes(x)
        if (precision == "single") x <- as_single(x)
        g <- as_gpu(x, device, precision)
        for (f in list(sum, min, max, range, prod)) {
          for (na.rm in c(FALSE, TRUE)) {
            base <- outcome(f(x, na.rm = na.rm))
            ours <- outcome(f(g, na.rm = na.rm))
            expect_identical(ours$warnings, base$warnings)
            expect_sums(ours$value, base$value)
          }
        }
        expect_sums(mean(g), mean(x))
        expect_sums(mean(g, na.rm = TRUE), mean(x, na.rm = TRUE))
        expect_identical(anyNA(g), anyNA(x))
      }
    }
    g <- as_gpu(matrix(c(1, 2, 3, 10), 2), device, precision)
    expect_identical(sum(g, 1, g), 33)
    expect_identical(range(g, -1), c(-1, 10))
    expect_identical(max(g, NA), NA_real_)
    expect_identical(max(g, NA, na.rm = TRUE), 10)
    expect_identical(mean(g, trim = 0.25), mean(c(1, 2, 3, 10), trim = 0.25))
    nothing <- as_gpu(matrix(NA_real_, 2, 2), device, precision)
    expect_warning(expect_identical(min(nothing, na.rm = TRUE), Inf),
      class = "cudafactor_warning_empty")
    expect_identical(min(nothing, 3, na.rm = TRUE), 3)
    expect_identical(sum(nothing, na.rm = TRUE), 0)
    expect_error(sum(g, "a"), class = "cudafactor_error")
  })
})

test_that("any() and all() are base R's", {
  x <- matrix(c(0, 1, 0, 0), 2)
  g <- as_gpu(x, "cpu")
  expect_identical(suppressWarnings(any(g)), suppressWarnings(any(x)))
  expect_identical(suppressWarnings(all(g)), suppressWarnings(all(x)))
  expect_identical(outcome(any(g))$warnings, outcome(any(x))$warnings)
  expect_true(all(g < 2))
})

test_that("infinite entries count as in base R", {
  x <- matrix(c(1, Inf, 3, -Inf, 5, Inf), 2)
  for_each_setting(function(device, precision) {
    g <- as_gpu(x, device, precision)
    expect_identical(sum(g), NaN)
    expect_identical(range(g), c(-Inf, Inf))
    expect_identical(rowSums(g), rowSums(x))
    expect_identical(colSums(g), colSums(x))
    expect_identical(norm(g, "I"), Inf)
    expect_identical(norm(g, "F"), Inf)
  })
})

test_that("sums are the same from run to run", {
  set.seed(33)
  x <- random_matrix(1001, 301)
  for_each_setting(function(device, precision) {
    g <- as_gpu(x, device, precision)
    for (f in list(sum, rowSums, colSums, function(g) norm(g, "F"))) {
      expect_identical(f(g), f(g))
    }
  })
})

test_that("single precision is summed in double precision", {
  for_each_device(function(device) {
    g <- as_gpu(matrix(0.1, 1000, 500), device, "single")
    tenth <- as_single(matrix(0.1, 1, 1))[[1]]
    expect_equal(sum(g), tenth * 5e5, tolerance = 1e-13)
    expect_equal(rowSums(g), rep(tenth * 500, 1000), tolerance = 1e-13)
  })
})

test_that("norms are base R's", {
  set.seed(34)
  for_each_setting(function(device, precision) {
    for (shape in shapes) {
      x <- random_matrix(shape[[1]], shape[[2]])
      if (precision == "single") x <- as_single(x)
      g <- as_gpu(x, device, precision)
      for (type in c("O", "o", "1", "I", "F", "E", "f", "M", "m", if (length(x)) "2")) {
        expect_equal(norm(g, type), norm(x, type), tolerance = 1e-12,
          info = paste(type, paste(shape, collapse = " x ")))
      }
      expect_equal(norm(g), norm(x), tolerance = 1e-12)
    }
    g <- as_gpu(matrix(c(1, NaN, 3, 4), 2), device, precision)
    for (type in c("O", "I", "F", "M")) expect_true(is.na(norm(g, type)), info = type)
    for (v in c(NA, NaN, Inf, -Inf)) {
      x <- matrix(c(1, v, 3, 4), 2)
      for (type in c("O", "1", "I", "F", "M", "2")) {
        ours <- outcome(norm(as_gpu(x, device), type))
        base <- outcome(norm(x, type))
        ours$condition <- base$condition <- NULL
        expect_identical(ours, base, info = paste(v, type))
      }
    }
  })
  big <- matrix(c(3e200, 4e200), 1)
  expect_equal(norm(as_gpu(big, "cpu"), "F"), 5e200, tolerance = 1e-14)
  e <- expect_error(norm(as_gpu(diag(2), "cpu"), "X"), class = "cudafactor_error_argument")
  expect_identical(conditionMessage(e), outcome(norm(diag(2), "X"))$error)
})

test_that("the generics leave other operands to base R", {
  x <- named(matrix(1:6, 2))
  expect_identical(rowSums(x), base::rowSums(x))
  expect_identical(norm(x), base::norm(x))
  expect_identical(diag(x), base::diag(x))
  expect_identical(diag(2), base::diag(2))
})

test_that("attaching says nothing, before and after Matrix", {
  for (first in c("", "library(Matrix);", "invisible(loadNamespace('Matrix'));")) {
    if (nzchar(first)) skip_unless(requireNamespace("Matrix", quietly = TRUE),
      "Matrix is not installed")
    child <- run_child(c(
      first, "library(cudafactor)", "g <- as_gpu(diag(2), 'cpu')",
      "stopifnot(rowSums(g) == 1, norm(g) == 1, diag(g) == 1, t(g) == diag(2))", "cat('end')"
    ))
    expect_identical(child, list(status = 0L, output = "end"), info = first)
  }
  unattached <- run_child(c(
    "g <- cudafactor::as_gpu(diag(2), 'cpu')",
    "stopifnot(sum(exp(g) + 1 - g[, 2:1]) > 0, cudafactor::rowSums(cbind(g, 1)) == 2)"
  ))
  expect_identical(unattached$status, 0L)
})
