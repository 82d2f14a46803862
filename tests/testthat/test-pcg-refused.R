test_that("what does not converge is a warning with the last iterate", {
  skip_if_not_installed("Matrix")
  set.seed(11)
  a <- poisson(20)
  b <- cbind(rnorm(400), as.vector(a %*% rep(1, 400)), 0)
  f <- NULL
  w <- expect_warning(f <- pcg(a, b, "none", maxit = 5), class = "cudafactor_warning_not_converged")
  expect_identical(w$columns, 1:2)
  expect_identical(f$converged, c(FALSE, FALSE, TRUE))
  expect_identical(f$iterations, c(5L, 5L, 0L))
  expect_identical(f$end, c("iterations", "iterations", "converged"))
  expect_equal(residuals_of(a, f$x[, 1:2], b[, 1:2]), f$relative_residual[1:2])
  expect_identical(w$relative_residual, f$relative_residual[1:2])
  w <- expect_warning(
    f <- pcg(a, b[, 1], "none", tol = 0), class = "cudafactor_warning_not_converged"
  )
  expect_identical(f$end, "stagnated")
  expect_lt(f$relative_residual, 1e-13)
  f <- suppressWarnings(pcg(a, b[, 1], "none", maxit = 0))
  expect_identical(f$x, numeric(400))
  expect_identical(f$iterations, 0L)
})

test_that("a matrix that is not symmetric, or not positive definite, is an error of its class", {
  set.seed(12)
  for_each_device(function(device) {
    a <- definite_matrix(20)
    b <- rnorm(20)
    off <- a
    off[2, 3] <- off[2, 3] + 1e-3
    expect_error(pcg(off, b, device = device), class = "cudafactor_error_not_symmetric")
    expect_error(pcg(as_gpu(off, device), b), class = "cudafactor_error_not_symmetric")
    # But for rounding.
    off <- a
    off[2, 3] <- off[2, 3] * (1 + 1e-15)
    expect_solved(pcg(off, b, device = device), a, b)
    expect_solved(pcg(as_gpu(off, device), b), a, b)
    d <- a - 0.5 * diag(20)
    e <- expect_error(pcg(d, b, "none", device = device), class = "cudafactor_error_indefinite")
    expect_identical(e$argument, "A")
    expect_true(e$cosine < 0 && is.integer(e$column) && is.integer(e$iteration))
    expect_match(conditionMessage(e), sprintf("right-hand side 1 .* cosine %.3g", e$cosine))
    expect_error(
      pcg(diag(c(1, 1, 0)), c(0, 0, 1), "none", device = device), "product of a vector is zero",
      class = "cudafactor_error_indefinite"
    )
    # Singular to the precision.
    expect_error(
      pcg(matrix(1, 3, 3), 1:3, "none", device = device), class = "cudafactor_error_indefinite"
    )
    e <- expect_error(
      pcg(d, b, method = "direct", device = device),
      class = "cudafactor_error_not_positive_definite"
    )
    expect_true(e$order %in% 1:20)
    expect_error(
      pcg(-a, b, "jacobi", device = device), class = "cudafactor_error_not_positive_definite"
    )
    e <- expect_error(
      pcg(a, b, function(r) -r, device = device), class = "cudafactor_error_indefinite"
    )
    expect_identical(e$argument, "M")
  })
  skip_if_not_installed("Matrix")
  a <- poisson(10)
  expect_error(
    pcg(methods::as(a, "generalMatrix")[, c(2:100, 1)], rnorm(100)),
    class = "cudafactor_error_not_symmetric"
  )
  expect_error(
    pcg(Matrix::triu(methods::as(a, "generalMatrix")), rnorm(100)),
    class = "cudafactor_error_not_symmetric"
  )
  off <- methods::as(a, "generalMatrix")
  off@x[2] <- off@x[2] * (1 + 1e-15)
  b <- rnorm(100)
  expect_solved(pcg(off, b, "ic0"), a, b)
  d <- a - Matrix::Diagonal(100, 1)
  expect_error(pcg(d, rnorm(100), "jacobi"), class = "cudafactor_error_indefinite")
  expect_error(pcg(d, rnorm(100), method = "direct"), class = "cudafactor_error_indefinite")
})

test_that("missing and infinite numbers are refused", {
  a <- definite_matrix(5)
  for (bad in c(NA, NaN, Inf, -Inf)) {
    b <- 1:5 + 0
    b[3] <- bad
    e <- expect_error(pcg(a, b), class = "cudafactor_error_non_finite")
    expect_identical(e$argument, "b")
    d <- a
    d[2, 2] <- bad
    expect_identical(expect_error(pcg(d, 1:5), class = "cudafactor_error_non_finite")$argument, "A")
    d[2, 2] <- 1
    d[1, 4] <- d[4, 1] <- bad
    expect_error(pcg(d, 1:5, "none"), class = "cudafactor_error_non_finite")
    r <- chol(a)
    r[1, 2] <- bad
    expect_error(pcg(a, 1:5, r), class = "cudafactor_error_non_finite")
  }
})

test_that("a gpu_matrix that is no factor is refused", {
  set.seed(14)
  a <- definite_matrix(6)
  for_each_setting(function(device, precision) {
    on <- function(x) as_gpu(x, device, precision)
    refused <- function(m, kind, ...) {
      for (matrix in list(on(a), a, function(x) a %*% x)) {
        e <- expect_error(pcg(matrix, 1:6, on(m)), ..., class = paste0("cudafactor_error_", kind))
        expect_identical(e$argument, "M")
      }
    }
    refused(a, "argument", "chol")
    refused(diag(6), "argument", "jacobi")
    refused(-chol(a), "argument")
    for (at in list(c(1, 2), c(3, 3))) {
      r <- chol(a)
      r[at[[1]], at[[2]]] <- NaN
      refused(r, "non_finite")
      refused(t(r), "non_finite")
      r[at[[1]], at[[2]]] <- Inf
      refused(r, "non_finite")
    }
  })
})

test_that("a sparse matrix that is no factor is refused", {
  skip_if_not_installed("Matrix")
  a <- poisson(5)
  b <- rep(1, 25)
  expect_error(pcg(a, b, a), "chol", class = "cudafactor_error_argument")
  expect_error(
    pcg(a, b, methods::as(a, "generalMatrix")), "chol", class = "cudafactor_error_argument"
  )
  expect_error(pcg(a, b, Matrix::Diagonal(25)), "jacobi", class = "cudafactor_error_argument")
  # Its factor in another order than that of the rows has them in `pivot`.
  r <- Matrix::chol(a)
  attr(r, "pivot") <- c(2:25, 1L)
  expect_error(pcg(a, b, r), "pivoted", class = "cudafactor_error_argument")
  attr(r, "pivot")[[3L]] <- NA
  expect_error(pcg(a, b, r), "pivoted", class = "cudafactor_error_argument")
  attr(r, "pivot") <- seq_len(25)
  expect_solved(pcg(a, b, r), a, b)
  # Not every version of package Matrix keeps them.
  r <- Matrix::chol(a, pivot = TRUE)
  if (!is.null(attr(r, "pivot"))) expect_error(
    pcg(a, b, r), "pivoted", class = "cudafactor_error_argument"
  )
  # As a plain one it would need 670 GiB.
  n <- 300000
  large <- Matrix::sparseMatrix(
    i = c(seq_len(n), 1, 2), j = c(seq_len(n), 2, 1), x = c(rep(2, n), 1, 1)
  )
  expect_error(pcg(large, numeric(n), large), "chol", class = "cudafactor_error_argument")
})

test_that("objects that are no matrix are told by their class", {
  skip_if_not_installed("Matrix")
  a <- poisson(5)
  factor <- Matrix::Cholesky(a)
  expect_error(
    pcg(factor, rep(1, 25)), "'A' must be a matrix of numbers, not of class \"dCHM",
    class = "cudafactor_error_type"
  )
  expect_error(
    ichol(factor), "'A' must be a matrix of numbers, not of class \"dCHM",
    class = "cudafactor_error_type"
  )
  lu <- Matrix::lu(methods::as(a, "generalMatrix"))
  expect_error(
    pcg(a, rep(1, 25), lu), "'M' must be one of .* not of class", class = "cudafactor_error_type"
  )
})

test_that("what makes no sense is refused", {
  a <- definite_matrix(5)
  b <- 1:5
  expect_error(pcg(a), class = "cudafactor_error_argument")
  expect_error(pcg(b = b), class = "cudafactor_error_argument")
  expect_error(pcg(matrix(0, 0, 0), numeric()), class = "cudafactor_error_dimension")
  expect_error(pcg(a[, 1:4], b), class = "cudafactor_error_dimension")
  expect_error(pcg(a, 1:4), class = "cudafactor_error_dimension")
  expect_error(pcg(a, matrix(0, 5, 0)), class = "cudafactor_error_dimension")
  expect_error(pcg(a, b, "ilu"), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, method = "qr"), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, "jacobi", method = "direct"), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, tol = -1), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, tol = NA), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, maxit = 1.5), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, maxit = -1), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, maxit = 3e9), "from 0 to 2147483647", class = "cudafactor_error_argument")
  expect_error(pcg(a, b, device = "gpu"), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, a), "chol", class = "cudafactor_error_argument")
  expect_error(pcg(a, b, diag(5)), "jacobi", class = "cudafactor_error_argument")
  expect_error(
    pcg(diag(1:5) + 0.1, b, chol(diag(1:5) + 0.1, pivot = TRUE)), "pivoted",
    class = "cudafactor_error_argument"
  )
  expect_error(pcg(a, b, chol(a)[1:4, 1:4]), class = "cudafactor_error_dimension")
  expect_error(pcg(a, b, 5), class = "cudafactor_error_dimension")
  expect_error(pcg(a, b, -chol(a)), class = "cudafactor_error_argument")
  expect_error(pcg(a, b, qr(a)), class = "cudafactor_error_type")
  expect_error(pcg(a, b, list(1)), class = "cudafactor_error_type")
  for (odd in odd_operands[c(
    "text", "raw", "factor", "null", "environment", "symbol", "array", "text_data", "bad_list"
  )]) {
    expect_error(pcg(odd, b), class = "cudafactor_error")
    expect_error(pcg(a, odd), class = "cudafactor_error")
  }
  expect_equal(pcg(data.frame(a), b)$x, solve(a, b), ignore_attr = TRUE)
  expect_equal(pcg(4, 2)$x, 0.5)
  expect_equal(pcg(matrix(4L), TRUE)$x, 0.25)
})

test_that("what is no Cholesky factor is told by its class", {
  skip_if_not_installed("Matrix")
  set.seed(15)
  a <- definite_matrix(6)
  b <- 1:6
  expect_error(
    pcg(a, b, pcg(a, b)), "'M' must be one of .* not of class \"pcg\"",
    class = "cudafactor_error_type"
  )
  dense <- methods::as(methods::as(a, "symmetricMatrix"), "unpackedMatrix")
  expect_error(
    pcg(a, b, Matrix::BunchKaufman(dense)), "not of class \"BunchKaufman\"",
    class = "cudafactor_error_type"
  )
  # It extends triangular matrices, and its rows may be in order.
  expect_error(
    pcg(a, b, Matrix::BunchKaufman(methods::as(dense, "packedMatrix"))),
    "not of class \"pBunchKaufman\"", class = "cudafactor_error_type"
  )
  expect_error(
    pcg(a, b, Matrix::Schur(dense)), "not of class \"Schur\"", class = "cudafactor_error_type"
  )
  for (m in list(
    Matrix::chol(methods::as(dense, "dpoMatrix")), Matrix::chol(methods::as(dense, "dppMatrix"))
  )) {
    f <- pcg(a, b, m)
    expect_solved(f, a, b)
    expect_identical(f$iterations, 1L)
  }
  sparse <- Matrix::Matrix(diag(c(2, 1, 3)), sparse = TRUE)
  sparse@x <- 1:3
  expect_error(pcg(sparse, 1:3), "slot 'x'", class = "cudafactor_error_type")
  full <- poisson(3)
  full <- methods::as(full, "generalMatrix")
  full@x <- as.integer(full@x)
  expect_error(
    pcg(full, 1:9), "\"dgCMatrix\" must have a slot 'x' of type \"double\"",
    class = "cudafactor_error_type"
  )
  expect_error(ichol(full), "slot 'x'", class = "cudafactor_error_type")
})

test_that("a diagonal factor is one where its class tells", {
  skip_if_not_installed("Matrix")
  a <- diag(c(2, 3, 4))
  b <- 1:3
  for (m in list(chol(a), Matrix::Diagonal(3))) expect_error(
    pcg(a, b, m), "jacobi", class = "cudafactor_error_argument"
  )
  dense <- methods::as(
    methods::as(methods::as(a, "symmetricMatrix"), "unpackedMatrix"), "dpoMatrix"
  )
  sparse <- methods::as(methods::as(a, "symmetricMatrix"), "CsparseMatrix")
  for (m in list(ichol(a), Matrix::chol(dense), Matrix::chol(sparse), Matrix::Cholesky(sparse))) {
    for (x in list(a, sparse)) {
      f <- pcg(x, b, m)
      expect_solved(f, a, b)
      expect_identical(f$iterations, 1L)
    }
  }
})
