# Median regression of 20,000 observations on 50 variables, as two linear programs, compared with
# quantreg where that is installed.
#   Rscript bench/lp/lp-l1.R [OBSERVATIONS VARIABLES]
# The dual has a row for each variable and is dense; the primal has a row for each observation, and
# residuals in two parts, and is sparse. Writes lp-l1-DEVICE.md, of CUDAFACTOR_BENCH_DEVICE (cpu).

suppressPackageStartupMessages({
  library(cudafactor)
  library(Matrix)
})
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
size <- c(as.integer(commandArgs(trailingOnly = TRUE)), 20000L, 50L)[c(1L, 2L)]
n <- size[[1L]]
p <- size[[2L]]
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cpu")

set.seed(1)
x <- cbind(1, matrix(rnorm(n * (p - 1L)), n))
y <- drop(x %*% seq_len(p) / p) + rt(n, 2)

least_s <- function(f, times = 3) {
  min(vapply(seq_len(times), function(i) {
    start <- as.double(Sys.time())
    f()
    as.double(Sys.time()) - start
  }, 0))
}

dual <- function() {
  r <- lp_ipm(y, t(x), rep("==", p), numeric(p), list(lower = -1, upper = 1), max = TRUE,
    device = device)
  list(coefficients = r$dual, optimum = r$optimum, status = r$status, iterations = r$iterations,
    residual = max(r$residuals))
}
primal <- function() {
  sides <- cbind(Matrix(x, sparse = TRUE), Diagonal(n), -Diagonal(n))
  free <- list(lower = list(ind = seq_len(p), val = rep(-Inf, p)))
  r <- lp_ipm(c(numeric(p), rep(1, 2L * n)), sides, rep("==", n), y, free)
  list(coefficients = r$solution[seq_len(p)], optimum = r$optimum, status = r$status,
    iterations = r$iterations, residual = max(r$residuals))
}
by_quantreg <- function(method) {
  function() {
    fit <- quantreg::rq.fit(x, y, tau = 0.5, method = method)
    list(coefficients = fit$coefficients, optimum = sum(abs(y - x %*% fit$coefficients)),
      status = NA, iterations = NA, residual = NA)
  }
}
ways <- list("lp_ipm, dual" = dual, "lp_ipm, primal" = primal)
if (requireNamespace("quantreg", quietly = TRUE)) {
  ways <- c(ways, list("quantreg, br" = by_quantreg("br"), "quantreg, fn" = by_quantreg("fn")))
}
# The exact solution that there is, or else the first.
answers <- lapply(ways, function(f) f())
exact <- answers[[if ("quantreg, br" %in% names(ways)) "quantreg, br" else 1L]]
rows <- do.call(rbind, lapply(names(ways), function(way) {
  a <- answers[[way]]
  data.frame(
    way = way, status = a$status, iterations = a$iterations, s = least_s(ways[[way]]),
    sum_of_residuals = sprintf("%.10g", sum(abs(y - x %*% as.double(a$coefficients)))),
    optimum_off = abs(a$optimum - exact$optimum) / exact$optimum,
    coefficients_off = max(abs(a$coefficients - exact$coefficients)),
    worst_residual = a$residual
  )
}))
print(rows, row.names = FALSE)
bench_write(paste0("lp-l1-", device), "Median regression as a linear program",
    list(`Beside quantreg` = rows), c(
  sprintf(
    paste0(
      "- %d observations, %d variables, errors of Student's distribution with 2 degrees of ",
      "freedom; least of 3 runs; from R call to R result"
    ),
    n, p),
  paste0(
    "- `dual`: a dense problem with a row for each variable; `primal`: a sparse one, its matrix ",
    "made within the time"
  ),
  "- `off`: from quantreg's simplex method (br), whose solution is exact up to rounding"
))
