# Vectors, matrices and arrays of every small shape, with and without names.
small_operands <- function() {
  letters_of <- function(k) if (k == 0) NULL else letters[seq_len(k)]
  operands <- list()
  add <- function(x) operands[[length(operands) + 1L]] <<- x
  for (n in 0:2) {
    x <- as.double(seq_len(n))
    add(x)
    add(array(x, n))
    if (n > 0) {
      add(setNames(x, letters_of(n)))
      add(array(x, n, list(q = letters_of(n))))
    }
    for (p in 0:2) {
      x <- as.double(seq_len(n * p))
      add(matrix(x, n, p))
      add(matrix(x, n, p, dimnames = list(letters_of(n), letters_of(p))))
      add(matrix(x, n, p, dimnames = list(row = letters_of(n), NULL)))
      add(array(x, c(n, p, 1)))
    }
  }
  operands
}

test_that("every small shape gives base R's shape, names and errors", {
  operands <- small_operands()
  same <- function(ours, base) {
    ours <- outcome(ours)
    base <- outcome(base)
    identical(ours[c("error", "value", "warnings")], base[c("error", "value", "warnings")])
  }
  differing <- character()
  note <- function(ok, ...) if (!ok) differing <<- c(
    differing,
    paste(vapply(list(...), function(v) paste(deparse(v), collapse = ""), ""), collapse = " | ")
  )
  for (x in operands) {
    note(same(gpu_crossprod(x, device = "cpu"), crossprod(x)), "crossprod", x)
    note(same(gpu_tcrossprod(x, device = "cpu"), tcrossprod(x)), "tcrossprod", x)
    for (y in operands) {
      note(same(gpu_matmult(x, y, device = "cpu"), x %*% y), "matmult", x, y)
      note(same(gpu_crossprod(x, y, device = "cpu"), crossprod(x, y)), "crossprod", x, y)
      note(same(gpu_tcrossprod(x, y, device = "cpu"), tcrossprod(x, y)), "tcrossprod", x, y)
    }
  }
  expect_identical(differing, character())
})

test_that("what is not a number is refused as base R refuses it", {
  for (kind in names(odd_operands)) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_matmult(x, 2), x %*% 2, info = kind)
    expect_as_base(gpu_matmult(2, x), 2 %*% x, info = kind)
    expect_as_base(gpu_crossprod(x), crossprod(x), info = kind)
    expect_as_base(gpu_tcrossprod(x, x), tcrossprod(x, x), info = kind)
  }
})

test_that("errors are classed and carry the user's call", {
  x <- matrix(1, 2, 3)
  e <- expect_error(
    gpu_matmult(x, x), "^non-conformable arguments$", class = "cudafactor_error_dimension"
  )
  expect_identical(conditionCall(e), quote(gpu_matmult(x, x)))
  e <- expect_error(gpu_crossprod("a"), class = "cudafactor_error_type")
  expect_identical(conditionCall(e), quote(gpu_crossprod("a")))
})

test_that("products of every size have small errors", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (shape in list(
      c(1, 1, 1), c(33, 31, 32), c(127, 129, 128), c(129, 1, 127), c(1, 300, 1), c(2, 500, 3),
      c(300, 2, 257)
    )) {
      x <- random_matrix(shape[1], shape[2])
      y <- random_matrix(shape[2], shape[3])
      expect_small(
        residual_product(gpu_matmult(x, y, device, precision), x, y, precision), "product"
      )
      expect_small(
        residual_product(gpu_crossprod(t(x), y, device, precision), x, y, precision), "product"
      )
      expect_small(
        residual_product(gpu_tcrossprod(x, t(y), device, precision), x, y, precision), "product"
      )
      s <- gpu_crossprod(x, device = device, precision = precision)
      expect_small(residual_product(s, t(x), x, precision), "product")
      expect_true(isSymmetric(s, tol = 0))
      s <- gpu_tcrossprod(x, device = device, precision = precision)
      expect_small(residual_product(s, x, t(x), precision), "product")
      expect_true(isSymmetric(s, tol = 0))
    }
  })
})

test_that("products of graded matrices are accurate entry by entry", {
  set.seed(2)
  for_each_device(function(device) {
    x <- graded_matrix(40, 30)
    y <- graded_matrix(30, 50)
    expect_small(residual_product(gpu_matmult(x, y, device), x, y, "double"), "product")
  })
})

test_that("small whole numbers multiply exactly", {
  set.seed(3)
  for_each_setting(function(device, precision) {
    x <- matrix(sample(-4:4, 65 * 70, TRUE), 65, 70)
    y <- matrix(sample(-4:4, 70 * 33, TRUE), 70, 33)
    expect_identical(gpu_matmult(x, y, device, precision), x %*% y)
    expect_identical(gpu_crossprod(x, device = device, precision = precision), crossprod(x))
  })
})

test_that("NA, NaN and Inf propagate where base R's do", {
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 33L, 129L)) {
      for (special in list(NA_real_, NaN, Inf, -Inf)) {
        x <- matrix(0, n, n)
        y <- matrix(as.double(seq_len(n * n)), n, n)
        x[n, 1] <- special
        expected <- x %*% y
        out <- gpu_matmult(x, y, device, precision)
        expect_identical(is.na(out), is.na(expected))
        expect_identical(out == Inf, expected == Inf)
        out <- gpu_crossprod(x, y, device, precision)
        expect_identical(is.na(out), is.na(crossprod(x, y)))
        out <- gpu_tcrossprod(x, device = device, precision = precision)
        expect_identical(is.na(out), is.na(tcrossprod(x)))
      }
    }
  })
})

test_that("integer, logical and classed operands are taken as numbers", {
  x <- matrix(1:6, 2)
  l <- matrix(c(TRUE, FALSE, NA, TRUE), 2)
  dated <- structure(x + 0, class = c("reading", "matrix"), unit = "m")
  for_each_device(function(device) {
    expect_identical(gpu_matmult(l, x, device), l %*% x)
    expect_identical(gpu_crossprod(x, device = device), crossprod(x))
    expect_identical(gpu_matmult(t(x), dated, device), t(x) %*% dated)
    expect_identical(gpu_matmult(x, 1:3, device), x %*% 1:3)
  })
})

test_that("complex products are base R's", {
  set.seed(4)
  x <- matrix(
    complex(real = rnorm(12), imaginary = rnorm(12)), 3, dimnames = list(letters[1:3], NULL)
  )
  y <- matrix(complex(real = rnorm(8), imaginary = rnorm(8)), 4)
  for_each_device(function(device) {
    expect_as_base(gpu_matmult(x, y, device), x %*% y)
    expect_as_base(gpu_matmult(x, 1:4, device), x %*% 1:4)
    expect_as_base(gpu_crossprod(x, device = device), crossprod(x))
    expect_as_base(gpu_tcrossprod(x, device = device), tcrossprod(x))
    expect_as_base(gpu_crossprod(x, Re(x), device = device), crossprod(x, Re(x)))
    expect_as_base(gpu_matmult(1i, x[1, ], device), 1i %*% x[1, ])
  })
})

test_that("sparse and other S4 matrices are made dense", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  dense <- matrix(c(0, 2, 0, 1, 0, 0), 2, dimnames = list(c("a", "b"), NULL))
  sparse <- Matrix::Matrix(dense, sparse = TRUE)
  expect_identical(gpu_matmult(sparse, t(dense)), dense %*% t(dense))
  expect_identical(gpu_crossprod(sparse), crossprod(dense))
  expect_identical(gpu_tcrossprod(dense, sparse), tcrossprod(dense))
})

test_that("the option matprod changes nothing", {
  x <- matrix(c(1, NA, 0, Inf), 2)
  results <- lapply(c("default", "internal", "blas"), function(matprod) {
    old <- options(matprod = matprod)
    on.exit(options(old))
    gpu_matmult(x, x)
  })
  expect_identical(results[[1]], results[[2]])
  expect_identical(results[[1]], results[[3]])
})

test_that("single precision rounds results to single, double does not", {
  set.seed(5)
  x <- random_matrix(20, 20)
  for_each_device(function(device) {
    out <- gpu_matmult(x, x, device, "single")
    expect_identical(out, as_single(out))
    out <- gpu_matmult(x, x, device)
    expect_false(identical(out, as_single(out)))
  })
})

test_that("operands stay as they were", {
  x <- matrix(c(2, 1, 1, 3), 2)
  y <- x
  copy <- x + 0
  for_each_device(function(device) {
    gpu_matmult(x, y, device)
    gpu_crossprod(x, device = device)
    expect_identical(x, copy)
  })
})
