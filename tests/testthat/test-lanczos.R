# gpu_eigen() and gpu_svd() with `k`, against all values.

with_spectrum <- function(values) {
  q <- qr.Q(qr(random_matrix(length(values), length(values))))
  x <- q %*% (values * t(q))
  (x + t(x)) / 2
}

# Values, residuals, orthogonality and signs. `multiply` is the matrix as a function.
expect_few_eigen <- function(e, multiply, values, tol = 1e-9) {
  size <- max(abs(values))
  expect_s3_class(e, "eigen")
  expect_lte(max(abs(e$values - values)), tol * size)
  v <- e$vectors
  expect_identical(dim(v)[[2L]], length(values))
  away <- sqrt(colSums((multiply(v) - sweep(v, 2, e$values, "*"))^2))
  expect_lte(max(away), tol * size)
  expect_lte(max(abs(e$residuals - away / size)), tol)
  expect_lte(max(abs(crossprod(v) - diag(ncol(v)))), 1e-12)
  # The first of components that agree to half of their digits.
  lead <- function(x) x[[which(abs(x) >= max(abs(x)) * (1 - 1.5e-8))[[1L]]]]
  expect_true(all(apply(v, 2, lead) > 0))
}

expect_few_svd <- function(s, x, k, tol = 1e-9) {
  d <- svd(x, 0, 0)$d[seq_len(k)]
  expect_lte(max(abs(s$d - d)), tol * d[[1L]])
  away <- max(abs(x %*% s$v - sweep(s$u, 2, s$d, "*")), abs(t(x) %*% s$u - sweep(s$v, 2, s$d, "*")))
  expect_lte(away, tol * d[[1L]])
  expect_lte(max(abs(crossprod(s$u) - diag(k)), abs(crossprod(s$v) - diag(k))), 1e-12)
}

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

test_that("what has not converged is a warning with the residual", {
  set.seed(6)
  x <- random_matrix(300, 300)
  w <- expect_warning(s <- gpu_svd(x, k = 3, maxit = 0), class = "cudafactor_warning_not_converged")
  expect_identical(w$relative_residual, s$residuals[w$columns])
  expect_true(length(w$columns) > 0)
  x <- x + t(x)
  expect_warning(gpu_eigen(x, k = 3, maxit = 0), class = "cudafactor_warning_not_converged")
  # The numbers of the message: a residual above its limit, in one unit.
  set.seed(5)
  values <- 10^-(0:299 / 10)
  w <- expect_warning(
    e <- gpu_eigen(with_spectrum(values), k = 20, which = "SA", maxit = 3),
    class = "cudafactor_warning_not_converged"
  )
  expect_true(all(w$relative_residual > w$limit))
  worst <- w$columns[[which.max(w$relative_residual / w$limit)]]
  expect_match(conditionMessage(w), fixed = TRUE, sprintf(
    "of number %d is %.1e times the largest |value|, above its limit %.1e; use a larger 'maxit'",
    worst, e$residuals[[worst]], w$limit[[match(worst, w$columns)]]
  ))
})

test_that("a matrix and its transpose take as many products", {
  skip_if_not_installed("Matrix")
  set.seed(8)
  b <- Matrix::rsparsematrix(30, 900, 0.1)
  x <- as.matrix(b)
  files <- tempfile(fileext = rep(".tiles", 2))
  on.exit(unlink(files))
  widths <- integer()
  times <- function(a) {
    force(a)
    function(v) {
      widths <<- c(widths, ncol(v))
      a %*% v
    }
  }
  wide <- list(gpu_svd(x, k = 2), gpu_svd(b, k = 2),
    gpu_svd(tile_matrix(x, files[[1L]]), k = 2),
    gpu_svd(times(x), k = 2, Atrans = times(t(x)), dim = dim(x)))
  tall <- list(gpu_svd(t(x), k = 2), gpu_svd(Matrix::t(b), k = 2),
    gpu_svd(tile_matrix(t(x), files[[2L]]), k = 2),
    gpu_svd(times(t(x)), k = 2, Atrans = times(x), dim = rev(dim(x))))
  for (i in seq_along(wide)) {
    expect_few_svd(wide[[i]], x, 2)
    expect_few_svd(tall[[i]], t(x), 2)
    expect_identical(wide[[i]]$products, 1 + 30 + 2 * 2)
    expect_identical(tall[[i]]$products, wide[[i]]$products)
  }
  expect_identical(sum(widths), as.integer(2 * wide[[4L]]$products))
})

test_that("what is not symmetric is an error, early", {
  set.seed(9)
  x <- random_matrix(300, 300)
  calls <- 0
  times <- function(v) {
    calls <<- calls + 1
    x[seq_len(nrow(v)), seq_len(nrow(v))] %*% v
  }
  for (n in c(300, 50)) {
    calls <- 0
    e <- expect_error(gpu_eigen(times, k = 2, n = n), class = "cudafactor_error_not_symmetric")
    expect_gt(e$asymmetry, 0.1)
    expect_lte(calls, 2)
    expect_match(conditionMessage(e), "gpu_svd(x, k = , Atrans = , dim = )", fixed = TRUE)
  }
  files <- tempfile(fileext = rep(".tiles", 4))
  on.exit(unlink(files))
  whole <- tile_matrix(x, files[[1L]], tile = 64)
  expect_error(
    gpu_eigen(whole, symmetric = TRUE, k = 2), "gpu_eigen(as.matrix(x)", fixed = TRUE,
    class = "cudafactor_error_not_symmetric"
  )
  # Of a file with both triangles, both count.
  z <- crossprod(x)
  z[1:2, 3] <- z[1:2, 3] * (1 + 1e-14)
  found <- gpu_eigen(tile_matrix(z, files[[2L]], tile = 64), symmetric = TRUE, k = 2)
  expect_few_eigen(found, function(v) z %*% v, eigen(z)$values[1:2])
  # A factor is no symmetric matrix, but has singular values.
  r <- chol_file(tile_matrix(z, files[[3L]], triangle = TRUE, tile = 64), files[[4L]])
  for (call in list(quote(gpu_eigen(r, k = 2)), quote(gpu_eigen(r, TRUE, k = 2)))) {
    expect_error(
      eval(call), "a Cholesky factor: give the matrix that was factored",
      class = "cudafactor_error_not_symmetric"
    )
  }
  expect_few_svd(gpu_svd(r, k = 2), as.matrix(r), 2)
})

test_that("a wrong transpose is an error, early", {
  set.seed(10)
  x <- random_matrix(300, 200)
  f <- function(v) x[, seq_len(nrow(v))] %*% v
  for (p in c(200, 50)) {
    wrong <- list(function(u) -crossprod(x[, 1:p], u), function(u) (t(x)[1:p, ] + 1) %*% u)
    for (g in wrong) {
      e <- expect_error(
        gpu_svd(f, k = 2, Atrans = g, dim = c(300, p)), "^'Atrans' must multiply by the transpose",
        class = "cudafactor_error_argument"
      )
      expect_identical(e$argument, "Atrans")
      expect_gt(e$difference, 0.01)
    }
  }
})

test_that("the tolerance is not below the rounding of products", {
  set.seed(11)
  x <- with_spectrum(c(9, 8, 7, seq(-5, 5, length.out = 247)))
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  single <- tile_matrix(x, file, precision = "single", triangle = TRUE)
  limit <- 2 * 4 * sqrt(250) * 2^-23
  for (form in list(single, as_gpu(x, device = "cpu", precision = "single"))) {
    e <- expect_silent(gpu_eigen(form, k = 3))
    expect_lte(max(e$residuals), limit)
    expect_lte(max(abs(e$values - 9:7)), 9 * limit)
    expect_lt(e$iterations, 50)
    s <- expect_silent(gpu_svd(form, k = 3))
    expect_lte(max(s$residuals), limit)
  }
  # The errors of a function are not known: the iteration ends when residuals do not fall.
  rough <- function(v) {
    y <- x %*% v
    y * (1 + 1e-8 * sin(1e5 * y))
  }
  w <- expect_warning(
    e <- gpu_eigen(rough, k = 3, n = 250), "residuals do not fall further",
    class = "cudafactor_warning_not_converged"
  )
  expect_lt(e$iterations, 400)
  expect_lte(max(abs(e$values - 9:7)), 1e-6)
})

test_that("messages say what was found and what to do", {
  x <- diag(5)
  f <- function(v) v
  said <- function(expr) conditionMessage(expect_error(expr, class = "cudafactor_error"))
  expect_identical(said(gpu_eigen(x, k = "3")), "'k' must be one number, not \"3\"")
  expect_identical(said(gpu_svd(x, k = 1:2)), "'k' must be one number, not 1:2")
  expect_identical(said(gpu_eigen(x, k = 2, tol = NA)), "'tol' must be one number, not NA")
  for (call in list(quote(gpu_eigen(x, k = 2, maxit = NULL)),
    quote(gpu_svd(x, k = 2, maxit = NULL)))) {
    expect_identical(said(eval(call)), "'maxit' must be one number, not NULL")
  }
  expect_identical(
    said(gpu_eigen(x, k = 3 + 1e-10)), "'k' must be a whole number from 1 to 5, not 3.0000000001"
  )
  expect_identical(
    said(gpu_svd(x, nu = 2.7, k = 3)), "'nu' must be a whole number from 0 to 'k' = 3, not 2.7"
  )
  expect_match(said(gpu_svd(f, k = 1, Atrans = f, dim = c(2000, NA))),
    "'dim' must be two whole numbers from 1 to .*, not c\\(2000, NA\\)")
  expect_match(said(gpu_eigen(f)), "unless 'k' is given: gpu_eigen(x, k = , n = )", fixed = TRUE)
  expect_match(said(gpu_svd(f)), "unless 'k' is given: gpu_svd(x, k = , Atrans", fixed = TRUE)
  expect_match(said(gpu_eigen(f, n = 9)), "'n' can only be used with 'k'.*: give 'k' too")
  expect_match(said(gpu_eigen(function(v) array("a", dim(v)), k = 1, n = 9)),
    "must return numbers, not of type \"character\"")
  expect_match(said(gpu_svd(f, k = 1, dim = c(5, 5))), "^'Atrans' must be a function if 'x' is one")
  expect_match(said(gpu_svd(x, k = 1, Atrans = f)), "^'Atrans' can only be used if 'x' is a funct")
  expect_match(said(gpu_eigen(matrix(1:4, 2), k = 1)),
    "isSymmetric.* symmetric = TRUE uses the lower triangle: gpu_svd.*gpu_eigen\\(x, symmetric = F")
  for (y in list(x, f)) {
    n <- if (is.function(y)) 5
    expect_match(said(gpu_eigen(y, symmetric = FALSE, k = 1, n = n)),
      "^'symmetric' must not be FALSE if 'k' is given: gpu_svd")
  }
  raw <- tempfile()
  on.exit(unlink(raw))
  writeBin(as.double(x), raw)
  expect_match(said(gpu_eigen(matrix_file(raw, dim = 5), k = 1)),
    "not of class \"matrix_file\": tile_matrix(x, file) writes it", fixed = TRUE)
  freed <- as_gpu(x, device = "cpu")
  gpu_free(freed)
  e <- expect_error(gpu_eigen(freed, k = 1), class = "cudafactor_error_stale")
  expect_identical(e$call[[1L]], as.name("gpu_eigen"))
})

test_that("a product that is not finite is an error, whichever it is", {
  for (n in c(50, 400)) {
    # The number of calls, and a function of which one call answers NaN.
    calls <- 0
    counted <- function(v) {
      calls <<- calls + 1
      seq_len(n) * v
    }
    failing <- function(at) {
      i <- 0
      function(v) {
        i <<- i + 1
        if (i == at) v * NaN else seq_len(n) * v
      }
    }
    right <- function(v) seq_len(n) * v
    gpu_eigen(counted, k = 3, n = n)
    expect_error(gpu_eigen(failing(calls), k = 3, n = n), class = "cudafactor_error_non_finite")
    for (side in c("x", "Atrans")) {
      calls <- 0
      decompose <- function(f) {
        both <- list(x = right, Atrans = right)
        both[[side]] <- f
        gpu_svd(both$x, Atrans = both$Atrans, dim = c(n, n), k = 3)
      }
      decompose(counted)
      expect_error(decompose(failing(calls)), class = "cudafactor_error_non_finite")
    }
  }
})

test_that("a tighter tolerance does not spoil singular values", {
  n <- 1000
  d <- 2 - 2 * cos(pi * seq_len(n) / (n + 1))
  f <- function(v) d * v
  found <- gpu_svd(f, Atrans = f, dim = c(n, n), k = 3, tol = 1e-13)
  expect_lt(max(found$residuals), 2e-13)
  expect_lt(max(abs(crossprod(found$u) - diag(3))), 1e-12)
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
