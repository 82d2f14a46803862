# What a call costs on the CPU, next to base R's: the first calls of a session, and small matrices.
#   Rscript bench/package/calls-cpu.R
#
# First calls: medians over fresh processes of one call each, and of the next call with the same
# arguments. Small matrices: one thread on both sides; both answers are compared, then our call and
# base R's take turns, each for at least 20 ms. The fastest turn counts, because other processes may
# share the cores.

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

processes <- 15L
turns <- 25L
sizes <- c(1L, 8L, 32L, 64L, 128L)

first_calls <- list(
  chol = c("gpu_chol(x)", "chol(x)"),
  matmult = c("gpu_matmult(x, x)", "x %*% x"),
  solve = c("gpu_solve(x)", "solve(x)"),
  qr = c("gpu_qr(x)", "qr(x)"),
  lu = c("gpu_lu(x)", NA),
  crossprod = c("gpu_crossprod(x)", "crossprod(x)"),
  available = c("gpu_available()", NA)
)

now <- function() as.double(Sys.time())

# In a fresh process: milliseconds of library(), of the first call, and of the second.
measure_first <- function(package, code) {
  for (i in 1:10) now()
  t0 <- now()
  if (!is.na(package)) library(package, character.only = TRUE)
  t1 <- now()
  x <- diag(3)
  call <- if (!is.na(code)) parse(text = code)[[1L]]
  t2 <- now()
  eval(call)
  t3 <- now()
  eval(call)
  t4 <- now()
  cat(1e3 * c(t1 - t0, t3 - t2, t4 - t3), "\n")
}

fresh <- function(package, code) {
  times <- vapply(seq_len(processes), function(i) {
    line <- system2(file.path(R.home("bin"), "Rscript"),
      c(shQuote(script), "--first", package, shQuote(code)), stdout = TRUE)
    as.double(strsplit(trimws(line[[length(line)]]), " ")[[1]])
  }, numeric(3))
  apply(times, 1L, stats::median)
}

# Operands in an environment, and the calls of both sides.
operations <- function(n) {
  set.seed(n)
  x <- matrix(stats::rnorm(n * n), n)
  list(
    env = list2env(list(x = x, y = matrix(stats::rnorm(n * n), n), b = stats::rnorm(n),
      s = crossprod(x) + n * diag(n))),
    calls = list(
      matmult = c("gpu_matmult(x, y)", "x %*% y"),
      crossprod = c("gpu_crossprod(x)", "crossprod(x)"),
      tcrossprod = c("gpu_tcrossprod(x, y)", "tcrossprod(x, y)"),
      chol = c("gpu_chol(s)", "chol(s)"),
      solve = c("gpu_solve(s, b)", "solve(s, b)"),
      inverse = c("gpu_solve(s)", "solve(s)"),
      qr = c("gpu_qr(s)", "qr(s)"),
      lu = c("gpu_lu(s)", NA)
    )
  )
}

# Microseconds of an expression in a loop of k rounds.
loop <- function(code, env) {
  f <- eval(call("function", as.pairlist(alist(k = )),
    bquote(for (i in seq_len(k)) .(parse(text = code)[[1L]]))), env)
  compiler::cmpfun(f)
}

in_turns <- function(codes, env) {
  loops <- lapply(codes, loop, env)
  rounds <- vapply(loops, function(f) {
    k <- 8
    repeat {
      start <- now()
      f(k)
      if (now() - start > 0.02) return(k)
      k <- 2 * k
    }
  }, 0)
  times <- vapply(seq_len(turns), function(turn) {
    vapply(sample(seq_along(loops)), function(i) {
      start <- now()
      loops[[i]](rounds[[i]])
      c(i, 1e6 * (now() - start) / rounds[[i]])
    }, numeric(2))
  }, matrix(0, 2, length(loops)))
  vapply(seq_along(loops), function(i) min(times[2, , ][times[1, , ] == i]), 0)
}

measure_small <- function(file) {
  library(cudafactor)
  rows <- list()
  for (n in sizes) {
    o <- operations(n)
    for (verb in names(o$calls)) {
      codes <- o$calls[[verb]]
      codes <- codes[!is.na(codes)]
      values <- lapply(parse(text = codes), eval, o$env)
      if (length(codes) == 2L && !isTRUE(all.equal(values[[1]], values[[2]]))) {
        stop(verb, " of order ", n, " differs from base R's")
      }
      us <- in_turns(codes, o$env)
      rows[[length(rows) + 1L]] <- data.frame(verb = verb, n = n, ours_us = us[[1]],
        base_us = us[2], base_over_ours = us[2] / us[[1]])
      message(paste(format(rows[[length(rows)]]), collapse = " "))
    }
  }
  utils::write.csv(do.call(rbind, rows), file, row.names = FALSE)
}

arguments <- commandArgs(trailingOnly = TRUE)
script <- normalizePath(file.path(here, "calls-cpu.R"))
if (length(arguments) && arguments[[1]] == "--first") {
  arguments[arguments == "NA"] <- NA
  measure_first(arguments[[2]], arguments[[3]])
} else if (length(arguments) && arguments[[1]] == "--small") {
  measure_small(arguments[[2]])
} else {
  library(cudafactor)
  row <- function(call, first, second) {
    data.frame(call = call, first_ms = first, second_ms = second, difference_ms = first - second)
  }
  ours <- list()
  base <- list()
  for (verb in names(first_calls)) {
    codes <- first_calls[[verb]]
    t <- fresh("cudafactor", codes[[1]])
    ours[[verb]] <- row(codes[[1]], t[[2]], t[[3]])
    if (!is.na(codes[[2]])) {
      t <- fresh(NA, codes[[2]])
      base[[verb]] <- row(codes[[2]], t[[2]], t[[3]])
    }
    message(codes[[1]])
  }
  packages <- c("cudafactor", "Matrix", "stats4")
  packages <- packages[vapply(packages, requireNamespace, NA, quietly = TRUE)]
  attach <- data.frame(package = packages,
    ms = vapply(packages, function(p) fresh(p, NA)[[1]], 0))
  out <- tempfile(fileext = ".csv")
  code <- system2("env", c("OPENBLAS_NUM_THREADS=1", "CUDAFACTOR_NUM_THREADS=1",
    file.path(R.home("bin"), "Rscript"), shQuote(script), "--small", out))
  stopifnot(code == 0)
  small <- utils::read.csv(out)
  tables <- list("library()" = attach, "First calls" = do.call(rbind, ours),
    "First calls of base R" = do.call(rbind, base), "Small matrices, one thread" = small)
  bench_write("calls-cpu", "What a call costs on the CPU", tables, c(
    sprintf("- first calls: x is diag(3); medians of %d fresh processes", processes),
    sprintf("- small matrices: the fastest of %d turns; base R on the BLAS named above", turns)
  ), all = small)
}
