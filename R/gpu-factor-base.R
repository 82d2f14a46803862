# Factors that are spread over several GPUs: what they are, their values, and what base R's
# functions do not do with them.

#' Cholesky factors in the memory of several GPUs
#'
#' What is computed with a factor that [chol_gpus()] made, an upper triangular matrix \eqn{R}, where its tiles are: systems, products, its diagonal and its determinant, as base R's functions give them
#' for `as.matrix()` of it. [chol_solve()] is for systems with \eqn{R^T R}{R'R}, and [gpu_backsolve()], [gpu_forwardsolve()], [gpu_matmult()], [gpu_crossprod()], [gpu_tcrossprod()] and
#' [gpu_determinant()] take such a factor too.
#'
#' What is solved for or multiplied is in the host's memory and goes to the tiles, block by block, and back. `chol_solve()` goes through the rows of tiles down and up: for each column of `b`,
#' \eqn{2n^2} operations, and \eqn{n^2/t} numbers each way for tiles of order \eqn{t}. `backsolve()`, `solve()` and products are half of that.
#'
#' `solve(r, b)` is \eqn{X} with \eqn{R X = b}, as of any triangular matrix, without base R's estimate of the condition. `backsolve(r, b, transpose = TRUE)` is
#' \eqn{R^{-T} b}{(R')^-1 b}, of which the variance of a prediction is made. `crossprod(r, z)` of independent standard normal numbers `z` is a sample from the normal distribution with covariance
#' \eqn{R^T R}{R'R}.
#'
#' @section What fetches the whole factor:
#' `as.matrix()`, `as.array()`, `chol2inv()`, [gpu_chol2inv()], [chol2inv_diag()], [as_gpu()], [gpu_solve()], [gpu_qr()] and [gpu_lu()], and functions of base R that take `as.matrix()` of their argument,
#' such as `svd()`, `eigen()`, `qr()`, `kappa()` and `apply()`: for large orders the host's memory may not hold it.
#'
#' @section What there is not:
#' Subscripts, `head()`, arithmetic, sums and norms, `cbind()`, `t()` and others are the error `cudafactor_error_type`, which names `as.matrix()`. Nothing can be changed, not
#' a part, not the dimnames. `chol()`, [gpu_chol()] and [chol_gpus()] do not factor a factor again. `as.list()`, `unlist()`, `lapply()` and `for` see the list of [chol_gpus()]:
#' base R lets no class say otherwise.
#'
#' In packages and scripts that do not attach this package, what [gpu_matrix] says of base R's functions that are no generics holds for a factor, too: `diag()` is one.
#'
#' @section Copies and files:
#' A copy of the object is the same factor: `gpu_free(r)` of one frees the memory of all, and using another is the error `cudafactor_error_stale`.
#' What R saves of it is its description, as of a [gpu_matrix], and [gpu_save()] does not take one: save `as.matrix()` of it, or have [chol_file()] make the factor in a file. `print()`
#' of one without its values says so.
#'
#' @section Value:
#' `as.matrix()`: the factor as `chol(x)` gives it, with its dimnames and exact zeros below the diagonal. `determinant()`: that of \eqn{R}, of class `"det"`;
#' the logarithm of that of `x` is twice as large. `diag()`: its diagonal, named where rows and columns share their names. `solve()`, `backsolve()`, `forwardsolve()` and products: plain matrices or vectors, named as by
#' base R, where an operand is a [gpu_matrix], too. `dim()` and `dimnames()`: of the matrix. `print()`: one line.
#'
#' @section Failure:
#' `cudafactor_error_stale`: what is needed of the factor is not in this session, or was given back. `cudafactor_error_argument`: a part is to be changed; it is to be factored again; both operands of a product are factors;
#' `upper.tri = FALSE`; `k`. Other errors as of [chol_solve()], [gpu_matmult()] and [gpu_backsolve()].
#'
#' @section Accuracy:
#' As of [gpu_backsolve()] and [gpu_matmult()] in double precision.
#'
#' @param x,a,r,l,object A factor that [chol_gpus()] made; of `backsolve()` and `forwardsolve()` `x` is the right-hand side, a vector or matrix.
#' @param b The right-hand side, a vector or matrix.
#' @param k,upper.tri,transpose As of [base::backsolve()]; `upper.tri` must be `TRUE`.
#' @param logarithm Return the logarithm of the modulus?
#' @param nrow,ncol An error for a matrix, as in [base::diag()].
#' @param names Whether the diagonal gets the names that rows and columns share.
#' @param value Whatever it is: nothing can be assigned, which is an error.
#' @param ... Of `solve()` and `backsolve()`: `host_memory`, `gpu_memory` and `device`, which are checked and make no difference. Of `chol2inv()`: `size`. Else ignored.
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
#' @aliases %*%,gpu_factor,gpu_matrix-method %*%,gpu_matrix,gpu_factor-method %*%,gpu_factor,tile_matrix-method %*%,tile_matrix,gpu_factor-method
#' @aliases crossprod,gpu_factor,ANY-method crossprod,ANY,gpu_factor-method crossprod,gpu_factor,gpu_factor-method
#' @aliases crossprod,gpu_factor,gpu_matrix-method crossprod,gpu_matrix,gpu_factor-method
#' @aliases crossprod,gpu_factor,tile_matrix-method crossprod,tile_matrix,gpu_factor-method
#' @aliases tcrossprod,gpu_factor,ANY-method tcrossprod,ANY,gpu_factor-method tcrossprod,gpu_factor,gpu_factor-method
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

# Why the values are not in this session, NULL where they are. The tiles come and go together.
why_stale <- function(r) native_held_info(r$tiles[[1L]]@pointer)$err$fields$reason

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
    tiles, function(t) unwrap(native_held_diagonal(t@pointer, how_there(call)), call)$values
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
