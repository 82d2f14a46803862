# The S4 classes. R reads files by name, and this one before those that have their methods.

#' Matrices that stay on the GPU
#'
#' `as_gpu(x)` brings a matrix to the GPU, where it stays until R collects it. Base R's functions work on it as on any
#' matrix, `x %*% y`, `crossprod()`, `chol()`, `qr()`, `solve()`, `determinant()` and others; a result that is a matrix stays
#' there too, so that a chain of them moves nothing over the bus. `as.matrix()` brings a matrix back.
#' `vignette("resident", "cudafactor")` has the tour.
#'
#' A plain matrix or vector beside a `gpu_matrix` is brought to its device, in its precision. Two of them must be on one device
#' and of one precision. What base R gives as a vector or a number, such as the solution for a right-hand side that is a vector,
#' comes home; what it gives as a matrix stays, be it one column, as `x %*% b`, or one number, as `crossprod(b)`: take
#' `sum()` or `as.vector()` of that where plain numbers are wanted, as by [stats::optim()].
#' The functions of this package (`gpu_chol()` and so on) take a `gpu_matrix` too, compute where it is, whatever `device` and
#' `precision` say, and give one back; only [gpu_lm_fit()] fetches it first and gives a plain fit.
#'
#' Without a GPU the same class holds memory of the host, and gives the same answers. What other functions of base R make of it: see
#' [gpu_matrix_base].
#'
#' A call may return while the GPU is still at work, and the next one waits its turn there; what comes home is complete, so for
#' the time that a computation takes, time it with `as.matrix()` of the result, or with a number taken from it, such as its
#' determinant.
#'
#' A `gpu_matrix` is a value like any other: an assignment to a part of it or to its dimnames leaves copies alone. The one exception is
#' `in_place = TRUE` of [chol_update()] and [chol_downdate()], which every name of the matrix sees. And what R
#' saves of it, with `saveRDS()` or an image, or sends to another process, are its extents and names alone: use [gpu_save()] and
#' [gpu_restore()], or take `as.matrix()` first. One without its values can be printed; all else is the error
#' `cudafactor_error_stale`. `is(x, "gpu_matrix")` tells a `gpu_matrix` from a plain matrix.
#'
#' @section Comparing and hashing:
#' `all.equal()`, and `expect_equal()` and `expect_identical()` of \pkg{testthat}, compare values. Base R's `identical()` cannot
#' be taught to: it asks whether two objects are one matrix in memory, and of objects without values it compares dimensions and
#' names alone.
#'
#' Every matrix has an identity that no other one has, in no session, and a copy by assignment shares it. A change in place
#' renews it. What hashes R's serialization sees it, as `rlang::hash()`, `digest::digest()`, and with them \pkg{memoise},
#' \pkg{targets} and `shiny::bindCache()`: two matrices hash alike only if they are one. The same holds for factors on a device
#' and for those of [chol_gpus()]. A [tile_matrix()] has that of its file's contents, as they were when the object was made or
#' when this session last changed them by [chol_file()].
#'
#' @section In packages and scripts:
#' In R before 4.4, base R has no generic `crossprod()`, and in no version a generic `rowSums()`, `norm()`, `qr.coef()` and
#' others. Their methods here come with generics of the same names, which give base R's answers for anything else. `library(cudafactor)`
#' brings them, without masking what they did. A package of yours says `import(cudafactor)`; `cudafactor::as_gpu()` or `importFrom(cudafactor, as_gpu)` alone is not
#' enough, and base R's own function then stops with a word such as `requires numeric/complex matrix/vector arguments`.
#'
#' @section Value:
#' `as_gpu()`: an object of the S4 class `gpu_matrix`. Integers and logicals become doubles. NA stays NA, in single
#' precision too; what arithmetic makes of it is NA or NaN.
#'
#' `as.matrix()`, `as.vector()`, `as.numeric()`: plain R data, doubles. `print()` fetches a corner of at most 6 rows and columns.
#'
#' @section Failure:
#' `cudafactor_error_type`: `x` is complex, text or no matrix at all. `cudafactor_error_argument`: operands on different devices
#' or of different precision. `cudafactor_error_stale`: the values are not in this R session. Errors of the device: see
#' [cudafactor_conditions].
#'
#' @section Device:
#' `"auto"` is the first GPU where there is one, for a matrix of any size, else the CPU; a matrix that does not fit that GPU
#' stays in the memory of the host. The model by which other functions choose (see [cudafactor-options]) has no part in it: who
#' brings a matrix to the GPU means to use it there.
#'
#' @param x A numeric or logical matrix, a vector (one column), what `as.matrix()` makes a matrix of, or a `gpu_matrix`, which is brought
#'   to another device or precision where these are given.
#' @param device `"auto"`, `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"` (the second, and so on).
#'   `"cuda"` is an error where there is no GPU.
#' @param precision `"double"` or `"single"`, in which it is stored and computed with.
#' @param ... Ignored.
#' @slot pointer Where the values are.
#' @slot Dim,Dimnames As of a plain matrix; `Dimnames` is a list of two.
#' @slot precision,device As the arguments, `device` being the one in use: `"cpu"`, `"cuda:0"`.
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
#' `qr()`, and [gpu_qr()], of a [gpu_matrix] give an object of class `gpu_qr_factor`, whose factor stays where the matrix is.
#' `qr.coef()`,
#' `qr.qty()`, `qr.qy()`, `qr.fitted()`, `qr.resid()`, `qr.Q()`, `qr.R()`, `qr.X()`, `qr.solve()` and `solve()` work on it as on base R's `qr` object,
#' with the same rank, order of columns and signs.
#'
#' `as.qr()` of it is that object itself, of class `"qr"`, in plain memory: for base R's own code, and to be saved.
#'
#' A matrix of right-hand sides, plain or on the device, gives a `gpu_matrix`, a vector gives a vector. The functions
#' `gpu_qr.Q()`, `gpu_qr.qy()` and
#' `gpu_qr.qty()` take a `gpu_qr_factor` too.
#'
#' @section Value:
#' `qr()`: an object with the slots below; `dim()` of it are the extents of the matrix. `as.qr()`: a list of `qr`, `rank`, `qraux` and `pivot`,
#' as [base::qr()] gives. The others: as of base R's functions;
#' coefficients of columns beyond the rank are NA.
#'
#' @section Failure:
#' `cudafactor_error_non_finite`: NA, NaN or Inf in the matrix or in `y`. `cudafactor_error_singular`: `solve()` or `qr.solve()` with a rank
#' below the number of
#' columns. `cudafactor_error_dimension`: `y` has another number of rows. `cudafactor_error_argument`: `LAPACK = TRUE`, which
#' needs a plain matrix.
#'
#' @param x A `gpu_matrix`; for `dim()`, `print()`, `as.qr()` and `$` a `gpu_qr_factor`.
#' @param tol A column whose remaining norm falls below `tol` times its norm moves behind the others; 1e-7, or 1e-4 in single precision.
#' @param LAPACK Must be `FALSE`.
#' @param qr,a,object A `gpu_qr_factor`. Of `qr.solve()` the operands may be a `gpu_matrix` and a plain one, too.
#' @param y,b A vector or a matrix, plain or a `gpu_matrix`. `solve()` without `b` is the inverse.
#' @param complete Should Q be square, or R have as many rows as the matrix?
#' @param k How many columns to fit by, at most the rank.
#' @param ncol How many columns of the matrix; more than it has are columns of Q.
#' @param Dvec Factors for the columns of Q.
#' @param ... Ignored.
#' @slot factor R above the diagonal and the reflectors below, in LAPACK's form: a `gpu_matrix`.
#' @slot tau,turned The reflectors' factors; the columns for which LINPACK has the reflector of a unit vector, and LAPACK has none.
#' @slot rank,pivot As of base R's `qr` object.
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

# A matrix on disk is an S3 object, marked as one of an S4 class. The name is known here because
# base R's functions that become S4 generics have methods for it; setOldClass() would do the same,
# but not where roxygen2 sources these files.
#' @exportClass tile_matrix
setClass("tile_matrix")

# So is a factor in the memory of several GPUs.
#' @exportClass gpu_factor
setClass("gpu_factor")
