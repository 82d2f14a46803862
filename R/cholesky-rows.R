# Cholesky factors of matrices from which rows and columns are removed, or to which they are
# added.

#' Rows and columns removed from a Cholesky factor, or added
#'
#' For \eqn{A = R^T R}{A = R'R}, `chol_drop(r, i)` is the factor of `A[-i, -i]`.
#' `chol_insert(r, i, x)` is the factor of \eqn{A} with new rows and columns at position `i`. Both
#' work on \eqn{R} without forming \eqn{A}, in about \eqn{2 n^2 m}{2n^2 m} operations for \eqn{m}
#' rows instead of \eqn{n^3/3}. They add and remove cases of a Gaussian process, or of another model
#' with a covariance matrix of cases.
#'
#' Only rows after the first removed or inserted one change. Removing the last cases costs nothing,
#' and appending cases (`i = n + 1`) costs least and loses no accuracy. Cases before the end take a
#' downdate of the rows after them; see [chol_update()] for its margin.
#'
#' A pivoted factor must have full rank. Then `i` counts its columns or names them, and rows of `x`
#' follow the columns of `r`, as in `v[attr(r, "pivot"), ]`, with rows for the new cases added.
#' Attributes `pivot` and `rank` are dropped.
#'
#' In loops keep the upper factor: with `lower = TRUE` it is transposed twice. In single precision,
#' numbers beyond about 3.4e38 become Inf, which is an error, and tiny ones become zero.
#'
#' @section Errors:
#' * `cudafactor_error_not_positive_definite`: the matrix with the new rows has a leading minor of
#'   order `order` that is not positive.
#' * `cudafactor_error_dimension`: `r` is not square, `x` has the wrong number of rows, or a
#'   subscript is out of bounds.
#' * `cudafactor_error_argument`: `i` is NA, or for `chol_insert()` not a whole number from 1 to
#'   \eqn{n + 1}{n + 1}; others as for [chol_update()].
#' * `cudafactor_error_type`: `r` is on disk or made by [chol_gpus()]; others as for
#'   [chol_update()].
#' * `cudafactor_error_singular`, `cudafactor_error_non_finite`: as for [chol_update()].
#'
#' `r` and `x` are never changed. `chol_insert()` gives the warning
#' `cudafactor_warning_ill_conditioned` if a new case, with those before it, nearly determines a
#' later one.
#'
#' @section Accuracy:
#' As for [chol_update()], relative to the larger of the two matrices.
#'
#' @section Device:
#' `"auto"` counts \eqn{2 n^2 m}{2n^2 m} operations for `chol_drop()` and \eqn{3 n^2 m}{3n^2 m} for
#' `chol_insert()`, see [cudafactor-options]. A [gpu_matrix] is changed on its own device.
#'
#' @param r The factor: a square \eqn{n \times n}{n x n} matrix or [gpu_matrix]. Only one triangle
#'   is read. A triangular matrix of package Matrix must have the triangle that `lower` names. For a
#'   factor on disk use `as.matrix()`.
#' @param i For `chol_drop()`, the rows and columns to remove, as a subscript of `[`: positive or
#'   negative numbers, a logical vector, or names. Names are those of the columns or, if there are
#'   none, of the rows (with `lower = TRUE` of the rows first). For `chol_insert()`, the position of
#'   the first new row, from 1 to \eqn{n + 1}{n + 1}.
#' @param x The new columns of the enlarged matrix. For one case, a vector of length \eqn{n + 1}
#'   whose element `i` is the new diagonal entry. For \eqn{m} cases at positions `i` to `i + m - 1`,
#'   a matrix or [gpu_matrix] with \eqn{n + m}{n + m} rows and \eqn{m} columns. In the rows of the
#'   new cases the upper triangle counts, but no entry may be NA.
#' @param lower Is `r` the lower factor? Then so is the result.
#' @inheritParams gpu_matmult
#' @return A double matrix, upper triangular (lower with `lower = TRUE`), or a [gpu_matrix] if `r`
#' or `x` is one. Rows that are not affected keep their values; the others get a positive diagonal.
#'
#' Remaining rows keep their dimnames. New ones are named by the columns of a matrix `x`, else by
#' its rows at the new positions, else by element `i` of a vector `x`, else `""`. If `r` has no row
#' (column) names, neither has the result, unless `r` is empty. Row names of a pivoted factor keep
#' their order, and lose those of the removed variables.
#' @references Gill, P. E., Golub, G. H., Murray, W. and Saunders, M. A. (1974) Methods for
#' modifying matrix factorizations. *Mathematics of Computation* **28**, 505-535.
#'
#' Osborne, M. A. (2010) *Bayesian Gaussian Processes for Sequential Prediction, Optimisation and
#' Quadrature*, appendix B. DPhil thesis, University of Oxford.
#' @seealso [chol_update()], [chol_solve()]
#' @examples
#' place <- c(a = 0.1, b = 0.4, c = 0.5, d = 0.9)
#' a <- exp(-abs(outer(place, place, "-"))) + diag(0.1, 4)
#' r <- chol(a)
#'
#' s <- chol_drop(r, "b")
#' all.equal(s, chol(a[-2, -2]))
#'
#' # Back again, at the same position
#' all.equal(chol_insert(s, 2, a[, "b"]), r)
#' @export
chol_drop <- function(r, i, lower = FALSE, device = getOption("cudafactor.device", "auto"),
                      precision = "double") {
  call <- sys.call()
  if (missing(r) || missing(i)) {
    abort_missing(if (missing(r)) "r" else "i", call)
  }
  where <- how(device, precision, call)
  lower <- triangle_flag(lower, "lower", call)
  r <- as_changing_factor(r, lower, call)
  n <- dim(r)[[1L]]
  # The dimnames in the order of the variables. The other ones of a pivoted factor have the order
  # before pivoting.
  side <- if (lower) 1L else 2L
  rows <- dropped_rows(i, n, dimnames(r)[[side]] %||% dimnames(r)[[3L - side]], call)
  size <- n - length(rows)
  names <- if (size) names_without(dimnames(r), rows, side, attr(r, "pivot", exact = TRUE))
  if (is_resident(r)) {
    return(make_resident(
      function(out, where) native_resident_chol_drop(r@pointer, rows, lower, out, where),
      c(size, size), if (length(names)) names, r, call, "update"
    ))
  }
  out <- .External(alloc_matrix, size, size)
  reply <- native_chol_drop(r, n, rows, lower, out, where)
  if (!is.null(reply)) unwrap(reply, call, "update")
  if (length(names)) dimnames(out) <- names
  out
}

#' @rdname chol_drop
#' @export
chol_insert <- function(r, i, x, lower = FALSE, device = getOption("cudafactor.device", "auto"),
                        precision = "double") {
  call <- sys.call()
  if (missing(r) || missing(i) || missing(x)) {
    abort_missing(if (missing(r)) "r" else if (missing(i)) "i" else "x", call)
  }
  where <- how(device, precision, call)
  lower <- triangle_flag(lower, "lower", call)
  r <- as_changing_factor(r, lower, call)
  n <- dim(r)[[1L]]
  if (!(is.numeric(i) && length(i) == 1L && isTRUE(i >= 1 && i <= n + 1 && i == round(i)))) {
    text <- sprintf("'i' must be the position of the new row, a number from 1 to %d", n + 1L)
    abort_argument("i", text, call)
  }
  at <- as.integer(i) - 1L
  x <- as_columns(x, "x", call)
  m <- ncol(x)
  if (nrow(x) != n + m) {
    text <- sprintf(
      "'x' (%d x %d) must have %d rows: one for each old and each new row of the factor", nrow(x),
      m, n + m
    )
    abort_dimension(text, call)
  }
  names <- names_with_new(dimnames(r), n, at, m, new_names(x, at, m))
  if (is_resident(r) || is_resident(x)) {
    return(insert_resident(r, at, x, lower, names, call))
  }
  out <- .External(alloc_matrix, n + m, n + m)
  done <- unwrap(native_chol_insert(r, n, at, x, m, lower, out, where), call, "update")
  warn_of_margin(done$margin, precision, call, insertion_leaves)
  if (!is.null(names)) dimnames(out) <- names
  out
}

insertion_leaves <- "the rows up to the new ones nearly determine a later row (margin %.1e)"

insert_resident <- function(r, at, x, lower, names, call) {
  pair <- both_resident(r, x, "x", call)
  beside <- pair[[1L]]
  handle <- .External(new_handle)
  done <- unwrap(
    native_resident_chol_insert(
      beside@pointer, at, pair[[2L]]@pointer, lower, handle, how_there(call)
    ),
    call, "update"
  )
  warn_of_margin(done$margin, beside@precision, call, insertion_leaves)
  new_resident(handle, dim(x)[c(1L, 1L)], names, beside@precision, beside@device)
}

# The row numbers that a subscript selects, in increasing order.
dropped_rows <- function(i, n, names, call) {
  i <- plain(i)
  if (is.character(i) && is.null(names)) {
    abort_dimension(base_text("no 'dimnames' attribute for array"), call)
  }
  # `[` ignores a negative number out of bounds, so all other rows would be removed.
  if (is.numeric(i) && any(i <= -(n + 1), na.rm = TRUE)) {
    abort_dimension(base_text("subscript out of bounds"), call)
  }
  all <- matrix(seq_len(n), ncol = 1L, dimnames = list(names, NULL))
  rows <- unname(as_user(call, all[i, 1L]))
  if (anyNA(rows)) {
    abort_argument("i", "'i' must not have NA", call)
  }
  sort(unique(rows))
}

# Dimnames of a factor without `rows`. On side `side` names have the order of the factor; on the
# other side of a pivoted factor they have the order before pivoting.
names_without <- function(names, rows, side, pivot) {
  for (k in seq_along(names)) {
    gone <- if (k == side || is.null(pivot)) rows else pivot[rows]
    if (!is.null(names[[k]])) names[[k]] <- names[[k]][setdiff(seq_along(names[[k]]), gone)]
  }
  names
}

# The names of new rows: the column names of `x`, else its row names. Names of a vector are the
# row names of its one column.
new_names <- function(x, at, m) dimnames(x)[[2L]] %||% dimnames(x)[[1L]][at + seq_len(m)]

# Dimnames with new ones inserted after the first `at`.
names_with_new <- function(names, n, at, m, new) {
  if (n == 0L && !is.null(new)) {
    return(list(new, new))
  }
  if (is.null(names)) {
    return(NULL)
  }
  lapply(names, function(names) {
    if (!is.null(names)) append(names, new %||% rep("", m), at)
  })
}
