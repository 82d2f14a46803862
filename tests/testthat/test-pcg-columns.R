# A right-hand side's solution alone and among others: the same bits on the CPU, and equal to
# rounding on a GPU, where products of one column and of several are different kernels.

expect_same_columns <- function(device, a, b, ...) {
  all <- pcg(a, b, ..., tol = 1e-11, device = device)
  expect_true(all(all$converged))
  for (j in c(1, ncol(b) - 1, ncol(b))) {
    one <- pcg(a, b[, j], ..., tol = 1e-11, device = device)
    # Conjugate gradients on the host are on the CPU whatever the device.
    if (one$device == "cpu" && all$device == "cpu") {
      expect_identical(one$x, all$x[, j])
      expect_identical(one$iterations, all$iterations[[j]])
      expect_identical(one$relative_residual, all$relative_residual[[j]])
    } else {
      expect_equal(one$x, all$x[, j], tolerance = 1e-8)
    }
  }
}

test_that("columns of sparse systems are as if they were alone", {
  skip_if_not_installed("Matrix")
  set.seed(31)
  a <- poisson(24, 21)
  b <- random_matrix(504, 6)
  function_a <- function(x) apply(x, 2, function(v) as.vector(a %*% v))
  for_each_device(function(device) {
    # "auto" weighs the number of right-hand sides.
    for (m in list("none", "jacobi", "ic0", "amg", ichol(a))) {
      expect_same_columns(device, a, b, m)
    }
    expect_same_columns(device, a, b, method = "direct")
    expect_same_columns(device, function_a, b)
    expect_same_columns(device, function_a, b, ichol(a))
  })
})

test_that("columns of dense systems are as if they were alone", {
  set.seed(32)
  a <- definite_matrix(150)
  b <- random_matrix(150, 6)
  nearby <- chol(a + diag(150))
  for_each_device(function(device) {
    for (m in list("none", "jacobi", nearby)) {
      expect_same_columns(device, a, b, m)
    }
    expect_same_columns(device, a, b, method = "direct")
    expect_same_columns(device, as_gpu(a, device), b, "jacobi")
  })
})
