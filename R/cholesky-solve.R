# Linear systems, and the diagonal of the inverse, from a Cholesky factor on disk, in memory or on
# a device.

#' Linear systems and variances from a Cholesky factor
#'
#' `chol_solve(r, b)` solves \eqn{A X = b} for \eqn{A = R^T R}{A = R'R}, given the upper triangular
#' factor \eqn{R}. `chol2inv_diag(r)` is the diagonal of \eqn{A^{-1}}{A^-1}: the variances if
#' \eqn{A} is a precision matrix, and part of leave-one-out residuals if \eqn{A} is a covariance
#' matrix. The factor may be a file of any size that [chol_file()] made.
#'
#' `r` is the factor, such as `chol(a)`, and not the matrix \eqn{A}. Only its upper triangle is
#' read, so a full matrix or a lower factor is not detected. For a lower factor use `t(r)`.
#'
#' For a factor on disk, tiles are read while others are used. The solution is in host memory. On a
#' GPU, as many of its columns are solved for together as `gpu_memory` allows, and the tiles are
#' read once for each such part. Each tile is needed twice, unless it stays in memory between the
#' two systems.
#'
#' `chol2inv_diag()` solves for columns of the identity,
#' \eqn{A^{-1}_{jj} = \|R^{-T} e_j\|^2}{(A^-1)[j, j] = ||R^-T e_j||^2}, as many at once as memory
#' allows: \eqn{n^3/3} operations in all.
#'
#' @section Errors:
#' * `cudafactor_error_argument`: the file does not hold a complete factor, or there is too little
#'   memory.
#' * `cudafactor_error_dimension`: `b` has the wrong number of rows or no columns, or `r` is not
#'   square.
#' * `cudafactor_error_singular`: a diagonal entry of `r` is exactly zero (field `index`).
#' * `cudafactor_error_type`: an operand is complex or cannot be converted to numbers; `b` is a
#'   factorization or a [lazy_covariance()]; `r` is text, or another factorization such as [qr()].
#' * `cudafactor_error_file_corrupt`, `cudafactor_error_file_in_use` and others of files: see
#'   [tile_matrix].
#'
#' Text in `b` is converted to numbers, as by [solve()], with NA and the warning
#' `cudafactor_warning_coercion` if it is not a number. NaN and infinite entries are no errors.
#'
#' @section Accuracy:
#' As for [gpu_backsolve()], in the precision of the file. Sums of squares are taken in double
#' precision.
#'
#' @section Device:
#' For a file, `"auto"` is the first GPU, if it should be faster, for 2048 rows or more, and for
#' `chol_solve()` 64 columns or more. With fewer columns reading takes longer than arithmetic. A
#' matrix in memory is treated as by [gpu_backsolve()] and [gpu_chol2inv()]. A [gpu_matrix] is used
#' on its own device, and so is a factor of [chol_gpus()] by `chol_solve()`. `chol2inv_diag()`
#' copies such a factor to the host first.
#'
#' @param r The factor: an upper triangular matrix, a [gpu_matrix], a `tile_matrix` that holds a
#'   factor, or the result of [chol_gpus()].
#' @param b The right-hand side: a vector of length \eqn{n} or a matrix with \eqn{n} rows, which may
#'   be a [gpu_matrix], of package Matrix, or on disk.
#' @param host_memory,gpu_memory For a factor on disk, limits for tiles and, on the GPU or for
#'   `chol2inv_diag()`, for columns that are solved for: bytes or text, see [chol_file()]. For other
#'   factors they have no effect.
#' @param device `"auto"`, `"cpu"`, `"cuda"` or `"cuda:1"` and so on, see [chol_file()]. It has no
#'   effect if an operand is on a device already.
#' @return `chol_solve()`: a double matrix, or a vector if `b` is one. If `r` is in memory, `b` is a
#' matrix and one of them is a [gpu_matrix], a `gpu_matrix`. As by [solve()], rows are named by the
#' columns of `r` and columns by those of `b`; a file has no names. Other attributes of `b` are
#' dropped. For a factor of [chol_gpus()] the result is an ordinary matrix or vector.
#'
#' `chol2inv_diag()`: a vector, `diag(chol2inv(r))`.
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine
#' Learning*, chapters 2.2 and 5.4.2. MIT Press.
#' @seealso [chol_file()], [chol_gpus()], [tile_matrix_solve] for triangular systems and the
#' determinant
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' place <- seq(0, 1, length.out = 300)
#' kernel <- function(i, j) {
#'   exp(-abs(outer(place[i], place[j], "-")) / 0.2) + 0.1 * outer(i, j, "==")
#' }
#' k <- tile_matrix(kernel, file, dim = 300, triangle = TRUE, tile = 64)
#' a <- as.matrix(k)
#' y <- sin(9 * place)
#' r <- chol_file(k)
#'
#' # The weights of a Gaussian process
#' w <- chol_solve(r, y, host_memory = "256KiB")
#' all.equal(w, solve(a, y))
#'
#' # Leave-one-out residuals
#' head(w / chol2inv_diag(r))
#' unlink(file)
#'
#' # In memory
#' all.equal(chol_solve(chol(a), y), w)
#' @export
chol_solve <- function(r, b, host_memory = NULL, gpu_memory = NULL,
                       device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(r) || missing(b)) {
    abort_missing(if (missing(r)) "r" else "b", call)
  }
  memory <- budget(list(host_memory = host_memory, gpu_memory = gpu_memory, device = device), call)
  b <- as_side(b, call)
  if (is_in_tiles(r)) {
    return(solve_tiles(r, b, "both", memory, "r", "backsolve", call))
  }
  refuse_no_factor(r, call)
  if (is_resident(r) || is_resident(b)) {
    return(chol_solve_resident(r, b, call))
  }
  r <- as_factor_matrix(r, "base::backsolve()", call)
  n <- dim(r)[[1L]]
  values <- as_right_side(b, n, call, "r")
  columns <- count_right_sides(values, n)
  dim(values) <- c(n, columns)
  for (transpose in c(TRUE, FALSE)) {
    out <- .External(alloc_matrix, n, columns)
    unwrap(
      native_backsolve(r, dim(r), n, values, dim(values), TRUE, transpose, out, memory$how), call,
      "backsolve"
    )
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
chol2inv_diag <- function(r, host_memory = NULL, gpu_memory = NULL,
                          device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(r)) {
    abort_missing("r", call)
  }
  memory <- budget(list(host_memory = host_memory, gpu_memory = gpu_memory, device = device), call)
  if (is_tile_matrix(r)) {
    out <- double(dim(r)[[1L]])
    reply <- native_tiles_inverse_diagonal(
      .subset2(r, "path"), as.double(dim(r)), out, memory$bytes, memory$how
    )
    unwrap_factor(reply, "r", call, "chol2inv")
    return(out)
  }
  refuse_no_factor(r, call)
  if (is_gpu_factor(r)) {
    r <- gathered(r, call)
  }
  if (is_resident(r)) {
    check_square_system(r@Dim, call, "r")
    return(diag(chol2inv_resident(r, r@Dim[[1L]], call)))
  }
  r <- as_factor_matrix(r, "base::chol2inv()", call)
  n <- dim(r)[[1L]]
  out <- .External(alloc_matrix, n, n)
  unwrap(native_chol2inv(r, dim(r), n, out, memory$how), call, "chol2inv")
  diag(out)
}

# The factor as a square ordinary matrix.
as_factor_matrix <- function(r, alternative, call) {
  check_numbers(r, "r", "a Cholesky factor", call)
  r <- as_real_matrix(r, call, alternative)
  check_square_system(dim(r), call, "r")
  r
}

chol_solve_resident <- function(r, b, call) {
  check_square_system(dim(r), call, "r")
  n <- dim(r)[[1L]]
  check_right_side(if (is.matrix(b)) dim(b) else c(length(b), 1L), n, call, "r")
  names <- dimnames(r)
  half <- solve_triangle_resident(
    r, if (is.matrix(b)) b else as.matrix(as_double(b, call)), n, TRUE, TRUE, call
  )
  out <- solve_triangle_resident(r, half, n, TRUE, FALSE, call)
  if (is.matrix(b)) {
    dimnames(out) <- solution_dimnames(names, b)
    return(out)
  }
  values <- as.vector(out)
  names(values) <- names[[2L]]
  values
}

# The error for a file name, and for other factorizations and unevaluated matrices.
refuse_no_factor <- function(r, call) {
  if (is.character(r)) {
    abort_type(
      "'r' must be a Cholesky factor, not text: open a file with open_tile_matrix(r)", call
    )
  }
  if (describes_matrix(r)) {
    abort_type(
      sprintf(
        "'r' must be a Cholesky factor, as chol() gives it, not of class \"%s\"", class(r)[[1L]]
      ),
      call
    )
  }
}

# Is `x` a factorization, or an unevaluated matrix? Both have dimensions but are not operands.
describes_matrix <- function(x) is_covariance(x) || inherits(x, c("qr", "gpu_qr_factor", "gpu_lu"))

# A right-hand side; one of an S4 class, such as those of package Matrix, becomes an ordinary
# matrix.
as_side <- function(b, call) {
  if (describes_matrix(b) || is_gpu_factor(b)) {
    abort_type(
      sprintf("'b' must be a vector or a matrix of numbers, not of class \"%s\"", class(b)[[1L]]),
      call
    )
  }
  if (isS4(b) && !is_resident(b)) as_matrix(b, call) else b
}
