#' Memory on each device
#'
#' - `gpu_mem()` reports the memory of each device, and how much of it this session uses.
#' - `gpu_free()` releases memory.
#' - `gpu_max_n()` returns the largest order of a matrix that a computation has memory for.
#'
#' The memory of a [gpu_matrix] is released when R's garbage collector finds that nothing refers to
#' the matrix. If a GPU has too little memory for a call, the package first releases the memory that
#' it keeps for later calls. Then it runs the collector, first for young objects and then for all.
#' Only then the call stops with `cudafactor_error_device_memory`, which says how much is needed,
#' free, and held by how many matrices.
#'
#' For matrices in host memory (device `"cpu"`) the collector runs after as many new bytes as are
#' held, but at least 256 MiB and at most 1 GiB. At most twice the memory in use and half a GiB is
#' then held.
#'
#' Between calls some memory is kept, because allocating it takes longer than many computations. It
#' is up to an eighth of a GPU's memory, the host memory for copies to and from the GPU, and the
#' memory of large results that R has collected, up to a quarter of the host's. The system may take
#' back the latter when it is short. `gpu_free()` releases all of that, and so does unloading the
#' package.
#'
#' @section The largest order: `gpu_max_n()` counts the operands and results, square matrices of one
#' order, and the workspace that the computation needs:
#'
#' | `what` | computation | on the GPU |
#' |---|---|---|
#' | `"chol"` | [gpu_chol()] | one matrix |
#' | `"lu"` | [gpu_lu()] | one matrix |
#' | `"qr"` | [gpu_qr()] | one matrix, and 13 KiB for each column |
#' | `"solve"` | [gpu_solve()] with as many right-hand sides as rows | two matrices |
#' | `"product"` | [gpu_matmult()] | three matrices |
#' | `"crossprod"` | [gpu_crossprod()] | two matrices |
#'
#' It adds 0.2 GiB for the code of kernels and for rounding. On the CPU it counts R's matrices in
#' double precision, and their copies for single precision. Other programs may take memory before
#' the computation begins.
#'
#' @return `gpu_mem()`: a data frame with a row for the CPU, one for the first GPU, and one for each
#'   other GPU that this session has used. Sizes are in bytes, NA if the system does not report
#'   them. `print()` shows KiB, MiB and GiB.
#' \describe{
#'   \item{`device`, `total`}{name of the device and its memory.}
#'   \item{`free`}{memory that the driver or the system can still allocate.}
#'   \item{`held`, `objects`}{memory of `gpu_matrix` objects and factors, and their number.}
#'   \item{`allocated`}{all memory in use by this session.}
#'   \item{`pooled`}{memory kept for the next call.}
#'   \item{`staging`}{host memory for copies to and from the GPU.}
#' }
#'
#' `gpu_free()`: the table of `gpu_mem()` afterwards, invisibly.
#'
#' `gpu_max_n()`: one number. It is 0 if nothing fits, and NA if the memory of the CPU is not known.
#'
#' @section Errors:
#' - `cudafactor_error_device_unavailable`: `gpu_max_n()` for a GPU that does not exist. `gpu_mem()`
#'   needs no GPU.
#' - `cudafactor_error_argument`: an unknown `what`.
#' - `cudafactor_error_type`: `x` is neither a `gpu_matrix` nor a factor made of one.
#' @param what The computation: `"chol"`, `"lu"`, `"qr"`, `"solve"`, `"product"` or `"crossprod"`.
#' @param device `"auto"` (the first GPU, or the CPU if there is none), `"cpu"`, `"cuda"` or
#'   `"cuda:<number>"`.
#' @param precision `"double"` (the default) or `"single"`.
#' @seealso [gpu_info()] for the names of the GPUs.
#' @examples
#' gpu_mem()
#' gpu_max_n("chol")
#' gpu_max_n("product", device = "cpu", precision = "single")
#' gpu_free()
#' @name gpu_mem
NULL

#' @rdname gpu_mem
#' @export
gpu_mem <- function() {
  memory_table(unwrap(native_gpu_mem(), sys.call()))
}

memory_table <- function(facts) {
  known <- function(bytes) ifelse(is.nan(bytes), NA_real_, bytes)
  pooled <- facts$pooled
  pooled[facts$device == "cpu"] <- .External(kept_results)
  table <- data.frame(
    device = as.character(facts$device),
    total = known(facts$total),
    free = known(facts$free),
    held = facts$held,
    objects = as.integer(facts$objects),
    allocated = facts$allocated,
    pooled = pooled,
    staging = facts$staging,
    stringsAsFactors = FALSE
  )
  class(table) <- c("gpu_mem", class(table))
  table
}

#' @rdname gpu_mem
#' @export
print.gpu_mem <- function(x, ...) {
  shown <- as.data.frame(x)
  sizes <- intersect(names(x), c("total", "free", "held", "allocated", "pooled", "staging"))
  size_text <- function(bytes) if (is.na(bytes)) NA_character_ else format_bytes(bytes)
  shown[sizes] <- lapply(shown[sizes], function(bytes) vapply(bytes, size_text, ""))
  print(shown, row.names = FALSE, ...)
  invisible(x)
}

#' @rdname gpu_mem
#' @param x For `gpu_free()`: a `gpu_matrix`, or a factor on one device or several, such as that of
#'   [chol_gpus()]. Its memory is released now. Other names for the same values, and copies of such
#'   a factor, lose them too; using one is then a `cudafactor_error_stale`. Without `x`, objects
#'   without references and memory kept for later calls are released. For `print()`: a table of
#'   `gpu_mem()`.
#'
#'   A finalizer that calls `gpu_free()` during another computation releases nothing.
#' @param ... Further arguments of `print()` for data frames.
#' @export
gpu_free <- function(x) {
  call <- sys.call()
  if (missing(x)) {
    gc(verbose = FALSE)
    .External(release_results)
    unwrap(native_gpu_release(), call)
  } else if (!is.null(part <- resident_part(x))) {
    unwrap(native_resident_free(part@pointer), call)
  } else if (is_gpu_factor(x)) {
    for (part in x$tiles) unwrap(native_resident_free(part@pointer), call)
  } else {
    text <- paste(
      "'x' must be a gpu_matrix, or a factor made of one, not of class \"%s\":",
      "use rm() and gc() for other objects"
    )
    abort_type(sprintf(text, class(x)[[1L]]), call)
  }
  invisible(memory_table(unwrap(native_gpu_mem(), call)))
}

# The names that Rust knows in cost/footprint.rs.
tasks <- c("chol", "lu", "qr", "solve", "product", "crossprod")

#' @rdname gpu_mem
#' @export
gpu_max_n <- function(what = c("chol", "lu", "qr", "solve", "product", "crossprod"),
                      device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (missing(what)) {
    what <- tasks[[1L]]
  }
  if (!(is.character(what) && length(what) == 1L && what %in% tasks)) {
    choices <- paste0("\"", tasks, "\"", collapse = ", ")
    abort_argument("what", sprintf("'what' must be one of %s", choices), call)
  }
  order <- unwrap(native_max_order(what, how(device, precision, call)), call)$order
  if (is.nan(order)) NA_real_ else order
}

# The library stays loaded, since threads and the finalizers of remaining matrices run its code.
.onUnload <- function(libpath) {
  try(native_gpu_release(), silent = TRUE)
  .External(release_results)
}
