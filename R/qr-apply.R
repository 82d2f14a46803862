#' Orthogonal factor of a QR factorization
#'
#' `gpu_qr.Q(qr)` is `qr.Q(qr)`, the matrix \eqn{Q} of a factorization; `gpu_qr.qy(qr, y)` is `qr.qy(qr, y)`, the product
#' \eqn{Q y}, and `gpu_qr.qty(qr, y)` is `qr.qty(qr, y)`, \eqn{Q^T y}{Q'y}. They take any object of class `"qr"`, from [gpu_qr()] and
#' from [base::qr()], with `LAPACK = TRUE` or without. The products never form \eqn{Q}.
#'
#' @section Value:
#' What the base function returns. `gpu_qr.Q()`: a matrix without dimnames, of as many columns as `qr$qr` has or, if it has fewer,
#' rows; with `complete = TRUE` a square one. The others: `y` in double precision with its attributes, so a vector is a vector; from an object
#' with the attribute `useLAPACK`, `as.matrix(y)`.
#'
#' Of an object of rank \eqn{k} in base R's default form only the first \eqn{k} reflectors are used, as in base R, so that the other columns of
#' \eqn{Q} are an orthonormal basis of what the first \eqn{k} do not reach.
#'
#' @section Failure:
#' `cudafactor_error_type`: `qr` is no such object, or a complex one, or `y` is no numbers.
#' `cudafactor_error_dimension`: numbers of rows that differ.
#' `cudafactor_error_non_finite`: NA, NaN or Inf, which an object in the default form refuses in itself, in `y` and in `Dvec`
#' (field `argument`); with `useLAPACK` they propagate. `cudafactor_error_argument`: a `Dvec` that no diagonal can be made of.
#'
#' @section Accuracy:
#' \eqn{\|I - Q^T Q\|_1 / (m \epsilon)}{||I - Q'Q|| / (m eps)} is tested against a fixed bound, and so is the distance of products from base R's.
#'
#' @section Device:
#' `"auto"` counts \eqn{4mk} operations for each column of the result, with \eqn{k} reflectors of \eqn{m} rows, see [cudafactor-options].
#'
#' @param qr An object of class `"qr"`.
#' @param complete Extend \eqn{Q} to a square matrix?
#' @param Dvec Numbers that the columns of \eqn{Q} are multiplied with.
#' @param y A numeric vector or matrix.
#' @inheritParams gpu_matmult
#' @references LAPACK and LINPACK routines of the same work: `dormqr`, `dqrsl`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 5.1. Johns Hopkins.
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
gpu_qr.Q <- function(qr, complete = FALSE, Dvec, device = getOption("cudafactor.device", "auto"), precision = "double") {
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
  scales <- if (!missing(Dvec)) column_scales(if (complete) Dvec else Dvec[seq_len(columns)], columns, call)
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
gpu_qr.qy <- function(qr, y, device = getOption("cudafactor.device", "auto"), precision = "double") {
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
gpu_qr.qty <- function(qr, y, device = getOption("cudafactor.device", "auto"), precision = "double") {
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

# The parts of a "qr" object that make its Q: `qraux` has a number for each reflector to be used.
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

abort_no_qr <- function(call) abort_type(base_text("argument is not a QR decomposition", domain = "R-base"), call)

# What base R's LINPACK routines refuse as their argument number `position`, here called `argument`.
abort_foreign <- function(argument, position, call) {
  abort("non_finite", base_text("NA/NaN/Inf in foreign function call (arg %d)", position), call, argument = argument)
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

# LINPACK's form keeps what y is, LAPACK's makes a matrix of it.
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

# The diagonal that diag() would make of `scales`: recycled, and refused where diag() refuses it.
column_scales <- function(scales, columns, call) {
  scales <- as_double(scales, call)
  tryCatch(diag(scales, min(columns, 1L)), error = function(e) abort_argument("Dvec", conditionMessage(e), call))
  rep_len(as.vector(scales), columns)
}
