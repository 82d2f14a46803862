# Base R's functions of eigenvalues and singular values for a gpu_matrix.

#' Eigenvalues and singular values of matrices on the GPU
#'
#' `eigen()`, `svd()`, `La.svd()`, `norm(x, "2")` and `prcomp()` copy a [gpu_matrix] to the host.
#' The algorithms of [gpu_eigen()], [gpu_svd()] and [gpu_prcomp()] then compute where
#' `device = "auto"` takes an ordinary matrix, in double precision. The scores of `prcomp()` are a
#' product on the device of the matrix.
#'
#' Values, shapes and errors are base R's. Signs of vectors follow the rule of [gpu_eigen()] and
#' [gpu_svd()], and not LAPACK.
#'
#' @section Condition numbers:
#' * `kappa(z, exact = TRUE)` takes the singular values, as `svd()` does, for the 2-norm.
#' * `kappa(z)` of a matrix in double precision copies R of a QR factorization on the device. Base R
#'   estimates the condition from R on the host.
#' * In single precision, or with other arguments, `kappa()` copies the matrix to the host, where
#'   base R computes.
#'
#' Rounding decides the condition of a singular matrix: `kappa()` may be 1e32 where base R's is Inf,
#' or the reverse.
#'
#' @section Functions that compute by base R's eigen():
#' `princomp()` and [stats::cmdscale()] accept a `gpu_matrix` too, copy it to the host, and call
#' base R's `eigen()` and LAPACK. So do functions of other packages that call `base::eigen()` or
#' `base::svd()`. Their code cannot be redirected: call [gpu_eigen()] or [gpu_svd()] instead.
#' [gpu_prcomp()] replaces `princomp()`: its divisor is \eqn{n - 1} instead of \eqn{n}. The example
#' has the steps of `cmdscale()`, centred on the device.
#'
#' `eigen()`, `svd()` and `La.svd()` are not generic in base R. Attaching this package, or importing
#' all of it, makes S4 generics of them, as [gpu_matrix_base] describes. Elsewhere base R's own
#' functions accept the matrix, copy it, and use LAPACK.
#'
#' @section Errors:
#' As for [gpu_eigen()], [gpu_svd()] and [gpu_prcomp()].
#'
#' @param x A `gpu_matrix`.
#' @param symmetric,only.values As in [gpu_eigen()].
#' @param EISPACK Ignored, as by [base::eigen()].
#' @param nu,nv As in [gpu_svd()].
#' @param ... For `svd()`: `nu` and `nv`.
#' @return Ordinary R data, as from base R's functions.
#' @seealso [gpu_eigen()], [gpu_svd()], [gpu_prcomp()], [gpu_ginv()]
#' @examples
#' g <- as_gpu(crossprod(matrix(c(3, 1, 2, 5, 4, 6, 8, 7, 9), 3)))
#' eigen(g)$values
#' svd(g, nu = 0)
#' kappa(g, exact = TRUE)
#' # Classical scaling: two coordinates from distances
#' d <- as_gpu(as.matrix(dist(USArrests[1:5, ])))^2
#' z <- d - rowMeans(d)
#' e <- eigen((colMeans(z) - t(z)) / 2, symmetric = TRUE)
#' e$vectors[, 1:2] %*% diag(sqrt(e$values[1:2]))
#' @name gpu_matrix_spectral
#' @aliases prcomp.gpu_matrix kappa.gpu_matrix
NULL

#' @rdname gpu_matrix_spectral
#' @export
setMethod("eigen", "gpu_matrix", function(x, symmetric, only.values = FALSE, EISPACK = FALSE) {
  call <- sys.call()
  eigen_of(x, symmetric, only.values, how_there(call), call)
})

#' @rdname gpu_matrix_spectral
#' @export
setMethod("svd", "gpu_matrix", function(x, ...) svd_resident(x, ..., call = sys.call()))

svd_resident <- function(x, nu = min(n, p), nv = min(n, p), ..., call) {
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  where <- how_there(call)
  x <- as_svd_operand(x, "base::svd()", where, call)
  n <- nrow(x)
  p <- ncol(x)
  svd_of(x, nu, nv, where, call)
}

#' @rdname gpu_matrix_spectral
#' @export
setMethod("La.svd", "gpu_matrix", function(x, nu = min(n, p), nv = min(n, p)) {
  call <- sys.call()
  where <- how_there(call)
  x <- as_svd_operand(x, "base::La.svd()", where, call)
  n <- nrow(x)
  p <- ncol(x)
  found <- svd_of(x, nu, nv, where, call)
  if (!is.null(found$v)) {
    found$vt <- t(found$v)
    found$v <- NULL
  }
  found
})

#' @export
kappa.gpu_matrix <- function(z, exact = FALSE, norm = NULL, method = c("qr", "direct"), ...) {
  call <- group_call(sys.call(), "kappa")
  usual <- ...length() == 0L && identical(method[1L], "qr") && prod(dim(z)) > 0 &&
    (is.null(norm) || identical(norm, "2"))
  if (usual && isTRUE(exact)) {
    where <- how_there(call)
    d <- svd_of(as_svd_operand(z, "base::kappa()", where, call), 0L, 0L, where, call)$d
    # Base R's quotient if the smallest is zero depends on the version of R, so base R is asked.
    few <- diag(c(d[[1L]], d[d > 0][sum(d > 0)], d[[length(d)]]))
    return(as_user(call, kappa(few, exact = TRUE)))
  }
  if (usual && isFALSE(exact) && z@precision == "double") {
    f <- qr_resident(if (z@Dim[[1L]] < z@Dim[[2L]]) t(z) else z, NULL, call)
    return(as_user(call, kappa(as_qr(f, call), exact = FALSE, norm = norm)))
  }
  # `inv_z` may be a gpu_matrix too.
  more <- lapply(list(...), plain)
  as_user(call, do.call(kappa, c(list(as.matrix(z), exact, norm, method), more)))
}
