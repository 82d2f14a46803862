# gpu_eigen() and gpu_svd() with `k`, against all values.

test_that("a few eigenvalues are those of eigen()", {
  for_each_device(function(device) {
    set.seed(1)
    x <- with_spectrum(c(-9, 8, 7.5, -7, seq(-5, 5, length.out = 196)))
    all <- eigen(x)$values
    by_size <- all[order(-abs(all))]
    for (k in c(1, 4, 10)) {
      e <- gpu_eigen(x, k = k, device = device)
      expect_few_eigen(e, function(v) x %*% v, sort(by_size[seq_len(k)], decreasing = TRUE))
      e <- gpu_eigen(x, k = k, which = "LA", device = device)
      expect_few_eigen(e, function(v) x %*% v, head(all, k))
      e <- gpu_eigen(x, k = k, which = "SA", device = device)
      expect_few_eigen(e, function(v) x %*% v, tail(all, k))
    }
    e <- gpu_eigen(x, k = 200, which = "LA", device = device)
    expect_few_eigen(e, function(v) x %*% v, all)
    expect_identical(gpu_eigen(x, k = 3, device = device), gpu_eigen(x, k = 3, device = device))
    values <- gpu_eigen(x, k = 3, only.values = TRUE, device = device)
    expect_null(values$vectors)
    expect_identical(values$values, gpu_eigen(x, k = 3, device = device)$values)
  })
})

test_that("a few singular values are those of svd()", {
  for_each_device(function(device) {
    set.seed(2)
    for (dim in list(c(400, 180), c(180, 400), c(170, 170), c(20, 9), c(1, 5), c(5, 1))) {
      x <- random_matrix(dim[[1L]], dim[[2L]])
      for (k in unique(c(1, min(6, dim), min(dim)))) {
        expect_few_svd(gpu_svd(x, k = k, device = device), x, k)
      }
    }
    s <- gpu_svd(x <- random_matrix(200, 150), nu = 2, nv = 0, k = 4, device = device)
    expect_identical(dim(s$u), c(200L, 2L))
    expect_null(s$v)
    expect_identical(length(s$d), 4L)
  })
})

test_that("copies, deficient rank, zeros and any scale", {
  set.seed(3)
  for (copies in c(3, 9)) {
    x <- diag(rep(c(5, 1), c(copies, 200 - copies)))
    expect_equal(gpu_eigen(x, k = 3)$values, c(5, 5, 5))
    expect_equal(gpu_eigen(x, k = copies + 1)$values, rep(c(5, 1), c(copies, 1)))
    expect_equal(gpu_svd(x, k = copies + 1)$d, rep(c(5, 1), c(copies, 1)))
  }
  expect_equal(gpu_eigen(diag(150), k = 5)$values, rep(1, 5))
  zero <- gpu_svd(matrix(0, 200, 160), k = 3)
  expect_identical(zero$d, c(0, 0, 0))
  expect_equal(crossprod(zero$u), diag(3))
  low <- random_matrix(200, 2) %*% random_matrix(2, 150)
  expect_few_svd(gpu_svd(low, k = 5), low, 5)
  x <- with_spectrum(seq(-3, 4, length.out = 150)^3)
  for (unit in c(1e-200, 1e-100, 1e100, 1e160)) {
    expect_equal(gpu_eigen(x * unit, k = 4)$values / unit, gpu_eigen(x, k = 4)$values)
    expect_equal(gpu_svd(x * unit, k = 4)$d / unit, gpu_svd(x, k = 4)$d)
  }
})

test_that("all values are computed where an iteration would take longer", {
  for_each_device(function(device) {
    set.seed(12)
    p <- matrix(stats::runif(800), 400)
    x <- exp(-as.matrix(stats::dist(p))^2 / 0.1)
    rounding <- 400 * .Machine$double.eps * 400
    for (form in list(x, as_gpu(x, device))) {
      e <- expect_no_warning(gpu_eigen(form, k = 3, which = "SA", device = device))
      expect_true(max(abs(e$values)) < rounding)
      expect_true(max(abs(x %*% e$vectors)) < rounding)
    }
    y <- with_spectrum(1 - 1e-3 * (seq_len(400) / 400)^2)
    if (device == "cpu") {
      limited <- suppressWarnings(gpu_svd(y, k = 3, tol = 0, maxit = 2, device = device))
      expect_identical(limited$iterations, 2)
    }
    s <- expect_no_warning(gpu_svd(y, k = 3, tol = 0, device = device))
    expect_few_svd(s, y, 3)
    # The caller's limit comes first.
    if (device == "cpu") {
      expect_warning(
        gpu_eigen(x, k = 3, which = "SA", maxit = 2, device = device),
        class = "cudafactor_warning_not_converged"
      )
    }
  })
})

test_that("matrices on a device, sparse ones and functions are the same", {
  skip_if_not_installed("Matrix")
  set.seed(4)
  a <- poisson(14, 17)
  x <- as.matrix(a)
  all <- eigen(x)$values
  forms <- list(a, methods::as(a, "generalMatrix"), x, as_gpu(x, device = "cpu"))
  if (requireNamespace("slam", quietly = TRUE)) {
    forms <- c(forms, list(slam::as.simple_triplet_matrix(x)))
  }
  for (form in forms) {
    expect_few_eigen(gpu_eigen(form, k = 5), function(v) x %*% v, head(all, 5))
    expect_few_eigen(gpu_eigen(form, k = 5, which = "SA"), function(v) x %*% v, tail(all, 5))
    expect_few_svd(gpu_svd(form, k = 5), x, 5)
  }
  f <- function(v) a %*% v
  expect_few_eigen(gpu_eigen(f, k = 5, n = 238), function(v) x %*% v, head(all, 5))
  expect_few_svd(gpu_svd(f, k = 5, Atrans = f, dim = c(238, 238)), x, 5)

  b <- Matrix::rsparsematrix(300, 170, 0.05)
  y <- as.matrix(b)
  expect_few_svd(gpu_svd(b, k = 6), y, 6)
  expect_few_svd(gpu_svd(Matrix::t(b), k = 6), t(y), 6)
  back <- function(u) Matrix::crossprod(b, u)
  s <- gpu_svd(function(v) b %*% v, k = 6, Atrans = back, dim = dim(b))
  expect_few_svd(s, y, 6)
  expect_few_svd(gpu_svd(as_gpu(y, device = "cpu"), k = 6), y, 6)
  # Of a symmetric matrix the lower triangle counts.
  z <- x
  z[upper.tri(z)] <- 7
  for (form in list(z, as_gpu(z, device = "cpu"), methods::as(z, "CsparseMatrix"))) {
    expect_equal(gpu_eigen(form, symmetric = TRUE, k = 3)$values, gpu_eigen(x, k = 3)$values)
  }
})

test_that("matrices on disk", {
  set.seed(5)
  files <- tempfile(fileext = rep(".tiles", 3))
  on.exit(unlink(files))
  x <- with_spectrum(c(9, 8, 7, seq(-5, 5, length.out = 147)))
  half <- tile_matrix(x, files[[1L]], triangle = TRUE, tile = 64)
  expect_few_eigen(gpu_eigen(half, k = 3), function(v) x %*% v, c(9, 8, 7))
  whole <- tile_matrix(x, files[[2L]], tile = 64)
  expect_error(gpu_eigen(whole, k = 3), class = "cudafactor_error_argument")
  expect_few_eigen(gpu_eigen(whole, symmetric = TRUE, k = 3), function(v) x %*% v, c(9, 8, 7))
  y <- random_matrix(170, 150)
  expect_few_svd(gpu_svd(tile_matrix(y, files[[3L]], tile = 64), k = 3), y, 3)
})

test_that("a user's function may fail, and is checked", {
  expect_error(gpu_eigen(function(v) stop("mine"), k = 2, n = 100), "mine")
  expect_error(gpu_eigen(function(v) v[1, ], k = 2, n = 100), class = "cudafactor_error_dimension")
  expect_error(gpu_eigen(function(v) "a", k = 2, n = 100), class = "cudafactor_error_type")
  expect_error(gpu_eigen(function(v) v * NA, k = 2, n = 100), class = "cudafactor_error_non_finite")
  expect_error(gpu_eigen(identity, k = 2), class = "cudafactor_error_argument")
  expect_error(gpu_svd(identity, k = 2, dim = c(5, 5)), class = "cudafactor_error_argument")
  expect_error(
    gpu_svd(identity, k = 2, Atrans = identity, dim = c(100, 90)),
    class = "cudafactor_error_dimension"
  )
})

test_that("what is refused", {
  x <- diag(5)
  for (k in list(0, 6, 1.5, NA, "a", c(1, 2), -1, Inf)) {
    expect_error(gpu_eigen(x, k = k), class = "cudafactor_error_argument")
    expect_error(gpu_svd(x, k = k), class = "cudafactor_error_argument")
  }
  for (call in list(
    quote(gpu_eigen(x, k = 2, which = "SM")), quote(gpu_eigen(x, k = 2, tol = -1)),
    quote(gpu_eigen(x, k = 2, maxit = 0.5)), quote(gpu_eigen(x, k = 2, n = 5)),
    quote(gpu_eigen(x, which = "LA")), quote(gpu_eigen(x, tol = 1e-3)),
    quote(gpu_svd(x, maxit = 3)), quote(gpu_svd(x, k = 2, nu = 3)),
    quote(gpu_svd(x, k = 2, Atrans = t)), quote(gpu_svd(x, k = 2, dim = c(5, 5)))
  )) {
    expect_error(eval(call), class = "cudafactor_error_argument", info = deparse(call))
  }
  expect_error(gpu_eigen(matrix(1:4, 2), k = 1), class = "cudafactor_error_not_symmetric")
  expect_error(gpu_eigen(x, symmetric = FALSE, k = 1), class = "cudafactor_error_not_symmetric")
  expect_error(gpu_eigen(matrix(1:6, 2), k = 1), class = "cudafactor_error_dimension")
  expect_error(gpu_svd(matrix(0, 0, 2), k = 1), class = "cudafactor_error_dimension")
  x[3, 3] <- NaN
  expect_error(gpu_eigen(x, k = 1), class = "cudafactor_error_non_finite")
  expect_error(gpu_svd(x, k = 1), class = "cudafactor_error_non_finite")
  big <- as_gpu(matrix(c(rep(1, 39999), Inf), 200), device = "cpu")
  expect_error(gpu_svd(big, k = 1), class = "cudafactor_error_non_finite")
  expect_error(gpu_svd(x + 1i, k = 1), class = "cudafactor_error_type")
  expect_error(gpu_svd(lazy_covariance(1:9), k = 1), class = "cudafactor_error_type")
})

test_that("RSpectra and irlba find the same", {
  set.seed(7)
  x <- crossprod(random_matrix(400, 250))
  # The package does not need them, so its description does not name them.
  theirs <- function(package, name) {
    skip_if_not(requireNamespace(package, quietly = TRUE), paste(package, "is not installed"))
    getExportedValue(package, name)
  }
  eigs_sym <- theirs("RSpectra", "eigs_sym")
  for (which in c("LM", "LA", "SA")) {
    ours <- gpu_eigen(x, k = 6, which = which)$values
    expect_equal(ours, sort(eigs_sym(x, 6, which)$values, decreasing = TRUE), tolerance = 1e-9)
  }
  d <- gpu_svd(x, k = 6)$d
  expect_equal(d, theirs("RSpectra", "svds")(x, 6)$d, tolerance = 1e-9)
  expect_equal(d, theirs("irlba", "irlba")(x, 6)$d, tolerance = 1e-6)
})
