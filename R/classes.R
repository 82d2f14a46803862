# The S4 classes. R sources files in alphabetical order, so this file comes before those with
# methods.

#' Matrices that stay on the GPU
#'
#' `as_gpu(x)` copies a matrix to the GPU, where it stays until R's garbage collector releases it.
#' `gpu_matrix()` makes one from data, as [base::matrix()] does. `is_gpu_matrix()` tests for the
#' class.
#' Base R's functions work on it: `x %*% y`, `crossprod()`, `chol()`, `qr()`, `solve()`,
#' `determinant()` and others. A result that is a matrix stays on the GPU too, so a chain of calls
#' copies nothing. `as.matrix()` copies a matrix back. `vignette("resident", "cudafactor")` has a
#' tour.
#'
#' If one operand is a `gpu_matrix`, ordinary matrices and vectors are copied to its device, in its
#' precision. Two `gpu_matrix` operands must be on one device and have one precision.
#'
#' A result that base R gives as a vector or a number is an ordinary one, such as the solution for a
#' right-hand side that is a vector. A result that base R gives as a matrix stays, even with one
#' column (`x %*% b`) or one entry (`crossprod(b)`). Use `sum()` or `as.vector()` for ordinary
#' numbers, for example for [stats::optim()].
#'
#' The functions of this package (`gpu_chol()` and so on) accept a `gpu_matrix`. Most compute on its
#' device, return a `gpu_matrix`, and disregard `device` and `precision`. These functions differ:
#' * [gpu_eigen()], [gpu_svd()], [gpu_prcomp()], [gpu_ginv()] and the 2-norm of [gpu_norm()] copy it
#'   to the host. They decompose it where `device = "auto"` takes an ordinary matrix, in double
#'   precision: see [gpu_matrix_spectral]. They disregard `device` and `precision` too. [gpu_ginv()]
#'   returns a `gpu_matrix` on the device of the matrix, and the others return ordinary data.
#' * [gpu_eigen()] and [gpu_svd()] with `k` multiply it with vectors on its device, and return
#'   ordinary data.
#' * [gpu_lm_fit()] copies it to the host, obeys `device` and `precision`, and returns ordinary
#'   data.
#'
#' Without a GPU the same class uses host memory and gives the same answers. [gpu_matrix_base] lists
#' the functions of base R that work on it.
#'
#' A call may return while the GPU is still computing. To time it, time `as.matrix()` of the result.
#'
#' Assigning to a part or to the dimnames of a `gpu_matrix` does not change its copies. The
#' exception is `in_place = TRUE` of [chol_update()] and [chol_downdate()], which changes every name
#' of the matrix.
#'
#' `saveRDS()`, saved workspaces and parallel workers copy the dimensions and names, but not the
#' values. Use [gpu_save()] and [gpu_restore()], or `as.matrix()`. A `gpu_matrix` without values can
#' be printed; anything else is the error `cudafactor_error_stale`.
#'
#' @section Comparing:
#' `all.equal()`, and `expect_equal()` and `expect_identical()` of \pkg{testthat}, compare values.
#' `identical()` tells whether two objects are one matrix in memory. The article *Matrices on the
#' GPU* (`vignettes/articles/gpu-matrices.Rmd` in the sources) describes identities and hashes.
#'
#' @section In packages and scripts:
#' Some base functions are not generic: `crossprod()` before R 4.4, `rowSums()`, `norm()`,
#' `qr.coef()` and others. They work on a `gpu_matrix` only after `library(cudafactor)`, or with
#' `import(cudafactor)` in the NAMESPACE of your package. Nothing is masked: for other data they
#' give base R's answers. With `cudafactor::as_gpu()` or `importFrom(cudafactor, as_gpu)` alone,
#' base R's own function stops, for example with `requires numeric/complex matrix/vector arguments`.
#'
#' @section Errors:
#' * `cudafactor_error_type`: `x` is complex, text or not a matrix, or is a matrix of dates or of
#'   differences of times.
#' * `cudafactor_error_dimension`: `x` is an array of more than two dimensions.
#' * `cudafactor_error_argument`: operands on different devices or of different precision.
#' * `cudafactor_error_stale`: the values are not in this R session, or were released by
#'   [gpu_free()].
#' * Errors of the device: see [cudafactor_conditions].
#'
#' @section Device:
#' For `as_gpu()`, `"auto"` is the first GPU, for a matrix of any size. If there is none, or if the
#' matrix does not fit, it is the CPU. The model by which other functions choose a device (see
#' [cudafactor-options]) is not used.
#'
#' @param x A numeric or logical matrix, a vector (one column), or an object that `as.matrix()`
#'   makes a matrix. A `gpu_matrix` is copied to another device or precision if these are given.
#' @param device `"auto"` (the default, see below), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"`
#'   (the second, and so on). `"cuda"` is an error if there is no GPU.
#' @param precision `"double"` (the default) or `"single"`, for storage and computation.
#' @param ... Ignored.
#' @slot pointer Reference to the values.
#' @slot Dim,Dimnames As for an ordinary matrix; `Dimnames` is a list of two.
#' @slot precision,device As the arguments, but `device` is the one in use: `"cpu"`, `"cuda:0"`.
#' @return `as_gpu()` and `gpu_matrix()`: an object of the S4 class `gpu_matrix`. Integers and
#' logicals become doubles. NA stays NA, in single precision too; arithmetic with it gives NA or
#' NaN.
#'
#' `as.matrix()`, `as.vector()`, `as.numeric()`: ordinary R data, doubles. `print()` shows a corner
#' of at most 6 rows and columns. `is_gpu_matrix()`: `TRUE` or `FALSE`.
#' @seealso [gpu_mem()], [gpu_free()], [gpu_save()], [cudafactor-options]
#' @examples
#' x <- matrix(rnorm(20), 5, 4, dimnames = list(NULL, letters[1:4]))
#' g <- as_gpu(x)
#' g
#' s <- crossprod(g)
#' solve(s, 1:4)
#' as.matrix(chol(s))
#' @name gpu_matrix
#' @aliases gpu_matrix-class
#' @exportClass gpu_matrix
#' @import methods
setClass("gpu_matrix",
  slots = c(
    pointer = "externalptr", Dim = "integer", Dimnames = "list", precision = "character",
    device = "character"
  ),
  prototype = list(
    Dim = c(0L, 0L), Dimnames = list(NULL, NULL), precision = "double", device = "cpu"
  )
)

#' QR factorizations that stay on the GPU
#'
#' `qr()` and [gpu_qr()] of a [gpu_matrix] give an object of class `gpu_qr_factor`, whose factor
#' stays on the device of the matrix. `qr.coef()`, `qr.qty()`, `qr.qy()`, `qr.fitted()`,
#' `qr.resid()`, `qr.Q()`, `qr.R()`, `qr.X()`, `qr.solve()` and `solve()` work on it as on base R's
#' `qr` object. Rank, order of columns and signs are the same. So do [gpu_qr.Q()], [gpu_qr.qy()] and
#' [gpu_qr.qty()].
#'
#' `as.qr()` converts it to base R's object of class `"qr"` in ordinary memory, for base R's code
#' and for saving.
#'
#' A matrix of right-hand sides, ordinary or on the device, gives a `gpu_matrix`; a vector gives a
#' vector.
#'
#' @section Errors:
#' * `cudafactor_error_non_finite`: NA, NaN or Inf in the matrix or in `y`.
#' * `cudafactor_error_singular`: `solve()` or `qr.solve()` with a rank below the number of columns.
#' * `cudafactor_error_dimension`: `y` has the wrong number of rows.
#' * `cudafactor_error_argument`: `LAPACK = TRUE`, which needs an ordinary matrix.
#'
#' @param x A `gpu_matrix`; for `dim()`, `print()`, `as.qr()` and `$` a `gpu_qr_factor`.
#' @param tol A column whose remaining norm falls below `tol` times its norm is moved to the end.
#'   The default is 1e-7, or 1e-4 in single precision.
#' @param LAPACK Must be `FALSE`.
#' @param qr,a,object A `gpu_qr_factor`. For `qr.solve()` one operand may be a `gpu_matrix` and the
#'   other an ordinary one.
#' @param y,b A vector or a matrix with as many rows as the matrix that was factored, ordinary or a
#'   `gpu_matrix`. `solve()` without `b` gives the inverse.
#' @param complete Should Q be square, or R have as many rows as the matrix?
#' @param k The number of columns to fit with, at most the rank.
#' @param ncol The number of columns of the matrix to rebuild; columns beyond those of the matrix
#'   are columns of Q.
#' @param Dvec A vector of factors for the columns of Q.
#' @param ... Ignored.
#' @slot factor R above the diagonal and the reflectors below, in LAPACK's form: a `gpu_matrix`.
#' @slot tau,turned The factors of the reflectors, and the columns for which LINPACK has the
#'   reflector of a unit vector and LAPACK has none.
#' @slot rank,pivot As in base R's `qr` object.
#' @return `qr()`: an object with the slots below; its `dim()` are the dimensions of the matrix.
#' `as.qr()`: a list of `qr`, `rank`, `qraux` and `pivot`, as [base::qr()] gives. The others: as for
#' base R's functions; coefficients of columns beyond the rank are NA.
#' @seealso [base::qr()], [gpu_qr()]
#' @examples
#' x <- cbind(1, 1:6, c(2, 7, 1, 8, 2, 8))
#' f <- qr(as_gpu(x))
#' qr.coef(f, 6:1)
#' qr.R(f)
#' all.equal(as.qr(f), base::qr(x))
#' @name gpu_qr_factor
#' @aliases gpu_qr_factor-class
#' @exportClass gpu_qr_factor
setClass("gpu_qr_factor", slots = c(
  factor = "gpu_matrix", tau = "numeric", turned = "integer", rank = "integer", pivot = "integer"
))

# A matrix on disk is an S3 object, marked as one of an S4 class. The class must exist before the
# methods of base R's functions that become S4 generics. setOldClass() would do, but not when
# roxygen2 sources these files.
#' @exportClass tile_matrix
setClass("tile_matrix")

# The same holds for a factor in the memory of several GPUs.
#' @exportClass gpu_factor
setClass("gpu_factor")
