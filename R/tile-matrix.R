# Matrices in files of tiles. An object holds the name of a file and its constant facts; each call
# opens and closes the file.

#' Matrices on disk
#'
#' `tile_matrix()` writes a matrix to a file in square tiles, and `open_tile_matrix()` opens such a
#' file. The matrix may be larger than memory: `x` may be a [lazy_covariance()], a function that
#' computes blocks, or a file of another format. [chol_file()] factors the matrix.
#'
#' The object has the name of the file and a description. [saveRDS()] keeps it, and other sessions
#' on the machine can use it, but the numbers are in the file alone. A copy of the object refers to
#' the same file. The file is open only during calls. Other processes cannot open it while one
#' writes it; several can read it at once.
#'
#' With `triangle = TRUE`, the default for a [lazy_covariance()], only the upper triangle of a
#' symmetric matrix is stored, which halves the file. Entries of `x` below the diagonal are then
#' ignored, and a function `x` is asked for blocks on and above the diagonal only. [chol_file()]
#' factors such a matrix in place. It accepts files of whole matrices too.
#'
#' The file keeps the dimnames of `x`. For a function they are `NULL`. Every tile has a checksum,
#' which is compared at every read.
#'
#' A tile takes `8 * tile^2` bytes, half of that in single precision. A triangle of `m` rows of
#' tiles has `m * (m + 1) / 2` tiles. The file has room for a sixteenth more tiles, at least 4 and
#' at most 16. A triangle of 65536 rows takes 17 GiB. Large tiles waste room for a small matrix.
#'
#' @section Covariances: The tiles of a [lazy_covariance()] are computed on `device` from the
#' coordinates, while others are written. `"auto"` uses the first GPU for 2048 points or more, else
#' the CPU. The file has the entries of `as.matrix(x)` on that device, bit for bit.
#'
#' @section Functions: A function is called as `x(i, j)` with two vectors of successive row and
#' column numbers, each of length `tile` at most. It must return the block `[i, j]`: a numeric or
#' logical matrix of `length(i)` rows and `length(j)` columns. A plain vector will do for one row or
#' one column.
#'
#' The function is called once for each tile, one column of tiles after the other. Its errors become
#' errors of `tile_matrix()`. Blocks are written while the next ones are computed. At most three
#' tiles are in memory, in addition to the memory of `x` itself.
#'
#' @return An object of class `"tile_matrix"`, a list of `path`, `dim`, `tile`, `triangle` and
#'   `precision`. It has methods for [dim()], [print()], [as.matrix()], `[` and [chol()] (see
#'   [tile_matrix_parts]), for products (see [tile_matrix_products]), and for a factor those of
#'   [tile_matrix_solve].
#'
#' @section Errors: A file that cannot be completed is removed, after an error in a function `x` or
#' on the device, and after an interrupt.
#' - `cudafactor_error_file_exists`: the file exists. It is left unchanged.
#' - `cudafactor_error_disk_space` (fields `needed` and `free`, in bytes): the disk has too little
#'   room. All of the file is reserved before anything is written.
#' - `cudafactor_error_dimension`, `cudafactor_error_type`: a block of a function has wrong
#'   dimensions or is not numeric. The message names the tile.
#' - `cudafactor_error_file_in_use`: another process, or another call, writes the file.
#' - `cudafactor_error_file_format`: the file is not a file of tiles, or is incomplete since its
#'   process ended.
#' - `cudafactor_error_file`: an error of the system, in its own words. All classes of file errors
#'   inherit from it.
#'
#' @param x A numeric or logical matrix, an object that `as.matrix()` turns into one, a
#'   [lazy_covariance()], a function that returns blocks, a [matrix_file()], or a `big.matrix` of
#'   package bigmemory. Also a `tile_matrix`, to write it with other tiles or in another precision.
#' @param file Name of the file, a string. `tile_matrix()` refuses a file that exists.
#' @param dim For a function `x`: numbers of rows and columns, or one number for a square matrix.
#' @param triangle `TRUE` stores only the upper triangle of a square matrix, which is taken as
#'   symmetric. The default is `TRUE` for a [lazy_covariance()] and for a `tile_matrix` stored in
#'   this way, else `FALSE`. A factor is always rewritten as an ordinary matrix.
#' @param precision `"double"` (the default) or `"single"`: precision of the stored numbers and of
#'   computations with them.
#' @param tile Number of rows and columns of a tile. The default is 512 for fewer than 8192 rows and
#'   columns, 1024 for fewer than 32768, else 2048. Larger tiles are faster. [chol_file()] needs
#'   memory for at least three tiles.
#' @param device Device for a [lazy_covariance()]: `"auto"`, `"cpu"`, `"cuda"` (the first GPU),
#'   `"cuda:1"` (the second GPU), and so on.
#' @seealso [lazy_covariance()], [chol_file()], [chol_solve()], [tile_matrix_products],
#'   [tile_matrix_parts]; [matrix_file()] and [write_matrix_file()] for files of other formats
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' x <- tile_matrix(matrix(1:6, 2), file)
#' x
#' x[2, ]
#' unlink(file)
#'
#' # A covariance, never in memory
#' place <- seq(0, 1, length.out = 700)
#' k <- tile_matrix(lazy_covariance(place, "matern32", range = 0.2), file)
#' k[1:3, c(1, 700)]
#' unlink(file)
#'
#' # The same way, any function of two points
#' f <- function(i, j) pmin(outer(place[i], place[j], pmin), 0.5)
#' k <- tile_matrix(f, file, dim = 700, triangle = TRUE)
#'
#' # In another session
#' k <- open_tile_matrix(file)
#' dim(k)
#' unlink(file)
#' @aliases tile_matrix-class
#' @export
tile_matrix <- function(x, file, dim = NULL, triangle = NULL, precision = "double", tile = NULL,
                        device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(x) || missing(file)) {
    abort_missing(if (missing(x)) "x" else "file", call)
  }
  file <- absolute_path(as_file(file, call))
  # The file may have changed since the object was made.
  stored <- if (is_tile_matrix(x)) unwrap(native_tiles_info(.subset2(x, "path"), TRUE), call)
  factor <- identical(stored$holds, "factor")
  if (is.null(triangle)) {
    triangle <- is_covariance(x) || isTRUE(stored$triangle) && !factor
  }
  triangle <- as_choice(triangle, "triangle", call)
  if (triangle && factor) {
    text <- paste(
      "'triangle' must be FALSE for a Cholesky factor, which is not symmetric;",
      "file.copy() copies the file of a factor"
    )
    abort_argument("triangle", text, call)
  }
  where <- how(device, precision, call)
  source <- x
  if (is_tile_matrix(x)) {
    from <- x
    if (is.null(dim)) dim <- dim(from)
    x <- function(i, j) read_tiles(from, i, j, call)
  }
  if (is.function(x)) {
    dim <- as_dimensions(dim, call)
  } else {
    if (!is.null(dim)) {
      abort_argument("dim", "'dim' can only be used when 'x' is a function; leave it out", call)
    }
    foreign <- is_matrix_file(x) || is_big_matrix(x)
    if (!(foreign || is_covariance(x))) {
      source <- x <- as_tile_source(x, call)
    }
    dim <- as.double(dim(x))
    if (foreign && !is.null(opened <- open_blocks(x, call))) {
      on.exit(opened$close())
      x <- opened$blocks
    }
  }
  if (triangle && dim[[1L]] != dim[[2L]]) {
    text <- "'x' must be square when 'triangle' is TRUE, not %s"
    abort_dimension(sprintf(text, dimensions_text(dim)), call)
  }
  names <- names_for_file(source, dim)
  writer <- .External(new_writer)
  # This has no effect once the file is complete.
  on.exit(native_tiles_discard(writer), add = TRUE)
  tile <- as_tile(tile, dim, call)
  unwrap(native_tiles_create(file, as.double(dim), tile, triangle, names, writer, where), call)
  if (is.function(x)) {
    write_blocks(x, writer, tile_ranges(dim, tile), triangle, call)
  } else if (is_covariance(x)) {
    write_covariance(x, writer, where, call)
  } else if (is_matrix_file(x)) {
    unwrap(do.call(native_matrix_file_import, c(list(writer), native_description(x))), call)
  } else {
    unwrap(native_tiles_fill(writer, x), call)
  }
  unwrap(native_tiles_finish(writer), call)
  described(file, call)
}

#' @rdname tile_matrix
#' @export
open_tile_matrix <- function(file) {
  call <- sys.call()
  if (missing(file)) {
    abort_missing("file", call)
  }
  file <- absolute_path(as_file(file, call))
  facts <- unwrap(native_tiles_info(file, TRUE), call)
  if (facts$holds == "matrix" && facts$absent > 0) {
    text <- paste(
      "%s: the file must be complete, but %.0f of its tiles were never written:",
      "unlink() it and write it again"
    )
    abort("file_format", sprintf(text, file, facts$absent), call, path = file)
  }
  new_tile_matrix(file, facts)
}

is_tile_matrix <- function(x) inherits(x, "tile_matrix")

# The object for a file.
described <- function(path, call) {
  facts <- unwrap(native_tiles_info(path, FALSE), call)
  new_tile_matrix(path, facts)
}

# An external pointer whose protected value identifies this state of the file, for functions that
# hash the object. All objects of a session for one file share it, since chol_file() changes the
# file for each of them.
tile_identities <- new.env(parent = emptyenv())

tile_identity <- function(path) {
  pointer <- tile_identities[[path]] %||% .External(new_identity)
  tile_identities[[path]] <- pointer
  renew_identity(pointer, path)
  pointer
}

# The contents of the file identify it in every session. A file that cannot be read, for example
# while another process writes it, is equal to no other.
renew_identity <- function(pointer, path) {
  facts <- tryCatch(native_tiles_info(path, TRUE)$ok, error = function(e) NULL)
  .External(set_identity, pointer, facts$identity)
}

# The object is marked as S4, since R before 4.3 looks for methods of `%*%` only for S4 objects.
new_tile_matrix <- function(path, facts) {
  dim <- facts$dim
  asS4(structure(class = "tile_matrix", identity = tile_identity(path), list(
    path = path,
    dim = if (all(dim <= .Machine$integer.max)) as.integer(dim) else dim,
    tile = as.integer(facts$tile),
    triangle = facts$triangle,
    precision = if (facts$single) "single" else "double"
  )))
}

# An absolute path, which stays valid after setwd(). The file need not exist yet.
absolute_path <- function(file) {
  enc2utf8(file.path(normalizePath(dirname(file), mustWork = FALSE), basename(file)))
}

as_choice <- function(value, argument, call) {
  if (!(isTRUE(value) || isFALSE(value))) {
    abort_argument(argument, sprintf("'%s' must be TRUE or FALSE", argument), call)
  }
  value
}

as_tile_source <- function(x, call) {
  if (is.character(x)) {
    text <- "'x' must be a numeric matrix, or a function, not text: use matrix_file() for a file"
    abort_type(text, call)
  }
  check_numbers(x, "x", "a numeric matrix, or a function", call)
  x <- as_matrix(x, call)
  if (is.complex(x)) {
    abort_complex("base R", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_not_numbers(x, "x", "a numeric matrix, or a function", call)
  }
  as_double(x, call)
}

as_dimensions <- function(dim, call) {
  if (is.null(dim)) {
    text <- "'dim' must give the numbers of rows and columns when 'x' is a function"
    abort_argument("dim", text, call)
  }
  # Whole numbers below 2^53 are exact as doubles.
  fits <- is.numeric(dim) && length(dim) %in% 1:2 && all(is.finite(dim)) &&
    all(dim >= 0 & dim < 2^53 & dim == trunc(dim))
  if (!fits) {
    abort_argument("dim", "'dim' must be one or two whole numbers, at least 0", call)
  }
  rep_len(as.double(dim), 2L)
}

# Dimensions as text, such as "3 x 4".
dimensions_text <- function(dim) {
  paste(format(dim, trim = TRUE, scientific = FALSE), collapse = " x ")
}

as_tile <- function(tile, dim, call) {
  largest <- max(dim, 1)
  if (is.null(tile)) {
    tile <- c(512, 1024, 2048)[[findInterval(largest, c(8192, 32768)) + 1L]]
  } else if (!(is.numeric(tile) && length(tile) == 1L &&
    isTRUE(tile >= 1 && tile == trunc(tile)))) {
    abort_argument("tile", "'tile' must be a positive whole number", call)
  }
  as.double(min(tile, largest))
}
