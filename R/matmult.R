#' Matrix products
#'
#' - `gpu_matmult(x, y)` computes `x %*% y`.
#' - `gpu_crossprod(x, y)` computes `t(x) %*% y`, and `t(x) %*% x` if `y` is `NULL`.
#' - `gpu_tcrossprod(x, y)` computes `x %*% t(y)`, and `x %*% t(x)` if `y` is `NULL`.
#'
#' @return A double matrix, or a complex one if an operand is complex. It is never dropped to a
#'   vector. Dimnames and their names are those of base R. With `y = NULL` the result is exactly
#'   symmetric.
#'
#' Where base R's result is NA or NaN, so is this one. Which of the two it is, is not guaranteed.
#'
#' A vector counts as a row or a column by base R's rules, see [base::matmult] and
#' [base::crossprod()]. A sparse matrix, or another S4 matrix, is first made dense by `as.matrix()`.
#' An S4 class without an `as.matrix()` method is an error. A complex product is computed as four
#' real products.
#'
#' @section Errors:
#' - `cudafactor_error_dimension`: the operands do not conform.
#' - `cudafactor_error_type`: an operand is not numeric, or one is complex and the other a
#'   [gpu_matrix].
#'
#' Errors of the device are listed in [cudafactor_conditions].
#'
#' @section Accuracy: The error \eqn{|C - AB|} of a sum of \eqn{k} terms is at most
#' \eqn{k \epsilon |A| |B|}, entry by entry. With `precision = "double"` \eqn{\epsilon} is
#' \eqn{2^{-53}}. A GPU may compute large products from 8-bit integers, within the same bound: see
#' [cudafactor-options]. All others are computed in double precision. With `"single"` the operands
#' and each result are rounded to single precision, and \eqn{\epsilon} is \eqn{2^{-24}}.
#'
#' @section Device: `"auto"` uses a GPU if that should be faster. The estimate counts \eqn{2mnk}
#' operations (half of that for symmetric products) and the transfers, see [cudafactor-options]. For
#' matrices on disk see [tile_matrix_products].
#'
#' @param x,y Numeric, logical or complex matrices or vectors, or a [gpu_matrix]. `y = NULL` stands
#'   for `x`. One of them may be a matrix on disk, see [tile_matrix_products].
#' @param device `"auto"`, `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"` (the second GPU), and so
#'   on. The default is the option `cudafactor.device`, and `"auto"` if that is unset. `"cuda"` is
#'   an error if there is no GPU.
#' @param precision `"double"` (the default) or `"single"`. Single precision computes with about 7
#'   digits and returns doubles. Numbers above 3.4e38 become Inf.
#' @param host_memory,gpu_memory Memory limits in bytes, or text such as `"8GiB"`. Only for matrices
#'   on disk, see [chol_file()].
#' @references LAPACK and BLAS routines of the same work: `dgemm`, `dsyrk`.
#'
#' Golub, G. H. and Van Loan, C. F. (2013) *Matrix Computations*, 4th edition, section 1.3. Johns
#' Hopkins.
#' @seealso [base::matmult], [base::crossprod()]
#' @examples
#' x <- matrix(rnorm(12), 4, 3, dimnames = list(NULL, c("a", "b", "c")))
#' gpu_matmult(x, 1:3)
#' gpu_crossprod(x)
#' all.equal(gpu_tcrossprod(x), tcrossprod(x))
#' @export
gpu_matmult <- function(x, y, device = getOption("cudafactor.device", "auto"), precision = "double",
                        host_memory = NULL, gpu_memory = NULL) {
  out <- if (is.null(host_memory) && is.null(gpu_memory)) {
    .External(plain_product, FALSE, FALSE, x, y, device, precision)
  }
  if (is.null(out)) {
    return(product(x, y, "matmult", device, precision, sys.call(), host_memory, gpu_memory))
  }
  if (is.list(out)) {
    out <- unwrap(out[[1L]], sys.call(), out = out[[2L]])
  }
  if (!(is.null(dimnames(x)) && is.null(dimnames(y)))) {
    dimnames(out) <- product_dimnames(x, y, "matmult", dim(x), dim(y))
  }
  out
}

#' @rdname gpu_matmult
#' @export
gpu_crossprod <- function(x, y = NULL, device = getOption("cudafactor.device", "auto"),
                          precision = "double", host_memory = NULL, gpu_memory = NULL) {
  out <- if (is.null(host_memory) && is.null(gpu_memory)) {
    .External(plain_product, TRUE, FALSE, x, y, device, precision)
  }
  if (is.null(out)) {
    return(product(x, y, "crossprod", device, precision, sys.call(), host_memory, gpu_memory))
  }
  if (is.list(out)) {
    out <- unwrap(out[[1L]], sys.call(), out = out[[2L]])
  }
  if (!(is.null(dimnames(x)) && is.null(dimnames(y)))) {
    y <- y %||% x
    dimnames(out) <- product_dimnames(x, y, "crossprod", dim(x), dim(y))
  }
  out
}

#' @rdname gpu_matmult
#' @export
gpu_tcrossprod <- function(x, y = NULL, device = getOption("cudafactor.device", "auto"),
                           precision = "double", host_memory = NULL, gpu_memory = NULL) {
  out <- if (is.null(host_memory) && is.null(gpu_memory)) {
    .External(plain_product, FALSE, TRUE, x, y, device, precision)
  }
  if (is.null(out)) {
    return(product(x, y, "tcrossprod", device, precision, sys.call(), host_memory, gpu_memory))
  }
  if (is.list(out)) {
    out <- unwrap(out[[1L]], sys.call(), out = out[[2L]])
  }
  if (!(is.null(dimnames(x)) && is.null(dimnames(y)))) {
    y <- y %||% x
    dimnames(out) <- product_dimnames(x, y, "tcrossprod", dim(x), dim(y))
  }
  out
}

# op(x) op(y) for double vectors taken with the dimensions dx and dy; y = NULL is the symmetric
# product.
multiply <- function(x, dx, y, dy, op, device, precision, call,
                     where = how(device, precision, call)) {
  tx <- op == "crossprod"
  ty <- op == "tcrossprod"
  if (is.null(y)) {
    return(multiply_symmetric(x, dx, tx, op, device, precision, call))
  }
  if (dx[[2L - tx]] != dy[[1L + ty]]) {
    abort_dimension(base_text("non-conformable arguments"), call)
  }
  out <- .External(alloc_matrix, dx[[1L + tx]], dy[[2L - ty]])
  if (!(is.null(dimnames(x)) && is.null(dimnames(y)))) {
    dimnames(out) <- product_dimnames(x, y, op, dx, dy)
  }
  reply <- native_gemm(tx, ty, x, dx, y, dy, out, where)
  if (is.null(reply)) out else unwrap(reply, call, out = out)
}

# The product of matrices whose entries may be beyond the range of single precision: powers of two
# are multiplied to the result.
multiply_scaled <- function(x, y, op, where, single, call) {
  a <- if (single) power_of(x) else 1
  b <- if (single) power_of(y) else 1
  if (a != 1) x <- x / a
  if (b != 1) y <- y / b
  out <- multiply(x, dim(x), y, dim(y), op, call = call, where = where)
  if (a != 1 || b != 1) out * a * b else out
}

# The power of two of the largest magnitude, 1 if squares of single precision do.
power_of <- function(x) {
  largest <- if (length(x)) max(abs(range(x))) else 0
  if (largest == 0 || largest > 2^-40 && largest < 2^40) 1 else 2^floor(log2(largest))
}

multiply_symmetric <- function(x, dx, transpose, op, device, precision, call) {
  n <- dx[[1L + transpose]]
  out <- .External(alloc_matrix, n, n)
  if (!is.null(dimnames(x))) {
    dimnames(out) <- product_dimnames(x, x, op, dx, dx)
  }
  reply <- native_syrk(transpose, x, dx, out, how(device, precision, call))
  if (is.null(reply)) out else unwrap(reply, call, out = out)
}

# The three products for operands that plain.c does not take.
product <- function(x, y, op, device, precision, call, host_memory = NULL, gpu_memory = NULL) {
  if (is_in_tiles(x) || is_in_tiles(y)) {
    limits <- list(host_memory = host_memory, gpu_memory = gpu_memory, device = device)
    memory <- budget(limits, call)
    return(product_tiles(x, y, op, memory, call))
  }
  if (!(is.null(host_memory) && is.null(gpu_memory))) {
    argument <- if (is.null(gpu_memory)) "host_memory" else "gpu_memory"
    abort_argument(argument, sprintf(
      "'%s' can only be used when 'x' or 'y' is a matrix on disk; leave it out", argument
    ), call)
  }
  if (is_resident(x) || is_resident(y)) {
    return(product_resident(x, y, op, call))
  }
  symmetric <- is.null(y) && op != "matmult"
  x <- as_number_array(x, call)
  y <- if (symmetric) x else as_number_array(y, call)
  shape <- product_shape(x, y, op)
  # Base R takes a vector that fits in no way as 0 x 0, without values.
  if (length(x) && all(shape$x == 0)) x <- x[0L]
  if (length(y) && all(shape$y == 0)) y <- y[0L]
  times <- function(x, y) multiply(x, shape$x, y, shape$y, op, device, precision, call)
  if (is.complex(x) || is.complex(y)) {
    multiply_complex(x, y, times)
  } else {
    times(as_double(x, call), if (!symmetric) as_double(y, call))
  }
}

# (a + ib)(c + id) = (ac - bd) + i(ad + bc). Transposes are not conjugated, as in base R.
multiply_complex <- function(x, y, times) {
  part <- function(x, of) {
    out <- as.double(of(x))
    dim(out) <- dim(x)
    dimnames(out) <- dimnames(x)
    out
  }
  a <- part(x, Re)
  b <- part(x, Im)
  c <- part(y, Re)
  d <- part(y, Im)
  real <- times(a, c)
  out <- complex(real = real - times(b, d), imaginary = times(a, d) + times(b, c))
  attributes(out) <- attributes(real)
  out
}

# Operands that can be multiplied: numbers, but not the codes of a factor.
as_number_array <- function(x, call) {
  if (isS4(x)) {
    x <- as_plain(x, call)
  }
  number <- switch(typeof(x), double = , integer = , logical = , complex = !is.factor(x), FALSE)
  if (!number) {
    abort_type(base_text("requires numeric/complex matrix/vector arguments"), call)
  }
  x
}

# The dimensions that base R multiplies with. A vector next to a matrix becomes the row or the
# column that conforms. Two vectors give an inner product (also in crossprod) or an outer one. A
# vector that fits in no way gets the dimensions 0 x 0, or ones that do not conform.
product_shape <- function(x, y, op) {
  dx <- dim(x)
  dy <- dim(y)
  nx <- length(x)
  ny <- length(y)
  x_is_matrix <- length(dx) == 2L
  y_is_matrix <- length(dy) == 2L
  if (!x_is_matrix && !y_is_matrix) {
    dx <- if (op == "matmult") c(1, nx) else c(nx, 1)
    dy <- if (nx == 1 && op != "tcrossprod") c(1, ny) else c(ny, 1)
  } else if (!x_is_matrix) {
    row_fits <- switch(op, matmult = nx == dy[[1L]], crossprod = FALSE, tcrossprod = nx == dy[[2L]])
    column_fits <- switch(op,
      matmult = dy[[1L]] == 1L, crossprod = nx == dy[[1L]], tcrossprod = dy[[2L]] == 1L
    )
    dx <- if (row_fits) c(1, nx) else if (column_fits) c(nx, 1) else c(0, 0)
  } else if (!y_is_matrix) {
    row_fits <- switch(op, matmult = dx[[2L]] == 1L, crossprod = , tcrossprod = dx[[1L]] == 1L)
    column_fits <- switch(op,
      matmult = ny == dx[[2L]], crossprod = ny == dx[[1L]], tcrossprod = TRUE
    )
    row_first <- op == "tcrossprod"
    dy <- if (row_fits && (row_first || !column_fits)) {
      c(1, ny)
    } else if (column_fits) {
      c(ny, 1)
    } else {
      c(0, 0)
    }
  }
  list(x = dx, y = dy)
}

# Row names from x, column names from y, with the names of the dimnames; NULL if neither has any.
# A one-dimensional array gives its names if it counts as a column (x) or as a row (y).
product_dimnames <- function(x, y, op, dx, dy) {
  of_x <- dimnames(x)
  of_y <- dimnames(y)
  if (is.null(of_x) && is.null(of_y)) {
    return(NULL)
  }
  take_x <- if (length(dim(x)) == 2L) {
    if (op == "crossprod") 2L else 1L
  } else if (op == "matmult" && dx[[2L]] == 1) {
    1L
  }
  take_y <- if (length(dim(y)) == 2L) {
    if (op == "tcrossprod") 1L else 2L
  } else if (op != "tcrossprod" && dy[[1L]] == 1) {
    1L
  }
  rows <- if (!is.null(take_x)) of_x[[take_x]]
  columns <- if (!is.null(take_y)) of_y[[take_y]]
  if (is.null(rows) && is.null(columns)) {
    return(NULL)
  }
  out <- list(rows, columns)
  name_x <- if (!is.null(take_x)) names(of_x)[take_x]
  name_y <- if (!is.null(take_y)) names(of_y)[take_y]
  if (!is.null(name_x) || !is.null(name_y)) {
    names(out) <- c(name_x %||% "", name_y %||% "")
  }
  out
}
