# eigen(), svd(), La.svd(), norm(, "2"), kappa(), princomp() and cmdscale() of a gpu_matrix.

matrices <- function() {
  set.seed(91)
  x <- random_matrix(6, 4)
  list(
    tall = named(x), wide = t(x), square = random_matrix(5, 5), symmetric = crossprod(x),
    rotation = matrix(c(0, 1, -1, 0), 2), one = matrix(-3), zero = matrix(0, 3, 2),
    singular = matrix(1, 3, 3)
  )
}

test_that("eigen() is gpu_eigen()", {
  for_each_device(function(device) {
    for (x in matrices()[c("square", "symmetric", "rotation", "one")]) {
      g <- as_gpu(x, device)
      expect_identical(eigen(g), gpu_eigen(x))
      expect_identical(eigen(g, only.values = TRUE), gpu_eigen(x, only.values = TRUE))
      expect_identical(eigen(g, TRUE), gpu_eigen(x, TRUE))
      expect_identical(eigen(g, FALSE, EISPACK = TRUE), gpu_eigen(x, FALSE))
      expect_identical(shape_of(eigen(g)), shape_of(base::eigen(x)))
      expect_equal(eigen(g)$values, base::eigen(x)$values, tolerance = 1e-10)
    }
    for (x in list(matrix(0, 2, 3), matrix(0, 0, 0), matrix(c(1, NA, 2, 3), 2))) {
      expect_as_base(eigen(as_gpu(x, device)), base::eigen(x))
    }
    expect_as_base(eigen(as_gpu(diag(2), device), NA), base::eigen(diag(2), NA),
      argument = "symmetric")
  })
  g <- as_gpu(matrix(0, 2, 3))
  e <- expect_error(eigen(g), class = "cudafactor_error_dimension")
  expect_identical(conditionCall(e), quote(eigen(g)))
})

test_that("svd() is gpu_svd(), and La.svd() has its vectors in rows", {
  for_each_device(function(device) {
    for (x in matrices()) {
      g <- as_gpu(x, device)
      expect_identical(svd(g), gpu_svd(x))
      for (counts in list(c(0, 0), c(1, 0), c(0, 2), c(9, 9), c(2, 1))) {
        expect_identical(svd(g, counts[1], counts[2]), gpu_svd(x, counts[1], counts[2]))
        expect_identical(svd(g, nv = counts[1]), gpu_svd(x, nv = counts[1]))
        ours <- La.svd(g, counts[1], counts[2])
        base <- base::La.svd(x, counts[1], counts[2])
        expect_identical(shape_of(ours), shape_of(base))
        expect_equal(ours$d, base$d, tolerance = 1e-10)
        expect_identical(ours$vt, if (counts[2] > 0) t(gpu_svd(x, 0, counts[2])$v))
      }
      s <- La.svd(g)
      expect_equal(s$u %*% (s$d * s$vt), unname(x), tolerance = 1e-10)
    }
    for (x in list(matrix(0, 0, 2), matrix(c(1, NA, 2, 3), 2))) {
      expect_as_base(svd(as_gpu(x, device)), base::svd(x))
      expect_as_base(La.svd(as_gpu(x, device)), base::La.svd(x))
    }
    g <- as_gpu(diag(2), device)
    expect_as_base(svd(g, LINPACK = TRUE), base::svd(diag(2), LINPACK = TRUE))
    expect_as_base(svd(g, nu = -1), base::svd(diag(2), nu = -1), argument = "nu")
    expect_as_base(La.svd(g, nv = NA), base::La.svd(diag(2), nv = NA), argument = "nv")
    expect_error(svd(g, tol = 1), "unused argument", class = "cudafactor_error_argument")
  })
  g <- as_gpu(matrix(NaN))
  e <- expect_error(svd(g, nu = 0), class = "cudafactor_error_non_finite")
  expect_identical(conditionCall(e), quote(svd(g, nu = 0)))
})

test_that("the 2-norm is the largest singular value", {
  for_each_device(function(device) {
    for (x in matrices()) {
      expect_identical(norm(as_gpu(x, device), "2"), gpu_svd(x, 0, 0)$d[[1]])
      expect_equal(norm(as_gpu(x, device), "2"), base::norm(x, "2"), tolerance = 1e-12)
    }
    expect_identical(norm(as_gpu(matrix(c(1, NA), 1), device), "2"), NA_real_)
    expect_as_base(norm(as_gpu(matrix(0, 0, 2), device), "2"), base::norm(matrix(0, 0, 2), "2"))
    expect_as_base(norm(as_gpu(matrix(Inf), device), "2"), base::norm(matrix(Inf), "2"))
  })
})

test_that("kappa() is base R's", {
  calls <- expression(
    kappa(z), kappa(z, exact = TRUE), kappa(z, TRUE), kappa(z, norm = "2"), kappa(z, norm = "1"),
    kappa(z, norm = "I"), kappa(z, TRUE, "2"), kappa(z, exact = TRUE, norm = "1"),
    kappa(z, method = "direct"), kappa(z, LINPACK = FALSE), kappa(z, norm = "X"),
    kappa(z, method = "X"), kappa(z, exact = NA)
  )
  data <- matrices()
  # Rounding decides the condition of a singular matrix.
  data$singular <- NULL
  data$graded <- diag(10^(0:5))
  data$nothing <- matrix(0, 0, 0)
  data$missing <- matrix(c(1, NA, 2, 3), 2)
  for_each_device(function(device) {
    for (name in names(data)) {
      for (call in as.list(calls)) {
        info <- paste(name, deparse(call))
        base <- outcome(eval(call, list(z = data[[name]])))
        ours <- outcome(eval(call, list(z = as_gpu(data[[name]], device))))
        expect_identical(ours$error, base$error, info = info)
        expect_identical(ours$warnings, base$warnings, info = info)
        expect_equal(ours$value, base$value, tolerance = 1e-7, info = info)
      }
    }
    single <- as_gpu(crossprod(data$tall), device, "single")
    expect_identical(kappa(single), kappa(as.matrix(single)))
  })
  g <- as_gpu(diag(c(1, 4)) + 1)
  from_inverse <- suppressWarnings(kappa(g, exact = TRUE, norm = "1", inv_z = solve(g)))
  expect_equal(from_inverse, suppressWarnings(kappa(as.matrix(g), exact = TRUE, norm = "1")))
  g <- as_gpu(matrix(NaN))
  e <- expect_error(kappa(g, exact = TRUE), class = "cudafactor_error_non_finite")
  expect_identical(conditionCall(e), quote(kappa(g, exact = TRUE)))
})

test_that("methods of this package compute, whatever device is the default", {
  old <- options(cudafactor.device = "cpu")
  on.exit(options(old))
  g <- as_gpu(crossprod(matrices()$tall))
  calls <- expression(
    eigen(g), svd(g), La.svd(g), norm(g, "2"), kappa(g, exact = TRUE), prcomp(g), gpu_prcomp(g),
    gpu_eigen(g), gpu_svd(g), gpu_norm(g, "2"), as.matrix(gpu_ginv(g))
  )
  wanted <- lapply(calls, eval, list(g = g))
  options(cudafactor.device = "cuda")
  expect_identical(lapply(calls, eval, list(g = g)), wanted)
})

test_that("lost values are an error", {
  lost <- as_gpu(diag(2))
  lost@pointer <- methods::new("externalptr")
  for (f in list(eigen, svd, La.svd, kappa, prcomp, gpu_ginv)) {
    expect_error(f(lost), class = "cudafactor_error_stale")
  }
})

test_that("princomp() and cmdscale() copy the matrix and give base R's answer", {
  x <- as.matrix(USArrests)
  s <- cov(x)
  d <- as.matrix(dist(x[1:9, ]))
  parts <- function(f) f[setdiff(names(f), "call")]
  for_each_device(function(device) {
    expect_identical(parts(princomp(as_gpu(x, device))), parts(princomp(x)))
    expect_identical(parts(princomp(as_gpu(x, device), cor = TRUE)), parts(princomp(x, cor = TRUE)))
    expect_equal(
      parts(princomp(covmat = as_gpu(s, device), cor = TRUE)),
      parts(princomp(covmat = s, cor = TRUE))
    )
    expect_identical(cmdscale(as_gpu(d, device), 3, eig = TRUE), cmdscale(d, 3, eig = TRUE))
    # The example of the help page.
    squares <- as_gpu(d, device)^2
    z <- squares - rowMeans(squares)
    e <- eigen((colMeans(z) - t(z)) / 2, symmetric = TRUE)
    points <- e$vectors[, 1:2] %*% diag(sqrt(e$values[1:2]))
    expect_equal(abs(points), abs(unname(cmdscale(d))), tolerance = 1e-9)
  })
})

test_that("base R's own functions copy the matrix", {
  x <- matrices()$square
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_identical(base::eigen(g), base::eigen(x))
    expect_identical(base::svd(g), base::svd(x))
    expect_identical(base::La.svd(g), base::La.svd(x))
  })
})

test_that("the generics leave other data to base R", {
  x <- matrices()$square
  expect_identical(eigen(x), base::eigen(x))
  expect_identical(eigen(crossprod(x), TRUE, TRUE), base::eigen(crossprod(x), TRUE, TRUE))
  expect_identical(svd(x, 1, nv = 0), base::svd(x, 1, nv = 0))
  expect_identical(La.svd(x, nv = 2), base::La.svd(x, nv = 2))
  expect_identical(svd(x + 1i), base::svd(x + 1i))
  expect_identical(svd(as.data.frame(x)), base::svd(as.data.frame(x)))
  expect_identical(eigen(as.data.frame(x)), base::eigen(as.data.frame(x)))
  e <- tryCatch(eigen(x[1:2, ]), error = identity)
  expect_identical(conditionCall(e), quote(eigen(x[1:2, ])))
})
