# Base R's functions of a Cholesky factor in a file: triangular systems, determinant, diagonal.

# Memory and device of a call, from arguments of these names, of which others are an error.
budget <- function(arguments, call) {
  known <- c("host_memory", "gpu_memory", "device")
  other <- setdiff(names(arguments) %||% rep("", length(arguments)), known)
  if (length(other)) {
    abort_argument(if (nzchar(other[[1L]])) other[[1L]] else "...",
      sprintf("of a factor in tiles the further arguments are %s", paste0("'", known, "'", collapse = ", ")), call)
  }
  bytes <- c(as_bytes(arguments$host_memory, "host_memory", call), as_bytes(arguments$gpu_memory, "gpu_memory", call))
  list(bytes = bytes, how = how(arguments$device %||% getOption("cudafactor.device", "auto"), "double", call))
}

# Rust calls a factor `r` and a matrix `x`; the user's function may have other names for them.
unwrap_named <- function(reply, arguments, call, routine = NULL) {
  argument <- reply$err$fields$argument
  if (isTRUE(argument %in% names(arguments))) {
    reply$err$fields$argument <- arguments[[argument]]
  }
  unwrap(reply, call, routine)
}

unwrap_factor <- function(reply, argument, call, routine = NULL) unwrap_named(reply, c(r = argument), call, routine)

# The solution with a whole factor on disk or over several GPUs, named as by solve().
solve_tiles <- function(r, b, which, memory, argument, routine, call) {
  n <- dim(r)[[1L]]
  check_square_system(dim(r), call, argument)
  values <- as_right_side(b, n, call, argument, "as.matrix() of the factor")
  columns <- count_right_sides(values, n)
  if (is_gpu_factor(r)) {
    out <- solve_spread(r, n, values, columns, which, call)
  } else {
    out <- .External(alloc_matrix, n, columns)
    reply <- native_tiles_solve(
      .subset2(r, "path"), as.double(dim(r)), n, which, values, c(n, columns), out, memory$bytes, memory$how
    )
    unwrap_factor(reply, argument, call, routine)
  }
  if (!is.matrix(b)) {
    dim(out) <- NULL
    names(out) <- dimnames(r)[[2L]]
  } else {
    dimnames(out) <- solution_dimnames(dimnames(r), b)
  }
  out
}

# backsolve() and forwardsolve(), of which the factor's argument has this name.
solve_triangle_tiles <- function(r, x, k, upper, trans, memory, argument, call) {
  stays <- is.matrix(x)
  x <- as_real_matrix(x, call, "as.matrix() of the factor")
  k <- check_order(k, dim(r), dim(x), call)
  upper <- triangle_flag(upper, "upper.tri", call)
  trans <- triangle_flag(trans, "transpose", call)
  if (!upper) {
    text <- sprintf(
      "'%s' is an upper triangular factor: 'upper.tri' must be TRUE, and backsolve(r, b, transpose = TRUE) solves with its transpose, which is lower triangular", argument
    )
    abort_argument("upper.tri", text, call)
  }
  # Arguments that are wrong are wrong for a factor that needs no such memory, too.
  force(memory)
  which <- if (trans) "forward" else "backward"
  if (is_gpu_factor(r)) {
    out <- solve_spread(r, k, x[seq_len(k), ], dim(x)[[2L]], which, call)
  } else {
    out <- .External(alloc_matrix, k, dim(x)[[2L]])
    reply <- native_tiles_solve(.subset2(r, "path"), as.double(dim(r)), k, which, x, dim(x), out, memory$bytes, memory$how)
    unwrap_factor(reply, argument, call, "backsolve")
  }
  if (stays) out else drop(out)
}

#' Linear algebra on a Cholesky factor on disk
#'
#' Methods of base R's functions for a factor that [chol_file()] has left in a file, without bringing it into memory: each is what base R gives for
#' `as.matrix()` of it, an upper triangular matrix \eqn{R}.
#'
#' `solve(r, b)` is \eqn{X} with \eqn{R X = b}, as of any triangular matrix; [chol_solve()] is that with \eqn{R^T R X = b}{R'R X = b}. Unlike base R's it does not estimate
#' the condition of `r`. Without `b` it is the inverse of \eqn{R}, which is in memory.
#' `backsolve(r, b)` is the same, of the leading `k` rows and columns; `transpose = TRUE` solves with \eqn{R^T}{R'}. `forwardsolve()` wants `upper.tri = TRUE`, since
#' there is no lower triangle. [gpu_backsolve()] and [gpu_forwardsolve()] take such a factor too; the precision is that of the file.
#'
#' `determinant(r)` is that of \eqn{R}: of \eqn{R^T R}{R'R} the logarithm is twice as much. It reads the tiles on the diagonal alone, and so does `diag(x)`, of a factor or of a matrix.
#'
#' `chol2inv(r)` is \eqn{(R^T R)^{-1}}{(R'R)^-1}, as [gpu_chol2inv()] gives it: the whole factor is read for it, and the inverse is in memory. [chol2inv_diag()] is its diagonal without that.
#'
#' @section Value:
#' As of base R's functions. A right-hand side that is a vector gives a vector. A `gpu_matrix` on the right-hand side is fetched, and the solution is a plain matrix.
#'
#' @section Failure:
#' `cudafactor_error_argument`: the file holds a matrix, which [chol_file()] has not factored, or a factorization that is not complete; `upper.tri = FALSE`; `k`.
#' Others as of [chol_solve()].
#'
#' @param a,r,l,x A `tile_matrix` that holds a factor; of `backsolve()` and `forwardsolve()` `x`, as `b`, is the right-hand side, a vector or matrix.
#' @param b The right-hand side.
#' @param k,upper.tri,transpose As of [base::backsolve()]; `upper.tri` must be `TRUE`.
#' @param logarithm As of [base::determinant()].
#' @param nrow,ncol An error for a matrix, as in [base::diag()].
#' @param names As of [base::diag()].
#' @param ... Of `solve()` and `backsolve()`: `host_memory`, `gpu_memory` and `device`, as of [chol_solve()]. Of `chol2inv()`: `size`. Else ignored.
#' @seealso [chol_solve()], [chol_file()]
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' a <- crossprod(matrix(rnorm(600), 30)) + diag(20)
#' r <- chol_file(tile_matrix(a, file, triangle = TRUE, tile = 8))
#'
#' # The log-density of a normal distribution
#' y <- rnorm(20)
#' z <- backsolve(r, y, transpose = TRUE)
#' -sum(z^2) / 2 - c(determinant(r)$modulus) - 10 * log(2 * pi)
#'
#' all.equal(solve(r, y), backsolve(chol(a), y))
#' all.equal(diag(r), diag(chol(a)))
#' unlink(file)
#' @aliases solve,ANY,tile_matrix-method
#' @name tile_matrix_solve
NULL

#' @rdname tile_matrix_solve
#' @method solve tile_matrix
#' @export
solve.tile_matrix <- function(a, b, ...) {
  call <- sys.call()
  memory <- budget(list(...), call)
  if (missing(b)) {
    b <- diag(dim(a)[[1L]])
  }
  b <- as_side(b, call)
  solve_tiles(a, b, "backward", memory, "a", "solve", call)
}

#' @rdname tile_matrix_solve
#' @export
determinant.tile_matrix <- function(x, logarithm = TRUE, ...) determinant_tiles(x, logarithm, sys.call())

determinant_tiles <- function(x, logarithm, call) {
  if (dim(x)[[1L]] != dim(x)[[2L]]) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), call)
  }
  out <- double(dim(x)[[1L]])
  unwrap_factor(native_tiles_factor_diagonal(.subset2(x, "path"), as.double(dim(x)), out), "x", call)
  determinant_of_diagonal(out, seq_along(out), match(0, out, 0L), logarithm, call)
}

#' @rdname tile_matrix_solve
#' @export
setMethod("backsolve", signature("tile_matrix", "ANY"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    call <- sys.call()
    solve_triangle_tiles(r, x, k, upper.tri, transpose, budget(list(...), call), "r", call)
  }
)

#' @rdname tile_matrix_solve
#' @export
setMethod("backsolve", signature("tile_matrix", "gpu_matrix"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    call <- sys.call()
    solve_triangle_tiles(r, x, k, upper.tri, transpose, budget(list(...), call), "r", call)
  }
)

#' @rdname tile_matrix_solve
#' @export
setMethod("forwardsolve", signature("tile_matrix", "ANY"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    call <- sys.call()
    solve_triangle_tiles(l, x, k, upper.tri, transpose, budget(list(), call), "l", call)
  }
)

#' @rdname tile_matrix_solve
#' @export
setMethod("forwardsolve", signature("tile_matrix", "gpu_matrix"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    call <- sys.call()
    solve_triangle_tiles(l, x, k, upper.tri, transpose, budget(list(), call), "l", call)
  }
)

#' @rdname tile_matrix_solve
#' @export
setMethod("chol2inv", "tile_matrix", function(x, ...) gpu_chol2inv(factor_read(x, sys.call()), ...))

# The factor in memory; the tiles on its diagonal, which are read first, tell whether the file holds one.
factor_read <- function(x, call) {
  check_square_system(dim(x), call, "x")
  unwrap_factor(native_tiles_factor_diagonal(.subset2(x, "path"), as.double(dim(x)), double(dim(x)[[1L]])), "x", call)
  read_tiles(x, NULL, NULL, call)
}

#' @rdname tile_matrix_solve
#' @export
setMethod("diag", "tile_matrix", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    abort_argument("nrow", base_text("'nrow' or 'ncol' cannot be specified when 'x' is a matrix", domain = "R-base"), call)
  }
  out <- diagonal_on_disk(x, call)
  of <- if (isTRUE(as_flag(names))) lapply(names_on_disk(x, call), utils::head, length(out))
  if (length(of) == 2L && !is.null(of[[1L]]) && identical(of[[1L]], of[[2L]])) {
    names(out) <- of[[1L]]
  }
  out
})

# Of a factor or a matrix: no more than the tiles on the diagonal are read.
diagonal_on_disk <- function(x, call) {
  tiles <- tile_ranges(min(dim(x)), .subset2(x, "tile"))[[1L]]
  parts <- Map(function(from, to) {
    part <- read_tiles(x, from:to, from:to, call)
    part[seq.int(1L, length(part), by = nrow(part) + 1L)]
  }, tiles$from, tiles$to)
  as.double(unlist(parts))
}
