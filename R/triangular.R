#' Triangular systems
#'
#' `gpu_backsolve(r, x)` computes `backsolve(r, x)`: the solution \eqn{Z} of \eqn{R Z = x}, or of
#' \eqn{R^T Z = x}{R'Z = x} with `transpose = TRUE`. \eqn{R} is the upper triangle of the leading
#' `k` rows and columns of `r`, or with `upper.tri = FALSE` the lower one. `gpu_forwardsolve(l, x)`
#' uses the lower triangle by default.
#'
#' @return A double matrix without dimnames, with `k` rows and as many columns as `x`. It is a
#'   vector if `x` is a vector. The other triangle of `r`, and rows of `x` beyond `k`, are not read.
#'
#' @section Errors:
#' - `cudafactor_error_singular` (field `index`): a diagonal entry is exactly zero.
#' - `cudafactor_error_argument`: `k` exceeds a dimension, or `upper.tri` or `transpose` is neither
#'   `TRUE` nor `FALSE`.
#' - `cudafactor_error_type`: an operand is complex, or is not a matrix.
#'
#' @section Accuracy: \eqn{|x - R Z| \le k \epsilon |R| |Z|} holds up to a small constant, and is
#' tested as a norm. With `precision = "single"`, GPUs of compute capability 8.0, 9.0 and 10.0
#' compute larger systems in double precision and round the solution.
#'
#' @section Device:
#' `"auto"` counts \eqn{k^2} operations for each column of `x`, see [cudafactor-options].
#'
#' @param r,l A numeric matrix that holds the triangle, a [gpu_matrix], a factor on disk (see
#'   [tile_matrix_solve]), or a factor by [chol_gpus()].
#' @param x The right-hand side, a numeric vector or matrix with at least `k` rows.
#' @param k Number of rows and columns of the triangle to use, a whole number. The default is all
#'   columns.
#' @param upper.tri `TRUE` uses the upper triangle, `FALSE` the lower one.
#' @param transpose `TRUE` solves with the transposed triangle. The default is `FALSE`.
#' @inheritParams gpu_matmult
#' @references BLAS routine of the same work: `dtrsm`.
#'
#' Higham, N. J. (2002) *Accuracy and Stability of Numerical Algorithms*, 2nd edition, chapter 8.
#' SIAM.
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
    memory <- budget(list(device = device), call)
    return(solve_triangle_tiles(r, x, k, upper.tri, transpose, memory, "r", call))
  }
  if (is_resident(r) || is_resident(x)) {
    return(solve_triangle_resident(r, x, k, upper.tri, transpose, call))
  }
  if (!(is.double(r) && is.matrix(r))) {
    r <- as_real_matrix(r, call, "base::solve()")
  }
  solve_triangle(r, x, k, upper.tri, transpose, device, precision, call)
}

#' @rdname gpu_backsolve
#' @export
gpu_forwardsolve <- function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE,
                             device = getOption("cudafactor.device", "auto"),
                             precision = "double") {
  call <- sys.call()
  if (is_in_tiles(l)) {
    memory <- budget(list(device = device), call)
    return(solve_triangle_tiles(l, x, k, upper.tri, transpose, memory, "l", call))
  }
  if (is_resident(l) || is_resident(x)) {
    return(solve_triangle_resident(l, x, k, upper.tri, transpose, call))
  }
  if (!(is.double(l) && is.matrix(l))) {
    l <- as_real_matrix(l, call, "base::solve()")
  }
  solve_triangle(l, x, k, upper.tri, transpose, device, precision, call)
}

solve_triangle <- function(r, x, k, upper, trans, device, precision, call) {
  is_vector <- is.double(x) && is.null(dim(x)) && !is.object(x)
  stays_matrix <- is.matrix(x)
  if (!(is_vector || is.double(x) && stays_matrix)) {
    x <- as_real_matrix(x, call, "base::solve()")
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

# `k` as the order of a triangle in a matrix of dimensions `dr`, for a right-hand side of
# dimensions `dx`.
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
