test_that("determinants of every size are base R's", {
  set.seed(1)
  for_each_device(function(device) {
    for (n in edge_sizes) {
      x <- random_matrix(n, n)
      expect_as_base(gpu_determinant(x, device = device), determinant(x), tolerance = 1e-10)
      expect_as_base(gpu_determinant(x, FALSE, device = device), determinant(x, FALSE),
        tolerance = 1e-8)
      single <- gpu_determinant(x, device = device, precision = "single")
      expect_equal(c(single$modulus), c(determinant(x)$modulus), tolerance = 1e-3)
    }
    swap <- diag(4)[c(2, 1, 3, 4), ]
    expect_as_base(gpu_determinant(swap, device = device), determinant(swap))
    expect_as_base(gpu_determinant(-diag(3), FALSE, device = device), determinant(-diag(3), FALSE))
    whole <- diag(1:5) + 0
    expect_identical(gpu_determinant(whole, FALSE, device = device), determinant(whole, FALSE))
  })
})

test_that("singular, empty and odd matrices are base R's", {
  for_each_device(function(device) {
    for (logarithm in c(TRUE, FALSE)) {
      for (x in list(matrix(0, 3, 3), matrix(c(1, 2, 2, 4), 2), matrix(0, 0, 0), matrix(2L, 1, 1),
          matrix(TRUE, 1, 1), named(diag(2)))) {
        expect_as_base(gpu_determinant(x, logarithm, device = device), determinant(x, logarithm))
      }
    }
    expect_true(is.na(gpu_determinant(matrix(NA_real_, 1, 1), device = device)$modulus))
    expect_true(is.na(gpu_determinant(diag(c(1, NaN, 2)), device = device)$modulus))
  })
  expect_as_base(gpu_determinant(matrix(1, 2, 3)), determinant(matrix(1, 2, 3)))
  expect_as_base(gpu_determinant(diag(2) + 0i), determinant(diag(2) + 0i))
  expect_as_base(gpu_determinant(diag(2), NA), determinant(diag(2), NA))
  expect_as_base(gpu_determinant(diag(2), 1), determinant(diag(2), 1))
  expect_as_base(gpu_determinant(data.frame(a = 1:2, b = 3:4)),
    determinant(data.frame(a = 1:2, b = 3:4)))
  for (x in list(1:3, 2.5, NULL, "a", mean)) {
    expect_as_base(gpu_determinant(x), determinant(x))
    expect_error(gpu_determinant(x), class = "cudafactor_error_type")
  }
})

test_that("a product that leaves the range of doubles is decided by the logarithm", {
  x <- diag(c(1e200, 1e200, 1e-200, 1e-200))
  expect_equal(c(gpu_determinant(x, FALSE)$modulus), 1, tolerance = 1e-12)
  expect_equal(c(gpu_determinant(x)$modulus), 0, tolerance = 1e-12)
})
