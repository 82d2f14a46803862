# Covariances that change by a little, with the Cholesky factor from before as preconditioner of pcg().
#   Rscript inst/bench/pcg-nearby.R [ORDER...]
# ORDER: of the covariances (2000 4000). Writes pcg-nearby-DEVICE.md and .csv, of CUDAFACTOR_BENCH_DEVICE (cpu).

suppressPackageStartupMessages(library(cudafactor))
folder <- Sys.getenv("CUDAFACTOR_BENCH_SCRIPTS", "inst/bench")
source(file.path(folder, "common.R"))
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
orders <- if (length(arguments)) arguments else c(2000L, 4000L)
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cpu")
tol <- 1e-8

seconds <- function(f) {
  start <- as.double(Sys.time())
  value <- f()
  list(value = value, s = as.double(Sys.time()) - start)
}
relative <- function(a, x, b) max(sqrt(colSums(as.matrix(b - a %*% x)^2) / colSums(as.matrix(b)^2)))

# Exponential covariances of points in the plane whose range grows by `change`, and the factor of the one before.
set.seed(2)
nearby <- do.call(rbind, lapply(orders, function(n) {
  points <- cbind(runif(n), runif(n))
  covariance <- function(range) gpu_covariance(points, kernel = "exponential", range = range, nugget = 0.01, device = device)
  before <- gpu_chol(covariance(0.2), device = device)
  rhs <- matrix(rnorm(n * 4L), n)
  do.call(rbind, lapply(c(0.001, 0.01, 0.1), function(change) {
    now <- covariance(0.2 * (1 + change))
    one <- function(way, columns, f) {
      y <- rhs[, seq_len(columns), drop = FALSE]
      done <- seconds(function() f(y))
      solution <- done$value
      x <- if (inherits(solution, "pcg")) solution$x else solution
      data.frame(
        order = n, change = change, columns = columns, way = way, iterations = if (inherits(solution, "pcg")) max(solution$iterations) else NA, s = done$s,
        relative_residual = relative(now, x, y)
      )
    }
    do.call(rbind, lapply(c(1L, 4L), function(columns) {
      rbind(
        one("pcg, factor from before", columns, function(y) pcg(now, y, before, tol = tol, device = device)),
        if (columns == 1L && change == 0.01) one("pcg, jacobi", columns, function(y) pcg(now, y, "jacobi", tol = tol, maxit = 10000, device = device)),
        one("another factor", columns, function(y) chol_solve(gpu_chol(now, device = device), y, device = device)),
        one("base R: another factor", columns, function(y) {
          r <- chol(now)
          backsolve(r, backsolve(r, y, transpose = TRUE))
        })
      )
    }))
  }))
}))
print(nearby, row.names = FALSE, digits = 3)

bench_write(paste0("pcg-nearby-", device), "Conjugate gradients with the factor of a nearby covariance", list(`A covariance that has changed by a little` = nearby), c(
  sprintf("- exponential covariances of points in the unit square, range 0.2, nugget 0.01; `change` is the relative one of the range; to a relative residual of %g, one run each", tol),
  "- `another factor`: the time to make it and to solve with it"
))
