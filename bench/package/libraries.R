# Times of the CPU's verbs in two installations of this package, such as those by two versions of
# rustc, taking turns in processes of their own. Writes libraries.md and libraries.csv: medians, and
# how many times as long the first takes as the second.
#   Rscript bench/package/libraries.R LIBRARY LIBRARY [ROUNDS]
#   Rscript bench/package/libraries.R --times
# The second form, with one library on R's path, prints the times of one process.

args <- commandArgs(trailingOnly = TRUE)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))

# Seconds of a call: the median of some runs after one that is not counted.
seconds <- function(call, runs, calls) {
  run <- function(i) {
    start <- as.double(Sys.time())
    for (k in seq_len(calls)) call()
    (as.double(Sys.time()) - start) / calls
  }
  run(0)
  stats::median(vapply(seq_len(runs), run, 0))
}

times <- function(n) {
  set.seed(1)
  x <- matrix(rnorm(n * n), n)
  s <- crossprod(x) + diag(n)
  r <- gpu_chol(s)
  v <- matrix(rnorm(n * 8), n) / 10
  verbs <- list(
    matmult = function() gpu_matmult(x, x), chol = function() gpu_chol(s),
    lu = function() gpu_lu(x), qr = function() gpu_qr(x),
    qr_lapack = function() gpu_qr(x, LAPACK = TRUE), solve = function() gpu_solve(x, x),
    chol_update = function() chol_update(r, v),
    backsolve = function() gpu_backsolve(r, x)
  )
  data.frame(n = n, verb = names(verbs),
    s = vapply(verbs, seconds, 0, runs = if (n > 1000) 5 else 15, calls = if (n < 100) 100 else 1))
}

if (identical(args[[1L]], "--times")) {
  library(cudafactor)
  options(cudafactor.device = "cpu")
  utils::write.csv(do.call(rbind, lapply(c(64, 512, 2000), times)), row.names = FALSE)
  quit()
}

source(file.path(here, "..", "common.R"))
rounds <- if (length(args) > 2L) as.integer(args[[3L]]) else 3L
one <- function(library, threads) {
  file <- tempfile()
  on.exit(unlink(file))
  system2(file.path(R.home("bin"), "Rscript"),
    c("--vanilla", file.path(here, "libraries.R"), "--times"), stdout = file,
    env = c(paste0("R_LIBS=", library), paste0("RAYON_NUM_THREADS=", threads)))
  utils::read.csv(file)
}
rows <- list()
for (round in seq_len(rounds)) for (threads in 1:2) for (k in 1:2) {
  rows <- c(rows, list(cbind(which = k, threads = threads, one(args[[k]], threads))))
}
all <- do.call(rbind, rows)
medians <- stats::aggregate(s ~ which + threads + n + verb, all, stats::median)
first <- medians[medians$which == 1, ]
second <- medians[medians$which == 2, ]
table <- merge(first[-1], second[-1], by = c("threads", "n", "verb"),
  suffixes = c("_first", "_second"))
table$first_over_second <- table$s_first / table$s_second
bench_write("libraries", "Two installations", list(Seconds = table), c(
  sprintf("- first: %s; second: %s; medians of %d processes each, taking turns", args[[1L]],
    args[[2L]], rounds)
))
