# Matrices in files of tiles: made and opened. An object is the name of a file and what never changes of it; each call opens the file and closes it.

#' Matrices on disk
#'
#' `tile_matrix()` writes a matrix to a file, cut into square tiles, and `open_tile_matrix()` finds one there that was written before. The matrix may
#' be larger than memory: it can be given by the points of which it is the [lazy_covariance()], by a function that computes parts of it, or be in a file of another
#' format. [chol_file()] factors it.
#'
#' The object is the name of a file with a description, ordinary R data that [saveRDS()] keeps and other sessions on the machine can use; the numbers are in
#' the file alone. A copy of the object is the same file. The file is open only during a call. While one call writes it,
#' other processes cannot open it, and while one reads it, others can read it too.
#'
#' A covariance matrix is symmetric: with `triangle = TRUE`, the default for a [lazy_covariance()], only its upper triangle is stored, which halves the file, and a function is asked
#' for the blocks on and above the diagonal only. What stands below the diagonal of a matrix `x`, or of a block on the diagonal, is then not looked at. [chol_file()] makes
#' the factor of such a matrix in place. It takes files of whole matrices, too.
#'
#' The file keeps the dimnames of `x`, and those of a function are `NULL`. Every tile has a checksum, which is compared whenever it is read.
#'
#' A file has `8 * tile^2` bytes (4 in single precision) for each tile, of which a triangle of `m` rows of tiles has `m * (m + 1) / 2`, and for a sixteenth as many more, but at least
#' 4 and at most 16. A triangle of 65536 rows takes 17 GiB. Tiles that are large for a small matrix waste room.
#'
#' @section Covariances:
#' The tiles of a [lazy_covariance()] are computed on `device`, from the coordinates, while others are written to the disk. `"auto"` is the first GPU, where there
#' is one, for 2048 points and more, else the CPU. The file has the entries of `as.matrix(x)` on that device bit for bit.
#'
#' @section Functions:
#' For what [lazy_covariance()] does not have: where `x` is a function, it is called as `x(i, j)` with two vectors of successive row and column numbers, at most `tile` of them each,
#' and returns the block `[i, j]`: a numeric or logical matrix of `length(i)` rows and `length(j)` columns, in which what has one row or one column may be a
#' plain vector. It is called once for each tile, column of tiles by column of tiles. Its errors are errors of `tile_matrix()`. Blocks are written while the next ones are computed: three tiles in memory
#' at most, beside what `x` itself needs.
#'
#' @section Value:
#' `tile_matrix()` and `open_tile_matrix()`: an object of class `"tile_matrix"`, a list of `path`, `dim`, `tile`, `triangle` and `precision`.
#' There are methods for [dim()], [print()], [as.matrix()], `[` and [chol()], see [tile_matrix_parts], for products, see [tile_matrix_products], and for a factor those of [tile_matrix_solve].
#'
#' @section Failure:
#' Where a file cannot be completed, be it by an error in a function `x`, of the device, or by an interrupt, it is removed. `cudafactor_error_file_exists`: there is such a file,
#' which is left as it is. `cudafactor_error_disk_space`: the disk has too little room for the file (fields `needed` and `free`, in bytes); all of it is
#' reserved before anything is written. `cudafactor_error_dimension` and `cudafactor_error_type`: a block of a function is of other extents, or no
#' numbers; the message names the tile. `cudafactor_error_file_in_use`: another process, or another call, writes the file.
#' `cudafactor_error_file_format`: no file of tiles, or one whose making was cut short by the end of the process.
#' `cudafactor_error_file`: the system's own words; all the classes of files inherit from it.
#'
#' @param x A numeric or logical matrix, what `as.matrix()` makes one, a [lazy_covariance()], a function that gives blocks of one, or a `tile_matrix` that is to be
#'   written anew, in other tiles or in another precision. Or what says where a file of another format has one, see [matrix_file()]; or a `big.matrix` of package bigmemory.
#' @param file The name of the file. `tile_matrix()` makes it, and refuses one that exists.
#' @param dim For a function, the numbers of rows and columns; one number for a square matrix.
#' @param triangle Whether only the upper triangle is stored, of a matrix that is square and is taken as symmetric. `NULL` for a [lazy_covariance()], and for what is stored so
#'   already and is no factor. A factor that is written anew is an ordinary matrix.
#' @param precision `"double"` or `"single"`: of the numbers in the file, and of what is computed with them.
#' @param tile The number of rows and columns of a tile: 512 for matrices of fewer than 8192 rows and columns, 1024 for fewer than 32768, else 2048.
#'   Larger tiles are computed with faster, smaller ones make do with less memory: [chol_file()] needs at least three at once.
#' @param device Where a [lazy_covariance()] is evaluated: `"auto"`, `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"` (the second, and so on).
#' @seealso [lazy_covariance()], [chol_file()], [chol_solve()], [tile_matrix_products], [tile_matrix_parts]; [matrix_file()] and [write_matrix_file()] for files of other formats
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' x <- tile_matrix(matrix(1:6, 2), file)
#' x
#' x[2, ]
#' unlink(file)
#'
#' # A covariance matrix that is in no memory as a whole
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
  # What is in the file now, whatever the object says.
  stored <- if (is_tile_matrix(x)) unwrap(native_tiles_info(.subset2(x, "path"), TRUE), call)
  factor <- identical(stored$holds, "factor")
  if (is.null(triangle)) {
    triangle <- is_covariance(x) || isTRUE(stored$triangle) && !factor
  }
  triangle <- as_choice(triangle, "triangle", call)
  if (triangle && factor) {
    abort_argument("triangle", "a Cholesky factor is not symmetric: file.copy() copies the file of one, and triangle = FALSE writes it as a matrix", call)
  }
  where <- how(device, precision, call)
  source <- x
  if (is_tile_matrix(x)) {
    from <- x
    if (is.null(dim)) dim <- dim(from)
    x <- function(i, j) read_tiles(from, i, j, call)
  }
  if (is.function(x)) {
    dim <- as_extents(dim, call)
  } else {
    if (!is.null(dim)) {
      abort_argument("dim", "'dim' is for a function 'x': a matrix has its own", call)
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
    abort_dimension(sprintf("a matrix of which the triangle is stored is square, not %s", extents_text(dim)), call)
  }
  names <- names_for_file(source, dim)
  writer <- .External(new_writer)
  # Nothing, once the file is complete.
  on.exit(native_tiles_discard(writer), add = TRUE)
  unwrap(native_tiles_create(file, as.double(dim), as_tile(tile, dim, call), triangle, names, writer, where), call)
  if (is.function(x)) {
    write_blocks(x, writer, tile_ranges(dim, as_tile(tile, dim, call)), triangle, call)
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
    text <- sprintf("%s: the file is incomplete: what made it was stopped, and %.0f of its tiles were never written; unlink() it and write it again", file, facts$absent)
    abort("file_format", text, call, path = file)
  }
  new_tile_matrix(file, facts)
}

is_tile_matrix <- function(x) inherits(x, "tile_matrix")

# The object for a file.
described <- function(path, call) {
  facts <- unwrap(native_tiles_info(path, FALSE), call)
  new_tile_matrix(path, facts)
}

# An external pointer to nothing whose protected value tells this state of the file from all others, for who hashes the object. All objects
# of a session for one file share it, since chol_file() changes what each of them stands for.
tile_identities <- new.env(parent = emptyenv())

tile_identity <- function(path) {
  pointer <- tile_identities[[path]] %||% .External(new_identity)
  tile_identities[[path]] <- pointer
  renew_identity(pointer, path)
  pointer
}

# What is in the file tells it, in every session. Where it cannot be read, as while another process writes it, nothing else is equal to it.
renew_identity <- function(pointer, path) {
  facts <- tryCatch(native_tiles_info(path, TRUE)$ok, error = function(e) NULL)
  .External(set_identity, pointer, facts$identity)
}

# It is marked as one of an S4 class, since R before 4.3 looks for methods of `%*%` for no others.
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

# The folder is found, the file may not be there yet. It is the same one wherever the session goes.
absolute_path <- function(file) enc2utf8(file.path(normalizePath(dirname(file), mustWork = FALSE), basename(file)))

as_choice <- function(value, argument, call) {
  if (!(isTRUE(value) || isFALSE(value))) {
    abort_argument(argument, sprintf("'%s' must be TRUE or FALSE", argument), call)
  }
  value
}

as_tile_source <- function(x, call) {
  if (is.character(x)) {
    abort_type("'x' must be a numeric matrix, or a function, not text: matrix_file() says where a file has a matrix", call)
  }
  check_numbers(x, "x", "a numeric matrix, or a function", call)
  x <- as_matrix(x, call)
  if (is.complex(x)) {
    abort_complex("base R for them", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type("'x' must be a numeric matrix, or a function", call)
  }
  as_double(x, call)
}

as_extents <- function(dim, call) {
  if (is.null(dim)) {
    abort_argument("dim", "'dim' must give the numbers of rows and columns, since 'x' is a function", call)
  }
  # Below 2^53 a double is exact.
  if (!(is.numeric(dim) && length(dim) %in% 1:2 && all(is.finite(dim)) && all(dim >= 0 & dim < 2^53 & dim == trunc(dim)))) {
    abort_argument("dim", "'dim' must be one or two whole numbers, not negative", call)
  }
  rep_len(as.double(dim), 2L)
}

extents_text <- function(dim) paste(format(dim, trim = TRUE, scientific = FALSE), collapse = " x ")

as_tile <- function(tile, dim, call) {
  largest <- max(dim, 1)
  if (is.null(tile)) {
    tile <- c(512, 1024, 2048)[[findInterval(largest, c(8192, 32768)) + 1L]]
  } else if (!(is.numeric(tile) && length(tile) == 1L && isTRUE(tile >= 1 && tile == trunc(tile)))) {
    abort_argument("tile", "'tile' must be a positive whole number", call)
  }
  as.double(min(tile, largest))
}

# First and last rows, and columns, of the tiles.
tile_ranges <- function(dim, tile) {
  lapply(dim, function(n) {
    from <- if (n > 0) seq(1, n, by = tile) else numeric()
    list(from = from, to = pmin(from + tile - 1, n))
  })
}

write_blocks <- function(f, writer, ranges, triangle, call) {
  # What the function has to say is not to meet the bar.
  hide <- function(condition) native_tiles_hide(writer)
  rows <- ranges[[1L]]
  cols <- ranges[[2L]]
  for (b in seq_along(cols$from)) {
    j <- cols$from[[b]]:cols$to[[b]]
    for (a in if (triangle) seq_len(b) else seq_along(rows$from)) {
      i <- rows$from[[a]]:rows$to[[a]]
      block <- withCallingHandlers(as_block(f(i, j), i, j, c(a, b), call), condition = hide)
      unwrap(native_tiles_write(writer, c(a, b) - 1, block), call)
    }
  }
}

# What a function gave for a tile, as a double matrix.
as_block <- function(block, i, j, at, call) {
  where <- sprintf(
    "the block of tile (%d, %d), rows %.0f to %.0f and columns %.0f to %.0f", at[[1L]], at[[2L]], i[[1L]], i[[length(i)]], j[[1L]], j[[length(j)]]
  )
  if (isS4(block) || is.data.frame(block)) {
    block <- as_matrix(block, call)
  }
  if (is.object(block) || !(is.numeric(block) || is.logical(block))) {
    kind <- if (is.object(block)) class(block)[[1L]] else typeof(block)
    abort_type(sprintf("%s, must be a numeric matrix, not of type \"%s\"", where, kind), call)
  }
  wanted <- c(length(i), length(j))
  fits <- if (is.matrix(block)) all(dim(block) == wanted) else any(wanted == 1L) && is.null(dim(block)) && length(block) == prod(wanted)
  if (!fits) {
    got <- if (is.null(dim(block))) sprintf("a vector of length %d", length(block)) else extents_text(dim(block))
    abort_dimension(sprintf("%s, must be %s, not %s", where, extents_text(wanted), got), call)
  }
  as_double(block, call)
}
