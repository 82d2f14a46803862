# Cholesky factorizations of R matrices with little of a GPU's memory, and on several GPUs, compared
# with the same in one GPU's memory. Writes chol-host.md and chol-host.csv.
#   Rscript bench/cholesky/chol-host.R [ORDER]...
# Orders of 65536 need 100 GB of host memory.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

orders <- as.numeric(commandArgs(trailingOnly = TRUE))
if (!length(orders)) orders <- c(8192, 16384, 32768)
gpus <- nrow(gpu_info())
stopifnot(gpus > 0)

now <- function() as.double(Sys.time())
# The median of some calls, after one that is not counted. Results of earlier calls are collected,
# and `before` is called, before the clock starts.
seconds <- function(call, times, before = NULL) {
  once <- function(i) {
    gc()
    if (!is.null(before)) before()
    start <- now()
    call()
    now() - start
  }
  once()
  median(vapply(seq_len(times), once, 0))
}
finished <- function() as.matrix(as_gpu(matrix(1)))

gib <- matrix(1, 2^13, 2^14)
bus <- 2^30 / seconds(function() { g <- as_gpu(gib); finished() }, 5)
rm(gib)

# Bytes read and written by a copy in host memory on all cores, a second, as PyTorch makes it; NA
# where it is not there.
copies <- function() {
  code <- paste(
    "import time, torch; a = torch.ones(2**28, dtype=torch.float64)",
    "b = torch.empty_like(a); t = []",
    "for i in range(6):",
    "    s = time.perf_counter(); b.copy_(a); t.append(time.perf_counter() - s)",
    "print(2 * 2**31 / sorted(t)[2])", sep = "\n"
  )
  out <- tryCatch(system2("python3", c("-c", shQuote(code)), stdout = TRUE, stderr = FALSE),
    error = function(e) "", warning = function(w) "")
  suppressWarnings(as.double(utils::tail(c("", out), 1L)))
}
memory <- copies()

all <- seq_len(gpus) - 1
matrix_of <- function(n)
  as.matrix(lazy_covariance(matrix(runif(2 * n), n), range = 0.1, nugget = 0.1))
# With these options.
timed <- function(x, times, before = NULL, ...) {
  old <- options(...)
  on.exit(options(old))
  seconds(function() gpu_chol(x, device = "auto"), times, before)
}

# Operations per second of the largest matrix so far that fits the GPU together with its factor.
rate <- NA_real_
rows <- lapply(orders, function(n) {
  x <- matrix_of(n)
  times <- if (n < 30000) 5 else 2
  one <- timed(x, times, NULL, cudafactor.devices = 0)
  limited <- if (n <= 16384)
    timed(x, times, NULL, cudafactor.devices = 0, cudafactor.gpu_memory = 512 * 2^20) else NA_real_
  several <- if (gpus > 1L) timed(x, times, NULL, cudafactor.devices = all) else NA_real_
  # With the options of a new session.
  default <- timed(x, times)
  stays <- seconds(function() chol_gpus(x), times)
  devices <- paste(chol_gpus(x)$devices, collapse = " ")
  stays_named <- if (gpus > 1L) seconds(function() chol_gpus(x, devices = all), times) else NA_real_
  in_core <- NA_real_
  if (n <= gpu_max_n("chol") / sqrt(2)) {
    g <- as_gpu(x)
    in_core <- seconds(function() { r <- chol(g); finished() }, times)
    rm(g)
    rate <<- n^3 / 3 / in_core
  }
  floor <- max(8 * n^2 / 2 / bus, n^3 / 3 / rate)
  row <- data.frame(
    memory = "kept", n = n, in_core_s = in_core, in_core_tflops = n^3 / 3 / in_core / 1e12,
    floor_s = floor, one_s = one, one_over_floor = one / floor,
    limited_s = limited, one_over_limited = one / limited, gpus = gpus, several_s = several,
    one_over_several = one / several,
    several_tflops = n^3 / 3 / several / 1e12, default_s = default, stays_s = stays,
    one_over_stays = one / stays, stays_tflops = n^3 / 3 / stays / 1e12,
    stays_named_s = stays_named, stays_on = devices
  )
  print(row, digits = 3)
  row
})
# Last, since it leaves the system's memory in pieces.
n <- 65536
if (gpus > 1L && n %in% orders) {
  x <- matrix_of(n)
  anew <- rows[[1L]]
  anew[] <- NA
  anew[c("memory", "n", "gpus")] <- list("anew", n, gpus)
  anew$one_s <- timed(x, 2, gpu_free, cudafactor.devices = 0)
  anew$several_s <- timed(x, 2, gpu_free, cudafactor.devices = all)
  anew$default_s <- timed(x, 2, gpu_free)
  anew$one_over_several <- anew$one_s / anew$several_s
  rows <- c(rows, list(anew))
}
bench_write("chol-host", "Cholesky factorizations from R matrix to R matrix",
    list(Runs = do.call(rbind, rows)), c(
  sprintf(
    "- medians of 5 calls after one, of 2 from order 30000 on; bus: %.1f GB/s up, from R's memory",
    bus / 1e9),
  sprintf("- host memory: %.0f GB/s, read and written by copies of 2 GiB on all cores",
    memory / 1e9),
  paste0(
    "- `in_core_s`: a matrix that is on the GPU, to a factor there; `floor_s`: the larger of n^3 ",
    "/ 3 operations at that rate (or the last order's) and of one triangle's way over the bus"
  ),
  paste0(
    "- `one_s`: `gpu_chol()` on one GPU; `limited_s`: with `options(cudafactor.gpu_memory = 512 ",
    "* 2^20)`; `several_s`: with `options(cudafactor.devices =)` of all `gpus`; `default_s`: ",
    "without options"
  ),
  paste0(
    "- `stays_s`: `chol_gpus(x)` without options, which leaves the factor on the GPUs ",
    "`stays_on`; `stays_named_s`: with `devices =` of all GPUs"
  ),
  paste0(
    "- `memory`: `kept` where results have that of earlier ones, which R has collected; `anew` ",
    "after `gpu_free()`, so that the system gives all of it and the GPUs', too"
  )
))
