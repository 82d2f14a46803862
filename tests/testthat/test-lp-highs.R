# Small random problems of many kinds, with HiGHS's status and optimum: lp-highs.txt, which inst/bench/lp-highs-random.R writes.

numbers <- function(text) {
  all <- strsplit(text, " ", fixed = TRUE)[[1]]
  all[all == "NA"] <- NA
  as.numeric(all)
}

read_problem <- function(line) {
  f <- strsplit(line, ";", fixed = TRUE)[[1]]
  m <- as.integer(f[[6]])
  n <- as.integer(f[[7]])
  dir <- strsplit(f[[10]], " ", fixed = TRUE)[[1]]
  rhs <- numbers(f[[11]])
  range <- numbers(f[[12]])
  lower <- ifelse(dir == "<=", -Inf, rhs)
  upper <- ifelse(dir == ">=", Inf, rhs)
  has <- !is.na(range)
  below <- has & (dir == "<=" | dir == "==" & range < 0)
  above <- has & (dir == ">=" | dir == "==" & range >= 0)
  lower[below] <- (rhs - abs(range))[below]
  upper[above] <- (rhs + abs(range))[above]
  list(
    line = line, status = as.integer(f[[2]]), optimum = numbers(f[[3]]), obj = numbers(f[[8]]),
    mat = matrix(numbers(f[[9]]), m, n, byrow = TRUE), dir = dir, rhs = rhs, range = if (any(has)) range,
    rows = list(lower = lower, upper = upper), columns = list(lower = numbers(f[[13]]), upper = numbers(f[[14]]))
  )
}

# The largest of right-hand sides and bounds.
largest <- function(p) {
  sizes <- abs(unlist(p[c("rows", "columns")]))
  sizes <- sizes[is.finite(sizes)]
  if (any(sizes > 0)) max(sizes) else 1
}

# By how much values are outside bounds, relative to these and to the problem's.
outside <- function(at, bounds, unit) {
  off <- pmax(bounds$lower - at, at - bounds$upper, 0)
  nearest <- ifelse(at < bounds$lower, bounds$lower, bounds$upper)
  max(off / pmax(ifelse(off > 0, abs(nearest), 0), unit), 0)
}

expect_point <- function(p, x) {
  unit <- min(1, largest(p))
  expect_lte(outside(drop(p$mat %*% x), p$rows, unit), 1e-7, label = p$line)
  expect_lte(outside(x, p$columns, unit), 1e-7, label = p$line)
}

# What brings rows and columns to a largest entry of about 1.
equilibrated <- function(a) {
  by <- function(x) 1 / ifelse(x > 0, x, 1)
  rows <- by(apply(abs(a), 1, max))
  list(rows = rows, columns = by(apply(abs(a * rows), 2, max)))
}

# The largest value of a combination of what is within bounds; what rounding leaves does not count against infinity.
reach <- function(weights, bounds, rounding) {
  bound <- ifelse(weights > 0, bounds$upper, bounds$lower)
  weights[is.infinite(bound) & abs(weights) <= rounding] <- 0
  sum(ifelse(weights == 0, 0, weights * bound))
}

expect_proof <- function(p, certificate) {
  scales <- equilibrated(p$mat)
  if (p$status == 1L) {
    y <- certificate$rows
    rounding <- 1e-11 * max(abs(y) / scales$rows) / scales$columns
    asked <- -reach(-y, p$rows, 0)
    expect_gt(asked - reach(drop(y %*% p$mat), p$columns, rounding), 0.5, label = p$line)
  } else {
    ray <- certificate$ray
    expect_equal(sum(p$obj * ray), -1, tolerance = 1e-6, label = p$line)
    along <- drop(p$mat %*% ray)
    along[abs(along) <= 1e-11 * max(abs(ray) / scales$columns) / scales$rows] <- 0
    moves <- c(along, ray)
    bounds <- Map(c, p$rows, p$columns)
    expect_false(any(moves > 0 & is.finite(bounds$upper) | moves < 0 & is.finite(bounds$lower)), label = p$line)
    expect_point(p, certificate$point)
  }
}

test_that("500 small problems have HiGHS's status and optimum, points within bounds, and proofs", {
  problems <- lapply(readLines(test_path("lp-highs.txt")), read_problem)
  expect_length(problems, 500L)
  for (p in problems) {
    r <- lp_ipm(p$obj, p$mat, p$dir, p$rhs, p$columns, range = p$range)
    expect_identical(r$status, p$status, info = p$line)
    if (p$status == 0L) {
      size <- abs(p$optimum) + min(1, max(abs(p$obj)) * largest(p))
      expect_lte(abs(r$optimum - p$optimum), 1e-6 * size, label = p$line)
      expect_point(p, r$solution)
    } else {
      expect_proof(p, r$certificate)
    }
  }
})
