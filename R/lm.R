#' Least squares fits
#'
#' `gpu_lm_fit(x, y)` is `lm.fit(x, y)`: the coefficients \eqn{b} that minimize
#' \eqn{\|y - x b\|_2}{||y - x b||}, by the QR factorization of [gpu_qr()], for one or more
#' responses. Many problems of one shape are solved together: an array `x` of dimensions
#' `c(n, p, k)` holds `k` design matrices. Then `y` has dimensions `c(n, k)`, or `c(n, q, k)` with
#' `q` responses for each problem.
#'
#' @section Errors:
#' * `cudafactor_error_non_finite`: NA, NaN or Inf in `x` or `y` (field `argument`; for an array,
#'   the first such problem in fields `index` and `name`).
#' * `cudafactor_error_dimension`: no rows, or dimensions that do not match.
#' * `cudafactor_error_type`: `x` is not a matrix, or an operand is complex.
#' * `cudafactor_error_singular`: dependent columns with `singular.ok = FALSE`.
#' * `cudafactor_error_argument`: `x` or `y` is missing, `tol` is not a number, `singular.ok` is
#'   neither TRUE nor FALSE, or there are `weights`.
#'
#' For an array one bad problem stops the call; field `index` tells which one to correct or remove.
#'
#' @section Accuracy:
#' The fit is exact for data within a small multiple of \eqn{\max(n, p) \epsilon}{max(n, p) eps} of
#' `x` and `y`. Tests bound the scaled gradient
#' \eqn{\|x^T r\|_1 / (n \epsilon \|x\|_1 \|y\|_1)}{||x'r|| / (n eps ||x|| ||y||)} for residuals
#' \eqn{r}. In single precision the default `tol` is `1e-4`, because near \eqn{2^{-24}} dependence
#' cannot be told from rounding.
#'
#' @section Device:
#' `"auto"` counts the operations of [gpu_qr()] and \eqn{4np} for each response, of all problems:
#' see [cudafactor-options]. On a GPU, problems that fit into the shared memory of a multiprocessor
#' are solved by one launch. On an H200 in double precision that is 29000 numbers in `x` and `y`.
#' Larger problems are solved one after another.
#'
#' @param x A numeric design matrix, or an array of dimensions `c(n, p, k)`. A [gpu_matrix] is
#'   copied to the host; use `qr.coef(qr(x), y)` to fit on the device. For weights `w` use
#'   `sqrt(w) * x` and `sqrt(w) * y`.
#' @param y A numeric vector, or a matrix with one column for each response; for an array `x` see
#'   above.
#' @param offset A vector subtracted from `y` before the fit and added to the fitted values, or
#'   `NULL`. If `y` and `offset` are both matrices or arrays, their dimensions must agree. For an
#'   array `x`, a vector has one number for each row, used for all problems, or one for each entry
#'   of `y`.
#' @param method Only `"qr"`, as in base R.
#' @param tol A column is dependent if its part orthogonal to those before it is shorter than `tol`
#'   times its length. By default 1e-7, or 1e-4 in single precision.
#' @param singular.ok Accept dependent columns? `TRUE` by default.
#' @param ... Ignored with a warning, as in base R; `weights` and `w` are errors.
#' @inheritParams gpu_matmult
#' @return The list that [stats::lm.fit()] returns, with its names and attributes: `coefficients`
#' (NA for columns that depend on those before them), `residuals`, `effects` (\eqn{Q^T y}{Q'y}),
#' `rank`, `fitted.values`, `assign`, `qr` (class `"qr"`, with `tol`) and `df.residual`.
#'
#' For an array `x`, a list with the same names, and each problem as if it were alone, up to
#' rounding. Parts have one more dimension, of length `k`: `coefficients` is `c(p, k)` or
#' `c(p, q, k)`; `residuals`, `effects` and `fitted.values` are as `y`; `rank` and `df.residual` are
#' vectors. `qr` is an ordinary list of `qr` (as `x`, without column names), `qraux` and `pivot`
#' (`c(p, k)`), `tol` and `rank`. `pivot` tells which column of `x` each column is.
#'
#' Coefficients are named by the columns of `x`. The last dimension of every part is named by the
#' third dimnames of `x`, else the last of `y`. If both exist and differ, those of `x` are used,
#' with the warning `cudafactor_warning_names`.
#' @references LINPACK routines of the same work: `dqrls`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 5.3. Johns
#' Hopkins.
#' @seealso [stats::lm.fit()], [gpu_qr()]
#' @examples
#' x <- cbind(1, speed = cars$speed)
#' fit <- gpu_lm_fit(x, cars$dist)
#' fit$coefficients
#' all.equal(fit, lm.fit(x, cars$dist))
#'
#' # Standard errors, from (R'R)^-1 and the residual variance
#' variance <- sum(fit$residuals^2) / fit$df.residual
#' sqrt(variance * diag(gpu_chol2inv(fit$qr$qr, size = fit$rank)))
#' coef(summary(lm(dist ~ speed, cars)))[, "Std. Error"]
#'
#' # A regression for each species, all at once
#' species <- split(iris, iris$Species)
#' design <- function(d) cbind(`(Intercept)` = 1, width = d$Petal.Width)
#' x <- simplify2array(lapply(species, design))
#' y <- sapply(species, function(d) d$Petal.Length)
#' fits <- gpu_lm_fit(x, y)
#' fits$coefficients
#'
#' # The factorization of problem 2, for the functions of base R
#' f <- with(fits$qr, list(
#'   qr = qr[, , 2], rank = rank[[2]], qraux = qraux[, 2], pivot = pivot[, 2]
#' ))
#' class(f) <- "qr"
#' qr.coef(f, y[, 2])
#' @export
gpu_lm_fit <- function(x, y, offset = NULL, method = "qr",
                       tol = if (identical(precision, "single")) 1e-04 else 1e-07,
                       singular.ok = TRUE, ...,
                       device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  if (missing(y)) {
    abort_missing("y", call)
  }
  singular.ok <- accepts_singular(singular.ok, call)
  if (is_design_batch(x)) {
    check_method(method, call)
    check_unused(...names(), call)
    check_ignored(call, ...)
    return(lm_batch(
      x, y, offset, as_number(tol, "tol", call), singular.ok, device, precision, call
    ))
  }
  x <- as_design(x, call)
  n <- nrow(x)
  if (n == 0L) {
    abort_dimension(base_text("0 (non-NA) cases", domain = "R-stats"), call)
  }
  if (isS4(y)) {
    y <- as_matrix(y, call)
  }
  if (length(dim(y)) > 2L) {
    abort_dimension(sprintf(
      "'y' must be a vector or a matrix if 'x' is a matrix, not an array of %d dimensions",
      length(dim(y))
    ), call)
  }
  if (is.list(y)) {
    abort_type("'y' must be a vector or a matrix of numbers, not a list", call)
  }
  if (is.complex(y)) {
    abort_complex("stats::lm.fit() of each part", call)
  }
  if (ncol(x) == 0L) {
    return(list(
      coefficients = numeric(), residuals = y, fitted.values = 0 * y, rank = 0,
      df.residual = length(y)
    ))
  }
  if (is.matrix(y) && ncol(y) == 1L) {
    y <- drop(y)
  }
  if (!is.null(offset)) {
    check_conformable(y, offset, call)
    y <- as_user(call, y - offset)
  }
  if (NROW(y) != n) {
    abort_dimension(base_text("incompatible dimensions", domain = "R-stats"), call)
  }
  check_method(method, call)
  check_unused(...names(), call)
  check_ignored(call, ...)
  fit <- least_squares(
    x, as_double(y, call), as_number(tol, "tol", call), how(device, precision, call), call
  )
  if (!singular.ok && fit$qr$rank < ncol(x)) {
    abort(
      "singular", base_text("singular fit encountered", domain = "R-stats"), call,
      rank = fit$qr$rank
    )
  }
  fitted <- y - fit$residuals
  if (!is.null(offset)) {
    fitted <- fitted + offset
  }
  list(
    coefficients = fit$coefficients,
    residuals = fit$residuals,
    effects = fit$effects,
    rank = fit$qr$rank,
    fitted.values = fitted,
    assign = attr(x, "assign"),
    qr = fit$qr,
    df.residual = n - fit$qr$rank
  )
}

# Weights must not be ignored: the fit would be a different one.
check_unused <- function(names, call) {
  names <- as.character(names)
  abbreviated <- nchar(names) > 1L & startsWith("weights", names)
  weights <- !is.na(names) & (names %in% c("w", "wt") | abbreviated)
  if (any(weights)) {
    abort_argument(names[weights][[1L]], sprintf(
      paste(
        "gpu_lm_fit() has no argument '%s': multiply the rows of 'x' and 'y' by the square roots",
        "of the weights, as in gpu_lm_fit(sqrt(w) * x, sqrt(w) * y)"
      ),
      names[weights][[1L]]
    ), call)
  }
}

# If both are arrays, their dimensions must agree.
check_conformable <- function(y, offset, call) {
  if (is.array(y) && is.array(offset) && !identical(dim(y), dim(offset))) {
    abort_dimension(base_text("non-conformable arrays"), call)
  }
}

check_method <- function(method, call) {
  if (!identical(method, "qr")) {
    warn(
      "argument",
      base_text("method = '%s' is not supported. Using 'qr'", method, domain = "R-stats"), call
    )
  }
}

accepts_singular <- function(singular.ok, call) {
  flag <- as_flag(singular.ok)
  if (is.na(flag)) {
    abort_argument("singular.ok", base_text("missing value where TRUE/FALSE needed"), call)
  }
  flag
}

# As lm.fit(), this takes a matrix and converts nothing else, except S4 matrices.
as_design <- function(x, call) {
  if (isS4(x)) {
    x <- as_matrix(x, call)
  }
  if (!is.matrix(x)) {
    text <- base_text("'x' must be a matrix", domain = "R-stats")
    many <- is.list(x) || length(dim(x)) > 2L
    abort_type(if (many) paste0(text, ", or an array of dimensions c(n, p, k)") else text, call)
  }
  if (is.complex(x)) {
    abort_complex("stats::lm.fit() of each part", call)
  }
  as_double(x, call)
}

# The fit, with base R's names for its parts. `y` is a vector or a matrix of doubles.
least_squares <- function(x, y, tol, where, call) {
  finite <- c(x = all_finite(x, where, call), y = all_finite(y, where, call))
  if (!all(finite)) {
    operand <- names(finite)[!finite][[1L]]
    abort("non_finite", base_text("NA/NaN/Inf in '%s'", operand), call, argument = operand)
  }
  dx <- dim(x)
  n <- dx[[1L]]
  p <- dx[[2L]]
  q <- if (is.matrix(y)) ncol(y) else 1L
  qr <- .External(alloc_matrix, n, p)
  effects <- .External(alloc_matrix, n, q)
  residuals <- .External(alloc_matrix, n, q)
  coefficients <- .External(alloc_matrix, p, q)
  done <- unwrap(
    native_lm(x, dx, y, c(n, q), tol, qr, effects, residuals, coefficients, where), call
  )
  attributes(qr) <- attributes(x)
  dimnames(qr) <- permute_colnames(dimnames(x), done$pivot)
  attributes(residuals) <- attributes(effects) <- attributes(y)
  kept <- seq_len(done$rank)
  columns <- colnames(x) %||% paste0("x", seq_len(p))
  effect_names <- c(columns[done$pivot[kept]], rep.int("", n - done$rank))
  coefficients[done$pivot, ] <- coefficients
  coefficients[done$pivot[seq_len(p) > done$rank], ] <- NA
  if (is.matrix(y)) {
    dimnames(coefficients) <- list(columns, colnames(y))
    dimnames(effects) <- list(effect_names, colnames(y))
  } else {
    dim(coefficients) <- NULL
    names(coefficients) <- columns
    names(effects) <- effect_names
  }
  list(
    coefficients = coefficients, residuals = residuals, effects = effects,
    qr = structure(
      list(qr = qr, qraux = done$qraux, pivot = done$pivot, tol = tol, rank = done$rank),
      class = "qr"
    )
  )
}
