# Products with a matrix on disk, or with a factor over several GPUs.

# Matrices whose tiles are not in R's memory. Their products and solutions are ordinary matrices.
is_in_tiles <- function(x) is_tile_matrix(x) || is_gpu_factor(x)

# op(x) op(y) with base R's names and dimensions. The other operand and the product are in memory.
product_tiles <- function(x, y, op, memory, call) {
  on_left <- is_in_tiles(x)
  if (on_left && (is_in_tiles(y) || is.null(y) && op != "matmult")) {
    if (is_gpu_factor(x)) {
      text <- paste(
        "one operand must be a matrix in memory, but both are a factor of chol_gpus():",
        "use as.matrix() for one of them"
      )
      abort_argument("y", text, call)
    }
    text <- paste(
      "one operand must be a matrix in memory, but both are on disk:",
      "read one by as.matrix(x), or in blocks by x[i, j]"
    )
    abort_argument("y", text, call)
  }
  # A gpu_matrix is copied to the host, where the product is.
  other <- as_number_array(plain(if (on_left) y else x), call)
  if (is.complex(other)) {
    kind <- if (is_gpu_factor(if (on_left) x else y)) "factor" else "matrix on disk"
    abort_complex(sprintf("as.matrix() of the %s", kind), call)
  }
  shape <- if (on_left) product_shape(x, other, op) else product_shape(other, y, op)
  if (shape$x[[2L - (op == "crossprod")]] != shape$y[[1L + (op == "tcrossprod")]]) {
    abort_dimension(base_text("non-conformable arguments"), call)
  }
  names <- if (on_left) {
    product_dimnames(x, other, op, shape$x, shape$y)
  } else {
    product_dimnames(other, y, op, shape$x, shape$y)
  }
  values <- as_double(other, call)
  dims <- as.double(if (on_left) shape$y else shape$x)
  # Base R takes a vector that fits in no way as 0 x 0, without values.
  if (all(dims == 0)) values <- values[0L]
  attributes(values) <- list(dim = dims)
  # The native routine has the matrix on disk on the left. If it is on the right, the transpose of
  # the product is computed: (x y)' = y'x'.
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

# The transpose. That of a row or a column has its values in the same order.
transposed <- function(x) {
  if (any(dim(x) == 1L)) {
    dim(x) <- rev(dim(x))
    x
  } else {
    t(x)
  }
}

# x y or x'y for a double matrix y; `argument` is the user's name for x.
multiply_tiles <- function(x, transpose, y, memory, argument, call) {
  dim <- as.double(dim(x))
  out <- .External(alloc_matrix, dim[[1L + transpose]], dim(y)[[2L]])
  reply <- native_tiles_product(
    .subset2(x, "path"), dim, transpose, y, as.double(dim(y)), out, memory$bytes, memory$how
  )
  unwrap_named(reply, c(x = argument), call)
  out
}

#' Products with a matrix on disk
#'
#' `x %*% y`, `crossprod(x, y)` and `tcrossprod(x, y)` multiply a matrix on disk with a matrix or
#' vector in memory, in either order. The matrix on disk is a [tile_matrix()] or a Cholesky factor
#' by [chol_file()]. Each result is the one base R gives for `as.matrix()` of it, but the matrix on
#' disk is never in memory as a whole.
#'
#' Tiles are read while others are multiplied, and each tile is read once. For a symmetric matrix
#' that is stored by its upper triangle, only that half is read. For a factor, the zero tiles below
#' the diagonal cost nothing.
#'
#' The operand in memory and the product are in memory as a whole, so products with few columns suit
#' best. A GPU holds as many columns at once as `gpu_memory` allows. Each such group of columns
#' reads all tiles again.
#'
#' Let \eqn{R} be the factor of a covariance matrix \eqn{K = R^T R}{K = R'R}, and `z` independent
#' standard normal numbers. Then `crossprod(r, z)` is a sample from the normal distribution with
#' covariance \eqn{K}.
#'
#' [gpu_matmult()], [gpu_crossprod()] and [gpu_tcrossprod()] compute the same, and have the
#' arguments `host_memory`, `gpu_memory` and `device`.
#'
#' @return A double matrix with dimnames as in base R. A [gpu_matrix] operand is copied to the host,
#'   and the product is an ordinary matrix.
#'
#' @section Errors:
#' - `cudafactor_error_dimension`: the operands do not conform.
#' - `cudafactor_error_type`: the other operand is not numeric, or is complex.
#' - `cudafactor_error_argument`: both operands are on disk, as in `crossprod(x)`; too little
#'   memory; or the file holds an incomplete or failed factorization.
#' - `cudafactor_error_file_corrupt`, `cudafactor_error_file_in_use` and other errors of files: see
#'   [tile_matrix].
#'
#' NA, NaN and infinite entries propagate as in base R, which multiplies the zeros of a factor too.
#'
#' @section Accuracy:
#' As for [gpu_matmult()], in the precision of the file.
#'
#' @section Device:
#' `"auto"` uses the first GPU, if it should be faster, for matrices of 2048 rows and columns or
#' more and products of 64 columns or more. With fewer, reading takes longer than arithmetic.
#'
#' @param x,y A `tile_matrix` and a numeric or logical matrix or vector, in either order. A vector
#'   counts as a row or a column, as in [base::matmult].
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

# The operators, which have no arguments for memory.
operate_tiles <- function(x, y, op, call) product_tiles(x, y, op, budget(list(), call), call)

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "ANY"), function(x, y) {
  operate_tiles(x, y, "matmult", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("ANY", "tile_matrix"), function(x, y) {
  operate_tiles(x, y, "matmult", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "tile_matrix"), function(x, y) {
  operate_tiles(x, y, "matmult", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("tile_matrix", "gpu_matrix"), function(x, y) {
  operate_tiles(x, y, "matmult", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("%*%", signature("gpu_matrix", "tile_matrix"), function(x, y) {
  operate_tiles(x, y, "matmult", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "ANY"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "crossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("ANY", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "crossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "crossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("tile_matrix", "gpu_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "crossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("crossprod", signature("gpu_matrix", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "crossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "ANY"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "tcrossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("ANY", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "tcrossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "tcrossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("tile_matrix", "gpu_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "tcrossprod", sys.call())
})

#' @rdname tile_matrix_products
#' @export
setMethod("tcrossprod", signature("gpu_matrix", "tile_matrix"), function(x, y = NULL, ...) {
  operate_tiles(x, y, "tcrossprod", sys.call())
})
