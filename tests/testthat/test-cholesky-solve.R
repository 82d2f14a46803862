# Factors in memory and on a device; those in files are in test-tile-matrix-solve.R.

test_that("factors in memory do as well", {
  for_each_setting(function(device, precision) {
    set.seed(5)
    x <- named(definite_matrix(12))
    r <- chol(x)
    b <- named(random_matrix(12, 3))
    expect_as_base(chol_solve(r, b, device = device), base::solve(crossprod(r), b))
    expect_as_base(chol_solve(r, 1:12, device = device), base::solve(crossprod(r), 1:12))
    expect_as_base(chol_solve(unname(r), b, device = device), base::solve(crossprod(unname(r)), b))
    expect_equal(chol2inv_diag(r, device = device), diag(chol2inv(r)))
    noise <- r
    noise[lower.tri(noise)] <- NaN
    expect_equal(chol_solve(noise, b), chol_solve(r, b))
    g <- as_gpu(r, device, precision)
    t <- tolerance_for(precision)
    expect_resident(chol_solve(g, b), base::solve(crossprod(r), b), g, 100 * t)
    expect_as_base(chol_solve(g, 1:12), base::solve(crossprod(r), 1:12), 100 * t)
    expect_equal(chol2inv_diag(g), diag(chol2inv(r)), tolerance = 100 * t)
    expect_equal(unname(as.matrix(chol_solve(r, as_gpu(b, device)))),
      unname(base::solve(crossprod(r), b)))
  })
  r <- diag(3)
  expect_error(chol_solve(r, 1:2), class = "cudafactor_error_dimension")
  expect_error(chol_solve(as_gpu(r, "cpu"), 1:2), class = "cudafactor_error_dimension")
  expect_error(chol_solve(r, matrix(0, 3, 0)), class = "cudafactor_error_dimension")
  expect_error(chol_solve(r[1:2, ], 1:2), class = "cudafactor_error_dimension")
  expect_error(chol_solve(r, 1i * 1:3), class = "cudafactor_error_type")
  expect_error(chol_solve(sum, 1:3), class = "cudafactor_error_type")
  expect_error(chol2inv_diag(r[1:2, ]), class = "cudafactor_error_dimension")
  r[2, 2] <- 0
  e <- expect_error(chol_solve(r, 1:3), class = "cudafactor_error_singular")
  expect_identical(e$index, 2L)
  e <- expect_error(chol2inv_diag(r), class = "cudafactor_error_singular")
  expect_identical(e$index, 2L)
})
