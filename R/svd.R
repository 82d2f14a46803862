#' Singular value decomposition
#'
#' `gpu_svd(x)` returns what [base::svd()] returns, for real matrices: \eqn{x = U D V^T}{x = U D V'}
#' with orthonormal columns in \eqn{U} and \eqn{V}. `gpu_svd(x, k = 20)` returns the 20 largest
#' singular values, for which `x` is only multiplied with vectors. `x` can then also be a sparse
#' matrix, a [tile_matrix()] or a function. `gpu_norm(x, type)` is [base::norm()], whose 2-norm is
#' the largest singular value. Only the 2-norm uses `device` and `precision`.
#'
#' @section Signs: Singular vectors are determined up to a common sign of the columns of \eqn{U} and
#' \eqn{V}, and base R's signs depend on its LAPACK. Here the component of largest magnitude in each
#' column of \eqn{V} is positive: the first one, if several agree to half of their digits. The same
#' column of \eqn{U} follows. If `nv` is 0, the rule holds for \eqn{U} instead. So
#' `gpu_svd(x, nv = 0)$u` may differ in sign from `gpu_svd(x)$u`: take both from one call.
#'
#' Columns beyond `min(n, p)` complete an orthonormal basis in any way, and differ from base R's.
#' Their component of largest magnitude is positive.
#'
#' @return `gpu_svd()`: a list without dimnames:
#' \describe{
#'   \item{`d`}{singular values in decreasing order.}
#'   \item{`u`}{matrix with left singular vectors in its columns. Only if `nu` is not 0.}
#'   \item{`v`}{matrix with right singular vectors in its columns. Only if `nv` is not 0.}
#' }
#' With `k`, the list also has `residuals`, the larger one of \eqn{\|x v - d u\|}{||x v - d u||} and
#' \eqn{\|x^T u - d v\|}{||x'u - d v||} divided by the largest `d`, and `iterations` and `products`
#' as in [gpu_eigen()].
#'
#' `gpu_norm()`: a number, `NA` or `NaN` if `x` has NA or NaN. It is 0 if a dimension of `x` is
#' zero.
#'
#' @section A few values: `k` takes block Golub-Kahan-Lanczos iterations with thick restarts.
#' Nothing is squared, so small singular values keep their digits. [gpu_eigen()] says when values
#' count as found, where they are computed, and when all values are computed instead. The order
#' is `min(n, p)` here. `gpu_svd()` multiplies sparse matrices on the CPU.
#'
#' @section Errors:
#' - `cudafactor_error_non_finite`: `x` has NA, NaN or Inf. `gpu_norm()` stops only for Inf in the
#'   2-norm.
#' - `cudafactor_error_dimension`: a dimension of `x` is zero. `gpu_norm()` then stops only for the
#'   2-norm, in the versions of R where `norm()` does. All other norms of an
#'   array with more than two dimensions are errors.
#' - `cudafactor_error_type`: `x` is complex, or is not a matrix of numbers.
#' - `cudafactor_error_argument`: an argument has an invalid value, `Atrans` is not the transpose of
#'   a function `x`, or `type` names no norm.
#' - `cudafactor_error_device_unavailable`: the GPU that `device` names does not exist.
#' - `cudafactor_error_device_memory`: the GPU lacks room for `x`, its QR factorization and 8 square
#'   matrices of order `min(n, p)`, or for the columns of \eqn{U} and \eqn{V}. A square `x` has no
#'   QR factorization. A matrix with few singular values near the largest needs more.
#' - `cudafactor_error_not_converged`: no method found values that pass the check below.
#'
#' @section Accuracy: The matrix is scaled by a power of two first, in double precision, so the
#' accuracy does not depend on the unit of its entries. In single precision entries may therefore be
#' of any size.
#'
#' Tests bound \eqn{\|x - U D V^T\| \le 8 m \epsilon \|x\|}{||x - U D V'|| <= 8 m eps ||x||}. The
#' norms are Frobenius norms, and m is the larger dimension of `x`, but at least 8. Products with
#' random vectors check the answer in each call; for a tall matrix on a GPU, that of R or
#' \eqn{X^T X}{X'X}. If the check fails on the CPU, a slower method
#' computes it again. If it fails on a GPU, `device = "auto"` computes on the CPU.
#'
#' @inheritSection gpu_eigen Device
#'
#' @param x A numeric or logical \eqn{n \times p}{n x p} matrix, an object that `as.matrix()` turns
#'   into one, or a [gpu_matrix]. As in base R, `gpu_svd()` and the 2-norm take an array of more
#'   dimensions as one column. Other norms of it are errors.
#' @param nu,nv Numbers of columns of \eqn{U} and \eqn{V}. Without `k`, the default is `min(n, p)`.
#'   `nu` above `n` counts as `n`, `nv` above `p` as `p`, and fractions are rounded down. With `k`,
#'   the default is `k`, and only whole numbers from 0 to `k` are accepted.
#' @param type `"O"` (the default) or `"1"`: largest column sum of magnitudes; `"I"`: largest row
#'   sum; `"F"` or `"E"`: root of the sum of squares; `"M"`: largest magnitude; `"2"`: largest
#'   singular value.
#' @param ... Must be empty.
#' @param k `NULL` (the default) for all singular values, or how many of the largest. It must be
#'   named: the second argument is `nu`. The arguments below are for `k`.
#' @param Atrans,dim If `x` is a function, the function for \eqn{x^T u}{x'u}, and the numbers of
#'   rows and columns. Both functions get matrices with up to 64 columns, or `k` if that is more.
#' @inheritParams gpu_eigen
#' @references LAPACK routine of the same work: `dgesdd`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 8.6. Johns
#' Hopkins.
#'
#' Baglama, J. and Reichel, L. (2005) Augmented implicitly restarted Lanczos bidiagonalization
#' methods. *SIAM Journal on Scientific Computing* 27, 19-42.
#' @seealso [gpu_eigen()], [gpu_qr()], [gpu_prcomp()], [gpu_ginv()]
#' @examples
#' x <- matrix(c(3, 1, 2, 5, 4, 6, 8, 7), 4)
#' s <- gpu_svd(x)
#' s$d
#' all.equal(s$u %*% diag(s$d) %*% t(s$v), x)
#' gpu_svd(x, nu = 0, nv = 0)
#' gpu_norm(x, "2")
#' y <- outer(1:300, 1:200, function(i, j) 1 / (i + j))
#' gpu_svd(y, k = 3)$d
#' @export
gpu_svd <- function(x, nu = min(n, p), nv = min(n, p),
                    device = getOption("cudafactor.device", "auto"),
                    precision = "double", ..., k = NULL, Atrans = NULL, dim = NULL, tol = 1e-10,
                    maxit = 1000) {
  call <- sys.call()
  if (missing(x)) abort_missing("x", call)
  x <- x
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (!is.null(k)) {
    nu <- if (!missing(nu)) nu
    nv <- if (!missing(nv)) nv
    return(svd_few(x, nu, nv, k, Atrans, dim, tol, maxit, device, precision, call))
  }
  check_without_k(c(
    if (!missing(Atrans)) "Atrans", if (!missing(dim)) "dim", if (!missing(tol)) "tol",
    if (!missing(maxit)) "maxit"
  ), call)
  check_no_function(x, "gpu_svd(x, k = , Atrans = , dim = )", call)
  where <- spectral_how(x, device, precision, call)
  x <- as_svd_operand(x, "base::svd()", where, call)
  # Here, because the defaults of nu and nv name them.
  n <- nrow(x)
  p <- ncol(x)
  svd_of(x, nu, nv, where, call)
}

# The matrix as doubles. `alternative` is for complex matrices.
as_svd_operand <- function(x, alternative, where, call) {
  x <- as_spectral_operand(x, alternative, call)
  numbers <- as_finite(without_times(x), where, call)
  if (!length(x)) {
    abort_dimension(base_text("a dimension is zero", domain = "R-base"), call)
  }
  refuse_times(x, call)
  numbers
}

refuse_times <- function(x, call) {
  if (is_times(x)) {
    text <- "argument to 'La.svd' must be numeric or complex"
    abort_type(base_text(text, domain = "R-base"), call)
  }
}

svd_of <- function(x, nu, nv, where, call) {
  n <- nrow(x)
  p <- ncol(x)
  ucols <- svd_columns(nu, "nu", n, min(n, p), call)
  vcols <- svd_columns(nv, "nv", p, min(n, p), call)
  u <- .External(alloc_matrix, n, ucols$computed)
  v <- .External(alloc_matrix, p, vcols$computed)
  done <- unwrap(
    native_svd(x, dim(x), u, ucols$computed, v, vcols$computed, where), call
  )
  found <- list(d = done$values)
  if (ucols$computed) {
    found$u <- first_columns(u, ucols$returned)
  }
  if (vcols$computed) {
    found$v <- first_columns(v, vcols$returned)
  }
  found
}

# How many columns of a basis of order n are computed, and how many of these are returned.
svd_columns <- function(count, argument, n, size, call) {
  abort_count <- invalid(argument)
  if (length(count) > 1L && getRversion() < "4.3.0") {
    # These versions of R take the first of several values, with a warning.
    abort_count(base_text("the condition has length > 1"), call)
  }
  if (!(is.numeric(count) && length(count) == 1L)) {
    # Base R's error depends on its version, on the type and on the argument.
    one <- matrix(0, 1L, 1L)
    as_base(
      switch(argument, nu = base::svd(one, nu = count), nv = base::svd(one, nv = count)),
      abort_count, call
    )
  }
  if (!as_base(if (count || FALSE) TRUE else FALSE, abort_count, call)) {
    return(list(computed = 0L, returned = 0L))
  }
  computed <- as_base(if (count <= size) size else n, abort_count, call)
  returned <- computed
  if (count < computed) {
    returned <- length(as_base(seq_len(min(n, count)), abort_count, call))
  }
  list(computed = computed, returned = returned)
}

first_columns <- function(x, count) {
  if (count < ncol(x)) x[, seq_len(count), drop = FALSE] else x
}

#' @rdname gpu_svd
#' @export
gpu_norm <- function(x, type = c("O", "I", "F", "M", "2"),
                     device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (missing(x)) abort_missing("x", call)
  x <- x
  where <- spectral_how(x, device, precision, call)
  if (identical("2", type)) {
    return(spectral_norm(x, where, call))
  }
  # The method for a matrix on disk is an error.
  own <- is_resident(x) || isS4(x) && !is_in_tiles(x) && has_own_norm(class(x)[[1L]])
  if (!own) {
    check_no_array(x, "gpu_norm(x[, , 1])", call)
    x <- without_times(as_spectral_operand(x, "base::norm()", call))
    x <- as_numeric_matrix(x, call)
  }
  as_base(norm(x, type), invalid("type"), call)
}

# Does a package have a method for the class? Matrix does.
has_own_norm <- function(class) {
  method <- selectMethod("norm", c(class, "character"), optional = TRUE)
  !is.null(method) && method@defined[[1L]] != "ANY"
}

spectral_norm <- function(x, where, call) {
  x <- as_spectral_operand(x, "base::norm()", call)
  if (!length(x)) {
    # An error in some versions of R.
    return(as_base(base::norm(x, "2"), abort_dimension, call))
  }
  if (anyNA(x)) {
    return(NA_real_)
  }
  svd_of(as_svd_operand(x, "base::norm()", where, call), 0L, 0L, where, call)$d[[1L]]
}
