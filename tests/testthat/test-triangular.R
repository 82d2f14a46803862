test_that("systems of every size have small errors", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (n in edge_sizes) {
      r <- random_matrix(n, n) + 2 * sqrt(n) * diag(n)
      upper <- r * upper.tri(r, TRUE)
      lower <- r * lower.tri(r, TRUE)
      for (columns in c(1L, 5L, 33L)) {
        b <- random_matrix(n, columns)
        check <- function(z, r) expect_small(residual_triangular(z, r, b, precision), "triangular")
        check(gpu_backsolve(r, b, device = device, precision = precision), upper)
        check(
          gpu_backsolve(r, b, transpose = TRUE, device = device, precision = precision), t(upper)
        )
        check(gpu_forwardsolve(r, b, device = device, precision = precision), lower)
        check(
          gpu_forwardsolve(r, b, transpose = TRUE, device = device, precision = precision), t(lower)
        )
      }
    }
  })
})

test_that("arguments, shapes and names are base R's", {
  set.seed(2)
  r <- named(random_matrix(5, 5) + 4 * diag(5))
  x <- named(random_matrix(5, 2))
  for_each_device(function(device) {
    for (upper in c(TRUE, FALSE)) {
      for (transpose in c(TRUE, FALSE)) {
        for (k in 1:5) {
          for (y in list(
            x, x[, 1], x[, 1, drop = FALSE], 1:5, as.data.frame(x), rbind(x, 1), array(1:5, 5)
          )) {
            expect_as_base(
              gpu_backsolve(
                r, y, k, upper, transpose, device = device
              ), backsolve(r, y, k, upper, transpose)
            )
            expect_as_base(
              gpu_forwardsolve(
                r, y, k, upper, transpose, device = device
              ), forwardsolve(r, y, k, upper, transpose)
            )
          }
        }
      }
    }
    wide <- cbind(r, 1)
    tall <- rbind(r, 1)
    expect_as_base(gpu_backsolve(wide, x, 5, device = device), backsolve(wide, x, 5))
    expect_as_base(gpu_backsolve(tall, x, device = device), backsolve(tall, x))
    expect_as_base(gpu_backsolve(2L, 6L, device = device), backsolve(2L, 6L))
    expect_as_base(gpu_backsolve(r, x[, 0], device = device), backsolve(r, x[, 0]))
  })
})

test_that("the other triangle and further rows are not read", {
  r <- matrix(c(2, NaN, 1, 4), 2)
  for_each_setting(function(device, precision) {
    expect_identical(gpu_backsolve(r, c(4, 8), device = device, precision = precision), c(1, 2))
    expect_identical(
      gpu_forwardsolve(t(r), c(4, 9), device = device, precision = precision), c(2, 1.75)
    )
    expect_identical(gpu_backsolve(r, c(4, NaN), 1, device = device, precision = precision), 2)
  })
})

test_that("a zero on the diagonal is an error with its place", {
  for_each_device(function(device) {
    r <- diag(c(1, 2, 0, 0))
    e <- expect_as_base(gpu_backsolve(r, 1:4, device = device), backsolve(r, 1:4))
    expect_s3_class(e, "cudafactor_error_singular")
    expect_identical(e$index, 3L)
    expect_as_base(gpu_forwardsolve(r, 1:4, device = device), forwardsolve(r, 1:4))
    expect_as_base(gpu_backsolve(r, 1:4, 2, device = device), backsolve(r, 1:4, 2))
    r[3, 3] <- NA
    expect_identical(
      outcome(gpu_backsolve(r, 1:4, device = device))$error, outcome(backsolve(r, 1:4))$error
    )
  })
})

test_that("what backsolve() refuses is refused in its words", {
  r <- diag(3)
  for (k in list(0, -1, 4, NA, "a", 2.7, 1:2)) {
    expect_as_base(gpu_backsolve(r, 1:3, k), suppressWarnings(backsolve(r, 1:3, k)))
  }
  expect_as_base(gpu_backsolve(r, 1:2), backsolve(r, 1:2))
  expect_as_base(gpu_backsolve(r, 1:3, upper.tri = NA), backsolve(r, 1:3, upper.tri = NA))
  expect_as_base(gpu_backsolve(r, 1:3, transpose = NA), backsolve(r, 1:3, transpose = NA))
  for (kind in names(odd_operands)) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_backsolve(x, 1), backsolve(x, 1), info = kind)
    expect_as_base(gpu_backsolve(matrix(2), x), backsolve(matrix(2), x), info = kind)
  }
  expect_error(gpu_backsolve(r + 0i, 1:3), "base::solve", class = "cudafactor_error_type")
  expect_error(gpu_forwardsolve(r, 1:3 + 0i), "complex", class = "cudafactor_error_type")
})
