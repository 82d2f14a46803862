#' Where a GPU begins to pay on this machine
#'
#' `gpu_benchmark()` times operations on square matrices of growing order on the GPU, on this
#' package's CPU backend and in base R. Each time is from R matrix to R matrix, with transfers. It
#' reports the order from which the GPU is faster than the CPU backend, and what `device = "auto"`
#' chooses. Without a GPU that can be opened it times the others.
#'
#' Each time is a median of 2 to 11 calls. A first call is not counted: it includes the time that
#' the driver takes to load a kernel. An order is left out (NA) if the times so far suggest that it
#' would exceed its share of `seconds`. The smallest order is always timed, whatever `seconds` says.
#' Ctrl-C ends the benchmark.
#'
#' These calls show no plan and no progress, whatever the options `cudafactor.verbose` and
#' `cudafactor.progress` say.
#'
#' | `what` | cudafactor | base R |
#' |---|---|---|
#' | `"product"` | [gpu_matmult()] | `x %*% x` |
#' | `"crossprod"` | [gpu_crossprod()] | `crossprod(x)` |
#' | `"chol"` | [gpu_chol()] | `chol(x)` |
#' | `"lu"` | [gpu_lu()] | `determinant(x)`, which is mostly LU |
#' | `"qr"` | [gpu_qr()] | `qr(x)` |
#' | `"solve"` | [gpu_solve()] of one matrix | `solve(x)` |
#' | `"eigen"` | [gpu_eigen()] of a symmetric matrix | `eigen(x, TRUE)` |
#' | `"svd"` | [gpu_svd()] | `svd(x)` |
#'
#' @section Using the measurements:
#' `options(cudafactor.breakeven = attr(b, "breakeven"))` makes `device = "auto"` use the measured
#' orders instead of its model, for calls in double precision; see [cudafactor-options].
#' `keep = TRUE` sets this option, and writes the orders to
#' `tools::R_user_dir("cudafactor", "config")`. Orders kept before stay for the operations that
#' `what` does not name. `library(cudafactor)` then sets the option in later sessions on this
#' machine, until its driver or GPUs change or you delete the file.
#'
#' The kept orders say no more than was measured:
#' * 0 is kept as the smallest measured order.
#' * Inf is kept only if the GPU was timed at an order of 2048 or more. Else NA is kept, so that the
#'   model decides.
#'
#' @section Errors:
#' * `cudafactor_error_argument`: an argument or an option has an invalid value, or `plot()` has no
#'   row to show. `keep = TRUE` needs double precision, a folder that can be written, and the GPU
#'   that `"auto"` takes.
#' * `cudafactor_error_device_unavailable`: the requested `device` does not exist.
#'
#' @param what Operations, from the table; all by default.
#' @param n Orders of the matrices: whole numbers from 1 to 46340.
#' @param device The GPU: `"cuda"` or `"cuda:<number>"`. `NULL` is the lowest-numbered GPU of option
#'   `cudafactor.devices`, else `"cuda"`, or none if it cannot be opened.
#' @param against What to compare with: `"cpu"`, `"base"` or both.
#' @param seconds The approximate total time, in seconds, 0 or more.
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
#' 0 means at every measured order, Inf at none of them, NA without a GPU.
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
gpu_benchmark <- function(what = c("product", "crossprod", "chol", "lu", "qr", "solve", "eigen",
                                   "svd"),
                          n = 2^(7:13), device = NULL, precision = "double",
                          against = c("cpu", "base"), seconds = 30, keep = FALSE) {
  call <- sys.call()
  if (!is.null(device) && !(is_string(device) && grepl("^cuda(:[0-9]{1,6})?$", device))) {
    abort_argument("device", sprintf(
      "'device' must be NULL, \"cuda\" or \"cuda:<number>\", not %s", as_code(device)
    ), call)
  }
  what <- some_of(what, names(benchmark_verbs), "what", call)
  against <- some_of(against, c("cpu", "base"), "against", call)
  n <- benchmark_orders(n, call)
  seconds <- as_number(seconds, "seconds", call)
  if (seconds < 0) {
    abort_argument("seconds", sprintf("'seconds' must be 0 or more, not %g", seconds), call)
  }
  if (!isTRUE(keep) && !isFALSE(keep)) {
    abort_argument("keep", sprintf("'keep' must be TRUE or FALSE, not %s", as_code(keep)), call)
  }
  if (keep && identical(precision, "single")) {
    abort_argument("keep", paste(
      "'keep' must be FALSE with precision = \"single\":",
      "\"auto\" goes by orders measured in double precision"
    ), call)
  }
  auto <- how("auto", precision, call)
  if (keep) {
    check_auto_gpu(device, call)
  }
  old <- options(cudafactor.verbose = FALSE, cudafactor.progress = FALSE)
  on.exit(options(old))
  device <- benchmark_gpu(device, call)
  if (keep) {
    check_keeping(device, call)
  }
  columns <- c(against, if (!is.null(device)) "gpu")
  share <- seconds / (length(what) * length(columns))
  rows <- lapply(
    what, function(verb) benchmark_verb(verb, n, columns, device, precision, auto, share)
  )
  out <- do.call(rbind, rows)
  breakeven <- vapply(what, function(verb) breakeven(out[out$what == verb, ]), 0)
  if (keep) {
    options(cudafactor.breakeven = keep_orders(orders_to_keep(out, breakeven), call))
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
  solve = list(function(x, ...) gpu_solve(x, ...), function(x) solve(x)),
  eigen = list(function(x, ...) gpu_eigen(x, TRUE, ...), function(x) eigen(x, TRUE)),
  svd = list(function(x, ...) gpu_svd(x, ...), function(x) svd(x))
)

some_of <- function(value, choices, argument, call) {
  if (!(is.character(value) && length(value) && all(value %in% choices))) {
    abort_argument(argument, sprintf(
      "'%s' must be one or more of %s, not %s", argument,
      paste0("\"", choices, "\"", collapse = ", "), as_code(value)
    ), call)
  }
  unique(value)
}

benchmark_orders <- function(n, call) {
  if (!(is.numeric(n) && length(n) && all(is.finite(n)) &&
    all(n >= 1 & n == floor(n) & n <= 46340))) {
    abort_argument(
      "n", sprintf("'n' must be whole numbers from 1 to 46340, not %s", as_code(n)), call
    )
  }
  sort(unique(as.integer(n)))
}

# The GPU to be timed, opened. NULL where nobody asked for one and none can be opened.
benchmark_gpu <- function(device, call) {
  asked <- !is.null(device)
  if (!asked && !gpu_available()) {
    return(NULL)
  }
  device <- device %||% auto_gpu()
  tryCatch({
    gpu_matmult(diag(1), diag(1), device = device)
    device
  }, cudafactor_error = function(e) {
    if (!asked && inherits(e, "cudafactor_error_device")) {
      return(NULL)
    }
    e$call <- call
    if (inherits(e, "cudafactor_error_device_unavailable")) {
      e$message <- device_unavailable_text(e$reason, "leave 'device' out")
    }
    stop(e)
  })
}

# A matrix that is well conditioned for systems, and symmetric positive definite for Cholesky. It
# leaves the session's random numbers alone.
benchmark_matrix <- function(verb, n) {
  u <- sin(seq_len(65537)^2)
  x <- if (verb == "chol") tcrossprod(rep_len(u, n)) else matrix(rep_len(u, n * n), n, n)
  # A large diagonal would make eigenvalues alike, and these decompositions fast.
  if (!verb %in% c("eigen", "svd")) diag(x) <- diag(x) + n
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
  while (length(times) < 2L || length(times) < 11L && as.numeric(Sys.time()) < ends) {
    times <- c(times, clock(together))
  }
  stats::median(times)
}

# The order from which the GPU is faster, from the rows of one operation: 0 for every measured
# order, Inf for none of them, NA without a GPU. It is interpolated on
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
