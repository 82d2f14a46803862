# Base R's answers on a factorization, ours and its own.
answers <- function(f, y) {
  list(
    coef = qr.coef(f, y), qy = qr.qy(f, y), qty = qr.qty(f, y), fitted = qr.fitted(f, y),
    resid = qr.resid(f, y),
    q = qr.Q(f), complete = qr.Q(f, complete = TRUE), r = qr.R(f), all_r = qr.R(f, complete = TRUE),
    x = qr.X(f), scaled = qr.Q(f, Dvec = seq_len(min(dim(f$qr))))
  )
}

test_that("factors of every shape have small errors", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    for (shape in edge_shapes) {
      x <- random_matrix(shape[1], shape[2])
      f <- gpu_qr(x, device = device, precision = precision)
      expect_true(is.qr(f))
      expect_identical(f$rank, min(shape))
      expect_small(residual_qr(f, x, precision), "qr")
      expect_small(residual_orthogonality(f, precision), "orthogonality")
      f <- gpu_qr(x, LAPACK = TRUE, device = device, precision = precision)
      expect_small(residual_qr(f, x, precision), "qr")
      expect_small(residual_orthogonality(f, precision), "orthogonality")
    }
  })
})

test_that("the default object is base R's, and base R's functions take it", {
  set.seed(2)
  for_each_device(function(device) {
    for (shape in list(c(1L, 1L), c(7L, 4L), c(4L, 4L), c(4L, 7L), c(40L, 12L), c(65L, 33L))) {
      x <- named(random_matrix(shape[1], shape[2]))
      f <- expect_as_base(gpu_qr(x, device = device), qr(x), tolerance = 1e-8)
      y <- cbind(u = rnorm(shape[1]), v = 1)
      expect_equal(answers(f, y), answers(qr(x), y), tolerance = 1e-7)
      expect_equal(answers(f, y[, 1]), answers(qr(x), y[, 1]), tolerance = 1e-7)
    }
    x <- random_matrix(6, 6)
    f <- gpu_qr(x, device = device)
    expect_equal(solve(f, 1:6), solve(qr(x), 1:6))
    expect_equal(qr.solve(f, 1:6), solve(x, 1:6))
    expect_equal(solve(f), solve(x))
    expect_equal(abs(prod(diag(qr.R(f)))), abs(det(x)))
  })
})

test_that("dependent columns move to the end as in base R", {
  x <- cbind(a = 1:5, b = 2 * (1:5), c = c(1, 0, 2, 0, 1))
  for_each_device(function(device) {
    f <- gpu_qr(x, device = device)
    expect_identical(shape_of(f), shape_of(qr(x)))
    expect_equal(f$qr[, 1:2], qr(x)$qr[, 1:2])
    expect_identical(f$rank, 2L)
    expect_identical(f$pivot, c(1L, 3L, 2L))
    expect_identical(colnames(f$qr), c("a", "c", "b"))
    expect_equal(qr.coef(f, 1:5), c(a = 1, b = NA, c = 0))
    expect_error(qr.solve(f, 1:5), "singular matrix 'a' in solve")
    expect_as_base(gpu_qr(matrix(0, 4, 3), device = device), qr(matrix(0, 4, 3)))
    # A column that is zero below its diagonal entry is reflected too, which LAPACK would not do.
    for (y in list(
      diag(3), -diag(3), named(upper.tri(diag(4), TRUE) + 0), rbind(diag(2), 0),
      cbind(c(1, 0, 0), 1:3, c(2, 1, 0))
    )) {
      expect_as_base(gpu_qr(y, device = device), qr(y))
      expect_as_base(gpu_lm_fit(y, seq_len(nrow(y)), device = device), lm.fit(y, seq_len(nrow(y))))
    }
    expect_as_base(gpu_qr(cbind(0, 1:3), device = device), qr(cbind(0, 1:3)))
  })
})

test_that("rank and pivot are base R's on many random matrices", {
  set.seed(3)
  draws <- lapply(1:450, function(i) {
    m <- sample.int(24L, 1L)
    n <- sample.int(16L, 1L)
    if (i %% 3 == 0) deficient_matrix(m, n) else random_matrix(m, n)
  })
  expected <- lapply(draws, qr)
  deficient <- sum(mapply(function(x, f) f$rank < min(dim(x)), draws, expected))
  expect_gt(deficient, 80)
  for_each_device(function(device) {
    found <- lapply(draws, gpu_qr, device = device)
    same <- mapply(function(f, g) {
      identical(f[c("rank", "pivot")], g[c("rank", "pivot")]) && length(f$qraux) == length(g$qraux)
    }, found, expected)
    expect_identical(which(!same), integer())
    kept <- mapply(function(f, g) {
      k <- seq_len(g$rank)
      isTRUE(all.equal(f$qr[, k], g$qr[, k], tolerance = 1e-6)) && isTRUE(
        all.equal(f$qraux[k], g$qraux[k], tolerance = 1e-6)
      )
    }, found, expected)
    expect_identical(which(!kept), integer())
  })
})

# Of up to 20 rows and columns: random, integers, or with columns that are zero, repeat or depend on
# others, some only nearly.
small_matrix <- function(seed) {
  set.seed(seed)
  m <- sample.int(20L, 1L)
  n <- sample.int(20L, 1L)
  integers <- function() matrix(sample(-3:3, m * n, TRUE) + 0, m, n)
  x <- switch(seed %% 6L + 1L,
    random_matrix(m, n),
    integers(),
    deficient_matrix(m, n),
    deficient_matrix(m, n),
    # Around the tolerance of 1e-7.
    deficient_matrix(m, n) + random_matrix(m, n) * 10^runif(1L, -11, -4),
    integers()[, sample.int(n, n, TRUE), drop = FALSE]
  )
  if (seed %% 5L == 0L) x * rep(10^runif(n, -100, 100), each = m) else x
}

test_that("rank and pivot are base R's on 10,000 small matrices", {
  draws <- lapply(1:10000, small_matrix)
  decision <- function(f) f[c("rank", "pivot")]
  expected <- lapply(draws, function(x) decision(qr(x)))
  expect_gt(sum(mapply(function(x, f) f$rank < min(dim(x)), draws, expected)), 3000)
  # None is at the very edge: base R decides the same with a tolerance of 1e-7 (1 +- 1e-4).
  for_each_device(function(device) {
    same <- mapply(
      function(x, f) identical(decision(gpu_qr(x, device = device)), f), draws, expected
    )
    expect(
      all(same),
      sprintf(
        "%d matrices differ, of seeds %s", sum(!same), toString(utils::head(which(!same), 20L))
      )
    )
  })
})

test_that("larger deficient matrices have base R's rank and pivot", {
  set.seed(4)
  for_each_device(function(device) {
    for (shape in list(c(200L, 90L), c(130L, 130L), c(60L, 140L))) {
      x <- deficient_matrix(shape[1], shape[2])
      f <- gpu_qr(x, device = device)
      base <- qr(x)
      expect_identical(f[c("rank", "pivot")], base[c("rank", "pivot")])
      expect_small(residual_orthogonality(f, "double"), "orthogonality")
      y <- rnorm(shape[1])
      expect_equal(qr.fitted(f, y), qr.fitted(base, y), tolerance = 1e-7)
    }
  })
})

test_that("the tolerance decides as in base R", {
  set.seed(5)
  x <- conditioned_matrix(20, 1e9)
  for_each_device(function(device) {
    for (tol in c(0, 1e-12, 1e-7, 1e-4, 1e-2, 0.5)) {
      expect_identical(
        gpu_qr(x, tol, device = device)[c("rank", "pivot")], qr(x, tol)[c("rank", "pivot")],
        info = tol
      )
    }
  })
})

test_that("the LAPACK form is base R's", {
  set.seed(6)
  for_each_device(function(device) {
    for (shape in list(c(1L, 1L), c(6L, 4L), c(5L, 5L), c(4L, 6L), c(50L, 20L))) {
      x <- named(random_matrix(shape[1], shape[2]) * rep(2^sample.int(shape[2]), each = shape[1]))
      f <- expect_as_base(
        gpu_qr(x, LAPACK = TRUE, device = device), qr(x, LAPACK = TRUE), tolerance = 1e-8
      )
      expect_equal(
        qr.coef(f, rep(1, shape[1])), qr.coef(qr(x, LAPACK = TRUE), rep(1, shape[1])),
        tolerance = 1e-7
      )
      expect_equal(qr.X(f, ncol = ncol(x)), x, tolerance = 1e-10)
      expect_error(qr.fitted(f, rep(1, shape[1])), "not supported for LAPACK QR")
    }
    whole <- matrix(c(3L, 1L, 4L, 1L, 5L, 9L), 3)
    expect_as_base(gpu_qr(whole, LAPACK = TRUE, device = device), qr(whole, LAPACK = TRUE))
    extra <- structure(whole + 0, note = "dropped")
    expect_as_base(gpu_qr(extra, LAPACK = TRUE, device = device), qr(extra, LAPACK = TRUE))
    expect_identical(gpu_qr(matrix(0, 4, 2), LAPACK = TRUE, device = device)$rank, 2L)
    expect_true(anyNA(gpu_qr(matrix(c(1, NA, 2, 3), 2), LAPACK = TRUE, device = device)$qr))
  })
})

test_that("shapes without entries, one entry, and every type are base R's", {
  for_each_device(function(device) {
    for (x in list(
      matrix(0, 0, 0), matrix(0, 0, 3), matrix(0, 3, 0), matrix(-3, 1, 1), matrix(0, 1, 1),
      matrix(1:6, 2)
    )) {
      expect_as_base(gpu_qr(x, device = device), qr(x))
    }
    for (x in list(matrix(0, 2, 0), matrix(-3, 1, 1))) {
      expect_as_base(gpu_qr(x, LAPACK = TRUE, device = device), qr(x, LAPACK = TRUE))
    }
  })
  extra <- structure(diag(2), note = "kept", class = c("reading", "matrix"))
  expect_as_base(gpu_qr(extra), qr.default(extra))
  frame <- data.frame(a = 1:3, b = c(2, 1, 5))
  expect_as_base(gpu_qr(frame), qr.default(frame))
  for (kind in names(odd_operands)) {
    x <- odd_operands[[kind]]
    expect_as_base(gpu_qr(x), qr.default(x), info = kind)
  }
  for (x in list(matrix(0, 0, 0), matrix(0, 0, 2))) {
    expect_error(
      gpu_qr(x, LAPACK = TRUE), "'DGEQP3' gave error code -4", class = "cudafactor_error_dimension"
    )
  }
})

test_that("what is not finite is refused by the default form", {
  for (special in list(NA_real_, NaN, Inf, -Inf)) {
    x <- diag(40)
    x[40, 3] <- special
    e <- expect_as_base(gpu_qr(x), qr(x))
    expect_s3_class(e, "cudafactor_error_non_finite")
    # Large matrices are looked through another way.
    x <- matrix(1, 400, 300)
    x[cbind(c(1, 200, 400), c(300, 1, 150))[sample.int(3, 1), , drop = FALSE]] <- special
    expect_error(gpu_qr(x), class = "cudafactor_error_non_finite")
  }
  # A sum that overflows is no proof.
  x <- matrix(c(1, 1, -1, 1) * .Machine$double.xmax / 4, 2)
  expect_identical(gpu_qr(x)$rank, 2L)
  expect_true(
    cudafactor:::all_finite(
      matrix(.Machine$double.xmax / 2, 400, 300), cudafactor:::how("cpu", "double", quote(f())),
      quote(f())
    )
  )
  expect_error(gpu_qr(diag(2) + 0i), "base::qr", class = "cudafactor_error_type")
  expect_error(gpu_qr(diag(2), tol = "a"), class = "cudafactor_error_argument")
  expect_error(gpu_qr(diag(2), LAPACK = NA), class = "cudafactor_error_argument")
})
