# gpu_eigen(k = ) and gpu_svd(k = ) on the CPU beside RSpectra, irlba and base R: milliseconds from
# R matrix to R result, products, and the largest relative residual of the pairs or triplets.
#   Rscript bench/dense/eigen-few.R [ORDER]...
# The default orders are 500, 1000 and 2000 for dense matrices; sparse ones have 20 times as many
# rows. Packages take turns on the same matrices, and the median of three counts. Threads:
# CUDAFACTOR_NUM_THREADS for ours, OPENBLAS_NUM_THREADS or OMP_NUM_THREADS for base R's BLAS, which
# RSpectra and irlba use for dense matrices. Needs RSpectra, irlba and Matrix, and a quiet machine.
# Writes eigen-few.md and eigen-few.csv.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

orders <- as.integer(commandArgs(trailingOnly = TRUE))
if (!length(orders)) orders <- c(500L, 1000L, 2000L)
k <- 20L

# Symmetric matrices: a covariance matrix of data with decaying variances, one with a dense spectrum
# at its ends, and a sparse one of a grid.
covariance <- function(n) {
  x <- matrix(stats::rnorm(2 * n * n), 2 * n) %*% diag(seq_len(n)^-0.7)
  crossprod(x) / (2 * n)
}
wigner <- function(n) {
  x <- matrix(stats::rnorm(n * n), n)
  (x + t(x)) / 2
}
grid <- function(n) {
  side <- as.integer(sqrt(20 * n))
  line <- Matrix::bandSparse(side, k = 0:1, symmetric = TRUE,
    diagonals = list(rep(2, side), rep(-1, side - 1)))
  one <- Matrix::Diagonal(side)
  x <- methods::as(Matrix::kronecker(one, line) + Matrix::kronecker(line, one), "CsparseMatrix")
  # RSpectra refuses a stored triangle.
  methods::as(x, "generalMatrix")
}
tall <- function(n) matrix(stats::rnorm(3 * n * n), 3 * n) %*% diag(seq_len(n)^-0.5)
counts <- function(n) Matrix::rsparsematrix(20 * n, 4 * n, 0.002)

eigen_residual <- function(x, e) {
  away <- as.matrix(x %*% e$vectors) - sweep(e$vectors, 2, e$values, "*")
  max(sqrt(colSums(away^2))) / max(abs(e$values))
}
svd_residual <- function(x, s) {
  one <- as.matrix(x %*% s$v) - sweep(s$u, 2, s$d, "*")
  two <- as.matrix(Matrix::crossprod(x, s$u)) - sweep(s$v, 2, s$d, "*")
  max(sqrt(colSums(one^2)), sqrt(colSums(two^2))) / max(s$d)
}
first <- function(e) list(values = e$values[seq_len(k)], vectors = e$vectors[, seq_len(k)])
base_svd <- function(x) {
  s <- svd(x, k, k)
  list(d = s$d[seq_len(k)], u = s$u, v = s$v)
}

tasks <- list(
  list("eigen, covariance", covariance, eigen_residual, list(
    cudafactor = function(x) gpu_eigen(x, TRUE, device = "cpu", k = k, which = "LA"),
    RSpectra = function(x) RSpectra::eigs_sym(x, k, "LA"),
    base = function(x) first(eigen(x, TRUE))
  )),
  list("eigen, random", wigner, eigen_residual, list(
    cudafactor = function(x) gpu_eigen(x, TRUE, device = "cpu", k = k, which = "LA"),
    RSpectra = function(x) RSpectra::eigs_sym(x, k, "LA"),
    base = function(x) first(eigen(x, TRUE))
  )),
  list("eigen, sparse grid", grid, eigen_residual, list(
    cudafactor = function(x) gpu_eigen(x, TRUE, device = "cpu", k = k, which = "LA"),
    RSpectra = function(x) RSpectra::eigs_sym(x, k, "LA")
  )),
  list("svd, tall", tall, svd_residual, list(
    cudafactor = function(x) gpu_svd(x, device = "cpu", k = k),
    RSpectra = function(x) RSpectra::svds(x, k),
    irlba = function(x) irlba::irlba(x, k),
    base = base_svd
  )),
  list("svd, sparse", counts, svd_residual, list(
    cudafactor = function(x) gpu_svd(x, device = "cpu", k = k),
    RSpectra = function(x) RSpectra::svds(x, k),
    irlba = function(x) irlba::irlba(x, k)
  ))
)

measure <- function(task, n) {
  x <- task[[2]](n)
  calls <- task[[4]]
  if (n > 1000L) calls$base <- NULL
  results <- lapply(calls, function(f) NULL)
  times <- vapply(1:3, function(i) {
    vapply(names(calls), function(name) {
      start <- proc.time()[["elapsed"]]
      results[[name]] <<- calls[[name]](x)
      proc.time()[["elapsed"]] - start
    }, 0)
  }, numeric(length(calls)))
  products <- vapply(results, function(r) as.double(r$products %||% r$nops %||% r$mprod %||% NA), 0)
  data.frame(
    n = nrow(x), p = ncol(x), task = task[[1]], package = names(calls),
    ms = 1000 * apply(times, 1, stats::median), products = products,
    residual = vapply(results, function(r) task[[3]](x, r), 0)
  )
}
`%||%` <- function(x, y) if (is.null(x)) y else x

set.seed(20261127)
rows <- do.call(rbind, unlist(lapply(tasks, function(task) {
  lapply(orders, function(n) {
    found <- measure(task, n)
    message(paste(utils::capture.output(print(found, digits = 3, row.names = FALSE)),
      collapse = "\n"))
    found
  })
}), recursive = FALSE))

bench_write("eigen-few", "A few eigenvalues and singular values on the CPU",
  list(`Twenty values: milliseconds, R matrix to R result` = rows),
  notes = c(
    "Products: vectors that x or its transpose multiplied, as each package counts them.",
    if (nzchar(Sys.getenv("BUSY"))) "Other programs ran on this machine: times are rough.",
    "Residual: the largest one, divided by the largest value. Tolerances are the defaults.",
    sprintf("Threads: CUDAFACTOR_NUM_THREADS = \"%s\", OPENBLAS_NUM_THREADS = \"%s\".",
      Sys.getenv("CUDAFACTOR_NUM_THREADS"), Sys.getenv("OPENBLAS_NUM_THREADS")),
    sprintf("RSpectra %s, irlba %s.", utils::packageVersion("RSpectra"),
      utils::packageVersion("irlba"))
  )
)
