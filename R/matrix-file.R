# Matrices in files of other formats: descriptions from the files' own headers and the arguments.

#' Matrices in files of other formats
#'
#' `matrix_file()` describes a matrix in a file of another format, which [tile_matrix()] can then
#' read. The formats are raw binary numbers, NumPy's `.npy`, backing files of package bigmemory, and
#' datasets in HDF5 files. The matrix may be larger than memory, since it is read in blocks.
#'
#' The end of the name tells the format: `.npy`, `.desc` (bigmemory's `descriptorfile`), `.h5` or
#' `.hdf5`. All other files are raw binary. Text is not read, so a name that ends in `.csv`, `.tsv`
#' or `.txt` is an error unless `format` is given.
#' \describe{
#'   \item{`"raw"`}{Numbers of one type in the byte order of the machine, by column or by row, after
#'     `offset` bytes. Nothing may follow them. `"integer"` is R's type: the smallest integer is NA.
#'     Logical values may be read as integers.}
#'   \item{`"npy"`}{Versions 1 to 3, in the order of C or Fortran and in either byte order. The
#'     array has two dimensions, or one as a column. Numbers are floating-point of 4 or 8 bytes,
#'     signed or unsigned integers of 1 to 8 bytes, or truth values. Integers beyond
#'     \eqn{2^{53}}{2^53} are rounded. The smallest integer is a number, since NumPy has no NA.}
#'   \item{`"bigmemory"`}{The backing file, or the files of separated columns, in the folder of the
#'     description. Parts (`sub.big.matrix()`) and all types but complex are read. The smallest
#'     integer is NA. The description is parsed as text, and no code in it is run. A binary
#'     description is refused. [tile_matrix()] also accepts a `big.matrix` object.}
#'   \item{`"hdf5"`}{A dataset of two dimensions, or of one as a column, as package hdf5r shows it.
#'     That package must be installed. A matrix written in C or Python appears transposed.}
#' }
#'
#' @return An object of class `"matrix_file"`, a list of ordinary data. It has methods for [dim()],
#'   [dimnames()] (those of bigmemory) and [print()].
#'
#' @section Errors:
#' - `cudafactor_error_file_format`: the file is damaged or cut off, its length does not fit `dim`,
#'   or it does not hold a matrix of real numbers.
#' - `cudafactor_error_file`: the file does not exist or cannot be read.
#' - `cudafactor_error_argument`: an argument does not fit the format, the dataset does not exist,
#'   or hdf5r is not installed.
#'
#' @param path Name of the file, a string.
#' @param dim Numbers of rows and columns of a raw file, or one number for a square matrix. Other
#'   formats contain them.
#' @param type Type of the numbers in a raw file: `"double"` (the default, 8 bytes), `"single"` or
#'   `"integer"` (4 bytes each).
#' @param offset Number of bytes before the numbers in a raw file. The default is 0.
#' @param order Storage order of a raw file: `"column"` (the default) or `"row"`.
#' @param format `"raw"`, `"npy"`, `"bigmemory"` or `"hdf5"`. The default, `NULL`, uses the end of
#'   the name.
#' @param dataset Name of the dataset in an HDF5 file. It may be left out if there is only one.
#' @seealso [tile_matrix()] reads the matrix, [write_matrix_file()] writes such files.
#' @examples
#' raw <- tempfile(fileext = ".bin")
#' writeBin(as.double(1:12), raw)
#' m <- matrix_file(raw, dim = c(3, 4))
#' m
#' x <- tile_matrix(m, file <- tempfile(fileext = ".tiles"))
#' x[, 2]
#'
#' npy <- tempfile(fileext = ".npy")
#' write_matrix_file(x, npy)
#' matrix_file(npy)
#' unlink(c(raw, file, npy))
#' @source NumPy's format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>
#' @export
matrix_file <- function(path, dim = NULL, type = "double", offset = 0, order = "column",
                        format = NULL, dataset = NULL) {
  call <- sys.call()
  if (missing(path)) {
    abort_missing("path", call)
  }
  path <- absolute_path(as_path(path, call))
  format <- as_format(format, path, call)
  given <- c(
    dim = !is.null(dim), type = !missing(type), offset = !missing(offset),
    order = !missing(order), dataset = !is.null(dataset)
  )
  known <- switch(format, raw = c("dim", "type", "offset", "order"), hdf5 = "dataset")
  alien <- names(given)[given & !(names(given) %in% known)]
  if (length(alien)) {
    text <- "'%s' cannot be used for a file of format \"%s\": leave it out"
    abort_argument(alien[[1L]], sprintf(text, alien[[1L]], format), call)
  }
  if (!file.exists(path)) {
    abort("file", sprintf("%s: no such file", path), call, path = path)
  }
  unwrap(native_file_check(path), call)
  x <- switch(format,
    raw = describe_raw(path, dim, type, offset, order, call),
    npy = describe_npy(path, call),
    bigmemory = describe_bigmemory(path, call),
    hdf5 = describe_hdf5(path, dataset, call)
  )
  if (format != "hdf5" && is.null(x$separate)) {
    unwrap(do.call(native_matrix_file_check, native_description(x)), call)
  }
  x
}

matrix_formats <- c("raw", "npy", "bigmemory", "hdf5")

as_format <- function(format, path, call) {
  if (is.null(format)) {
    end <- tolower(sub("^.*\\.", "", basename(path)))
    if (end %in% c("csv", "tsv", "txt")) {
      text <- paste(
        "'path' must not name a text file, but ends in \".%s\": text is not read or written;",
        "format = \"raw\" treats the file as binary numbers"
      )
      abort_argument("format", sprintf(text, end), call)
    }
    return(switch(end, npy = "npy", desc = "bigmemory", h5 = , hdf5 = "hdf5", "raw"))
  }
  if (!(is.character(format) && length(format) == 1L && format %in% matrix_formats)) {
    abort_choice("format", matrix_formats, call)
  }
  format
}

abort_choice <- function(argument, choices, call) {
  choices <- paste(dQuote(choices, FALSE), collapse = ", ")
  abort_argument(argument, sprintf("'%s' must be one of %s", argument, choices), call)
}

as_path <- function(path, call) {
  if (!(is.character(path) && length(path) == 1L && !is.na(path) && nzchar(path))) {
    abort_argument("path", "'path' must be the name of a file, a string", call)
  }
  path.expand(path)
}

# `data` is the file with the numbers, and `number` NumPy's name of their type. `na`: the smallest
# integer is NA. A line, which is a row or a column, begins `stride` numbers after the previous one.
# `separate`: each column has a file, whose name ends in the column's number; `separate` is the
# first such number. `exact`: nothing follows the numbers.
new_matrix_file <- function(path, format, dim, data = path, number = NULL, na = FALSE,
                            by_rows = FALSE, offset = 0,
                            stride = dim[[if (by_rows) 2L else 1L]], separate = NULL,
                            exact = FALSE, dimnames = NULL, dataset = NULL) {
  structure(class = "matrix_file", list(
    path = path, format = format, dim = dim, data = data, number = number, na = na,
    by_rows = by_rows, offset = offset, stride = stride, separate = separate, exact = exact,
    dimnames = dimnames, dataset = dataset
  ))
}

# The arguments of the native routines, in their order.
native_description <- function(x) {
  x <- unclass(x)
  list(
    x$data, x$number, x$na, as.double(x$dim), x$by_rows, as.double(x$offset),
    as.double(x$stride), x$separate, x$exact
  )
}

# NumPy's name of a type in the byte order of the machine.
native_number <- function(name) paste0(if (.Platform$endian == "big") ">" else "<", name)

describe_raw <- function(path, dim, type, offset, order, call) {
  if (is.null(dim)) {
    text <- paste(
      "'dim' must give the numbers of rows and columns of a raw file, %s;",
      "use 'format' for a file of another format"
    )
    abort_argument("dim", sprintf(text, path), call)
  }
  dim <- as_dimensions(dim, call)
  choose <- function(value, argument, choices) {
    if (!(is.character(value) && length(value) == 1L && value %in% choices)) {
      abort_choice(argument, choices, call)
    }
    value
  }
  type <- choose(type, "type", c("double", "single", "integer"))
  by_rows <- choose(order, "order", c("column", "row")) == "row"
  fits <- is.numeric(offset) && length(offset) == 1L &&
    isTRUE(offset >= 0 && offset < 2^53 && offset == trunc(offset))
  if (!fits) {
    abort_argument("offset", "'offset' must be a whole number of bytes, at least 0", call)
  }
  number <- native_number(switch(type, double = "f8", single = "f4", integer = "i4"))
  new_matrix_file(path, "raw", dim,
    number = number, na = type == "integer", by_rows = by_rows, offset = offset, exact = TRUE
  )
}

describe_npy <- function(path, call) {
  header <- unwrap(native_npy_header(path), call)
  new_matrix_file(path, "npy", header$dim,
    number = header$number, by_rows = header$by_rows, offset = header$offset, exact = TRUE
  )
}

is_matrix_file <- function(x) inherits(x, "matrix_file")

is_big_matrix <- function(x) isS4(x) && inherits(x, "big.matrix")

# For a matrix that native code does not read: a function of `i` and `j` that returns blocks, and a
# function that closes the file. Else NULL.
open_blocks <- function(x, call) {
  if (is_big_matrix(x)) {
    return(list(blocks = function(i, j) as_read(x[i, j, drop = FALSE]), close = function() NULL))
  }
  if (.subset2(x, "format") == "hdf5") open_hdf5(x, call)
}

# A block of bigmemory's type "raw", whose numbers are bytes, as integers.
as_read <- function(block) {
  if (is.raw(block)) {
    storage.mode(block) <- "integer"
  }
  block
}

#' @export
dim.matrix_file <- function(x) {
  dim <- .subset2(x, "dim")
  if (all(dim <= .Machine$integer.max)) as.integer(dim) else dim
}

#' @export
dimnames.matrix_file <- function(x) .subset2(x, "dimnames")

#' @export
as.matrix.matrix_file <- function(x, ...) {
  text <- "'x' must be read by tile_matrix(x, file) first: as.matrix() of that is the matrix"
  abort_type(text, sys.call())
}

#' @export
`[.matrix_file` <- function(x, ...) {
  text <- "'x' must be read by tile_matrix(x, file) first, which has parts [i, j]"
  abort_type(text, group_call(sys.call(), "["))
}

# The object is shown as the list of its components.
#' @export
str.matrix_file <- function(object, ...) str(unclass(object), ...)

#' @export
format.matrix_file <- function(x, ...) {
  x <- unclass(x)
  what <- c(raw = "raw binary", npy = "NumPy", bigmemory = "bigmemory", hdf5 = "HDF5")[[x$format]]
  details <- c(
    x$number, if (x$by_rows) "by rows", if (!is.null(x$separate)) "a file for each column",
    x$dataset
  )
  details <- if (length(details)) sprintf(" (%s)", paste(details, collapse = ", ")) else ""
  sprintf("<matrix_file: %s, %s%s>\n%s", dimensions_text(x$dim), what, details, x$path)
}

#' @export
print.matrix_file <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
