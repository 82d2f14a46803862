#' Memory on each device
#'
#' `gpu_mem()` tells how much memory each device has and what of it this session uses, `gpu_free()` gives memory back, and
#' `gpu_max_n()` answers how large a matrix may be.
#'
#' The memory of a matrix made by [as_gpu()] is given back when R's garbage collector finds that nothing refers to the matrix any more.
#' Where a GPU has too little memory for what a call needs, the package first returns what it keeps for later calls, then has
#' R look for such matrices, among the young objects and then among all of them, and only then stops with a
#' `cudafactor_error_device_memory` that says how much was asked for, how much is free, and how much is held by how many matrices. Host
#' memory runs out without asking, so for matrices held there (device `"cpu"`) R looks for garbage after as much of them as is held, at
#' least every GiB and at most every 256 MiB: what is held is then at most twice what is in use and half a GiB.
#'
#' Between calls some memory is kept, because getting it takes longer than many a computation: up to an eighth of a GPU's memory, the host
#' memory that copies to and from the GPU go through, and memory of large results that R has collected, up to a quarter of the host's,
#' which the system may take back when it is short of it. `gpu_free()` returns all of that; the next call gets it anew.
#' Unloading the package does the same.
#'
#' @section The largest order:
#' `gpu_max_n()` counts the operands and results, square matrices of one order, and the workspace that the computation cannot do without:
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
#' and 0.2 GiB for the code of kernels and rounding. On the CPU it counts R's matrices, in double precision, with their copies in single
#' precision where that is asked for. Memory that another program takes between the question and the computation is missing then.
#'
#' @section Value:
#' `gpu_mem()`: a data frame with a row for the CPU, one for the first GPU, and one for each other GPU that this session has used; columns,
#' in bytes: `device`; `total`; `free`, what the driver or the system still has to give; `held` by matrices of class
#' `gpu_matrix` and the factors made of them; `objects`, how many these are; `allocated`, all that is in use on behalf of this session;
#' `pooled`, what is kept for the next call; and `staging`, the host memory that copies go through. NA where the system does not tell.
#' `print()` shows sizes in KiB, MiB and GiB, of 1024 of the one before.
#'
#' `gpu_free()`: the table of `gpu_mem()` afterwards, invisibly.
#'
#' `gpu_max_n()`: one number, 0 where nothing fits, NA where the memory of the CPU is not known.
#'
#' @section Failure:
#' `gpu_max_n()` for a GPU that is not there is a `cudafactor_error_device_unavailable`, an unknown `what` a
#' `cudafactor_error_argument`. `gpu_mem()` is no error for want of a GPU.
#' @param what The computation: `"chol"`, `"lu"`, `"qr"`, `"solve"`, `"product"` or `"crossprod"`.
#' @param device `"auto"` (the first GPU where there is one, else the CPU), `"cpu"`, `"cuda"` or `"cuda:<number>"`.
#' @param precision `"double"` or `"single"`.
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
  shown[sizes] <- lapply(shown[sizes], function(bytes) vapply(bytes, function(b) if (is.na(b)) NA_character_ else format_bytes(b), ""))
  print(shown, row.names = FALSE, ...)
  invisible(x)
}

#' @rdname gpu_mem
#' @param x A `gpu_matrix`, or a factor that stays on a device or on several, such as that of [chol_gpus()], whose memory is given back now, instead of when R collects it. Every other name for the same values, and every copy of such a factor, loses them
#'   too; using one of them is then a `cudafactor_error_stale`. Without `x`, what nothing refers to any more is collected, and what is kept
#'   for later calls is given back. A finalizer that R runs in the middle of another computation takes nothing away from it: there `gpu_free()`
#'   does nothing. For `print()`, a table of `gpu_mem()`.
#' @param ... Further arguments of `print()` for data frames.
#' @export
gpu_free <- function(x) {
  call <- sys.call()
  if (missing(x)) {
    gc(verbose = FALSE)
    .External(release_results)
    unwrap(native_gpu_release(), call)
  } else if (!is.null(part <- resident_part(x))) {
    unwrap(native_held_free(part@pointer), call)
  } else if (is_gpu_factor(x)) {
    for (part in x$tiles) unwrap(native_held_free(part@pointer), call)
  } else {
    abort_type("'x' must be a gpu_matrix, or a factor made of one: R frees all else by itself, after rm()", call)
  }
  invisible(memory_table(unwrap(native_gpu_mem(), call)))
}

# The tasks of cost/footprint.rs.
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
    abort_argument("what", sprintf("'what' must be one of %s", paste0("\"", tasks, "\"", collapse = ", ")), call)
  }
  order <- unwrap(native_max_order(what, how(device, precision, call)), call)$order
  if (is.nan(order)) NA_real_ else order
}

# The library stays loaded: threads run its code, and so do the finalizers of matrices that outlive the namespace.
.onUnload <- function(libpath) {
  try(native_gpu_release(), silent = TRUE)
  .External(release_results)
}
