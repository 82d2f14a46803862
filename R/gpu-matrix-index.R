# Subscripts, assignment, transpose and diagonal of a gpu_matrix.

#' Parts of matrices on the GPU
#'
#' `x[i, j]`, `x[i, j] <- value`, `x[[i, j]] <- value`, `t(x)`, `diag(x)`, `diag(x) <- value`,
#' `cbind()` and `rbind()` of a [gpu_matrix] work as for an ordinary matrix. Rows and columns are
#' copied on the device; only the subscripts are transferred.
#'
#' A result that is a matrix stays on the device. A result that base R drops to a vector is an
#' ordinary vector, unless `drop = FALSE`. With a single subscript (`x[k]`, also for a logical or
#' two-column matrix `k`) the matrix is copied to the host. After `x[k] <- value` it is copied back.
#'
#' @section Errors:
#' * `cudafactor_error_dimension`: base R's errors for subscripts out of bounds, a replacement of
#'   the wrong length, or parts that do not match.
#' * `cudafactor_error_type`: a replacement, or a part of `cbind()` or `rbind()`, is not numeric.
#'
#' @param x A `gpu_matrix`.
#' @param i,j Subscripts as in base R: positive or negative numbers, names, logical vectors, or
#'   nothing for all.
#' @param drop Does a result with one row or column become a vector?
#' @param value A number, a vector that is recycled, a matrix or a `gpu_matrix`.
#' @param ... For `cbind()` and `rbind()`: matrices and vectors.
#' @param deparse.level As in [base::cbind()].
#' @param nrow,ncol Must be missing, as for any matrix in [base::diag()].
#' @param names Does the diagonal get the names that rows and columns share?
#' @return A `gpu_matrix` of the same device and precision, or an ordinary vector, with base R's
#' names. `cbind()` and `rbind()` copy ordinary operands to the device of the first `gpu_matrix`.
#' @seealso [gpu_matrix], [base::Extract], [base::cbind()]
#' @examples
#' g <- as_gpu(matrix(1:12, 3, dimnames = list(NULL, letters[1:4])))
#' g[, c("d", "a")]
#' g[2, ]
#' g[1:2, 1] <- 0
#' diag(g[, 1:3])
#' cbind(t(g), 1:4)
#' @name gpu_matrix_parts
NULL

#' @rdname gpu_matrix_parts
#' @export
`[.gpu_matrix` <- function(x, i, j, ..., drop = TRUE) {
  call <- group_call(sys.call(), "[")
  subscripts <- nargs() - 1L - !missing(drop)
  if (subscripts < 2L) {
    if (missing(i)) {
      return(x)
    }
    return(as_user(call, as.matrix(x)[plain(i)]))
  }
  if (subscripts > 2L) {
    abort_dimension(base_text("incorrect number of dimensions"), call)
  }
  rows <- if (!missing(i)) places(plain(i), x, 1L, call)
  columns <- if (!missing(j)) places(plain(j), x, 2L, call)
  part <- gather(x, rows, columns, call)
  if (isFALSE(as_flag(drop)) || all(part@Dim != 1L)) part else drop(as.matrix(part))
}

#' @export
`[[.gpu_matrix` <- function(x, ..., exact = TRUE) {
  call <- group_call(sys.call(), "[[")
  check_negative(call, ...)
  as_user(call, as.matrix(x)[[..., exact = exact]])
}

# Base R reads an uninitialized number for a negative integer with another subscript, so its
# answers vary. Here it is always an error.
check_negative <- function(call, ...) {
  written <- as.list(substitute(list(...)))[-1L]
  if (length(written) == 2L) {
    for (k in 1:2) {
      given <- !identical(written[[k]], quote(expr = ))
      if (given && is.integer(...elt(k)) && isTRUE(any(...elt(k) < 0L))) {
        abort_dimension(base_text("invalid negative subscript in get1index <real>"), call)
      }
    }
  }
}

#' @export
`[[<-.gpu_matrix` <- function(x, ..., value) {
  call <- group_call(sys.call(), "[[<-")
  if (is_number(value) && is_one_place(x, ...)) {
    x[...] <- value
    return(x)
  }
  check_negative(call, ...)
  y <- as.matrix(x)
  y <- as_user(call, {
    y[[...]] <- plain(value)
    y
  })
  replaced(y, x, call)
}

is_number <- function(value) {
  !is.object(value) && (is.numeric(value) || is.logical(value)) && length(value) == 1L
}

# Do the subscripts name one entry by numbers? Base R handles all others.
is_one_place <- function(x, ...) {
  along <- switch(...length(), length(x), dim(x))
  for (k in seq_along(along)) {
    if (identical(substitute(list(...))[[k + 1L]], quote(expr = ))) {
      return(FALSE)
    }
    place <- ...elt(k)
    if (!(is_number(place) && is.numeric(place) && isTRUE(place >= 1 && place < along[[k]] + 1))) {
      return(FALSE)
    }
  }
  !is.null(along)
}

# Copies base R's result for the host copy back to the device of `x`.
replaced <- function(y, x, call) {
  if (!(is.numeric(y) || is.logical(y))) {
    abort_replacement(call)
  }
  if (!identical(dim(y), x@Dim)) {
    abort_dimension("a gpu_matrix cannot grow by assignment: use cbind() or rbind()", call)
  }
  upload_beside(as_double(y, call), x@Dim, dimnames(x), x, call)
}

abort_replacement <- function(call) {
  abort_type("'value' must be numeric to replace entries of a gpu_matrix", call)
}

# Row or column numbers for a subscript as base R reads it, with NA for NA.
places <- function(subscript, x, along, call) {
  if (is.character(subscript) && is.null(dimnames(x))) {
    abort_dimension(base_text("no 'dimnames' attribute for array"), call)
  }
  all <- matrix(seq_len(x@Dim[[along]]), ncol = 1L, dimnames = list(x@Dimnames[[along]], NULL))
  unname(as_user(call, all[subscript, 1L]))
}

# NULL stands for all rows or columns.
gather <- function(x, rows, columns, call) {
  dim <- part_dim(x, rows, columns)
  names <- x@Dimnames
  if (!is.null(rows) && !is.null(names[[1L]])) names[[1L]] <- taken_names(names[[1L]], rows)
  if (!is.null(columns) && !is.null(names[[2L]])) names[[2L]] <- taken_names(names[[2L]], columns)
  for (k in which(dim == 0L)) names[k] <- list(NULL)
  make_resident(
    function(out, where) native_resident_gather(x@pointer, rows, columns, NA_real_, out, where),
    dim, names, x, call
  )
}

part_dim <- function(x, rows, columns) {
  c(
    if (is.null(rows)) x@Dim[[1L]] else length(rows),
    if (is.null(columns)) x@Dim[[2L]] else length(columns)
  )
}

taken_names <- function(names, places) {
  names <- names[places]
  names[is.na(places)] <- NA
  names
}

#' @rdname gpu_matrix_parts
#' @export
`[<-.gpu_matrix` <- function(x, i, j, ..., value) {
  call <- group_call(sys.call(), "[<-")
  subscripts <- nargs() - 2L
  if (!is.null(value)) {
    value <- as_replacement(value, call)
  }
  # Without values, base R's error depends on their type and on the subscripts.
  if (subscripts < 2L || subscripts == 2L && length(value) == 0L) {
    y <- as.matrix(x)
    value <- plain(value)
    y <- as_user(call, {
      if (subscripts == 2L) {
        y[i, j] <- value
      } else if (missing(i)) {
        y[] <- value
      } else {
        y[plain(i)] <- value
      }
      y
    })
    return(replaced(y, x, call))
  }
  if (subscripts > 2L) {
    abort_dimension(base_text("incorrect number of subscripts"), call)
  }
  rows <- if (!missing(i)) places(plain(i), x, 1L, call)
  columns <- if (!missing(j)) places(plain(j), x, 2L, call)
  if (length(value) > 1L && (anyNA(rows) || anyNA(columns))) {
    abort_dimension(base_text("NAs are not allowed in subscripted assignments"), call)
  }
  scatter(x, rows, columns, value, call)
}

as_replacement <- function(value, call) {
  if (is_resident(value)) {
    return(value)
  }
  if (isS4(value) || is.data.frame(value)) {
    value <- as_matrix(value, call)
  }
  if (is.factor(value) || !(is.numeric(value) || is.logical(value))) {
    abort_replacement(call)
  }
  value
}

scatter <- function(x, rows, columns, value, call) {
  count <- prod(part_dim(x, rows, columns))
  if (count == 0) {
    return(x)
  }
  if (length(value) == 0L) {
    abort_dimension(base_text("replacement has length zero"), call)
  }
  if (count %% length(value) != 0) {
    abort_dimension(
      base_text("number of items to replace is not a multiple of replacement length"), call
    )
  }
  if (is_resident(value)) {
    check_together(x, value, call)
  }
  make_resident(
    function(out, where) native_resident_scatter(
      x@pointer, last_only(rows), last_only(columns), as_value(value), out, where
    ),
    x@Dim, x@Dimnames, x, call
  )
}

# If a position is named more than once, the last value counts, as in base R.
last_only <- function(places) {
  if (!is.null(places) && anyDuplicated(places)) {
    places[duplicated(places, fromLast = TRUE)] <- NA
  }
  places
}

#' @export
`dim<-.gpu_matrix` <- function(x, value) {
  abort_dimension(
    "the dimensions of a gpu_matrix cannot be changed: use as.matrix(x) first", sys.call()
  )
}

#' @rdname gpu_matrix_parts
#' @export
t.gpu_matrix <- function(x) {
  make_resident(
    function(out, where) native_resident_transpose(x@pointer, out, where),
    rev(x@Dim), rev(x@Dimnames), x, sys.call()
  )
}

#' @rdname gpu_matrix_parts
#' @export
setMethod("diag", "gpu_matrix", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    abort_argument(
      "nrow",
      base_text("'nrow' or 'ncol' cannot be specified when 'x' is a matrix", domain = "R-base"),
      call
    )
  }
  out <- unwrap(native_resident_diagonal(x@pointer, how_there(call)), call)$values
  along <- lapply(x@Dimnames, function(names) names[seq_along(out)])
  if (isTRUE(names) && !is.null(along[[1L]]) && identical(along[[1L]], along[[2L]])) {
    names(out) <- along[[1L]]
  }
  out
})

#' @rdname gpu_matrix_parts
#' @export
setMethod("diag<-", "gpu_matrix", function(x, value) {
  call <- sys.call()
  value <- as_replacement(plain(value), call)
  if (!length(value) %in% c(1L, min(x@Dim))) {
    abort_dimension(base_text("replacement diagonal has wrong length", domain = "R-base"), call)
  }
  if (min(x@Dim) == 0L) x else set_diagonal(x, value, call)
})

set_diagonal <- function(x, value, call) {
  make_resident(
    function(out, where) native_resident_set_diagonal(x@pointer, as.double(value), out, where),
    x@Dim, x@Dimnames, x, call
  )
}
