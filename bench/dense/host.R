# From R matrix to R matrix on the GPU: every copy, check and result is in the time; after the first
# calls results lie in memory that R has collected and the package has kept. Run by host.sh.
#   Rscript host.R PEERS.csv SIZE...
# PEERS.csv is what host_torch.py printed on the same machine just before. Writes host.md and
# host.csv.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

arguments <- commandArgs(TRUE)
peers <- utils::read.csv(arguments[[1L]], header = FALSE, comment.char = "#",
  col.names = c("name", "n", "ms"))
sizes <- as.integer(arguments[-1L])
peer <- function(name, n) {
  ms <- peers$ms[peers$name == name & peers$n == n]
  if (length(ms)) ms[[1L]] else NA_real_
}

wall_ms <- function(call, repeats) {
  # At least 0.3 s: the GPU's clock and memory that is used again settle.
  start <- as.double(Sys.time())
  call()
  while (as.double(Sys.time()) - start < 0.3) call()
  gc(FALSE)
  times <- vapply(seq_len(repeats), function(i) {
    start <- as.double(Sys.time())
    result <- call()
    1e3 * (as.double(Sys.time()) - start)
  }, 0)
  median(times)
}

# The largest of four times that no path can avoid: bytes in, bytes out, arithmetic, and the host's
# own work.
floor_ms <- function(verb, n) {
  gib <- 8 * n^2 / 2^30
  read <- switch(verb, product = 2, chol = 0.5, 1) * gib
  written <- switch(verb, chol = 0.5, 1) * gib
  rate <- function(name) peer(name, 2^30)
  max(
    read * rate("bus_in"), written * rate("bus_out"), peer(paste0("arithmetic_", verb), n),
    (read + written) * rate("copy") + gib * rate("touch")
  )
}

results <- do.call(rbind, lapply(sizes, function(n) {
  set.seed(n)
  a <- matrix(runif(n * n), n)
  b <- matrix(runif(n * n), n)
  s <- a + t(a) + diag(2 * n, n)
  verbs <- list(
    product = function() gpu_matmult(a, b, device = "cuda"),
    chol = function() gpu_chol(s, device = "cuda"),
    lu = function() gpu_lu(a, device = "cuda"),
    qr = function() gpu_qr(a, device = "cuda")
  )
  base <- list(product = function() a %*% b, chol = function() chol(s))
  repeats <- if (n <= 4096) 11 else if (n <= 8192) 7 else 3
  do.call(rbind, lapply(names(verbs), function(verb) {
    ours <- wall_ms(verbs[[verb]], repeats)
    floor <- if (verb %in% c("product", "chol")) floor_ms(verb, n) else NA_real_
    with_base <- n <= 8192 && !is.null(base[[verb]]) &&
      !nzchar(Sys.getenv("CUDAFACTOR_BENCH_QUICK"))
    base_ms <- if (with_base) wall_ms(base[[verb]], if (n <= 1024) 5 else 1) else NA_real_
    row <- data.frame(
      verb = verb, n = n, ours_ms = ours, torch_ms = peer(paste0("torch_", verb), n),
      torch_over_ours = peer(paste0("torch_", verb), n) / ours,
      base_ms = base_ms, base_over_ours = base_ms / ours, floor_ms = floor,
      ours_over_floor = ours / floor
    )
    print(row, digits = 3, row.names = FALSE)
    row
  }))
}))

# One GiB to the device and back. A result's memory is new to the process the first time and used
# again afterwards.
if (!nzchar(Sys.getenv("CUDAFACTOR_BENCH_QUICK"))) {
  n <- 11585
  x <- matrix(runif(n * n), n)
  to <- wall_ms(function() as_gpu(x, device = "cuda"), 7)
  g <- as_gpu(x, device = "cuda")
  first <- median(vapply(1:5, function(i) {
    gc(FALSE)
    .External(cudafactor:::release_results)
    start <- as.double(Sys.time())
    back <- as.matrix(g)
    1e3 * (as.double(Sys.time()) - start)
  }, 0))
  from <- wall_ms(function() as.matrix(g), 7)
  stopifnot(identical(as.matrix(g), x))
  ms <- c(to, first, from)
  calls <- c("as_gpu(x)", "as.matrix(g), memory new to the process", "as.matrix(g)")
  transfers <- data.frame(call = calls, ms = ms, GB_per_s = 8 * n^2 / ms / 1e6)
  print(transfers)
  bench_write("transfers", "One GiB to the GPU and back", list(`Transfers alone` = transfers), c(
    paste0(
      "- a matrix of order 11585 (1 GiB); medians of 7 after at least 0.3 s of others; of 5 with ",
      "new memory"
    )
  ), by = "bench/dense/host.sh")
}

bench_write("host", "From R matrix to R matrix", list(`Beside PyTorch and base R` = results), c(
  paste0(
    "- PyTorch: NumPy array in, NumPy array out (`host_torch.py`), in the same run; qr: R alone ",
    "there, R's whole `qr` object here"
  ),
  paste0(
    "- medians of 11 (n <= 4096), 7 (8192) or 3 calls after at least 0.3 s of others; PyTorch ",
    "likewise; base R once above 1024"
  ),
  paste0(
    "- our results lie in memory used again, as in a session's later calls; PyTorch's are new ",
    "each time"
  ),
  paste0(
    "- floor: the largest of bytes in and bytes out over the bus, arithmetic (PyTorch's, data on ",
    "the device), and the host's own work"
  ),
  paste0(
    "  (copies to and from pinned memory, first touch of the result), each at the rate measured ",
    "in the same run"
  ),
  paste0("- ", utils::capture.output(print(peers[peers$n == 2^30, ], row.names = FALSE)))
), by = "bench/dense/host.sh")
