#' Orthogonal factor of a QR factorization
#'
#' - `gpu_qr.Q(qr)` computes `qr.Q(qr)`, the matrix \eqn{Q} of a factorization.
#' - `gpu_qr.qy(qr, y)` computes `qr.qy(qr, y)`, the product \eqn{Q y}.
#' - `gpu_qr.qty(qr, y)` computes `qr.qty(qr, y)`, the product \eqn{Q^T y}{Q'y}.
#'
#' All take any object of class `"qr"`, from [gpu_qr()] or [base::qr()], in the default form or with
#' `LAPACK = TRUE`. The products never form \eqn{Q}.
#'
#' @return `gpu_qr.Q()`: a double matrix without dimnames. It has `min(dim(qr$qr))` columns, or with
#'   `complete = TRUE` as many columns as rows.
#'
#' `gpu_qr.qy()` and `gpu_qr.qty()`: `y` in double precision with its attributes, so a vector stays
#' a vector. If `qr` has the attribute `useLAPACK`, the value has the shape of `as.matrix(y)`.
#'
#' In base R's default form with rank \eqn{k}, only the first \eqn{k} reflectors are used, as in
#' base R. The other columns of \eqn{Q} are then an orthonormal basis of the complement of the first
#' \eqn{k} columns.
#'
#' @section Errors:
#' - `cudafactor_error_type`: `qr` is not a QR factorization or is complex, or `y` is not numeric.
#' - `cudafactor_error_dimension`: `qr` and `y` differ in their numbers of rows.
#' - `cudafactor_error_non_finite` (field `argument`): the default form refuses NA, NaN and Inf in
#'   `qr`, `y` and `Dvec`. With `useLAPACK` they propagate.
#' - `cudafactor_error_argument`: `diag()` refuses `Dvec`.
#'
#' @section Accuracy: Tests hold \eqn{\|I - Q^T Q\|_1 / (m \epsilon)}{||I - Q'Q|| / (m eps)}, and
#' the distance of products from base R's, below fixed bounds.
#'
#' @section Device: `"auto"` counts \eqn{4mk} operations for each column of the result, with \eqn{k}
#' reflectors of \eqn{m} rows, see [cudafactor-options].
#'
#' @param qr An object of class `"qr"`.
#' @param complete `TRUE` extends \eqn{Q} to a square matrix. The default is `FALSE`.
#' @param Dvec Numeric vector. Column `j` of \eqn{Q} is multiplied by `Dvec[j]`. Missing means all
#'   ones.
#' @param y A numeric vector or matrix with as many rows as `qr$qr`.
#' @inheritParams gpu_matmult
#' @references LAPACK and LINPACK routines of the same work: `dormqr`, `dqrsl`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 5.1. Johns
#' Hopkins.
#' @seealso [base::qr.Q()], [base::qr.qy()], [gpu_qr()]
#' @examples
#' x <- cbind(1, mtcars$wt, mtcars$hp)
#' f <- gpu_qr(x)
#' q <- gpu_qr.Q(f)
#' all.equal(q %*% qr.R(f), x)
#' all.equal(crossprod(q), diag(3))
#'
#' # The length of what the columns of x leave of y, without forming Q
#' rotated <- gpu_qr.qty(f, mtcars$mpg)
#' sqrt(sum(rotated[-(1:3)]^2))
#' all.equal(gpu_qr.qy(f, rotated), mtcars$mpg)
#' @export
gpu_qr.Q <- function(qr, complete = FALSE, Dvec, device = getOption("cudafactor.device", "auto"),
                     precision = "double") {
  call <- sys.call()
  if (missing(qr)) {
    abort_missing("qr", call)
  }
  if (is_qr_resident(qr)) {
    return(qr_form_resident(qr, complete, if (!missing(Dvec)) Dvec, call))
  }
  f <- reflectors_of(qr, "base::qr.Q()", call)
  complete <- is_complete(complete, call)
  n <- f$dim[[1L]]
  columns <- if (complete) n else min(f$dim)
  scales <- if (!missing(Dvec)) {
    column_scales(if (complete) Dvec else Dvec[seq_len(columns)], columns, call)
  }
  where <- how(device, precision, call)
  check_reflectors(f, where, call)
  if (!f$lapack && !is.null(scales) && !all(is.finite(scales))) {
    abort_foreign("Dvec", 5L, call)
  }
  out <- .External(alloc_matrix, n, columns)
  unwrap(native_qr_form(f$qr, f$dim, f$qraux, f$lapack, out, c(n, columns), where), call)
  if (is.null(scales)) out else out * rep(scales, each = n)
}

#' @rdname gpu_qr.Q
#' @export
gpu_qr.qy <- function(qr, y, device = getOption("cudafactor.device", "auto"),
                      precision = "double") {
  call <- sys.call()
  if (missing(qr)) {
    abort_missing("qr", call)
  }
  if (missing(y)) {
    abort_missing("y", call)
  }
  if (is_qr_resident(qr)) {
    return(qr_apply_resident(qr, y, FALSE, call))
  }
  multiply_by_q(reflectors_of(qr, "base::qr.qy()", call), y, FALSE, device, precision, call)
}

#' @rdname gpu_qr.Q
#' @export
gpu_qr.qty <- function(qr, y, device = getOption("cudafactor.device", "auto"),
                       precision = "double") {
  call <- sys.call()
  if (missing(qr)) {
    abort_missing("qr", call)
  }
  if (missing(y)) {
    abort_missing("y", call)
  }
  if (is_qr_resident(qr)) {
    return(qr_apply_resident(qr, y, TRUE, call))
  }
  multiply_by_q(reflectors_of(qr, "base::qr.qty()", call), y, TRUE, device, precision, call)
}

multiply_by_q <- function(f, y, transposed, device, precision, call) {
  y <- as_rotated(y, f, call)
  n <- f$dim[[1L]]
  if (NROW(y) != n) {
    abort_dimension(
      if (f$lapack) {
        base_text("right-hand side should have %d not %d rows", n, NROW(y))
      } else {
        base_text("'qr' and 'y' must have the same number of rows", domain = "R-base")
      }, call
    )
  }
  where <- how(device, precision, call)
  check_reflectors(f, where, call)
  if (!f$lapack && !all_finite(y, where, call)) {
    abort_foreign("y", 5L, call)
  }
  dy <- c(n, if (is.null(dim(y))) 1 else prod(dim(y)[-1L]))
  out <- .External(alloc_matrix, dy[[1L]], dy[[2L]])
  unwrap(native_qr_apply(f$qr, f$dim, f$qraux, f$lapack, transposed, y, dy, out, where), call)
  attributes(out) <- attributes(y)
  out
}

# The parts of a "qr" object that define its Q: `qraux` has one number for each reflector in use.
reflectors_of <- function(qr, alternative, call) {
  if (!is.qr(qr)) {
    abort_no_qr(call)
  }
  a <- qr$qr
  if (is.complex(a)) {
    abort_complex(alternative, call)
  }
  lapack <- isTRUE(attr(qr, "useLAPACK"))
  aux <- qr$qraux
  k <- if (lapack) length(aux) else as_count(qr$rank)
  if (!(is.matrix(a) && is.numeric(a) && is.numeric(aux) && k %in% 0:min(dim(a), length(aux)))) {
    abort_no_qr(call)
  }
  list(qr = as_double(a, call), dim = dim(a), qraux = as.double(aux[seq_len(k)]), lapack = lapack)
}

abort_no_qr <- function(call) {
  abort_type(base_text("argument is not a QR decomposition", domain = "R-base"), call)
}

# The error of base R's LINPACK routines about their argument number `position`, here `argument`.
abort_foreign <- function(argument, position, call) {
  text <- base_text("NA/NaN/Inf in foreign function call (arg %d)", position)
  abort("non_finite", text, call, argument = argument)
}

check_reflectors <- function(f, where, call) {
  if (f$lapack) {
    return(invisible())
  }
  if (!all_finite(f$qr, where, call)) {
    abort_foreign("qr", 1L, call)
  }
  if (!all(is.finite(f$qraux))) {
    abort_foreign("qr", 4L, call)
  }
}

# With LINPACK's form the result has the shape of y, with LAPACK's it is a matrix, as in base R.
as_rotated <- function(y, f, call) {
  if (f$lapack || isS4(y)) {
    y <- as_matrix(y, call)
  } else if (is.factor(y)) {
    abort_type(base_text("invalid to change the storage mode of a factor"), call)
  }
  as_double(y, call)
}

is_complete <- function(complete, call) {
  flag <- if (is.atomic(complete) && length(complete) == 1L) as_flag(complete) else NA
  if (is.na(flag)) {
    abort_argument("complete", "'complete' must be TRUE or FALSE", call)
  }
  flag
}

# `scales` recycled to the diagonal of diag(scales), with the errors of diag().
column_scales <- function(scales, columns, call) {
  scales <- as_double(scales, call)
  refuse <- function(e) abort_argument("Dvec", conditionMessage(e), call)
  tryCatch(diag(scales, min(columns, 1L)), error = refuse)
  rep_len(as.vector(scales), columns)
}
