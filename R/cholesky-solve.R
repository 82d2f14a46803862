# What is done with a Cholesky factor, in a file, in memory or on a device: systems, and the
# diagonal of the inverse.

#' Linear systems and variances from a Cholesky factor
#'
#' `chol_solve(r, b)` is \eqn{X} with \eqn{A X = b} for \eqn{A = R^T R}{A = R'R}, given the upper triangular factor \eqn{R}: two triangular systems.
#' `chol2inv_diag(r)` is the diagonal of \eqn{A^{-1}}{A^-1}, which are the variances where \eqn{A} is a matrix of precisions, and what
#' leave-one-out residuals need where it is one of covariances. The factor may be a file that [chol_file()] made, of any size.
#'
#' `r` is the factor, `chol(a)` or what stands for it, and not the matrix \eqn{A} itself. Of a matrix in memory the upper triangle is read and nothing else: a full matrix is taken for the
#' factor that its upper triangle would be, and what is not zero below the diagonal is not noticed. Nor is a lower triangular factor: give `t()` of it.
#'
#' The tiles of a factor in a file are read while others are computed with, and what is solved for stays in memory: of `chol_solve()` the solution, which R holds; on a GPU, as many
#' of its columns as `gpu_memory` has room for, so that the tiles pass by once for each such part, and all that `host_memory` has room for stay in the host's memory meanwhile.
#' The two systems need each tile twice, but for those that memory keeps between them.
#'
#' Column \eqn{j} of the identity is solved for from row \eqn{j} on, \eqn{A^{-1}_{jj} = \|R^{-T} e_j\|^2}{(A^-1)[j, j] = ||R^-T e_j||^2}, as many
#' columns at once as there is memory for: \eqn{n^3/3} operations in all.
#'
#' @section Value:
#' `chol_solve()`: a double matrix, or a vector where `b` is one. As by [solve()], rows are named by the columns of `r` and columns by those of `b`; a file has no names. Where `r` is in memory, either of
#' the two is a [gpu_matrix] and `b` is a matrix, a `gpu_matrix`. Other attributes of `b` are dropped. `chol2inv_diag()`: a vector, `diag(chol2inv(r))`.
#'
#' @section Failure:
#' `cudafactor_error_argument`: the file holds no factor, or one whose making was interrupted; too little memory.
#' `cudafactor_error_dimension`: `b` has another number of rows, or no columns; `r` is not square. `cudafactor_error_singular`: a diagonal entry of `r` is exactly zero (field `index`).
#' `cudafactor_error_type`: an operand is complex, or none that numbers can be made of; `b` is a [lazy_covariance()] or a factor; `r` is text, or a factorization of another kind, such as [qr()].
#' Other text is turned into numbers, NA with the warning `cudafactor_warning_coercion` where it is none, as by [solve()]. `cudafactor_error_file_corrupt`, `cudafactor_error_file_in_use` and others of files: see [tile_matrix].
#' NaN and infinite entries go where the substitution takes them.
#'
#' @section Accuracy:
#' As of [gpu_backsolve()], in the precision of the file; sums of squares are taken in double precision.
#'
#' @section Device:
#' Of a file, `"auto"` is the first GPU for 2048 rows and more, of `chol_solve()` with 64 columns and more: reading takes longer than arithmetic with fewer. A matrix in memory is computed with as by
#' [gpu_backsolve()] and [gpu_chol2inv()], a [gpu_matrix] where it is. So is a factor of [chol_gpus()] by `chol_solve()`, whose value then is a plain matrix or vector;
#' `chol2inv_diag()` brings it to the host first.
#'
#' @param r The factor: a `tile_matrix` that holds one, an upper triangular matrix, of which the lower triangle is not read, a [gpu_matrix], or what [chol_gpus()] made.
#' @param b The right-hand side, a vector or matrix, of package Matrix or on disk, too.
#' @param host_memory,gpu_memory Of a file, bytes of memory for tiles, and of the GPU for the part of the solution that is there, too; of `chol2inv_diag()` for the columns it solves for, too.
#'   As of [chol_file()]. Of other factors they are checked and make no difference.
#' @param device As of [chol_file()]. Checked, and of no effect, where an operand is a [gpu_matrix] or `r` is of [chol_gpus()], which are computed with where they are.
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*, chapters 2.2 and 5.4.2. MIT Press.
#' @seealso [chol_file()], [chol_gpus()], [tile_matrix_solve] for the triangular systems alone and the determinant
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

# A square matrix in memory that holds a factor.
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

# A file's name is not the matrix in it, and other factors and descriptions of a matrix are no
# Cholesky factor.
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

# Objects that a matrix was made into, or can be made of, and that are none.
describes_matrix <- function(x) is_covariance(x) || inherits(x, c("qr", "gpu_qr_factor", "gpu_lu"))

# A right-hand side: of an S4 class, such as those of package Matrix, a plain matrix.
as_side <- function(b, call) {
  if (describes_matrix(b) || is_gpu_factor(b)) {
    abort_type(
      sprintf("'b' must be a vector or a matrix of numbers, not of class \"%s\"", class(b)[[1L]]),
      call
    )
  }
  if (isS4(b) && !is_resident(b)) as_matrix(b, call) else b
}
