# Small random problems of many kinds, with HiGHS's status and optimum: lp-highs.txt, which
# bench/lp/lp_highs_random.py writes.

source(test_path("lp-highs-problems.R"), local = TRUE)

# By how much values are outside bounds, relative to these and to the problem's.
outside <- function(at, bounds, unit) {
  off <- pmax(bounds$lower - at, at - bounds$upper, 0)
  nearest <- ifelse(at < bounds$lower, bounds$lower, bounds$upper)
  max(off / pmax(ifelse(off > 0, abs(nearest), 0), unit), 0)
}

expect_point <- function(p, x) {
  unit <- min(1, lp_largest(p))
  expect_lte(outside(drop(p$call[[2]] %*% x), p$rows, unit), 1e-7, label = p$line)
  expect_lte(outside(x, p$columns, unit), 1e-7, label = p$line)
}

# What brings rows and columns to a largest entry of about 1.
equilibrated <- function(a) {
  by <- function(x) 1 / ifelse(x > 0, x, 1)
  rows <- by(apply(abs(a), 1, max))
  list(rows = rows, columns = by(apply(abs(a * rows), 2, max)))
}

# The largest value of a combination of what is within bounds; what rounding leaves does not count
# against infinity.
reach <- function(weights, bounds, rounding) {
  bound <- ifelse(weights > 0, bounds$upper, bounds$lower)
  weights[is.infinite(bound) & abs(weights) <= rounding] <- 0
  sum(ifelse(weights == 0, 0, weights * bound))
}

expect_proof <- function(p, certificate) {
  scales <- equilibrated(p$call[[2]])
  if (p$highs == 1L) {
    y <- certificate$rows
    rounding <- 1e-11 * max(abs(y) / scales$rows) / scales$columns
    asked <- -reach(-y, p$rows, 0)
    expect_gt(asked - reach(drop(y %*% p$call[[2]]), p$columns, rounding), 0.5, label = p$line)
  } else {
    ray <- certificate$ray
    expect_equal(sum(p$call[[1]] * ray), -1, tolerance = 1e-6, label = p$line)
    along <- drop(p$call[[2]] %*% ray)
    along[abs(along) <= 1e-11 * max(abs(ray) / scales$columns) / scales$rows] <- 0
    moves <- c(along, ray)
    bounds <- Map(c, p$rows, p$columns)
    expect_false(any(moves > 0 & is.finite(bounds$upper) | moves < 0 & is.finite(bounds$lower)),
      label = p$line)
    expect_point(p, certificate$point)
  }
}

test_that("500 small problems have HiGHS's status and optimum, points within bounds, and proofs", {
  problems <- lapply(readLines(test_path("lp-highs.txt")), lp_read_problem)
  expect_length(problems, 500L)
  for (p in problems) {
    r <- do.call(lp_ipm, p$call)
    expect_identical(r$status, p$highs, info = p$line)
    if (p$highs == 0L) {
      size <- abs(p$of_highs) + lp_objective_size(p)
      expect_lte(abs(r$optimum - p$of_highs), 1e-6 * size, label = p$line)
      expect_point(p, r$solution)
    } else {
      expect_proof(p, r$certificate)
    }
  }
})
