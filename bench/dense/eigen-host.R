# From R matrix to R result: eigenvalues, singular values, principal components. Run by
# eigen-host.sh.
#   Rscript eigen-host.R PEERS.csv SIZE...
# PEERS.csv is what eigen_host_torch.py printed on the same machine just before. Writes
# eigen-host.md and eigen-host.csv.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

arguments <- commandArgs(TRUE)
peer <- bench_peers(arguments[[1L]])
once_ms <- function(call) 1e3 * system.time(call())[[3L]]

results <- data.frame()
few <- data.frame()
keep <- function(task, n, ours, base = NULL) {
  ms <- bench_median_ms(ours, 3L)
  base_ms <- if (is.null(base)) NA_real_ else once_ms(base)
  row <- data.frame(task = task, n = n, ours_ms = ms, torch_ms = peer(task, n),
    torch_over_ours = peer(task, n) / ms, base_ms = base_ms, base_over_ours = base_ms / ms)
  print(row, digits = 3, row.names = FALSE)
  results <<- rbind(results, row)
  bench_write("eigen-host", "Eigenvalues and components from R matrix to R result",
    Filter(nrow, list(`Beside PyTorch and base R` = results, `Beside irlba` = few)), c(
      "- PyTorch: NumPy array in, NumPy arrays out (`eigen_host_torch.py`), in the same run:",
      "  `eigh`, `eigvalsh`, `svd`, `svdvals`; for components `svd_lowrank` of all of them, which",
      "  approximates",
      "- default options of the package",
      "- medians of 3 calls after one that does not count; base R once, up to order 2048",
      "- irlba: `prcomp_irlba()` of 10 components, once; ours has all of them"
    ), by = "bench/dense/eigen-host.sh", all = cbind(table = "Beside PyTorch and base R", results))
}

for (n in as.integer(arguments[-1L])) {
  set.seed(n)
  a <- matrix(runif(n * n), n)
  s <- a + t(a)
  small <- function(call) if (n <= 2048L) call
  keep("eigen, vectors", n, function() gpu_eigen(s, TRUE),
    small(function() eigen(s, TRUE)))
  keep("eigen, values", n, function() gpu_eigen(s, TRUE, TRUE),
    small(function() eigen(s, TRUE, TRUE)))
  keep("eigen, k = 20", n, function() gpu_eigen(s, TRUE, k = 20))
  keep("svd, vectors", n, function() gpu_svd(a), small(function() svd(a)))
  keep("svd, values", n, function() gpu_svd(a, 0, 0),
    small(function() svd(a, 0, 0)))
}
for (dim in list(c(1e6L, 100L), c(20000L, 2000L))) {
  x <- matrix(runif(prod(dim)), dim[[1L]])
  task <- sprintf("prcomp, %d rows", dim[[1L]])
  if (requireNamespace("irlba", quietly = TRUE)) {
    ms <- c(bench_median_ms(function() gpu_prcomp(x), 3L),
      once_ms(function() irlba::prcomp_irlba(x, n = 10)))
    row <- data.frame(task = task, columns = dim[[2L]], ours_ms = ms[[1L]], irlba_ms = ms[[2L]],
      irlba_over_ours = ms[[2L]] / ms[[1L]])
    few <- rbind(few, row)
  }
  keep(task, dim[[2L]], function() gpu_prcomp(x), function() prcomp(x))
}
