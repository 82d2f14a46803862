# Eigenvalues of 512 symmetric matrices of each order, from R array to R arrays. Run by
# eigen-batch.sh.
#   Rscript eigen-batch.R PEERS.csv ORDER...
# PEERS.csv is what eigen_batch_peer.py printed on the same machine just before. Writes
# eigen-batch.md and eigen-batch.csv.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

count <- 512L
arguments <- commandArgs(TRUE)
peer <- bench_peers(arguments[[1L]])

results <- data.frame()
for (n in as.integer(arguments[-1L])) {
  set.seed(n)
  x <- array(runif(n * n * count), c(n, n, count))
  x <- x + aperm(x, c(2, 1, 3))
  ours <- bench_median_ms(function() gpu_eigen(x, TRUE), 5L)
  torch <- peer("torch.linalg.eigh, NumPy to NumPy", n)
  row <- data.frame(
    n = n, ours_ms = ours,
    values_ms = bench_median_ms(function() gpu_eigen(x, TRUE, TRUE), 5L),
    torch_ms = torch, torch_over_ours = torch / ours,
    cpu_ms = bench_median_ms(function() gpu_eigen(x, TRUE, device = "cpu"), 2L),
    base_ms = 1e3 * system.time(for (i in seq_len(count)) eigen(x[, , i], TRUE))[[3L]],
    torch_device_ms = peer("torch.linalg.eigh", n), cupy_device_ms = peer("cupy.linalg.eigh", n),
    cusolver_device_ms = peer("cusolverDnXsyevBatched", n)
  )
  print(row, digits = 3, row.names = FALSE)
  results <- rbind(results, row)
  bench_write("eigen-batch", "Eigenvalues of 512 small matrices from R array to R arrays",
    list(`Beside PyTorch and base R` = results), c(
      "- default options of the package, save that cpu_ms has device = \"cpu\"",
      "- torch_ms: NumPy array in, NumPy arrays out (`eigen_batch_peer.py`), in the same run; the",
      "  columns with `device` are from device to device",
      "- medians of 5 calls after one that does not count, on the CPU of 2; base R once, in a loop"
    ), by = "bench/dense/eigen-batch.sh")
}
