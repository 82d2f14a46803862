# From files of tiles to files of other formats.

#' Write a matrix on disk in another format
#'
#' `write_matrix_file()` writes a matrix made by [tile_matrix()], or its Cholesky factor, to a new file of another format, which other programs read: raw
#' binary numbers, NumPy's `.npy`, a file-backed matrix of package bigmemory, or HDF5. The matrix may be larger than memory.
#'
#' The format is told by the end of the name, as in [matrix_file()]; text (`.csv`, `.tsv`, `.txt`) is not written. The numbers keep their precision, and their values bit for bit. Of a symmetric matrix
#' both triangles are written, and of a factor zeros below the diagonal.
#' \describe{
#'   \item{`"raw"`}{The columns one after the other, in the byte order of the machine, and nothing else.}
#'   \item{`"npy"`}{In the order of Fortran: `numpy.load(path, mmap_mode = "r")` shows it at once.}
#'   \item{`"bigmemory"`}{Two files: `path` is the description, for `attach.big.matrix()`, and the numbers are in a file whose name ends in `.bin` instead of `.desc`. bigmemory has no matrices without
#'     rows or columns.}
#'   \item{`"hdf5"`}{One dataset, in chunks that are the tiles of `x`, by package hdf5r, which must be installed.}
#' }
#'
#' @section Value:
#' What [matrix_file()] says of the new file, invisibly.
#'
#' @section Failure:
#' Where a file cannot be completed, be it by an error or by an interrupt, it is removed. `cudafactor_error_file_exists`: there is such a file, which is left as it
#' is. `cudafactor_error_disk_space`: the disk has too little room for the file (fields `needed` and `free`, in bytes); all of it is reserved before anything is
#' written, but for HDF5 only asked for. `cudafactor_error_argument`: the file of `x` holds neither a matrix nor its factor, or hdf5r is not
#' installed. `cudafactor_error_dimension`: bigmemory has no such matrix. `cudafactor_error_file_corrupt`: a tile is not what was written.
#' `cudafactor_error_file`: the system's own words.
#'
#' @param x A matrix made by [tile_matrix()], [open_tile_matrix()] or [chol_file()].
#' @param path The name of the new file.
#' @param format `"raw"`, `"npy"`, `"bigmemory"` or `"hdf5"`; `NULL` for what the name says.
#' @param dataset The name of the dataset in an HDF5 file.
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
    abort_type("'x' must be a matrix on disk: tile_matrix() writes one", call)
  }
  path <- absolute_path(as_path(path, call))
  format <- as_format(format, path, call)
  if (!missing(dataset) && format != "hdf5") {
    abort_argument("dataset", sprintf("'dataset' is not for a file of format \"%s\"", format), call)
  }
  if (!(is.character(dataset) && length(dataset) == 1L && !is.na(dataset) && nzchar(dataset))) {
    abort_argument("dataset", "'dataset' must be the name of a dataset in the file", call)
  }
  if (file.exists(path)) {
    abort("file_exists", sprintf("%s: the file exists", path), call, path = path)
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
    abort_dimension(sprintf("package bigmemory has no matrices without rows or columns: 'x' is %s", extents_text(dim(x))), call)
  }
  stem <- sub("\\.desc$", "", path, ignore.case = TRUE)
  data <- if (grepl("\\.bin$", stem)) stem else paste0(stem, ".bin")
  if (identical(data, path)) {
    abort_argument("path", "'path' is the description, whose name must not end in .bin", call)
  }
  export_tiles(x, data, FALSE, call)
  names <- names_on_disk(x, call) %||% list(NULL, NULL)
  done <- FALSE
  on.exit(if (!done) unlink(c(path, data)))
  failed <- function(e) abort("file", sprintf("%s: %s", path, conditionMessage(e)), call, path = path)
  tryCatch(write_description(path, data, dim(x), .subset2(x, "precision") == "single", names), error = failed, warning = failed)
  done <- TRUE
}
