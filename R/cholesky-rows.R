# Cholesky factors of matrices that lose rows and columns, or get new ones.

#' Rows and columns taken out of a Cholesky factor, or put in
#'
#' For \eqn{A = R^T R}{A = R'R}, `chol_drop(r, i)` is the factor of `A[-i, -i]`, and `chol_insert(r, i, x)` that of the matrix with a new row and column at place `i`, made from
#' \eqn{R} without the matrix, in about \eqn{2 n^2 m}{2n^2 m} operations for \eqn{m} rows instead of \eqn{n^3/3}. That is what a Gaussian process, or another model with a covariance matrix
#' of cases, needs to add and remove some.
#'
#' Without the rows `i`, the rest of \eqn{R} is a triangle beside the rows that went, by which it is updated as by [chol_update()]: all of them at once, and only what follows the first. So
#' the last cases are removed for nothing. A new case takes a triangular system with the rows before it, and a downdate of the rows after it: so those at the end, `i = n + 1`, take the least,
#' and have no margin.
#'
#' Of a pivoted factor, `chol(, pivot = TRUE)`, numbers `i` count its columns, names are column names, and rows of `x` are in the order of its columns, not of those of \eqn{A} before:
#' `v[attr(r, "pivot"), ]` are the rows of `v` in that order, to which `x` adds those of the new cases. Attributes `pivot` and `rank` are not kept, and a factor whose rank is below its order is
#' refused. Factors on disk are not taken: give `as.matrix()` of one.
#'
#' With `lower = TRUE` the factor is transposed first and back afterwards: keep the upper one in loops. In single precision numbers beyond its range, about 3.4e38, become Inf, which is then refused
#' as such, and tiny ones become zero.
#'
#' @section Value:
#' A double matrix, upper triangular (lower with `lower = TRUE`), or a [gpu_matrix] where `r` or `x` is one. Dimnames are those of `r` for the rows that stay. New ones have the column
#' names of a matrix `x`, or else its row names in the places of the new cases; of a vector `x` the name of its element `i`; or else `""`. Where `r` has no dimnames, or none of rows or columns,
#' neither has the value, unless `r` is empty. Row names of a pivoted factor, which stay in the order of before pivoting, lose the names of the
#' variables that went, as far as attribute `pivot` is there to tell them.
#'
#' Rows to which nothing is done stay as they are, a negative diagonal entry included: those before the first one that goes, or before place `i`. The rows after have positive diagonal entries.
#'
#' @section Failure:
#' `cudafactor_error_not_positive_definite`: the matrix with the new rows has a leading minor, of the order in field `order`, that is not positive, to the precision; nothing is given then.
#' `cudafactor_error_dimension`: `r` is not square; `x` has another number of rows; a subscript is out of bounds. `cudafactor_error_argument`: `i` is NA, or for `chol_insert()` no number from 1 to
#' \eqn{n + 1}{n + 1}; others as of [chol_update()]. `cudafactor_error_singular`, `cudafactor_error_non_finite` and `cudafactor_error_type`: as of [chol_update()]. `r` and `x` stay as they are.
#'
#' The warning `cudafactor_warning_ill_conditioned` of `chol_insert()`: the new case, together with those before it, says almost all of one that follows it. See [chol_update()].
#'
#' @section Accuracy:
#' As of [chol_update()], relative to the larger of the two matrices.
#'
#' @section Device:
#' `"auto"` counts \eqn{2 n^2 m}{2n^2 m} operations and \eqn{3 n^2 m}{3n^2 m}, see [cudafactor-options]. A [gpu_matrix] is computed with where it is,
#' whatever `device` says.
#'
#' @param r The factor, a square matrix, or a [gpu_matrix]. Only one triangle is read. Of package Matrix a triangular matrix, of which `lower` must tell the triangle that it holds.
#' @param i For `chol_drop()`, which rows and columns go: a subscript as of `[`, that is numbers, negative numbers for those that stay, a logical vector, or names of columns or, where there are
#'   none, of rows (with `lower = TRUE` of rows first). For `chol_insert()`, the place of the first new row, from 1 to \eqn{n + 1}{n + 1}.
#' @param x The new columns of \eqn{A}, all of them: a vector of length \eqn{n + 1} whose element `i` is the new diagonal entry; or, for \eqn{m} new cases in places `i` to `i + m - 1`, a matrix
#'   with \eqn{n + m}{n + m} rows and \eqn{m} columns. Of its rows in these places the upper triangle counts (NA in the other one is refused, too). A [gpu_matrix], too.
#' @param lower Is `r` the lower factor? The value is one then, too.
#' @inheritParams gpu_matmult
#' @references Gill, P. E., Golub, G. H., Murray, W. and Saunders, M. A. (1974) Methods for modifying matrix factorizations. *Mathematics of Computation* **28**, 505-535.
#'
#' Osborne, M. A. (2010) *Bayesian Gaussian Processes for Sequential Prediction, Optimisation and Quadrature*, appendix B. DPhil thesis, University of Oxford.
#' @seealso [chol_update()], [chol_solve()]
#' @examples
#' place <- c(a = 0.1, b = 0.4, c = 0.5, d = 0.9)
#' a <- exp(-abs(outer(place, place, "-"))) + diag(0.1, 4)
#' r <- chol(a)
#'
#' s <- chol_drop(r, "b")
#' all.equal(s, chol(a[-2, -2]))
#'
#' # Back again, in the same place
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
  # Which of the two has names in the order of the variables: those of a pivoted factor's other
  # one are as they were before pivoting.
  side <- if (lower) 1L else 2L
  rows <- dropped_rows(i, n, dimnames(r)[[side]] %||% dimnames(r)[[3L - side]], call)
  size <- n - length(rows)
  names <- if (size) names_without(dimnames(r), rows, side, attr(r, "pivot", exact = TRUE))
  if (is_resident(r)) {
    return(make_resident(
      function(out, where) native_held_chol_drop(r@pointer, rows, lower, out, where), c(size, size),
      if (length(names)) names, r, call, "update"
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
      "'x' (%d x %d) must have %d rows: one for each old and each new row of the factor", nrow(x), m, n + m
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
    native_held_chol_insert(beside@pointer, at, pair[[2L]]@pointer, lower, handle, how_there(call)),
    call, "update"
  )
  warn_of_margin(done$margin, beside@precision, call, insertion_leaves)
  new_resident(handle, dim(x)[c(1L, 1L)], names, beside@precision, beside@device)
}

# The rows that a subscript chooses, in order.
dropped_rows <- function(i, n, names, call) {
  i <- plain(i)
  if (is.character(i) && is.null(names)) {
    abort_dimension(base_text("no 'dimnames' attribute for array"), call)
  }
  # A negative one would be disregarded, and all that stays would go.
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

# Dimnames of a factor without `rows`: on the other side of a pivoted one, names that are in the
# order of before.
names_without <- function(names, rows, side, pivot) {
  for (k in seq_along(names)) {
    gone <- if (k == side || is.null(pivot)) rows else pivot[rows]
    if (!is.null(names[[k]])) names[[k]] <- names[[k]][setdiff(seq_along(names[[k]]), gone)]
  }
  names
}

# What the new rows are called: by the columns, or else by the rows, of what they come from. Names
# of a vector are those of the rows of its one column.
new_names <- function(x, at, m) dimnames(x)[[2L]] %||% dimnames(x)[[1L]][at + seq_len(m)]

# Dimnames with others after the first `at`.
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
