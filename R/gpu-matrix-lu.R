# LU factorization on a device, and what is computed from it.

lu_resident <- function(x, warn_singular, call) {
  handle <- .External(new_handle)
  done <- unwrap(native_resident_lu(x@pointer, handle, how_there(call)), call)
  if (done$zero > 0L && isTRUE(warn_singular)) {
    warn_exactly_singular(done$zero, call)
  }
  f <- list(
    lu = new_resident(handle, x@Dim, NULL, x@precision, x@device),
    ipiv = done$ipiv,
    perm = done$perm,
    singular = done$zero,
    norm1 = if (x@Dim[[1L]] == x@Dim[[2L]]) done$norm1,
    dimnames = dimnames(x),
    precision = x@precision,
    diagonal = done$diagonal
  )
  class(f) <- "gpu_lu"
  f
}

solve_lu_resident <- function(f, b, tol, call) {
  a <- f$lu
  check_square_system(a@Dim, call)
  there <- right_side_beside(b, a, call)
  tol <- as_number(tol %||% tolerance_of(a), "tol", call)
  if (f$singular > 0L) {
    raise("singular", "", list(index = f$singular), call, "solve")
  }
  if (tol > 0) {
    rcond <- unwrap(native_resident_lu_rcond(a@pointer, f$norm1, how_there(call)), call)$rcond
    if (is_ill_conditioned_resident(rcond, tol, a, call)) {
      raise("singular", "", list(rcond = rcond), call, "solve")
    }
  }
  handle <- .External(new_handle)
  unwrap(native_resident_lu_solve(a@pointer, f$ipiv, there, handle, how_there(call)), call)
  name_solution_resident(handle, a, b, f$dimnames %||% list(NULL, NULL), call)
}

determinant_resident <- function(x, logarithm, call) {
  if (x@Dim[[1L]] != x@Dim[[2L]]) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), call)
  }
  if (x@Dim[[1L]] < 1L) {
    return(as_determinant(if (isTRUE(as_flag(logarithm))) 0 else 1, 1L, logarithm))
  }
  f <- lu_resident(x, FALSE, call)
  determinant_of_diagonal(f$diagonal, f$ipiv, f$singular, logarithm, call)
}

# The reciprocal condition number in the 1-norm. Base R's rcond() has it as `norm` "O" and, for
# the transpose, as "I". `...` has base R's later arguments: `triangular`, and `uplo` from R 4.4
# on.
rcond_resident <- function(x, norm, call, ...) {
  norm <- match_norm(norm, call)
  triangular <- isTRUE(as_flag((function(triangular = FALSE, ...) triangular)(...)))
  d <- x@Dim
  if (d[[1L]] != d[[2L]]) {
    if (!all(d)) {
      # As newer versions of R do: others recurse without end.
      return(Inf)
    }
    narrow <- if (d[[1L]] < d[[2L]]) t(x) else x
    return(as_user(
      call, base::rcond(base::qr.R(as_qr(qr_resident(narrow, NULL, call), call)), norm)
    ))
  }
  if (triangular || d[[1L]] == 0L || !is_finite_resident(x, call)) {
    return(as_user(call, base::rcond(as.matrix(x), norm, ...)))
  }
  f <- lu_resident(if (norm == "I") t(x) else x, FALSE, call)
  if (f$singular > 0L) {
    return(0)
  }
  unwrap(native_resident_lu_rcond(f$lu@pointer, f$norm1, how_there(call)), call)$rcond
}

match_norm <- function(norm, call) {
  tryCatch(
    match.arg(norm, c("O", "I", "1")),
    error = function(e) abort_argument("norm", conditionMessage(e), call)
  )
}

#' @rdname gpu_matrix-methods
#' @export
setMethod("rcond", signature("gpu_matrix", "missing"), function(x, norm, ...) {
  rcond_resident(x, "O", sys.call(), ...)
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("rcond", signature("gpu_matrix", "ANY"), function(x, norm, ...) {
  rcond_resident(x, norm, sys.call(), ...)
})

# There is no method for a missing `norm`: norm() in gpu-matrix-sums.R says why.
#' @rdname gpu_matrix-methods
#' @export
setMethod("rcond", signature("ANY", "ANY"), function(x, norm, ...) {
  if (missing(norm)) rcond(x, norm = "O", ...) else base::rcond(x, norm, ...)
})
