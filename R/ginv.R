#' Pseudo-inverse
#'
#' `gpu_ginv(x)` is the Moore-Penrose inverse \eqn{x^+}{x+} of a real matrix, as `MASS::ginv(x)`
#' gives it. \eqn{x^+ b}{x+ b} is the least squares solution of smallest norm of \eqn{x z = b},
#' whatever the rank of \eqn{x}.
#'
#' With \eqn{x = U D V^T}{x = U D V'} the result is \eqn{V D^+ U^T}{V D+ U'}. A matrix of zeros
#' gives zeros.
#'
#' @return A matrix with the dimensions of `t(x)`, without dimnames. It is a `gpu_matrix` on the
#' device of `x`, and in its precision, if `x` is one.
#'
#' @section Errors:
#' - `cudafactor_error_non_finite`: `x` has NA, NaN or Inf.
#' - `cudafactor_error_dimension`: a dimension of `x` is zero, or `x` is an array of more than two
#'   dimensions.
#' - `cudafactor_error_type`: `x` is complex, or is not a matrix of numbers.
#' - `cudafactor_error_argument`: `tol` is not a number, or `device` or `precision` has no valid
#'   value.
#' - `cudafactor_error_device_unavailable`: the GPU that `device` names does not exist.
#' - `cudafactor_error_device_memory`: the GPU lacks room, see [gpu_svd()].
#' - `cudafactor_error_not_converged`: see [gpu_svd()].
#'
#' @section Accuracy: The result is the pseudo-inverse of a matrix near `x`, see [gpu_svd()]. Its
#' relative error grows with the largest singular value divided by the smallest one that counts. To
#' solve one system of full rank, [gpu_solve()] or [gpu_lm_fit()] is faster and more accurate.
#'
#' @inheritSection gpu_eigen Device
#'
#' @section Plans: With option `cudafactor.verbose` each computation within a call shows its plan:
#' the decomposition, the product and, for a `gpu_matrix`, copies to its device.
#'
#' @param x A numeric or logical \eqn{n \times p}{n x p} matrix, a vector (one column), an object
#'   that `as.matrix()` turns into a matrix, or a [gpu_matrix].
#' @param tol Singular values of at most `tol` times the largest count as zero. If `NULL` (the
#'   default), the root of the precision's epsilon: 1.5e-8, or 3.5e-4 in single precision.
#' @param ... Must be empty.
#' @inheritParams gpu_eigen
#' @references Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section
#' 5.5. Johns Hopkins.
#' @seealso [gpu_svd()], [gpu_solve()], [gpu_lm_fit()]
#' @examples
#' x <- cbind(1, c(1, 2, 3, 4), c(2, 4, 6, 8))
#' y <- gpu_ginv(x)
#' all.equal(x %*% y %*% x, x)
#' y %*% c(2, 1, 4, 3)
#' @export
gpu_ginv <- function(x, tol = NULL,
                     device = getOption("cudafactor.device", "auto"), precision = "double", ...) {
  call <- sys.call()
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (missing(x)) {
    abort_missing("x", call)
  }
  x <- x
  resident <- is_resident(x)
  where <- spectral_how(x, device, precision, call)
  check_no_array(x, "gpu_ginv(x[, , 1])", call)
  single <- (if (resident) x@precision else precision) == "single"
  tol <- as_number(tol %||% sqrt(if (single) 2^-23 else .Machine$double.eps), "tol", call)
  a <- as_numeric_matrix(as_spectral_operand(x, "MASS::ginv()", call), call)
  a <- as_svd_operand(a, "MASS::ginv()", where, call)
  k <- min(dim(a))
  found <- svd_of(a, k, k, where, call)
  kept <- which(found$d > max(tol * found$d[[1L]], 0))
  v <- found$v[, kept, drop = FALSE]
  u <- found$u[, kept, drop = FALSE] * rep(1 / found$d[kept], each = nrow(a))
  if (resident) {
    product_resident(upload_beside(v, dim(v), NULL, x, call), u, "tcrossprod", call)
  } else {
    multiply_scaled(v, u, "tcrossprod", where, single, call)
  }
}
