# Semantics of lp_ipm(): the conventions of Rglpk, names, signs of duals, and what is refused.

hours <- matrix(c(3, 2, 1, 4, 1, 3, 2, 2, 2), 3)

test_that("the value is Rglpk's, and duals are rates, minimized and maximized", {
  for_each_device(function(device) {
    plan <- lp_ipm(c(2, 4, 3), hours, rep("<=", 3), c(60, 40, 80), max = TRUE, device = device)
    expect_s3_class(plan, "lp_ipm")
    expect_identical(
      names(plan)[1:5], c("optimum", "solution", "status", "solution_dual", "auxiliary")
    )
    expect_identical(plan$status, 0L)
    expect_equal(plan$optimum, 230 / 3, tolerance = 1e-7)
    expect_equal(plan$solution, c(0, 20 / 3, 50 / 3), tolerance = 1e-6)
    expect_equal(plan$dual, c(5 / 6, 2 / 3, 0), tolerance = 1e-6)
    expect_equal(plan$solution_dual, c(-11 / 6, 0, 0), tolerance = 1e-6)
    expect_equal(
      plan$auxiliary, list(primal = c(60, 40, 160 / 3), dual = plan$dual), tolerance = 1e-6
    )
    expect_equal(plan$slack, c(0, 0, 80 / 3), tolerance = 1e-6)
    least <- lp_ipm(-c(2, 4, 3), hours, rep("<=", 3), c(60, 40, 80), device = device)
    expect_equal(least$optimum, -plan$optimum, tolerance = 1e-7)
    expect_equal(least$dual, -plan$dual, tolerance = 1e-6)
    expect_equal(least$solution_dual, -plan$solution_dual, tolerance = 1e-6)
  })
  # One hour more.
  more <- lp_ipm(c(2, 4, 3), hours, rep("<=", 3), c(61, 40, 80), max = TRUE)
  expect_equal(more$optimum - 230 / 3, 5 / 6, tolerance = 1e-6)
})

test_that("bounds, ranges and directions are read as they are elsewhere", {
  bounds <- list(lower = list(ind = 2L, val = -1), upper = list(ind = c(1L, 2L), val = c(3, 2)))
  up <- lp_ipm(c(1, 1), matrix(c(1, -1), 1), "<=", 10, bounds, max = TRUE, constant = 5)
  expect_equal(up$optimum, 10, tolerance = 1e-7)
  down <- lp_ipm(c(1, 1), matrix(c(1, -1), 1), "<", 10, list(lower = c(0, -1), upper = c(3, 2)))
  expect_equal(down$solution, c(0, -1), tolerance = 1e-6)
  free <- lp_ipm(1, matrix(1), ">", -4, list(lower = -Inf))
  expect_equal(free$solution, -4, tolerance = 1e-6)
  for (huge in c(1e20, 1e30, Inf)) {
    far <- lp_ipm(
      1, matrix(1), ">=", -4,
      list(lower = list(ind = 1, val = -huge), upper = list(ind = 1, val = huge))
    )
    expect_equal(far$optimum, -4, tolerance = 1e-6)
  }
  ranged <- function(c, dir, range) lp_ipm(
    c, matrix(1), dir, 4, list(lower = -Inf), range = range
  )$optimum
  expect_equal(ranged(1, "<=", 2), 2, tolerance = 1e-6)
  expect_equal(ranged(-1, "<=", 2), -4, tolerance = 1e-6)
  expect_equal(ranged(1, ">=", NA), 4, tolerance = 1e-6)
  expect_equal(ranged(-1, ">=", -2), -6, tolerance = 1e-6)
  expect_equal(ranged(-1, "==", 1), -5, tolerance = 1e-6)
  expect_equal(ranged(1, "=", -1), 3, tolerance = 1e-6)
})

test_that("names are those of the matrix", {
  a <- matrix(c(1, 2, 3, 1), 2, dimnames = list(c("r", "s"), c("x", "y")))
  r <- lp_ipm(c(1, 1), a, c(">=", ">="), c(2, 3))
  expect_named(r$solution, c("x", "y"))
  expect_named(r$solution_dual, c("x", "y"))
  expect_named(r$dual, c("r", "s"))
  expect_named(r$slack, c("r", "s"))
})

random_lp <- function(m, n, seed) {
  set.seed(seed)
  a <- matrix(rnorm(m * n), m)
  list(
    a = a, b = drop(a %*% runif(n, 0.1, 1.1)), c = drop(crossprod(a, rnorm(m))) + runif(n, 0.1, 1.1)
  )
}

test_that("all kinds of matrices give the same answer, twice", {
  p <- random_lp(30, 70, 1)
  p$a[abs(p$a) < 1.5] <- 0
  solve_with <- function(a, ...) lp_ipm(
    p$c, a, rep("<=", 30), p$b, list(lower = -1, upper = 2), ...
  )
  plain <- solve_with(p$a)
  expect_identical(plain$status, 0L)
  expect_identical(solve_with(p$a)[1:7], plain[1:7])
  same <- function(r) expect_equal(
    r[c("optimum", "solution", "dual")], plain[c("optimum", "solution", "dual")], tolerance = 1e-5
  )
  same(solve_with(as_gpu(p$a)))
  same(solve_with(as.data.frame(p$a), device = "cpu") |> (\(r) {
    names(r$solution) <- NULL
    r
  })())
  if (requireNamespace("Matrix", quietly = TRUE)) {
    a <- Matrix::Matrix(p$a, sparse = TRUE)
    for (kind in c("CsparseMatrix", "RsparseMatrix", "TsparseMatrix")) {
      same(solve_with(methods::as(a, kind)))
    }
    d <- lp_ipm(rep(1, 4), Matrix::Diagonal(4), rep(">=", 4), 1:4)
    expect_equal(d$optimum, 10, tolerance = 1e-7)
  }
  if (requireNamespace("slam", quietly = TRUE)) {
    same(solve_with(slam::as.simple_triplet_matrix(p$a)))
  }
})

test_that("factors in single precision cost no accuracy, and a matrix in single precision does", {
  p <- random_lp(40, 90, 4)
  solve_in <- function(precision, ...) lp_ipm(
    p$c, p$a, rep("==", 40), p$b, precision = precision, ...
  )
  single <- solve_in("single")
  double <- solve_in("double")
  expect_identical(single$status, 0L)
  expect_lte(max(single$residuals), 1e-8)
  expect_equal(single$solution, double$solution, tolerance = 1e-5)
  expect_false(identical(single$solution, double$solution))
  expect_lte(single$iterations, double$iterations + 2L)
  for (r in list(single, double)) {
    expect_named(r$seconds, c("iterating", "forming", "factoring"))
    expect_true(all(r$seconds > 0))
    expect_lte(sum(r$seconds[2:3]), r$seconds[[1]])
  }
  # Weights that differ by orders of magnitude, beyond what single precision can factor.
  expect_lte(max(solve_in("single", control = list(tol = 1e-11))$residuals), 1e-11)
  coarse <- lp_ipm(p$c, as_gpu(p$a, precision = "single"), rep("==", 40), p$b)
  expect_identical(coarse$status, 0L)
  expect_gt(max(coarse$residuals), 1e-11)
  expect_equal(coarse$optimum, double$optimum, tolerance = 1e-3)
})

test_that("infeasible and unbounded problems come with a proof", {
  a <- rbind(c(1, 1), c(1, 2))
  none <- lp_ipm(c(1, 1), a, c("<=", ">="), c(1, 4))
  expect_identical(none$status, 1L)
  expect_identical(none$optimum, NA_real_)
  expect_true(all(is.na(none$solution)))
  y <- none$certificate$rows
  expect_lte(y[[1]], 0)
  expect_gte(y[[2]], 0)
  # No point has this combination: of columns at most 0, of right-hand sides positive.
  expect_lte(max(y %*% a), 1e-7)
  expect_gt(sum(y * c(1, 4)), 0)
  for (max in c(FALSE, TRUE)) {
    sign <- if (max) -1 else 1
    open <- lp_ipm(sign * c(-1, 0), rbind(c(1, -1)), "<=", 1, max = max)
    expect_identical(open$status, 2L)
    expect_identical(open$optimum, -sign * Inf)
    ray <- open$certificate$ray
    expect_true(all(ray > -1e-8) && ray[[1]] - ray[[2]] < 1e-7)
    expect_equal(ray[[1]], 1, tolerance = 1e-7)
    point <- open$certificate$point
    expect_true(all(point >= 0) && point[[1]] - point[[2]] <= 1 + 1e-7)
  }
  twice <- lp_ipm(1:3, rbind(1:3, 2 * (1:3)), c("==", "=="), c(1, 3))
  expect_identical(twice$status, 1L)
})

test_that("dependent equations are left out and counted", {
  p <- random_lp(10, 25, 6)
  a <- rbind(p$a, p$a[1, ] - p$a[2, ], 0)
  b <- c(p$b, p$b[[1]] - p$b[[2]], 0)
  r <- lp_ipm(p$c, a, rep("==", 12), b)
  expect_identical(r$dependent_rows, 2L)
  expect_equal(r$optimum, lp_ipm(p$c, p$a, rep("==", 10), p$b)$optimum, tolerance = 1e-6)
})

test_that("trivial problems have the right trivial answer", {
  expect_identical(lp_ipm(c(1, 0), NULL, character(), numeric())$solution, c(0, 0))
  expect_identical(lp_ipm(-1, matrix(0, 0, 1), character(), numeric())$status, 2L)
  expect_identical(lp_ipm(-1, NULL, character(), numeric(), list(upper = 3))$solution, 3)
  zero <- lp_ipm(
    c(1, -1), rbind(c(0, 0), c(1, 0)), c("==", ">="), c(0, 2), list(upper = list(ind = 2, val = 7))
  )
  expect_equal(zero$solution, c(2, 7), tolerance = 1e-6)
  expect_identical(lp_ipm(1, matrix(0), "==", 1)$status, 1L)
  fixed <- lp_ipm(c(1, 2), matrix(1, 1, 2), "==", 3, list(lower = c(1, 2), upper = c(1, 2)))
  expect_identical(fixed$solution, c(1, 2))
})

test_that("limits give the best point, with a warning", {
  p <- random_lp(20, 50, 8)
  limited <- function(...) lp_ipm(p$c, p$a, rep("==", 20), p$b, control = list(...))
  expect_warning(few <- limited(max_iter = 3), class = "cudafactor_warning_not_optimal")
  expect_identical(few$status, 3L)
  expect_true(all(is.finite(few$solution)) && is.finite(few$optimum))
  expect_identical(nrow(few$log), 4L)
  expect_warning(late <- limited(time_limit = 0), class = "cudafactor_warning_not_optimal")
  expect_identical(late$status, 4L)
  expect_identical(limited(tm_limit = 0, presolve = TRUE)$status, 0L)
  coarse <- limited(tol = 1e-2)
  expect_lt(coarse$iterations, limited()$iterations)
})

test_that("print, summary and plot show it", {
  plan <- lp_ipm(c(2, 4, 3), hours, rep("<=", 3), c(60, 40, 80), max = TRUE)
  expect_output(print(plan), "maximized, 3 x 3: optimal.*objective 76\\.666")
  expect_output(print(summary(plan)), "primal_objective")
  none <- lp_ipm(1, matrix(1), "<=", -1)
  expect_output(print(none), "infeasible")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(plan), plan)
  expect_output(lp_ipm(1, matrix(1), ">=", 1, control = list(verbose = TRUE)), "primal_step")
})

test_that("wrong input is refused by class", {
  a <- matrix(1, 2, 3)
  ok <- list(1:3, a, c("<=", "<="), c(1, 1))
  refused <- function(kind, ...) {
    change <- list(...)
    arguments <- utils::modifyList(stats::setNames(ok, c("obj", "mat", "dir", "rhs")), change)
    e <- expect_error(do.call(lp_ipm, arguments), class = paste0("cudafactor_error_", kind))
    e
  }
  refused("dimension", obj = 1:2)
  refused("dimension", obj = numeric())
  refused("dimension", dir = "<=")
  refused("dimension", rhs = 1:3)
  refused("dimension", range = 1)
  refused("type", obj = letters[1:3])
  refused("type", mat = matrix("a", 2, 3))
  refused("type", mat = a + 1i)
  refused("type", rhs = c("1", "2"))
  expect_identical(refused("non_finite", obj = c(1, NA, 2))$argument, "obj")
  expect_identical(refused("non_finite", mat = replace(a, 2, NaN))$argument, "mat")
  expect_identical(refused("non_finite", mat = replace(a, 2, Inf))$argument, "mat")
  expect_identical(refused("non_finite", rhs = c(1, NA))$argument, "rhs")
  expect_identical(refused("non_finite", constant = Inf)$argument, "constant")
  expect_identical(refused("argument", dir = c("<=", "!="))$argument, "dir")
  expect_identical(refused("argument", rhs = c(-Inf, 1))$argument, "rhs")
  expect_identical(refused("argument", dir = c("==", "<="), rhs = c(Inf, 1))$argument, "rhs")
  expect_identical(refused("argument", bounds = list(lower = 2, upper = 1))$argument, "bounds")
  expect_identical(
    refused("argument", bounds = list(lower = list(ind = 4, val = 0)))$argument, "bounds"
  )
  expect_identical(refused("argument", bounds = list(low = 1))$argument, "bounds")
  expect_identical(refused("argument", control = list(tolerance = 1))$argument, "control")
  expect_identical(refused("argument", control = list(tol = -1))$argument, "control")
  expect_identical(refused("argument", max = NA)$argument, "max")
  expect_error(lp_ipm(1), class = "cudafactor_error_argument")
})

test_that("what is odd in rows, bounds and control is refused in words", {
  one <- function(...) lp_ipm(c(1, 1), rbind(c(1, 1)), ...)
  refused <- function(code, kind, words) expect_error(
    code, words, class = paste0("cudafactor_error_", kind)
  )
  refused(one("<=", Inf, range = Inf), "argument", "row with a range must be finite")
  refused(one("<=", -1e20), "argument", "row 1 is bounded by")
  refused(one(1, 1), "type", "'dir' must be character")
  refused(one("<=", NaN), "non_finite", "missing values")
  refused(lp_ipm(1, array(1, c(1, 1, 1)), "<=", 1), "type", "array of 3 dimensions")
  refused(one("<=", 1, list(0, 1)), "argument", "lower = , upper")
  refused(one("<=", 1, list(lower = 0, lower = 1)), "argument", "lower = , upper")
  refused(one("<=", 1, list(lower = list(ind = 1))), "argument", "bounds\\$lower")
  refused(one("<=", 1, list(lower = list(ind = c(1, 1), val = 1:2))), "argument", "twice")
  refused(one("<=", 1, list(upper = list(ind = 1:2, val = 1))), "dimension", "bounds\\$upper\\$val")
  expect_identical(
    one(">=", 1, list(lower = list(), upper = list(ind = integer(), val = numeric())))$status, 0L
  )
  for (control in list(
    list(verbose = "yes"), list(verbose = NA), list(tm_limit = -5), list(max_iter = 1.5),
    list(tol = 1, tol = 2), list(time_limit = "1")
  )) {
    refused(one(">=", 1, control = control), "argument", "control")
  }
  expect_identical(
    one(">=", 1, control = list(tol = NULL, tm_limit = NULL, verbose = FALSE))$status, 0L
  )
})
