# A plain double matrix takes one C call, any other operand R's code for all kinds. Both must agree.

test_that("both ways give the same results, attributes included", {
  set.seed(1)
  x <- matrix(sample(-9:9, 20, TRUE), 5, dimnames = list(letters[1:5], LETTERS[1:4]))
  y <- matrix(sample(-9:9, 15, TRUE), 5, dimnames = list(NULL, columns = c("u", "v", "w")))
  spd <- crossprod(x) + diag(40L, 4)
  plain <- function(m) {
    storage.mode(m) <- "double"
    m
  }
  whole <- function(m) {
    storage.mode(m) <- "integer"
    m
  }
  for (names in c(TRUE, FALSE)) {
    if (!names) dimnames(x) <- dimnames(y) <- dimnames(spd) <- NULL
    b <- y[1:4, ]
    calls <- list(
      function(of) gpu_matmult(of(t(x)), of(y)),
      function(of) gpu_crossprod(of(x), of(y)),
      function(of) gpu_crossprod(of(x)),
      function(of) gpu_tcrossprod(of(t(x)), of(t(y))),
      function(of) gpu_tcrossprod(of(x)),
      function(of) gpu_chol(of(spd)),
      function(of) gpu_solve(of(spd), of(b)),
      function(of) gpu_solve(of(spd), of(b[, 1])),
      function(of) gpu_solve(of(spd)),
      function(of) gpu_qr(of(x)),
      function(of) gpu_lu(of(x))
    )
    for (i in seq_along(calls)) {
      for (precision in c("double", "single")) {
        expect_identical(calls[[i]](plain), calls[[i]](whole), label = paste("call", i))
      }
    }
  }
})

test_that("other attributes of a plain matrix are kept", {
  x <- structure(diag(c(4, 9)), note = "kept")
  expect_identical(attributes(gpu_chol(x)), attributes(chol(x)))
  expect_identical(attributes(gpu_qr(x)$qr), attributes(x))
})

test_that("columns that move take their names with them", {
  x <- cbind(a = c(1, 2, 3), b = c(2, 4, 6), c = c(1, 0, 1))
  before <- x + 0
  f <- gpu_qr(x)
  expect_identical(f$pivot, qr(x)$pivot)
  expect_identical(colnames(f$qr), colnames(qr(x)$qr))
  expect_identical(x, before)
})

test_that("operands that are not plain go the other way", {
  settings <- list("cpu", "double")
  by_c <- function(routine, ...) do.call(".External", c(list(routine, ...), settings))
  ns <- asNamespace("cudafactor")
  d <- diag(2)
  odd <- structure(d, class = "odd")
  for (x in list(matrix(1:4, 2), 1, NULL, "text", list(1), array(1, 1), odd)) {
    expect_null(by_c(ns$plain_product, FALSE, FALSE, x, d))
    expect_null(by_c(ns$plain_chol, x))
    expect_null(by_c(ns$plain_solve, x, d, 0))
    expect_null(by_c(ns$plain_lu, x))
    expect_null(by_c(ns$plain_qr, x, 1e-7))
  }
  expect_null(by_c(ns$plain_product, FALSE, FALSE, d, diag(3)))
  expect_null(by_c(ns$plain_product, FALSE, FALSE, d, NULL))
  expect_null(by_c(ns$plain_chol, matrix(0, 2, 3)))
  expect_null(by_c(ns$plain_chol, matrix(0, 0, 0)))
  expect_null(by_c(ns$plain_solve, d, 1:2, 0))
  expect_null(by_c(ns$plain_solve, d, c(1, 2, 3), 0))
  expect_null(by_c(ns$plain_solve, d, c(1, 2), NA_real_))
  expect_null(by_c(ns$plain_qr, d, 1:2))
  settings <- list("gpu", "double")
  expect_null(by_c(ns$plain_chol, d))
})

test_that("empty plain matrices multiply", {
  none <- matrix(0, 0, 3)
  expect_identical(gpu_crossprod(none), crossprod(none))
  expect_identical(gpu_tcrossprod(none), tcrossprod(none))
  expect_identical(gpu_matmult(t(none), none), t(none) %*% none)
  expect_identical(gpu_matmult(none, t(none)), none %*% t(none))
})
