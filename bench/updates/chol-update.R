# Run by chol-update.sh, which says what the parts are and what they need: this package's updates
# and downdates, and qrupdate's, and those of the peers.
#   Rscript bench/updates/chol-update.R PEERS.csv PART=ORDER,...:RANK,...

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
source(file.path(here, "chol-update-tables.R"))

given <- commandArgs(trailingOnly = TRUE)
said <- readLines(given[[1L]])
remarks <- unique(sub("^# *", "", grep("^#", said, value = TRUE)))
peers <- utils::read.csv(
  text = c("way,change,n,k,median_s,least_s,error,error_eps",
    grep("^#", said, value = TRUE, invert = TRUE)),
  colClasses = rep(c("character", "numeric"), c(2, 6))
)
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", if (gpu_available()) "cuda" else "cpu")
qrupdate <- Sys.getenv("CUDAFACTOR_QRUPDATE")
if (nzchar(qrupdate)) dyn.load(qrupdate) else remarks <- c(remarks, "no qrupdate")

now <- function() as.double(Sys.time())
# What comes back from the device comes after all that was asked of it before.
finished <- function() if (device != "cpu") as.matrix(as_gpu(matrix(1), device = device))
# Seconds of a call: the median and the least of some runs after others that are not counted.
# Results of earlier runs are collected before the clock starts. Of several calls each run makes
# all, one after the other, and each has its own time. Where a result stays on the device, of so
# many `bytes`, there are 0.2 s of others before, in which the GPU's clock settles, and a run has so
# many calls that it takes 20 ms, or fills 4 GB; of none that changes a matrix in place five at
# least, after one that is not counted, in which the memory that other calls took is given back.
# Where it is an R matrix a run is one call, whose result lies in memory used again, after another
# that is not counted: the first large matrix after gc() has R collect once more, which takes 20 ms
# and more, and threads asleep and caches cold.
measure <- function(..., times = 5, bytes = NULL) {
  there <- !is.null(bytes)
  run <- function(call, calls, before) {
    gc()
    if (before) call()
    start <- now()
    for (i in seq_len(calls)) call()
    finished()
    (now() - start) / calls
  }
  all <- list(...)
  for (call in all) run(call, 1L, FALSE)
  start <- now()
  repeat {
    second <- max(vapply(all, run, 0, calls = 1L, before = FALSE))
    if (!there || now() - start > 0.2) break
  }
  in_place <- identical(bytes, 0)
  calls <- if (there) max(if (in_place) 5 else 1,
    min(200, ceiling(0.02 / second), floor(4e9 / bytes))) else 1L
  counted <- function(i) vapply(all, run, 0, calls = calls,
    before = in_place || (!there && second < 1))
  t <- matrix(vapply(seq_len(times), counted, numeric(length(all))), length(all))
  lapply(seq_along(all), function(i) c(median_s = stats::median(t[i, ]), least_s = min(t[i, ])))
}
row <- function(way, change, n, k, seconds, error = c(NA, NA)) {
  out <- data.frame(
    way = way, change = change, n = n, k = k, median_s = seconds[["median_s"]],
    least_s = seconds[["least_s"]], error = error[[1L]], error_eps = error[[2L]]
  )
  cat(sprintf("%-14s %-4s n = %d, k = %d: %.4g ms, %.3g eps\n", way, change, n, k,
    1e3 * out$median_s, out$error_eps))
  out
}
changes <- list(up = chol_update, down = chol_downdate)

# Column after column by qrupdate, which takes its own time: one run after one that is not counted,
# and more where they are short.
columns <- function(r, v, change, times = 5) {
  loop <- function() {
    done <- .C("qrupdate_columns", nrow(v), ncol(v), as.integer(change == "down"), r = r, v = v,
      double(nrow(v)), seconds = 0, info = 0L)
    stopifnot(done$info == 0L)
    done[c("r", "seconds")]
  }
  first <- loop()
  if (first$seconds > 0.05) times <- if (first$seconds > 0.5) 1 else 3
  t <- vapply(seq_len(times), function(i) loop()$seconds, 0)
  list(factor = first$r, seconds = c(median_s = stats::median(t), least_s = min(t)))
}

# The paper's matrices of order n, and for a rank and a change the factor that is changed, by what,
# and the matrix that has the changed one.
paper_matrix <- function(n) {
  set.seed(n)
  a <- crossprod(as_gpu(matrix(runif(n * n), n), device = device))
  diag(a) <- diag(a) + 1
  a
}
problem <- function(a, k, change) {
  set.seed(k)
  v <- matrix(runif(nrow(a) * k), nrow(a))
  more <- a + tcrossprod(as_gpu(v, device = device))
  down <- change == "down"
  list(factor = chol(if (down) more else a), v = v, matrix = if (down) a else more)
}
error_of <- function(factor, matrix) {
  worst <- max(abs(matrix - crossprod(as_gpu(factor, device = device))))
  c(worst, worst / max(abs(matrix)) / .Machine$double.eps)
}

paper <- function(n, ranks) {
  a <- paper_matrix(n)
  each(ranks, function(k, change) {
    p <- problem(a, k, change)
    f <- changes[[change]]
    r <- as.matrix(p$factor)
    v <- as_gpu(p$v, device = device)
    one <- function(way, call, ...) {
      t <- measure(call, ...)[[1L]]
      row(way, change, n, k, t, error_of(call(), p$matrix))
    }
    rbind(
      one("gpu", function() f(p$factor, v), bytes = 8 * n^2),
      one("gpu_host", function() f(r, p$v, device = device)),
      one("cpu", function() f(r, p$v, device = "cpu")),
      if (nzchar(qrupdate)) {
        loop <- columns(r, p$v, change)
        row("qrupdate", change, n, k, loop$seconds, error_of(loop$factor, p$matrix))
      },
      of_peers("faer", change, n, k), of_peers("cusolver", change, n, k)
    )
  })
}

on_device <- function(n, ranks) {
  places <- matrix(runif(2 * n), n)
  factor <- chol(as_gpu(as.matrix(lazy_covariance(places, range = 0.1, nugget = 0.1)),
    device = device))
  small <- n <= 1000
  r <- if (small) as.matrix(factor)
  timed <- lapply(ranks, function(k) {
    plain <- matrix(runif(n * k), n)
    v <- as_gpu(plain, device = device)
    more <- chol_update(factor, v)
    new <- measure(function() chol_update(factor, v), function() chol_downdate(more, v),
      bytes = 8 * n^2)
    # As many down as up, so that the factor is what it was.
    changed <- factor[, ]
    there <- measure(
      function() chol_update(changed, v, in_place = TRUE),
      function() chol_downdate(changed, v, in_place = TRUE),
      # Nothing is left to be collected.
      bytes = 0
    )
    host <- if (small) {
      up <- as.matrix(more)
      measure(function() chol_update(r, plain, device = "cpu"),
        function() chol_downdate(up, plain, device = "cpu"))
    }
    do.call(rbind, lapply(1:2, function(i) {
      change <- names(changes)[[i]]
      rbind(
        row("new", change, n, k, new[[i]]), row("in_place", change, n, k, there[[i]]),
        if (small) row("cpu", change, n, k, host[[i]])
      )
    }))
  })
  rbind(do.call(rbind, timed), of_peers("cusolver", "", n, 0))
}

from_host <- function(n, ranks) {
  places <- matrix(runif(2 * n), n)
  r <- gpu_chol(as.matrix(lazy_covariance(places, range = 0.1, nugget = 0.1)), device = device)
  none <- measure(function() chol_update(r, matrix(0, n, 0), device = device))[[1L]]
  timed <- lapply(ranks, function(k) {
    v <- matrix(runif(n * k), n)
    more <- chol_update(r, v, device = device)
    t <- measure(function() chol_update(r, v, device = device),
      function() chol_downdate(more, v, device = device))
    rbind(row("gpu_host", "up", n, k, t[[1L]]), row("gpu_host", "down", n, k, t[[2L]]))
  })
  rbind(do.call(rbind, timed), row("no_columns", "", n, 0, none), of_peers("pass", "", n, 0))
}

on_cpu <- function(n, ranks) {
  a <- paper_matrix(n)
  s <- as.matrix(a)
  again <- measure(function() chol(s), times = 3)[[1L]]
  rows <- each(ranks, function(k, change) {
    p <- problem(a, k, change)
    f <- changes[[change]]
    r <- as.matrix(p$factor)
    t <- measure(function() f(r, p$v, device = "cpu"), times = 11)[[1L]]
    error <- error_of(f(r, p$v, device = "cpu"), p$matrix)
    rbind(
      row("cpu", change, n, k, t, error),
      if (nzchar(qrupdate)) {
        loop <- columns(r, p$v, change)
        row("qrupdate", change, n, k, loop$seconds, error_of(loop$factor, p$matrix))
      },
      of_peers("faer", change, n, k), of_peers("cpu_there", change, n, k)
    )
  })
  rbind(rows, row("chol", "", n, 0, again))
}

each <- function(ranks, f) {
  do.call(rbind,
    lapply(ranks, function(k) do.call(rbind,
      lapply(names(changes), function(change) f(k, change)))))
}
of_peers <- function(way, change, n, k) {
  utils::head(peers[peers$way == way & peers$change == change & peers$n == n & peers$k == k, ], 1L)
}

parts <- list(paper = paper, device = on_device, host = from_host, cpu = on_cpu)
for (part in given[-1L]) {
  sizes <- strsplit(sub(".*=", "", part), ":", fixed = TRUE)[[1L]]
  name <- sub("=.*", "", part)
  numbers <- lapply(strsplit(sizes, ",", fixed = TRUE), as.numeric)
  rows <- do.call(rbind, lapply(numbers[[1L]], parts[[name]], ranks = numbers[[2L]]))
  if (name == "device") rows <- rbind(rows, of_peers("copy", "", 0, 0))
  save_part(if (gpu_available()) "chol-update" else "chol-update-cpu", name, rows, remarks)
}
