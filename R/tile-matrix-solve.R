# What streams through a Cholesky factor in a file: systems, determinant, diagonal of the inverse.

#' Linear systems and variances from a Cholesky factor
#'
#' `chol_solve(r, b)` is \eqn{X} with \eqn{A X = b} for \eqn{A = R^T R}{A = R'R}, given the upper triangular factor \eqn{R}: two triangular systems.
#' `chol2inv_diag(r)` is the diagonal of \eqn{A^{-1}}{A^-1}, which are the variances where \eqn{A} is a matrix of precisions, and what
#' leave-one-out residuals need where it is one of covariances. The factor may be a file that [chol_file()] made, of any size.
#'
#' The tiles of a factor in a file are read while others are computed with, and what is solved for stays in memory: of `chol_solve()` the solution, which R holds; on a GPU, as many
#' of its columns as `gpu_memory` has room for, so that the tiles pass by once for each such part, and all that `host_memory` has room for stay in the host's memory meanwhile.
#' The two systems need each tile twice, but for those that memory keeps between them.
#'
#' Column \eqn{j} of the identity is solved for from row \eqn{j} on, \eqn{A^{-1}_{jj} = \|R^{-T} e_j\|^2}{(A^-1)[j, j] = ||R^-T e_j||^2}, as many
#' columns at once as there is memory for: \eqn{n^3/3} operations in all.
#'
#' @section Value:
#' `chol_solve()`: a double matrix, or a vector where `b` is one. As by [solve()], rows are named by the columns of `r` and columns by those of `b`; a file has no names. Where `r` or `b` is
#' a [gpu_matrix] and `b` is a matrix, a `gpu_matrix`. `chol2inv_diag()`: a vector, `diag(chol2inv(r))`.
#'
#' @section Failure:
#' `cudafactor_error_argument`: the file holds no factor, or one whose making was interrupted; too little memory.
#' `cudafactor_error_dimension`: `b` has another number of rows, or no columns; `r` is not square. `cudafactor_error_singular`: a diagonal entry of `r` is exactly zero (field `index`).
#' `cudafactor_error_type`: an operand is not numeric. `cudafactor_error_file_corrupt`, `cudafactor_error_file_in_use` and others of files: see [tile_matrix].
#' NaN and infinite entries go where the substitution takes them.
#'
#' @section Accuracy:
#' As of [gpu_backsolve()], in the precision of the file; sums of squares are taken in double precision.
#'
#' @section Device:
#' Of a file, `"auto"` is the first GPU for 2048 rows and more, of `chol_solve()` with 64 columns and more: reading takes longer than arithmetic with fewer. A matrix in memory is computed with as by
#' [gpu_backsolve()] and [gpu_chol2inv()], a [gpu_matrix] where it is.
#'
#' @param r The factor: a `tile_matrix` that holds one, an upper triangular matrix, of which the lower triangle is not read, or a [gpu_matrix].
#' @param b The right-hand side, a vector or matrix.
#' @param host_memory,gpu_memory Of a file, bytes of memory for tiles, and of the GPU for the part of the solution that is there, too; of `chol2inv_diag()` for the columns it solves for, too.
#'   As of [chol_file()].
#' @param device As of [chol_file()].
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*, chapters 2.2 and 5.4.2. MIT Press.
#' @seealso [chol_file()], [tile_matrix_solve] for the triangular systems alone and the determinant
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' place <- seq(0, 1, length.out = 300)
#' covariance <- function(i, j) {
#'   exp(-abs(outer(place[i], place[j], "-")) / 0.2) + 0.1 * outer(i, j, "==")
#' }
#' k <- tile_matrix(covariance, file, dim = 300, triangle = TRUE, tile = 64)
#' a <- as.matrix(k)
#' y <- sin(9 * place)
#' r <- chol_file(k)
#'
#' # The weights of a Gaussian process
#' w <- chol_solve(r, y, host_memory = "256KiB")
#' all.equal(w, solve(a, y))
#'
#' # Its residuals where each observation is left out in turn
#' head(w / chol2inv_diag(r))
#' unlink(file)
#'
#' # In memory
#' all.equal(chol_solve(chol(a), y), w)
#' @export
chol_solve <- function(r, b, host_memory = NULL, gpu_memory = NULL, device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(r) || missing(b)) {
    abort_missing(if (missing(r)) "r" else "b", call)
  }
  if (is_tile_matrix(r)) {
    memory <- budget(list(host_memory = host_memory, gpu_memory = gpu_memory, device = device), call)
    return(solve_tiles(r, b, "both", memory, "r", "backsolve", call))
  }
  if (is_resident(r) || is_resident(b)) {
    return(chol_solve_resident(r, b, call))
  }
  r <- as_factor_matrix(r, "base::backsolve()", call)
  n <- dim(r)[[1L]]
  values <- as_right_side(b, n, call)
  columns <- count_right_sides(values, n)
  dim(values) <- c(n, columns)
  where <- how(device, "double", call)
  for (transpose in c(TRUE, FALSE)) {
    out <- .External(alloc_matrix, n, columns)
    unwrap(native_backsolve(r, dim(r), n, values, dim(values), TRUE, transpose, out, where), call, "backsolve")
    values <- out
  }
  if (!is.matrix(b)) {
    dim(values) <- NULL
    names(values) <- dimnames(r)[[2L]]
  } else {
    dimnames(values) <- solution_dimnames(dimnames(r), b)
  }
  values
}

#' @rdname chol_solve
#' @export
chol2inv_diag <- function(r, host_memory = NULL, gpu_memory = NULL, device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(r)) {
    abort_missing("r", call)
  }
  if (is_tile_matrix(r)) {
    memory <- budget(list(host_memory = host_memory, gpu_memory = gpu_memory, device = device), call)
    out <- double(dim(r)[[1L]])
    reply <- native_tiles_inverse_diagonal(.subset2(r, "path"), as.double(dim(r)), out, memory$bytes, memory$how)
    unwrap_factor(reply, "r", call, "chol2inv")
    return(out)
  }
  if (is_resident(r)) {
    check_square_system(r@Dim, call)
    return(diag(chol2inv_resident(r, r@Dim[[1L]], call)))
  }
  r <- as_factor_matrix(r, "base::chol2inv()", call)
  n <- dim(r)[[1L]]
  out <- .External(alloc_matrix, n, n)
  unwrap(native_chol2inv(r, dim(r), n, out, how(device, "double", call)), call, "chol2inv")
  diag(out)
}

# A square matrix in memory that holds a factor.
as_factor_matrix <- function(r, alternative, call) {
  r <- as_real_matrix(r, call, alternative)
  check_square_system(dim(r), call)
  r
}

chol_solve_resident <- function(r, b, call) {
  check_square_system(dim(r), call)
  n <- dim(r)[[1L]]
  check_right_side(if (is.matrix(b)) dim(b) else c(length(b), 1L), n, call)
  names <- dimnames(r)
  half <- solve_triangle_resident(r, if (is.matrix(b)) b else as.matrix(as_double(b, call)), n, TRUE, TRUE, call)
  out <- solve_triangle_resident(r, half, n, TRUE, FALSE, call)
  if (is.matrix(b)) {
    dimnames(out) <- solution_dimnames(names, b)
    return(out)
  }
  values <- as.vector(out)
  names(values) <- names[[2L]]
  values
}

# Memory and device of a call, from arguments of these names, of which others are an error.
budget <- function(arguments, call) {
  known <- c("host_memory", "gpu_memory", "device")
  other <- setdiff(names(arguments) %||% rep("", length(arguments)), known)
  if (length(other)) {
    abort_argument(if (nzchar(other[[1L]])) other[[1L]] else "...",
      sprintf("of a factor on disk the further arguments are %s", paste0("'", known, "'", collapse = ", ")), call)
  }
  bytes <- c(as_bytes(arguments$host_memory, "host_memory", call), as_bytes(arguments$gpu_memory, "gpu_memory", call))
  list(bytes = bytes, how = how(arguments$device %||% getOption("cudafactor.device", "auto"), "double", call))
}

# Rust calls a factor `r`; the user's function may have another name for it.
unwrap_factor <- function(reply, argument, call, routine = NULL) {
  if (identical(reply$err$fields$argument, "r")) {
    reply$err$fields$argument <- argument
  }
  unwrap(reply, call, routine)
}

# The solution with a whole factor on disk, named as by solve().
solve_tiles <- function(r, b, which, memory, argument, routine, call) {
  n <- dim(r)[[1L]]
  check_square_system(dim(r), call)
  values <- as_right_side(b, n, call)
  columns <- count_right_sides(values, n)
  out <- .External(alloc_matrix, n, columns)
  reply <- native_tiles_solve(
    .subset2(r, "path"), as.double(dim(r)), n, which, values, c(n, columns), out, memory$bytes, memory$how
  )
  unwrap_factor(reply, argument, call, routine)
  if (!is.matrix(b)) {
    dim(out) <- NULL
  } else {
    dimnames(out) <- solution_dimnames(NULL, b)
  }
  out
}

# backsolve() and forwardsolve(), of which the factor's argument has this name.
solve_triangle_tiles <- function(r, x, k, upper, trans, memory, argument, call) {
  stays <- is.matrix(x)
  x <- as_real_matrix(x, call, "base::backsolve()")
  k <- check_order(k, dim(r), dim(x), call)
  upper <- triangle_flag(upper, "upper.tri", call)
  trans <- triangle_flag(trans, "transpose", call)
  if (!upper) {
    text <- sprintf(
      "'%s' is an upper triangular factor: 'upper.tri' must be TRUE, and transpose = TRUE solves with its transpose, which is lower triangular", argument
    )
    abort_argument("upper.tri", text, call)
  }
  out <- .External(alloc_matrix, k, dim(x)[[2L]])
  reply <- native_tiles_solve(
    .subset2(r, "path"), as.double(dim(r)), k, if (trans) "forward" else "backward", x, dim(x), out, memory$bytes, memory$how
  )
  unwrap_factor(reply, argument, call, "backsolve")
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
#' @param nrow,ncol Not taken for a matrix, as in [base::diag()].
#' @param names There are none.
#' @param ... Of `solve()` and `backsolve()`: `host_memory`, `gpu_memory` and `device`, as of [chol_solve()]. Else ignored.
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
setMethod("diag", "tile_matrix", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    abort_argument("nrow", base_text("'nrow' or 'ncol' cannot be specified when 'x' is a matrix", domain = "R-base"), call)
  }
  diagonal_on_disk(x, call)
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
