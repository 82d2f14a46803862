# Covariances that change by a little, with the Cholesky factor from before as preconditioner of
# pcg(): in R's memory, as matrices that stay on a GPU, and on disk, where the factor is
# chol_file()'s.
#   Rscript bench/pcg/pcg-nearby.R [ORDER | resident,ORDER | disk,ORDER[,HOST_MEMORY,GPU_MEMORY]]...
# ORDER: of the covariances (2000 4000 disk,4000). On disk there are two files of 4 ORDER^2 bytes,
# in the folder CUDAFACTOR_BENCH_FOLDER (that of temporary files), and memory is for tiles ("1GiB",
# "1GiB"). Writes pcg-nearby-DEVICE.md and .csv, of disk pcg-nearby-disk-DEVICE, and of what stays
# there pcg-nearby-resident-DEVICE, of CUDAFACTOR_BENCH_DEVICE (cpu).

suppressPackageStartupMessages(library(cudafactor))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
folder <- Sys.getenv("CUDAFACTOR_BENCH_FOLDER", tempdir())
arguments <- commandArgs(trailingOnly = TRUE)
if (!length(arguments)) arguments <- c("2000", "4000", "disk,4000")
on_disk <- startsWith(arguments, "disk,")
staying <- startsWith(arguments, "resident,")
orders <- as.integer(arguments[!on_disk & !staying])
residents <- as.integer(sub("^resident,", "", arguments[staying]))
disks <- strsplit(sub("^disk,", "", arguments[on_disk]), ",", fixed = TRUE)
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cpu")
# Of products and systems within pcg(), too.
options(cudafactor.device = device)
tol <- 1e-8

iterations_of <- function(solution) if (inherits(solution, "pcg")) max(solution$iterations) else NA
x_of <- function(solution) if (inherits(solution, "pcg")) solution$x else solution

# Exponential covariances of points in the plane whose range grows by `change`, and the factor of
# the one before.
near <- function(n) {
  points <- cbind(runif(n), runif(n))
  covariance <- function(range) gpu_covariance(points, kernel = "exponential", range = range,
    nugget = 0.01, device = device)
  before <- gpu_chol(covariance(0.2), device = device)
  rhs <- matrix(rnorm(n * 4L), n)
  do.call(rbind, lapply(c(0.001, 0.01, 0.1), function(change) {
    now <- covariance(0.2 * (1 + change))
    one <- function(way, columns, f) {
      y <- rhs[, seq_len(columns), drop = FALSE]
      done <- value_and_seconds(function() f(y))
      data.frame(
        order = n, change = change, columns = columns, way = way,
        iterations = iterations_of(done$value), s = done$s,
        relative_residual = relative_residual(now, x_of(done$value), y)
      )
    }
    do.call(rbind, lapply(c(1L, 4L), function(columns) {
      rbind(
        one("pcg, factor from before", columns,
          function(y) pcg(now, y, before, tol = tol, device = device)),
        if (columns == 1L && change == 0.01)
          one("pcg, jacobi", columns,
            function(y) pcg(now, y, "jacobi", tol = tol, maxit = 10000, device = device)),
        one("another factor", columns,
          function(y) chol_solve(gpu_chol(now, device = device), y, device = device)),
        one("base R: another factor", columns, function(y) {
          r <- chol(now)
          backsolve(r, backsolve(r, y, transpose = TRUE))
        })
      )
    }))
  }))
}
# The first calls load code.
invisible(near(500L))
set.seed(2)
nearby <- do.call(rbind, lapply(orders, near))
if (!is.null(nearby)) print(nearby, row.names = FALSE, digits = 3)

# The same where the covariance and the factor from before are on the device already, and right-hand
# sides and solutions are R's.
stay <- function(n) {
  points <- cbind(runif(n), runif(n))
  covariance <- function(range) gpu_covariance(points, kernel = "exponential", range = range,
    nugget = 0.01, device = device)
  before <- chol(as_gpu(covariance(0.2), device = device))
  rhs <- matrix(rnorm(n * 4L), n)
  do.call(rbind, lapply(c(0.001, 0.01, 0.1), function(change) {
    plain <- covariance(0.2 * (1 + change))
    now <- as_gpu(plain, device = device)
    one <- function(way, columns, f) {
      y <- rhs[, seq_len(columns), drop = FALSE]
      runs <- lapply(1:4, function(k) value_and_seconds(function() f(y)))
      done <- runs[[which.min(vapply(runs, function(run) run$s, 0))]]
      data.frame(
        order = n, change = change, columns = columns, way = way,
        iterations = iterations_of(done$value), s = done$s,
        relative_residual = relative_residual(plain, as.matrix(x_of(done$value)), y)
      )
    }
    do.call(rbind, lapply(c(1L, 4L), function(columns) {
      rbind(
        one("pcg, factor from before", columns, function(y) pcg(now, y, before, tol = tol)),
        one("another factor", columns, function(y) chol_solve(chol(now), y))
      )
    }))
  }))
}
if (length(residents)) invisible(stay(500L))
set.seed(2)
resident <- do.call(rbind, lapply(residents, stay))
if (!is.null(resident)) print(resident, row.names = FALSE, digits = 3)

# The same with both matrices on disk, where the one before has been factored: none of them is in
# memory as a whole.
set.seed(2)
disk <- do.call(rbind, lapply(disks, function(case) {
  n <- as.integer(case[[1L]])
  host <- if (length(case) > 1L) case[[2L]] else "1GiB"
  gpu <- if (length(case) > 2L) case[[3L]] else "1GiB"
  points <- cbind(runif(n), runif(n))
  file <- function(name) file.path(folder, paste0("pcg-nearby-", name, ".tiles"))
  unlink(file(c("before", "now")))
  on.exit(unlink(file(c("before", "now"))))
  written <- function(range, name)
    tile_matrix(lazy_covariance(points, "exponential", range = range, nugget = 0.01), file(name),
      device = device)
  factor <- function(k) chol_file(k, host_memory = host, gpu_memory = gpu, device = device)
  before <- value_and_seconds(function() factor(written(0.2, "before")))
  print(attr(before$value, "report")[c("seconds", "gflops")])
  rhs <- matrix(rnorm(n * 4L), n)
  do.call(rbind, lapply(c(0.001, 0.01, 0.1), function(change) {
    unlink(file("now"))
    made <- value_and_seconds(function() written(0.2 * (1 + change), "now"))
    now <- made$value
    one <- function(way, columns, f) {
      y <- rhs[, seq_len(columns), drop = FALSE]
      done <- value_and_seconds(function() f(y))
      data.frame(
        order = n, host_memory = host, gpu_memory = if (device == "cpu") "" else gpu,
        change = change, columns = columns, way = way,
        iterations = iterations_of(done$value), s = done$s, making_s = made$s,
        relative_residual = if (inherits(done$value, "pcg")) max(done$value$relative_residual) else
          NA_real_, x = I(list(x_of(done$value)))
      )
    }
    product <- function(x) as.matrix(now %*% x)
    rows <- do.call(rbind, lapply(c(1L, 4L), function(columns) {
      one("pcg, factor from before", columns,
        function(y) pcg(product, y, before$value, tol = tol, device = device))
    }))
    # In place, so that it comes last.
    anew <- value_and_seconds(function() factor(now))
    rows <- rbind(rows, do.call(rbind, lapply(c(1L, 4L), function(columns) {
      row <- one("another factor", columns,
        function(y) chol_solve(anew$value, y, host_memory = host, device = device))
      row$s <- row$s + anew$s
      row
    })))
    exact <- rows$x[rows$way == "another factor" & rows$columns == 4L][[1L]]
    rows$off_factor <- vapply(rows$x,
      function(x) max(abs(x - exact[, seq_len(NCOL(x))])) / max(abs(exact)), 0)
    rows$x <- NULL
    rows
  }))
}))
if (!is.null(disk)) print(disk, row.names = FALSE, digits = 3)

about <-
  paste0(
    "- exponential covariances of points in the unit square, range 0.2, nugget 0.01; `change` is ",
    "the relative one of the range; to a relative residual of %g, "
  )
changes <- paste0(about, "one run each, after calls of order 500 in memory, which load code")
again <- "- `another factor`: the time to make it and to solve with it"
if (!is.null(nearby)) {
  bench_write(paste0("pcg-nearby-", device),
    "Conjugate gradients with the factor of a nearby covariance",
    list(`A covariance that has changed by a little` = nearby), c(sprintf(changes, tol), again))
}
if (!is.null(resident)) {
  bench_write(paste0("pcg-nearby-resident-", device),
      "Conjugate gradients with the factor of a nearby covariance, both on the device",
      list(`A covariance that has changed by a little` = resident), c(
    sprintf(paste0(about, "the best of four runs each"), tol), again,
    paste0(
      "- the covariance and the factor from before are on the device as each run begins ",
      "(`as_gpu()`); right-hand sides and solutions are plain matrices"
    )
  ))
}
if (!is.null(disk)) {
  bench_write(paste0("pcg-nearby-disk-", device),
      "Conjugate gradients with the factor of a nearby covariance, on disk",
      list(`A covariance on disk that has changed by a little` = disk), c(
    sprintf(changes, tol), again,
    paste0(
      "- the covariance and the factor from before are files of tiles (`tile_matrix()`, ",
      "`chol_file()`), read once in each product and twice in each system; `making_s`, to write ",
      "the covariance, is in no other time"
    ),
    paste0(
      "- `off_factor`: the largest difference from the solution by the new factor, as a share of ",
      "the largest number there"
    )
  ))
}
