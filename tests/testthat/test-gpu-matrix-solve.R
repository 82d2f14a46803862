# Cholesky, LU, triangular and other systems of matrices on a device.

system_of <- function(n) {
  a <- named(conditioned_matrix(n, 10))
  list(a = a, s = named(definite_matrix(n)), b = named(random_matrix(n, 3)))
}

test_that("answers stay on the device and are base R's", {
  set.seed(3)
  p <- system_of(6)
  a <- p$a
  s <- p$s
  b <- p$b
  for_each_setting(function(device, precision) {
    gpu <- function(x) as_gpu(x, device, precision)
    g <- gpu(a)
    there <- function(ours, base) expect_resident(ours, base, g, tolerance_for(precision))
    home <- function(ours, base) expect_as_base(ours, base, tolerance_for(precision))
    for (f in list(chol, gpu_chol)) there(f(gpu(s)), chol(s))
    for (f in list(chol2inv, gpu_chol2inv)) {
      there(f(gpu(chol(s))), base::chol2inv(chol(s)))
      there(f(gpu(chol(s)), size = 4), base::chol2inv(chol(s), size = 4))
    }
    for (f in list(solve, gpu_solve)) {
      there(f(g), solve(a))
      there(f(g, b), solve(a, b))
      there(f(g, gpu(b)), solve(a, b))
      there(f(a, gpu(b)), solve(a, b))
      home(f(g, 1:6), solve(a, 1:6))
    }
    for (f in list(backsolve, gpu_backsolve)) {
      there(f(g, b), base::backsolve(a, b))
      there(f(a, gpu(b)), base::backsolve(a, b))
      there(f(g, gpu(b), 4, transpose = TRUE), base::backsolve(a, b, 4, transpose = TRUE))
      home(f(g, 1:6), base::backsolve(a, 1:6))
      home(f(g, 1:6, upper.tri = FALSE), base::backsolve(a, 1:6, upper.tri = FALSE))
    }
    for (f in list(forwardsolve, gpu_forwardsolve)) {
      there(f(g, b), base::forwardsolve(a, b))
      there(f(a, gpu(b)), base::forwardsolve(a, b))
      home(f(g, 1:6, 1), base::forwardsolve(a, 1:6, 1))
    }
    for (f in list(determinant, gpu_determinant)) {
      home(f(g), determinant(a))
      home(f(g, FALSE), determinant(a, FALSE))
    }
    home(det(g), det(a))
    expect_identical(as.matrix(g), if (precision == "single") as_single(a) else a)
  })
})

test_that("residuals are small at edge sizes, and a chain of verbs stays on the device", {
  set.seed(4)
  for_each_setting(function(device, precision) {
    for (n in edge_sizes) {
      a <- as_single(conditioned_matrix(n, 10))
      s <- as_single(definite_matrix(n, 10))
      b <- as_single(random_matrix(n, 2))
      gpu <- function(x) as_gpu(x, device, precision)
      expect_small(residual_cholesky(as.matrix(chol(gpu(s))), s, precision), "cholesky")
      expect_small(residual_inverse(as.matrix(chol2inv(chol(gpu(s)))), s, precision), "inverse")
      expect_small(residual_solve(as.matrix(solve(gpu(a), gpu(b))), a, b, precision), "solve")
      f <- gpu_lu(gpu(a))
      expect_small(residual_lu(f, a, precision), "lu")
      expect_small(residual_solve(as.matrix(solve(f, b)), a, b, precision), "solve")
      r <- chol(gpu(s))
      z <- backsolve(r, backsolve(r, gpu(b), transpose = TRUE))
      expect_true(is_resident(z))
      expect_small(residual_solve(as.matrix(z), s, b, precision), "solve")
    }
  })
})

test_that("LU factors stay on the device", {
  set.seed(5)
  p <- system_of(5)
  for_each_device(function(device) {
    f <- gpu_lu(as_gpu(p$a, device))
    plain <- gpu_lu(p$a, device = device)
    expect_true(is_resident(f$lu))
    expect_identical(f$perm, plain$perm)
    expect_equal(lu_expand(f), lu_expand(plain))
    expect_resident(solve(f), solve(p$a), f$lu)
    expect_resident(solve(f, p$b), solve(p$a, p$b), f$lu)
    expect_resident(solve(f, as_gpu(p$b, device)), solve(p$a, p$b), f$lu)
    expect_resident(solve(plain, as_gpu(p$b, device)), solve(p$a, p$b), f$lu)
    expect_resident(gpu_solve(f, p$b), solve(p$a, p$b), f$lu)
    expect_as_base(solve(f, 1:5), solve(p$a, 1:5))
    expect_as_base(determinant(f), determinant(p$a))
    expect_as_base(gpu_determinant(f, FALSE), determinant(p$a, FALSE))
    expect_match(capture.output(print(f)), "5 x 5")
    tall <- named(random_matrix(6, 3))
    expect_equal(lu_expand(gpu_lu(as_gpu(tall, device))), lu_expand(gpu_lu(tall)))
    expect_warning(gpu_lu(as_gpu(matrix(0, 2, 2), device)), class = "cudafactor_warning_singular")
  })
})

test_that("what base R refuses is refused in its words", {
  for_each_device(function(device) {
    gpu <- function(x) as_gpu(x, device)
    a <- diag(3)
    same <- function(ours, base, class) {
      e <- expect_as_base(ours, base)
      expect_s3_class(e, paste0("cudafactor_error_", class))
    }
    same(chol(gpu(-a)), chol(-a), "not_positive_definite")
    same(chol(gpu(a[1:2, ])), chol(a[1:2, ]), "dimension")
    same(chol(gpu(matrix(0, 0, 0))), chol(matrix(0, 0, 0)), "dimension")
    same(chol2inv(gpu(a), 4), base::chol2inv(a, 4), "dimension")
    same(chol2inv(gpu(a), 0), base::chol2inv(a, 0), "argument")
    same(chol2inv(gpu(diag(c(1, 0)))), base::chol2inv(diag(c(1, 0))), "singular")
    same(solve(gpu(a), 1:2), solve(a, 1:2), "dimension")
    same(solve(gpu(a[1:2, ])), solve(a[1:2, ]), "dimension")
    same(solve(gpu(a), matrix(0, 3, 0)), solve(a, matrix(0, 3, 0)), "dimension")
    same(solve(gpu(a), gpu(matrix(0, 2, 2))), solve(a, matrix(0, 2, 2)), "dimension")
    same(solve(gpu(diag(c(1, 0)))), solve(diag(c(1, 0))), "singular")
    same(solve(gpu_lu(gpu(diag(c(1, 0))), FALSE)), solve(diag(c(1, 0))), "singular")
    same(backsolve(gpu(a), 1:2), base::backsolve(a, 1:2), "argument")
    same(backsolve(gpu(diag(c(1, 0))), 1:2), base::backsolve(diag(c(1, 0)), 1:2), "singular")
    same(determinant(gpu(a[1:2, ])), determinant(a[1:2, ]), "dimension")
    expect_error(solve(gpu(diag(c(1, 1e-20)))), "computationally singular",
      class = "cudafactor_error_singular")
    expect_error(chol(gpu(a), pivot = TRUE), class = "cudafactor_error_argument")
    expect_as_base(determinant(gpu(matrix(0, 0, 0))), determinant(matrix(0, 0, 0)))
    expect_as_base(determinant(gpu(matrix(0, 2, 2))), determinant(matrix(0, 2, 2)))
  })
})

test_that("only the upper triangle is read, and NaN is not positive", {
  for_each_setting(function(device, precision) {
    s <- definite_matrix(40)
    below <- s
    below[lower.tri(s)] <- NaN
    r <- chol(as_gpu(below, device, precision))
    expect_identical(as.matrix(r), as.matrix(chol(as_gpu(s, device, precision))))
    expect_identical(as.matrix(r)[lower.tri(s)], rep(0, 780))
    s[7, 9] <- NaN
    e <- expect_error(chol(as_gpu(s, device, precision)),
      class = "cudafactor_error_not_positive_definite")
    expect_identical(e$order, 9L)
  })
})

test_that("backsolve() of plain operands is base R's where the package is attached", {
  for (kind in names(odd_operands)) {
    x <- odd_operands[[kind]]
    ours <- outcome(backsolve(x, 1))
    base <- outcome(base::backsolve(x, 1))
    expect_identical(ours[c("error", "value")], base[c("error", "value")], info = kind)
    ours <- outcome(forwardsolve(matrix(2), x))
    base <- outcome(base::forwardsolve(matrix(2), x))
    expect_identical(ours[c("error", "value")], base[c("error", "value")], info = kind)
  }
  r <- matrix(c(2, 0, 1, 4), 2)
  expect_identical(backsolve(r, 1:2, transpose = TRUE), base::backsolve(r, 1:2, transpose = TRUE))
  expect_identical(backsolve(r, 1:2, 1), base::backsolve(r, 1:2, 1))
  expect_identical(forwardsolve(r, 1:2, upper.tri = TRUE),
    base::forwardsolve(r, 1:2, upper.tri = TRUE))
})
