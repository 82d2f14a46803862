# QR factorization on a device. The factor stays there in LAPACK's form.

qr_resident <- function(x, tol, call) {
  if (!is_finite_resident(x, call)) {
    abort_foreign("x", 1L, call)
  }
  tol <- as_number(tol %||% if (x@precision == "single") 1e-04 else 1e-07, "tol", call)
  handle <- .External(new_handle)
  done <- unwrap(native_resident_qr(x@pointer, tol, handle, how_there(call)), call)
  names <- x@Dimnames
  if (!is.null(names[[2L]])) {
    names[[2L]] <- names[[2L]][done$pivot]
  }
  new("gpu_qr_factor",
    factor = new_resident(handle, x@Dim, names, x@precision, x@device),
    tau = done$tau, turned = done$turned, rank = done$rank, pivot = done$pivot
  )
}

is_qr_resident <- function(x) isS4(x) && inherits(x, "gpu_qr_factor")

# The factors of the reflectors of LINPACK's Q, as many as the rank.
reflector_factors <- function(f) {
  tau <- f@tau
  tau[f@turned] <- 2
  tau[seq_len(f@rank)]
}

qr_form_resident <- function(f, complete, scales, call) {
  n <- f@factor@Dim[[1L]]
  complete <- is_complete(complete, call)
  columns <- if (complete) n else min(f@factor@Dim)
  if (!is.null(scales)) {
    scales <- column_scales(if (complete) scales else scales[seq_len(columns)], columns, call)
    if (!all(is.finite(scales))) {
      abort_foreign("Dvec", 5L, call)
    }
  }
  q <- make_resident(
    function(out, where) native_resident_qr_form(
      f@factor@pointer, reflector_factors(f), columns, out, where
    ),
    c(n, columns), NULL, f@factor, call
  )
  if (is.null(scales)) q else product_resident(q, diag(scales, columns), "matmult", call)
}

qr_apply_resident <- function(f, y, transposed, call) {
  rotate_resident(f, y, call, function(y, out, where) {
    native_resident_qr_apply(f@factor@pointer, reflector_factors(f), transposed, y, out, where)
  })
}

# Projects y on columns first, ..., first + count - 1 of Q, counted from 0.
qr_project_resident <- function(f, y, first, count, call) {
  rotate_resident(f, y, call, function(y, out, where) {
    native_resident_qr_project(
      f@factor@pointer, reflector_factors(f), as.double(c(first, count)), y, out, where
    )
  })
}

# Applies `native` to y and keeps the attributes of y; the result for a vector is an ordinary
# vector.
rotate_resident <- function(f, y, call, native) {
  if (!is_resident(y)) {
    y <- as_rotated(y, list(lapack = FALSE), call)
  }
  there <- qr_side_beside(y, f@factor@Dim[[1L]], f@factor, call)
  out <- make_resident(
    function(out, where) native(there@pointer, out, where), there@Dim, dimnames(there), f@factor,
    call
  )
  if (is.matrix(y)) {
    return(out)
  }
  values <- as.double(out)
  attributes(values) <- attributes(y)
  values
}

# A right-hand side of n rows, on the device of `beside`.
qr_side_beside <- function(y, n, beside, call) {
  if (NROW(y) != n) {
    abort_dimension(
      base_text("'qr' and 'y' must have the same number of rows", domain = "R-base"), call
    )
  }
  if (is_resident(y)) {
    check_together(beside, y, call)
  } else {
    y <- upload_beside(
      as_double(y, call), c(n, NCOL(y)), if (is.matrix(y)) dimnames(y), beside, call
    )
  }
  if (!is_finite_resident(y, call)) {
    abort_foreign("y", 5L, call)
  }
  y
}

# Coefficients on the device, with `missing` for columns beyond the rank.
qr_coef_resident <- function(f, y, missing, call) {
  d <- f@factor@Dim
  if (!is_resident(y)) {
    y <- if (is.matrix(y)) y else as_real_matrix_of_one(y, call)
  }
  there <- qr_side_beside(y, d[[1L]], f@factor, call)
  rows <- f@factor@Dimnames[[2L]]
  if (!is.null(rows)) {
    rows[f@pivot] <- rows
  }
  columns <- dimnames(there)[[2L]]
  make_resident(
    function(out, where) native_resident_qr_coef(
      f@factor@pointer, f@tau[seq_len(f@rank)], f@pivot, missing, there@pointer, out, where
    ),
    c(d[[2L]], there@Dim[[2L]]), if (!is.null(rows) || !is.null(columns)) list(rows, columns),
    f@factor, call
  )
}

# A vector as a matrix of one column.
as_real_matrix_of_one <- function(y, call) {
  y <- as_real_matrix(y, call, "base::qr.coef()")
  dimnames(y) <- NULL
  y
}

home_unless_matrix <- function(x, y) if (is.matrix(y)) x else drop(as.matrix(x))

#' @rdname gpu_qr_factor
#' @export
qr.gpu_matrix <- function(x, tol, LAPACK = FALSE, ...) {
  call <- sys.call()
  if (!isFALSE(LAPACK) && is_lapack(LAPACK, call)) {
    abort_no_lapack(call)
  }
  qr_resident(x, if (!missing(tol)) tol, call)
}

abort_no_lapack <- function(call) {
  abort_argument(
    "LAPACK",
    "LAPACK = TRUE is not available for a gpu_matrix: use gpu_qr(as.matrix(x), LAPACK = TRUE)", call
  )
}

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.coef", "gpu_qr_factor", function(qr, y) {
  home_unless_matrix(qr_coef_resident(qr, y, NA_real_, sys.call()), y)
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.qy", "gpu_qr_factor", function(qr, y) qr_apply_resident(qr, y, FALSE, sys.call()))

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.qty", "gpu_qr_factor", function(qr, y) qr_apply_resident(qr, y, TRUE, sys.call()))

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.fitted", "gpu_qr_factor", function(qr, y, k = qr$rank) {
  call <- sys.call()
  k <- if (missing(k)) qr@rank else as_count(k)
  if (is.na(k) || k > qr@rank || k < 0L) {
    abort_argument("k", base_text("'k' is too large", domain = "R-base"), call)
  }
  qr_project_resident(qr, y, 0, k, call)
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.resid", "gpu_qr_factor", function(qr, y) {
  qr_project_resident(qr, y, qr@rank, qr@factor@Dim[[1L]] - qr@rank, sys.call())
})

#' @rdname gpu_qr_factor
#' @aliases qr.coef,ANY,gpu_matrix-method qr.qy,ANY,gpu_matrix-method qr.qty,ANY,gpu_matrix-method
#' @aliases qr.fitted,ANY,gpu_matrix-method qr.resid,ANY,gpu_matrix-method
#' @aliases qr.coef,gpu_qr_factor,gpu_matrix-method qr.qy,gpu_qr_factor,gpu_matrix-method
#' @aliases qr.qty,gpu_qr_factor,gpu_matrix-method qr.fitted,gpu_qr_factor,gpu_matrix-method
#' @aliases qr.resid,gpu_qr_factor,gpu_matrix-method
#' @name gpu_qr_factor
NULL

# An ordinary factorization, or one of package Matrix, with a right-hand side on a device: its own
# function computes on the host. The first method resolves the ambiguity for a factor and a
# right-hand side that are both on a device.
for (name in c("qr.coef", "qr.qy", "qr.qty", "qr.fitted", "qr.resid")) {
  setMethod(name, signature("gpu_qr_factor", "gpu_matrix"), getMethod(name, "gpu_qr_factor")@.Data)
  compute <- as.name(name)
  setMethod(name, signature("ANY", "gpu_matrix"), as.function(if (name == "qr.fitted") {
    c(
      alist(qr = , y = , k = qr$rank),
      bquote(if (missing(k)) .(compute)(qr, as.matrix(y)) else .(compute)(qr, as.matrix(y), k))
    )
  } else {
    c(alist(qr = , y = ), bquote(.(compute)(qr, as.matrix(y))))
  }))
}
rm(name, compute)

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.Q", "gpu_qr_factor", function(qr, complete = FALSE, Dvec) {
  qr_form_resident(qr, complete, if (!missing(Dvec)) Dvec, sys.call())
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.R", "gpu_qr_factor", function(qr, complete = FALSE, ...) {
  call <- sys.call()
  triangle_of(
    qr, if (is_complete(complete, call)) qr@factor@Dim[[1L]] else min(qr@factor@Dim), call
  )
})

# The first `rows` rows of R.
triangle_of <- function(qr, rows, call) {
  f <- qr@factor
  names <- dimnames(f)
  if (!is.null(names[[1L]])) {
    names[[1L]] <- names[[1L]][seq_len(rows)]
  }
  make_resident(
    function(out, where) native_resident_qr_triangle(f@pointer, rows, qr@turned, out, where),
    c(rows, f@Dim[[2L]]), names, f, call
  )
}

#' @rdname gpu_qr_factor
#' @export
dim.gpu_qr_factor <- function(x) x@factor@Dim

#' @rdname gpu_qr_factor
#' @export
print.gpu_qr_factor <- function(x, ...) {
  cat(sprintf("<gpu_qr_factor: QR of a %d x %d matrix, rank %d, %s, %s>\n",
    x@factor@Dim[[1L]], x@factor@Dim[[2L]], x@rank, x@factor@precision, x@factor@device))
  invisible(x)
}

#' @rdname gpu_qr_factor
#' @export
setMethod("show", "gpu_qr_factor", function(object) print.gpu_qr_factor(object))
