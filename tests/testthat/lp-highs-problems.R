# The small random linear programs of lp_highs_random.py, a line each, and what they are measured
# by. For lp-highs-random.R and the tests.

lp_numbers <- function(text) {
  all <- strsplit(text, " ", fixed = TRUE)[[1]]
  all[all == "NA"] <- NA
  as.numeric(all)
}

# A line's problem: `call` has the arguments of lp_ipm(); `rows` and `columns` have lower and upper
# bounds; status 9 is none.
lp_read_problem <- function(line) {
  f <- strsplit(line, ";", fixed = TRUE)[[1]]
  m <- as.integer(f[[6]])
  n <- as.integer(f[[7]])
  dir <- strsplit(f[[10]], " ", fixed = TRUE)[[1]]
  rhs <- lp_numbers(f[[11]])
  range <- lp_numbers(f[[12]])
  columns <- list(lower = lp_numbers(f[[13]]), upper = lp_numbers(f[[14]]))
  lower <- ifelse(dir == "<=", -Inf, rhs)
  upper <- ifelse(dir == ">=", Inf, rhs)
  has <- !is.na(range)
  below <- has & (dir == "<=" | dir == "==" & range < 0)
  above <- has & (dir == ">=" | dir == "==" & range >= 0)
  lower[below] <- (rhs - abs(range))[below]
  upper[above] <- (rhs + abs(range))[above]
  list(
    line = line, family = f[[1]], highs = as.integer(f[[2]]), of_highs = lp_numbers(f[[3]]),
    exact = as.integer(f[[4]]), of_exact = lp_numbers(f[[5]]),
    call = list(
      lp_numbers(f[[8]]), matrix(lp_numbers(f[[9]]), m, n, byrow = TRUE), dir, rhs,
      bounds = columns, range = if (any(has)) range
    ),
    rows = list(lower = lower, upper = upper), columns = columns
  )
}

# The largest of right-hand sides and bounds; 1 where there is none.
lp_largest <- function(p) {
  sizes <- abs(unlist(p[c("rows", "columns")]))
  sizes <- sizes[is.finite(sizes)]
  if (any(sizes > 0)) max(sizes) else 1
}

# The size of an objective near 0.
lp_objective_size <- function(p) min(1, max(abs(p$call[[1]])) * lp_largest(p))
