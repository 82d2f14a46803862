# What gpu_eigen(k = ) and gpu_svd(k = ) refuse, and what they say about it.

test_that("what has not converged is a warning with the residual", {
  set.seed(6)
  x <- random_matrix(300, 300)
  # A GPU may find all values of a matrix in memory, without iterations.
  w <- expect_warning(
    s <- gpu_svd(x, k = 3, maxit = 0, device = "cpu"), class = "cudafactor_warning_not_converged"
  )
  expect_identical(w$relative_residual, s$residuals[w$columns])
  expect_true(length(w$columns) > 0)
  x <- x + t(x)
  expect_warning(
    gpu_eigen(x, k = 3, maxit = 0, device = "cpu"), class = "cudafactor_warning_not_converged"
  )
  # The numbers of the message: a residual above its limit, in one unit.
  set.seed(5)
  values <- 10^-(0:299 / 10)
  w <- expect_warning(
    e <- gpu_eigen(with_spectrum(values), k = 20, which = "SA", maxit = 3, device = "cpu"),
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
      eval(call), "a Cholesky factor. Give the matrix that was factored",
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
    "isSymmetric.* symmetric = TRUE, which reads the lower.* gpu_svd.*gpu_eigen\\(x, symmetric = F")
  for (y in list(x, f)) {
    n <- if (is.function(y)) 5
    expect_match(said(gpu_eigen(y, symmetric = FALSE, k = 1, n = n)),
      "^'symmetric' must not be FALSE if 'k' is given. gpu_svd")
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
