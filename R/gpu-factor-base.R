# Factors spread over several GPUs: their class, their values, and which of base R's functions
# they refuse.

#' Cholesky factors in the memory of several GPUs
#'
#' Base R's functions compute with a factor that [chol_gpus()] made, an upper triangular matrix
#' \eqn{R}, on the devices of its tiles: systems, products, diagonal and determinant. [chol_solve()]
#' solves systems with \eqn{R^T R}{R'R}. [gpu_backsolve()], [gpu_forwardsolve()], [gpu_matmult()],
#' [gpu_crossprod()], [gpu_tcrossprod()] and [gpu_determinant()] accept such a factor.
#'
#' `solve(r, b)` solves \eqn{R X = b} without base R's estimate of the condition.
#' `backsolve(r, b, transpose = TRUE)` is \eqn{R^{-T} b}{(R')^-1 b}, for the variance of a
#' prediction. `crossprod(r, z)` with independent standard normal numbers `z` is a sample from the
#' normal distribution with covariance \eqn{R^T R}{R'R}.
#'
#' Right-hand sides and operands are in host memory. The article *Larger than memory*
#' (`vignettes/articles/larger-than-memory.Rmd` in the sources) counts operations and copies.
#'
#' @section Other functions:
#' `as.matrix()` copies the factor to the host. So do `chol2inv()`, [chol2inv_diag()], [as_gpu()],
#' `svd()`, `qr()`, `apply()` and others. Subscripts, arithmetic, sums, norms, `cbind()`, `t()` and
#' others stop with `cudafactor_error_type`. The article has both lists.
#'
#' @section Copies and files:
#' A copy of the object is the same factor: `gpu_free(r)` releases the memory of all copies, and
#' using one is the error `cudafactor_error_stale`. `saveRDS()` and parallel workers do not copy the
#' values, and [gpu_save()] does not accept a factor. Save `as.matrix()`, or make the factor with
#' [chol_file()].
#'
#' @section Errors:
#' * `cudafactor_error_stale`: the values are not in this session, or were released.
#' * `cudafactor_error_argument`: an assignment; a second factorization; a product of two factors;
#'   `upper.tri = FALSE`; an invalid `k`.
#' * Others as for [chol_solve()], [gpu_matmult()] and [gpu_backsolve()].
#'
#' @section Accuracy:
#' As for [gpu_backsolve()] and [gpu_matmult()] in double precision.
#'
#' @param x,a,r,l,object A factor that [chol_gpus()] made. In `backsolve()` and `forwardsolve()`,
#'   `x` is the right-hand side, a vector or matrix.
#' @param b The right-hand side, a vector or matrix.
#' @param k,upper.tri,transpose As in [base::backsolve()]; `upper.tri` must be `TRUE`.
#' @param logarithm Return the logarithm of the modulus?
#' @param nrow,ncol Must be missing, as for any matrix in [base::diag()].
#' @param names Does the diagonal get the names that rows and columns share?
#' @param value Any value: assignment is always an error.
#' @param ... For `solve()` and `backsolve()`: `host_memory`, `gpu_memory` and `device`, which are
#'   checked but have no effect. For `chol2inv()`: `size`. Otherwise ignored.
#' @return `as.matrix()`: the factor as `chol(x)` gives it, with its dimnames and zeros below the
#' diagonal. `determinant()`: that of \eqn{R}, of class `"det"`; the logarithm for `x` is twice as
#' large. `diag()`: the diagonal, named if rows and columns share their names. `solve()`,
#' `backsolve()`, `forwardsolve()` and products: ordinary matrices or vectors with base R's names,
#' even if an operand is a [gpu_matrix]. `print()` shows one line.
#' @seealso [chol_gpus()], [chol_solve()]
#' @examples
#' a <- crossprod(matrix(rnorm(600), 30)) + diag(20)
#' r <- chol_gpus(a)
#' u <- chol(a)
#' z <- matrix(rnorm(40), 20)
#' all.equal(backsolve(r, z, transpose = TRUE), backsolve(u, z, transpose = TRUE))
#' all.equal(crossprod(r, z), crossprod(u, z))
#' all.equal(sum(log(diag(r))), c(determinant(r)$modulus))
#' gpu_free(r)
#' @name gpu_factor
#' @aliases gpu_factor-class solve,ANY,gpu_factor-method
#' @aliases %*%,gpu_factor,ANY-method %*%,ANY,gpu_factor-method %*%,gpu_factor,gpu_factor-method
#' @aliases %*%,gpu_factor,gpu_matrix-method %*%,gpu_matrix,gpu_factor-method
#' @aliases %*%,gpu_factor,tile_matrix-method %*%,tile_matrix,gpu_factor-method
#' @aliases crossprod,gpu_factor,ANY-method crossprod,ANY,gpu_factor-method
#' @aliases crossprod,gpu_factor,gpu_factor-method
#' @aliases crossprod,gpu_factor,gpu_matrix-method crossprod,gpu_matrix,gpu_factor-method
#' @aliases crossprod,gpu_factor,tile_matrix-method crossprod,tile_matrix,gpu_factor-method
#' @aliases tcrossprod,gpu_factor,ANY-method tcrossprod,ANY,gpu_factor-method
#' @aliases tcrossprod,gpu_factor,gpu_factor-method
#' @aliases tcrossprod,gpu_factor,gpu_matrix-method tcrossprod,gpu_matrix,gpu_factor-method
#' @aliases tcrossprod,gpu_factor,tile_matrix-method tcrossprod,tile_matrix,gpu_factor-method
NULL

#' @export
format.gpu_factor <- function(x, ...) {
  size <- 8 * length(x$tiles) * as.double(x$tile)^2
  gone <- switch(why_stale(x) %||% "here",
    here = "",
    freed = ", released by gpu_free()",
    ", whose values are not in this session"
  )
  sprintf(
    "<gpu_factor> order %d, tiles of %d on %s (%s)%s", x$n, x$tile,
    paste(x$devices, collapse = ", "), format_bytes(size), gone
  )
}

#' @rdname gpu_factor
#' @export
print.gpu_factor <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @rdname gpu_factor
#' @export
setMethod("show", "gpu_factor", function(object) print.gpu_factor(object))

#' @export
str.gpu_factor <- function(object, ...) cat(" ", format(object), "\n", sep = "")

#' @export
dim.gpu_factor <- function(x) c(x$n, x$n)

#' @export
dimnames.gpu_factor <- function(x) x$dimnames

# Why the values are not in this session, or NULL if they are. All tiles share this state.
why_stale <- function(r) native_resident_info(r$tiles[[1L]]@pointer)$err$fields$reason

check_spread <- function(r, call) {
  if (!is.null(reason <- why_stale(r))) {
    abort("stale", stale_factor_text(reason), call, reason = reason)
  }
}

#' @rdname gpu_factor
#' @export
as.matrix.gpu_factor <- function(x, ...) gathered(x, sys.call())

#' @export
as.array.gpu_factor <- function(x, ...) gathered(x, sys.call())

gathered <- function(x, call) {
  check_spread(x, call)
  n <- x$n
  out <- matrix(0, n, n)
  for (j in seq_len(ceiling(n / x$tile))) {
    columns <- tile_span(j, n, x$tile)
    for (i in seq_len(j)) {
      rows <- tile_span(i, n, x$tile)
      block <- fetch(x$tiles[[tile_place(i, j)]], call, c(0, length(rows)), c(0, length(columns)))
      if (i == j) block[lower.tri(block)] <- 0
      out[rows, columns] <- block
    }
  }
  dimnames(out) <- x$dimnames
  out
}

#' @rdname gpu_factor
#' @export
determinant.gpu_factor <- function(x, logarithm = TRUE, ...) {
  determinant_spread(x, logarithm, sys.call())
}

determinant_spread <- function(x, logarithm, call) {
  d <- diagonal_spread(x, call)
  determinant_of_diagonal(d, seq_along(d), match(0, d, 0L), logarithm, call)
}

diagonal_spread <- function(x, call) {
  check_spread(x, call)
  on_diagonal <- seq_len(ceiling(x$n / x$tile))
  tiles <- x$tiles[tile_place(on_diagonal, on_diagonal)]
  unlist(lapply(
    tiles, function(t) unwrap(native_resident_diagonal(t@pointer, how_there(call)), call)$values
  ))[seq_len(x$n)]
}

#' @rdname gpu_factor
#' @export
setMethod("diag", "gpu_factor", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    abort_argument(
      "nrow",
      base_text("'nrow' or 'ncol' cannot be specified when 'x' is a matrix", domain = "R-base"),
      call
    )
  }
  out <- diagonal_spread(x, call)
  if (isTRUE(names) && !is.null(rows <- x$dimnames[[1L]]) && identical(rows, x$dimnames[[2L]])) {
    names(out) <- rows
  }
  out
})

#' @export
t.gpu_factor <- function(x) {
  text <- paste(
    "t() is not available for a factor of chol_gpus(): use crossprod(r, x),",
    "backsolve(r, x, transpose = TRUE) or t(as.matrix(r))"
  )
  abort_type(text, sys.call())
}

#' @rdname gpu_factor
#' @export
setMethod("diag<-", "gpu_factor", function(x, value) abort_change("gpu_factor", sys.call()))
