# Reductions of a gpu_matrix. Results are ordinary numbers and vectors.

#' Sums, extremes and norms of matrices on the GPU
#'
#' `sum()`, `min()`, `max()`, `range()`, `mean()`, `rowSums()`, `colSums()`, `rowMeans()`,
#' `colMeans()`, `norm()` and `anyNA()` of a [gpu_matrix] are computed on its device.
#'
#' `prod()`, `any()` and `all()` copy the matrix to the host, where base R computes them.
#' `norm(x, "2")`, the spectral norm, copies it too, and computes where `device = "auto"` takes an
#' ordinary matrix: see [gpu_matrix_spectral].
#'
#' @section Accuracy:
#' Sums are computed in double precision for both precisions. Their order depends only on the
#' dimensions, so a result has the same bits from run to run. `is.na()` of a result is the same as
#' in base R, but NA and NaN may be exchanged.
#'
#' @section Errors:
#' Base R's errors, of class `cudafactor_error_argument` or `cudafactor_error_type`. The minimum or
#' maximum of no numbers is infinite, with the warning `cudafactor_warning_empty`.
#'
#' @param x A `gpu_matrix`.
#' @param ... More operands of `sum()` and related functions, each a `gpu_matrix` or ordinary data.
#' @param na.rm Remove NA and NaN? `FALSE` by default.
#' @param dims Must be 1: a matrix has no other choice.
#' @param trim As in [base::mean()]; if it is not 0 the matrix is copied to the host.
#' @param type As in [base::norm()].
#' @return Ordinary numbers and vectors, with base R's names.
#' @seealso [gpu_matrix], [base::colSums()], [base::norm()]
#' @examples
#' g <- as_gpu(matrix(1:6, 2, dimnames = list(c("a", "b"), NULL)))
#' rowSums(g)
#' colMeans(g)
#' range(g)
#' norm(g, "F")
#' @name gpu_matrix_sums
NULL

# One number for all entries, or for each row or column.
fold_resident <- function(f, x, call, lines = "all", skip = FALSE) {
  unwrap(native_resident_fold(f, lines, skip, x@pointer, how_there(call)), call)$values
}

# R puts the operands' values into the call of such a method; an error shows `x` instead.
summary_call <- function(call, generic) {
  call <- group_call(call, generic)
  call[-1L] <- lapply(
    as.list(call)[-1L],
    function(operand) if (is_resident(operand) || is_in_tiles(operand)) quote(x) else operand
  )
  call
}

#' @rdname gpu_matrix_sums
#' @export
Summary.gpu_matrix <- function(x, ..., na.rm = FALSE) {
  call <- summary_call(sys.call(), .Generic)
  operands <- list(x, ...)
  compute <- get(.Generic, envir = baseenv())
  # range() also has the argument `finite`.
  if (.Generic %in% c("prod", "any", "all") || .Generic == "range" &&
    "finite" %in% names(operands)) {
    values <- lapply(operands, plain)
    return(as_user(call, do.call(compute, c(values, list(na.rm = na.rm)))))
  }
  na.rm <- isTRUE(as.logical(na.rm))
  folds <- switch(.Generic, range = c("min", "max"), .Generic)
  parts <- lapply(operands, function(x) {
    if (!is_resident(x)) {
      return(plain(x))
    }
    # Operands without numbers add nothing; base R warns if no operand has any.
    if (.Generic != "sum" && (prod(x@Dim) == 0 || na.rm && fold_resident("count", x, call) == 0)) {
      return(numeric())
    }
    vapply(folds, fold_resident, 0, x = x, call = call, skip = na.rm, USE.NAMES = FALSE)
  })
  if (all(lengths(parts) == 0L)) {
    for (f in folds) {
      warn(
        "empty",
        base_text(sprintf(
          "no non-missing arguments to %s; returning %s", f, c(min = "Inf", max = "-Inf")[[f]]
        )),
        call
      )
    }
    return(unname(c(min = Inf, max = -Inf)[folds]))
  }
  as_user(call, do.call(compute, c(parts, list(na.rm = na.rm))))
}

#' @rdname gpu_matrix_sums
#' @export
mean.gpu_matrix <- function(x, trim = 0, na.rm = FALSE, ...) {
  call <- sys.call()
  if (!identical(trim, 0)) {
    return(mean(as.vector(x), trim = trim, na.rm = na.rm, ...))
  }
  na.rm <- isTRUE(na.rm)
  count <- if (na.rm) fold_resident("count", x, call) else prod(x@Dim)
  fold_resident("sum", x, call, skip = na.rm) / count
}

#' @export
anyNA.gpu_matrix <- function(x, recursive = FALSE) {
  fold_resident("count", x, sys.call()) < prod(x@Dim)
}

# Sums or means of rows or columns.
line_sums <- function(x, lines, na.rm, dims, mean, call) {
  if (!identical(as.double(dims), 1)) {
    abort_argument("dims", base_text("invalid '%s'", "dims", domain = "R-base"), call)
  }
  na.rm <- as_flag(na.rm)
  if (is.na(na.rm)) {
    abort_argument("na.rm", base_text("invalid '%s' argument", "na.rm"), call)
  }
  out <- fold_resident("sum", x, call, lines, na.rm)
  if (mean) {
    each <- x@Dim[[if (lines == "rows") 2L else 1L]]
    out <- out / if (na.rm) fold_resident("count", x, call, lines) else each
  }
  names(out) <- x@Dimnames[[if (lines == "rows") 1L else 2L]]
  out
}

#' @rdname gpu_matrix_sums
#' @export
setMethod("rowSums", "gpu_matrix", function(x, na.rm = FALSE, dims = 1, ...) {
  line_sums(x, "rows", na.rm, dims, FALSE, sys.call())
})

#' @rdname gpu_matrix_sums
#' @export
setMethod("colSums", "gpu_matrix", function(x, na.rm = FALSE, dims = 1, ...) {
  line_sums(x, "columns", na.rm, dims, FALSE, sys.call())
})

#' @rdname gpu_matrix_sums
#' @export
setMethod("rowMeans", "gpu_matrix", function(x, na.rm = FALSE, dims = 1, ...) {
  line_sums(x, "rows", na.rm, dims, TRUE, sys.call())
})

#' @rdname gpu_matrix_sums
#' @export
setMethod("colMeans", "gpu_matrix", function(x, na.rm = FALSE, dims = 1, ...) {
  line_sums(x, "columns", na.rm, dims, TRUE, sys.call())
})

norm_resident <- function(x, type, call) {
  if (!(is.character(type) && length(type) >= 1L)) {
    abort_argument("type", base_text("'type' must be a character string"), call)
  }
  largest <- function(values) if (length(values)) max(values) else 0
  switch(EXPR = type[[1L]],
    M = , m = fold_resident("largest", x, call),
    O = , o = , "1" = largest(fold_resident("magnitudes", x, call, "columns")),
    I = , i = largest(fold_resident("magnitudes", x, call, "rows")),
    F = , f = , E = , e = euclidean_norm(x, call),
    "2" = spectral_norm(x, how_there(call), call),
    # Its message depends on the version of R.
    as_base(base::norm(matrix(0, 1L, 1L), type), invalid("type"), call)
  )
}

euclidean_norm <- function(x, call) {
  squares <- fold_resident("squares", x, call)
  if (is.na(squares) || squares > 1e-280 && squares < Inf) {
    return(sqrt(squares))
  }
  # The sum of squares overflowed or vanished; the norms of columns do not.
  values <- unwrap(native_resident_column_norms(x@pointer, how_there(call)), call)$values
  scale <- if (length(values)) max(values) else 0
  if (scale == 0 || scale == Inf) scale else scale * sqrt(sum((values / scale)^2))
}

#' @rdname gpu_matrix_sums
#' @export
setMethod(
  "norm", signature("gpu_matrix", "missing"),
  function(x, type, ...) norm_resident(x, "O", sys.call())
)

#' @rdname gpu_matrix_sums
#' @export
setMethod(
  "norm", signature("gpu_matrix", "character"),
  function(x, type, ...) norm_resident(x, type, sys.call())
)

#' @rdname gpu_matrix_sums
#' @export
setMethod("norm", signature("gpu_matrix", "ANY"), function(x, type, ...) {
  abort_argument("type", base_text("'type' must be a character string"), sys.call())
})

# Package Matrix has methods for these classes too. Unloading a package removes all methods of its
# methods' classes, so ours would take Matrix's along. The next method does the work instead.
removeMethod("norm", signature("ANY", "missing"))

#' @rdname gpu_matrix_sums
#' @export
setMethod("norm", signature("ANY", "ANY"), function(x, type, ...) {
  if (missing(type)) norm(x, type = "O", ...) else base::norm(x, type, ...)
})
