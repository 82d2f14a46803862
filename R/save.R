#' Matrices of a device in files
#'
#' `gpu_save()` writes a matrix made by [as_gpu()] to a file, values, dimnames and precision, or a factor made of one by
#' [qr()][gpu_qr_factor] or [gpu_lu()]. `gpu_restore()` reads it and brings it to a device, in this R session or another one,
#' with a GPU or without.
#'
#' What [saveRDS()], [save()] and a saved workspace keep of such a matrix is its description alone, since its values are not
#' R's, and so is what reaches another process, such as a worker of \pkg{parallel}. It can be printed; using it is the error
#' `cudafactor_error_stale`. To send a matrix to a worker, send `as.matrix()` of it, or the name of a file of `gpu_save()`.
#'
#' Checksums (CRC-32) cover every byte of the file and are compared before the bytes are used: a file that is damaged or cut
#' off is an error. The file is complete or not there: it is written under another name first.
#'
#' @section Format:
#' Numbers are little-endian. 64 bytes come first: `cudamat` and a zero byte; as 4 bytes each the version, 2, and the bytes of
#' a value, 8 or 4; as 8 bytes each the numbers of rows and columns and the bytes of the description and of the whole file; the
#' checksum of the description; 8 zeros; the checksum of the bytes before. The description follows, R's serialization of a
#' list: `class`, `Dimnames`, `precision`, and `rest`, what a factor has besides its matrix. Then come the values, column by
#' column, and their checksum.
#'
#' Files of earlier versions of this package are R data files without a checksum, `readRDS()` of which gives a list. They are
#' read with the warning `cudafactor_warning_no_checksum`, which [gpu_save()] of what was restored ends. Their structure is
#' checked, and the checksum of `gzip` where they were compressed with it. Damage to the numbers of an uncompressed one cannot
#' be noticed.
#'
#' @section Value:
#' `gpu_save()`: `x`, invisibly. `gpu_restore()`: an object of the class that was saved, or of this package's class that it
#' extended.
#'
#' @section Failure:
#' `cudafactor_error_file`: the file cannot be written or read, or its name is that of a folder, a pipe or a device.
#' `cudafactor_error_file_format`: it is damaged, cut off, or no file of `gpu_save()`. `cudafactor_error_disk_space`: the disk
#' has no room for it. `cudafactor_error_argument`: `file` is no name. `cudafactor_error_type`: `x` has no part that is a
#' `gpu_matrix`. `cudafactor_error_stale`: its values are not in this session. Errors of the device: see
#' [cudafactor_conditions].
#' @param x A `gpu_matrix`, or a factor that stays on a device.
#' @param file The name of the file.
#' @param compress Deprecated: files are not compressed, since numbers seldom gain from it. `TRUE` is the warning
#'   `cudafactor_warning_argument`.
#' @param device Where to bring it: `"auto"`, `"cpu"`, `"cuda"` or `"cuda:<number>"`, as for [as_gpu()].
#' @examples
#' g <- as_gpu(matrix(1:6, 2, dimnames = list(c("a", "b"), NULL)))
#' file <- tempfile(fileext = ".gpu")
#' gpu_save(g, file)
#' gpu_restore(file)
#' unlink(file)
#' @name gpu_save
NULL

# The first entry of a file of earlier versions, by which it is known.
saved_format <- "cudafactor 1"

# The matrix on a device that `x` is, or is made of; NULL where it is neither.
resident_part <- function(x) {
  if (is_resident(x)) {
    x
  } else if (is_qr_resident(x)) {
    x@factor
  } else if (inherits(x, "gpu_lu") && is_resident(unclass(x)$lu)) {
    unclass(x)$lu
  }
}

# The class of this package that `x` is of, or extends.
saved_class <- function(x) if (is_resident(x)) "gpu_matrix" else if (is_qr_resident(x)) "gpu_qr_factor" else "gpu_lu"

# What a factor has besides its matrix, by its class.
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
    abort_type("a factor that is spread over several GPUs is not saved as it is: save as.matrix() of it, or have chol_file() make it in a file", call)
  }
  part <- resident_part(x)
  if (is.null(part)) {
    abort_type("'x' must be a gpu_matrix, or a factor made of one: saveRDS() keeps all else", call)
  }
  if (!identical(compress, FALSE)) {
    warn("argument", "'compress' is deprecated: the file is not compressed", call)
  }
  file <- as_target(file, call)
  # Version 3 is what R from 3.5.0 on reads.
  description <- serialize(
    list(class = saved_class(x), Dimnames = part@Dimnames, precision = part@precision, rest = rest_of(x)), NULL,
    version = 3L
  )
  # Shorter than the longest name of a file.
  partial <- tempfile(".gpu_save", dirname(file))
  on.exit(unlink(partial))
  unwrap(native_held_save(part@pointer, description, partial, how_there(call)), call)
  with_file(stopifnot(file.rename(partial, file)), file, call)
  invisible(x)
}

# The file that is to be replaced. Something else than a file is left alone, and so is a link to one.
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
      "the file is of an earlier version of cudafactor and has no checksum, so that damage to it may not be noticed:",
      "gpu_save() of what gpu_restore() gives writes one that has"
    )
    warn("no_checksum", sprintf("%s: %s", file, text), call, path = file)
  }
  with_rest(saved$class, matrix, saved$rest)
}

abort_saved <- function(file, what, call) abort("file_format", sprintf("%s: %s", file, what), call, path = file)

# R's deserialization trusts its bytes, so that it sees none whose checksum was not compared.
read_saved <- function(file, call) {
  head <- unwrap(native_saved_head(file), call)
  saved <- tryCatch(as.list(unserialize(head$description)), error = function(e) abort_saved(file, conditionMessage(e), call))
  saved$Dim <- as.integer(head$dim)
  saved$values <- .External(alloc_matrix, head$dim[[1L]], head$dim[[2L]])
  unwrap(native_saved_values(file, head$description, saved$values), call)
  dim(saved$values) <- NULL
  same <- identical(saved$precision, if (head$single) "single" else "double")
  if (same) c(list(format = saved_format), saved)
}

# A list of an earlier version, once its structure is known to be one.
read_rds <- function(file, kind, call) {
  unpacked <- file
  if (kind != "rds") {
    unpacked <- tempfile("unpacked")
    on.exit(unlink(unpacked))
    with_file(unpack(file, unpacked), file, call)
  }
  reply <- native_saved_rds_check(unpacked, if (kind == "gzip") file)
  if (!is.null(reply$err$kind) && reply$err$kind == "file_format") {
    abort_saved(file, "the file is damaged, or not one that gpu_save() has written", call)
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
  is.list(saved) && identical(saved$format, saved_format) &&
    is.integer(saved$Dim) && length(saved$Dim) == 2L && !anyNA(saved$Dim) && all(saved$Dim >= 0L) &&
    is.double(saved$values) && length(saved$values) == prod(saved$Dim) &&
    is.list(saved$Dimnames) && length(saved$Dimnames) == 2L &&
    all(mapply(function(names, n) is.null(names) || is.character(names) && length(names) == n, saved$Dimnames, saved$Dim)) &&
    (identical(saved$precision, "double") || identical(saved$precision, "single")) &&
    is.character(saved$class) && length(saved$class) == 1L && is_rest(saved$class, saved$rest, saved$Dim)
}

# What a factor has besides its matrix, of extents `dim`.
is_rest <- function(class, rest, dim) {
  switch(class,
    gpu_matrix = is.null(rest),
    gpu_qr_factor = identical(names(rest), names(qr_parts)) && all(mapply(is, rest, qr_parts)) &&
      length(rest$tau) == min(dim) && length(rest$rank) == 1L && isTRUE(rest$rank >= 0L && rest$rank <= min(dim)) &&
      is_order(rest$pivot, dim[[2L]]) && !anyNA(rest$turned) && all(rest$turned >= 1L & rest$turned <= dim[[2L]]),
    gpu_lu = identical(names(rest), lu_parts) && is.integer(rest$ipiv) && length(rest$ipiv) == min(dim) &&
      !anyNA(rest$ipiv) && all(rest$ipiv >= 1L & rest$ipiv <= dim[[1L]]) && is_order(rest$perm, dim[[1L]]) &&
      is.double(rest$diagonal) && length(rest$diagonal) == min(dim) && is.numeric(rest$singular) && length(rest$singular) == 1L,
    FALSE
  )
}

is_order <- function(x, n) is.integer(x) && length(x) == n && !anyNA(x) && all(x >= 1L & x <= n) && !anyDuplicated(x)

as_file <- function(file, call) {
  if (!(is.character(file) && length(file) == 1L && !is.na(file) && nzchar(file))) {
    abort_argument("file", "'file' must be the name of a file", call)
  }
  path.expand(file)
}

# R warns of why a file cannot be read or renamed, and then stops with less.
with_file <- function(expr, file, call) {
  failed <- function(e) abort("file", sprintf("%s: %s", file, conditionMessage(e)), call, path = file)
  tryCatch(expr, warning = failed, error = failed)
}
