#' Eigenvalues and eigenvectors
#'
#' `gpu_eigen(x)` returns what [base::eigen()] returns, for real matrices. A GPU can decompose a
#' symmetric matrix. The CPU decomposes a matrix that is not symmetric, for which base R's `eigen()`
#' is as fast or faster.
#'
#' `gpu_eigen(x, k = 20)` returns 20 eigenvalues of a symmetric matrix, for which `x` is only
#' multiplied with vectors. `x` can then also be a sparse matrix, a [tile_matrix()] or a function.
#'
#' An array `c(n, n, b)` is a batch of b symmetric matrices, and `simplify2array()` makes one from a
#' list. A GPU solves them together if its shared memory holds one: up to order 166 on an H100, in
#' double precision. Larger ones follow one another. `"auto"` counts the work of all, and the CPU
#' shares them among its threads.
#'
#' A matrix counts as symmetric by the rule of [base::isSymmetric()]. By this rule a matrix whose
#' entries are all below about 1e-14 is symmetric: give `symmetric = FALSE` if it is not, or scale a
#' batch. Only the lower triangle of a symmetric matrix in memory is read. A file written with
#' `triangle = TRUE` has one triangle. All entries of a file with both triangles are read.
#'
#' @section Signs: An eigenvector is determined up to its sign, and base R's signs depend on its
#' LAPACK. Here each real vector has norm 1, and its component of largest magnitude is positive: the
#' first one, if several agree to half of their digits. In a complex vector this component is real
#' and positive.
#'
#' @return If `only.values` is `FALSE`, an object of class `"eigen"`, else a plain list:
#' \describe{
#'   \item{`values`}{eigenvalues, by decreasing value for a symmetric matrix and else by decreasing
#'     modulus, those of equal modulus in any order. They are complex if one has an imaginary part
#'     above rounding.}
#'   \item{`vectors`}{matrix with the eigenvectors in its columns, without dimnames; `NULL` if
#'     `only.values` is `TRUE`.}
#' }
#' For a batch, `values` is an n by b matrix and `vectors` an array `c(n, n, b)`. The last dimension
#' of each has the names of the matrices, `dimnames(x)[[3]]`. No matrix (b = 0) gives none.
#'
#' With `k`, values decrease too, whatever `which` is: those of largest magnitude may be 9, 7 and
#' -8. The list also has:
#' \describe{
#'   \item{`residuals`}{\eqn{\|x v - \lambda v\|}{||x v - lambda v||} for each pair, divided by
#'     the largest magnitude of the eigenvalues that the method has approximated, returned or not.
#'     Products with the vectors give them.}
#'   \item{`iterations`, `products`}{restarts of the method, and vectors that `x` multiplied.}
#' }
#'
#' @section A few values: `k` takes block Lanczos iterations with thick restarts and full
#' reorthogonalization. A pair counts as found if its residual is at most twice the largest of
#' \itemize{
#'   \item `tol` times \eqn{|\lambda|}{|lambda|},
#'   \item `tol / 1000` times the largest magnitude,
#'   \item `4 * sqrt(n) * eps` times the largest magnitude, for rounding. `sqrt(n)` counts as 8 at
#'     least. `eps` is 2.2e-16, or 1.2e-7 if products are in single precision. They are for
#'     `precision = "single"`, and for a [gpu_matrix] or a [tile_matrix()] in that precision.
#' }
#' Other pairs are returned with a warning of class `cudafactor_warning_not_converged`, after
#' `maxit` restarts, or sooner if errors of products keep residuals from falling. If values agree to
#' 8 digits, the method looks for more copies of them.
#'
#' All values are computed instead in three cases. In each, residuals may be larger by a factor
#' `4 * sqrt(n)`.
#' \itemize{
#'   \item The order is below `4 * k + 128`.
#'   \item All values of a dense matrix are predicted to take less time.
#'   \item The iteration with a dense matrix has taken about twice the time of all values, and
#'     `maxit` allows more restarts. The smallest eigenvalues of a smooth covariance matrix are an
#'     example. `iterations` and `products` then include those of the iteration.
#' }
#'
#' A [gpu_matrix] stays on its device. A dense matrix goes to the device that should be faster, a
#' sparse one to a GPU from 50,000 rows on. A function gets a matrix with up to 64 columns, or `k`
#' if that is more. It must return the product of a symmetric matrix with its argument. A file with
#' both triangles needs `symmetric = TRUE`. Each product reads the file once. If the first products
#' with a file or a function are not those of a symmetric matrix, the call stops.
#'
#' @section Errors:
#' - `cudafactor_error_non_finite`: `x` has NA, NaN or Inf. Errors about a matrix of a batch have
#'   its position in the field `index`.
#' - `cudafactor_error_dimension`: `x` is not square, has no rows, or has more than 3 dimensions.
#' - `cudafactor_error_type`: `x` is complex, or is not a matrix of numbers.
#' - `cudafactor_error_argument`: an argument has an invalid value.
#' - `cudafactor_error_not_symmetric`: `k` or a batch is given, and a matrix is not symmetric. With
#'   `k`, `symmetric = FALSE` is this error too. For functions, files and batches, field
#'   `asymmetry` is about \eqn{\|x - x^T\| / \|x\|}{||x - x'|| / ||x||}. A batch takes the largest
#'   entry as the norm.
#' - `cudafactor_error_device_unavailable`: the GPU that `device` names does not exist, or the
#'   matrix is not symmetric and `device` names a GPU.
#' - `cudafactor_error_device_memory`: the GPU lacks room for 5 matrices of the dimensions of `x`,
#'   or for one of a batch.
#' - `cudafactor_error_not_converged`: no method found eigenvalues that pass the check below.
#'
#' @section Accuracy: The matrix is scaled by a power of two first, in double precision, so the
#' accuracy does not depend on the unit of its entries. In single precision entries may therefore be
#' of any size. A matrix that is not symmetric is balanced too: its rows and columns are multiplied
#' by powers of two that make their norms alike.
#' \eqn{\|x V - V \Lambda\| \le c n \epsilon \|x\|}{||x V - V L|| <= c n eps ||x||}
#' holds with a small constant, and a product with a random vector checks it in each call. If the
#' check fails on the CPU, a slower method computes the answer again. If it fails on a GPU,
#' `device = "auto"` computes on the CPU.
#'
#' @section Device: `"auto"` takes a GPU where that is faster, from orders of some hundreds on. The
#' CPU decomposes matrices below order 400 by one thread. From there on, and for matrices with
#' thousands of rows, the last digits depend on the number of threads. A GPU needs compute
#' capability 7.0. An interrupt takes effect between the steps of a decomposition, which can take
#' seconds on the CPU.
#'
#' @param x A numeric or logical square matrix, an object that `as.matrix()` turns into one, a
#'   [gpu_matrix], or an array of matrices.
#' @param symmetric `TRUE` takes `x` as symmetric, `FALSE` as general. If missing,
#'   `isSymmetric(unname(x))`. `FALSE` is an error for a batch and with `k`.
#' @param only.values `TRUE` returns the values alone, which takes less time. The default is
#'   `FALSE`.
#' @param device `"auto"` (the default), `"cpu"`, `"cuda"` or `"cuda:N"`.
#' @param precision `"double"` (the default) or `"single"`.
#' @param ... `EISPACK` is ignored, as by [base::eigen()], and must be named. Other arguments are
#'   errors.
#' @param k `NULL` (the default) for all eigenvalues, or how many. It must be named:
#'   `gpu_eigen(x, 20)` is `symmetric = 20`. The arguments below are for `k`.
#' @param which Which `k` eigenvalues, in RSpectra's words: `"LM"` (the default) for the largest
#'   magnitudes, `"LA"` for the largest values, `"SA"` for the smallest.
#' @param n The order of the matrix if `x` is a function.
#' @param tol Tolerance for a residual, relative to the value. The section "A few values" of
#'   [gpu_eigen()] has the details. `0` asks for residuals of the size of rounding.
#' @param maxit Restarts, at most.
#' @references LAPACK routines of the same work: `dsyevr`, `dgeev`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, chapters 7 and 8.
#' Johns Hopkins.
#'
#' Wu, K. and Simon, H. (2000) Thick-restart Lanczos method for large symmetric eigenvalue problems.
#' *SIAM Journal on Matrix Analysis and Applications* 22, 602-616.
#' @seealso [gpu_svd()]
#' @examples
#' x <- crossprod(matrix(c(3, 1, 2, 5, 4, 6, 8, 7, 9), 3))
#' e <- gpu_eigen(x)
#' e
#' all.equal(e$vectors %*% diag(e$values) %*% t(e$vectors), x)
#' # Covariances of three groups at once, and one of them from its eigenvectors
#' groups <- simplify2array(by(iris[1:4], iris$Species, cov))
#' f <- gpu_eigen(groups)
#' f$values
#' f$vectors[, , 2] %*% (f$values[, 2] * t(f$vectors[, , 2]))
#' # A rotation has complex eigenvalues
#' gpu_eigen(matrix(c(0, 1, -1, 0), 2))$values
#' # Three of 500 eigenvalues, of a matrix that is never formed
#' second_differences <- function(v) {
#'   2 * v - rbind(v[-1, , drop = FALSE], 0) - rbind(0, v[-nrow(v), , drop = FALSE])
#' }
#' gpu_eigen(second_differences, k = 3, n = 500)$values
#' @export
gpu_eigen <- function(x, symmetric, only.values = FALSE,
                      device = getOption("cudafactor.device", "auto"),
                      precision = "double", ..., k = NULL, which = c("LM", "LA", "SA"), n = NULL,
                      tol = 1e-10, maxit = 1000) {
  call <- sys.call()
  if (missing(x)) abort_missing("x", call)
  # Evaluated here, so that an error names no function of this package.
  x <- x
  if (...length()) {
    dots <- substitute(list(...))
    dots$EISPACK <- NULL
    if (length(dots) > 1L) check_dots(dots, call)
  }
  batch <- is.atomic(x) && is_batch(x)
  if (!is.null(k)) {
    if (batch) {
      text <- "'k' must be NULL for an array: use apply(x, 3, gpu_eigen, k = ), with the number"
      abort_argument("k", text, call)
    }
    which <- if (missing(which)) "LM" else which
    return(
      eigen_few(x, symmetric, only.values, k, which, n, tol, maxit, device, precision, call)
    )
  }
  check_without_k(c(
    if (!missing(which)) "which", if (!missing(n)) "n", if (!missing(tol)) "tol",
    if (!missing(maxit)) "maxit"
  ), call)
  if (batch) {
    return(eigen_batch(x, symmetric, only.values, device, precision, call))
  }
  check_no_function(x, "gpu_eigen(x, k = , n = )", call)
  check_eigen_operand(x, call)
  where <- spectral_how(x, device, precision, call)
  eigen_of(x, symmetric, only.values, where, call)
}

# `symmetric` may be missing, as in eigen().
eigen_of <- function(x, symmetric, only.values, where, call) {
  x <- as_spectral_operand(x, "base::eigen()", call)
  n <- nrow(x)
  if (!n || n != ncol(x)) {
    abort_dimension(eigen_shape_text(dim(x)), call)
  }
  x <- as_finite(without_times(x), where, call)
  symmetric <- if (missing(symmetric)) {
    unwrap(native_is_symmetric(x, n), call)$symmetric
  } else {
    as_condition(symmetric, "symmetric", call)
  }
  wanted <- !as_only_values(only.values, call)
  if (!symmetric && where[[1L]] >= 0) {
    reason <- "eigenvalues of a matrix that is not symmetric are computed on the CPU only"
    abort("device_unavailable",
      paste0(reason, ": use device = \"cpu\" or \"auto\""), call, reason = reason)
  }
  out <- .External(alloc_matrix, n, if (wanted) n else 0L)
  found <- if (symmetric) {
    done <- unwrap(native_eigen_symmetric(x, n, wanted, out, where), call)
    list(values = done$values, vectors = if (wanted) out)
  } else {
    done <- unwrap(native_eigen_general(x, n, wanted, out, where), call)
    join_pairs(done$re, done$im, if (wanted) out)
  }
  if (wanted) {
    class(found) <- "eigen"
  }
  found
}

# Values and vectors from real and imaginary parts in the layout of LAPACK's dgeev. Values are
# complex under the same condition as base R's.
join_pairs <- function(re, im, vectors) {
  if (!any(abs(im) > 10 * .Machine$double.eps * abs(re))) {
    return(list(values = re, vectors = vectors))
  }
  if (!is.null(vectors)) {
    first <- which(im > 0)
    parts <- vectors[, first + 1L, drop = FALSE]
    vectors[, first + 1L] <- vectors[, first]
    imaginary <- matrix(0, nrow(vectors), ncol(vectors))
    imaginary[, first] <- parts
    imaginary[, first + 1L] <- -parts
    vectors <- matrix(complex(real = vectors, imaginary = imaginary), nrow(vectors))
  }
  list(values = complex(real = re, imaginary = im), vectors = vectors)
}

# Base R's message for a matrix that is not square or has no rows. Which of both comes first
# depends on the version of R, so base R is asked.
eigen_shape_text <- function(dim) {
  small <- matrix(0, min(dim[[1L]], 1L), min(dim[[2L]], 2L))
  if (dim[[1L]] && dim[[2L]] == 1L) small <- matrix(0, 2L, 1L)
  tryCatch(
    {
      base::eigen(small)
      "non-square matrix in 'eigen'"
    },
    error = conditionMessage
  )
}

# The settings of a decomposition. For a gpu_matrix `device` and `precision` do not count, as
# elsewhere.
spectral_how <- function(x, device, precision, call) {
  if (is_resident(x)) how_there(call) else how(device, precision, call)
}

# A matrix of numbers or logical values. `alternative` is for complex matrices.
as_spectral_operand <- function(x, alternative, call) {
  check_numbers(x, "x", "a matrix", call)
  x <- as_matrix(x, call)
  if (is.complex(x)) {
    abort_complex(alternative, call)
  }
  x
}

as_numeric_matrix <- function(x, call) {
  if (!(is.numeric(x) || is.logical(x))) {
    abort_not_numbers(x, "x", "a numeric matrix", call)
  }
  as_double(x, call)
}

# Numbers that is.numeric() denies: dates and differences of times. Base R's eigen() computes with
# them, and its svd() refuses them.
is_times <- function(x) {
  is.object(x) && typeof(x) %in% c("double", "integer") && !is.numeric(x) && !is.factor(x)
}

without_times <- function(x) if (is_times(x)) unclass(x) else x

# The matrix as doubles. Base R tells text that its values are not finite, which is no help.
as_finite <- function(x, where, call) {
  x <- as_numeric_matrix(x, call)
  if (!all_finite(x, where, call)) {
    abort("non_finite", base_text("infinite or missing values in 'x'", domain = "R-base"), call,
      argument = "x")
  }
  x
}

# The value of an expression, with the error of base R in a class of this package.
as_base <- function(expr, abort_kind, call) {
  tryCatch(expr, error = function(e) abort_as(e, abort_kind, call))
}

# The value that `if` takes a condition for.
as_condition <- function(value, argument, call) {
  as_base(if (value) TRUE else FALSE, invalid(argument), call)
}

# base::eigen() reads the flag in compiled code first.
as_only_values <- function(only.values, call) {
  if (is.na(as_flag(only.values))) {
    text <- base_text("invalid '%s' argument", "only.values")
    abort_argument("only.values", text, call)
  }
  as_condition(only.values, "only.values", call)
}
