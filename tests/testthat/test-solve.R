test_that("systems of every size have small backward errors", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (n in edge_sizes) {
      a <- random_matrix(n, n) + 2 * diag(n)
      for (columns in c(1L, 3L, 40L)) {
        b <- random_matrix(n, columns)
        z <- gpu_solve(a, b, device = device, precision = precision)
        expect_small(residual_solve(z, a, b, precision), "solve")
      }
      expect_small(
        residual_solve(gpu_solve(a, device = device, precision = precision), a, diag(n), precision),
        "solve"
      )
    }
  })
})

test_that("ill-conditioned and graded systems have small backward errors", {
  set.seed(2)
  for_each_device(function(device) {
    for (condition in c(1e4, 1e8, 1e12)) {
      a <- conditioned_matrix(60, condition)
      b <- random_matrix(60, 2)
      expect_small(residual_solve(gpu_solve(a, b, device = device), a, b, "double"), "solve")
    }
    a <- graded_matrix(30, 30, 2)
    expect_small(
      residual_solve(gpu_solve(a, 1:30, tol = 0, device = device), a, 1:30, "double"), "solve"
    )
  })
})

test_that("names and shapes are base R's", {
  a <- matrix(c(4, 2, 1, 3), 2)
  b <- matrix(1:4, 2, dimnames = list(c("p", "q"), c("u", "v")))
  both <- a
  dimnames(both) <- list(R = c("r", "s"), C = c("a", "b"))
  rows <- a
  rownames(rows) <- c("r", "s")
  columns <- a
  colnames(columns) <- c("a", "b")
  for_each_device(function(device) {
    for (x in list(
      a, both, rows, columns, structure(a, note = 1), matrix(c(2L, 1L, 1L, 3L), 2), as.data.frame(a)
    )) {
      expect_as_base(gpu_solve(x, device = device), solve.default(x))
      for (y in list(
        1:2, c(p = 1, q = 2), b, b[, 1, drop = FALSE], unname(b), array(1:2, 2), c(TRUE, FALSE),
        factor(1:2), c("3", "4")
      )) {
        expect_as_base(gpu_solve(x, y, device = device), solve.default(x, y))
      }
    }
    expect_as_base(gpu_solve(4, device = device), solve(4))
    expect_as_base(gpu_solve(c(a = 4), 2, device = device), solve(c(a = 4), 2))
  })
})

test_that("what solve() refuses is refused in its words", {
  a <- diag(2)
  expect_as_base(gpu_solve(matrix(1, 2, 3), 1:2), solve(matrix(1, 2, 3), 1:2))
  expect_as_base(gpu_solve(a, 1:3), solve(a, 1:3))
  expect_as_base(gpu_solve(a, diag(3)), solve(a, diag(3)))
  expect_as_base(gpu_solve(a, matrix(0, 2, 0)), solve(a, matrix(0, 2, 0)))
  expect_as_base(gpu_solve(a, NULL), solve(a, NULL))
  expect_as_base(
    gpu_solve(a, data.frame(a = 1:2, b = 3:4)), solve.default(a, data.frame(a = 1:2, b = 3:4))
  )
  expect_as_base(gpu_solve(a, 1:2, LINPACK = TRUE), solve(a, 1:2, LINPACK = TRUE))
  for (kind in setdiff(names(odd_operands), "null")) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_solve(x), solve.default(x), info = kind)
  }
  expect_error(gpu_solve(a + 0i, 1:2), "base::solve", class = "cudafactor_error_type")
  expect_error(gpu_solve(a, 1:2 + 0i), "base::solve", class = "cudafactor_error_type")
  expect_error(gpu_solve(qr(a), 1:2), "QR factorization", class = "cudafactor_error_type")
  expect_error(gpu_solve(a, 1:2, tol = NA), class = "cudafactor_error_argument")
})

test_that("singular systems say where and how badly", {
  for_each_device(function(device) {
    exact <- matrix(c(1, 2, 2, 4), 2)
    e <- expect_as_base(gpu_solve(exact, 1:2, device = device), solve(exact, 1:2))
    expect_s3_class(e, "cudafactor_error_singular")
    expect_identical(e$index, 2L)
    expect_identical(conditionCall(e)[[1]], quote(gpu_solve))
    near <- diag(c(1, 1e-20))
    e <- expect_as_base(gpu_solve(near, device = device), solve(near))
    expect_s3_class(e, "cudafactor_error_singular")
    expect_equal(e$rcond, 1e-20)
    expect_equal(gpu_solve(near, 1:2, tol = 0, device = device), solve(near, 1:2, tol = 0))
    x <- 1 / outer(1:12, 1:12, function(i, j) i + j - 1)
    expect_error(
      gpu_solve(x, device = device), "computationally singular", class = "cudafactor_error_singular"
    )
    expect_error(gpu_solve(matrix(0, 3, 3), device = device), "U[1,1] = 0", fixed = TRUE)
  })
})

test_that("NA in the matrix ends as in base R, and NA on the right propagates", {
  for_each_device(function(device) {
    for (special in list(NA_real_, NaN, Inf)) {
      a <- diag(3)
      a[2, 2] <- special
      ours <- outcome(gpu_solve(a, 1:3, device = device))
      if (getRversion() < "4.2.3") {
        expect_identical(
          ours$error, "system is computationally singular: reciprocal condition number = 0"
        )
      } else {
        expect_null(ours$error)
        expect_identical(anyNA(ours$value), is.na(special))
      }
    }
    expect_identical(
      is.na(gpu_solve(diag(3), c(1, NA, 3), device = device)), is.na(solve(diag(3), c(1, NA, 3)))
    )
  })
})

test_that("operands stay as they were", {
  set.seed(3)
  a <- random_matrix(40, 40)
  b <- random_matrix(40, 2)
  copies <- list(a + 0, b + 0)
  for_each_setting(function(device, precision) {
    gpu_solve(a, b, device = device, precision = precision)
    expect_identical(list(a, b), copies)
  })
})

test_that("in single precision the default tolerances are those of single precision", {
  hilbert <- 1 / outer(1:8, 1:8, function(i, j) i + j - 1)
  collinear <- cbind(1, a = 1:20, b = 1 + 3 * (1:20))
  for_each_device(function(device) {
    expect_error(
      gpu_solve(hilbert, precision = "single", device = device), class = "cudafactor_error_singular"
    )
    expect_error(
      solve(gpu_lu(hilbert, precision = "single", device = device)),
      class = "cudafactor_error_singular"
    )
    expect_silent(gpu_solve(hilbert, device = device))
    expect_identical(gpu_qr(collinear, precision = "single", device = device)$rank, 2L)
    fit <- gpu_lm_fit(collinear, 1:20, precision = "single", device = device)
    expect_identical(unname(is.na(fit$coefficients)), c(FALSE, FALSE, TRUE))
  })
})
