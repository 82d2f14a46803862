# Why the preconditioner on a GPU is multigrid: incomplete Cholesky factors IC(0) of Poisson's
# equation in several orders of the points, whose triangular systems cuSPARSE solves on the GPU
# within conjugate gradients of CuPy's, compared with pcg() and algebraic multigrid.
#   Rscript bench/pcg/pcg-orderings.R [SIDE]
# SIDE: points along each side of the plane grid (1000). CUDAFACTOR_PYTHON names a Python with cupy,
# and a library of cuSPARSE that it finds. Writes pcg-orderings.md and .csv.

suppressPackageStartupMessages({
  library(cudafactor)
  library(Matrix)
})
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
arguments <- as.integer(commandArgs(trailingOnly = TRUE))
side <- if (length(arguments)) arguments[[1L]] else 1000L
python <- Sys.getenv("CUDAFACTOR_PYTHON", "python3")
tol <- 1e-8

line <- bandSparse(side, k = 0:1, diagonals = list(rep(2, side), rep(-1, side - 1L)),
  symmetric = TRUE)
a <- forceSymmetric(kronecker(line, Diagonal(side)) + kronecker(Diagonal(side), line))
set.seed(1)
b <- rnorm(side^2)
row <- (seq_len(side^2) - 1L) %% side
column <- (seq_len(side^2) - 1L) %/% side

# Colours of which no two points of one are neighbours: two are enough; of more, each point sees
# more of those before it.
orders <- list(
  natural = seq_along(b),
  `2 colours` = order((row + column) %% 2L),
  `8 colours` = order((row + 2L * column) %% 8L),
  `64 colours` = order((row + 8L * column) %% 64L)
)

# Steps that depend on each other in a system with L: the longest way through its entries.
levels_of <- function(l) {
  level <- rep(1L, nrow(l))
  # The points of one level at a time, down the columns: as many passes as there are levels.
  repeat {
    to <- l@i + 1L
    from <- rep(seq_len(ncol(l)), diff(l@p))
    off <- to != from
    next_level <- pmax(level, ave_max(to[off], level[from[off]] + 1L, nrow(l)))
    if (identical(next_level, level)) return(max(level))
    level <- next_level
  }
}
# The largest of `values` at each place.
ave_max <- function(places, values, n) {
  out <- integer(n)
  # The last of several is kept, so ascending values leave the largest.
  sorted <- order(values)
  out[places[sorted]] <- values[sorted]
  out
}

by_order <- function(name) {
  o <- orders[[name]]
  permuted <- forceSymmetric(a[o, o])
  l <- ichol(permuted)$L
  lower <- t(l)
  full <- as(permuted, "generalMatrix")
  files <- file.path(tempdir(), paste0("orderings-", c("a", "l", "u", "b")))
  write <- function(m, file) {
    con <- file(file, "wb")
    on.exit(close(con))
    writeBin(as.double(c(nrow(m), length(m@x))), con)
    writeBin(m@p, con)
    writeBin(m@i, con)
    writeBin(m@x, con)
  }
  # By rows: of L its transpose's columns, of L' its own.
  write(full, files[[1L]])
  write(lower, files[[2L]])
  write(l, files[[3L]])
  writeBin(b[o], files[[4L]])
  out <- system2(python, c(file.path(here, "pcg_orderings_cupy.py"), tol, files), stdout = TRUE)
  unlink(files)
  d <- utils::read.csv(text = out, header = FALSE,
    col.names = c("iterations", "analysis_s", "solve_ms", "s", "off"))
  # Where the levels are counted by the structure alone: natural order has as many as there are
  # diagonals.
  levels <- if (name == "natural") 2L * side - 1L else levels_of(l)
  data.frame(
    order = name, levels = levels, iterations = d$iterations, both_systems_ms = d$solve_ms,
    analysis_s = d$analysis_s, iterations_s = d$s, relative_residual = d$off
  )
}
table <- do.call(rbind, lapply(names(orders), by_order))
print(table, row.names = FALSE, digits = 3)

runs <- lapply(1:4,
  function(k) value_and_seconds(function() pcg(a, b, "amg", tol = tol, device = "cuda")))
best <- runs[[which.min(vapply(runs, function(run) run$s, 0))]]
ours <- data.frame(
  order = "pcg(M = \"amg\"), from R to R", levels = NA, iterations = best$value$iterations,
  both_systems_ms = NA, analysis_s = NA, iterations_s = best$s,
  relative_residual = best$value$relative_residual
)
bench_write("pcg-orderings",
    "Incomplete Cholesky factors on a GPU, in several orders of the points",
    list(`Poisson's equation` = rbind(table, ours)), c(
  sprintf("- %d x %d points, a random right-hand side, to a relative residual of %g", side, side,
    tol),
  paste0(
    "- IC(0) of the matrix in that order, made on the CPU and brought to the GPU before the ",
    "times begin; `levels`: steps of a triangular system that depend on each other"
  ),
  paste0(
    "- `both_systems_ms`: L y = r and L' z = y by cuSPARSE (`cusparseSpSV`), the least of five; ",
    "`analysis_s`: what it finds out of both factors beforehand, once; `iterations_s`: all of ",
    "the iterations, on the device from start to end, without that"
  )
))
