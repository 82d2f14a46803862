# Methods for matrices on disk: description, and parts in memory.

#' Parts of matrices on disk
#'
#' `x[i, j]` and `as.matrix(x)` read a matrix by [tile_matrix()], or its Cholesky factor, into
#' memory. Only tiles with requested entries are read, each of them once.
#'
#' If the file holds the upper triangle of a symmetric matrix, entries below the diagonal are those
#' above it. For a Cholesky factor they are zero. [head()] and [tail()] work too. Nothing can be
#' assigned, neither to a part nor to a component of the object.
#'
#' Functions that do not know files, such as [svd()], [eigen()], [qr()] or [gpu_qr()], need
#' `as.matrix(x)`. Functions that compute on disk are listed in [tile_matrix_products],
#' [tile_matrix_solve], [chol_file()] and [chol_solve()].
#'
#' Arithmetic, comparisons, sums, norms, `cbind()`, `c()`, `is.na()`, `t()`, `summary()`, `plot()`
#' and others are the error `cudafactor_error_type`, which names `as.matrix()` and `x[i, j]`.
#' `as.list()`, `unlist()`, `lapply()` and `for` use the components of the object, since base R has
#' no methods for them.
#'
#' Some functions of base R are not generic, such as `diag()`, `crossprod()` (before R 4.4),
#' `chol2inv()`, `backsolve()` and `rowSums()`. They work on these objects only after
#' `library(cudafactor)`, see [gpu_matrix].
#'
#' @return `x[i, j]` and `as.matrix(x)` return an ordinary double matrix with the stored dimnames,
#'   or a vector if base R would drop it to one. `dim(x)` returns two numbers. `format(x)` returns a
#'   text in two lines, which `print()` shows.
#'
#' @section Errors:
#' - `cudafactor_error_dimension`: subscripts out of bounds, unknown names, or one subscript instead
#'   of two.
#' - `cudafactor_error_argument`: an assignment, or a file with an incomplete or failed
#'   factorization.
#' - `cudafactor_error_file_corrupt` (fields `path`, `row` and `col`, the position of the tile): a
#'   tile is damaged.
#' - `cudafactor_error_file_in_use`: [chol_file()] in another process is working on the file.
#' - `cudafactor_error_file`: the file does not exist any more.
#' - `cudafactor_error_host_memory` (field `needed`, in bytes): the part needs more memory than is
#'   free, if the system reports that.
#' @param x A matrix by [tile_matrix()], [open_tile_matrix()] or [chol_file()].
#' @param i,j Rows and columns: numbers, negative numbers, logical vectors or names. All if empty.
#' @param drop `TRUE` (the default) turns a result with one row or column into a vector.
#' @param value Any value: assignments are errors.
#' @param ... Ignored.
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' x <- tile_matrix(crossprod(matrix(1:12, 3)), file, triangle = TRUE)
#' dim(x)
#' x[2:4, -1]
#' identical(as.matrix(x), t(as.matrix(x)))
#' unlink(file)
#' @aliases rowSums,tile_matrix-method colSums,tile_matrix-method rowMeans,tile_matrix-method
#' colMeans,tile_matrix-method
#' @aliases norm,tile_matrix,missing-method norm,tile_matrix,ANY-method
#' rcond,tile_matrix,missing-method rcond,tile_matrix,ANY-method
#' @name tile_matrix_parts
NULL

#' @rdname tile_matrix_parts
#' @export
dim.tile_matrix <- function(x) .subset2(x, "dim")

#' @rdname tile_matrix_parts
#' @export
`[.tile_matrix` <- function(x, i, j, ..., drop = TRUE) {
  call <- group_call(sys.call(), "[")
  subscripts <- nargs() - 1L - !missing(drop)
  if (subscripts < 2L) {
    if (missing(i)) {
      return(x)
    }
    text <- paste(
      "a matrix on disk needs two subscripts: x[i, ] for rows, x[, j] for columns;",
      "for one subscript read it, or a part, by as.matrix()"
    )
    abort_dimension(text, call)
  }
  if (subscripts > 2L) {
    abort_dimension(base_text("incorrect number of dimensions"), call)
  }
  names <- names_on_disk(x, call)
  rows <- if (!missing(i)) places_on_disk(plain(i), x, 1L, names, call)
  columns <- if (!missing(j)) places_on_disk(plain(j), x, 2L, names, call)
  part <- named_part(read_tiles(x, rows, columns, call), names, rows, columns)
  if (isFALSE(as_flag(drop))) part else drop(part)
}

#' @rdname tile_matrix_parts
#' @export
`[<-.tile_matrix` <- function(x, i, j, ..., value) {
  abort_change("tile_matrix", group_call(sys.call(), "[<-"))
}

#' @rdname tile_matrix_parts
#' @export
setMethod("diag<-", "tile_matrix", function(x, value) abort_change("tile_matrix", sys.call()))

#' @rdname tile_matrix_parts
#' @export
as.matrix.tile_matrix <- function(x, ...) {
  call <- sys.call()
  named_part(read_tiles(x, NULL, NULL, call), names_on_disk(x, call), NULL, NULL)
}

#' @export
t.tile_matrix <- function(x) {
  text <- paste(
    "a matrix on disk has no transpose: use t(as.matrix(x)), or t(x[i, j]) for a part;",
    "to solve with a transposed factor use backsolve(r, x, transpose = TRUE)"
  )
  abort_type(text, sys.call())
}

#' @export
as.array.tile_matrix <- function(x, ...) as.matrix(x)

# Numbers of rows or columns for a subscript, as base R reads it. NA stays NA.
places_on_disk <- function(subscript, x, along, names, call) {
  dimnames <- if (!is.null(names)) list(names[[along]], NULL)
  numbers <- matrix(seq_len(dim(x)[[along]]), ncol = 1L, dimnames = dimnames)
  as_user(call, unname(numbers[subscript, 1L]))
}

# The part of `x` in these rows and columns; NULL stands for all.
read_tiles <- function(x, rows, columns, call) {
  dim <- as.double(dim(x))
  wanted <- list(rows, columns)
  known <- lapply(wanted, function(places) {
    if (!is.null(places)) as.double(places[!is.na(places)])
  })
  size <- ifelse(vapply(known, is.null, NA), dim, lengths(known))
  if (any(size > .Machine$integer.max)) {
    text <- paste(
      "a matrix in memory must have at most %d rows and columns, but 'x' is %s:",
      "x[i, j] reads a part of it"
    )
    abort_dimension(sprintf(text, .Machine$integer.max, dimensions_text(size)), call)
  }
  out <- .External(alloc_matrix, size[[1L]], size[[2L]])
  reply <- native_tiles_read(.subset2(x, "path"), dim, known[[1L]], known[[2L]], out)
  if (identical(reply$err$kind, "host_memory")) {
    text <- paste(
      "%s entries take %s in memory, more than is free: x[i, j] reads a part;",
      "crossprod(), chol_file(), chol_solve() and others compute on disk"
    )
    reply$err$message <- sprintf(text, dimensions_text(size), format_bytes(8 * prod(size)))
  }
  unwrap(reply, call)
  # Rows and columns whose number is NA have the value NA.
  if (anyNA(rows)) out <- out[spread(rows), , drop = FALSE]
  if (anyNA(columns)) out <- out[, spread(columns), drop = FALSE]
  out
}

# The position of each place after those that are NA were left out.
spread <- function(places) {
  at <- cumsum(!is.na(places))
  at[is.na(places)] <- NA
  at
}

# The message of a file's error without the name of the file.
fault_text <- function(e) {
  start <- paste0(e$path, ": ")
  text <- conditionMessage(e)
  if (startsWith(text, start)) substring(text, nchar(start) + 1L) else text
}

# What the file holds now, in words; `dim` are the dimensions that it had.
held_on_disk <- function(path, dim) {
  facts <- tryCatch(unwrap(native_tiles_info(path, TRUE), NULL), cudafactor_error = identity)
  if (inherits(facts, "cudafactor_error_file_in_use")) {
    return("in use by another call")
  }
  if (inherits(facts, "condition")) {
    return(if (file.exists(path)) fault_text(facts) else "no such file")
  }
  if (any(facts$dim != dim)) {
    text <- "the file holds another matrix now, which is %s: open_tile_matrix() opens it"
    return(sprintf(text, dimensions_text(facts$dim)))
  }
  holds <- switch(facts$holds,
    matrix = if (facts$absent > 0) {
      sprintf("incomplete, %.0f tiles are missing", facts$absent)
    } else {
      "a matrix"
    },
    factoring = if (facts$absent > 0) {
      paste(
        "an interrupted factorization:",
        "chol_file(x, file = , resume = TRUE) with the matrix x and this file continues it"
      )
    } else {
      "an interrupted factorization: chol_file(resume = TRUE) continues it"
    },
    factor = "a Cholesky factor",
    not_positive_definite = sprintf(
      "no factor: not positive definite, at order %.0f", facts$order
    )
  )
  sprintf("%s on disk, %s", format_bytes(facts$bytes), holds)
}

#' @rdname tile_matrix_parts
#' @export
format.tile_matrix <- function(x, ...) {
  facts <- unclass(x)
  sprintf(
    "<tile_matrix: %s, %sin tiles of %d x %d, %s precision>\n%s: %s",
    dimensions_text(facts$dim), if (facts$triangle) "the upper triangle " else "",
    facts$tile, facts$tile, facts$precision, facts$path, held_on_disk(facts$path, facts$dim)
  )
}

#' @rdname tile_matrix_parts
#' @export
print.tile_matrix <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @rdname tile_matrix_parts
#' @param object A `tile_matrix`.
#' @export
setMethod("show", "tile_matrix", function(object) print.tile_matrix(object))

# The object is shown as the list of its components.
#' @export
str.tile_matrix <- function(object, ...) str(unclass(asS4(object, FALSE)), ...)
