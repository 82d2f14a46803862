#' Cholesky factorization
#'
#' `gpu_chol(x)` is `chol(x)`: the upper triangular \eqn{R} with positive diagonal and
#' \eqn{R^T R = x}{R'R = x}, for a symmetric positive definite `x`. With `pivot = TRUE` the largest
#' remaining diagonal entry comes first, \eqn{R^T R = P^T x P}{R'R = P'xP}. This also factors
#' semidefinite matrices; see the section Value for a rank below \eqn{n}. Many matrices, in an
#' array or a list, are factored together.
#'
#' @section Batches:
#' For an array `x` of dimensions `c(n, n, b)` the result is an array whose slice `[, , i]` is the
#' factor of `x[, , i]`. For a list of matrices, which may differ in order, it is a list whose
#' element `i` is `gpu_chol(x[[i]])`. Attributes of the array and names of the list are kept. An
#' empty batch gives an empty result.
#'
#' A GPU factors all matrices of one order together, and the CPU shares them among its threads. For
#' many small matrices both are much faster than a loop. A batch has no pivoting. A list with a
#' class or dimensions, such as a data frame, is one matrix, as for [base::chol()]. Use `c()` on the
#' list that [base::by()] returns.
#'
#' @section Errors:
#' * `cudafactor_error_not_positive_definite`: the leading minor of order `order` is not positive.
#'   NaN always counts as not positive; in base R this depends on LAPACK. An infinite pivot is no
#'   error, as in LAPACK, but an infinity above the diagonal makes a later pivot fail.
#' * `cudafactor_error_dimension`: `x` is not square or has no rows.
#' * `cudafactor_error_type`: `x` is complex, on disk, or not a matrix.
#' * `cudafactor_error_argument`: `x` is a factor already, made by [chol_gpus()] or [chol_file()];
#'   or `pivot = TRUE` with a batch or a [gpu_matrix].
#'
#' In a batch the first matrix that is not positive definite stops the call. Elements of a list that
#' are not square matrices are reported before any is factored. The message begins with the matrix,
#' as in `matrix 3 ("c"): `; fields `index` and `name` tell it too.
#'
#' With `pivot = TRUE` a rank below \eqn{n} is the warning `cudafactor_warning_rank_deficient`.
#'
#' @section Accuracy:
#' \eqn{|x - R^T R| \le n \epsilon |R^T| |R|}{|x - R'R| <= n eps |R'| |R|} up to a small constant.
#' Tests bound \eqn{\|x - R^T R\|_1 / (n \epsilon \|x\|_1)}{||x - R'R|| / (n eps ||x||)} on every
#' device, with \eqn{\epsilon} of the `precision`.
#'
#' With `precision = "single"`, GPUs of compute capability 8.0, 9.0 and 10.0 factor a matrix up to
#' order 5120 in double precision and round once. Then `x`, rounded to single precision, must be
#' positive definite in double arithmetic. Larger matrices are halved, and batches are factored in
#' single precision.
#'
#' @section Device:
#' `"auto"` counts \eqn{n^3/3} operations, for all matrices of a batch together: see
#' [cudafactor-options]. In double precision, from order 40000 on, it uses several GPUs that can
#' read each other's memory. If option `cudafactor.devices` names several GPUs, it uses them from
#' order 16384 on.
#'
#' @param x A square numeric matrix, a [gpu_matrix], or an object that `as.matrix()` turns into a
#'   matrix. Only the upper triangle is read. A batch is an array `c(n, n, b)` or a list.
#' @param pivot Should the diagonal be pivoted? `FALSE` by default.
#' @param tol With `pivot = TRUE`, a pivot not above `tol` ends the factorization. A negative value,
#'   the default, means `n * .Machine$double.neg.eps * max(diag(x))`.
#' @param ... No further arguments: any is an error, to catch misspelt names.
#' @inheritParams gpu_matmult
#' @return A double matrix with the attributes of `x` and zeros below the diagonal; a `gpu_matrix`
#' if `x` is one. Entries of `x` below the diagonal, even NaN, have no effect.
#'
#' With `pivot = TRUE` there are also attributes `pivot` and `rank`, the number of pivots above
#' `tol`. Column names are permuted, row names are not. If `rank` is `n`, `crossprod(R)` is
#' `x[pivot, pivot]`. If it is less, set the trailing block to zero first, as in the example: it is
#' left over from the elimination.
#' @references LAPACK routines of the same work: `dpotrf`, `dpstrf`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 4.2. Johns
#' Hopkins.
#'
#' Higham, N. J. (2002) *Accuracy and Stability of Numerical Algorithms*, 2nd edition, chapter 10.
#' SIAM.
#' @seealso [base::chol()], [gpu_chol2inv()], [gpu_backsolve()]; [chol_file()] for matrices larger
#' than memory; [chol_gpus()] for a factor that stays on several GPUs
#' @examples
#' x <- crossprod(matrix(rnorm(20), 5, 4, dimnames = list(NULL, letters[1:4])))
#' r <- gpu_chol(x)
#' all.equal(crossprod(r), x)
#'
#' semidefinite <- tcrossprod(1:3)
#' r <- suppressWarnings(gpu_chol(semidefinite, pivot = TRUE))
#' rank <- attr(r, "rank")
#' r[(rank + 1):3, (rank + 1):3] <- 0
#' pivot <- attr(r, "pivot")
#' all.equal(crossprod(r), semidefinite[pivot, pivot], check.attributes = FALSE)
#'
#' # A batch: an array of 100 matrices, and a list
#' x <- replicate(100, crossprod(matrix(rnorm(20), 5, 4)))
#' r <- gpu_chol(x)
#' all.equal(r[, , 7], chol(x[, , 7]))
#' gpu_chol(list(a = diag(4, 2), b = x[, , 1]))
#' @export
gpu_chol <- function(x, pivot = FALSE, tol = -1, device = getOption("cudafactor.device", "auto"),
                     precision = "double", ...) {
  if (...length()) {
    check_dots(substitute(list(...)), sys.call())
  }
  if (isFALSE(pivot)) {
    out <- .External(plain_chol, x, device, precision)
    if (is.double(out)) {
      return(out)
    }
    if (is.list(out)) {
      return(unwrap(out[[1L]], sys.call(), out = out[[2L]]))
    }
  }
  if (!(is.double(x) && is.matrix(x) && !is.object(x))) {
    if (is_resident(x)) {
      return(chol_resident(x, pivot, sys.call()))
    }
    refuse_factored(x, sys.call())
    if (is_tile_matrix(x)) {
      abort_type(
        paste(
          "'x' must be a matrix in memory, not on disk:",
          "use chol_file(x, file), or chol_file(x) to overwrite the matrix with its factor"
        ),
        sys.call()
      )
    }
    if (is_batch(x)) {
      return(chol_batch(x, pivot, device, precision, sys.call()))
    }
    x <- as_chol_operand(x, sys.call())
  }
  dx <- dim(x)
  n <- dx[[1L]]
  if (dx[[2L]] != n || n == 0L) {
    abort_not_square(dx, sys.call())
  }
  if (!isFALSE(pivot) && is_pivoted(pivot, sys.call())) {
    return(pivoted_chol(x, n, tol, device, precision, sys.call()))
  }
  out <- .External(alloc_matrix, n, n)
  if (length(kept <- attributes(x)) > 1L) {
    attributes(out) <- kept
  }
  reply <- native_chol(x, n, out, how(device, precision, sys.call()))
  if (is.null(reply)) out else unwrap(reply, sys.call(), out = out)
}

# As in chol(), a complex matrix is refused before as.matrix().
as_chol_operand <- function(x, call) {
  as_double(as_matrix(refuse_complex(x, call), call), call)
}

refuse_complex <- function(x, call) {
  if (is.complex(x)) {
    abort_type(base_text("complex matrices not permitted at present", domain = "R-base"), call)
  }
  x
}

# The error for dimensions that differ or are zero.
abort_not_square <- function(dx, call) {
  text <- if (dx[[1L]] != dx[[2L]]) "'a' must be a square matrix" else "'a' must have dims > 0"
  abort_dimension(base_text(text), call)
}

is_pivoted <- function(pivot, call) {
  flag <- as_count(pivot)
  if (is.na(flag) || (flag != 0L && flag != 1L)) {
    abort_argument("pivot", base_text("invalid '%s' value", "pivot"), call)
  }
  flag == 1L
}

pivoted_chol <- function(x, n, tol, device, precision, call) {
  tol <- as_number(tol, "tol", call)
  out <- .External(alloc_matrix, n, n)
  done <- unwrap(native_chol_pivot(x, n, tol, out, how(device, precision, call)), call)
  if (done$rank < n) {
    warn("rank_deficient", rank_deficient_text(), call, rank = done$rank)
  }
  attributes(out) <- attributes(x)
  attr(out, "pivot") <- done$pivot
  attr(out, "rank") <- done$rank
  dimnames(out) <- permute_colnames(dimnames(x), done$pivot)
  out
}

# The columns were exchanged, so their names are. This works on dimnames: passing the matrix to a
# function would copy it.
permute_colnames <- function(names, pivot) {
  if (!is.null(names[[2L]])) {
    names[[2L]] <- names[[2L]][pivot]
  }
  names
}

#' Inverse from a Cholesky factor
#'
#' `gpu_chol2inv(x)` is `chol2inv(x)`: \eqn{(R^T R)^{-1}}{(R'R)^-1} for the upper triangular \eqn{R}
#' in the leading `size` rows and columns of `x`. [gpu_chol()] gives such a factor, and so does the
#' `qr` component of [gpu_qr()].
#'
#' @section Errors:
#' * `cudafactor_error_singular`: a diagonal entry is zero (field `index`).
#' * `cudafactor_error_argument`: `size` is not a positive integer.
#' * `cudafactor_error_dimension`: `size` exceeds the rows or columns of `x`.
#' * `cudafactor_error_type`: `x` is not a numeric matrix.
#'
#' @section Accuracy:
#' \eqn{\|I - R^T R X\|_1}{||I - R'R X||} is at most \eqn{n \epsilon \kappa(R)^2} up to a small
#' constant.
#'
#' @section Device:
#' `"auto"` counts \eqn{2n^3/3} operations, see [cudafactor-options].
#'
#' @param x A numeric matrix whose leading upper triangle is the factor, or a [gpu_matrix]. A number
#'   is a 1 by 1 matrix. Longer vectors are errors. Base R takes their first entry if `size` is 1.
#' @param size The number of rows and columns of the factor; by default all columns of `x`.
#' @param ... No further arguments: any is an error, to catch misspelt names.
#' @inheritParams gpu_matmult
#' @return A `size` by `size` double matrix, exactly symmetric, without dimnames; a `gpu_matrix` if
#' `x` is one. Only the upper triangle of `x` is read.
#' @references LAPACK routine of the same work: `dpotri`.
#' @seealso [base::chol2inv()]
#' @examples
#' x <- crossprod(matrix(rnorm(20), 5, 4))
#' all.equal(gpu_chol2inv(gpu_chol(x)), solve(x))
#' @export
gpu_chol2inv <- function(x, size = NCOL(x), device = getOption("cudafactor.device", "auto"),
                         precision = "double", ...) {
  call <- sys.call()
  if (...length()) {
    check_dots(substitute(list(...)), call)
  }
  if (isS4(x)) {
    if (is_resident(x)) {
      return(chol2inv_resident(x, size, call))
    }
    x <- if (is_tile_matrix(x)) factor_read(x, call) else as_matrix(x, call)
  }
  k <- as_count(size)
  if (is.na(k) || k < 1L) {
    abort_argument("size", base_text("'size' argument must be a positive integer"), call)
  }
  if (k == 1L && is.double(x) && length(x) == 1L && !is.matrix(x)) {
    x <- as.matrix(as.double(x))
  } else if (!is.matrix(x)) {
    abort_type(base_text("'a' must be a numeric matrix"), call)
  }
  if (is.complex(x)) {
    abort_complex("base::chol2inv()", call)
  }
  dx <- dim(x)
  check_size(k, dx, call)
  x <- as_double(x, call)
  out <- .External(alloc_matrix, k, k)
  reply <- native_chol2inv(x, dx, k, out, how(device, precision, call))
  if (is.null(reply)) out else unwrap(reply, call, "chol2inv", out = out)
}

check_size <- function(k, dx, call) {
  if (k > dx[[2L]]) {
    abort_dimension(base_text("'size' cannot exceed ncol(x) = %d", dx[[2L]]), call)
  }
  if (k > dx[[1L]]) {
    abort_dimension(base_text("'size' cannot exceed nrow(x) = %d", dx[[1L]]), call)
  }
}
