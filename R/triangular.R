#' Triangular systems
#'
#' `gpu_backsolve(r, x)` is `backsolve(r, x)`: \eqn{Z} with \eqn{R Z = x}, or \eqn{R^T Z = x}{R'Z = x} with `transpose = TRUE`, for the upper
#' (`upper.tri = TRUE`) or lower triangle \eqn{R} of the leading `k` rows and columns of `r`. `gpu_forwardsolve()` starts from the
#' lower triangle.
#'
#' @section Value:
#' A double matrix with `k` rows and as many columns as `x`, without dimnames, or a vector where `x` is one. The other triangle
#' of `r` and rows of `x` beyond `k` are not read.
#'
#' @section Failure:
#' `cudafactor_error_singular`: a diagonal entry is exactly zero (field `index`). `cudafactor_error_argument`: `k`,
#' `upper.tri` or `transpose` makes no sense for these shapes. `cudafactor_error_type`: an operand is complex or no matrix at all.
#'
#' @section Accuracy:
#' \eqn{|x - R Z| \le k \epsilon |R| |Z|} up to a small constant, tested as a norm.
#' With `precision = "single"` GPUs of compute capability 8.0, 9.0 and 10.0 compute larger systems in double precision and round the
#' solution.
#'
#' @section Device:
#' `"auto"` counts \eqn{k^2} operations for each column of `x`, see [cudafactor-options].
#'
#' @param r,l A numeric matrix that holds the triangle, or a factor on disk, see [tile_matrix_solve], or of [chol_gpus()].
#' @param x The right-hand side, a vector or matrix.
#' @param k How many rows and columns of the triangle to use.
#' @param upper.tri Use the upper triangle? Else the lower.
#' @param transpose Solve with the transpose?
#' @inheritParams gpu_matmult
#' @references BLAS routine of the same work: `dtrsm`.
#'
#' Higham, N. J. (2002) *Accuracy and Stability of Numerical Algorithms*, 2nd edition, chapter 8. SIAM.
#' @seealso [base::backsolve()]
#' @examples
#' r <- gpu_chol(crossprod(matrix(rnorm(20), 5, 4)))
#' z <- gpu_backsolve(r, 1:4)
#' all.equal(drop(r %*% z), 1:4)
#' gpu_forwardsolve(t(r), 1:4)
#' @export
gpu_backsolve <- function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE,
                          device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (is_in_tiles(r)) {
    return(solve_triangle_tiles(r, x, k, upper.tri, transpose, budget(list(device = device), call), "r", call))
  }
  if (is_resident(r) || is_resident(x)) {
    return(solve_triangle_resident(r, x, k, upper.tri, transpose, call))
  }
  if (!(is.double(r) && is.matrix(r))) {
    r <- as_real_matrix(r, call, "base::backsolve()")
  }
  solve_triangle(r, x, k, upper.tri, transpose, device, precision, call)
}

#' @rdname gpu_backsolve
#' @export
gpu_forwardsolve <- function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE,
                             device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (is_in_tiles(l)) {
    return(solve_triangle_tiles(l, x, k, upper.tri, transpose, budget(list(device = device), call), "l", call))
  }
  if (is_resident(l) || is_resident(x)) {
    return(solve_triangle_resident(l, x, k, upper.tri, transpose, call))
  }
  if (!(is.double(l) && is.matrix(l))) {
    l <- as_real_matrix(l, call, "base::forwardsolve()")
  }
  solve_triangle(l, x, k, upper.tri, transpose, device, precision, call)
}

solve_triangle <- function(r, x, k, upper, trans, device, precision, call) {
  is_vector <- is.double(x) && is.null(dim(x)) && !is.object(x)
  stays_matrix <- is.matrix(x)
  if (!(is_vector || is.double(x) && stays_matrix)) {
    x <- as_real_matrix(x, call, "base::backsolve()")
  }
  dr <- dim(r)
  dx <- if (is_vector) c(length(x), 1L) else dim(x)
  k <- check_order(k, dr, dx, call)
  upper <- triangle_flag(upper, "upper.tri", call)
  trans <- triangle_flag(trans, "transpose", call)
  out <- .External(alloc_matrix, k, dx[[2L]])
  reply <- native_backsolve(
    r, dr, k, x, dx, upper, trans, out, how(device, precision, call)
  )
  if (!is.null(reply)) {
    unwrap(reply, call, "backsolve")
  }
  if (stays_matrix) {
    return(out)
  }
  if (dx[[2L]] == 1L) {
    dim(out) <- NULL
    out
  } else {
    drop(out)
  }
}

# The order of the triangle, which a matrix of extents `dr` and a right-hand side of extents `dx` must have.
check_order <- function(k, dr, dx, call) {
  if (!(is.integer(k) && length(k) == 1L)) {
    k <- as_count(k)
  }
  if (is.na(k) || k <= 0L || k > dr[[1L]] || k > dr[[2L]] || k > dx[[1L]]) {
    abort_argument("k", base_text("invalid '%s' argument", "k"), call)
  }
  k
}

triangle_flag <- function(value, argument, call) {
  if (!(isTRUE(value) || isFALSE(value)) && is.na(value <- as_flag(value))) {
    abort_argument(argument, base_text("invalid '%s' argument", argument), call)
  }
  value
}
