# pcg() with algebraic multigrid, and sparse matrices on a GPU.

space <- function(side) {
  line <- poisson(side, 1) - Matrix::Diagonal(side, 2)
  one <- Matrix::Diagonal(side)
  a <- Matrix::kronecker(
    one, Matrix::kronecker(one, line)
  ) + Matrix::kronecker(one, Matrix::kronecker(line, one)) +
    Matrix::kronecker(line, Matrix::kronecker(one, one))
  methods::as(Matrix::forceSymmetric(a + Matrix::Diagonal(side^3, 1e-3), "U"), "CsparseMatrix")
}

# A row that all others hang on.
hub <- function(n) {
  a <- Matrix::sparseMatrix(i = rep(1L, n - 1L), j = 2:n, x = -1, dims = c(n, n), symmetric = TRUE)
  Matrix::forceSymmetric(a + Matrix::Diagonal(n, c(n, rep(1.1, n - 1))), "U")
}

test_that("algebraic multigrid solves sparse matrices of any form on every device", {
  skip_if_not_installed("Matrix")
  set.seed(1)
  diagonal <- methods::as(Matrix::Diagonal(400, runif(400, 0.1, 9)), "CsparseMatrix")
  matrices <- list(
    poisson(1, 1), poisson(1, 31), poisson(23, 30), space(8), hub(700), diagonal,
    Matrix::bdiag(poisson(19, 20), diagonal, poisson(5, 5))
  )
  for_each_device(function(device) {
    for (a in matrices) {
      n <- nrow(a)
      for (b in list(rnorm(n), random_matrix(n, 1), random_matrix(n, 5))) {
        f <- pcg(a, b, "amg", device = device)
        expect_solved(f, a, b)
        expect_identical(c(f$method, f$preconditioner), c("cg", "amg"))
        expect_match(f$device, device)
        expect_identical(f$shift, 0)
        expect_identical(pcg(a, b, "amg", device = device)$x, f$x)
      }
    }
    a <- poisson(23, 30)
    b <- random_matrix(690, 3)
    expected <- pcg(a, b, "amg", device = device)
    for (form in list(
      lower_stored(a), methods::as(a, "generalMatrix"), methods::as(a, "TsparseMatrix"),
      methods::as(a, "RsparseMatrix")
    )) {
      expect_identical(pcg(form, b, "amg", device = device)$x, expected$x)
    }
    again <- pcg(a, b, "amg", x0 = expected, device = device)
    expect_true(all(again$iterations == 0L))
  })
})

test_that("iterations of algebraic multigrid hardly grow", {
  skip_if_not_installed("Matrix")
  set.seed(2)
  count <- function(a) pcg(a, rnorm(nrow(a)), "amg")$iterations
  # With sides four times as long others take four times as many.
  for (make in list(poisson, space)) {
    side <- if (identical(make, space)) 8 else 60
    expect_lt(count(make(4 * side)), 2 * count(make(side)))
  }
})

test_that("sparse matrices are on the GPU that was asked for, with what is made there", {
  skip_if_not_installed("Matrix")
  skip_unless(gpu_available(), "there is no GPU")
  set.seed(3)
  a <- poisson(40, 50)
  b <- random_matrix(2000, 6)
  for (m in c("amg", "jacobi", "none")) {
    f <- pcg(a, b, m, device = "cuda")
    expect_solved(f, a, b)
    expect_match(f$device, "cuda")
    expect_identical(f$preconditioner, m)
    expect_equal(f$x, pcg(a, b, m, device = "cpu")$x, tolerance = 1e-6)
  }
  for (f in list(
    pcg(a, b, device = "cuda"), pcg(a, b, method = "cg", device = "cuda"),
    pcg(a, b, x0 = 0 * b, device = "cuda")
  )) {
    expect_match(f$device, "cuda")
    expect_identical(f$preconditioner, "amg")
  }
  for (f in list(
    pcg(a, b, "ic0", device = "cuda"), pcg(a, b, method = "direct", device = "cuda"),
    pcg(a, b, ichol(a), device = "cuda")
  )) {
    expect_match(f$device, "cpu")
  }
  # By the order where nothing was asked for.
  expect_match(pcg(a, b, "amg", device = "auto")$device, "cpu")
  large <- poisson(250)
  f <- pcg(large, rnorm(62500), device = "auto")
  expect_match(f$device, "cuda")
  expect_identical(c(f$method, f$preconditioner), c("cg", "amg"))
})

test_that("what algebraic multigrid cannot take is refused by class", {
  skip_if_not_installed("Matrix")
  for_each_device(function(device) {
    a <- poisson(12, 30)
    b <- rep(1, 360)
    expect_error(pcg(-a, b, "amg", device = device), class = "cudafactor_error_indefinite")
    expect_error(
      pcg(a - Matrix::Diagonal(360, 1), b, "amg", device = device),
      class = "cudafactor_error_indefinite"
    )
    whole <- methods::as(a, "generalMatrix")
    off <- whole
    off@x[[2L]] <- -2
    expect_error(pcg(off, b, "amg", device = device), class = "cudafactor_error_not_symmetric")
    off@x[[2L]] <- -1 - 1e-15
    expect_solved(pcg(off, b, "amg", device = device), a, b)
    a@x[[7L]] <- NA
    expect_error(pcg(a, b, "amg", device = device), class = "cudafactor_error_non_finite")
    expect_error(pcg(diag(3), 1:3, "amg", device = device), class = "cudafactor_error_argument")
    expect_error(
      pcg(function(x) x, 1:3, "amg", device = device), class = "cudafactor_error_argument"
    )
  })
})
