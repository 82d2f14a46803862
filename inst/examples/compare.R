# Times cudafactor beside base R on the machine at hand, result against result.
#
#   Rscript compare.R OUTPUT.md [SIZE...]  runs it and writes a table
#   source("compare.R")                    only defines compare_with_base() and print_comparison()

# ||residual|| scaled by what rounding alone explains: of order 1 or less is as good as it gets.
scaled <- function(residual, n, size) {
  norm(residual, "1") / (n * .Machine$double.eps * size)
}

# One entry per operation: the operand, both ways to the result, and the residual of ours.
operations <- function(n) {
  x <- matrix(rnorm(n * n), n)
  spd <- crossprod(x) + diag(n, n)
  size <- norm(x, "1")
  list(
    matmult = list(
      ours = function() gpu_matmult(x, x),
      base = function() x %*% x,
      # Against one random vector: x (x v) without forming the product again.
      residual = function(r) {
        v <- matrix(rnorm(n))
        norm(r %*% v - x %*% (x %*% v), "1") /
          (n * .Machine$double.eps * size * size * norm(v, "1"))
      }
    ),
    chol = list(
      ours = function() gpu_chol(spd),
      base = function() chol(spd),
      residual = function(r) scaled(crossprod(r) - spd, n, norm(spd, "1"))
    ),
    qr = list(
      ours = function() gpu_qr(x),
      base = function() qr(x),
      residual = function(r) scaled(qr.qy(r, qr.R(r)) - x[, r$pivot], n, size)
    ),
    lu = list(
      ours = function() gpu_lu(x),
      base = function() determinant(x),
      residual = function(r) {
        parts <- lu_expand(r)
        scaled(parts$L %*% parts$U - x[r$perm, ], n, size)
      }
    )
  )
}

seconds_since <- function(start) as.numeric(Sys.time() - start, units = "secs")

elapsed_ms <- function(f) {
  start <- Sys.time()
  f()
  1000 * seconds_since(start)
}

# The times of two calls in milliseconds, each the fastest of at least five: other work on the
# machine only ever adds time. They take turns, so that neither has the better moments.
side_by_side <- function(ours, base, budget) {
  best <- c(Inf, Inf)
  start <- Sys.time()
  turns <- 0
  while (turns < 5 || (turns < 500 && seconds_since(start) < budget)) {
    best <- pmin(best, c(elapsed_ms(ours), elapsed_ms(base)))
    turns <- turns + 1
  }
  best
}

# A data frame with a row for each operation and size; about `budget` seconds for each.
compare_with_base <- function(sizes, budget = 1, names = c("matmult", "chol", "qr", "lu")) {
  rows <- list()
  for (n in sizes) {
    for (name in names) {
      set.seed(n)
      op <- operations(n)[[name]]
      result <- op$ours()
      device <- gpu_last_device()
      ms <- side_by_side(op$ours, op$base, budget)
      rows[[length(rows) + 1L]] <- data.frame(
        operation = name, n = n, device = device, ours_ms = ms[[1L]], base_ms = ms[[2L]],
        ratio = ms[[2L]] / ms[[1L]], residual = op$residual(result)
      )
    }
  }
  rows <- do.call(rbind, rows)
  rows[order(match(rows$operation, names), rows$n), ]
}

print_comparison <- function(times) {
  cat("  operation      n   device    cudafactor      base R    ratio   residual\n")
  cat(sprintf(
    "  %-9s %6d   %-7s %8.2f ms %8.2f ms %7.2fx %10.2g\n",
    times$operation, as.integer(times$n), times$device, times$ours_ms, times$base_ms, times$ratio,
    times$residual
  ), sep = "")
  invisible(times)
}

# What to say of times taken while other work kept the cores busy: nothing, or one sentence. A BLAS
# with threads suffers most, because its threads wait for each other.
busy <- function() {
  load <- tryCatch(scan("/proc/loadavg", n = 1, quiet = TRUE), error = function(e) 0)
  cores <- parallel::detectCores()
  if (load <= 1.3 * cores) return(NULL)
  sprintf("This machine is busy (load average %.1f on %d cores): do not trust these times.", load,
    cores)
}

# What the times hold for: machine, BLAS, versions, day.
provenance <- function() {
  cpu <- tryCatch(
    sub(".*: ", "", grep("^model name", readLines("/proc/cpuinfo"), value = TRUE)[[1L]]),
    error = function(e) Sys.info()[["machine"]]
  )
  gpus <- if (gpu_available()) gpu_info()$name else "no GPU"
  c(
    sprintf("- %s, %d cores; %s", cpu, parallel::detectCores(), paste(gpus, collapse = ", ")),
    sprintf("- %s; BLAS %s", R.version.string, extSoftVersion()[["BLAS"]]),
    sprintf("- cudafactor %s; %s", utils::packageVersion("cudafactor"), Sys.Date()),
    if (nzchar(commit <- Sys.getenv("CUDAFACTOR_COMMIT"))) paste("- commit:", commit),
    if (!is.null(busy())) paste("-", busy())
  )
}

markdown <- function(times) {
  c(
    "| operation | n | device | cudafactor, ms | base R, ms | ratio | scaled residual |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    sprintf("| %s | %d | %s | %.2f | %.2f | %.2f | %.1g |", times$operation, as.integer(times$n),
      times$device,
      times$ours_ms, times$base_ms, times$ratio, times$residual)
  )
}

# Only when run as a script, not when sourced.
if (sys.nframe() == 0L) {
  library(cudafactor)
  arguments <- commandArgs(trailingOnly = TRUE)
  sizes <- if (length(arguments) > 1L) as.numeric(arguments[-1L]) else c(256, 512, 1024, 2048, 4096)
  times <- compare_with_base(sizes)
  print_comparison(times)
  if (length(arguments)) {
    writeLines(c("# cudafactor beside base R", "", provenance(), "", markdown(times)),
      arguments[[1L]])
  }
}
