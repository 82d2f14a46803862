#' Linear systems and inverses
#'
#' `gpu_solve(a, b)` computes `solve(a, b)`, the solution \eqn{X} of \eqn{a X = b}, by LU
#' factorization with row exchanges. Without `b` it computes the inverse of `a`.
#'
#' @return A double matrix, or a vector if `b` is a vector. Its row names are the column names of
#'   `a`, and its column names are those of `b`. The inverse has the dimnames of `a` in reverse
#'   order.
#'
#' @section Errors:
#' - `cudafactor_error_singular`: a pivot is exactly zero (field `index`), or the estimated
#'   reciprocal condition number is below `tol` (field `rcond`).
#' - `cudafactor_error_dimension`: `a` is not square or has no rows, or `b` does not fit.
#' - `cudafactor_error_type`: an operand is not numeric.
#'
#' If `a` has NA, NaN or Inf, R up to version 4.2.2 reports a reciprocal condition number of 0.
#' Later versions do not check it. They return NaN if `a` has NA or NaN, and often if it has Inf.
#' `gpu_solve()` does what the running version of R does, with one exception: for Inf, R up to 4.2.2
#' returns NaN with some LAPACK libraries, where `gpu_solve()` stops.
#'
#' @section Accuracy: Tests hold the backward error
#' \eqn{\|b - aX\|_1 / (n \epsilon (\|a\|_1 \|X\|_1 + \|b\|_1))}{||b - aX|| /
#' (n eps (||a|| ||X|| + ||b||))}
#' below a fixed bound. The forward error is up to \eqn{\kappa(a)} times as large. A matrix with a
#' reciprocal condition number below the default `tol` can give a result without a correct digit.
#'
#' @section Device: `"auto"` counts \eqn{2n^3/3} operations and \eqn{2n^2} for each column of `b`,
#' see [cudafactor-options].
#'
#' @param a A square numeric matrix, an object that `as.matrix()` turns into one, a [gpu_matrix], or
#'   an object of class `"gpu_lu"`. For an object of class `"qr"` use `base::solve()`.
#' @param b A numeric vector or matrix with as many rows as `a`. If missing, the inverse is
#'   computed.
#' @param tol Smallest reciprocal condition number accepted, a number. The default is the relative
#'   rounding error of the precision. 0 skips the check.
#' @param ... Must be empty. Any further argument is an error, so that misspelt names do not pass
#'   unnoticed.
#' @inheritParams gpu_matmult
#' @references LAPACK routines of the same work: `dgesv`, `dgecon`.
#'
#' Higham, N. J. (2002) *Accuracy and Stability of Numerical Algorithms*, 2nd edition, chapters 9
#' and 15. SIAM.
#' @seealso [base::solve()], [gpu_lu()]
#' @examples
#' a <- matrix(c(4, 2, 1, 3), 2, dimnames = list(c("r", "s"), c("a", "b")))
#' gpu_solve(a, c(1, 2))
#' gpu_solve(a)
#' @export
gpu_solve <- function(a, b,
                      tol = if (identical(precision, "single")) 2^-23 else .Machine$double.eps,
                      device = getOption("cudafactor.device", "auto"),
                      precision = "double", ...) {
  if (...length()) {
    check_dots(substitute(list(...)), sys.call())
  }
  out <- if (missing(b)) {
    .External(plain_solve, a, NULL, tol, device, precision)
  } else if (is.double(b)) {
    .External(plain_solve, a, b, tol, device, precision)
  }
  if (is.double(out) && is.null(dimnames(a)) && (missing(b) || is.null(dimnames(b)))) {
    return(out)
  }
  call <- sys.call()
  if (is_resident(a) || (!missing(b) && is_resident(b) && !inherits(a, "gpu_lu"))) {
    return(solve_resident(a, if (!missing(b)) b, if (!missing(tol)) tol, call))
  }
  if (!(is.double(a) && is.matrix(a))) {
    if (inherits(a, "gpu_lu")) {
      # Not the generic, which asks for `b`. The default of `tol` depends on the factor's precision.
      if (missing(tol)) {
        return(solve.gpu_lu(a, b, device = device, precision = precision))
      }
      return(solve.gpu_lu(a, b, tol = tol, device = device, precision = precision))
    }
    a <- as_coefficients(a, call)
  }
  n <- dim(a)[[1L]]
  check_square_system(dim(a), call)
  b <- if (missing(b)) NULL else as_right_side(b, n, call)
  nrhs <- count_right_sides(b, n)
  tol <- as_number(tol, "tol", call)
  where <- how(device, precision, call)
  reply <- NULL
  if (is.null(out)) {
    out <- .External(alloc_matrix, n, nrhs)
    reply <- native_solve(a, n, b, nrhs, out, tol, where)
  } else if (is.list(out)) {
    reply <- out[[1L]]
    out <- out[[2L]]
  }
  rcond <- reply$err$fields$rcond
  if (!is.null(rcond) && !is_ill_conditioned(rcond, tol, a, where, call)) {
    reply <- native_solve(a, n, b, nrhs, out, 0, where)
  }
  if (!is.null(reply)) {
    unwrap(reply, call, "solve")
  }
  # Names are set here: in another function R would copy the result first.
  if (is_vector_side(b)) {
    dim(out) <- NULL
    names(out) <- dimnames(a)[[2L]]
  } else {
    dimnames(out) <- solution_dimnames(dimnames(a), b)
  }
  out
}

# Whether base R's solve() refuses. Since R 4.2.3 it does not check the condition of a matrix that
# is not finite; earlier versions take its reciprocal condition number as 0.
is_ill_conditioned <- function(rcond, tol, x, where, call) {
  if (is.na(rcond) || rcond < tol) {
    !is_r_from("4.2.3") || all_finite(x, where, call)
  } else {
    FALSE
  }
}

# Unlike chol() and qr(), solve() does not turn text into numbers.
as_coefficients <- function(a, call) {
  if (inherits(a, "qr")) {
    abort_type(
      "'a' must be a matrix, not a QR factorization: use base::solve() or base::qr.coef()", call
    )
  }
  a <- as_matrix(a, call)
  if (is.complex(a)) {
    abort_complex("base::solve()", call)
  }
  if (!(is.numeric(a) || is.logical(a))) {
    abort_type(base_text("'a' must be a numeric matrix"), call)
  }
  as_double(a, call)
}

# `matrix` is the name of the argument in the function that the user called.
check_square_system <- function(d, call, matrix = "a") {
  if (d[[1L]] == 0L) {
    abort_dimension(renamed(base_text("'a' is 0-diml"), matrix), call)
  }
  if (d[[1L]] != d[[2L]]) {
    text <- base_text("'a' (%d x %d) must be square", d[[1L]], d[[2L]])
    abort_dimension(renamed(text, matrix), call)
  }
}

# Base R's words on solve(a, b), for a matrix of another name.
renamed <- function(text, matrix) gsub("'a'", sprintf("'%s'", matrix), text, fixed = TRUE)

# A matrix stays a matrix; anything else is one column, even a data frame, as in base R.
# `alternative` is the function that the error names for a complex `b`.
as_right_side <- function(b, n, call, matrix = "a", alternative = "base::solve()") {
  if (isS4(b)) {
    b <- as_matrix(b, call)
  }
  if (is.complex(b)) {
    abort_complex(alternative, call)
  }
  check_right_side(if (is.matrix(b)) dim(b) else c(length(b), 1L), n, call, matrix)
  as_double(b, call)
}

check_right_side <- function(d, n, call, matrix = "a") {
  if (d[[2L]] == 0L) {
    abort_dimension(base_text("no right-hand side in 'b'"), call)
  }
  if (d[[1L]] != n) {
    d <- as.integer(d)
    text <- base_text(
      "'b' (%d x %d) must be compatible with 'a' (%d x %d)", d[[1L]], d[[2L]], n, n
    )
    abort_dimension(renamed(text, matrix), call)
  }
}

# The number of columns of the solution, which is the inverse if `b` is NULL.
count_right_sides <- function(b, n) {
  if (is.null(b)) n else if (is.matrix(b)) dim(b)[[2L]] else 1L
}

# Whether the solution is a vector. `b` is the right-hand side, NULL for the identity.
is_vector_side <- function(b) {
  !is.null(b) && !is.matrix(b)
}

# `names` are the dimnames of the matrix of the system, `b` the right-hand sides, NULL for the
# identity.
solution_dimnames <- function(names, b) {
  columns <- if (is.null(b)) names[[1L]] else dimnames(b)[[2L]]
  if (!is.null(names[[2L]]) || !is.null(columns)) {
    list(names[[2L]], columns)
  }
}
