symmetric_batch <- function(n, count) {
  x <- array(rnorm(n * n * count), c(n, n, count))
  x + aperm(x, c(2, 1, 3))
}

slice <- function(x, i) matrix(x[, , i], dim(x)[[1L]])

test_that("each matrix of a batch is decomposed as if it were alone", {
  for_each_device(function(device) {
    set.seed(1)
    for (n in c(1, 2, 3, 17, 32, 33, 64, 100, 128, 200)) {
      kinds <- symmetric_kinds(n)
      x <- array(unlist(kinds), c(n, n, length(kinds)))
      ours <- gpu_eigen(x, TRUE, device = device)
      alone <- gpu_eigen(x, TRUE, only.values = TRUE, device = device)
      expect_identical(dim(ours$values), c(as.integer(n), length(kinds)))
      expect_identical(dim(ours$vectors), dim(x))
      for (i in seq_along(kinds)) {
        a <- slice(x, i)
        base <- eigen(a, TRUE)
        e <- list(values = ours$values[, i], vectors = slice(ours$vectors, i))
        info <- paste(names(kinds)[[i]], n)
        allowed <- 8 * n * .Machine$double.eps * max(1, frobenius(to_unit(a)))
        expect_lt(max(abs(to_unit(e$values, a) - to_unit(base$values, a))), allowed)
        expect_lt(residual_eigen(a, e), max(if (n < 5) 2 else 1, 2 * residual_eigen(a, base)))
        expect_lt(loss_of_orthogonality(e$vectors), 4)
        expect_false(is.unsorted(-e$values), info = info)
        expect_lt(max(abs(to_unit(alone$values[, i] - e$values, a))), allowed)
        largest <- apply(abs(e$vectors), 2, function(v) which(v >= max(v) * (1 - 2^-26))[1])
        expect_true(all(e$vectors[cbind(largest, seq_len(n))] > 0), info = info)
      }
    }
  })
})

test_that("single precision takes entries of any size, and many matrices", {
  for_each_setting(function(device, precision) {
    set.seed(2)
    x <- symmetric_batch(20, 300)
    by <- rep(c(1, 2^-900, 2^900), 100)
    e <- gpu_eigen(x, device = device, precision = precision)
    scaled <- gpu_eigen(x * rep(by, each = 400), device = device, precision = precision)
    expect_identical(scaled$values, e$values * rep(by, each = 20))
    expect_identical(scaled$vectors, e$vectors)
    tolerance <- if (precision == "double") 1e-12 else 1e-5
    for (i in c(1, 150, 300)) {
      alone <- gpu_eigen(x[, , i], device = device, precision = precision)
      expect_equal(e$values[, i], alone$values, tolerance = tolerance)
    }
  })
})

test_that("a batch has the form and the names that the page says", {
  x <- symmetric_batch(3, 2)
  named <- x
  dimnames(named) <- list(letters[1:3], letters[1:3], c("first", "second"))
  s4 <- methods::setClass("cudafactor_test_eigen", contains = "array", where = environment())
  for_each_device(function(device) {
    e <- gpu_eigen(x, device = device)
    expect_s3_class(e, "eigen", exact = TRUE)
    expect_named(e, c("values", "vectors"))
    expect_null(dimnames(e$vectors))
    expect_output(print(e), "eigen\\(\\) decomposition")
    expect_identical(gpu_eigen(s4(x), device = device), e)
    f <- gpu_eigen(named, device = device)
    expect_identical(dimnames(f$values), list(NULL, c("first", "second")))
    expect_identical(dimnames(f$vectors), list(NULL, NULL, c("first", "second")))
    expect_identical(as.vector(f$vectors), as.vector(e$vectors))
    names(dimnames(named)) <- c("", "", "which")
    g <- gpu_eigen(named, device = device)
    expect_named(dimnames(g$values), c("", "which"))
    expect_named(dimnames(g$vectors), c("", "", "which"))
    names(dimnames(named)) <- NULL
    alone <- gpu_eigen(named, only.values = TRUE, device = device)
    expect_type(alone, "list")
    expect_null(attr(alone, "class"))
    expect_identical(alone["vectors"], list(vectors = NULL))
    whole <- gpu_eigen(array(c(2L, 1L, 1L, 2L), c(2, 2, 1)), device = device)
    expect_equal(whole$values, matrix(c(3, 1)))
    logical <- gpu_eigen(array(diag(2) == 1, c(2, 2, 2)), device = device)
    expect_equal(logical$values, matrix(1, 2, 2))
    for (n in 0:2) {
      none <- gpu_eigen(array(0, c(n, n, 0)), device = device)
      expect_identical(dim(none$values), c(n, 0L))
      expect_identical(dim(none$vectors), c(n, n, 0L))
    }
  })
})

test_that("only lower triangles are read if symmetric is TRUE", {
  x <- symmetric_batch(12, 3)
  spoilt <- x
  spoilt[upper.tri(spoilt[, , 1])] <- 5
  copy <- spoilt + 0
  for_each_device(function(device) {
    expect_identical(gpu_eigen(spoilt, TRUE, device = device), gpu_eigen(x, device = device))
    expect_identical(spoilt, copy)
  })
})

test_that("errors name the matrix", {
  set.seed(3)
  x <- symmetric_batch(4, 5)
  dimnames(x) <- list(NULL, NULL, letters[1:5])
  skew <- x
  skew[1, 2, 3] <- 7
  e <- expect_error(gpu_eigen(skew), class = "cudafactor_error_not_symmetric")
  expect_identical(e[c("index", "name")], list(index = 3L, name = "c"))
  expect_match(conditionMessage(e), "matrix 3 \\(\"c\"\\): 'x' is not symmetric: entries differ")
  one <- skew[, , 3]
  expect_equal(e$asymmetry, max(abs(one - t(one))) / max(abs(one)))
  near <- x
  near[1, 2, 5] <- near[1, 2, 5] * (1 + 1e-13)
  e <- expect_error(gpu_eigen(near), "symmetric = TRUE", class = "cudafactor_error_not_symmetric")
  expect_lt(e$asymmetry, 2e-13)
  # What the message says.
  expect_length(apply(skew, 3, gpu_eigen), 5)
  expect_identical(conditionCall(e)[[1]], quote(gpu_eigen))
  for (bad in c(NA, NaN, Inf)) {
    y <- unname(x)
    y[2, 2, 4] <- bad
    e <- expect_error(gpu_eigen(y), class = "cudafactor_error_non_finite")
    expect_identical(e$index, 4L)
    expect_match(conditionMessage(e), "matrix 4: infinite or missing values in 'x'")
  }
  expect_error(gpu_eigen(x, FALSE), "apply\\(x, 3", class = "cudafactor_error_argument")
  expect_error(gpu_eigen(x, k = 2), "'k' must be NULL", class = "cudafactor_error_argument")
  expect_error(gpu_eigen(x, which = "LA"), "with 'k'", class = "cudafactor_error_argument")
  expect_error(gpu_eigen(x, only.values = NA), class = "cudafactor_error_argument")
  expect_error(
    gpu_eigen(array(0, c(2, 3, 2))), "dimensions are 2, 3, 2$", class = "cudafactor_error_dimension"
  )
  expect_error(
    gpu_eigen(aperm(x, c(3, 1, 2))), "use aperm\\(x, c\\(2, 3, 1\\)\\)",
    class = "cudafactor_error_dimension"
  )
  expect_error(
    gpu_eigen(array(0, c(2, 2, 2, 2))), "not an array of 4", class = "cudafactor_error_dimension"
  )
  expect_error(gpu_eigen(array(0, c(0, 0, 2))), class = "cudafactor_error_dimension")
  expect_error(gpu_eigen(array(1i, c(2, 2, 2))), class = "cudafactor_error_type")
  expect_error(gpu_eigen(array("a", c(2, 2, 2))), class = "cudafactor_error_type")
})

test_that("default options find the same", {
  set.seed(3)
  x <- array(rnorm(100 * 100 * 60), c(100, 100, 60))
  x <- x + aperm(x, c(2, 1, 3))
  found <- gpu_eigen(x)
  expect_equal(found$values, gpu_eigen(x, device = "cpu")$values, tolerance = 1e-12)
  expect_equal(abs(found$vectors), abs(gpu_eigen(x, device = "cpu")$vectors), tolerance = 1e-8)
})

test_that("groups go from a list to a batch, and a list says how", {
  by_species <- by(iris[1:4], iris$Species, cov)
  x <- simplify2array(by_species)
  e <- gpu_eigen(x)
  expect_identical(colnames(e$values), levels(iris$Species))
  for (i in 1:3) expect_equal(e$values[, i], eigen(by_species[[i]])$values)
  refused <- function(operand, advice) {
    expect_error(
      gpu_eigen(operand), paste("not a list of matrices: use", advice),
      class = "cudafactor_error_type"
    )
  }
  refused(by_species, "simplify2array\\(x\\)")
  refused(lapply(1:2, function(i) diag(2)), "simplify2array\\(x\\)")
  refused(list(diag(2), diag(3)), "lapply\\(x, gpu_eigen\\)")
  refused(list(matrix(1), matrix(2)), "lapply\\(x, gpu_eigen\\)")
  # A list of a class that is a matrix.
  registerS3method("as.matrix", "held", function(x, ...) x$m, envir = baseenv())
  held <- structure(list(m = x[, , 1]), class = "held")
  expect_identical(gpu_eigen(held), gpu_eigen(x[, , 1]))
  expect_equal(gpu_eigen(as.data.frame(x[, , 1]))$values, e$values[, 1], ignore_attr = TRUE)
})
