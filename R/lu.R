#' LU factorization
#'
#' `gpu_lu(x)` factors a matrix of any shape by Gaussian elimination with row exchanges,
#' \deqn{x = P L U} with a permutation matrix \eqn{P}, a unit lower triangular \eqn{L} and an upper
#' triangular \eqn{U}. `lu_expand()` returns the three matrices. `solve()` and `determinant()` use
#' the factorization without forming them.
#'
#' @return `gpu_lu()`: an object of class `"gpu_lu"`, a list of ordinary R data that can be saved.
#'   For a [gpu_matrix] the component `lu` stays on the GPU, and only `lu_expand()` copies it to the
#'   host.
#' \describe{
#'   \item{`lu`}{double matrix of the dimensions of `x`: \eqn{U} on and above the diagonal, \eqn{L}
#'     without its unit diagonal below.}
#'   \item{`ipiv`}{LAPACK's row exchanges: step `i` swapped rows `i` and `ipiv[i]`.}
#'   \item{`perm`}{the same as a permutation: `x[perm, ]` equals `L %*% U`.}
#'   \item{`singular`}{0, or the index of the first exactly zero diagonal entry of \eqn{U}.}
#'   \item{`norm1`}{the 1-norm of `x`, for the condition estimate. `NULL` if `x` is not square.}
#'   \item{`dimnames`}{the dimnames of `x`.}
#'   \item{`precision`}{the precision of the factorization.}
#'   \item{`diagonal`}{the diagonal of \eqn{U}. Only for a [gpu_matrix].}
#' }
#'
#' `lu_expand()`: a list of ordinary double matrices `L` (\eqn{m \times k}{m x k}), `U`
#' (\eqn{k \times n}{k x n}) and `P` (\eqn{m \times m}{m x m}) with
#' \eqn{k = \min(m, n)}{k = min(m, n)}. `P %*% L %*% U` equals `x`, dimnames included.
#'
#' `solve()` returns what `solve(x, b)` returns, and `determinant()` what `determinant(x)` returns.
#'
#' @section Errors:
#' - `cudafactor_warning_singular`: a pivot is exactly zero. The warning has the words of
#'   `Matrix::lu()`, and the object is complete.
#' - `cudafactor_error_singular`: `solve()` met an exactly zero pivot, or the estimated reciprocal
#'   condition number is below `tol`. Both texts are those of [base::solve()].
#' - `cudafactor_error_type`: `x` is complex, or is not a matrix.
#' - `cudafactor_error_dimension`: `solve()` or `determinant()` needs a square matrix, or the
#'   right-hand side does not fit.
#'
#' @section Accuracy: \eqn{|x - P L U| \le k \epsilon P |L| |U|} holds up to a small constant. Tests
#' hold \eqn{\|x - P L U\|_1 / (\max(m, n) \epsilon \|x\|_1)}{||x - P L U|| / (max(m, n) eps ||x||)}
#' below a fixed bound.
#'
#' @section Device:
#' `"auto"` counts \eqn{2n^3/3} operations for a square matrix, see [cudafactor-options].
#'
#' @param x A numeric \eqn{m \times n}{m x n} matrix, an object that `as.matrix()` turns into one,
#'   or a [gpu_matrix]. For the methods, an object of class `"gpu_lu"`.
#' @param warn_singular `FALSE` suppresses the warning about an exactly zero pivot. The default is
#'   `TRUE`.
#' @param a,f An object of class `"gpu_lu"`.
#' @param b Right-hand side: a vector of length \eqn{n} or a matrix with \eqn{n} rows. If missing,
#'   the inverse is computed.
#' @param tol Smallest reciprocal condition number that `solve()` accepts, a number. The default is
#'   the relative rounding error of the less precise of factorization and solution. 0 skips the
#'   check.
#' @param logarithm `TRUE` (the default) returns the logarithm of the modulus, `FALSE` the modulus.
#' @param ... Must be empty for `solve()`. `determinant()` and `print()` ignore further arguments.
#' @inheritParams gpu_matmult
#' @references LAPACK routines of the same work: `dgetrf`, `dgetrs`, `dgecon`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 3.4. Johns
#' Hopkins.
#' @seealso [gpu_solve()], [gpu_determinant()]
#' @examples
#' x <- matrix(c(2, 4, 8, 1, 3, 7, 1, 3, 9), 3)
#' f <- gpu_lu(x)
#' f
#' solve(f, 1:3)
#' e <- lu_expand(f)
#' all.equal(e$P %*% e$L %*% e$U, x)
#' all.equal(e$L %*% e$U, x[f$perm, ])
#' @export
gpu_lu <- function(x, warn_singular = TRUE, device = getOption("cudafactor.device", "auto"),
                   precision = "double") {
  call <- sys.call()
  f <- .External(plain_lu, x, device, precision)
  if (is.null(f)) {
    if (is_resident(x)) {
      return(lu_resident(x, warn_singular, call))
    }
    f <- lu_any(x, device, precision, call)
  } else if (!is.object(f)) {
    f <- unwrap(f[[1L]], call, out = f[[2L]])
  }
  if (f$singular > 0L && isTRUE(warn_singular)) {
    warn_exactly_singular(f$singular, call)
  }
  f
}

# gpu_lu() of an operand that plain.c does not take.
lu_any <- function(x, device, precision, call) {
  x <- as_real_matrix(x, call, "base::solve() or base::qr()")
  dx <- dim(x)
  out <- .External(alloc_matrix, dx[[1L]], dx[[2L]])
  done <- unwrap(native_lu(x, dx, out, how(device, precision, call)), call)
  f <- list(
    lu = out,
    ipiv = done$ipiv,
    perm = done$perm,
    singular = done$zero,
    norm1 = if (dx[[1L]] == dx[[2L]]) done$norm1,
    dimnames = dimnames(x),
    precision = precision
  )
  class(f) <- "gpu_lu"
  f
}

warn_exactly_singular <- function(i, call) {
  text <- sprintf("LAPACK routine 'dgetrf': matrix is exactly singular, U[i,i]=0, i=%d", i)
  warn("singular", text, call, index = i)
}

#' @rdname gpu_lu
#' @export
lu_expand <- function(f) {
  if (!inherits(f, "gpu_lu")) {
    abort_type("'f' must be an object of class \"gpu_lu\"", sys.call())
  }
  lu <- as.matrix(f$lu)
  m <- nrow(lu)
  n <- ncol(lu)
  k <- min(m, n)
  l <- lu[, seq_len(k), drop = FALSE]
  l[upper.tri(l)] <- 0
  diag(l) <- 1
  u <- lu[seq_len(k), , drop = FALSE]
  u[lower.tri(u)] <- 0
  p <- matrix(0, m, m)
  p[cbind(f$perm, seq_len(m))] <- 1
  if (!is.null(f$dimnames[[1L]])) {
    dimnames(p) <- c(f$dimnames[1L], list(NULL))
  }
  if (!is.null(f$dimnames[[2L]])) {
    dimnames(u) <- c(list(NULL), f$dimnames[2L])
  }
  list(L = l, U = u, P = p)
}

#' @rdname gpu_lu
#' @method solve gpu_lu
#' @export
solve.gpu_lu <- function(a, b,
                         tol = if ("single" %in% c(precision, a$precision)) {
                           2^-23
                         } else {
                           .Machine$double.eps
                         },
                         device = getOption("cudafactor.device", "auto"),
                         precision = "double", ...) {
  call <- sys.call()
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (!missing(b) && is_resident(b) && !is_resident(a$lu)) {
    a$lu <- upload_beside(a$lu, dim(a$lu), NULL, b, call)
  }
  if (is_resident(a$lu)) {
    return(solve_lu_resident(a, if (!missing(b)) b, if (!missing(tol)) tol, call))
  }
  n <- nrow(a$lu)
  check_square_system(dim(a$lu), call)
  b <- if (missing(b)) NULL else as_right_side(b, n, call)
  tol <- as_number(tol, "tol", call)
  if (a$singular > 0L) {
    raise("singular", "", list(index = a$singular), call, "solve")
  }
  where <- how(device, precision, call)
  if (tol > 0) {
    rcond <- unwrap(native_lu_rcond(a$lu, n, a$norm1, where), call)$rcond
    if (is_ill_conditioned(rcond, tol, a$lu, where, call)) {
      raise("singular", "", list(rcond = rcond), call, "solve")
    }
  }
  nrhs <- count_right_sides(b, n)
  out <- .External(alloc_matrix, n, nrhs)
  reply <- native_lu_solve(a$lu, n, a$ipiv, b, nrhs, out, where)
  if (!is.null(reply)) {
    unwrap(reply, call)
  }
  # Names are set here: in another function R would copy the result first.
  if (is_vector_side(b)) {
    dim(out) <- NULL
    names(out) <- a$dimnames[[2L]]
  } else {
    dimnames(out) <- solution_dimnames(a$dimnames, b)
  }
  out
}

#' @rdname gpu_lu
#' @export
determinant.gpu_lu <- function(x, logarithm = TRUE, ...) {
  if (nrow(x$lu) != ncol(x$lu)) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), sys.call())
  }
  diagonal <- if (is_resident(x$lu)) x$diagonal else diag(x$lu)
  determinant_of_diagonal(diagonal, x$ipiv, x$singular, logarithm, sys.call())
}

#' @rdname gpu_lu
#' @export
print.gpu_lu <- function(x, ...) {
  singular <- if (x$singular > 0L) {
    sprintf(", exactly singular: U[%d,%d] = 0", x$singular, x$singular)
  } else {
    ""
  }
  cat(sprintf("<gpu_lu: x = P L U of a %d x %d matrix%s>\n", nrow(x$lu), ncol(x$lu), singular))
  invisible(x)
}
