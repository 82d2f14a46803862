# What else base R does with a matrix. Where it is natural the answer stays on the device; elsewhere the matrix is fetched and
# base R computes.

#' Base R's functions and matrices on the GPU
#'
#' Base R's functions take a [gpu_matrix] as they take a matrix. Of some the answer is on the device again; for others the matrix
#' is fetched, and the answer is plain R data. Functions that cannot know of the class stop: give them `as.matrix(x)`.
#'
#' @section What stays on the device:
#' [Products, factorizations and systems][gpu_matrix-methods], [QR][gpu_qr_factor], [arithmetic][gpu_matrix_arithmetic], and
#' [parts][gpu_matrix_parts], and with them `head()`, `tail()`, `aperm()`, `sweep()`, `pmin()`, `pmax()`, `unname()`,
#' `dimnames<-`, `Re()`, `Mod()`, `Conj()`, `cor()`, `cov()` and `var()`. Of these three, methods but Pearson's and what leaves
#' NA out are computed by base R, and brought back.
#'
#' @section What is computed on the device, and comes home:
#' [Sums, extremes and norms][gpu_matrix_sums], `determinant()`, `det()`, `rcond()`, `diag()`.
#'
#' @section What base R computes of the fetched matrix:
#' Comparisons and logic, `is.na()` and its kin, `as.vector()` and its kin, `as.array()`, `as.table()`, `as.data.frame()`,
#' `apply()`, `scale()`, `outer()`, `kronecker()`, `summary()`, `format()`, `c()` of one as the first argument, `rep()`, `rev()`,
#' `sort()`, `order()`, `unique()`, `duplicated()`, `na.omit()`, `cumsum()`, `diff()`, `rowsum()`, `cut()`, `median()`,
#' `quantile()`, `which.max()`, `which.min()`, `ifelse()`, `isSymmetric()`, `kappa()`, `svd()`, `eigen()`, `dist()`, `prcomp()`,
#' `lm.fit()`, `lapply()` and its kin, `data.frame()`, `image()`, `persp()`, `boxplot()`, `hist()`, `plot()`.
#'
#' @section What needs as.matrix():
#' * `x` in a model's formula, as in `lm(y ~ x)`; `write.csv()`, `cat()`, `formatC()`, `match()`, `\%in\%`, `fft()`, `atan2()`,
#'   `choose()`, `dnorm()` and its kin: they are no generics, and stop in their own words.
#' * `c(1, x)` and `unlist(list(1, x))`: lists with `x` in them, as with any object that is no vector. `max(1, x)` and its kin
#'   stop, `max(x, 1)` does not.
#' * `m[i, j] <- x`, where `m` is a plain matrix or one of package Matrix; they stop.
#' * `drop(x)`, which leaves a matrix with one column as it is: take `x[, 1]`.
#' * `identical(x, y)`: the same matrix in memory. To compare values use `all.equal(x, y)` or `all(x == y)`.
#' * `typeof(x)`, `storage.mode(x)` and `is.double(x)`, which tell what R holds, and that is no numbers.
#' * Functions of base R that are no S3 generics, such as `rowSums()`, `norm()`, `qr.coef()` and before R 4.4 `crossprod()`, in a
#'   session or a package that neither attaches nor imports this one.
#'
#' @param x,a,object A `gpu_matrix`.
#' @param target,current As in [base::all.equal()].
#' @param perm As in [base::aperm()].
#' @param y,use,method,na.rm As in [stats::cor()]. Either operand may be a `gpu_matrix`.
#' @param offset,tol,singular.ok As in [stats::lm.fit()], which fits by the CPU; see [gpu_lm_fit()].
#' @param ... As in base R.
#' @seealso [gpu_matrix]
#' @examples
#' g <- as_gpu(matrix(c(3, 1, 2, 5, 4, 6), 2))
#' tail(g, 1)
#' sort(g)
#' cor(t(g))
#' @name gpu_matrix_base
NULL

# S4 generics are called by their name in base R from within methods: they would put words of their own before an error in an
# argument.

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
setAs("gpu_matrix", "numeric", function(from) as.matrix(from))

#' @export
is.array.gpu_matrix <- function(x) TRUE

#' @export
c.gpu_matrix <- function(...) do.call(c, lapply(list(...), function(x) if (isS4(x)) as.vector(x) else x))

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
  abort_dimension("a gpu_matrix has dimnames and no names: take as.matrix() of it first", sys.call())
}
