#' Where a GPU begins to pay on this machine
#'
#' `gpu_benchmark()` times operations on square matrices of growing order on the GPU, on this
#' package's CPU backend and in base R. Each time is from R matrix to R matrix, with transfers. It
#' reports the order from which the GPU is the fastest, and what `device = "auto"` chooses. Without
#' a GPU it times the others.
#'
#' Each time is a median of several calls. A first call is not counted: it includes the time that
#' the driver takes to load a kernel. An order is left out (NA) if the times so far
#' suggest that it would exceed its share of `seconds`. Ctrl-C ends the benchmark.
#'
#' | `what` | cudafactor | base R |
#' |---|---|---|
#' | `"product"` | [gpu_matmult()] | `x %*% x` |
#' | `"crossprod"` | [gpu_crossprod()] | `crossprod(x)` |
#' | `"chol"` | [gpu_chol()] | `chol(x)` |
#' | `"lu"` | [gpu_lu()] | `determinant(x)`, which is mostly LU |
#' | `"qr"` | [gpu_qr()] | `qr(x)` |
#' | `"solve"` | [gpu_solve()] of one matrix | `solve(x)` |
#'
#' @section Using the measurements:
#' `options(cudafactor.breakeven = attr(b, "breakeven"))` makes `device = "auto"` use the measured
#' orders instead of its model, for calls in double precision; see [cudafactor-options].
#' `keep = TRUE` sets this option, and writes the orders to
#' `tools::R_user_dir("cudafactor", "config")`. Orders kept before stay for the operations that
#' `what` does not name. `library(cudafactor)` then sets the option in later sessions on this
#' machine, until its driver or GPUs change or you delete the file.
#'
#' @section Errors:
#' * `cudafactor_error_argument`: an argument has an invalid value, or `keep` is `TRUE` without a
#'   GPU, without a folder that can be written, or with `precision = "single"`.
#' * `cudafactor_error_device_unavailable`: the requested `device` does not exist.
#'
#' @param what Operations, from the table; all by default.
#' @param n Orders of the matrices: whole numbers from 1 to 46340.
#' @param device The GPU: `"cuda"` or `"cuda:<number>"`. `NULL` is the first one, or none if there
#'   is none.
#' @param against What to compare with: `"cpu"`, `"base"` or both.
#' @param seconds The approximate total time, in seconds.
#' @param keep Do later sessions go by the measured orders? `TRUE` or `FALSE`.
#' @param x An object of class `"gpu_benchmark"`.
#' @param ... Ignored by `print()`; further arguments of [graphics::plot()] for `plot()`.
#' @inheritParams gpu_matmult
#' @return A data frame of class `"gpu_benchmark"` with a row for each operation and order. Columns
#' are `what`, `n`, `cpu`, `base` and `gpu` (seconds, NA if not measured) and `auto` (the device
#' that `"auto"` chooses).
#'
#' Attribute `"breakeven"` is a vector named by operation: the order from which the GPU was faster
#' than the CPU backend (than base R, without `"cpu"`). It is interpolated between measured orders.
#' 0 means at every order, Inf at none, NA without a GPU.
#'
#' `print()` shows times in milliseconds, without orders that were not measured. `plot()` draws a
#' panel for each operation.
#' @seealso [cudafactor-options], [gpu_sitrep()]
#' @examples
#' b <- gpu_benchmark(c("product", "chol"), n = c(32, 64, 128), seconds = 0.5)
#' b
#' attr(b, "breakeven")
#' plot(b)
#' @export
gpu_benchmark <- function(what = c("product", "crossprod", "chol", "lu", "qr", "solve"),
                          n = 2^(7:13), device = NULL, precision = "double",
                          against = c("cpu", "base"), seconds = 30, keep = FALSE) {
  call <- sys.call()
  what <- some_of(what, names(benchmark_verbs), "what", call)
  against <- some_of(against, c("cpu", "base"), "against", call)
  n <- benchmark_orders(n, call)
  seconds <- as_number(seconds, "seconds", call)
  if (!isTRUE(keep) && !isFALSE(keep)) {
    abort_argument("keep", "'keep' must be TRUE or FALSE", call)
  }
  if (keep && identical(precision, "single")) {
    abort_argument("keep", paste(
      "'keep' must be FALSE with precision = \"single\":",
      "\"auto\" goes by orders measured in double precision"
    ), call)
  }
  if (is.null(device)) {
    device <- if (gpu_available()) "cuda"
    if (keep && is.null(device)) {
      abort_argument("keep", paste(
        "'keep' must be FALSE without a GPU, because nothing is measured on one:",
        "see gpu_sitrep()"
      ), call)
    }
  } else {
    how(device, precision, call)
    if (!grepl("^cuda", device)) {
      abort_argument("device", "'device' must be NULL, \"cuda\" or \"cuda:<number>\"", call)
    }
    tryCatch(gpu_matmult(diag(1), diag(1), device = device), cudafactor_error = function(e) {
      e$call <- call
      stop(e)
    })
  }
  auto <- how("auto", precision, call)
  columns <- c(against, if (!is.null(device)) "gpu")
  share <- max(seconds, 0) / (length(what) * length(columns))
  rows <- lapply(
    what, function(verb) benchmark_verb(verb, n, columns, device, precision, auto, share)
  )
  out <- do.call(rbind, rows)
  breakeven <- vapply(what, function(verb) breakeven(out[out$what == verb, ]), 0)
  if (keep) {
    options(cudafactor.breakeven = keep_orders(breakeven, call))
  }
  structure(out,
    class = c("gpu_benchmark", "data.frame"), breakeven = breakeven, precision = precision,
    gpu = if (is.null(device)) NA_character_ else device,
    threads = unwrap(native_threads(auto), call)$threads
  )
}

# For each operation, this package's function of one matrix and base R's.
benchmark_verbs <- list(
  product = list(function(x, ...) gpu_matmult(x, x, ...), function(x) x %*% x),
  crossprod = list(function(x, ...) gpu_crossprod(x, ...), function(x) crossprod(x)),
  chol = list(function(x, ...) gpu_chol(x, ...), function(x) chol(x)),
  lu = list(function(x, ...) gpu_lu(x, ...), function(x) determinant(x)),
  qr = list(function(x, ...) gpu_qr(x, ...), function(x) qr(x)),
  solve = list(function(x, ...) gpu_solve(x, ...), function(x) solve(x))
)

some_of <- function(value, choices, argument, call) {
  if (!(is.character(value) && length(value) && all(value %in% choices))) {
    abort_argument(argument,
      sprintf(
        "'%s' must be one or more of %s", argument, paste0("\"", choices, "\"", collapse = ", ")
      ),
      call)
  }
  unique(value)
}

benchmark_orders <- function(n, call) {
  if (!(is.numeric(n) && length(n) && all(is.finite(n)) &&
    all(n >= 1 & n == floor(n) & n <= 46340))) {
    abort_argument("n", "'n' must be whole numbers from 1 to 46340", call)
  }
  sort(unique(as.integer(n)))
}

# A well conditioned matrix, symmetric positive definite for Cholesky. It leaves the session's
# random numbers alone.
benchmark_matrix <- function(verb, n) {
  u <- sin(seq_len(65537)^2)
  x <- if (verb == "chol") tcrossprod(rep_len(u, n)) else matrix(rep_len(u, n * n), n, n)
  diag(x) <- diag(x) + n
  x
}

# The rows of one operation. A column that is too slow for an order is left out for larger ones.
benchmark_verb <- function(verb, n, columns, device, precision, auto, share) {
  ours <- benchmark_verbs[[verb]][[1L]]
  runs <- list(
    cpu = function(x) ours(x, device = "cpu", precision = precision),
    base = benchmark_verbs[[verb]][[2L]],
    gpu = function(x) ours(x, device = device, precision = precision)
  )
  times <- matrix(NA_real_, length(n), 3L, dimnames = list(NULL, names(runs)))
  left <- vapply(columns, function(who) share, 0)
  for (i in seq_along(n)) {
    # The first order is always tried; `left` may be infinite.
    expected <- if (i == 1L) {
      rep(0, length(columns))
    } else {
      2 * times[i - 1L, columns] * (n[[i]] / n[[i - 1L]])^3
    }
    able <- columns[!is.na(expected) & expected <= left]
    if (length(able) == 0L) {
      break
    }
    x <- benchmark_matrix(verb, n[[i]])
    for (who in able) {
      began <- as.numeric(Sys.time())
      # A matrix too large for the GPU has no time.
      times[i, who] <- tryCatch(median_time(runs[[who]], x, left[[who]] / 4),
        cudafactor_error_device_memory = function(e) NA_real_
      )
      left[[who]] <- left[[who]] - (as.numeric(Sys.time()) - began)
    }
  }
  data.frame(
    what = verb, n = n, times,
    auto = vapply(n, function(order) unwrap(native_device_for(verb, order, auto), NULL)$device, "")
  )
}

# Median seconds of a call, after one that is not counted. The clock has microseconds, so calls
# shorter than a millisecond are timed several at once.
median_time <- function(run, x, budget) {
  clock <- function(calls) {
    began <- as.numeric(Sys.time())
    for (i in seq_len(calls)) run(x)
    (as.numeric(Sys.time()) - began) / calls
  }
  clock(1L)
  times <- clock(1L)
  together <- as.integer(min(1000, max(1, ceiling(1e-3 / max(times, 1e-6)))))
  ends <- as.numeric(Sys.time()) + min(budget, 0.5)
  while (length(times) < 11L && as.numeric(Sys.time()) < ends) {
    times <- c(times, clock(together))
  }
  stats::median(times)
}

# The order from which the GPU is faster, from the rows of one operation. It is interpolated on
# logarithmic scales between the last order at which the GPU lost and the next one. An order that
# was too slow for the CPU counts as won.
breakeven <- function(rows) {
  rows <- rows[!is.na(rows$gpu), ]
  if (nrow(rows) == 0L) {
    return(NA_real_)
  }
  cpu <- if (all(is.na(rows$cpu))) rows$base else rows$cpu
  ratio <- log(rows$gpu / cpu)
  lost <- which(!is.na(ratio) & ratio >= 0)
  last <- if (length(lost)) max(lost) else 0L
  if (last == 0L) {
    return(0)
  }
  if (last == nrow(rows)) {
    return(Inf)
  }
  ends <- log(rows$n[last + 0:1])
  if (is.na(ratio[[last + 1L]])) {
    return(rows$n[[last + 1L]])
  }
  round(exp(ends[[1L]] + diff(ends) * ratio[[last]] / (ratio[[last]] - ratio[[last + 1L]])))
}

#' @rdname gpu_benchmark
#' @export
print.gpu_benchmark <- function(x, ...) {
  all <- x
  times <- intersect(c("cpu", "base", "gpu"), names(x))
  times <- times[vapply(times, function(who) !all(is.na(x[[who]])), NA)]
  measured <- rowSums(!is.na(as.data.frame(x)[times])) > 0
  x <- x[measured, ]
  table <- as.data.frame(x)[intersect(c("what", "n", times, "auto"), names(x))]
  for (who in times) {
    table[[who]] <- ifelse(
      is.na(x[[who]]), "",
      format(signif(1e3 * x[[who]], 3), drop0trailing = TRUE, scientific = FALSE)
    )
  }
  names(table)[match(times, names(table))] <- paste0(times, ", ms")
  print(table, row.names = FALSE)
  breakeven <- attr(all, "breakeven")
  if (is.na(attr(all, "gpu") %||% NA)) {
    cat("No GPU to compare with: see gpu_sitrep().\n")
  } else if (length(breakeven)) {
    from <- ifelse(
      breakeven == 0, "at every order",
      ifelse(is.finite(breakeven), paste("from n =", breakeven), "at no order")
    )
    cat("The GPU is faster:\n", sprintf("  %-9s  %s\n", names(breakeven), from), sep = "")
  }
  invisible(all)
}

#' @rdname gpu_benchmark
#' @export
plot.gpu_benchmark <- function(x, ...) {
  verbs <- unique(x$what)
  colours <- c(cpu = "#0072B2", base = "#666666", gpu = "#D55E00")
  names <- c(cpu = "cudafactor on the CPU", base = "base R", gpu = "GPU")
  columns <- Filter(function(who) !all(is.na(x[[who]])), names(colours))
  across <- ceiling(sqrt(length(verbs)))
  old <- graphics::par(mfrow = c(ceiling(length(verbs) / across), across), mar = c(4, 4, 2.5, 1))
  on.exit(graphics::par(old))
  for (verb in verbs) {
    rows <- x[x$what == verb, ]
    times <- 1e3 * as.matrix(as.data.frame(rows)[columns])
    settings <- utils::modifyList(
      list(type = "n", log = "xy", xlab = "n", ylab = "ms", main = verb), list(...)
    )
    do.call(graphics::plot, c(list(range(rows$n), range(times, na.rm = TRUE)), settings))
    for (who in columns) {
      graphics::lines(rows$n, times[, who], type = "b", pch = 19, col = colours[[who]])
    }
    from <- attr(x, "breakeven")[verb]
    if (length(from) == 1L && is.finite(from) && from > 0) {
      graphics::abline(v = from, lty = 2, col = colours[["gpu"]])
    }
    if (verb == verbs[[1L]]) {
      graphics::legend(
        "topleft", names[columns], col = colours[columns], lty = 1, pch = 19, bty = "n"
      )
    }
  }
  invisible(x)
}
