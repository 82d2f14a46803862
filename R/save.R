#' Save and restore matrices on a device
#'
#' `gpu_save()` writes a [gpu_matrix], or a factor made of one by [qr()][gpu_qr_factor] or
#' [gpu_lu()], to a file: values, dimnames and precision. `gpu_restore()` reads the file and puts
#' the values on a device, in this R session or another one, with or without a GPU.
#'
#' [saveRDS()], [save()] and saved workspaces keep only a description of such a matrix, since R does
#' not have its values. The same holds for copies in other processes, such as workers of
#' \pkg{parallel}. The description can be printed; using it is the error `cudafactor_error_stale`.
#' To send a matrix to a worker, send `as.matrix(x)`, or the name of a file by `gpu_save()`.
#'
#' Checksums (CRC-32) cover every byte of the file and are compared before the bytes are used. A
#' damaged or incomplete file is an error. The file is written under a temporary name first, so it
#' is complete or does not exist.
#'
#' @section Format:
#' Numbers are little-endian. The file has three parts:
#' 1. A head of 64 bytes: `cudamat` and a zero byte; as 4 bytes each the version, 2, and the bytes
#' of a value, 8 or 4; as 8 bytes each the numbers of rows and columns and the bytes of the
#' description and of the file; the checksum of the description; 8 zeros; the checksum of the bytes
#' before.
#' 2. The description, R's serialization of a list: `class`, `Dimnames`, `precision`, and `rest`,
#' the other components of a factor.
#' 3. The values, column by column, and their checksum.
#'
#' Files of earlier versions of this package are R data files without a checksum, which `readRDS()`
#' reads as a list. They are read with the warning `cudafactor_warning_no_checksum`; save them again
#' by `gpu_save()`. Their structure is checked, and the checksum of `gzip` if they are compressed
#' with it. Damage to the numbers of an uncompressed file is not noticed.
#'
#' @return `gpu_save()`: `x`, invisibly. `gpu_restore()`: an object of the saved class, or of the
#'   class of this package that it extended.
#'
#' @section Errors:
#' - `cudafactor_error_file`: the file cannot be written or read, or is a folder, a pipe or a
#'   device.
#' - `cudafactor_error_file_format`: the file is damaged, incomplete, or not written by
#'   `gpu_save()`.
#' - `cudafactor_error_disk_space`: the disk has too little room.
#' - `cudafactor_error_argument`: `file` is not a name.
#' - `cudafactor_error_type`: `x` has no part that is a `gpu_matrix`.
#' - `cudafactor_error_stale`: the values of `x` are not in this session.
#'
#' Errors of the device are listed in [cudafactor_conditions].
#' @param x A `gpu_matrix`, or a factor made of one.
#' @param file Name of the file, a string.
#' @param compress Deprecated, since files are never compressed. `TRUE` is the warning
#'   `cudafactor_warning_argument`.
#' @param device Device for the restored object: `"auto"`, `"cpu"`, `"cuda"` or `"cuda:<number>"`,
#'   as in [as_gpu()].
#' @examples
#' g <- as_gpu(matrix(1:6, 2, dimnames = list(c("a", "b"), NULL)))
#' file <- tempfile(fileext = ".gpu")
#' gpu_save(g, file)
#' gpu_restore(file)
#' unlink(file)
#' @name gpu_save
NULL

# The first entry of a file of earlier versions, which identifies it.
saved_format <- "cudafactor 1"

# The gpu_matrix that `x` is, or that the factor `x` contains; else NULL.
resident_part <- function(x) {
  if (is_resident(x)) {
    x
  } else if (is_qr_resident(x)) {
    x@factor
  } else if (inherits(x, "gpu_lu") && is_resident(unclass(x)$lu)) {
    unclass(x)$lu
  }
}

# The class of this package that `x` has, or extends.
saved_class <- function(x) {
  if (is_resident(x)) "gpu_matrix" else if (is_qr_resident(x)) "gpu_qr_factor" else "gpu_lu"
}

# The components of factors other than the matrix, by class.
qr_parts <- c(tau = "numeric", turned = "integer", rank = "integer", pivot = "integer")
lu_parts <- c("ipiv", "perm", "singular", "norm1", "dimnames", "precision", "diagonal")

rest_of <- function(x) {
  if (is_qr_resident(x)) {
    sapply(names(qr_parts), slot, object = x, simplify = FALSE)
  } else if (inherits(x, "gpu_lu")) {
    unclass(x)[lu_parts]
  }
}

with_rest <- function(class, matrix, rest) {
  switch(class,
    gpu_matrix = matrix,
    gpu_qr_factor = do.call(new, c(list(class, factor = matrix), rest)),
    gpu_lu = structure(c(list(lu = matrix), rest), class = class)
  )
}

#' @rdname gpu_save
#' @export
gpu_save <- function(x, file, compress = FALSE) {
  call <- sys.call()
  if (missing(x) || missing(file)) {
    abort_missing(if (missing(x)) "x" else "file", call)
  }
  if (is_gpu_factor(x)) {
    text <- paste(
      "'x' must be on one device, but is a factor of chol_gpus():",
      "save as.matrix(x), or use chol_file() for a factor in a file"
    )
    abort_type(text, call)
  }
  part <- resident_part(x)
  if (is.null(part)) {
    text <- paste(
      "'x' must be a gpu_matrix, or a factor made of one, not of class \"%s\":",
      "use saveRDS() for other objects"
    )
    abort_type(sprintf(text, class(x)[[1L]]), call)
  }
  if (!identical(compress, FALSE)) {
    warn("argument", "'compress' is deprecated and has no effect: leave it out", call)
  }
  file <- as_target(file, call)
  facts <- list(
    class = saved_class(x), Dimnames = part@Dimnames, precision = part@precision,
    rest = rest_of(x)
  )
  # R 3.5.0 and later read version 3.
  description <- serialize(facts, NULL, version = 3L)
  # A short name, since `file` may have the longest name that is allowed.
  partial <- tempfile(".gpu_save", dirname(file))
  on.exit(unlink(partial))
  unwrap(native_resident_save(part@pointer, description, partial, how_there(call)), call)
  with_file(stopifnot(file.rename(partial, file)), file, call)
  invisible(x)
}

# The file to replace. A link is followed, and stays a link. Anything but a regular file is an
# error.
as_target <- function(file, call) {
  file <- as_file(file, call)
  unwrap(native_file_check(file), call)
  if (file.exists(file)) normalizePath(file) else file
}

#' @rdname gpu_save
#' @export
gpu_restore <- function(file, device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(file)) {
    abort_missing("file", call)
  }
  file <- as_file(file, call)
  kind <- unwrap(native_saved_kind(file), call)$kind
  saved <- if (kind == "checked") read_saved(file, call) else read_rds(file, kind, call)
  if (!is_saved(saved)) {
    abort_saved(file, "the file was not written by gpu_save()", call)
  }
  matrix <- upload(saved$values, saved$Dim, saved$Dimnames, device, saved$precision, call)
  if (kind != "checked") {
    text <- paste(
      "%s: the file is of an earlier version of cudafactor and has no checksum,",
      "so damage may not be noticed: save the restored object again by gpu_save()"
    )
    warn("no_checksum", sprintf(text, file), call, path = file)
  }
  with_rest(saved$class, matrix, saved$rest)
}

abort_saved <- function(file, what, call) {
  abort("file_format", sprintf("%s: %s", file, what), call, path = file)
}

# R's deserialization trusts its bytes, so their checksum is compared before.
read_saved <- function(file, call) {
  head <- unwrap(native_saved_head(file), call)
  failed <- function(e) abort_saved(file, conditionMessage(e), call)
  saved <- tryCatch(as.list(unserialize(head$description)), error = failed)
  saved$Dim <- as.integer(head$dim)
  saved$values <- .External(alloc_matrix, head$dim[[1L]], head$dim[[2L]])
  unwrap(native_saved_values(file, head$description, saved$values), call)
  dim(saved$values) <- NULL
  same <- identical(saved$precision, if (head$single) "single" else "double")
  if (same) c(list(format = saved_format), saved)
}

# The list in a file of an earlier version, after a check of its structure.
read_rds <- function(file, kind, call) {
  unpacked <- file
  if (kind != "rds") {
    unpacked <- tempfile("unpacked")
    on.exit(unlink(unpacked))
    with_file(unpack(file, unpacked), file, call)
  }
  reply <- native_saved_rds_check(unpacked, if (kind == "gzip") file)
  if (!is.null(reply$err$kind) && reply$err$kind == "file_format") {
    abort_saved(file, "the file is damaged, or was not written by gpu_save()", call)
  }
  unwrap(reply, call)
  with_file(readRDS(unpacked), file, call)
}

unpack <- function(from, to) {
  packed <- gzfile(from, "rb")
  on.exit(close(packed))
  out <- file(to, "wb")
  on.exit(close(out), add = TRUE)
  while (length(bytes <- readBin(packed, "raw", 2^24))) writeBin(bytes, out)
}

is_saved <- function(saved) {
  fits <- function(names, n) is.null(names) || is.character(names) && length(names) == n
  is.list(saved) && identical(saved$format, saved_format) &&
    is.integer(saved$Dim) && length(saved$Dim) == 2L && !anyNA(saved$Dim) &&
    all(saved$Dim >= 0L) &&
    is.double(saved$values) && length(saved$values) == prod(saved$Dim) &&
    is.list(saved$Dimnames) && length(saved$Dimnames) == 2L &&
    all(mapply(fits, saved$Dimnames, saved$Dim)) &&
    (identical(saved$precision, "double") || identical(saved$precision, "single")) &&
    is.character(saved$class) && length(saved$class) == 1L &&
    is_rest(saved$class, saved$rest, saved$Dim)
}

# Whether `rest` has the components of a factor of dimensions `dim` other than the matrix.
is_rest <- function(class, rest, dim) {
  switch(class,
    gpu_matrix = is.null(rest),
    gpu_qr_factor = identical(names(rest), names(qr_parts)) && all(mapply(is, rest, qr_parts)) &&
      length(rest$tau) == min(dim) && length(rest$rank) == 1L &&
      isTRUE(rest$rank >= 0L && rest$rank <= min(dim)) && is_order(rest$pivot, dim[[2L]]) &&
      !anyNA(rest$turned) && all(rest$turned >= 1L & rest$turned <= dim[[2L]]),
    gpu_lu = identical(names(rest), lu_parts) && is.integer(rest$ipiv) &&
      length(rest$ipiv) == min(dim) && !anyNA(rest$ipiv) &&
      all(rest$ipiv >= 1L & rest$ipiv <= dim[[1L]]) && is_order(rest$perm, dim[[1L]]) &&
      is.double(rest$diagonal) && length(rest$diagonal) == min(dim) &&
      is.numeric(rest$singular) && length(rest$singular) == 1L,
    FALSE
  )
}

is_order <- function(x, n) {
  is.integer(x) && length(x) == n && !anyNA(x) && all(x >= 1L & x <= n) && !anyDuplicated(x)
}

as_file <- function(file, call) {
  if (!(is.character(file) && length(file) == 1L && !is.na(file) && nzchar(file))) {
    abort_argument("file", "'file' must be the name of a file, a string", call)
  }
  path.expand(file)
}

# R's warning says why a file cannot be read or renamed; the error after it says less.
with_file <- function(expr, file, call) {
  failed <- function(e) {
    abort("file", sprintf("%s: %s", file, conditionMessage(e)), call, path = file)
  }
  tryCatch(expr, warning = failed, error = failed)
}
