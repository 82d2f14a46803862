test_that("without fill it is the textbook's factor", {
  skip_if_not_installed("Matrix")
  set.seed(1)
  for (a in list(poisson(7, 5), poisson(1, 9), poisson(1, 1),
      poisson(6) + Matrix::Diagonal(36, runif(36)))) {
    f <- ichol(a)
    expect_s4_class(f$L, "dtCMatrix")
    expect_true(methods::validObject(f$L))
    expect_identical(f$L@uplo, "L")
    expect_equal(as.matrix(f$L), textbook_ic0(a), ignore_attr = TRUE)
    expect_identical(c(f$shift, f$attempts), c(0, 1))
    # Where A has entries L L' is A.
    product <- as.matrix(Matrix::tcrossprod(f$L))
    there <- as.matrix(a) != 0
    expect_equal(product[there], as.matrix(a)[there])
  }
})

test_that("either triangle, all of it and a plain matrix are the same", {
  skip_if_not_installed("Matrix")
  a <- poisson(6, 7)
  expected <- ichol(a)
  forms <- list(lower_stored(a), methods::as(a, "generalMatrix"), as.matrix(a),
    methods::as(a, "TsparseMatrix"), methods::as(a, "RsparseMatrix"))
  for (form in forms) {
    expect_equal(ichol(form)$L@x, expected$L@x)
    expect_equal(ichol(form, 0.01)$L@x, ichol(a, 0.01)$L@x)
  }
  # Off by rounding.
  off <- methods::as(a, "generalMatrix")
  off@x[2] <- off@x[2] * (1 + 1e-15)
  expect_equal(ichol(off)$L@x, expected$L@x)
  dimnames(a) <- rep(list(sprintf("v%d", 1:42)), 2)
  expect_identical(dimnames(ichol(a)), unname(dimnames(a)))
})

test_that("a lower threshold leaves less out", {
  skip_if_not_installed("Matrix")
  a <- poisson(12)
  error <- function(f) norm(as.matrix(Matrix::tcrossprod(f$L) - a), "F")
  fits <- lapply(c(0.3, 0.1, 0.01, 1e-4, 1e-14), function(t) ichol(a, t))
  expect_false(is.unsorted(vapply(fits, function(f) length(f$L@x), 0)))
  expect_false(is.unsorted(rev(vapply(fits, error, 0))))
  expect_equal(as.matrix(fits[[5]]$L), t(chol(as.matrix(a))), ignore_attr = TRUE)
  # What is left out is below the threshold times the sum of the column.
  f <- fits[[2]]$L
  pivots <- Matrix::diag(f)
  kept <- abs(Matrix::t(Matrix::t(f) * pivots))
  sums <- Matrix::colSums(abs(Matrix::tril(methods::as(a, "generalMatrix"))))
  below <- methods::as(Matrix::tril(kept, -1), "TsparseMatrix")
  expect_true(all(below@x >= (0.1 - 1e-12) * sums[below@j + 1L]))
})

test_that("a pivot that is not positive leads to a shift, which is told", {
  skip_if_not_installed("Matrix")
  # Kershaw's matrix is positive definite, and its factor without fill does not exist.
  kershaw <- matrix(c(3, -2, 0, 2, -2, 3, -2, 0, 0, -2, 3, -2, 2, 0, -2, 3), 4)
  expect_true(all(eigen(kershaw)$values > 0))
  f <- NULL
  w <- expect_warning(f <- ichol(kershaw), class = "cudafactor_warning_shifted")
  expect_gt(f$shift, 0)
  expect_identical(w$shift, f$shift)
  expect_gt(f$attempts, 1L)
  there <- kershaw != 0
  expect_equal(as.matrix(Matrix::tcrossprod(f$L))[there],
    (kershaw + f$shift * diag(diag(kershaw)))[there])
  expect_output(print(f), "diag(A)", fixed = TRUE)
  s <- pcg(kershaw, 1:4, "ic0", method = "cg")
  expect_equal(s$x, solve(kershaw, 1:4), tolerance = 1e-6)
})

test_that("systems with the factor are solved", {
  skip_if_not_installed("Matrix")
  set.seed(2)
  a <- poisson(5, 8)
  dimnames(a) <- rep(list(sprintf("v%d", 1:40)), 2)
  f <- ichol(a, 0.05)
  m <- as.matrix(Matrix::tcrossprod(f$L))
  b <- random_matrix(40, 3)
  colnames(b) <- letters[1:3]
  expect_equal(solve(f, b), solve(m, b))
  expect_equal(solve(f, b[, 1]), solve(m, b[, 1]))
  expect_equal(solve(f), solve(m), ignore_attr = TRUE)
  expect_identical(dim(f), c(40L, 40L))
  expect_error(solve(f, 1:3), class = "cudafactor_error_dimension")
})

test_that("what is no such matrix is refused", {
  skip_if_not_installed("Matrix")
  a <- poisson(4)
  expect_error(ichol(), class = "cudafactor_error_argument")
  expect_error(ichol(a, -1), class = "cudafactor_error_argument")
  expect_error(ichol(a, NA), class = "cudafactor_error_argument")
  expect_error(ichol(a, c(0, 1)), class = "cudafactor_error_argument")
  expect_error(ichol(a[, 1:3]), class = "cudafactor_error_dimension")
  expect_error(ichol("a"), class = "cudafactor_error_type")
  expect_error(ichol(sum), class = "cudafactor_error_type")
  expect_error(ichol(NULL), class = "cudafactor_error_type")
  expect_error(ichol(matrix("a")), class = "cudafactor_error_type")
  expect_error(ichol(diag(2) + 1i), class = "cudafactor_error_type")
  b <- methods::as(a, "generalMatrix")
  b[1, 2] <- -2
  expect_error(ichol(b), class = "cudafactor_error_not_symmetric")
  b <- a
  b@x[3] <- NA
  expect_error(ichol(b), class = "cudafactor_error_non_finite")
  e <- expect_error(ichol(diag(c(1, 0, 2))), class = "cudafactor_error_not_positive_definite")
  expect_identical(e$order, 2L)
  expect_identical(dim(ichol(matrix(0, 0, 0))), c(0L, 0L))
})

test_that("it is printed", {
  skip_if_not_installed("Matrix")
  expect_output(print(ichol(poisson(4))), "without fill, of order 16")
  expect_output(print(ichol(poisson(4), 0.1)), "with threshold 0.1")
  expect_output(print(ichol(4)), "\n1 entry, 1.00 times")
  expect_output(print(ichol(diag(2))), "\n2 entries, ")
})

test_that("it stands for the matrix L L'", {
  skip_if_not_installed("Matrix")
  set.seed(3)
  a <- poisson(4, 5)
  m <- ichol(a, 0.1)
  l <- as.matrix(m$L)
  expect_equal(as.matrix(m), tcrossprod(l))
  expect_identical(as.matrix(m), t(as.matrix(m)))
  expect_null(dimnames(as.matrix(m)))
  expect_equal(determinant(m), determinant(tcrossprod(l)))
  expect_equal(determinant(m, logarithm = FALSE), determinant(tcrossprod(l), FALSE))
  expect_equal(det(m), det(tcrossprod(l)))
  expect_identical(t(m), m)
  dimnames(a) <- rep(list(sprintf("v%d", 1:20)), 2)
  m <- ichol(a, 0.1)
  # Rows and columns told apart.
  m$L@Dimnames <- list(sprintf("r%d", 1:20), sprintf("c%d", 1:20))
  dense <- as.matrix(m)
  expect_identical(dimnames(dense), dimnames(m))
  expect_identical(dimnames(as.matrix(t(m))), rev(dimnames(m)))
  expect_equal(solve(m), solve(dense))
  expect_equal(solve(m, diag(20)), solve(dense, diag(20)))
  expect_equal(solve(m, 1:20), solve(dense, 1:20))
  expect_equal(as.matrix(ichol(matrix(0, 0, 0))), matrix(0, 0, 0))
  expect_equal(det(ichol(matrix(0, 0, 0))), 1)
})

test_that("right-hand sides are those of pcg()", {
  skip_if_not_installed("Matrix")
  set.seed(4)
  m <- ichol(poisson(4))
  b <- random_matrix(16, 2)
  colnames(b) <- c("p", "q")
  x <- solve(m, b)
  expect_equal(x, solve(as.matrix(m), b))
  expect_identical(solve(m, data.frame(b)), x)
  expect_identical(solve(m, methods::as(b, "CsparseMatrix")), x)
  there <- solve(m, as_gpu(b, "cpu"))
  expect_s4_class(there, "gpu_matrix")
  expect_equal(as.matrix(there), x)
  if (requireNamespace("slam", quietly = TRUE))
    expect_identical(solve(m, slam::as.simple_triplet_matrix(b)), x)
  e <- expect_error(solve(m, "a"), class = "cudafactor_error")
  expect_match(
    conditionMessage(expect_error(solve(m, matrix(0, 3, 1)), class = "cudafactor_error_dimension")),
    "'b' (3 x 1)", fixed = TRUE)
  expect_error(solve(m, qr(diag(16))), "'b' must be", class = "cudafactor_error_type")
  for (bad in c(NaN, Inf)) {
    broken <- m
    broken$L@x[4] <- bad
    e <- expect_error(solve(broken, b), "'a'", class = "cudafactor_error_non_finite")
    expect_identical(e$argument, "a")
  }
  broken <- m
  broken$L@x[1] <- -1
  expect_identical(expect_error(solve(broken, b), class = "cudafactor_error_argument")$argument,
    "a")
})
