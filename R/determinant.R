#' Determinant
#'
#' `gpu_determinant(x)` is `determinant(x)`: the sign and the modulus (by default its logarithm) of
#' the determinant of a square matrix, from its LU factorization.
#'
#' @section Errors:
#' * `cudafactor_error_dimension`: `x` is not square.
#' * `cudafactor_error_type`: `x` is complex or not a matrix.
#'
#' NA and NaN are no errors: the result is NA or NaN, or `-Inf` if elimination finds only zeros in a
#' column.
#'
#' @section Accuracy:
#' The result is the exact determinant of a matrix that differs from `x` by the backward error of
#' [gpu_lu()].
#'
#' @section Device:
#' `"auto"` counts \eqn{2n^3/3} operations, see [cudafactor-options].
#'
#' @param x A square numeric matrix, a [gpu_matrix], an object of class `"gpu_lu"`, a factor on disk
#'   (see [tile_matrix_solve]) or of [chol_gpus()]. A data frame is an error, as in base R: use
#'   `as.matrix()`.
#' @param logarithm Return the logarithm of the modulus? `TRUE` by default.
#' @param ... Ignored, as in base R.
#' @inheritParams gpu_matmult
#' @return A list of class `"det"` with components `modulus` (with attribute `logarithm`) and
#' `sign`, an integer 1 or -1, as [base::determinant()] gives. An exactly singular matrix has
#' modulus 0 (logarithm `-Inf`) and sign 1. A matrix without rows has determinant 1.
#' @references LAPACK routine of the same work: `dgetrf`.
#' @seealso [base::determinant()], [gpu_lu()]
#' @examples
#' x <- matrix(c(2, 1, 1, 3), 2)
#' d <- gpu_determinant(x)
#' d$sign * exp(c(d$modulus))
#' @export
gpu_determinant <- function(x, logarithm = TRUE, device = getOption("cudafactor.device", "auto"),
                            precision = "double", ...) {
  call <- sys.call()
  if (is.object(x)) {
    if (inherits(x, "gpu_lu")) {
      return(determinant.gpu_lu(x, logarithm))
    }
    if (is_gpu_factor(x)) {
      return(determinant_spread(x, logarithm, call))
    }
    if (is_resident(x)) {
      return(determinant_resident(x, logarithm, call))
    }
    if (is_tile_matrix(x)) {
      return(determinant_tiles(x, logarithm, call))
    }
    if (isS4(x)) {
      x <- as_matrix(x, call)
    }
  }
  if (!is.matrix(x)) {
    abort_type(no_method_text("determinant", x), call)
  }
  d <- dim(x)
  if (d[[1L]] != d[[2L]]) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), call)
  }
  n <- d[[1L]]
  if (n < 1L) {
    return(as_determinant(if (isTRUE(as_flag(logarithm))) 0 else 1, 1L, logarithm))
  }
  if (is.complex(x)) {
    abort_type(
      base_text("'determinant' not currently defined for complex matrices", domain = "R-base"), call
    )
  }
  x <- as_double(x, call)
  if (!is_logarithm(logarithm, call)) {
    out <- .External(alloc_matrix, n, n)
    done <- unwrap(native_lu(x, c(n, n), out, how(device, precision, call)), call)
    return(determinant_of_diagonal(diag(out), done$ipiv, done$zero, FALSE, call))
  }
  done <- unwrap(native_determinant(x, n, how(device, precision, call)), call)
  as_determinant(done$modulus, done$sign, TRUE)
}

is_logarithm <- function(logarithm, call) {
  flag <- isTRUE(logarithm) || as_flag(logarithm)
  if (is.na(flag)) {
    abort_argument("logarithm", base_text("argument 'logarithm' must be logical"), call)
  }
  flag
}

as_determinant <- function(modulus, sign, logarithm) {
  attr(modulus, "logarithm") <- logarithm
  out <- list(modulus = modulus, sign = sign)
  class(out) <- "det"
  out
}

# The determinant from the diagonal of U and the row exchanges. The modulus is the product, which
# is more accurate than the exponential of a sum of logarithms. If the product leaves the range of
# doubles, the sum is used.
determinant_of_diagonal <- function(d, ipiv, zero, logarithm, call) {
  log_scale <- is_logarithm(logarithm, call)
  if (zero > 0L) {
    return(as_determinant(if (log_scale) -Inf else 0, 1L, log_scale))
  }
  negative <- sum(d < 0, na.rm = TRUE) + sum(ipiv != seq_along(ipiv))
  size <- abs(d)
  modulus <- if (log_scale) sum(log(size)) else prod(size)
  if (!log_scale && !isTRUE(modulus > 0 && modulus < Inf)) {
    modulus <- exp(sum(log(size)))
  }
  as_determinant(modulus, if (negative %% 2 == 0) 1L else -1L, log_scale)
}
