# Matrices in files of other formats: what such a file holds, as far as its own description or the user tells.

#' Matrices in files of other formats
#'
#' `matrix_file()` says where a file of another format has a matrix, for [tile_matrix()] to read: raw binary numbers, NumPy's `.npy`, what package
#' bigmemory keeps in its backing file, or a dataset in an HDF5 file. The matrix may be larger than memory: it is read block by block.
#'
#' The format is told by the end of the name: `.npy`, `.desc` (the text in which bigmemory describes a backing file, see its `descriptorfile`), `.h5` or `.hdf5`. All other files
#' are raw binary, and `dim` must say what they hold; text is not read, and a name that ends in `.csv`, `.tsv` or `.txt` is an error unless `format` says what the file is.
#' \describe{
#'   \item{`"raw"`}{Numbers of one type in the byte order of the machine, column by column or row by row, after `offset` bytes. Nothing may follow them. `"integer"` is
#'     R's: the smallest one is NA. Logical values may be read as integers.}
#'   \item{`"npy"`}{Versions 1 to 3, in the order of C or of Fortran and in either byte order: a two-dimensional array, or one of one dimension as a column, of floating-point numbers
#'     of 4 or 8 bytes, integers of 1 to 8 bytes, with sign or without, or truth values. Integers beyond \eqn{2^{53}}{2^53} are rounded. NumPy has no NA, and the smallest integer is a number.}
#'   \item{`"bigmemory"`}{The backing file, or the files of a matrix whose columns are separated, in the folder of the description, also of a part of a matrix (`sub.big.matrix()`). All
#'     types but complex. Where they are integers the smallest is NA. The description is read as text, and nothing in it is run; one that bigmemory has written in binary
#'     form is refused. A `big.matrix` object itself can be given to [tile_matrix()] instead.}
#'   \item{`"hdf5"`}{A dataset of two dimensions, or of one as a column, as package hdf5r shows it, which must be installed. A matrix that was written in C or Python appears
#'     as its transpose.}
#' }
#'
#' @section Value:
#' An object of class `"matrix_file"`, ordinary data: a list of what was said and found, with methods for [dim()], [dimnames()] (those that bigmemory keeps) and [print()].
#'
#' @section Failure:
#' `cudafactor_error_file_format`: the file is damaged or cut off, has not the length that `dim` asks for, or holds something else than a matrix of real
#' numbers: complex numbers, Python's objects, arrays of more dimensions. `cudafactor_error_file`: there is no such file, or it
#' cannot be read. `cudafactor_error_argument`: arguments that make no sense for the format, no dataset of that name, or hdf5r is not installed.
#'
#' @param path The name of the file.
#' @param dim The numbers of rows and columns of a raw file; one number for a square matrix. Other files tell it themselves.
#' @param type `"double"`, `"single"` or `"integer"`: what the numbers of a raw file are. They take 8, 4 and 4 bytes.
#' @param offset How many bytes of a raw file come before the numbers.
#' @param order `"column"` or `"row"`: whether the columns or the rows of a raw file lie one after the other.
#' @param format `"raw"`, `"npy"`, `"bigmemory"` or `"hdf5"`; `NULL` for what the name says.
#' @param dataset The name of the dataset in an HDF5 file, which may be left out where there is but one.
#' @seealso [tile_matrix()] reads it, [write_matrix_file()] writes such files.
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
matrix_file <- function(path, dim = NULL, type = "double", offset = 0, order = "column", format = NULL, dataset = NULL) {
  call <- sys.call()
  if (missing(path)) {
    abort_missing("path", call)
  }
  path <- absolute_path(as_path(path, call))
  format <- as_format(format, path, call)
  given <- c(dim = !is.null(dim), type = !missing(type), offset = !missing(offset), order = !missing(order), dataset = !is.null(dataset))
  alien <- names(given)[given & !(names(given) %in% switch(format, raw = c("dim", "type", "offset", "order"), hdf5 = "dataset"))]
  if (length(alien)) {
    abort_argument(alien[[1L]], sprintf("'%s' is not for a file of format \"%s\", which tells it itself or has none", alien[[1L]], format), call)
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
      text <- sprintf("the name ends in .%s, as that of a file of text, which is no format here: format = \"raw\" says that the numbers are binary all the same", end)
      abort_argument("format", text, call)
    }
    return(switch(end, npy = "npy", desc = "bigmemory", h5 = , hdf5 = "hdf5", "raw"))
  }
  if (!(is.character(format) && length(format) == 1L && format %in% matrix_formats)) {
    abort_argument("format", sprintf("'format' must be one of %s", paste(dQuote(matrix_formats, FALSE), collapse = ", ")), call)
  }
  format
}

as_path <- function(path, call) {
  if (!(is.character(path) && length(path) == 1L && !is.na(path) && nzchar(path))) {
    abort_argument("path", "'path' must be the name of a file", call)
  }
  path.expand(path)
}

# `data` is the file with the numbers, and `number` NumPy's name of their type. `na`: the smallest integer is NA. A line, which is a row
# or a column, begins `stride` numbers after the one before. `separate`: each is in a file of its own, whose name ends in its number, from this one on.
# `exact`: nothing follows the numbers.
new_matrix_file <- function(path, format, dim, data = path, number = NULL, na = FALSE, by_rows = FALSE, offset = 0,
                            stride = dim[[if (by_rows) 2L else 1L]], separate = NULL, exact = FALSE, dimnames = NULL, dataset = NULL) {
  structure(class = "matrix_file", list(
    path = path, format = format, dim = dim, data = data, number = number, na = na, by_rows = by_rows, offset = offset,
    stride = stride, separate = separate, exact = exact, dimnames = dimnames, dataset = dataset
  ))
}

# In the order in which the native routines take it.
native_description <- function(x) {
  x <- unclass(x)
  list(x$data, x$number, x$na, as.double(x$dim), x$by_rows, as.double(x$offset), as.double(x$stride), x$separate, x$exact)
}

# NumPy's name of a type in the byte order of the machine.
native_number <- function(name) paste0(if (.Platform$endian == "big") ">" else "<", name)

describe_raw <- function(path, dim, type, offset, order, call) {
  if (is.null(dim)) {
    abort_argument("dim", sprintf("'dim' must give the numbers of rows and columns, which a raw file does not tell (of another format? 'format' names it): %s", path), call)
  }
  dim <- as_extents(dim, call)
  choose <- function(value, argument, choices) {
    if (!(is.character(value) && length(value) == 1L && value %in% choices)) {
      abort_argument(argument, sprintf("'%s' must be one of %s", argument, paste(dQuote(choices, FALSE), collapse = ", ")), call)
    }
    value
  }
  type <- choose(type, "type", c("double", "single", "integer"))
  by_rows <- choose(order, "order", c("column", "row")) == "row"
  if (!(is.numeric(offset) && length(offset) == 1L && isTRUE(offset >= 0 && offset < 2^53 && offset == trunc(offset)))) {
    abort_argument("offset", "'offset' must be a number of bytes, not negative", call)
  }
  number <- native_number(switch(type, double = "f8", single = "f4", integer = "i4"))
  new_matrix_file(path, "raw", dim, number = number, na = type == "integer", by_rows = by_rows, offset = offset, exact = TRUE)
}

describe_npy <- function(path, call) {
  header <- unwrap(native_npy_header(path), call)
  new_matrix_file(path, "npy", header$dim, number = header$number, by_rows = header$by_rows, offset = header$offset, exact = TRUE)
}

is_matrix_file <- function(x) inherits(x, "matrix_file")

is_big_matrix <- function(x) isS4(x) && inherits(x, "big.matrix")

# What gives the blocks of a matrix that is not read by native code, as a function of `i` and `j`, and how to close it.
open_blocks <- function(x, call) {
  if (is_big_matrix(x)) {
    return(list(blocks = function(i, j) as_read(x[i, j, drop = FALSE]), close = function() NULL))
  }
  if (.subset2(x, "format") == "hdf5") open_hdf5(x, call)
}

# bigmemory's type "raw", of numbers of one byte.
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
  abort_type("a matrix in a file of another format is read by tile_matrix(), which writes a file of tiles that has parts", sys.call())
}

#' @export
format.matrix_file <- function(x, ...) {
  x <- unclass(x)
  what <- c(raw = "raw binary", npy = "NumPy", bigmemory = "bigmemory", hdf5 = "HDF5")[[x$format]]
  details <- c(x$number, if (x$by_rows) "by rows", if (!is.null(x$separate)) "a file for each column", x$dataset)
  sprintf("<matrix_file: %s, %s%s>\n%s", extents_text(x$dim), what, if (length(details)) paste0(" (", paste(details, collapse = ", "), ")") else "", x$path)
}

#' @export
print.matrix_file <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
