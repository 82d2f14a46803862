# Cholesky factors, triangular and general linear systems on a device.

chol_resident <- function(x, pivot, call) {
  n <- x@Dim[[1L]]
  if (x@Dim[[2L]] != n || n == 0L) {
    abort_not_square(x@Dim, call)
  }
  if (!isFALSE(pivot) && is_pivoted(pivot, call)) {
    abort_argument(
      "pivot",
      "pivoting is not available for a gpu_matrix: use gpu_chol(as.matrix(x), pivot = TRUE)", call
    )
  }
  make_resident(
    function(out, where) native_resident_chol(x@pointer, out, where), x@Dim, dimnames(x), x, call
  )
}

chol2inv_resident <- function(x, size, call) {
  k <- as_count(size)
  if (is.na(k) || k < 1L) {
    abort_argument("size", base_text("'size' argument must be a positive integer"), call)
  }
  check_size(k, x@Dim, call)
  make_resident(
    function(out, where) native_resident_chol2inv(x@pointer, k, out, where), c(k, k), NULL, x, call,
    "chol2inv"
  )
}

solve_triangle_resident <- function(r, x, k, upper, trans, call) {
  beside <- if (is_resident(r)) r else x
  if (!is_resident(r)) {
    r <- as_real_matrix(r, call, "base::solve()")
    r <- upload_beside(r, dim(r), NULL, beside, call)
  }
  stays <- is.matrix(x)
  if (!is_resident(x)) {
    x <- as_real_matrix(x, call, "base::solve()")
    x <- upload_beside(x, dim(x), NULL, beside, call)
  }
  check_together(r, x, call)
  k <- check_order(k, r@Dim, x@Dim, call)
  upper <- triangle_flag(upper, "upper.tri", call)
  trans <- triangle_flag(trans, "transpose", call)
  out <- make_resident(
    function(out, where) {
      native_resident_backsolve(r@pointer, k, x@pointer, upper, trans, out, where)
    },
    c(k, x@Dim[[2L]]), NULL, beside, call, "backsolve"
  )
  if (stays) out else drop(fetch(out, call))
}

# Solves a x = b, or inverts if b is NULL.
solve_resident <- function(a, b, tol, call) {
  beside <- if (is_resident(a)) a else b
  if (!is_resident(a)) {
    a <- as_coefficients(a, call)
    check_square_system(dim(a), call)
    a <- upload_beside(a, dim(a), dimnames(a), beside, call)
  }
  check_square_system(a@Dim, call)
  there <- right_side_beside(b, a, call)
  tol <- as_number(tol %||% tolerance_of(a), "tol", call)
  solve_with <- function(tol) {
    handle <- .External(new_handle)
    reply <- native_resident_solve(a@pointer, there, tol, handle, how_there(call))
    list(handle = handle, reply = reply)
  }
  done <- solve_with(tol)
  if (!is.null(rcond <- done$reply$err$fields$rcond) &&
    !is_ill_conditioned_resident(rcond, tol, a, call)) {
    done <- solve_with(0)
  }
  unwrap(done$reply, call, "solve")
  name_solution_resident(done$handle, a, b, a@Dimnames, call)
}

tolerance_of <- function(x) if (x@precision == "single") 2^-23 else .Machine$double.eps

is_ill_conditioned_resident <- function(rcond, tol, x, call) {
  if (is.na(rcond) || rcond < tol) {
    !is_r_from("4.2.3") || is_finite_resident(x, call)
  } else {
    FALSE
  }
}

is_finite_resident <- function(x, call) {
  unwrap(native_resident_finite(x@pointer, how_there(call)), call)$finite
}

# The handle of a right-hand side on the device of `a`, or NULL for the identity.
right_side_beside <- function(b, a, call) {
  if (is.null(b)) {
    return(NULL)
  }
  n <- a@Dim[[1L]]
  if (is_resident(b)) {
    check_right_side(b@Dim, n, call)
    check_together(a, b, call)
    return(b@pointer)
  }
  values <- as_right_side(b, n, call)
  upload_beside(values, c(n, count_right_sides(values, n)), NULL, a, call)@pointer
}

# The result of solve() from the handle of the solution: an ordinary vector if b is one. `names`
# are the dimnames of the matrix.
name_solution_resident <- function(handle, a, b, names, call) {
  n <- a@Dim[[1L]]
  if (!is.null(b) && !is.matrix(b)) {
    if (isS4(b)) b <- as_matrix(b, call)
  }
  columns <- if (is.null(b)) names[[1L]] else if (is.matrix(b)) dimnames(b)[[2L]]
  named <- !is.null(names[[2L]]) || !is.null(columns)
  out <- new_resident(
    handle, c(n, count_right_sides(b, n)), if (named) list(names[[2L]], columns), a@precision,
    a@device
  )
  if (is.null(b) || is.matrix(b)) {
    return(out)
  }
  values <- as.double(out)
  names(values) <- names[[2L]]
  values
}

#' Linear algebra on a gpu_matrix
#'
#' Methods of base R's functions for a [gpu_matrix]. Each computes on the device of the matrix. A
#' result that is a matrix stays there; vectors and numbers are ordinary R data. For `qr()` see
#' [gpu_qr_factor].
#'
#' `solve()` and `backsolve()` give a vector for a right-hand side that is a vector, and a
#' `gpu_matrix` for any matrix. `chol()` has no pivoting. [gpu_lu()] of a `gpu_matrix` leaves its
#' factors on the device.
#'
#' Operands may have classes of package Matrix, also in arithmetic and comparisons. They are copied
#' to the device as dense matrices.
#'
#' `rcond()` of a square matrix is estimated from an LU factorization on the device, as by LAPACK's
#' `dgecon`. For other matrices R is copied to the host. `kappa()` of a matrix in double
#' precision copies R of a QR factorization on the device, unless `exact = TRUE`. Other cases of
#' `kappa()` copy the matrix: see [gpu_matrix_spectral].
#'
#' In R before 4.4, `crossprod()`, `tcrossprod()`, `chol2inv()`, `backsolve()`, `forwardsolve()`,
#' and `solve()` of an ordinary matrix with a `gpu_matrix` work only if this package is attached or
#' imported. The other methods always work.
#'
#' @section Errors:
#' As for [gpu_matmult()], [gpu_chol()], [gpu_chol2inv()], [gpu_solve()], [gpu_backsolve()] and
#' [gpu_determinant()]. `cudafactor_error_argument`: operands on different devices or of different
#' precision. `cudafactor_error_stale`: see [gpu_matrix].
#'
#' @param x,y,a,b,r,l A `gpu_matrix`; one of two operands may be an ordinary matrix or vector.
#' @param norm As in [base::rcond()].
#' @param k,upper.tri,transpose,size,tol,pivot,logarithm As for base R's functions.
#' @param ... Ignored.
#' @return As for base R's functions, with the same dimnames; a matrix is a `gpu_matrix`.
#' @seealso [gpu_matrix], [gpu_qr_factor], [gpu_lu()]
#' @examples
#' # The log-likelihood of a Gaussian process, with its covariance on the device
#' s <- as_gpu(exp(-as.matrix(dist(1:50)) / 5) + diag(50))
#' y <- sin(1:50)
#' r <- chol(s)
#' z <- backsolve(r, y, transpose = TRUE)
#' -sum(z^2) / 2 - as.numeric(determinant(r)$modulus) - 25 * log(2 * pi)
#' @name gpu_matrix-methods
NULL

#' @rdname gpu_matrix-methods
#' @export
chol.gpu_matrix <- function(x, pivot = FALSE, ...) chol_resident(x, pivot, sys.call())

#' @rdname gpu_matrix-methods
#' @method solve gpu_matrix
#' @export
solve.gpu_matrix <- function(a, b, tol, ...) {
  call <- sys.call()
  if (!missing(b) && is.null(b)) {
    # In base R this is an error for every order but 0.
    b <- numeric()
  }
  solve_resident(a, if (!missing(b)) b, if (!missing(tol)) tol, call)
}

#' @rdname gpu_matrix-methods
#' @export
setMethod("solve", signature("ANY", "gpu_matrix"), function(a, b, ...) {
  solve_beside(a, b, ..., call = sys.call())
})

solve_beside <- function(a, b, ..., call) {
  if (inherits(a, c("gpu_lu", "gpu_qr_factor", "tile_matrix", "gpu_factor"))) {
    base::solve(a, b, ...)
  } else if (inherits(a, c("qr", "MatrixFactorization"))) {
    solve(a, as.matrix(b), ...)
  } else {
    solve_resident(a, b, list(...)$tol, call)
  }
}

# A matrix on disk as a right-hand side is read; a factor there is an error.
for (name in c("gpu_factor", "tile_matrix")) {
  setMethod(
    "solve", signature("ANY", name), function(a, b, ...) base::solve(a, as_side(b, sys.call()), ...)
  )
}
rm(name)

#' @rdname gpu_matrix-methods
#' @export
determinant.gpu_matrix <- function(x, logarithm = TRUE, ...) {
  determinant_resident(x, logarithm, sys.call())
}

#' @rdname gpu_matrix-methods
#' @export
setMethod(
  "chol2inv", "gpu_matrix",
  function(x, size = NCOL(x), ...) chol2inv_resident(x, size, sys.call(-1))
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("backsolve", signature("gpu_matrix", "ANY"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    solve_triangle_resident(r, x, k, upper.tri, transpose, sys.call())
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("backsolve", signature("ANY", "gpu_matrix"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    solve_triangle_resident(r, x, k, upper.tri, transpose, sys.call())
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("backsolve", signature("gpu_matrix", "gpu_matrix"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    solve_triangle_resident(r, x, k, upper.tri, transpose, sys.call())
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("forwardsolve", signature("gpu_matrix", "ANY"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    solve_triangle_resident(l, x, k, upper.tri, transpose, sys.call())
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("forwardsolve", signature("ANY", "gpu_matrix"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    solve_triangle_resident(l, x, k, upper.tri, transpose, sys.call())
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("forwardsolve", signature("gpu_matrix", "gpu_matrix"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    solve_triangle_resident(l, x, k, upper.tri, transpose, sys.call())
  }
)

# R's generics of these have base R's defaults as formals, so `k = ncol(r)` would see `r` before
# base R makes it a matrix. Ordinary operands go to base R with what the caller gave.
#' @rdname gpu_matrix-methods
#' @export
setMethod("backsolve", signature("ANY", "ANY"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    if (missing(k)) {
      base::backsolve(r, x, upper.tri = upper.tri, transpose = transpose)
    } else {
      base::backsolve(r, x, k, upper.tri, transpose)
    }
  }
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("forwardsolve", signature("ANY", "ANY"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    if (missing(k)) {
      base::forwardsolve(l, x, upper.tri = upper.tri, transpose = transpose)
    } else {
      base::forwardsolve(l, x, k, upper.tri, transpose)
    }
  }
)
