# The only file that stops or warns. Rust answers with facts; condition-texts.R has the messages.

#' Conditions signalled by cudafactor
#'
#' Every error of this package has class `cudafactor_error` and carries the call that the user
#' wrote. If base R has a message for it, that message is used. Test classes and fields, not
#' messages.
#'
#' @section Errors:
#' Classes, with their fields in parentheses:
#' - `cudafactor_error_dimension` (`index`, `name` in a list): dimensions do not match, or a matrix
#'   is not square.
#' - `cudafactor_error_type` (`index`, `name` in a list): an operand has a type without this
#'   operation.
#' - `cudafactor_error_argument` (`argument`): another argument has an invalid value. A misspelt
#'   `device` is one, so that a handler that switches to the CPU does not hide it.
#' - `cudafactor_error_non_finite` (`argument`; `index`, `name` in a batch): NA, NaN or Inf where
#'   base R refuses them, or in the update of a factor, a linear program or an image.
#' - `cudafactor_error_not_positive_definite` (`order`; `index`, `name` in a batch): the leading
#'   minor of this order (of matrix `index`) is not positive.
#' - `cudafactor_error_indefinite` (`argument`, `column`, `iteration`, `cosine`): [pcg()] found in
#'   this iteration, for this right-hand side, that `"A"` or `"M"` is not positive definite; without
#'   the last three fields, a sparse factorization found it.
#' - `cudafactor_error_not_symmetric` (`argument`; `index`, `name` in a batch; `asymmetry` of
#'   products): a matrix for [pcg()] or [ichol()], or for [gpu_eigen()] with `k` or of a batch, is
#'   not symmetric, beyond rounding.
#' - `cudafactor_error_not_converged` (`routine`): no method found eigenvalues or singular values
#'   that pass a check.
#' - `cudafactor_error_singular` (`index`, `rcond` or `rank`): the pivot or diagonal entry `index`
#'   is zero; a pivoted factor has rank `index - 1`; `rcond` is below `tol`; or in [gpu_lm_fit()]
#'   the `rank` is below the number of columns (for problem `index`, `name`, in a batch).
#' - `cudafactor_error_device_unavailable` (`reason`): no such device, no driver, a driver that does
#'   not start, or a call from a finalizer or event handler during another computation.
#' - `cudafactor_error_device_memory` (`needed`, `free`, `total`, `held`, `objects`, `device`): the
#'   GPU has too little memory: bytes requested, free, in total, and held by this number of
#'   `gpu_matrix` objects.
#' - `cudafactor_error_device_failed` (`failed_call`, `code`, `name`): the GPU driver or a kernel
#'   failed. That GPU cannot be used for the rest of the session.
#' - `cudafactor_error_stale` (`reason`): the values of a [gpu_matrix] or [gpu_factor] are not in
#'   this session: `"elsewhere"` (it came from a file or another session) or `"freed"` by
#'   [gpu_free()].
#' - `cudafactor_error_host_memory` (`needed`): workspace of this many bytes could not be allocated,
#'   or a sparse matrix would take them as an ordinary one (field `free`).
#' - `cudafactor_error_file` (`path`): the system could not create, open, read or write a file; the
#'   message says why.
#' - `cudafactor_error_file_exists` (`path`): a file to be created exists.
#' - `cudafactor_error_file_in_use` (`path`): another process, or another object of this session,
#'   has the file open.
#' - `cudafactor_error_file_corrupt` (`path`, `row`, `col`): the tile in this block row and block
#'   column differs from what was written.
#' - `cudafactor_error_file_format` (`path`; `line` in an MPS file): the file is damaged, cut off,
#'   of another format or another kind of machine, or holds another matrix.
#' - `cudafactor_error_disk_space` (`path`, `needed`, `free`): the disk has no room for the file:
#'   bytes requested, and free (`NA` where the system does not say).
#' - `cudafactor_error_internal`: a bug in this package: please report it.
#'
#' The three `device` classes also have class `cudafactor_error_device`, so one handler can switch
#' to the CPU: see the example. The `file_` classes and `disk_space` also have class
#' `cudafactor_error_file`.
#'
#' The article *Errors and conditions* (`vignettes/articles/errors-and-conditions.Rmd` in the
#' sources) has examples.
#'
#' @section Warnings:
#' All have class `cudafactor_warning`.
#' - `cudafactor_warning_rank_deficient` (`rank`): [gpu_chol()] with `pivot = TRUE` stopped before
#'   the last column.
#' - `cudafactor_warning_ill_conditioned` (`margin`): [chol_downdate()] or [chol_insert()] came
#'   close to a matrix that is not positive definite: the factor has lost digits.
#' - `cudafactor_warning_not_optimal` (`status`): [lp_ipm()] stopped before an optimum, and returns
#'   its best point.
#' - `cudafactor_warning_not_converged` (`columns`, `relative_residual`): [pcg()] did not reach the
#'   tolerance for these right-hand sides, or [gpu_eigen()] or [gpu_svd()] with `k` for these values
#'   (field `limit`); or [random_walker()] did not (field `error`).
#' - `cudafactor_warning_shifted` (`shift`): [ichol()] added this share of the diagonal to the
#'   matrix.
#' - `cudafactor_warning_singular` (`index`): [gpu_lu()] found a pivot of zero; the factorization is
#'   complete.
#' - `cudafactor_warning_device_failed`: a GPU failed, and `device = "auto"` uses the CPU from now
#'   on.
#' - `cudafactor_warning_argument` (`path`, `line`, `count` in an MPS file): an argument, or an
#'   entry of a file for [lp_read_mps()], is ignored.
#' - `cudafactor_warning_no_checksum` (`path`): [gpu_restore()] read a file of an earlier version.
#' - `cudafactor_warning_coercion`, `cudafactor_warning_names`, `cudafactor_warning_nan`,
#'   `cudafactor_warning_accuracy`, `cudafactor_warning_recycling`, `cudafactor_warning_empty`: see
#'   the article.
#'
#' @section Messages:
#' Class `cudafactor_plan`: where and how a computation ran, under
#' `options(cudafactor.verbose = TRUE)`. See [cudafactor-options].
#'
#' @section Interrupts:
#' Ctrl-C signals a condition of classes `cudafactor_interrupted`, `interrupt` and `condition`.
#'
#' @examples
#' # On a GPU if there is one, else on the CPU with a message
#' tryCatch(gpu_chol(diag(2), device = "cuda"),
#'   cudafactor_error_device = function(e) {
#'     message("on the CPU: ", conditionMessage(e))
#'     gpu_chol(diag(2), device = "cpu")
#'   })
#' @name cudafactor_conditions
#' @aliases cudafactor_error cudafactor_warning
NULL

# Kinds with another class between theirs and cudafactor_error.
device_kinds <- c("device_unavailable", "device_memory", "device_failed")
file_kinds <- c("file_exists", "file_in_use", "file_corrupt", "file_format", "disk_space")

error_condition <- function(kind, message, call, fields = list()) {
  structure(
    class = c(
      paste0("cudafactor_error_", kind),
      if (kind %in% device_kinds) "cudafactor_error_device",
      if (kind %in% file_kinds) "cudafactor_error_file",
      "cudafactor_error", "error", "condition"
    ),
    c(list(message = message, call = call), fields)
  )
}

# Stops with class cudafactor_error_<kind>. `call` is the call the user wrote.
abort <- function(kind, message, call, ...) {
  stop(error_condition(kind, message, call, list(...)))
}

abort_dimension <- function(message, call) abort("dimension", message, call)

abort_type <- function(message, call) abort("type", message, call)

# Signals base R's error `e` again by `abort_kind`, with the user's call. Conditions of this
# package are passed on, and so are base R's errors about memory: those are not about operands.
abort_as <- function(e, abort_kind, call) {
  if (inherits(e, "cudafactor_error") ||
    grepl("cannot allocate|memory exhausted", conditionMessage(e))) stop(e)
  abort_kind(conditionMessage(e), call)
}

abort_argument <- function(argument, message, call) {
  abort("argument", message, call, argument = argument)
}

# Base R's `message`, with the name of the user's argument at the end if it is not there.
naming <- function(message, argument) {
  named <- grepl(sprintf("(?<![A-Za-z])\\Q%s\\E(?![A-Za-z])", argument), message, perl = TRUE)
  if (named) message else sprintf("%s ('%s')", message, argument)
}

# A handler for as_base(): the error for an argument.
invalid <- function(argument) {
  function(message, call) abort_argument(argument, naming(message, argument), call)
}

# Warns with class cudafactor_warning_<kind>.
warn <- function(kind, message, call, ...) {
  warning(structure(
    class = c(paste0("cudafactor_warning_", kind), "cudafactor_warning", "warning", "condition"),
    list(message = message, call = call, ...)
  ))
}

# A message of base R in the user's language. `domain` is its catalogue in base R: "R" for
# compiled code, "R-base" or "R-stats" for R code.
base_text <- function(fmt, ..., domain = "R") gettextf(fmt, ..., domain = domain)

# The values in a native routine's reply, `out` if the routine filled that, or the condition that
# its error stands for.
#
# `routine` selects the base R routine whose message applies: see singular_text().
unwrap <- function(reply, call, routine = NULL, out = NULL) {
  tell(reply, call)
  err <- reply$err
  if (is.null(err)) {
    return(reply$ok %||% out)
  }
  raise(err$kind, err$message, err$fields, call, routine)
}

# Shows what a reply says beside its values: the plan of the call, and that a GPU failed.
tell <- function(reply, call) {
  # A device that is not there computes nothing.
  if (!is.null(reply$plan) && !identical(reply$err$kind, "device_unavailable")) {
    say_plan(reply$plan, call)
  }
  if (!is.null(reply$warning)) {
    warn("device_failed", paste0(reply$warning, "; device = \"auto\" now uses the CPU"), call)
  }
}

# Shows the plan of a call, as option cudafactor.verbose asks for: a message that handlers and
# suppressMessages() know.
say_plan <- function(plan, call) {
  text <- paste0(called_name(call), plan$text, "\n")
  fields <- plan[c("device", "way", "cpu_seconds", "gpu_seconds", "free_bytes")]
  message(structure(
    class = c("cudafactor_plan", "message", "condition"),
    c(list(message = text, call = call), fields)
  ))
}

# "gpu_chol(): " of a call gpu_chol(x), without the package's name; "" where a function was called
# that has no name.
called_name <- function(call) {
  called <- if (is.call(call)) call[[1L]]
  if (is.call(called) && length(called) == 3L && is.name(called[[3L]])) {
    called <- called[[3L]]
  }
  if (is.name(called)) paste0(called, "(): ") else ""
}

raise <- function(kind, message, fields, call, routine) {
  if (kind == "interrupted") {
    interrupt(call)
  }
  text <- switch(kind,
    not_positive_definite = in_batch_text(fields, not_positive_definite_text(fields$order)),
    singular = singular_text(routine, fields, message),
    non_finite = non_finite_text(routine, fields$argument),
    device_unavailable = device_unavailable_text(message),
    device_memory = device_memory_text(fields),
    stale = stale_text(fields$reason),
    disk_space = disk_space_text(fields),
    not_converged = not_converged_text(fields$routine),
    indefinite = if (is.null(fields$cosine)) message else indefinite_text(fields),
    argument = argument_text(routine, fields$argument, message),
    device_failed = paste0(message, "; see gpu_sitrep()"),
    internal = paste0(
      message, "\nThis is a bug in cudafactor: please report it with the call that led here."
    ),
    message
  )
  for (name in intersect(
    names(fields), c("order", "index", "objects", "row", "col", "column", "iteration")
  )) {
    fields[[name]] <- as.integer(fields[[name]])
  }
  stop(error_condition(kind, text, call, fields))
}

# Signals an interrupt as base R does: handlers for "interrupt" run, else control returns to top
# level. The cause may also be R's own error from setTimeLimit(), which is signalled unchanged.
interrupt <- function(call) {
  if (!is.null(e <- .External(take_raised))) {
    stop(e)
  }
  signalCondition(structure(
    class = c("cudafactor_interrupted", "interrupt", "condition"),
    list(message = "", call = call)
  ))
  invokeRestart("abort")
}

`%||%` <- function(x, y) if (is.null(x)) y else x
