# A gpu_matrix becomes what a plain matrix becomes in package Matrix.

skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")

outcome_of <- function(value) tryCatch(suppressWarnings(value), error = conditionMessage)

test_that("as() gives Matrix's classes", {
  matrices <- list(
    matrix(c(4, 1, 0, 1, 5, 0, 0, 2, 6), 3, dimnames = list(letters[1:3], LETTERS[1:3])),
    diag(1:3 + 0), matrix(1:6 + 0, 2),
    crossprod(matrix(c(1, 2, 0, 3), 2)), matrix(0, 0, 3), matrix(c(NA, 0, NaN, Inf), 2)
  )
  classes <- c(
    "Matrix", "dMatrix", "lMatrix", "nMatrix", "denseMatrix", "sparseMatrix", "CsparseMatrix",
    "RsparseMatrix", "TsparseMatrix", "generalMatrix",
    "symmetricMatrix", "triangularMatrix", "diagonalMatrix", "dgeMatrix", "dgCMatrix", "dgTMatrix",
    "dsyMatrix", "dtrMatrix", "dpoMatrix", "lgeMatrix",
    "unpackedMatrix", "packedMatrix", "sparseVector"
  )
  for_each_device(function(device) {
    for (x in matrices) {
      g <- as_gpu(x, device)
      for (class in classes) {
        expect_identical(outcome_of(methods::as(g, class)), outcome_of(methods::as(x, class)),
          info = class)
      }
    }
  })
})

test_that("blocks are put together, and Matrix() says what to call", {
  x <- matrix(1:6 + 0, 2)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_identical(Matrix::bdiag(g, g), Matrix::bdiag(x, x))
    expect_identical(Matrix::bdiag(list(g, x)), Matrix::bdiag(list(x, x)))
    for (sparse in list(NULL, TRUE, FALSE)) {
      e <- expect_error(Matrix::Matrix(g, sparse = sparse), "as(x, \"Matrix\")", fixed = TRUE,
        class = "cudafactor_error_type")
    }
    wrapped <- function(z) Matrix::Matrix(z)
    e <- expect_error(wrapped(g), class = "cudafactor_error_type")
    expect_identical(conditionCall(e), quote(Matrix::Matrix(z)))
    expect_identical(as.vector(g), as.vector(x))
  })
})
