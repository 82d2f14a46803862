#' Cholesky factorization of a matrix on disk
#'
#' `chol_file(x)` factors a symmetric positive definite matrix that [tile_matrix()] wrote to a file.
#' It works tile by tile in limited memory: the matrix may be larger than the memory of the GPU and
#' of the machine. The factor is the upper triangular \eqn{R} of [gpu_chol()], with
#' \eqn{R^T R = x}{R'R = x}.
#'
#' Without `file` the factor overwrites the matrix in the file of `x`. With `file` it is written to
#' a second file in the same layout, and `x` is unchanged. `chol(x, file = )` is
#' `chol_file(x, file)`. `chol(x)` and [gpu_chol()] are errors, because they should not change their
#' argument.
#'
#' A file that holds the whole matrix (`triangle = FALSE`) is replaced when the factor is complete,
#' so the disk needs room for both.
#'
#' The article *Larger than memory* (`vignettes/articles/larger-than-memory.Rmd` in the sources) has
#' more about interrupts, memory and several GPUs.
#'
#' @section Interrupted factorizations:
#' After an interrupt, an error, or the end of the process or the machine, the same call with
#' `resume = TRUE` continues. The factor has the same bits, on the same kind of device.
#' `resume = TRUE` also starts a new factorization, and accepts a complete factor, so a script may
#' always use it. In another session, open `x` with [open_tile_matrix()] first.
#'
#' A second file is tied to its matrix by checksums of the tiles. With another matrix
#' `resume = TRUE` is an error, and both files are unchanged. Without `file`, nothing ties the file
#' to a matrix. A script that may be restarted must use a different file name for each matrix:
#' `k <- if (file.exists(file)) open_tile_matrix(file) else tile_matrix(x, file)`.
#'
#' @section Memory:
#' `host_memory` and `gpu_memory` limit the memory for tiles. The defaults are half of the free host
#' memory and three quarters of the free GPU memory, and never more than the matrix takes. Three
#' tiles must fit, on a GPU five: see argument `tile` of [tile_matrix()]. More memory means fewer
#' reads and writes.
#'
#' @section Errors:
#' * `cudafactor_error_not_positive_definite`: the leading minor of order `order` is not positive,
#'   NaN included. If the factor was to overwrite `x`, its file then holds neither matrix nor
#'   factor. A second file is removed.
#' * `cudafactor_error_dimension`: `x` has no rows or is not square.
#' * `cudafactor_error_argument`: too little memory for the tiles; an interrupted factorization
#'   without `resume = TRUE`; `x` is a factor already; `file` holds something else.
#' * `cudafactor_error_file_exists`: `file` exists, without `resume = TRUE`.
#' * `cudafactor_error_file_format`: `file` was begun from another matrix, or the file of `x` now
#'   holds a matrix of other dimensions.
#' * `cudafactor_error_file_corrupt`: a tile differs from what was written (fields `row` and `col`).
#' * `cudafactor_error_disk_space`: the disk has no room for the second file.
#' * Errors of the device: see [cudafactor_conditions].
#'
#' @section Accuracy:
#' As for [gpu_chol()], in the precision of the file.
#'
#' @section Device:
#' For 2048 rows or more `"auto"` uses all GPUs together, if the first one should be faster than the
#' CPU. If the GPUs fail or have too little memory, the CPU continues. The factor has the same bits
#' on any number of GPUs of one model.
#'
#' @param x A square `tile_matrix`. Only its upper triangle is read, as by [base::chol()].
#' @param file The name of a new file for the factor. `NULL`, the default, overwrites `x`.
#' @param resume Continue an interrupted factorization of the same matrix, or accept its complete
#'   factor? `FALSE` by default.
#' @param host_memory,gpu_memory Limits for tiles in bytes, as numbers or text such as `"8GB"` or
#'   `"512MiB"`. `NULL` means part of what is free.
#' @param device `"auto"` (all GPUs, see `devices`), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"`
#'   (the second, and so on).
#' @param devices Numbers of GPUs, counted from 0, that work together, for `device = "auto"` or
#'   `"cuda"`. `NULL` means, with `"auto"`, those of option `cudafactor.devices` or all; with
#'   `"cuda"`, the first.
#' @param verbose Show a summary as a message? It tells what limited the speed: the disk or the
#'   copies between host and GPU, if the device was idle for more than half of the time.
#' @param ... For `chol()`: further arguments of `chol_file()`.
#' @return The factor, an object of class `"tile_matrix"`; invisibly if it overwrote `x`. Its
#' attribute `"report"` is a list about this call: device, seconds, operations, bytes read, written
#' and copied, and memory. The article describes its elements.
#' @references Cheng, L.-T., Cho, Y.-M., Yoon, D. and Zhao, J. *An efficient out-of-core
#' implementation of block Cholesky decomposition on a multi-GPU system*.
#' @seealso [tile_matrix()], [lazy_covariance()], [gpu_chol()]; [chol_solve()] and
#' [tile_matrix_solve] use the factor
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' place <- seq(0, 1, length.out = 600)
#' k <- tile_matrix(lazy_covariance(place, range = 0.2), file, tile = 100)
#'
#' # With memory for 5 of its 21 tiles
#' r <- chol_file(k, tempfile(fileext = ".tiles"),
#'   host_memory = "400KiB", device = "cpu", verbose = TRUE
#' )
#' all.equal(as.matrix(r), chol(as.matrix(k)))
#' attr(r, "report")$read
#'
#' # Overwrite the matrix
#' chol_file(k)
#' k
#' unlink(c(file, r$path))
#' @export
chol_file <- function(x, file = NULL, resume = FALSE, host_memory = NULL, gpu_memory = NULL,
                      device = getOption("cudafactor.device", "auto"), devices = NULL,
                      verbose = FALSE) {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  factor_tiles(
    x, file, resume, host_memory, gpu_memory, on_devices(device, devices, call), verbose, call
  )
}

#' @rdname chol_file
#' @export
chol.tile_matrix <- function(x, file, ...) {
  call <- sys.call()
  if (missing(file) || is.null(file)) {
    refuse_factored(x, call)
    abort_argument(
      "file",
      paste(
        "'file' must name a file for the factor, as in chol(x, file = );",
        "chol_file(x) overwrites the matrix with its factor"
      ),
      call
    )
  }
  chol_file(x, file, ...)
}

# The settings of a call, with the GPUs that `devices` names.
on_devices <- function(device, devices, call) {
  where <- how(device, "double", call)
  if (is.null(devices)) {
    return(where)
  }
  if (!is_device_numbers(devices)) {
    abort_devices(devices, call)
  }
  if (!(device %in% c("auto", "cuda"))) {
    abort_argument(
      "devices",
      sprintf("'devices' needs device = \"auto\" or \"cuda\", not \"%s\"", device), call
    )
  }
  if (device == "cuda") where[[1L]] <- devices[[1L]]
  where[[7L]] <- sum(2^devices)
  where
}

# The error for `devices` that is_device_numbers() refuses.
abort_devices <- function(devices, call) {
  if (!is.numeric(devices)) {
    kind <- if (is.object(devices)) class(devices)[[1L]] else typeof(devices)
    abort_argument(
      "devices",
      sprintf("'devices' must be GPU numbers, such as 0 or c(0, 1), not of type \"%s\"", kind),
      call
    )
  }
  if (length(devices) == 0L) {
    abort_argument("devices", "'devices' must name at least one GPU, or be NULL", call)
  }
  if (length(wrong <- devices[!(is.finite(devices) & devices >= 0 & devices == trunc(devices))])) {
    abort_argument(
      "devices",
      sprintf("'devices' must be whole numbers counted from 0, not %s", format(wrong[[1L]])),
      call
    )
  }
  if (anyDuplicated(devices)) {
    abort_argument(
      "devices",
      sprintf(
        "'devices' must name each GPU once, and names GPU %s twice",
        format(devices[duplicated(devices)][[1L]])
      ),
      call
    )
  }
  found <- tryCatch(native_gpu_count()$ok$count, error = function(e) NULL) %||% 0L
  reason <- sprintf(
    "there is no GPU %s: %d found, counted from 0", format(max(devices), scientific = FALSE),
    as.integer(found)
  )
  abort("device_unavailable", device_unavailable_text(reason), call, reason = reason)
}

factor_tiles <- function(x, file, resume, host_memory, gpu_memory, where, verbose, call) {
  if (!is_tile_matrix(x)) {
    abort_type(
      paste(
        "'x' must be a matrix on disk, made by tile_matrix() or open_tile_matrix():",
        "for a matrix in memory use gpu_chol()"
      ),
      call
    )
  }
  resume <- as_choice(resume, "resume", call)
  verbose <- as_choice(verbose, "verbose", call)
  memory <- c(as_bytes(host_memory, "host_memory", call), as_bytes(gpu_memory, "gpu_memory", call))
  from <- .subset2(x, "path")
  # The file may have changed since the object was made.
  stored <- unwrap(native_tiles_info(from, FALSE), call)
  if (dim(x)[[1L]] == 0L || dim(x)[[1L]] != dim(x)[[2L]]) {
    abort_not_square(dim(x), call)
  }
  if (!is.null(file)) {
    file <- absolute_path(as_file(file, call))
    if (identical(file, from)) {
      abort_argument(
        "file",
        "'file' must not be the file of 'x': omit it to overwrite the matrix with its factor",
        call
      )
    }
  }
  # The factor of a matrix stored as a whole has fewer tiles, so it is made in a second file that
  # then replaces the first.
  replaces <- is.null(file) && !stored$triangle
  to <- if (replaces) paste0(from, ".factor") else file
  if (!is.null(to) && !resume && file.exists(to)) {
    abort(
      "file_exists", sprintf("%s: the file exists%s", to, exists_text(to, stored$factor_bytes)),
      call, path = to
    )
  }
  if (is.null(file)) {
    # The object may come from a saved session, with its own identity.
    on.exit({
      renew_identity(attr(x, "identity"), from)
      tile_identity(from)
    })
  }
  report <- unwrap(native_chol_file(from, as.double(dim(x)), to, resume, memory, where), call)
  if (replaces) {
    put_in_place(to, from, call)
  }
  report <- c(
    report[c("device", "seconds", "operations")],
    gflops = if (report$seconds > 0) report$operations / report$seconds / 1e9 else 0,
    report[c(
      "read", "written", "sent", "fetched", "passed", "reading", "writing", "idle", "copying",
      "host_memory", "gpu_memory"
    )]
  )
  if (verbose) {
    message(report_text(dim(x)[[1L]], report))
  }
  factor <- described(if (is.null(file)) from else file, call)
  attr(factor, "report") <- report
  if (is.null(file)) invisible(factor) else factor
}

# Renames atomically, with the system's reason in the error.
put_in_place <- function(file, path, call) {
  failed <- function(e) {
    text <- sprintf(
      "%s: the factor is complete, but could not be renamed to %s: %s", file, path,
      conditionMessage(e)
    )
    abort("file", text, call, path = file)
  }
  if (!tryCatch(file.rename(file, path), warning = failed, error = failed)) {
    failed(simpleCondition("the system gave no reason"))
  }
}
