# What else base R does with a matrix. Where it is natural the answer stays on the device;
# elsewhere the matrix is fetched and base R computes.

#' Base R's functions and matrices on the GPU
#'
#' Base R's functions take a [gpu_matrix] as they take a matrix. Of some the answer is on the device again; for others the matrix
#' is fetched, and the answer is plain R data. Functions that cannot know of the class stop: give them `as.matrix(x)`.
#'
#' @section What stays on the device:
#' [Products, factorizations and systems][gpu_matrix-methods], [QR][gpu_qr_factor], [arithmetic][gpu_matrix_arithmetic], and
#' [parts][gpu_matrix_parts], and with them `head()`, `tail()`, `aperm()`, `sweep()`, `pmin()`, `pmax()`, `unname()`,
#' `dimnames<-`, `Re()`, `Mod()`, `Conj()`.
#'
#' Covariances and correlations of columns are products of the centred matrix: see [gpu_matrix_stats].
#'
#' @section What is computed on the device, and comes home:
#' [Sums, extremes and norms][gpu_matrix_sums], `determinant()`, `det()`, `rcond()`, `diag()`.
#'
#' @section What base R computes of the fetched matrix:
#' Comparisons and logic, `is.na()` and its kin, `as.vector()` and its kin, `as.array()`, `as.table()`, `as.data.frame()`,
#' `apply()`, `scale()`, `outer()`, `kronecker()`, `summary()`, `format()`, `c()` of one as the first argument, `rep()`, `rev()`,
#' `sort()`, `order()`, `unique()`, `duplicated()`, `na.omit()`, `cumsum()`, `diff()`, `rowsum()`, `cut()`, `median()`,
#' `quantile()`, `ifelse()`, `isSymmetric()`, `kappa()`, `svd()`, `eigen()`, `dist()`, `prcomp()`,
#' `lapply()` and its kin, `data.frame()`, `image()`, `persp()`, `boxplot()`, `hist()`, `plot()`.
#'
#' @section What needs as.matrix():
#' * `x` in a model's formula, as in `lm(y ~ x)`; `write.csv()`, `cat()`, `formatC()`, `match()`, `\%in\%`, `fft()`, `atan2()`,
#'   `choose()`, `dnorm()` and its kin: they are no generics, and stop in their own words.
#' * `cor()`, `cov()`, `lm.fit()` and `lm.wfit()`, which stop and name what to call: see [gpu_matrix_stats]. `var(x)` is `cov(x)`.
#' * `which.max()` and `which.min()`: `which.max(as.vector(x))`.
#' * `all.equal(x, y)` with only `y` a `gpu_matrix`: it names the differences of the classes. `all.equal(y, x)` compares values.
#'   With package Matrix attached, `x` may be of one of its classes.
#' * `c(1, x)` and `unlist(list(1, x))`: lists with `x` in them, as with any object that is no vector. `max(1, x)` and its kin
#'   stop, `max(x, 1)` does not.
#' * `m[i, j] <- x`, where `m` is a plain matrix or one of package Matrix; they stop.
#' * `drop(x)`, which leaves a matrix with one column as it is: take `x[, 1]`.
#' * `identical(x, y)`: the same matrix in memory. To compare values use `all.equal(x, y)`, `all(x == y)` or testthat's
#'   `expect_equal(x, y)`.
#' * `typeof(x)`, `storage.mode(x)` and `is.double(x)`, which tell what R holds, and that is no numbers.
#' * Functions of base R that are no S3 generics, such as `rowSums()`, `norm()`, `qr.coef()` and before R 4.4 `crossprod()`, in a
#'   session or a package that neither attaches nor imports this one.
#'
#' @section Plain data:
#' Attaching this package, or importing all of it, makes S4 generics of `backsolve()`, `chol2inv()`, `crossprod()` and
#' `tcrossprod()` (before R 4.4), `diag()`, `diag<-`, `forwardsolve()`, `norm()`, `rcond()`, `rowSums()` and its kin, `solve()`,
#' and `qr.coef()` and its kin. With plain data they are base R's functions, errors and their calls too, and an error in an
#' argument keeps its class. Three differences are left:
#' * an error that `chol2inv()` or `rcond()` themselves find, or that is found in data with a class, names another call;
#' * `as.qr()`, which in base R stops in any case, looks at its argument first;
#' * methods that others set on these generics for data without a class are not looked for.
#'
#' Generics of the same names that package Matrix brings, when it is attached later, are its own.
#'
#' @param x,a,object A `gpu_matrix`.
#' @param perm As in [base::aperm()].
#' @param ... As in base R.
#' @seealso [gpu_matrix]
#' @examples
#' g <- as_gpu(matrix(c(3, 1, 2, 5, 4, 6), 2))
#' tail(g, 1)
#' sort(g)
#' z <- t(g) - colMeans(g)
#' tcrossprod(z) / (nrow(g) - 1)
#' @name gpu_matrix_base
NULL

# The method of a generic whose answer base R computes.
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

# By this order(), rank(), factor() and others know what to do.
#' @export
xtfrm.gpu_matrix <- function(x) as.matrix(x)

#' @rawNamespace if (getRversion() >= "4.3.0") S3method(mtfrm, gpu_matrix)
mtfrm.gpu_matrix <- function(x) as.vector(x)

# ifelse() turns what it tests into this.
setAs("gpu_matrix", "logical", function(from) {
  from <- as.matrix(from)
  storage.mode(from) <- "logical"
  from
})
setAs("gpu_matrix", "numeric", function(from) as.vector(from))

#' @export
is.array.gpu_matrix <- function(x) TRUE

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
