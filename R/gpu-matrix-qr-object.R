# Base R's functions of a qr object for a factorization on a device.

# Base R's object, in LINPACK's form: computed on the device, then copied to the host.
as_qr <- function(f, call) {
  a <- f@factor
  out <- .External(alloc_matrix, a@Dim[[1L]], a@Dim[[2L]])
  done <- unwrap(native_resident_qr_object(a@pointer, f@tau, out, how_there(call)), call)
  dimnames(out) <- dimnames(a)
  structure(list(qr = out, rank = f@rank, qraux = done$qraux, pivot = f@pivot), class = "qr")
}

#' @rdname gpu_qr_factor
#' @export
setMethod("as.qr", "gpu_qr_factor", function(x) as_qr(x, sys.call()))

#' @rdname gpu_qr_factor
#' @param name `"rank"`, `"pivot"`, `"qr"` or `"qraux"`: a part of base R's object. The last two
#'   copy the factor to the host.
#' @export
`$.gpu_qr_factor` <- function(x, name) {
  switch(name,
    rank = x@rank,
    pivot = x@pivot,
    qr = , qraux = as_qr(x, sys.call())[[name]]
  )
}

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.X", "gpu_qr_factor", function(qr, complete = FALSE,
                                            ncol = if (complete) nrow(R) else min(dim(R))) {
  call <- sys.call()
  d <- qr@factor@Dim
  columns <- if (!missing(ncol)) {
    as_count(ncol)
  } else if (is_complete(complete, call)) {
    d[[1L]]
  } else {
    min(d)
  }
  pivoted <- is.unsorted(qr@pivot)
  if (pivoted && isTRUE(columns < d[[2L]])) {
    abort_argument(
      "ncol", base_text("need larger value of 'ncol' as pivoting occurred", domain = "R-base"), call
    )
  }
  if (is.na(columns) || columns < 0L || columns > max(d)) {
    abort_argument("ncol", base_text("invalid '%s' argument", "ncol"), call)
  }
  r <- triangle_of(qr, d[[1L]], call)
  if (columns < d[[2L]]) {
    r <- r[, seq_len(columns), drop = FALSE]
  } else if (columns > d[[2L]]) {
    # The columns of Q after those of R.
    more <- diag(1, d[[1L]], columns)[, -seq_len(d[[2L]]), drop = FALSE]
    dimnames(r) <- NULL
    r <- cbind(r, more)
  }
  x <- qr_apply_resident(qr, r, FALSE, call)
  if (pivoted) x[, c(order(qr@pivot), seq_len(columns)[-seq_len(d[[2L]])]), drop = FALSE] else x
})

# The least squares solution. `text` is the error if the rank is below the number of columns or
# rows.
solve_qr_resident <- function(f, b, text, call) {
  d <- f@factor@Dim
  if (f@rank < min(d)) {
    abort("singular", base_text(text, domain = "R-base"), call, rank = f@rank)
  }
  if (is.null(b)) {
    if (d[[1L]] != d[[2L]]) {
      abort_dimension(base_text("only square matrices can be inverted", domain = "R-base"), call)
    }
    b <- diag(1, d[[2L]])
  }
  home_unless_matrix(qr_coef_resident(f, b, 0, call), b)
}

#' @rdname gpu_qr_factor
#' @method solve gpu_qr_factor
#' @export
solve.gpu_qr_factor <- function(a, b, ...) {
  solve_qr_resident(a, if (!missing(b)) b, "singular matrix 'a' in 'solve'", sys.call())
}

qr_solve_resident <- function(a, b, tol, call) {
  if (is.qr(a)) {
    return(as_user(call, base::qr.solve(a, plain(b))))
  }
  if (!is_qr_resident(a)) {
    if (!is_resident(a)) {
      a <- as_real_matrix(a, call, "base::qr.solve()")
      a <- upload_beside(a, dim(a), dimnames(a), b, call)
    }
    a <- qr_resident(a, tol, call)
  }
  solve_qr_resident(a, b, "singular matrix 'a' in solve", call)
}

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.solve", signature("gpu_qr_factor", "ANY"), function(a, b, tol = 1e-7) {
  qr_solve_resident(a, if (!missing(b)) b, NULL, sys.call())
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.solve", signature("gpu_matrix", "ANY"), function(a, b, tol = 1e-7) {
  qr_solve_resident(a, if (!missing(b)) b, if (!missing(tol)) tol, sys.call())
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.solve", signature("ANY", "gpu_matrix"), function(a, b, tol = 1e-7) {
  qr_solve_resident(a, b, if (!missing(tol)) tol, sys.call())
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.solve", signature("gpu_matrix", "gpu_matrix"), function(a, b, tol = 1e-7) {
  qr_solve_resident(a, b, if (!missing(tol)) tol, sys.call())
})

#' @rdname gpu_qr_factor
#' @export
setMethod("qr.solve", signature("gpu_qr_factor", "gpu_matrix"), function(a, b, tol = 1e-7) {
  qr_solve_resident(a, b, NULL, sys.call())
})

#' @export
kappa.gpu_qr_factor <- function(z, ...) kappa(as_qr(z, sys.call()), ...)
