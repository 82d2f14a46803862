test_that("functions multiply and solve, and what they signal is theirs", {
  set.seed(7)
  a <- definite_matrix(30)
  b <- random_matrix(30, 3)
  shapes <- list()
  multiply <- function(x) {
    shapes[[length(shapes) + 1L]] <<- dim(x)
    a %*% x
  }
  f <- pcg(multiply, b)
  expect_solved(f, a, b)
  expect_identical(f$preconditioner, "none")
  expect_identical(shapes[[1]], c(30L, 3L))
  expect_true(all(vapply(shapes, function(d) d[[1]] == 30L && d[[2]] <= 3L, NA)))
  f <- pcg(multiply, b, function(r) r / diag(a))
  expect_solved(f, a, b)
  expect_identical(f$preconditioner, "function")
  expect_true(all(abs(f$iterations - pcg(a, b, "jacobi")$iterations) <= 1L))
  expect_solved(pcg(function(x) as.data.frame(a %*% x), b), a, b)
  # This package's own functions, within one of its computations.
  expect_solved(pcg(function(x) gpu_matmult(a, x), b, function(r) pcg(a, r, tol = 1e-12)$x), a, b)
  there <- as_gpu(a)
  expect_solved(pcg(function(x) there %*% x, b), a, b)
  # What is computed with stays while a function is called.
  expect_solved(pcg(there, b[, 1], function(r) { gpu_free(there); r }), a, b[, 1])
  r <- as_gpu(chol(a))
  change <- function(x) {
    expect_error(
      chol_update(r, diag(30)[, 1], in_place = TRUE), class = "cudafactor_error_argument"
    )
    a %*% x
  }
  expect_solved(pcg(change, b[, 1], r), a, b[, 1])
  # Errors, warnings, messages, jumps.
  expect_error(pcg(function(x) stop("mine"), b), "mine")
  expect_error(
    pcg(
      a, b,
      function(r) stop(
        structure(class = c("own", "error", "condition"), list(message = "m", call = NULL))
      )
    ),
    class = "own"
  )
  told <- FALSE
  once <- function(x) {
    if (!told) warning("beware")
    told <<- TRUE
    a %*% x
  }
  expect_warning(expect_solved(pcg(once, b[, 1]), a, b[, 1]), "beware")
  expect_identical(
    tryCatch(pcg(function(x) warning("beware"), b), warning = conditionMessage), "beware"
  )
  expect_identical(withRestarts(pcg(function(x) invokeRestart("out", 5), b), out = identity), 5)
  left <- function() pcg(function(x) return(a %*% x), b)$converged
  expect_true(all(left()))
  for (i in 1:20) try(pcg(function(x) if (i > 3) stop("again") else a %*% x, b), silent = TRUE)
  expect_solved(pcg(a, b), a, b)
  # What is no product.
  expect_error(pcg(function(x) x[-1, ], b), class = "cudafactor_error_dimension")
  expect_error(pcg(function(x) t(x), b), class = "cudafactor_error_dimension")
  expect_error(pcg(function(x) "a", b), class = "cudafactor_error_type")
  expect_error(pcg(function(x) x > 0, b), class = "cudafactor_error_type")
  expect_error(pcg(a, b, function(x) NULL), class = "cudafactor_error_type")
  expect_error(pcg(function(x) x + NA, b), class = "cudafactor_error_non_finite")
  expect_error(pcg(multiply, b, "ic0"), class = "cudafactor_error_argument")
  expect_error(pcg(multiply, b, method = "direct"), class = "cudafactor_error_argument")
})

test_that("functions may give whatever as.matrix() makes a matrix of", {
  skip_if_not_installed("Matrix")
  set.seed(8)
  a <- definite_matrix(12)
  b <- random_matrix(12, 2)
  as_sparse <- function(x) methods::as(x, "CsparseMatrix")
  expect_solved(pcg(function(x) as_sparse(a %*% x), b, function(r) as_sparse(r)), a, b)
  expect_solved(pcg(function(x) as.table(a %*% x), b), a, b)
  if (requireNamespace("slam", quietly = TRUE)) {
    triplets <- slam::as.simple_triplet_matrix
    expect_solved(pcg(function(x) triplets(a %*% x), b, function(r) triplets(r)), a, b)
  }
  expect_error(pcg(function(x) pcg(a, x), b), "class \"pcg\"", class = "cudafactor_error_type")
  expect_error(pcg(function(x) factor(x), b), "class \"factor\"", class = "cudafactor_error_type")
})

test_that("no number out of the last product is an error", {
  a <- definite_matrix(12)
  calls <- 0
  f <- function(x) {
    calls <<- calls + 1
    if (calls > 1) x * NA else a %*% x
  }
  expect_error(
    pcg(f, rep(1, 12), maxit = 1), "came up in the iteration", class = "cudafactor_error_non_finite"
  )
})
