# Other functions of base R. Some leave a result on the device; for others base R computes on the
# host.

#' Base R's functions and matrices on the GPU
#'
#' Base R's functions accept a [gpu_matrix] as they accept a matrix. Some leave the result on the
#' device. Others copy the matrix to the host and return ordinary R data. Functions that cannot know
#' of the class stop: use `as.matrix(x)`.
#'
#' @section Results on the device:
#' [Products, factorizations and systems][gpu_matrix-methods], [QR][gpu_qr_factor],
#' [arithmetic][gpu_matrix_arithmetic] and [parts][gpu_matrix_parts]. Also `head()`, `tail()`,
#' `aperm()`, `sweep()`, `pmin()`, `pmax()`, `unname()`, `dimnames<-`, `Re()`, `Mod()`, `Conj()`.
#'
#' Covariances and correlations of columns are products of the centred matrix: see
#' [gpu_matrix_stats].
#'
#' @section Computed on the device, ordinary results:
#' [Sums, extremes and norms][gpu_matrix_sums] other than the 2-norm, `determinant()`, `det()`,
#' `rcond()`, `diag()`.
#'
#' @section Computed by base R on the host:
#' Comparisons and logic, `is.na()` and related functions, `as.vector()` and related functions,
#' `as.array()`, `as.table()`, `as.data.frame()`, `apply()`, `scale()`, `outer()`, `kronecker()`,
#' `summary()`, `format()`, `c()` with a `gpu_matrix` as first argument, `rep()`, `rev()`, `sort()`,
#' `order()`, `unique()`, `duplicated()`, `na.omit()`, `cumsum()`, `diff()`, `rowsum()`, `cut()`,
#' `median()`, `quantile()`, `ifelse()`, `isSymmetric()`, `dist()`, `princomp()`, `cmdscale()`,
#' `subset()`, `lapply()` and related functions, `data.frame()`, `image()`, `persp()`, `boxplot()`,
#' `hist()`, `plot()`.
#'
#' @section Copied to the host, computed by this package:
#' `eigen()`, `svd()`, `La.svd()`, `norm(x, "2")` and `prcomp()`. They compute where
#' `device = "auto"` takes an ordinary matrix: see [gpu_matrix_spectral].
#'
#' `kappa()` of a matrix in double precision copies R of a QR factorization on the device, unless
#' `exact = TRUE`. Other cases of `kappa()` copy the matrix.
#'
#' @section Functions that need as.matrix():
#' * `x` in a model formula, as in `lm(y ~ x)`; `write.csv()`, `cat()`, `formatC()`, `match()`,
#'   `%in%`, `fft()`, `atan2()`, `choose()`, `beta()`, `besselJ()`, `dnorm()` and related
#'   functions, `mahalanobis()`, `cov.wt()`, `acf()`, `complete.cases()`, `nchar()`, `filter()`,
#'   `heatmap()` and tests such as `chisq.test()`: they are not generic, and stop with base R's
#'   errors. `for (v in x)` stops too.
#' * `marginSums(x, 1)` and `proportions(x, 1)`, which stop with an error of this package. Without a
#'   margin they accept the matrix.
#' * Operators with a time series, a date, a difference of times or a data frame. They stop with
#'   base R's error, and its warning names incompatible methods.
#' * `tril()`, `triu()`, `band()`, `expm()` and others of package Matrix, which have no method for
#'   the class.
#' * `ts()`, `sprintf()` and `list2DF()`: they do not stop, and take the object for one value.
#' * `cor()`, `cov()`, `lm.fit()` and `lm.wfit()`, which stop and name a replacement: see
#'   [gpu_matrix_stats]. `var(x)` stops with base R's error.
#' * `which.max()` and `which.min()`: use `which.max(as.vector(x))`.
#' * `all.equal(x, y)` with only `y` a `gpu_matrix` reports different classes. `all.equal(y, x)`
#'   compares values. If package Matrix is attached, `x` may have one of its classes.
#' * `c(1, x)` and `unlist(list(1, x))` give lists with `x` in them. `max(1, x)` and related
#'   functions stop, `max(x, 1)` does not.
#' * `m[i, j] <- x` stops if `m` is an ordinary matrix or one of package Matrix.
#' * `drop(x)` returns a matrix with one column unchanged: use `x[, 1]`.
#' * `identical(x, y)` tests for the same matrix in memory. To compare values use `all.equal(x, y)`,
#'   `all(x == y)` or testthat's `expect_equal(x, y)`.
#' * `is.qr(qr(x))` is `FALSE`, because base R asks for a list. `as.qr()` makes base R's object.
#' * `round(digits = 1, x)` and `signif(digits = 1, x)` stop in R 4.2: the matrix must come first.
#' * S3 methods for `%*%` and `crossprod()`, which R has from 4.3 and 4.4 on, are not called if an
#'   operand is a `gpu_matrix`. The product is that of `as.matrix()` of the other operand.
#' * `typeof(x)`, `storage.mode(x)` and `is.double(x)` describe R's object, which holds no numbers.
#' * Base R functions that are not S3 generics, such as `rowSums()`, `norm()`, `qr.coef()` and
#'   before R 4.4 `crossprod()`, in a session or package that neither attaches nor imports this one.
#'
#' @section Ordinary data:
#' Attaching this package, or importing all of it, makes S4 generics of `backsolve()`, `chol2inv()`,
#' `crossprod()` and `tcrossprod()` (before R 4.4), `diag()`, `diag<-`, `eigen()`, `forwardsolve()`,
#' `La.svd()`, `norm()`, `rcond()`, `rowSums()` and related functions, `solve()`, `svd()`, and
#' `qr.coef()` and related functions. For ordinary data they are base R's functions, with the same
#' errors and calls, and an error in an argument keeps its class. There are three differences:
#' * an error that `chol2inv()`, `rcond()` or `svd()` themselves find, or that is found in data with
#'   a class, names another call;
#' * `as.qr()`, which always stops in base R, evaluates its argument first;
#' * methods that others set on these generics for data without a class are ignored.
#'
#' Generics of the same names in package Matrix, if it is attached later, are separate.
#'
#' @param x,a,object A `gpu_matrix`.
#' @param perm As in [base::aperm()].
#' @param ... As in base R.
#' @return As for base R's functions; a matrix is a `gpu_matrix` if the function is listed below
#' under results on the device.
#' @seealso [gpu_matrix]
#' @examples
#' g <- as_gpu(matrix(c(3, 1, 2, 5, 4, 6), 2))
#' tail(g, 1)
#' sort(g)
#' z <- t(g) - colMeans(g)
#' tcrossprod(z) / (nrow(g) - 1)
#' @name gpu_matrix_base
NULL

# A method that copies the matrix to the host and calls base R.
by_base <- function(x, ...) {
  generic <- .Generic
  compute <- get(generic, envir = get(".GenericDefEnv"))
  x <- as.matrix(x)
  as_user(group_call(sys.call(), generic), compute(x, ...))
}

#' @export
as.array.gpu_matrix <- by_base

#' @export
as.table.gpu_matrix <- by_base

#' @export
as.integer.gpu_matrix <- by_base

#' @export
as.logical.gpu_matrix <- by_base

#' @export
as.complex.gpu_matrix <- by_base

#' @export
rep.gpu_matrix <- by_base

#' @export
unique.gpu_matrix <- by_base

#' @export
duplicated.gpu_matrix <- by_base

#' @export
anyDuplicated.gpu_matrix <- by_base

#' @export
sort.gpu_matrix <- by_base

#' @export
format.gpu_matrix <- by_base

#' @export
diff.gpu_matrix <- by_base

#' @export
rowsum.gpu_matrix <- by_base

# As base R's method for a matrix.
#' @export
subset.gpu_matrix <- function(x, subset, select, drop = FALSE, ...) {
  columns <- TRUE
  if (!missing(select)) {
    names <- colnames(x)
    numbers <- as.list(seq_len(ncol(x)))
    names(numbers) <- names
    columns <- eval(substitute(select), numbers, parent.frame())
  }
  rows <- TRUE
  if (!missing(subset)) {
    rows <- if (is_resident(subset)) as.vector(as.matrix(subset)) else subset
    if (!is.logical(rows)) {
      abort_argument("subset", gettext("'subset' must be logical", domain = "R-base"), sys.call())
    }
    rows <- rows & !is.na(rows)
  }
  x[rows, columns, drop = drop]
}

#' @export
cut.gpu_matrix <- by_base

#' @rawNamespace S3method(stats::na.omit, gpu_matrix)
na.omit.gpu_matrix <- function(object, ...) stats::na.omit(as.matrix(object), ...)

#' @rawNamespace S3method(graphics::image, gpu_matrix)
image.gpu_matrix <- by_base

#' @rawNamespace S3method(graphics::persp, gpu_matrix)
persp.gpu_matrix <- by_base

#' @rawNamespace S3method(graphics::boxplot, gpu_matrix)
boxplot.gpu_matrix <- by_base

#' @rawNamespace S3method(graphics::contour, gpu_matrix)
contour.gpu_matrix <- by_base

# order(), rank(), factor() and others use this.
#' @export
xtfrm.gpu_matrix <- function(x) as.matrix(x)

#' @rawNamespace if (getRversion() >= "4.3.0") S3method(mtfrm, gpu_matrix)
mtfrm.gpu_matrix <- function(x) as.vector(x)

# ifelse() coerces its test to this.
setAs("gpu_matrix", "logical", function(from) {
  from <- as.matrix(from)
  storage.mode(from) <- "logical"
  from
})
setAs("gpu_matrix", "numeric", function(from) as.vector(from))

#' @export
is.array.gpu_matrix <- function(x) {
  # marginSums() would give its sums over a margin the class of `x` without the slots.
  caller <- sys.parent()
  if (caller > 0L && identical(sys.function(caller), base::marginSums) &&
    length(sys.frame(caller)$margin)) {
    abort_ordinary("marginSums()", sys.call(caller))
  }
  TRUE
}

# The error of a function that cannot take the class.
abort_ordinary <- function(what, call) {
  text <- "%s needs an ordinary matrix, not a gpu_matrix: use as.matrix() first"
  abort_type(sprintf(text, what), call)
}

#' @export
c.gpu_matrix <- function(...) {
  do.call(c, lapply(list(...), function(x) if (isS4(x)) as.vector(x) else x))
}

#' @rdname gpu_matrix_base
#' @export
aperm.gpu_matrix <- function(a, perm = NULL, ...) {
  if (is.null(perm) || identical(as.double(perm), c(2, 1))) {
    t(a)
  } else if (identical(as.double(perm), c(1, 2))) {
    a
  } else {
    as_user(sys.call(), aperm(as.matrix(a), perm, ...))
  }
}

#' @rdname gpu_matrix_base
#' @export
isSymmetric.gpu_matrix <- function(object, ...) isSymmetric(as.matrix(object), ...)

#' @rdname gpu_matrix_base
#' @importFrom utils tail
#' @export
tail.gpu_matrix <- function(x, ...) utils::tail.matrix(x, ...)

#' @export
Complex.gpu_matrix <- function(z) {
  switch(.Generic,
    Re = , Conj = z,
    Mod = abs(z),
    get(.Generic, envir = baseenv())(as.matrix(z))
  )
}

#' @export
`names<-.gpu_matrix` <- function(x, value) {
  abort_dimension(
    "a gpu_matrix has dimnames and no names: use as.matrix(x) first", sys.call()
  )
}
