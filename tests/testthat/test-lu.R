test_that("factors of every shape have small errors", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (shape in edge_shapes) {
      x <- random_matrix(shape[1], shape[2])
      f <- gpu_lu(x, device = device, precision = precision)
      expect_s3_class(f, "gpu_lu")
      expect_small(residual_lu(f, x, precision), "lu")
      expect_identical(sort(f$perm), seq_len(shape[1]))
      expect_true(max(abs(lu_expand(f)$L)) <= 1)
    }
  })
})

test_that("x = P L U, with the dimnames of x", {
  set.seed(2)
  for_each_device(function(device) {
    for (shape in list(
      c(4L, 4L), c(5L, 3L), c(3L, 5L), c(1L, 1L), c(0L, 0L), c(3L, 0L), c(0L, 3L)
    )) {
      x <- random_matrix(shape[1], shape[2])
      if (length(x)) x <- named(x)
      f <- gpu_lu(x, device = device)
      e <- lu_expand(f)
      expect_named(e, c("L", "U", "P"))
      k <- min(shape)
      expect_identical(
        lapply(e, dim), list(L = c(shape[1], k), U = c(k, shape[2]), P = c(shape[1], shape[1]))
      )
      expect_true(
        all(e$L[upper.tri(e$L)] == 0) && all(diag(e$L) == 1) && all(e$U[lower.tri(e$U)] == 0)
      )
      product <- e$P %*% e$L %*% e$U
      expect_equal(product, x)
      expect_equal(unname(e$L %*% e$U), unname(x[f$perm, , drop = FALSE]))
    }
  })
})

test_that("the pivots are those of Matrix::lu()", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  set.seed(3)
  for_each_device(function(device) {
    for (shape in list(c(6L, 6L), c(9L, 4L), c(4L, 9L), c(70L, 70L))) {
      x <- random_matrix(shape[1], shape[2])
      f <- gpu_lu(x, device = device)
      m <- Matrix::lu(x)
      expect_identical(f$ipiv, m@perm)
      expect_equal(c(f$lu), m@x, tolerance = 1e-9)
    }
    singular <- matrix(c(1, 2, 2, 4), 2)
    # Older versions of Matrix leave a word out.
    words <- sub(
      "LAPACK 'dgetrf'", "LAPACK routine 'dgetrf'", outcome(Matrix::lu(singular))$warnings,
      fixed = TRUE
    )
    expect_identical(outcome(gpu_lu(singular, device = device))$warnings, words)
  })
})

test_that("a singular matrix is a warning and a complete object", {
  for_each_device(function(device) {
    # Powers of two, so that the multipliers are exact whether or not a device fuses product and
    # sum.
    x <- matrix(c(1, 2, 4, 2, 4, 8, 1, 0, 1), 3)
    w <- expect_warning(
      f <- gpu_lu(x, device = device), "exactly singular", class = "cudafactor_warning_singular"
    )
    expect_identical(conditionCall(w)[[1]], quote(gpu_lu))
    expect_identical(f$singular, w$index)
    expect_small(residual_lu(f, x, "double"), "lu")
    expect_silent(gpu_lu(x, warn_singular = FALSE, device = device))
    e <- expect_as_base(solve(f, 1:3), solve(x, 1:3))
    expect_s3_class(e, "cudafactor_error_singular")
    expect_identical(e$index, 2L)
    expect_identical(determinant(f), determinant(x))
    expect_output(print(f), "3 x 3 matrix, exactly singular")
  })
})

test_that("solve() and determinant() answer as for the matrix", {
  set.seed(4)
  for_each_device(function(device) {
    for (n in c(1L, 2L, 5L, 33L)) {
      x <- named(random_matrix(n, n))
      f <- gpu_lu(x, device = device)
      b <- matrix(rnorm(2 * n), n, dimnames = list(NULL, c("u", "v")))
      expect_as_base(solve(f, b[, 1]), solve(x, b[, 1]), tolerance = 1e-8)
      expect_as_base(solve(f, b), solve(x, b), tolerance = 1e-8)
      expect_as_base(solve(f), solve(x), tolerance = 1e-8)
      expect_as_base(gpu_solve(f, b, device = device), solve(x, b), tolerance = 1e-8)
      expect_as_base(gpu_solve(f, device = device), solve(x), tolerance = 1e-8)
      expect_as_base(determinant(f), determinant(x), tolerance = 1e-10)
      expect_as_base(gpu_determinant(f, FALSE), determinant(x, FALSE), tolerance = 1e-10)
    }
    near <- diag(c(1, 1e-20))
    f <- gpu_lu(near, device = device)
    expect_error(gpu_solve(f, 1:2, device = device), class = "cudafactor_error_singular")
    # The tolerance of a factor in single precision is that of single precision.
    single <- gpu_lu(diag(c(1, 1e-10)), device = device, precision = "single")
    expect_error(gpu_solve(single, 1:2, device = device), class = "cudafactor_error_singular")
    e <- expect_as_base(solve(f, 1:2), solve(near, 1:2))
    expect_equal(e$rcond, 1e-20)
    expect_equal(solve(f, 1:2, tol = 0), c(1, 2e20))
  })
  f <- gpu_lu(matrix(1:6, 2, 3))
  expect_error(
    solve(f, 1:2), "'a' (2 x 3) must be square", fixed = TRUE, class = "cudafactor_error_dimension"
  )
  expect_error(determinant(f), "square", class = "cudafactor_error_dimension")
  f <- gpu_lu(diag(2))
  expect_as_base(solve(f, 1:3), solve(diag(2), 1:3))
  expect_error(solve(f, 1:2 + 1i), "base::solve", class = "cudafactor_error_type")
  expect_output(print(f), "<gpu_lu: x = P L U of a 2 x 2 matrix>", fixed = TRUE)
})

test_that("a factor survives saving", {
  set.seed(5)
  x <- random_matrix(20, 20)
  f <- gpu_lu(x)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(f, file)
  expect_identical(readRDS(file), f)
  out <- tempfile(fileext = ".rds")
  child <- run_child(sprintf(
    "saveRDS(solve(readRDS('%s'), 1:20), '%s')", file, out
  ))
  # Without the package the method is not there; with it, the answer is the same.
  expect_false(child$status == 0)
  child <- run_child(
    sprintf("library(cudafactor); saveRDS(solve(readRDS('%s'), 1:20), '%s')", file, out)
  )
  expect_identical(child$status, 0L, info = child$output)
  expect_equal(readRDS(out), solve(f, 1:20), tolerance = 1e-12)
})

test_that("what cannot be factored is refused", {
  expect_error(gpu_lu(diag(2) + 0i), "base::solve", class = "cudafactor_error_type")
  expect_error(gpu_lu(sum), class = "cudafactor_error_type")
  expect_error(lu_expand(diag(2)), class = "cudafactor_error_type")
  expect_identical(gpu_lu(data.frame(a = 2:3, b = c(1, 5)))$lu, gpu_lu(matrix(c(2, 3, 1, 5), 2))$lu)
})

test_that("determinant() of a factorization that is not square names 'x', as base R does", {
  e <- expect_as_base(determinant(gpu_lu(matrix(1:6 + 0, 2))), determinant(matrix(1:6 + 0, 2)))
  expect_s3_class(e, "cudafactor_error_dimension")
  expect_as_base(gpu_determinant(gpu_lu(matrix(1:6 + 0, 3))), determinant(matrix(1:6 + 0, 3)))
})
