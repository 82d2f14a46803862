batch_of <- function(n, count) {
  array(vapply(seq_len(count), function(i) definite_matrix(n), matrix(0, n, n)), c(n, n, count))
}

slices <- function(x) lapply(seq_len(dim(x)[[3L]]), function(i) matrix(x[, , i], dim(x)[[1L]]))

failure_of <- function(expr) expect_error(expr, class = "cudafactor_error_not_positive_definite")

test_that("each slice of an array is factored", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 31L, 32L, 33L, 64L, 65L, 100L)) {
      for (count in c(0L, 1L, 2L, 5L)) {
        x <- batch_of(n, count)
        r <- gpu_chol(x, device = device, precision = precision)
        expect_identical(dim(r), c(n, n, count))
        for (i in seq_len(count)) {
          slice <- matrix(r[, , i], n)
          expect_small(residual_cholesky(slice, matrix(x[, , i], n), precision), "cholesky")
          expect_true(all(slice[lower.tri(slice)] == 0) && all(diag(slice) > 0))
        }
      }
    }
  })
})

test_that("many matrices are factored, as an array and as a list", {
  set.seed(2)
  for_each_setting(function(device, precision) {
    few <- lapply(1:20, function(i) definite_matrix(17L))
    x <- rep(few, 50)
    ours <- gpu_chol(x, device = device, precision = precision)
    alone <- lapply(few, gpu_chol, device = device, precision = precision)
    expect_equal(ours, rep(alone, 50), tolerance = if (precision == "double") 1e-12 else 1e-5)
    expect_identical(
      gpu_chol(simplify2array(x), device = device, precision = precision), simplify2array(ours)
    )
  })
})

test_that("an array keeps its attributes, and any kind of number is taken", {
  x <- batch_of(3L, 2L)
  dimnames(x) <- list(row = letters[1:3], NULL, case = c("first", "second"))
  attr(x, "note") <- "kept"
  classed <- structure(x, class = "reading")
  whole <- array(c(4L, 2L, 2L, 3L, 9L, 0L, 0L, 1L), c(2, 2, 2))
  for_each_device(function(device) {
    expect_identical(attributes(gpu_chol(x, device = device)), attributes(x))
    expect_identical(attributes(gpu_chol(classed, device = device)), attributes(classed))
    r <- gpu_chol(whole, device = device)
    expect_type(r, "double")
    expect_equal(r[, , 1], chol(whole[, , 1]))
    expect_equal(
      gpu_chol(array(diag(2) == 1, c(2, 2, 3)), device = device), array(diag(2), c(2, 2, 3))
    )
    s4 <- methods::setClass("cudafactor_test_cube", contains = "array", where = environment())
    expect_identical(gpu_chol(s4(whole), device = device), r)
  })
})

test_that("only the upper triangles are read, and no operand is changed", {
  set.seed(3)
  for_each_device(function(device) {
    for (n in c(2L, 20L, 40L, 70L)) {
      x <- batch_of(n, 3L)
      spoilt <- x
      spoilt[lower.tri(spoilt[, , 1])] <- NaN
      copy <- spoilt + 0
      expect_identical(gpu_chol(spoilt, device = device), gpu_chol(x, device = device))
      expect_identical(spoilt, copy)
      spoilt <- slices(spoilt)
      expect_identical(gpu_chol(spoilt, device = device), gpu_chol(slices(x), device = device))
      expect_identical(spoilt, slices(copy))
    }
  })
})

test_that("each matrix of a list is factored as if it were alone", {
  set.seed(4)
  x <- list(
    a = named(definite_matrix(3)), definite_matrix(40), whole = matrix(c(4L, 2L, 2L, 3L), 2), 9,
    c(four = 4),
    frame = as.data.frame(named(definite_matrix(3))),
    noted = structure(definite_matrix(3), note = "kept"),
    classed = structure(definite_matrix(2), class = c("reading", "matrix")), truth = diag(2) == 1,
    definite_matrix(40)
  )
  for_each_setting(function(device, precision) {
    ours <- gpu_chol(x, device = device, precision = precision)
    alone <- lapply(x, gpu_chol, device = device, precision = precision)
    expect_identical(shape_of(ours), shape_of(alone))
    tolerance <- if (precision == "double") 1e-12 else 1e-5
    expect_equal(ours, alone, tolerance = tolerance)
    # How many matrices there are decides how they are factored, and so the last digits.
    few <- gpu_chol(unname(x[1:2]), device = device, precision = precision)
    expect_identical(shape_of(few), shape_of(unname(ours[1:2])))
    expect_equal(few, unname(ours[1:2]), tolerance = tolerance)
  })
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  expect_identical(gpu_chol(list(Matrix::Diagonal(3), diag(2))), list(diag(3), diag(2)))
})

test_that("nothing in, nothing out", {
  for_each_device(function(device) {
    expect_identical(gpu_chol(list(), device = device), list())
    expect_identical(
      gpu_chol(stats::setNames(list(), character()), device = device),
      stats::setNames(list(), character())
    )
    for (n in c(0L, 1L, 5L)) {
      expect_identical(gpu_chol(array(0, c(n, n, 0)), device = device), array(0, c(n, n, 0)))
    }
    named <- array(0, c(2, 2, 0), list(letters[1:2], letters[1:2], NULL))
    expect_identical(gpu_chol(named, device = device), named)
  })
  expect_error(gpu_chol(list(), device = "tpu"), class = "cudafactor_error_argument")
})

test_that("a failure names the first matrix and its minor", {
  set.seed(5)
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 31L, 32L, 33L, 64L, 65L, 100L)) {
      for (bad in c(-1, NaN)) {
        x <- batch_of(n, 7L)
        x[n, n, 4] <- bad
        x[1, 1, 6] <- bad
        for (operand in list(x, slices(x))) {
          e <- failure_of(gpu_chol(operand, device = device, precision = precision))
          expect_identical(e$index, 4L)
          expect_identical(e$order, n)
          expect_match(conditionMessage(e), sprintf("matrix 4: .* order %d ", n))
          expect_identical(conditionCall(e)[[1]], quote(gpu_chol))
        }
      }
    }
    # Batches of three orders, of which two fail.
    x <- list(diag(3), diag(2), diag(5), -diag(5), -diag(2), -diag(5))
    e <- failure_of(gpu_chol(x, device = device, precision = precision))
    expect_identical(c(e$index, e$order), c(4L, 1L))
    x[[4]] <- diag(2)
    x[[5]][1, 1] <- 1
    e <- failure_of(gpu_chol(x, device = device, precision = precision))
    expect_identical(c(e$index, e$order), c(5L, 2L))
  })
})

test_that("a failure tells the name of a matrix that has one", {
  for_each_device(function(device) {
    x <- list(setosa = diag(2), virginica = -diag(2))
    e <- failure_of(gpu_chol(x, device = device))
    expect_identical(e$name, "virginica")
    expect_match(
      conditionMessage(e), "^matrix 2 \\(\"virginica\"\\): the leading minor of order 1 "
    )
    a <- simplify2array(x)
    e <- failure_of(gpu_chol(a, device = device))
    expect_identical(list(e$index, e$name), list(2L, "virginica"))
    for (names in list(c("a", ""), c("a", NA))) {
      e <- failure_of(gpu_chol(stats::setNames(x, names), device = device))
      expect_null(e$name)
      expect_match(conditionMessage(e), "^matrix 2: ")
    }
    expect_null(failure_of(gpu_chol(unname(a), device = device))$name)
    expect_null(failure_of(gpu_chol(
      array(a, dim(a), list(c("u", "v"), NULL, NULL)), device = device
    ))$name)
  })
  e <- expect_error(
    gpu_chol(list(a = diag(2), "100%" = matrix(1, 2, 3))), class = "cudafactor_error_dimension"
  )
  expect_identical(list(e$index, e$name), list(2L, "100%"))
  expect_match(
    conditionMessage(e), "matrix 2 (\"100%\"): 'a' must be a square matrix", fixed = TRUE
  )
  e <- expect_error(gpu_chol(list(a = NULL)), class = "cudafactor_error_type")
  expect_identical(list(e$index, e$name), list(1L, "a"))
})

test_that("lists of matrices come from by() and from calls", {
  x <- by(iris[1:4], iris$Species, stats::var)
  expect_equal(gpu_chol(c(x)), lapply(x, chol))
  expect_identical(gpu_chol(pairlist(a = diag(4, 2), matrix(9L))), list(a = diag(2, 2), matrix(3)))
  expect_error(gpu_chol(x), class = "cudafactor_error_type")
})

test_that("what is no batch of square matrices is refused", {
  expect_error(gpu_chol(array(1, c(2, 3, 4))), "square", class = "cudafactor_error_dimension")
  expect_error(gpu_chol(array(1, c(2, 3, 0))), "square", class = "cudafactor_error_dimension")
  expect_error(gpu_chol(array(1, c(0, 0, 3))), "dims > 0", class = "cudafactor_error_dimension")
  expect_error(gpu_chol(array(1i, c(1, 1, 1))), "complex", class = "cudafactor_error_type")
  for (bad in list(matrix(1, 2, 3), matrix(0, 0, 0))) {
    e <- expect_error(
      gpu_chol(list(diag(2), bad)), "matrix 2: ", class = "cudafactor_error_dimension"
    )
    expect_identical(e$index, 2L)
  }
  for (bad in list(NULL, sum, diag(2) + 0i)) {
    e <- expect_error(
      gpu_chol(list(diag(2), diag(2), bad)), "matrix 3: ", class = "cudafactor_error_type"
    )
    expect_identical(e$index, 3L)
  }
  for (batch in list(batch_of(2L, 2L), list(diag(2)), list())) {
    e <- expect_error(
      gpu_chol(batch, pivot = TRUE), "must be FALSE for many matrices: .* as in ",
      class = "cudafactor_error_argument"
    )
    expect_identical(e$argument, "pivot")
    expect_error(gpu_chol(batch, pivot = NA), class = "cudafactor_error_argument")
    expect_error(gpu_chol(batch, precison = "single"), class = "cudafactor_error_argument")
  }
})

test_that("\"auto\" counts the operations of the whole batch", {
  skip_unless(gpu_available(), "there is no GPU")
  before <- options(cudafactor.min_flops = 1000 * 16^3 / 3)
  on.exit(options(before))
  x <- array(diag(16), c(16, 16, 1000))
  gpu_chol(x[, , -1])
  expect_identical(gpu_last_device(), "cpu")
  gpu_chol(x)
  expect_identical(gpu_last_device(), "cuda:0")
  gpu_chol(c(slices(x[, , -1]), list(diag(17))))
  expect_identical(gpu_last_device(), "cuda:0")
})
