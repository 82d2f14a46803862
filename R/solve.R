#' Linear systems and inverses
#'
#' `gpu_solve(a, b)` is `solve(a, b)`: \eqn{X} with \eqn{a X = b}, by LU factorization with row exchanges. Without `b` it
#' is the inverse of `a`.
#'
#' @section Value:
#' A double matrix, or a vector where `b` is a vector. Rows are named by the columns of `a`, columns by those of `b`; the
#' inverse has the dimnames of `a` the other way round.
#'
#' @section Failure:
#' `cudafactor_error_singular`: an exactly zero pivot (field `index`), or an estimated reciprocal condition number below `tol`
#' (field `rcond`). `cudafactor_error_dimension`: `a` is not square or has no rows, or `b` does not fit.
#' `cudafactor_error_type`: an operand is not numeric. With NA or NaN in `a`, R up to 4.2.2 finds a reciprocal
#' condition number of 0 and later versions return NaN; so does this function, by the version it runs on.
#'
#' @section Accuracy:
#' The backward error \eqn{\|b - aX\|_1 / (n \epsilon (\|a\|_1 \|X\|_1 + \|b\|_1))}{||b - aX|| / (n eps (||a|| ||X|| + ||b||))}
#' is tested against a fixed bound. The forward error is up to \eqn{\kappa(a)} times that.
#' The default `tol` is the relative rounding error of the precision: a matrix whose reciprocal condition number is below it can
#' give a result without a correct digit.
#'
#' @section Device:
#' `"auto"` counts \eqn{2n^3/3} operations and \eqn{2n^2} for each column of `b`, see [cudafactor-options].
#'
#' @param a A square numeric matrix, or what `as.matrix()` makes one; or an object of class `"gpu_lu"`. Not a `"qr"` object, for which
#'   `base::solve()` is there.
#' @param b A numeric vector or matrix with as many rows as `a`.
#' @param tol The smallest reciprocal condition number accepted; 0 skips the estimate.
#' @param ... No further arguments: any is an error, where base R would let a misspelt name pass.
#' @inheritParams gpu_matmult
#' @references LAPACK routines of the same work: `dgesv`, `dgecon`.
#'
#' Higham, N. J. (2002) *Accuracy and Stability of Numerical Algorithms*, 2nd edition, chapters 9 and 15. SIAM.
#' @seealso [base::solve()], [gpu_lu()]
#' @examples
#' a <- matrix(c(4, 2, 1, 3), 2, dimnames = list(c("r", "s"), c("a", "b")))
#' gpu_solve(a, c(1, 2))
#' gpu_solve(a)
#' @export
gpu_solve <- function(a, b, tol = if (identical(precision, "single")) 2^-23 else .Machine$double.eps,
                      device = getOption("cudafactor.device", "auto"),
                      precision = "double", ...) {
  call <- sys.call()
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (is_resident(a) || (!missing(b) && is_resident(b) && !inherits(a, "gpu_lu"))) {
    return(solve_resident(a, if (!missing(b)) b, if (!missing(tol)) tol, call))
  }
  if (!(is.double(a) && is.matrix(a))) {
    if (inherits(a, "gpu_lu")) {
      # Not the generic: it asks for `b`. The factor has a tolerance of its own.
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
  out <- .External(alloc_matrix, n, nrhs)
  tol <- as_number(tol, "tol", call)
  where <- how(device, precision, call)
  reply <- native_solve(a, n, b, nrhs, out, tol, where)
  if (!is.null(reply$err$fields$rcond) && !is_ill_conditioned(reply$err$fields$rcond, tol, a, where, call)) {
    reply <- native_solve(a, n, b, nrhs, out, 0, where)
  }
  if (!is.null(reply)) {
    unwrap(reply, call, "solve")
  }
  # Here, where nobody else holds the result: a function it is handed to would copy it.
  if (is_vector_side(b)) {
    dim(out) <- NULL
    names(out) <- dimnames(a)[[2L]]
  } else {
    dimnames(out) <- solution_dimnames(dimnames(a), b)
  }
  out
}

# Whether solve() refuses. It does not look at the condition of a matrix that is not finite since R 4.2.3; before
# that such a matrix had the reciprocal condition number 0.
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
    abort_type("'a' is a QR factorization: use base::solve() or base::qr.coef()", call)
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

# The user's function calls the matrix of the system `matrix`.
check_square_system <- function(d, call, matrix = "a") {
  if (d[[1L]] == 0L) {
    abort_dimension(renamed(base_text("'a' is 0-diml"), matrix), call)
  }
  if (d[[1L]] != d[[2L]]) {
    abort_dimension(renamed(base_text("'a' (%d x %d) must be square", d[[1L]], d[[2L]]), matrix), call)
  }
}

# Base R's words on solve(a, b), for a matrix of another name.
renamed <- function(text, matrix) gsub("'a'", sprintf("'%s'", matrix), text, fixed = TRUE)

# A matrix stays one; anything else is one column, even a data frame, as in base R. `alternative` is what to turn to for a complex one.
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
    text <- base_text("'b' (%d x %d) must be compatible with 'a' (%d x %d)", as.integer(d[[1L]]), as.integer(d[[2L]]), n, n)
    abort_dimension(renamed(text, matrix), call)
  }
}

# The columns of the solution; without `b` it is the inverse.
count_right_sides <- function(b, n) if (is.null(b)) n else if (is.matrix(b)) dim(b)[[2L]] else 1L

# Whether the solution is a vector. `b` is the right-hand side, NULL for the identity.
is_vector_side <- function(b) {
  !is.null(b) && !is.matrix(b)
}

# `names` are the dimnames of the matrix of the system, `b` the right-hand sides, NULL for the identity.
solution_dimnames <- function(names, b) {
  columns <- if (is.null(b)) names[[1L]] else dimnames(b)[[2L]]
  if (!is.null(names[[2L]]) || !is.null(columns)) {
    list(names[[2L]], columns)
  }
}
