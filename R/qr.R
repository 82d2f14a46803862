#' QR factorization
#'
#' `gpu_qr(x)` is `qr(x)`: \eqn{x P = Q R} by Householder reflectors, as an object of class `"qr"` in the form
#' of base R's default method (LINPACK's `dqrdc2`), or with `LAPACK = TRUE` in the form of LAPACK's `dgeqp3`.
#'
#' @section Value:
#' The list base R's `qr()` returns, with components `qr`, `rank`, `qraux` and `pivot`, so that [base::qr.coef()], `qr.qy()`,
#' `qr.qty()`, `qr.fitted()`, `qr.resid()`, `qr.Q()`, `qr.R()`, `qr.X()`, [base::qr.solve()] and `solve()` all work on it.
#'
#' By default columns stay in order, except that one whose part orthogonal to the columns before it is shorter than `tol` times
#' the column moves to the right end; `rank` counts the others. Signs, `rank` and `pivot` are base R's.
#' With `LAPACK = TRUE` the column with the longest remaining part comes next, `rank` is `min(dim(x))` whatever `x` is, and the object has
#' the attribute `useLAPACK`. Row names are kept, column names permuted.
#'
#' @section Failure:
#' `cudafactor_error_non_finite`: NA, NaN or Inf in `x`, which the default form refuses (with `LAPACK = TRUE` they propagate).
#' `cudafactor_error_type`: `x` is complex or no matrix at all.
#' `cudafactor_error_dimension`: `LAPACK = TRUE` with rows missing.
#' Matrices of \eqn{2^{31}} entries and more, which base R's default refuses, are factored.
#'
#' @section Accuracy:
#' \eqn{\|x P - Q R\|_1 / (\max(m, n) \epsilon \|x\|_1)}{||x P - Q R|| / (max(m, n) eps ||x||)}
#' and \eqn{\|I - Q^T Q\|_1 / (m \epsilon)}{||I - Q'Q|| / (m eps)} are tested against fixed bounds.
#' Three things may differ from base R's by rounding: a rank decision on the very edge of `tol`; the sign of a
#' row of \eqn{R} whose reflector started from an entry that is itself a rounding error; and, with `LAPACK = TRUE`, which of
#' two columns with equally long remaining parts comes first. In single precision the default `tol` is
#' `1e-4`: dependence is not told from rounding near \eqn{2^{-24}}.
#'
#' @section Device:
#' `"auto"` counts \eqn{2 n^2 (m - n/3)} operations for \eqn{m \ge n}, see [cudafactor-options].
#'
#' @param x A numeric matrix, or what `as.matrix()` makes one.
#' @param tol A column is dependent when its orthogonal part is below `tol` times its length. Ignored with `LAPACK = TRUE`.
#' @param LAPACK Pivot by column length, in LAPACK's form?
#' @param ... No further arguments: any is an error, where base R would let a misspelt name pass.
#' @inheritParams gpu_matmult
#' @references LAPACK and LINPACK routines of the same work: `dgeqrf`, `dgeqp3`, `dqrdc2`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, sections 5.2 and 5.4. Johns Hopkins.
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
  if (!(is.double(x) && is.matrix(x) && !is.object(x))) {
    if (is_resident(x)) {
      return(qr_resident(x, if (!missing(tol)) tol, call))
    }
    x <- as_qr_operand(x, call)
  }
  where <- how(device, precision, call)
  dx <- dim(x)
  out <- .External(alloc_matrix, dx[[1L]], dx[[2L]])
  done <- unwrap(
    native_qr(x, dx, as_number(tol, "tol", call), out, where), call
  )
  if (length(kept <- attributes(x)) > 1L) {
    attributes(out) <- kept
    dimnames(out) <- permute_colnames(dimnames(x), done$pivot)
  }
  f <- list(qr = out, rank = done$rank, qraux = done$qraux, pivot = done$pivot)
  class(f) <- "qr"
  f
}

# base::qr() of a fitted model takes the factorization out of the model; there is nothing to compute.
as_qr_operand <- function(x, call) {
  if (inherits(x, "lm")) {
    abort_type("'x' is a fitted model, which holds its QR factorization: use base::qr()", call)
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
