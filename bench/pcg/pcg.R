# Poisson's equation by pcg(), Matrix::Cholesky(), scipy and cupy.
#   Rscript bench/pcg/pcg.R [SIDE]
# SIDE: points along each side of the plane grid (1000). CUDAFACTOR_PYTHON names a Python with
# scipy, or, on a GPU, cupy, for its cg. Writes pcg-DEVICE.md and .csv, of CUDAFACTOR_BENCH_DEVICE
# (cpu), where it is computed.

suppressPackageStartupMessages({
  library(cudafactor)
  library(Matrix)
})
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
side <- if (length(arguments)) arguments[[1L]] else 1000L
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cpu")
tol <- 1e-8

row <- function(way, iterations, took, off, note = "") {
  data.frame(way = way, iterations = iterations, s = took, relative_residual = off, note = note)
}

poisson <- function(side) {
  line <- bandSparse(side, k = 0:1, diagonals = list(rep(2, side), rep(-1, side - 1L)),
    symmetric = TRUE)
  forceSymmetric(kronecker(line, Diagonal(side)) + kronecker(Diagonal(side), line))
}

# scipy's or cupy's cg of the same matrix and right-hand side; nothing where there is no such
# Python.
by_python <- function(script, side, b) {
  python <- Sys.getenv("CUDAFACTOR_PYTHON")
  if (!nzchar(python)) {
    return(NULL)
  }
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(b, file)
  out <- system2(python, c(file.path(here, script), side, tol, file), stdout = TRUE)
  d <- utils::read.csv(text = out, header = FALSE, col.names = c("way", "iterations", "s", "off"))
  row(d$way, d$iterations, d$s, d$off)
}

set.seed(1)
a <- poisson(side)
b <- rnorm(side^2)
# On a GPU the best of three, after one that loads the code.
by_pcg <- function(way, ..., repeats = 1L) {
  runs <- lapply(seq_len(repeats),
    function(k) value_and_seconds(function()
      pcg(a, b, ..., tol = tol, maxit = 100000, device = device)))
  done <- runs[[which.min(vapply(runs, function(run) run$s, 0))]]
  f <- done$value
  row(way, f$iterations, done$s, f$relative_residual,
    if (f$auto) sprintf("auto: %s", f$method) else "")
}
by_matrix <- function() {
  done <- value_and_seconds(function()
    solve(Cholesky(a, LDL = FALSE, super = TRUE), b, system = "A"))
  row("Matrix::Cholesky, solve", NA, done$s, relative_residual(a, done$value, b))
}
plane <- if (device != "cpu") {
  rbind(
    by_pcg("pcg, amg", "amg", repeats = 4L), by_pcg("pcg, jacobi", "jacobi", repeats = 4L),
    by_pcg("pcg, none", "none", repeats = 4L), by_pcg("pcg", repeats = 4L),
    by_python("pcg_cupy.py", side, b)
  )
} else rbind(
  by_pcg("pcg, ic0", "ic0"), by_pcg("pcg, amg", "amg"), by_pcg("pcg, jacobi", "jacobi"),
  by_pcg("pcg, none", "none"), by_pcg("pcg, direct", method = "direct"), by_pcg("pcg"),
  by_matrix(), by_python("pcg_scipy.py", side, b)
)
print(plane, row.names = FALSE, digits = 3)

bench_write(paste0("pcg-", device), "Conjugate gradients: Poisson's equation in the plane",
    list(`Poisson's equation` = plane), sprintf(
  paste0(
    "- %d x %d points, a random right-hand side, to a relative residual of %g, %s, from R call ",
    "to R result: the preconditioner is made within the time%s"
  ),
  side, side, tol,
  if (device == "cpu") "one run each" else "the best of three runs after one that loads the code",
  if (device == "cpu") "" else "; cupy's matrix and right-hand side are on the device before it"
))
