# Products with at least one operand on a device.

# op(x) op(y); y = NULL is the symmetric product. An ordinary operand is copied to the other's
# device.
product_resident <- function(x, y, op, call) {
  tx <- op == "crossprod"
  ty <- op == "tcrossprod"
  if (is.null(y) && op != "matmult") {
    n <- x@Dim[[1L + tx]]
    names <- product_dimnames(x, x, op, x@Dim, x@Dim)
    return(make_resident(
      function(out, where) native_resident_syrk(tx, x@pointer, out, where), c(n, n), names, x, call
    ))
  }
  beside <- if (is_resident(x)) x else y
  if (!is_resident(x)) x <- as_number_array(x, call)
  if (!is_resident(y)) y <- as_number_array(y, call)
  shape <- product_shape(x, y, op)
  if (shape$x[[2L - tx]] != shape$y[[1L + ty]]) {
    abort_dimension(base_text("non-conformable arguments"), call)
  }
  names <- product_dimnames(x, y, op, shape$x, shape$y)
  x <- factor_beside(x, shape$x, beside, call)
  y <- factor_beside(y, shape$y, beside, call)
  check_together(x, y, call)
  make_resident(
    function(out, where) native_resident_gemm(tx, ty, x@pointer, y@pointer, out, where),
    c(shape$x[[1L + tx]], shape$y[[2L - ty]]), names, beside, call
  )
}

# An operand of a product, viewed with dimensions `shape`.
factor_beside <- function(x, shape, beside, call) {
  if (is_resident(x)) {
    return(x)
  }
  if (is.complex(x)) {
    abort_complex("as.matrix() of the gpu_matrix", call)
  }
  # Base R sees such a vector as 0 x 0, so it has no values.
  if (all(shape == 0)) x <- x[0L]
  upload_beside(as_double(x, call), shape, NULL, beside, call)
}

#' @rdname gpu_matrix-methods
#' @export
setMethod(
  "%*%", signature("gpu_matrix", "gpu_matrix"),
  function(x, y) product_resident(x, y, "matmult", sys.call())
)

#' @rdname gpu_matrix-methods
#' @export
setMethod(
  "%*%", signature("gpu_matrix", "ANY"),
  function(x, y) product_resident(x, y, "matmult", sys.call())
)

#' @rdname gpu_matrix-methods
#' @export
setMethod(
  "%*%", signature("ANY", "gpu_matrix"),
  function(x, y) product_resident(x, y, "matmult", sys.call())
)

#' @rdname gpu_matrix-methods
#' @export
setMethod("crossprod", signature("gpu_matrix", "gpu_matrix"), function(x, y = NULL, ...) {
  product_resident(x, y, "crossprod", sys.call())
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("crossprod", signature("gpu_matrix", "ANY"), function(x, y = NULL, ...) {
  product_resident(x, y, "crossprod", sys.call())
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("crossprod", signature("ANY", "gpu_matrix"), function(x, y = NULL, ...) {
  product_resident(x, y, "crossprod", sys.call())
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("tcrossprod", signature("gpu_matrix", "gpu_matrix"), function(x, y = NULL, ...) {
  product_resident(x, y, "tcrossprod", sys.call())
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("tcrossprod", signature("gpu_matrix", "ANY"), function(x, y = NULL, ...) {
  product_resident(x, y, "tcrossprod", sys.call())
})

#' @rdname gpu_matrix-methods
#' @export
setMethod("tcrossprod", signature("ANY", "gpu_matrix"), function(x, y = NULL, ...) {
  product_resident(x, y, "tcrossprod", sys.call())
})
