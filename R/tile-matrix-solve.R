# Base R's functions for a Cholesky factor in a file: triangular systems, determinant, diagonal.

# Memory and device of a call, from a list of arguments. Other arguments are an error.
budget <- function(arguments, call) {
  known <- c("host_memory", "gpu_memory", "device")
  other <- setdiff(names(arguments) %||% rep("", length(arguments)), known)
  if (length(other)) {
    name <- if (nzchar(other[[1L]])) other[[1L]] else "..."
    text <- "further arguments for a factor in tiles must be %s, not %s"
    found <- if (name == "...") "one without a name" else sprintf("'%s'", name)
    allowed <- paste0("'", known, "'", collapse = ", ")
    abort_argument(name, sprintf(text, allowed, found), call)
  }
  bytes <- vapply(known[1:2], function(name) as_bytes(arguments[[name]], name, call), 0)
  device <- arguments$device %||% getOption("cudafactor.device", "auto")
  list(bytes = unname(bytes), how = how(device, "double", call))
}

# Rust names a factor `r` and a matrix `x`; the user's function may have other names for them.
unwrap_named <- function(reply, arguments, call, routine = NULL) {
  argument <- reply$err$fields$argument
  if (isTRUE(argument %in% names(arguments))) {
    reply$err$fields$argument <- arguments[[argument]]
  }
  unwrap(reply, call, routine)
}

unwrap_factor <- function(reply, argument, call, routine = NULL) {
  unwrap_named(reply, c(r = argument), call, routine)
}

# The solution with a whole factor on disk or over several GPUs, with the names of solve().
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
      .subset2(r, "path"), as.double(dim(r)), n, which, values, c(n, columns), out,
      memory$bytes, memory$how
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

# backsolve() and forwardsolve(); `argument` is the name of the factor's argument.
solve_triangle_tiles <- function(r, x, k, upper, trans, memory, argument, call) {
  stays <- is.matrix(x)
  x <- as_real_matrix(x, call, "as.matrix() of the factor")
  k <- check_order(k, dim(r), dim(x), call)
  upper <- triangle_flag(upper, "upper.tri", call)
  trans <- triangle_flag(trans, "transpose", call)
  if (!upper) {
    text <- paste(
      "'upper.tri' must be TRUE, since '%s' is an upper triangular factor:",
      "for its transpose use backsolve(r, b, transpose = TRUE)"
    )
    abort_argument("upper.tri", sprintf(text, argument), call)
  }
  # Wrong limits of memory are errors for a factor over GPUs too, which does not use them.
  force(memory)
  which <- if (trans) "forward" else "backward"
  if (is_gpu_factor(r)) {
    out <- solve_spread(r, k, x[seq_len(k), ], dim(x)[[2L]], which, call)
  } else {
    out <- .External(alloc_matrix, k, dim(x)[[2L]])
    reply <- native_tiles_solve(
      .subset2(r, "path"), as.double(dim(r)), k, which, x, dim(x), out, memory$bytes, memory$how
    )
    unwrap_factor(reply, argument, call, "backsolve")
  }
  if (stays) out else drop(out)
}

#' Linear algebra on a Cholesky factor on disk
#'
#' These methods of base R's functions work on a factor that [chol_file()] has left in a file, an
#' upper triangular matrix \eqn{R}. Each result is the one base R gives for `as.matrix()` of it.
#'
#' - `solve(r, b)` solves \eqn{R X = b}, and without `b` inverts \eqn{R} in memory. Unlike base R's
#'   it does not estimate the condition of `r`. [chol_solve()] solves \eqn{R^T R X = b}{R'R X = b}.
#' - `backsolve(r, b)` solves the same system for the leading `k` rows and columns, and with
#'   `transpose = TRUE` for \eqn{R^T}{R'}. `forwardsolve()` needs `upper.tri = TRUE`, since the
#'   factor has no lower triangle. [gpu_backsolve()] and [gpu_forwardsolve()] accept such a factor
#'   too. The precision is that of the file.
#' - `determinant(r)` is that of \eqn{R}; the logarithm for \eqn{R^T R}{R'R} is twice as large. It
#'   reads only the tiles on the diagonal, and so does `diag(x)` of a factor or a matrix.
#' - `chol2inv(r)` returns \eqn{(R^T R)^{-1}}{(R'R)^-1} as [gpu_chol2inv()] does. The whole factor
#'   and the inverse are in memory. [chol2inv_diag()] computes the diagonal without that.
#'
#' @return The values of base R's functions. The solution for a vector is a vector. For a
#'   `gpu_matrix` on the right-hand side the solution is an ordinary matrix.
#'
#' @section Errors: `cudafactor_error_argument`: the file holds a matrix that is not factored, or an
#' incomplete factorization; `upper.tri` is `FALSE`; or `k` exceeds a dimension. Other errors are
#' those of [chol_solve()].
#'
#' @param a,r,l,x A `tile_matrix` that holds a factor. For `backsolve()` and `forwardsolve()`, `x`
#'   is the right-hand side, a vector or matrix.
#' @param b The right-hand side, a numeric vector or matrix.
#' @param k,upper.tri,transpose As in [base::backsolve()]. `upper.tri` must be `TRUE`.
#' @param logarithm As in [base::determinant()].
#' @param nrow,ncol An error for a matrix, as in [base::diag()].
#' @param names As in [base::diag()].
#' @param ... For `solve()` and `backsolve()`: `host_memory`, `gpu_memory` and `device`, as in
#'   [chol_solve()]. For `chol2inv()`: `size`. Other methods ignore it.
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
determinant.tile_matrix <- function(x, logarithm = TRUE, ...) {
  determinant_tiles(x, logarithm, sys.call())
}

determinant_tiles <- function(x, logarithm, call) {
  if (dim(x)[[1L]] != dim(x)[[2L]]) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), call)
  }
  out <- double(dim(x)[[1L]])
  reply <- native_tiles_factor_diagonal(.subset2(x, "path"), as.double(dim(x)), out)
  unwrap_factor(reply, "x", call)
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
setMethod("chol2inv", "tile_matrix", function(x, ...) {
  gpu_chol2inv(factor_read(x, sys.call()), ...)
})

# The factor in memory. Its diagonal is read first, which is an error if the file holds no factor.
factor_read <- function(x, call) {
  check_square_system(dim(x), call, "x")
  diagonal <- double(dim(x)[[1L]])
  reply <- native_tiles_factor_diagonal(.subset2(x, "path"), as.double(dim(x)), diagonal)
  unwrap_factor(reply, "x", call)
  read_tiles(x, NULL, NULL, call)
}

#' @rdname tile_matrix_solve
#' @export
setMethod("diag", "tile_matrix", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    text <- "'nrow' or 'ncol' cannot be specified when 'x' is a matrix"
    abort_argument("nrow", base_text(text, domain = "R-base"), call)
  }
  out <- diagonal_on_disk(x, call)
  of <- if (isTRUE(as_flag(names))) lapply(names_on_disk(x, call), utils::head, length(out))
  if (length(of) == 2L && !is.null(of[[1L]]) && identical(of[[1L]], of[[2L]])) {
    names(out) <- of[[1L]]
  }
  out
})

# The diagonal of a factor or a matrix. Only the tiles on it are read.
diagonal_on_disk <- function(x, call) {
  tiles <- tile_ranges(min(dim(x)), .subset2(x, "tile"))[[1L]]
  parts <- Map(function(from, to) {
    part <- read_tiles(x, from:to, from:to, call)
    part[seq.int(1L, length(part), by = nrow(part) + 1L)]
  }, tiles$from, tiles$to)
  as.double(unlist(parts))
}
