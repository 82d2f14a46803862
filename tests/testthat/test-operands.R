# Operands that are not plain matrices, given to every verb.

verbs <- list(
  matmult = function(x) gpu_matmult(x, x), crossprod = function(x) gpu_crossprod(x),
  tcrossprod = function(x) gpu_tcrossprod(x, x),
  chol = function(x) gpu_chol(x), pivoted = function(x) gpu_chol(x, pivot = TRUE),
  chol2inv = function(x) gpu_chol2inv(x),
  qr = function(x) gpu_qr(x), lapack = function(x) gpu_qr(x, LAPACK = TRUE),
  lu = function(x) gpu_lu(x),
  solve = function(x) gpu_solve(x, x), inverse = function(x) gpu_solve(x),
  backsolve = function(x) gpu_backsolve(x, x),
  forwardsolve = function(x) gpu_forwardsolve(x, x), determinant = function(x) gpu_determinant(x),
  lm = function(x) gpu_lm_fit(x, x)
)

dense <- matrix(c(4, 1, 0, 1, 5, 2, 0, 2, 6), 3, dimnames = list(letters[1:3], letters[1:3]))

test_that("sparse and dense matrices of package Matrix give what as.matrix() gives", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  kinds <- list(
    symmetric = Matrix::Matrix(dense, sparse = TRUE),
    general = methods::as(Matrix::Matrix(dense, sparse = TRUE), "generalMatrix"),
    dense = Matrix::Matrix(dense, sparse = FALSE),
    triplet = methods::as(Matrix::Matrix(dense, sparse = TRUE), "TsparseMatrix")
  )
  for (verb in names(verbs)) {
    for (kind in names(kinds)) {
      plain <- as.matrix(kinds[[kind]])
      expect_identical(verbs[[verb]](kinds[[kind]]), verbs[[verb]](plain), info = paste(verb, kind))
    }
  }
  diagonal <- Matrix::Diagonal(3)
  expect_identical(gpu_chol(diagonal), diag(3))
})

test_that("an S4 class that contains a matrix gives what the matrix gives", {
  reading <- methods::setClass("cudafactor_test_reading", contains = "matrix",
    where = environment())
  x <- reading(dense)
  for (verb in names(verbs)) {
    expect_identical(verbs[[verb]](x), verbs[[verb]](dense), info = verb)
  }
})

test_that("data frames, integers and logicals are taken as base R takes them", {
  frame <- as.data.frame(dense)
  whole <- dense
  storage.mode(whole) <- "integer"
  for (verb in setdiff(names(verbs),
      c("matmult", "crossprod", "tcrossprod", "chol2inv", "solve", "determinant", "lm"))) {
    expect_identical(verbs[[verb]](frame), verbs[[verb]](as.matrix(frame)), info = verb)
  }
  for (verb in names(verbs)) {
    expect_identical(verbs[[verb]](whole), verbs[[verb]](dense), info = verb)
  }
  truth <- diag(2) == 1
  expect_identical(gpu_chol(truth), diag(2))
  expect_identical(gpu_matmult(truth, truth), truth %*% truth)
})

test_that("no verb changes its operand", {
  copy <- dense + 0
  for (verb in names(verbs)) {
    verbs[[verb]](dense)
    expect_identical(dense, copy, info = verb)
  }
})

test_that("single precision is near double for every verb", {
  close <- function(single, double) {
    expect_identical(shape_of(single), shape_of(double))
    expect_equal(single, double, tolerance = 1e-5)
  }
  for_each_device(function(device) {
    s <- list(device = device, precision = "single")
    d <- list(device = device)
    for (call in list(
      quote(gpu_matmult(dense, dense)), quote(gpu_chol(dense)),
      quote(gpu_chol(dense, pivot = TRUE)), quote(gpu_qr(dense)),
      quote(gpu_qr(dense, LAPACK = TRUE)), quote(gpu_solve(dense, 1:3)),
      quote(gpu_backsolve(dense, 1:3)),
      quote(gpu_determinant(dense)), quote(gpu_lm_fit(dense[, 1:2], c(1, 0, 2), tol = 1e-5))
    )) {
      close(eval(as.call(c(as.list(call), s))), eval(as.call(c(as.list(call), d))))
    }
  })
})
