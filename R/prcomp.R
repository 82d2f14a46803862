#' Principal components
#'
#' `gpu_prcomp(x)` returns what [stats::prcomp()] returns, from the singular values and right
#' singular vectors of the centred matrix. The methods of class `"prcomp"` work on it: `print()`,
#' `summary()`, `predict()`, `plot()`, `biplot()`. `prcomp(x)` of a [gpu_matrix] is the same
#' computation.
#'
#' X is the matrix after centring and scaling of its columns. `gpu_prcomp()` of a tall matrix
#' factors `X = QR` first, and decomposes R alone. The scores are the product of X and `rotation`.
#'
#' @section Signs: The sign of a component is arbitrary, and base R's depends on its LAPACK. Here
#' the loading of largest magnitude in each column of `rotation` is positive: the first one, if
#' several agree to half of their digits. A component without variance is any unit vector that is
#' orthogonal to the others.
#'
#' @return An object of class `"prcomp"`, a list of ordinary R data:
#' \describe{
#'   \item{`sdev`}{standard deviations of all `min(n, p)` components, also if fewer are kept.}
#'   \item{`rotation`}{matrix with the loadings of the components that are kept in its columns
#'     `PC1`, `PC2` and so on.}
#'   \item{`center`,`scale`}{what the columns were centred with and divided by, or `FALSE`.}
#'   \item{`x`}{matrix of scores with the rows of `x`, if `retx` is `TRUE`.}
#' }
#'
#' @section Errors:
#' - `cudafactor_error_non_finite`: `x` has NA, NaN or Inf.
#' - `cudafactor_error_dimension`: a dimension of `x` is zero.
#' - `cudafactor_error_type`: `x` is complex, a formula, or not a matrix of numbers.
#' - `cudafactor_error_argument`: `scale.` is `TRUE` and a column is constant, or `center`,
#'   `scale.`, `tol`, `rank.`, `retx`, `device` or `precision` has an invalid value.
#' - `cudafactor_error_device_unavailable`: the GPU that `device` names does not exist.
#' - `cudafactor_error_device_memory`: the GPU lacks room, see [gpu_svd()].
#' - `cudafactor_error_not_converged`: see [gpu_svd()].
#'
#' Arguments that nothing uses give the warning `cudafactor_warning_argument`.
#'
#' @section Accuracy: Columns are centred and scaled in double precision. The result X is multiplied
#' by a power of two, so the accuracy does not depend on the unit of its entries. In single
#' precision entries may therefore be of any size.
#'
#' For the decomposition \eqn{X = U D V^T}{X = U D V'}, tests bound
#' \eqn{\|X - U D V^T\| \le 8 m \epsilon \|X\|}{||X - U D V'|| <= 8 m eps ||X||}. The norms are
#' Frobenius norms, and m is the larger dimension of X, but at least 8. Products with random vectors
#' check the decomposition in each call. If the check fails on the CPU, a slower method computes the
#' answer again. If it fails on a GPU, `device = "auto"` computes on the CPU.
#'
#' @inheritSection gpu_eigen Device
#'
#' @param x A numeric or logical matrix with observations in its rows, a data frame of numbers, an
#'   object that `as.matrix()` turns into a matrix, or a [gpu_matrix]. As in base R, an array of
#'   more dimensions is one column. Instead of a formula give
#'   `model.matrix(formula, data)`, with `+ 0` in the formula.
#' @param retx Return the scores? `TRUE` by default.
#' @param center `TRUE` (the default) subtracts the mean of each column, `FALSE` nothing. A vector
#'   has one number per column.
#' @param scale. `TRUE` divides each column by its standard deviation, `FALSE` (the default) by
#'   nothing. A vector has one number per column. As in [base::scale()], the standard deviation of a
#'   column is Inf if its entries reach 1e155, and 0 if they are below 1e-163.
#' @param tol Components with a standard deviation of at most `tol` times the first are left out.
#'   `NULL` (the default) keeps all.
#' @param rank. The largest number of components to keep. `NULL` (the default) keeps all. All are
#'   computed: [gpu_svd()] with `k` computes a few of a large or sparse matrix.
#' @param ... Ignored with a warning, as by [stats::prcomp()].
#' @inheritParams gpu_eigen
#' @references Jolliffe, I. T. (2002) *Principal Component Analysis*, 2nd edition. Springer.
#' @seealso [gpu_svd()], [stats::prcomp()]
#' @examples
#' f <- gpu_prcomp(USArrests, scale. = TRUE)
#' f
#' summary(f)
#' predict(f, USArrests[1:2, ])
#' @export
gpu_prcomp <- function(x, retx = TRUE, center = TRUE, scale. = FALSE, tol = NULL, rank. = NULL,
                       device = getOption("cudafactor.device", "auto"), precision = "double",
                       ...) {
  call <- sys.call()
  if (missing(x)) {
    if ("formula" %in% names(substitute(list(...)))) abort_formula(call)
    abort_missing("x", call)
  }
  x <- x
  if (inherits(x, "formula")) {
    abort_formula(call)
  }
  check_ignored(call, ...)
  where <- spectral_how(x, device, precision, call)
  products <- if (is_resident(x)) how_beside(x, call) else where
  single <- !is_resident(x) && precision == "single"
  prcomp_of(x, retx, center, scale., tol, rank., products, single, where, call)
}

abort_formula <- function(call) {
  abort_type(paste(
    "'x' must be a matrix or a data frame, not a formula: use model.matrix(formula, data) with",
    "\"+ 0\" in the formula, or stats::prcomp()"
  ), call)
}

#' @rawNamespace S3method(stats::prcomp, gpu_matrix)
prcomp.gpu_matrix <- function(x, retx = TRUE, center = TRUE, scale. = FALSE, tol = NULL,
                              rank. = NULL, ...) {
  call <- group_call(sys.call(), "prcomp")
  check_ignored(call, ...)
  prcomp_of(x, retx, center, scale., tol, rank., how_beside(x, call), FALSE, how_there(call), call)
}

# Base R's warning about arguments that are ignored, without its first line, which names the call.
check_ignored <- function(call, ...) {
  withCallingHandlers(chkDots(..., which.call = 0L), warning = function(w) {
    warn("argument", sub("^[^\n]*\n *", "", conditionMessage(w)), call)
    invokeRestart("muffleWarning")
  })
}

# `where` are the settings of the decomposition, `products` those of the scores, in `single`
# precision or double.
prcomp_of <- function(x, retx, center, scale., tol, rank., products, single, where, call) {
  x <- as_spectral_operand(x, "stats::prcomp()", call)
  numbers <- is.numeric(x) || is.logical(x)
  x <- if (isTRUE(center) && is_plain_double(x)) {
    centred(x, where, call)
  } else {
    as_base(scale(x, center, FALSE), if (numbers) invalid("center") else abort_type, call)
  }
  if (!isFALSE(scale.)) {
    x <- as_base(scale(x, FALSE, scale.), if (numbers) invalid("scale.") else abort_type, call)
  }
  # A matrix that scale() made before keeps its attributes, as in base R.
  centre <- attr(x, "scaled:center")
  spread <- attr(x, "scaled:scale")
  if (as_condition(any(spread == 0), "scale.", call)) {
    text <- "cannot rescale a constant/zero column to unit variance"
    abort_argument("scale.", base_text(text, domain = "R-stats"), call)
  }
  k <- min(dim(x))
  if (!is.null(rank.)) {
    as_base(
      stopifnot(length(rank.) == 1, is.finite(rank.), as.integer(rank.) > 0), invalid("rank."), call
    )
    k <- min(as.integer(rank.), k)
  }
  found <- svd_of(as_svd_operand(x, "stats::prcomp()", where, call), 0L, k, where, call)
  sdev <- found$d / sqrt(max(1, nrow(x) - 1))
  rotation <- found$v
  if (!is.null(tol)) {
    kept <- as_base(sum(sdev > sdev[[1L]] * tol), invalid("tol"), call)
    if (as_condition(kept < k, "tol", call)) {
      if (kept == 0L) {
        abort_argument("tol", sprintf(paste(
            "'tol' must leave a component, and no standard deviation is above %s times the first:",
            "use tol = NULL, or a smaller number"
          ), as_code(tol)), call)
      }
      rotation <- rotation[, seq_len(k <- kept), drop = FALSE]
    }
  }
  names <- list(colnames(x), paste0("PC", seq_len(k)))
  rotation <- as_base(`dimnames<-`(rotation, names), invalid("tol"), call)
  out <- list(
    sdev = sdev, rotation = rotation, center = centre %||% FALSE, scale = spread %||% FALSE
  )
  if (as_condition(retx, "retx", call)) {
    out$x <- multiply_scaled(as_double(x, call), rotation, "matmult", products, single, call)
  }
  class(out) <- "prcomp"
  out
}

# Whether it is a matrix of doubles with rows, and no attributes but dim and dimnames.
is_plain_double <- function(x) {
  is.double(x) && nrow(x) > 0L && all(names(attributes(x)) %in% c("dim", "dimnames"))
}

# scale(x, TRUE, FALSE), on several threads.
centred <- function(x, where, call) {
  means <- colMeans(x, na.rm = TRUE)
  out <- .External(alloc_matrix, nrow(x), ncol(x))
  unwrap(native_subtract_columns(x, dim(x), means, out, where), call)
  attr(out, "dimnames") <- dimnames(x)
  attr(out, "scaled:center") <- means
  out
}
