# Solutions, residuals and matrices near the ends of the range of numbers.

test_that("a solution beyond the range of numbers is an error, never a convergence", {
  tiny <- diag(2) * 1e-300
  for (way in list(
    list(), list(method = "direct"), list(M = "none"), list(M = "jacobi"), list(M = "ic0"),
    list(M = identity)
  )) {
    e <- tryCatch(do.call(pcg, c(list(tiny, c(1e200, 1), device = "cpu"), way)), error = identity)
    expect_s3_class(e, "cudafactor_error_non_finite")
    expect_identical(e$argument, "solution")
    expect_match(conditionMessage(e), "beyond the range")
    # One of several right-hand sides.
    b <- cbind(c(1, 2), c(1e200, 1))
    expect_error(
      do.call(pcg, c(list(tiny, b, device = "cpu"), way)), class = "cudafactor_error_non_finite"
    )
  }
  # The largest numbers that there are, whose norm is none.
  most <- c(1.2e308, 1.4e308, -1.6e308)
  f <- pcg(diag(2^-700, 3), most * 2^-700)
  expect_true(f$converged)
  expect_equal(f$x / 2^1000, most / 2^1000)
})

test_that("numbers of any scale are solved for, or an error says why not", {
  n <- 12L
  a <- diag(4, n)
  a[abs(row(a) - col(a)) == 1L] <- -1
  b <- cos(seq_len(n))
  x <- solve(a, b)
  scales <- c(-300, -160, -150, 0, 150, 160, 300)
  for (s in scales) for (t in scales) for (way in list(
    list(method = "direct"), list(M = "ic0"), list(M = "jacobi"), list(M = "none")
  )) {
    found <- tryCatch(
      do.call(pcg, c(list(a * 10^s, b * 10^t, device = "cpu"), way)),
      cudafactor_error_non_finite = identity
    )
    # In two steps: one factor alone may be out of range.
    wanted <- x * 10^((t - s) / 2) * 10^((t - s) / 2)
    if (!all(is.finite(wanted))) {
      expect_identical(found$argument, "solution")
    } else {
      expect_true(found$converged)
      if (min(abs(wanted)) > 1e-290) expect_lt(max(abs(found$x / wanted - 1)), 1e-6)
    }
  }
})

test_that("numbers out of range are nobody's definiteness", {
  skip_if_not_installed("Matrix")
  set.seed(16)
  a <- poisson(20)
  b <- rnorm(400)
  out_of_range <- function(...) expect_error(
    pcg(...), "too large or too small", class = "cudafactor_error_non_finite"
  )
  out_of_range(a * 1e307, b, M = "jacobi")
  out_of_range(a, b, M = function(r) r * 1e-200)
  out_of_range(a * 1e-320, b, M = "none")
  out_of_range(a * 1e-320, b, M = "jacobi")
})

test_that("a start that is far too large is none", {
  skip_if_not_installed("Matrix")
  a <- poisson(6, 5)
  b <- cbind(rep(1e-200, 30), 1)
  f <- pcg(a, b, x0 = cbind(rep(1, 30), 1e160))
  expect_identical(f$x, pcg(a, b, method = "cg")$x)
  # The first residual shows where one begins.
  expect_identical(f$residuals[1, ], c(1, 1))
  f <- pcg(as.matrix(a), b, x0 = cbind(rep(1, 30), 1e160))
  expect_true(all(f$converged))
  expect_solved(
    pcg(as_gpu(as.matrix(a), "cpu", "single"), rep(1, 30), x0 = rep(1e30, 30)), as.matrix(a),
    rep(1, 30), 1e-4
  )
})
