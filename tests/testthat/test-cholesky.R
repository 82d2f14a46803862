test_that("factors of every size have small errors and zeros below the diagonal", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (n in edge_sizes) {
      x <- definite_matrix(n)
      r <- gpu_chol(x, device = device, precision = precision)
      expect_small(residual_cholesky(r, x, precision), "cholesky")
      expect_true(all(r[lower.tri(r)] == 0) && all(diag(r) > 0))
    }
  })
})

test_that("ill-conditioned and graded matrices are factored", {
  set.seed(2)
  for_each_device(function(device) {
    x <- definite_matrix(60, 1e12)
    expect_small(residual_cholesky(gpu_chol(x, device = device), x, "double"), "cholesky")
    d <- 10^seq(-8, 8, length.out = 50)
    x <- definite_matrix(50) * outer(d, d)
    r <- gpu_chol(x, device = device)
    expect_lt(max(abs(crossprod(r) - x) / outer(d, d)), 1e-13)
  })
})

test_that("attributes are those of chol()", {
  x <- definite_matrix(3)
  both <- named(x)
  rows <- x
  rownames(rows) <- letters[1:3]
  extra <- structure(x, note = "kept", class = c("reading", "matrix"))
  for_each_device(function(device) {
    for (y in list(x, both, rows, extra, x > 0.5 | diag(3) == 1, round(4 * x + diag(3)))) {
      expect_as_base(gpu_chol(y, device = device), chol.default(y))
      expect_as_base(gpu_chol(y, pivot = TRUE, device = device), chol.default(y, pivot = TRUE))
    }
    whole <- matrix(c(4L, 2L, 2L, 3L), 2)
    expect_as_base(gpu_chol(whole, device = device), chol(whole))
    expect_as_base(gpu_chol(as.data.frame(both), device = device), chol(as.data.frame(both)))
    expect_as_base(gpu_chol(4, device = device), chol(4))
    expect_as_base(gpu_chol(c(a = 4), device = device), chol(c(a = 4)))
  })
})

test_that("only the upper triangle is read", {
  set.seed(3)
  for_each_setting(function(device, precision) {
    for (n in c(2L, 33L, 129L)) {
      x <- definite_matrix(n)
      garbage <- x
      garbage[lower.tri(garbage)] <- NaN
      expect_identical(
        gpu_chol(garbage, device = device, precision = precision),
        gpu_chol(x, device = device, precision = precision)
      )
      expect_identical(
        gpu_chol(garbage, TRUE, device = device, precision = precision),
        gpu_chol(x, TRUE, device = device, precision = precision)
      )
    }
  })
})

test_that("the order of the failing minor is base R's", {
  set.seed(4)
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 33L, 128L, 200L)) {
      for (at in unique(c(1L, n %/% 2L, n - 1L, n))) {
        if (at < 1L) next
        x <- definite_matrix(n, 10)
        x[at, at] <- -1
        e <- expect_error(
          gpu_chol(x, device = device, precision = precision),
          class = "cudafactor_error_not_positive_definite"
        )
        expect_identical(e$order, at)
        expect_identical(conditionMessage(e), outcome(chol(x))$error)
      }
    }
    expect_as_base(gpu_chol(matrix(0, 3, 3), device = device), chol(matrix(0, 3, 3)))
    expect_as_base(gpu_chol(matrix(c(1, 2, 2, 1), 2), device = device),
      chol(matrix(c(1, 2, 2, 1), 2)))
  })
})

test_that("a NaN pivot is an error with its order, and an infinite one is none", {
  for_each_setting(function(device, precision) {
    order_of <- function(x) {
      e <- expect_error(gpu_chol(x, device = device, precision = precision),
        class = "cudafactor_error_not_positive_definite")
      e$order
    }
    expect_identical(order_of(matrix(NA_real_, 2, 2)), 1L)
    expect_identical(order_of(matrix(NA, 1, 1)), 1L)
    x <- diag(200)
    x[150, 160] <- NaN
    expect_identical(order_of(x), 160L)
    x <- diag(40)
    x[40, 40] <- NaN
    expect_identical(order_of(x), 40L)
    expect_identical(gpu_chol(diag(c(1, Inf, 1)), device = device, precision = precision),
      diag(c(1, Inf, 1)))
    expect_identical(
      gpu_chol(matrix(c(Inf, 1, 1, 2), 2), device = device, precision = precision)[1, ], c(Inf, 0)
    )
    expect_identical(order_of(matrix(c(1, Inf, Inf, 1), 2)), 2L)
  })
})

test_that("pivoting gives base R's pivot, rank, names and warning", {
  set.seed(5)
  for_each_device(function(device) {
    for (n in c(1L, 2L, 5L, 33L, 70L)) {
      x <- named(crossprod(random_matrix(n + 3L, n)) *
        (10^seq(0, 2, length.out = n) %o% 10^seq(0, 2, length.out = n)))
      r <- expect_as_base(gpu_chol(x, pivot = TRUE, device = device), chol(x, pivot = TRUE))
      p <- attr(r, "pivot")
      expect_small(residual_cholesky(unname(r), x[p, p, drop = FALSE], "double"), "cholesky")
    }
    for (rank in c(1L, 3L, 20L)) {
      x <- crossprod(random_matrix(rank, 40))
      ours <- outcome(gpu_chol(x, pivot = TRUE, device = device))
      base <- outcome(chol(x, pivot = TRUE))
      expect_identical(ours$warnings, base$warnings)
      expect_identical(attributes(ours$value), attributes(base$value))
      lead <- seq_len(rank)
      expect_equal(ours$value[lead, ], base$value[lead, ], tolerance = 1e-6)
      expect_true(all(ours$value[lower.tri(ours$value)] == 0))
    }
    w <- expect_warning(gpu_chol(tcrossprod(1:3), pivot = TRUE, device = device),
      class = "cudafactor_warning_rank_deficient")
    expect_identical(w$rank, 1L)
    expect_identical(conditionCall(w)[[1]], quote(gpu_chol))
    x <- definite_matrix(6, 1e6)
    for (tol in c(0, 1e-4, 1e-2, 10)) {
      ours <- suppressWarnings(gpu_chol(x, TRUE, tol, device = device))
      base <- suppressWarnings(chol(x, pivot = TRUE, tol = tol))
      expect_identical(attributes(ours), attributes(base))
    }
  })
})

test_that("single precision pivots within its own rounding", {
  set.seed(6)
  for_each_device(function(device) {
    x <- definite_matrix(50, 10)
    r <- gpu_chol(x, pivot = TRUE, device = device, precision = "single")
    p <- attr(r, "pivot")
    expect_identical(attr(r, "rank"), 50L)
    expect_identical(sort(p), 1:50)
    attributes(r) <- list(dim = dim(r))
    expect_small(residual_cholesky(r, x[p, p], "single"), "cholesky")
  })
})

test_that("what chol() refuses is refused in its words", {
  expect_as_base(gpu_chol(matrix(1, 2, 3)), chol(matrix(1, 2, 3)))
  expect_as_base(gpu_chol(1:3), chol(1:3))
  expect_as_base(gpu_chol(diag(2) + 0i), chol(diag(2) + 0i))
  expect_as_base(gpu_chol(diag(2), LINPACK = TRUE), chol(diag(2), LINPACK = TRUE))
  for (pivot in list(NA, 2, -1, "a")) {
    expect_as_base(gpu_chol(diag(2), pivot = pivot), suppressWarnings(chol(diag(2), pivot = pivot)))
  }
  expect_as_base(gpu_chol(diag(2), pivot = 1), chol(diag(2), pivot = 1))
  expect_error(gpu_chol(diag(2), devcie = "cuda"), "unused argument (devcie = \"cuda\")",
    fixed = TRUE, class = "cudafactor_error_argument")
  # Text that is no number becomes NA with a warning; base R's answer to NA depends on its LAPACK.
  # An array of three dimensions is a batch here: test-cholesky-batch.R.
  for (kind in setdiff(names(odd_operands), c("text", "text_data", "array"))) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_chol(x), chol.default(x), info = kind)
  }
  expect_warning(
    expect_error(gpu_chol(matrix("a", 1, 1)), class = "cudafactor_error_not_positive_definite"),
    "NAs introduced by coercion", class = "cudafactor_warning_coercion"
  )
})

test_that("chol2inv() is base R's", {
  set.seed(7)
  for_each_setting(function(device, precision) {
    for (n in edge_sizes) {
      x <- definite_matrix(n, 10)
      inverse <- gpu_chol2inv(named(chol(x)), device = device, precision = precision)
      expect_small(residual_inverse(inverse, x, precision), "inverse")
      expect_true(isSymmetric(inverse, tol = 0))
      expect_null(dimnames(inverse))
    }
  })
  for_each_device(function(device) {
    r <- chol(definite_matrix(6))
    garbage <- r
    garbage[lower.tri(garbage)] <- NaN
    expect_as_base(gpu_chol2inv(garbage, device = device), chol2inv(garbage))
    expect_as_base(gpu_chol2inv(r, 4, device = device), chol2inv(r, 4))
    expect_as_base(gpu_chol2inv(r[1:3, ], 3, device = device), chol2inv(r[1:3, ], 3))
    expect_as_base(gpu_chol2inv(rbind(r, 9), device = device), chol2inv(rbind(r, 9)))
    expect_as_base(gpu_chol2inv(diag(2L), device = device), chol2inv(diag(2L)))
    expect_as_base(gpu_chol2inv(4, device = device), chol2inv(4))
    zero <- r
    zero[3, 3] <- 0
    e <- expect_as_base(gpu_chol2inv(zero, device = device), chol2inv(zero))
    expect_identical(e$index, 3L)
  })
  r <- diag(2)
  for (size in list(3, 0, -1, NA, "a", 2.9)) {
    expect_as_base(gpu_chol2inv(r, size), suppressWarnings(chol2inv(r, size)))
  }
  expect_as_base(gpu_chol2inv(r[1, , drop = FALSE]), chol2inv(r[1, , drop = FALSE]))
  expect_as_base(gpu_chol2inv(r, LINPACK = TRUE), chol2inv(r, LINPACK = TRUE))
  expect_error(gpu_chol2inv(r + 0i), "base::chol2inv", class = "cudafactor_error_type")
  for (kind in setdiff(names(odd_operands), "text")) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_chol2inv(x), chol2inv(x), info = kind)
  }
})
