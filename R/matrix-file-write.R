# From files of tiles to files of other formats.

#' Write a matrix on disk in another format
#'
#' `write_matrix_file()` writes a matrix by [tile_matrix()], or its Cholesky factor, to a new file
#' that other programs read. The formats are raw binary numbers, NumPy's `.npy`, backing files of
#' package bigmemory, and HDF5. The matrix may be larger than memory.
#'
#' The end of the name tells the format, as in [matrix_file()]. Text (`.csv`, `.tsv`, `.txt`) is not
#' written. The numbers keep their precision and their values bit for bit. A symmetric matrix is
#' written with both triangles, and a factor with zeros below the diagonal.
#' \describe{
#'   \item{`"raw"`}{The numbers only, column by column, in the byte order of the machine.}
#'   \item{`"npy"`}{Fortran's order, which `numpy.load(path, mmap_mode = "r")` maps directly.}
#'   \item{`"bigmemory"`}{Two files: the description `path`, for `attach.big.matrix()`, and the
#'     numbers in a file that ends in `.bin` instead of `.desc`. bigmemory has no matrices without
#'     rows or columns.}
#'   \item{`"hdf5"`}{One dataset whose chunks are the tiles of `x`. Package hdf5r must be
#'     installed.}
#' }
#'
#' @return
#' The [matrix_file()] of the new file, invisibly.
#'
#' @section Errors:
#' A file that cannot be completed is removed, after an error and after an interrupt.
#' - `cudafactor_error_file_exists`: the file exists. It is left unchanged.
#' - `cudafactor_error_disk_space` (fields `needed` and `free`, in bytes): the disk has too little
#'   room. All of it is reserved before anything is written; for HDF5 it is only checked.
#' - `cudafactor_error_argument`: the file of `x` holds neither a matrix nor its factor, or hdf5r is
#'   not installed.
#' - `cudafactor_error_dimension`: bigmemory cannot have a matrix of these dimensions.
#' - `cudafactor_error_file_corrupt`: a tile of `x` is damaged.
#' - `cudafactor_error_file`: an error of the system, in its own words.
#'
#' @param x A matrix by [tile_matrix()], [open_tile_matrix()] or [chol_file()].
#' @param path Name of the new file, a string.
#' @param format `"raw"`, `"npy"`, `"bigmemory"` or `"hdf5"`. The default, `NULL`, uses the end of
#'   the name.
#' @param dataset Name of the dataset in an HDF5 file. The default is `"x"`.
#' @seealso [matrix_file()], [tile_matrix()]
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' x <- tile_matrix(crossprod(matrix(1:12, 3)), file, triangle = TRUE)
#' raw <- tempfile(fileext = ".bin")
#' write_matrix_file(x, raw)
#' matrix(readBin(raw, "double", 16), 4)
#' unlink(c(file, raw))
#' @export
write_matrix_file <- function(x, path, format = NULL, dataset = "x") {
  call <- sys.call()
  if (missing(x) || missing(path)) {
    abort_missing(if (missing(x)) "x" else "path", call)
  }
  if (!is_tile_matrix(x)) {
    text <- "'x' must be a matrix on disk, not of class \"%s\": tile_matrix() writes one"
    abort_type(sprintf(text, class(x)[[1L]]), call)
  }
  path <- absolute_path(as_path(path, call))
  format <- as_format(format, path, call)
  if (!missing(dataset) && format != "hdf5") {
    text <- "'dataset' cannot be used for a file of format \"%s\": leave it out"
    abort_argument("dataset", sprintf(text, format), call)
  }
  check_dataset(dataset, call)
  if (file.exists(path)) {
    text <- sprintf("%s: the file exists: use another name, or unlink() it", path)
    abort("file_exists", text, call, path = path)
  }
  switch(format,
    raw = , npy = export_tiles(x, path, format == "npy", call),
    bigmemory = write_bigmemory(x, path, call),
    hdf5 = write_hdf5(x, path, dataset, call)
  )
  dim <- as.double(dim(x))
  number <- native_number(if (.subset2(x, "precision") == "single") "f4" else "f8")
  invisible(switch(format,
    raw = new_matrix_file(path, "raw", dim, number = number, exact = TRUE),
    hdf5 = new_matrix_file(path, "hdf5", dim, dataset = dataset),
    matrix_file(path, format = format)
  ))
}

export_tiles <- function(x, path, npy, call) {
  unwrap(native_matrix_file_export(.subset2(x, "path"), as.double(dim(x)), path, npy), call)
}

write_bigmemory <- function(x, path, call) {
  if (any(dim(x) == 0)) {
    text <- "'x' must have rows and columns for package bigmemory, but is %s"
    abort_dimension(sprintf(text, dimensions_text(dim(x))), call)
  }
  stem <- sub("\\.desc$", "", path, ignore.case = TRUE)
  data <- if (grepl("\\.bin$", stem)) stem else paste0(stem, ".bin")
  if (identical(data, path)) {
    text <- "'path' must not end in \".bin\", the end of the name of the file with the numbers"
    abort_argument("path", text, call)
  }
  export_tiles(x, data, FALSE, call)
  names <- names_on_disk(x, call) %||% list(NULL, NULL)
  done <- FALSE
  on.exit(if (!done) unlink(c(path, data)))
  failed <- function(e) {
    abort("file", sprintf("%s: %s", path, conditionMessage(e)), call, path = path)
  }
  single <- .subset2(x, "precision") == "single"
  tryCatch(
    write_description(path, data, dim(x), single, names),
    error = failed, warning = failed
  )
  done <- TRUE
}
