# Methods of matrices in files: what they are, and parts of them in memory.

#' Parts of matrices on disk
#'
#' `x[i, j]` and `as.matrix(x)` read a matrix made by [tile_matrix()], or its Cholesky factor, into memory. Only tiles with entries that are asked
#' for are read, each of them once.
#'
#' Where the file holds the upper triangle of a symmetric matrix the entries below the diagonal are those above it, and of a Cholesky factor they are
#' zero. [head()] and [tail()] work too. Nothing can be assigned, neither to a part nor to a component of the object.
#'
#' Functions that know nothing of files, such as [svd()], [eigen()], [qr()] or [gpu_qr()], take `as.matrix(x)`, all of it. What does without is in [tile_matrix_products],
#' [tile_matrix_solve], [chol_file()] and [chol_solve()].
#'
#' Arithmetic, comparisons, sums, norms, `cbind()`, `c()`, `is.na()`, `t()` and others are the error `cudafactor_error_type`, which names `as.matrix()` and `x[i, j]`. `as.list()`, `unlist()`, `lapply()`
#' and `for` see the list that [tile_matrix()] describes: base R lets no class say otherwise.
#'
#' In packages and scripts that do not attach this package, what [gpu_matrix] says of base R's functions that are no generics holds here, too: `diag()`, `crossprod()` (before R 4.4),
#' `chol2inv()`, `backsolve()` and `rowSums()` are some.
#'
#' @section Value:
#' `x[i, j]` and `as.matrix(x)`: a plain double matrix, or a vector as base R drops it, with the dimnames that [tile_matrix()] stored. `dim(x)`: two numbers. `format(x)`: a text in two lines, which
#' `print()` shows.
#'
#' @section Failure:
#' `cudafactor_error_dimension`: subscripts out of bounds, names that there are not, or one subscript instead of two. `cudafactor_error_file_corrupt`: a tile is not what was written; fields
#' `path`, `row` and `col`, the tile's row and column of tiles. `cudafactor_error_file_in_use`: [chol_file()] is at work on it in another process.
#' `cudafactor_error_argument`: something is to be assigned; the file holds neither a matrix nor its factor but what an interrupted factorization, or one of a matrix that is not positive definite,
#' has left. `cudafactor_error_file`: there is no such file any more. `cudafactor_error_host_memory`: what is asked for takes more memory than is free (field `needed`, in bytes), where the
#' system tells that.
#' @param x A matrix made by [tile_matrix()], [open_tile_matrix()] or [chol_file()].
#' @param i,j Rows and columns: numbers, negative numbers, logical vectors, or nothing for all.
#' @param drop Whether a result with one row or column becomes a vector.
#' @param value Whatever it is: nothing can be assigned, which is an error.
#' @param ... Ignored.
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' x <- tile_matrix(crossprod(matrix(1:12, 3)), file, triangle = TRUE)
#' dim(x)
#' x[2:4, -1]
#' identical(as.matrix(x), t(as.matrix(x)))
#' unlink(file)
#' @aliases rowSums,tile_matrix-method colSums,tile_matrix-method rowMeans,tile_matrix-method colMeans,tile_matrix-method
#' @aliases norm,tile_matrix,missing-method norm,tile_matrix,ANY-method rcond,tile_matrix,missing-method rcond,tile_matrix,ANY-method
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
    abort_dimension("a matrix on disk has two subscripts: x[i, ] for rows, x[, j] for columns; for x[i], take as.matrix() of it, or of a part, first", call)
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
  text <- "the transpose of a matrix on disk is not made: t(as.matrix(x)), or t(x[i, j]) of a part; for a factor, backsolve(r, x, transpose = TRUE) needs none"
  abort_type(text, sys.call())
}

#' @export
as.array.tile_matrix <- function(x, ...) as.matrix(x)

# Rows or columns by number, NA for NA, of a subscript as base R reads it.
places_on_disk <- function(subscript, x, along, names, call) {
  numbers <- matrix(seq_len(dim(x)[[along]]), ncol = 1L, dimnames = if (!is.null(names)) list(names[[along]], NULL))
  as_user(call, unname(numbers[subscript, 1L]))
}

# NULL stands for all rows or columns.
read_tiles <- function(x, rows, columns, call) {
  dim <- as.double(dim(x))
  wanted <- list(rows, columns)
  known <- lapply(wanted, function(places) if (!is.null(places)) as.double(places[!is.na(places)]))
  extent <- ifelse(vapply(known, is.null, NA), dim, lengths(known))
  if (any(extent > .Machine$integer.max)) {
    text <- "%s entries are no matrix in memory, whose dimensions are at most %d: x[i, j] reads a part of a matrix on disk"
    abort_dimension(sprintf(text, extents_text(extent), .Machine$integer.max), call)
  }
  out <- .External(alloc_matrix, extent[[1L]], extent[[2L]])
  reply <- native_tiles_read(.subset2(x, "path"), dim, known[[1L]], known[[2L]], out)
  if (identical(reply$err$kind, "host_memory")) {
    text <- "%s x %s entries take %s in memory, more than is free: x[i, j] reads a part of a matrix on disk, and crossprod(), chol_file(), chol_solve() and others need none of it"
    reply$err$message <- do.call(sprintf, c(text, as.list(format(extent, trim = TRUE, scientific = FALSE)), format_bytes(8 * prod(extent))))
  }
  unwrap(reply, call)
  # A row that is not known is one of NA.
  if (anyNA(rows)) out <- out[spread(rows), , drop = FALSE]
  if (anyNA(columns)) out <- out[, spread(columns), drop = FALSE]
  out
}

# Where each place came to be once those that are NA were left out.
spread <- function(places) {
  at <- cumsum(!is.na(places))
  at[is.na(places)] <- NA
  at
}

# What is wrong with a file, without its name.
fault_text <- function(e) {
  start <- paste0(e$path, ": ")
  text <- conditionMessage(e)
  if (startsWith(text, start)) substring(text, nchar(start) + 1L) else text
}

# What the file holds at the moment, in words; `dim` are the extents that it had.
held_on_disk <- function(path, dim) {
  facts <- tryCatch(unwrap(native_tiles_info(path, TRUE), NULL), cudafactor_error = identity)
  if (inherits(facts, "cudafactor_error_file_in_use")) {
    return("in use by another call")
  }
  if (inherits(facts, "condition")) {
    return(if (file.exists(path)) fault_text(facts) else "no such file")
  }
  if (any(facts$dim != dim)) {
    return(sprintf("the file holds another matrix now, which is %s: open_tile_matrix() opens it", extents_text(facts$dim)))
  }
  holds <- switch(facts$holds,
    matrix = if (facts$absent > 0) sprintf("incomplete, %.0f tiles are missing", facts$absent) else "a matrix",
    factoring = if (facts$absent > 0) {
      "an interrupted factorization: chol_file(x, file = , resume = TRUE) of the matrix x and this file goes on"
    } else {
      "an interrupted factorization: chol_file(resume = TRUE) goes on"
    },
    factor = "a Cholesky factor",
    not_positive_definite = sprintf("no factor: not positive definite, at order %.0f", facts$order)
  )
  sprintf("%s on disk, %s", format_bytes(facts$bytes), holds)
}

#' @rdname tile_matrix_parts
#' @export
format.tile_matrix <- function(x, ...) {
  facts <- unclass(x)
  sprintf(
    "<tile_matrix: %s, %sin tiles of %d x %d, %s precision>\n%s: %s", extents_text(facts$dim), if (facts$triangle) "the upper triangle " else "",
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

# As the list that it is.
#' @export
str.tile_matrix <- function(object, ...) str(unclass(asS4(object, FALSE)), ...)
