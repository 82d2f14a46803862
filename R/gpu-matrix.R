# Matrices on a device: creation, copies to the host, description. C creates the handle, Rust
# fills it, and a finalizer empties it.

#' @rdname gpu_matrix
#' @export
as_gpu <- function(x, device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  if (is_resident(x)) {
    return(move_resident(x, device, if (missing(precision)) x@precision else precision, call))
  }
  if (length(dim(x)) > 2L) {
    abort_dimension(sprintf(
      paste(
        "'x' must be a matrix or a vector, not an array of %d dimensions:",
        "use one matrix of it, as in as_gpu(x[, , 1])"
      ),
      length(dim(x))
    ), call)
  }
  upload_matrix(as_matrix(x, call), device, precision, call)
}

# A plain matrix on a device.
upload_matrix <- function(x, device, precision, call) {
  if (is.complex(x)) {
    abort_complex("base R", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type("'x' must be a numeric matrix", call)
  }
  upload(as_double(x, call), dim(x), dimnames(x), device, precision, call)
}

is_resident <- function(x) isS4(x) && inherits(x, "gpu_matrix")

# Copies a double vector, viewed as a matrix of dimensions `dim`, to a device.
upload <- function(x, dim, dimnames, device, precision, call,
                   where = how(device, precision, call)) {
  handle <- .External(new_handle)
  done <- unwrap(native_resident_new(x, dim, handle, where), call)
  new_resident(handle, dim, dimnames, precision, done$device)
}

# The same, with the device and precision of the gpu_matrix `beside`.
upload_beside <- function(x, dim, dimnames, beside, call) {
  where <- how_beside(beside, call, beside@precision)
  upload(x, dim, dimnames, beside@device, beside@precision, call, where)
}

# Slots are attributes and set as such: new() and @<- take longer than a small product.
new_resident <- function(handle, dim, dimnames, precision, device) {
  x <- empty_resident
  attr(x, "pointer") <- handle
  attr(x, "Dim") <- as.integer(dim)
  attr(x, "Dimnames") <- if (is.null(dimnames)) list(NULL, NULL) else dimnames
  attr(x, "precision") <- precision
  attr(x, "device") <- device
  x
}

empty_resident <- new("gpu_matrix")

# The gpu_matrix that `native` fills on the device of `beside`. `native` is a function of the new
# handle and the settings that returns a native routine's reply; `routine` is for unwrap().
make_resident <- function(native, dim, dimnames, beside, call, routine = NULL) {
  handle <- .External(new_handle)
  unwrap(native(handle, how_there(call)), call, routine)
  new_resident(handle, dim, dimnames, beside@precision, beside@device)
}

# The settings of a call that runs on the device of its operands.
how_there <- function(call) how("auto", "double", call)

# The settings of a call on the device of the gpu_matrix `x`, whose plan says why it is there:
# VERBOSE_BESIDE in src/rust/src/r/target.rs.
how_beside <- function(x, call, precision = "double") {
  where <- how(x@device, precision, call)
  if (where[[8L]] == 1) {
    where[[8L]] <- 2
  }
  where
}

# Operands of one call must share device and precision; `argument` is the user's name of the
# second.
check_together <- function(x, y, call, argument = "y") {
  if (x@device != y@device) {
    abort_argument(argument, sprintf(
      "operands must be on one device, and are on \"%s\" and \"%s\": use as_gpu(x, device = )",
      x@device, y@device
    ), call)
  }
  if (x@precision != y@precision) {
    abort_argument(argument, sprintf(
      "operands must have one precision, and have %s and %s: use as_gpu(x, precision = )",
      x@precision, y@precision
    ), call)
  }
}

move_resident <- function(x, device, precision, call) {
  where <- how(device, precision, call)
  stays <- device == "auto" || device == x@device || device == "cuda" && x@device == "cuda:0"
  if (stays && precision == x@precision) {
    check_here(x, call)
    return(x)
  }
  values <- fetch(x, call)
  upload(values, x@Dim, x@Dimnames, if (stays) x@device else device, precision, call)
}

# Stops if the values of a gpu_matrix are not in this session.
check_here <- function(x, call) unwrap(native_resident_info(x@pointer), call)

# Copies rows and columns of a gpu_matrix to an ordinary matrix without dimnames. Each range is
# c(first, count), counted from 0.
fetch <- function(x, call, rows = c(0, dim(x)[[1L]]), cols = c(0, dim(x)[[2L]])) {
  out <- .External(alloc_matrix, rows[[2L]], cols[[2L]])
  reply <- native_resident_read(x@pointer, as.double(rows), as.double(cols), out, how_there(call))
  if (!is.null(reply)) {
    unwrap(reply, call)
  }
  out
}

#' @rdname gpu_matrix
#' @export
as.matrix.gpu_matrix <- function(x, ...) {
  out <- fetch(x, sys.call())
  dimnames(out) <- dimnames(x)
  out
}

#' @export
as.vector.gpu_matrix <- function(x, mode = "any") {
  # Matrix::Matrix() takes an unknown object as a vector, and would lose the dimensions.
  caller <- if (sys.parent() > 0L) sys.parents()[[sys.parent()]] else 0L
  if (caller > 0L && isNamespaceLoaded("Matrix") &&
    identical(sys.function(caller), getExportedValue("Matrix", "Matrix"))) {
    abort_type(
      "Matrix() needs an ordinary matrix, not a gpu_matrix: use as(x, \"Matrix\") or as.matrix(x)",
      sys.call(caller)
    )
  }
  out <- fetch(x, sys.call())
  as.vector(out, mode)
}

#' @export
as.double.gpu_matrix <- function(x, ...) {
  out <- fetch(x, sys.call())
  dim(out) <- NULL
  out
}

#' @method all.equal gpu_matrix
#' @export
all.equal.gpu_matrix <- function(target, current, ...) {
  all.equal(as.matrix(target), plain(current), ...)
}

#' @export
as.data.frame.gpu_matrix <- function(x, ...) as.data.frame(as.matrix(x), ...)

setAs("gpu_matrix", "matrix", function(from) as.matrix(from))

#' @export
dim.gpu_matrix <- function(x) {
  # Some functions of base R keep the class but not the slots.
  if (isS4(x)) x@Dim else abort_ordinary("this function", sys.call())
}

#' @export
length.gpu_matrix <- function(x) {
  n <- prod(dim(x))
  if (n <= .Machine$integer.max) as.integer(n) else n
}

#' @export
is.matrix.gpu_matrix <- function(x) TRUE

#' @export
is.numeric.gpu_matrix <- function(x) TRUE

#' @export
dimnames.gpu_matrix <- function(x) {
  names <- x@Dimnames
  if (is.null(names[[1L]]) && is.null(names[[2L]]) && is.null(names(names))) NULL else names
}

#' @export
`dimnames<-.gpu_matrix` <- function(x, value) {
  x@Dimnames <- as_dimnames(value, x@Dim, sys.call())
  x
}

# Dimnames as base R takes them, as a list of two.
as_dimnames <- function(value, dim, call) {
  if (is.null(value)) {
    return(list(NULL, NULL))
  }
  if (!is.list(value)) {
    abort_dimension(base_text("'%s' must be a list", "dimnames"), call)
  }
  if (length(value) > 2L) {
    abort_dimension(
      base_text("length of 'dimnames' [%d] must match that of 'dims' [%d]", length(value), 2L), call
    )
  }
  out <- list(NULL, NULL)
  for (i in seq_along(value)) {
    if (length(value[[i]]) == 0L) next
    if (length(value[[i]]) != dim[[i]]) {
      abort_dimension(base_text("length of 'dimnames' [%d] not equal to array extent", i), call)
    }
    out[[i]] <- as.character(value[[i]])
  }
  if (!is.null(names(value))) {
    names(out) <- c(names(value), "")[1:2]
  }
  out
}

# One line about a gpu_matrix, also without its values.
describe_resident <- function(x) {
  size <- prod(dim(x)) * if (x@precision == "single") 4 else 8
  sprintf(
    "<gpu_matrix %d x %d %s, %s, %s>", x@Dim[[1L]], x@Dim[[2L]], x@precision, x@device,
    format_bytes(size)
  )
}

format_bytes <- function(size) {
  unit <- findInterval(size, 1024^(1:3))
  if (unit == 0L) {
    return(sprintf("%.0f bytes", size))
  }
  sprintf("%.1f %s", size / 1024^unit, c("KiB", "MiB", "GiB")[[unit]])
}

# Rows and columns that print() shows.
corner_extent <- 6L

#' @rdname gpu_matrix
#' @export
print.gpu_matrix <- function(x, ...) {
  cat(describe_resident(x), "\n", sep = "")
  shown <- pmin(x@Dim, corner_extent)
  if (any(shown == 0L)) {
    return(invisible(x))
  }
  corner <- tryCatch(
    fetch(x, sys.call(), c(0, shown[[1L]]), c(0, shown[[2L]])), cudafactor_error = identity
  )
  if (inherits(corner, "error")) {
    cat("its values cannot be shown: ", conditionMessage(corner), "\n", sep = "")
    return(invisible(x))
  }
  if (!is.null(dimnames(x))) {
    dimnames(corner) <- Map(function(names, n) names[seq_len(n)], x@Dimnames, shown)
  }
  print(corner, ...)
  if (any(shown < x@Dim)) {
    cat("the first ", counted(shown[[1L]], "row"), " and ", counted(shown[[2L]], "column"), "\n",
      sep = "")
  }
  invisible(x)
}

#' @rdname gpu_matrix
#' @param object A `gpu_matrix`.
#' @export
setMethod("show", "gpu_matrix", function(object) print.gpu_matrix(object))

#' @importFrom utils str
#' @export
str.gpu_matrix <- function(object, ...) cat(" ", describe_resident(object), "\n", sep = "")
