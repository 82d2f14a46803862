test_that("sparse matrices are solved with every preconditioner and method", {
  skip_if_not_installed("Matrix")
  set.seed(1)
  for (a in list(poisson(9, 12), poisson(1, 30), poisson(2, 1), poisson(1, 1))) {
    n <- nrow(a)
    for (b in list(rnorm(n), random_matrix(n, 1), random_matrix(n, 5))) {
      for (m in c("ic0", "jacobi", "none")) {
        f <- pcg(a, b, m)
        expect_solved(f, a, b)
        expect_identical(c(f$method, f$preconditioner), c("cg", m))
        expect_false(f$auto)
        expect_identical(is.matrix(f$x), is.matrix(b))
      }
      f <- pcg(a, b, method = "direct")
      expect_solved(f, a, b)
      expect_identical(c(f$method, f$preconditioner), c("direct", "cholesky"))
      expect_true(all(f$iterations <= 1L))
      expect_solved(pcg(a, b), a, b)
      expect_true(pcg(a, b)$auto)
      expect_identical(pcg(a, b, method = "cg")$preconditioner, "ic0")
    }
  }
})

test_that("either triangle, all of it and plain matrices are the same", {
  skip_if_not_installed("Matrix")
  set.seed(2)
  a <- poisson(8, 7)
  b <- random_matrix(56, 2)
  expected <- pcg(a, b, "ic0")
  forms <- list(
    lower_stored(a), methods::as(a, "generalMatrix"), as.matrix(a), methods::as(a, "TsparseMatrix"),
    methods::as(a, "RsparseMatrix")
  )
  for (form in forms) {
    f <- pcg(form, b, "ic0")
    expect_equal(f$x, expected$x)
    expect_identical(f$iterations, expected$iterations)
    expect_solved(pcg(form, b, method = "direct"), a, b)
  }
  # What a triangle that is not stored has in common with the one that is.
  for (form in list(a, lower_stored(a))) expect_solved(pcg(form, b, "jacobi"), a, b)
  diagonal <- Matrix::Diagonal(3, c(1, 2, 4))
  expect_equal(pcg(diagonal, 1:3)$x, 1:3 / c(1, 2, 4))
  if (requireNamespace("slam", quietly = TRUE)) {
    expect_equal(pcg(slam::as.simple_triplet_matrix(as.matrix(a)), b, "ic0")$x, expected$x)
  }
})

test_that("iterations of IC(0) in natural order are the textbook's", {
  skip_if_not_installed("Matrix")
  set.seed(3)
  a <- poisson(24, 20)
  b <- rnorm(480)
  l <- textbook_ic0(a)
  within <- function(ours, theirs) expect_lte(abs(ours - theirs), max(1, 0.05 * theirs))
  for (tol in c(1e-3, 1e-8)) {
    ours <- pcg(a, b, "ic0", tol = tol)$iterations
    within(ours, textbook_iterations(a, b, function(r) backsolve(t(l), forwardsolve(l, r)), tol))
    within(pcg(a, b, "none", tol = tol)$iterations, textbook_iterations(a, b, identity, tol))
  }
})

test_that("dense matrices are solved on every device", {
  set.seed(4)
  for_each_device(function(device) {
    for (n in c(1L, 2L, 33L, 130L)) {
      a <- definite_matrix(n)
      for (b in list(rnorm(n), random_matrix(n, 4))) {
        for (m in c("ic0", "jacobi", "none")) {
          f <- pcg(a, b, m, device = device)
          expect_solved(f, a, b)
          expect_identical(
            c(f$method, f$preconditioner), c("cg", if (m == "ic0") "cholesky" else m)
          )
          expect_match(f$device, device)
        }
        f <- pcg(a, b, device = device)
        expect_solved(f, a, b)
        expect_identical(f$method, "direct")
        expect_identical(pcg(a, b, method = "cg", device = device)$preconditioner, "jacobi")
      }
    }
  })
})

test_that("a gpu_matrix is computed with where it is", {
  set.seed(5)
  for_each_setting(function(device, precision) {
    tol <- if (precision == "single") 1e-5 else 1e-9
    a <- named(definite_matrix(40))
    b <- named(random_matrix(40, 3))
    there <- as_gpu(a, device, precision)
    for (m in c("ic0", "jacobi", "none")) {
      f <- pcg(there, b, m, tol = tol)
      expect_true(is_resident(f$x))
      expect_identical(f$x@precision, precision)
      expect_identical(dimnames(f$x), dimnames(solve(a, b)))
      expect_true(all(residuals_of(a, as.matrix(f$x), b) < 20 * tol))
    }
    # A vector stays one.
    f <- pcg(there, b[, 1], tol = tol)
    expect_true(is.numeric(f$x) && is.null(dim(f$x)))
    expect_identical(names(f$x), colnames(a))
    # On the right-hand side alone, and as preconditioner.
    expect_true(
      is_resident(pcg(a, as_gpu(b, device, precision), "jacobi", tol = tol, device = device)$x)
    )
    r <- chol(as_gpu(a, device, precision))
    for (matrix in list(there, a)) {
      f <- pcg(matrix, b, r, tol = tol)
      expect_identical(f$preconditioner, "factor")
      expect_lte(max(f$iterations), 3L)
      expect_true(all(residuals_of(a, as.matrix(f$x), b) < 20 * tol))
      # Either triangle.
      expect_identical(pcg(matrix, b, t(r), tol = tol)$iterations, f$iterations)
      # The tolerance that is not given is one of the precision.
      f <- expect_silent(pcg(matrix, b, r))
      expect_identical(f$tolerance, if (precision == "single") 1e-5 else 1e-8)
    }
    expect_identical(
      expect_silent(pcg(there, b))$tolerance, if (precision == "single") 1e-5 else 1e-8
    )
    f <- pcg(function(x) a %*% x, b, r, tol = tol)
    expect_lte(max(f$iterations), 3L)
  })
  expect_error(
    pcg(as_gpu(diag(2), "cpu"), 1:2, as_gpu(diag(2), "cpu", "single")),
    class = "cudafactor_error_argument"
  )
})

test_that("a factor of a nearby matrix is a preconditioner, in every form", {
  skip_if_not_installed("Matrix")
  set.seed(6)
  points <- seq(0, 1, length.out = 120)
  covariance <- function(range) exp(-abs(outer(points, points, "-")) / range) + diag(0.01, 120)
  now <- covariance(0.22)
  b <- random_matrix(120, 2)
  r <- chol(covariance(0.2))
  plain <- pcg(now, b, "none")
  counts <- lapply(
    list(
      r, t(r), methods::as(r, "triangularMatrix"), function(x) chol_solve(r, x),
      function(x) Matrix::Matrix(chol_solve(r, x), sparse = TRUE)
    ),
    function(m) {
      f <- pcg(now, b, m)
      expect_solved(f, now, b)
      f$iterations
    }
  )
  expect_length(unique(counts), 1L)
  expect_true(all(3L * counts[[1]] < plain$iterations))
  # Of sparse matrices.
  a <- poisson(9)
  shifted <- a + Matrix::Diagonal(81, 0.05)
  b <- rnorm(81)
  few <- pcg(a, b, "ic0")$iterations
  sparse <- Matrix::chol(shifted)
  general <- methods::as(sparse, "generalMatrix")
  for (m in list(
    Matrix::Cholesky(shifted), sparse, Matrix::t(sparse), general, Matrix::t(general),
    chol(as.matrix(shifted))
  )) {
    f <- pcg(a, b, m)
    expect_solved(f, a, b)
    expect_lt(f$iterations, few)
    expect_identical(f$preconditioner, "factor")
  }
  f <- pcg(a, b, ichol(a, 0.01))
  expect_identical(f$preconditioner, "ichol")
  expect_lt(f$iterations, few)
  expect_identical(pcg(a, b, ichol(a))$iterations, few)
  expect_identical(pcg(as.matrix(a), b, ichol(a))$iterations, few)
  expect_identical(pcg(function(x) as.matrix(a %*% x), b, ichol(a))$iterations, few)
  # On disk.
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  on_disk <- chol_file(tile_matrix(as.matrix(shifted), file, tile = 32, triangle = TRUE))
  expect_identical(pcg(a, b, on_disk)$iterations, pcg(a, b, Matrix::Cholesky(shifted))$iterations)
})

test_that("names and shapes are those of solve()", {
  set.seed(8)
  a <- named(definite_matrix(6))
  b <- named(random_matrix(6, 2))
  for (m in list("ic0", "jacobi", chol(a))) {
    expect_equal(pcg(a, b, m, tol = 1e-13)$x, solve(a, b))
    expect_equal(pcg(a, b[, 1], m, tol = 1e-13)$x, solve(a, b[, 1]))
    expect_equal(pcg(unname(a), b, m, tol = 1e-13)$x, solve(unname(a), b))
    expect_equal(pcg(unname(a), 1:6, m, tol = 1e-13)$x, solve(unname(a), 1:6))
  }
  f <- pcg(a, b)
  expect_identical(names(f$iterations), colnames(b))
  expect_identical(colnames(f$residuals), colnames(b))
  skip_if_not_installed("Matrix")
  rownames(a) <- colnames(a)
  s <- methods::as(Matrix::forceSymmetric(a), "CsparseMatrix")
  expect_equal(pcg(s, b, tol = 1e-13)$x, solve(a, b))
  expect_equal(pcg(a, Matrix::Matrix(b, sparse = FALSE), tol = 1e-13)$x, solve(a, b))
})

test_that("right-hand sides may be a data frame, or a matrix of package slam", {
  set.seed(7)
  a <- definite_matrix(6)
  b <- matrix(rnorm(12), 6, dimnames = list(NULL, c("p", "q")))
  expected <- pcg(a, b)
  expect_identical(pcg(a, as.data.frame(b)), expected)
  skip_if_not_installed("slam")
  expect_identical(pcg(a, slam::as.simple_triplet_matrix(b))$x, expected$x)
})

test_that("columns are as if they were alone", {
  skip_if_not_installed("Matrix")
  set.seed(9)
  a <- poisson(15)
  b <- random_matrix(225, 40) * rep(10^seq(-200, 200, length.out = 40), each = 225)
  b[, 7] <- 0
  b[, 8] <- as.vector(a %*% rep(1, 225))
  for (m in c("ic0", "jacobi")) {
    f <- pcg(a, b, m)
    expect_true(all(f$converged))
    for (j in c(1, 7, 8, 40)) {
      one <- pcg(a, b[, j], m)
      expect_identical(one$x, f$x[, j])
      expect_identical(one$iterations, f$iterations[[j]])
    }
    expect_identical(f$x[, 7], numeric(225))
    expect_identical(f$iterations[[7]], 0L)
    expect_identical(f$relative_residual[[7]], 0)
  }
  expect_identical(dim(f$residuals), c(max(f$iterations) + 1L, 40L))
  expect_identical(colSums(!is.na(f$residuals)), f$iterations + 1)
  last <- f$residuals[cbind(f$iterations + 1L, 1:40)]
  expect_identical(last, f$relative_residual)
})

test_that("a start is made use of", {
  skip_if_not_installed("Matrix")
  set.seed(10)
  a <- poisson(12)
  b <- random_matrix(144, 2)
  first <- pcg(a, b, "ic0", tol = 1e-6)
  more <- pcg(a, b, "ic0", x0 = first$x, tol = 1e-10)
  expect_solved(more, a, b)
  expect_true(all(more$iterations < pcg(a, b, "ic0", tol = 1e-10)$iterations))
  expect_identical(pcg(a, b, "ic0", x0 = first, tol = 1e-10)$x, more$x)
  expect_identical(pcg(a, b, x0 = more$x)$iterations, c(0L, 0L))
  expect_identical(pcg(a, b, x0 = more$x)$method, "cg")
  expect_error(pcg(a, b, x0 = first$x[, 1]), class = "cudafactor_error_dimension")
  expect_error(pcg(a, b, x0 = t(first$x)), class = "cudafactor_error_dimension")
  expect_error(pcg(a, b, x0 = "a"), class = "cudafactor_error_type")
  expect_error(pcg(a, b, x0 = first$x * NA), "x0", class = "cudafactor_error_non_finite")
})

test_that("starts are taken as right-hand sides are, and patterns as numbers", {
  skip_if_not_installed("Matrix")
  set.seed(17)
  a <- poisson(5)
  b <- random_matrix(25, 2)
  x0 <- random_matrix(25, 2)
  f <- pcg(a, b, x0 = x0)
  forms <- list(data.frame(x0), methods::as(x0, "CsparseMatrix"), as_gpu(x0, "cpu"), as.vector(x0))
  if (requireNamespace("slam", quietly = TRUE)) forms <- c(
    forms, list(slam::as.simple_triplet_matrix(x0))
  )
  for (form in forms) expect_identical(pcg(a, b, x0 = form)$x, f$x)
  expect_error(
    pcg(a, b, x0 = list(1)), "'x0' must be numbers with the dimensions of 'b', not of type",
    class = "cudafactor_error_type"
  )
  expect_error(
    pcg(a, b, x0 = factor(1:50)), "'x0' must be numbers with the dimensions of 'b', not of type",
    class = "cudafactor_error_type"
  )
  expect_error(pcg(a, b, x0 = data.frame(x0)[1:5, ]), class = "cudafactor_error_dimension")
  skip_if_not_installed("slam")
  pattern <- slam::simple_triplet_matrix(1:3, 1:3, rep(TRUE, 3))
  expect_equal(pcg(pattern, 1:3)$x, 1:3)
  expect_equal(as.matrix(ichol(pattern)), diag(3))
  pattern$v[2] <- NA
  expect_error(pcg(pattern, 1:3), class = "cudafactor_error_non_finite")
})

test_that("the default for a plain matrix that is mostly zeros is that of a sparse one", {
  skip_if_not_installed("Matrix")
  a <- as.matrix(poisson(6))
  b <- rep(1, 36)
  f <- pcg(a, b, method = "cg", device = "cpu")
  expect_identical(f$preconditioner, "ic0")
  expect_identical(f$method, "cg")
  expect_identical(pcg(a, b, x0 = b, device = "cpu")$preconditioner, "ic0")
  set.seed(18)
  dense <- definite_matrix(10)
  for_each_device(function(device) {
    f <- pcg(dense, rep(1, 10), method = "cg", device = device)
    expect_identical(c(f$preconditioner, f$method), c("jacobi", "cg"))
    f <- pcg(as_gpu(a, device), b, method = "cg")
    expect_identical(c(f$preconditioner, f$method), c("jacobi", "cg"))
  })
  expect_error(
    pcg(a, b, "amg"), "a sparse class of package Matrix, or of slam",
    class = "cudafactor_error_argument"
  )
})
