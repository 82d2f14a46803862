# Products of which an operand is a matrix on disk, or a factor over several GPUs.

# Matrices that are tiles elsewhere, and whose products and solutions are plain.
is_in_tiles <- function(x) is_tile_matrix(x) || is_gpu_factor(x)

# op(x) op(y), named and shaped as by base R. The other operand is in memory, and so is the product.
product_tiles <- function(x, y, op, memory, call) {
  on_left <- is_in_tiles(x)
  if (on_left && (is_in_tiles(y) || is.null(y) && op != "matmult")) {
    if (is_gpu_factor(x)) {
      abort_argument("y", "a factor of chol_gpus() is multiplied with a matrix in memory, not with itself or another factor: take as.matrix() of one", call)
    }
    text <- "a matrix on disk is multiplied with one in memory, not with itself or another one on disk: read one, or block after block of it, by as.matrix(x) or x[i, j]"
    abort_argument("y", text, call)
  }
  # Beside a gpu_matrix, too, the product is in R's memory, where a solution with a factor on disk is.
  other <- as_number_array(plain(if (on_left) y else x), call)
  if (is.complex(other)) {
    abort_complex(if (is_gpu_factor(if (on_left) x else y)) "as.matrix() of the factor" else "as.matrix() of the matrix on disk", call)
  }
  shape <- if (on_left) product_shape(x, other, op) else product_shape(other, y, op)
  if (shape$x[[2L - (op == "crossprod")]] != shape$y[[1L + (op == "tcrossprod")]]) {
    abort_dimension(base_text("non-conformable arguments"), call)
  }
  names <- if (on_left) product_dimnames(x, other, op, shape$x, shape$y) else product_dimnames(other, y, op, shape$x, shape$y)
  values <- as_double(other, call)
  extents <- as.double(if (on_left) shape$y else shape$x)
  # A vector that base R sees as 0 x 0 brings no values along.
  if (all(extents == 0)) values <- values[0L]
  attributes(values) <- list(dim = extents)
  # With the matrix on disk on the left: x y', and where it is on the right the transpose, (x y)' = y'x'.
  turned <- if (on_left) op == "tcrossprod" else op != "crossprod"
  if (turned) values <- transposed(values)
  tiles <- if (on_left) x else y
  transpose <- if (on_left) op == "crossprod" else op != "tcrossprod"
  out <- if (is_gpu_factor(tiles)) {
    multiply_spread(tiles, transpose, values, call)
  } else {
    multiply_tiles(tiles, transpose, values, memory, if (on_left) "x" else "y", call)
  }
  if (!on_left) out <- transposed(out)
  dimnames(out) <- names
  out
}

# A row or a column needs no copy of its values in another order.
transposed <- function(x) {
  if (any(dim(x) == 1L)) {
    dim(x) <- rev(dim(x))
    x
  } else {
    t(x)
  }
}

# x y or x'y of a double matrix y; the user knows x by the name of `argument`.
multiply_tiles <- function(x, transpose, y, memory, argument, call) {
  dim <- as.double(dim(x))
  out <- .External(alloc_matrix, dim[[1L + transpose]], dim(y)[[2L]])
  reply <- native_tiles_product(.subset2(x, "path"), dim, transpose, y, as.double(dim(y)), out, memory$bytes, memory$how)
  unwrap_named(reply, c(x = argument), call)
  out
}

#' Products with a matrix on disk
#'
#' `x %*% y`, `crossprod(x, y)` and `tcrossprod(x, y)` of a matrix that [tile_matrix()] has written to a file, or of a Cholesky factor that [chol_file()] made, and a
#' matrix or vector in memory, on either side: each is what base R gives for `as.matrix()` of it, which is never in memory.
#'
#' The tiles are read while others are multiplied, each of them once. Of a symmetric matrix stored by its upper triangle a tile serves for its mirror image,
#' too, so that half of the matrix is read; of a factor the tiles below the diagonal are no work. The operand in memory, and the product, are whole in memory:
#' so the fewer columns they have, the better. With many, a GPU holds as many columns as `gpu_memory` has room for, and the tiles pass by once for each such part.
#'
#' With the factor \eqn{R} of a covariance matrix \eqn{K = R^T R}{K = R'R}, `crossprod(r, z)` of independent standard normal numbers `z` is a sample from the normal distribution
#' with covariance \eqn{K}.
#'
#' The operators have no room for more arguments. [gpu_matmult()], [gpu_crossprod()] and [gpu_tcrossprod()] are the same with `host_memory`,
#' `gpu_memory` and `device`.
#'
#' @section Value:
#' A double matrix, with dimnames as base R gives them. A [gpu_matrix] as the other operand is fetched, and the product is a plain matrix.
#'
#' @section Failure:
#' `cudafactor_error_dimension`: the operands do not conform. `cudafactor_error_type`: the other operand is not numeric, or complex.
#' `cudafactor_error_argument`: both operands are on disk, which includes `crossprod(x)`; the file holds what an interrupted factorization, or one of a matrix that is not positive
#' definite, has left; too little memory. `cudafactor_error_file_corrupt`, `cudafactor_error_file_in_use` and others of files: see [tile_matrix].
#' NA, NaN and infinite entries propagate as in base R, for which zeros of a factor are numbers like others.
#'
#' @section Accuracy:
#' As of [gpu_matmult()], in the precision of the file.
#'
#' @section Device:
#' `"auto"` is the first GPU for 2048 rows and columns and more, and 64 columns of the product: reading takes longer than arithmetic with fewer.
#'
#' @param x,y A `tile_matrix`, and a numeric or logical matrix or vector, in either order. A vector counts as a row or a column, as in [base::matmult].
#' @param ... Ignored.
#' @seealso [gpu_matmult()], [tile_matrix_solve], [chol_solve()]
#' @examples
#' file <- tempfile(fileext = ".tiles")
#' place <- seq(0, 1, length.out = 300)
#' k <- tile_matrix(lazy_covariance(place, "exponential", range = 0.2), file, tile = 64)
#' y <- sin(9 * place)
#' a <- as.matrix(k)
#' all.equal(k %*% y, a %*% y)
#' all.equal(y %*% k, y %*% a)
#'
#' # In memory for three of its 15 tiles
#' all.equal(gpu_matmult(k, y, host_memory = "96KiB", device = "cpu"), a %*% y)
#'
#' # Two samples of the Gaussian process at these places
#' r <- chol_file(k)
#' samples <- crossprod(r, matrix(rnorm(600), 300))
#' dim(samples)
#' unlink(file)
#' @name tile_matrix_products
NULL

# The operators, which say nothing of memory.
operate_tiles <- function(x, y, op, call) product_tiles(x, y, op, budget(list(), call), call)

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "ANY"), function(x, y) operate_tiles(x, y, "matmult", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("ANY", "tile_matrix"), function(x, y) operate_tiles(x, y, "matmult", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "tile_matrix"), function(x, y) operate_tiles(x, y, "matmult", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "gpu_matrix"), function(x, y) operate_tiles(x, y, "matmult", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("gpu_matrix", "tile_matrix"), function(x, y) operate_tiles(x, y, "matmult", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "ANY"), function(x, y = NULL, ...) operate_tiles(x, y, "crossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("ANY", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "crossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "crossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "gpu_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "crossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("gpu_matrix", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "crossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "ANY"), function(x, y = NULL, ...) operate_tiles(x, y, "tcrossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("ANY", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "tcrossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "tcrossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "gpu_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "tcrossprod", sys.call()))

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("gpu_matrix", "tile_matrix"), function(x, y = NULL, ...) operate_tiles(x, y, "tcrossprod", sys.call()))
