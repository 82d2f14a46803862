#' QR factorization
#'
#' `gpu_qr(x)` computes what `qr(x)` computes: \eqn{x P = Q R} by Householder reflectors. The object
#' has class `"qr"`. Its form is that of base R's default method (LINPACK's `dqrdc2`), or with
#' `LAPACK = TRUE` that of LAPACK's `dgeqp3`.
#'
#' @return A list of class `"qr"` with the components of base R's `qr()`: `qr`, `rank`, `qraux` and
#'   `pivot`. These functions of base R work on it: [base::qr.coef()], `qr.qy()`, `qr.qty()`,
#'   `qr.fitted()`, `qr.resid()`, `qr.Q()`, `qr.R()`, `qr.X()`, [base::qr.solve()] and `solve()`.
#'
#' The default form keeps the columns in order, with one exception. A column moves to the right end
#' if its part orthogonal to the columns before it is shorter than `tol` times the column. `rank`
#' counts the columns that did not move. Signs, `rank` and `pivot` are base R's.
#'
#' With `LAPACK = TRUE` the column with the longest remaining part comes next. `rank` is then
#' `min(dim(x))` for every `x`, and the object has the attribute `useLAPACK`. Row names are kept,
#' and column names are permuted with the columns.
#'
#' @section Errors:
#' - `cudafactor_error_non_finite`: `x` has NA, NaN or Inf. With `LAPACK = TRUE` they propagate
#'   instead.
#' - `cudafactor_error_type`: `x` is complex, or is not a matrix.
#' - `cudafactor_error_dimension`: `x` has no rows and `LAPACK = TRUE`.
#'
#' Matrices of \eqn{2^{31}} entries or more, which base R's default form refuses, are factored.
#'
#' @section Accuracy: Tests hold
#' \eqn{\|x P - Q R\|_1 / (\max(m, n) \epsilon \|x\|_1)}{||x P - Q R|| / (max(m, n) eps ||x||)} and
#' \eqn{\|I - Q^T Q\|_1 / (m \epsilon)}{||I - Q'Q|| / (m eps)} below fixed bounds.
#'
#' Rounding may change three things against base R:
#' - whether a column right at the threshold `tol` counts as dependent;
#' - the sign of a row of \eqn{R} if its reflector started from an entry that is itself a rounding
#'   error;
#' - with `LAPACK = TRUE`, which of two columns with equally long remaining parts comes first.
#'
#' @section Device:
#' `"auto"` counts \eqn{2 n^2 (m - n/3)} operations for \eqn{m \ge n}, see [cudafactor-options].
#'
#' @param x A numeric \eqn{m \times n}{m x n} matrix, an object that `as.matrix()` turns into one,
#'   or a [gpu_matrix].
#' @param tol Relative tolerance for linear dependence, a number. A column counts as dependent if
#'   its orthogonal part is shorter than `tol` times its length. The default is `1e-7`, and `1e-4`
#'   in single precision, whose rounding errors hide smaller parts. Ignored with `LAPACK = TRUE`.
#' @param LAPACK `TRUE` pivots by column length and gives LAPACK's form. The default is `FALSE`. Not
#'   available for a [gpu_matrix].
#' @param ... Must be empty. Any further argument is an error, so that misspelt names do not pass
#'   unnoticed.
#' @inheritParams gpu_matmult
#' @references LAPACK and LINPACK routines of the same work: `dgeqrf`, `dgeqp3`, `dqrdc2`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, sections 5.2 and 5.4.
#' Johns Hopkins.
#' @seealso [base::qr()], [gpu_lm_fit()]
#' @examples
#' x <- cbind(a = 1:5, b = 2 * (1:5), c = c(1, 0, 2, 0, 1))
#' f <- gpu_qr(x)
#' f$rank
#' f$pivot
#' qr.coef(f, 1:5)
#' all.equal(qr.X(f), x)
#' @export
gpu_qr <- function(x, tol = if (identical(precision, "single")) 1e-04 else 1e-07, LAPACK = FALSE,
                   device = getOption("cudafactor.device", "auto"),
                   precision = "double", ...) {
  call <- sys.call()
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (!isFALSE(LAPACK) && is_lapack(LAPACK, call)) {
    if (is_resident(x)) {
      abort_no_lapack(call)
    }
    return(qr_lapack(x, device, precision, call))
  }
  f <- .External(plain_qr, x, tol, device, precision)
  if (is.null(f)) {
    return(qr_any(x, tol, missing(tol), device, precision, call))
  }
  if (!is.object(f)) {
    f <- unwrap(f[[1L]], call, out = f[[2L]])
  }
  if (!is.null(dimnames(x)) && is.unsorted(f$pivot)) {
    dimnames(f$qr) <- permute_colnames(dimnames(x), f$pivot)
  }
  f
}

# gpu_qr() of an operand that plain.c does not take.
qr_any <- function(x, tol, default_tol, device, precision, call) {
  if (is_resident(x)) {
    return(qr_resident(x, if (!default_tol) tol, call))
  }
  if (!(is.double(x) && is.matrix(x) && !is.object(x))) {
    x <- as_qr_operand(x, call)
  }
  where <- how(device, precision, call)
  dx <- dim(x)
  out <- .External(alloc_matrix, dx[[1L]], dx[[2L]])
  done <- unwrap(native_qr(x, dx, as_number(tol, "tol", call), out, where), call)
  attributes(out) <- attributes(x)
  dimnames(out) <- permute_colnames(dimnames(x), done$pivot)
  f <- list(qr = out, rank = done$rank, qraux = done$qraux, pivot = done$pivot)
  class(f) <- "qr"
  f
}

# base::qr() of a fitted model returns the factorization in the model, so nothing is computed.
as_qr_operand <- function(x, call) {
  if (inherits(x, "lm")) {
    abort_type(
      "'x' must be a matrix, not a fitted model: base::qr(x) returns the model's QR factorization",
      call
    )
  }
  as_real_matrix(x, call, "base::qr()")
}

is_lapack <- function(LAPACK, call) {
  flag <- as_flag(LAPACK)
  if (length(LAPACK) != 1L || is.na(flag)) {
    abort_argument("LAPACK", "'LAPACK' must be TRUE or FALSE", call)
  }
  flag
}

qr_lapack <- function(x, device, precision, call) {
  x <- as_qr_operand(x, call)
  dx <- dim(x)
  if (dx[[1L]] == 0L) {
    abort_dimension(base_text("BLAS/LAPACK routine '%6s' gave error code %d", "DGEQP3", -4L), call)
  }
  out <- .External(alloc_matrix, dx[[1L]], dx[[2L]])
  done <- unwrap(native_qr_lapack(x, dx, out, how(device, precision, call)), call)
  if (!is.null(names <- dimnames(x))) {
    dimnames(out) <- permute_colnames(names, done$pivot)
  }
  structure(
    list(qr = out, rank = done$rank, qraux = done$qraux, pivot = done$pivot),
    useLAPACK = TRUE, class = "qr"
  )
}
