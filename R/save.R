#' Matrices of a device in files
#'
#' `gpu_save()` writes a matrix made by [as_gpu()] to a file, values, dimnames and precision, or a factor made of one by [qr()][gpu_qr_factor] or
#' [gpu_lu()]; `gpu_restore()` reads it and brings it to a device, in this R session or another one, with a GPU or without.
#'
#' What [saveRDS()], [save()] and a saved workspace keep of such a matrix is its description alone, since its values are not R's, and so is
#' what reaches another process, such as a worker of \pkg{parallel}. It can be printed; using it is the error
#' `cudafactor_error_stale`. To send a matrix to a worker, send `as.matrix()` of it, or the name of a file of `gpu_save()`.
#'
#' The file is an R data file as [readRDS()] reads it, of a plain list without anything of this package in it: `format`, `class`, `Dim`,
#' `Dimnames`, `precision`, `values` (doubles by columns), and `rest`, what a factor has besides its matrix. It is complete or not there: it
#' is written under another name first.
#'
#' @section Value:
#' `gpu_save()`: `x`, invisibly. `gpu_restore()`: an object of the class that was saved, or of this package's class that it extended.
#'
#' @section Failure:
#' `cudafactor_error_argument`: the file cannot be written or read, or is no file of `gpu_save()`. `cudafactor_error_type`: `x` has no
#' part that is a `gpu_matrix`. `cudafactor_error_stale`: its values are not in this session. Errors of the device: see [cudafactor_conditions].
#' @param x A `gpu_matrix`, or a factor that stays on a device.
#' @param file The name of the file.
#' @param compress As for [saveRDS()]. Numbers seldom compress enough to be worth the time.
#' @param device Where to bring it: `"auto"`, `"cpu"`, `"cuda"` or `"cuda:<number>"`, as for [as_gpu()].
#' @examples
#' g <- as_gpu(matrix(1:6, 2, dimnames = list(c("a", "b"), NULL)))
#' file <- tempfile(fileext = ".rds")
#' gpu_save(g, file)
#' gpu_restore(file)
#' unlink(file)
#' @name gpu_save
NULL

# The first entry of a file, by which it is known.
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
  file <- as_file(file, call)
  values <- fetch(part, call)
  # In place, where as.vector() makes a copy.
  dim(values) <- NULL
  saved <- list(
    format = saved_format, class = saved_class(x), Dim = part@Dim, Dimnames = part@Dimnames, precision = part@precision,
    values = values, rest = rest_of(x)
  )
  partial <- tempfile(basename(file), dirname(file))
  on.exit(unlink(partial))
  with_file(saveRDS(saved, partial, compress = compress), call)
  with_file(stopifnot(file.rename(partial, file)), call)
  invisible(x)
}

#' @rdname gpu_save
#' @export
gpu_restore <- function(file, device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(file)) {
    abort_missing("file", call)
  }
  file <- as_file(file, call)
  saved <- with_file(readRDS(file), call, if (file.exists(file)) sprintf("cannot read \"%s\", which gpu_save() should have written: ", file))
  if (!is_saved(saved)) {
    abort_argument("file", sprintf("\"%s\" is not a file written by gpu_save()", file), call)
  }
  matrix <- upload(saved$values, saved$Dim, saved$Dimnames, device, saved$precision, call)
  with_rest(saved$class, matrix, saved$rest)
}

is_saved <- function(saved) {
  is.list(saved) && identical(saved$format, saved_format) &&
    is.integer(saved$Dim) && length(saved$Dim) == 2L && !anyNA(saved$Dim) && all(saved$Dim >= 0L) &&
    is.double(saved$values) && length(saved$values) == prod(saved$Dim) &&
    is.list(saved$Dimnames) && length(saved$Dimnames) == 2L &&
    all(mapply(function(names, n) is.null(names) || is.character(names) && length(names) == n, saved$Dimnames, saved$Dim)) &&
    (identical(saved$precision, "double") || identical(saved$precision, "single")) &&
    is.character(saved$class) && length(saved$class) == 1L && is_rest(saved$class, saved$rest)
}

is_rest <- function(class, rest) {
  switch(class,
    gpu_matrix = is.null(rest),
    gpu_qr_factor = identical(names(rest), names(qr_parts)) && all(mapply(is, rest, qr_parts)),
    gpu_lu = identical(names(rest), lu_parts) && is.integer(rest$ipiv) && is.integer(rest$perm),
    FALSE
  )
}

as_file <- function(file, call) {
  if (!(is.character(file) && length(file) == 1L && !is.na(file) && nzchar(file))) {
    abort_argument("file", "'file' must be the name of a file", call)
  }
  path.expand(file)
}

# R warns of why a file cannot be opened or renamed, and then stops with less. `about` comes before its words.
with_file <- function(expr, call, about = NULL) {
  failed <- function(e) abort_argument("file", paste0(about, conditionMessage(e)), call)
  tryCatch(expr, warning = failed, error = failed)
}
