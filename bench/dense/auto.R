# Whether device = "auto" is as fast as the better of the two, and no slower than base R: cudafactor
# on the CPU, on the GPU and by "auto", and base R, taking turns. Writes auto.md and auto.csv.
#   Rscript bench/dense/auto.R [seconds per row]

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

given <- commandArgs(trailingOnly = TRUE)
budget <- if (length(given)) as.numeric(given[[1]]) else 1
orders <- c(16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096)
verbs <- cudafactor:::benchmark_verbs
seconds <- function() as.numeric(Sys.time())

# Median milliseconds of each, in turns; short calls are timed many together. Who takes more than
# ten times as long as the fastest is called once.
in_turns <- function(runs) {
  clock <- function(run, calls) {
    start <- seconds()
    for (i in seq_len(calls)) run()
    1e3 * (seconds() - start) / calls
  }
  for (run in runs) run()
  first <- vapply(runs, clock, 0, calls = 1L)
  if (max(first) < 10) first <- pmin(first, vapply(runs, clock, 0, calls = 10L))
  calls <- pmax(1L, as.integer(2 / pmax(first, 1e-3)))
  often <- runs[first <= 10 * min(first)]
  times <- list()
  ends <- seconds() + budget
  while (length(times) < 3L || seconds() < ends && length(times) < 25L) {
    times[[length(times) + 1L]] <- mapply(clock, often, calls[names(runs) %in% names(often)])
  }
  out <- first
  out[names(often)] <- apply(do.call(rbind, times), 2L, stats::median)
  out
}

rows <- list()
for (verb in names(verbs)) {
  for (n in orders) {
    x <- cudafactor:::benchmark_matrix(verb, n)
    ours <- verbs[[verb]][[1]]
    runs <- list(
      base = function() verbs[[verb]][[2]](x), cpu = function() ours(x, device = "cpu"),
      auto = function() ours(x)
    )
    if (gpu_available()) runs$gpu <- function() ours(x, device = "cuda")
    if (n > 2048 && verb == "qr") runs$base <- NULL
    ms <- in_turns(runs)
    runs$auto()
    time <- function(who) if (who %in% names(ms)) ms[[who]] else NA_real_
    best <- min(time("cpu"), time("gpu"), na.rm = TRUE)
    rows[[length(rows) + 1L]] <- data.frame(
      what = verb, n = as.integer(n), base_ms = time("base"), cpu_ms = time("cpu"),
      gpu_ms = time("gpu"), auto_ms = time("auto"),
      auto = gpu_last_device(), auto_to_best = time("auto") / best,
      auto_to_base = time("auto") / time("base"),
      added_us = 1e3 * (time("auto") - time("base"))
    )
    cat(verb, n, format(signif(ms, 3)), "\n")
  }
}
rows <- do.call(rbind, rows)
title <- "device = \"auto\" compared with the CPU, the GPU and base R"
bench_write("auto", title, list(times = rows), c(
  paste0(
    "Median milliseconds from R matrix to R matrix, taking turns. `auto` is the device it chose, ",
    "`auto_to_best` its time over that of the faster of"
  ),
  paste0(
    "the CPU backend and the GPU, `auto_to_base` its time over base R's, `added_us` the ",
    "difference in microseconds."
  )
))
