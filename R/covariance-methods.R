# What base R's functions do with a covariance matrix that is evaluated on demand.

#' @rdname lazy_covariance
#' @export
dim.lazy_covariance <- function(x) rep(nrow(.subset2(x, "x")), 2L)

#' @export
dimnames.lazy_covariance <- function(x) {
  points <- .subset2(x, "x")
  product_dimnames(points, points, "tcrossprod", dim(points), dim(points))
}

#' @rdname lazy_covariance
#' @export
as.matrix.lazy_covariance <- function(x, device = getOption("cudafactor.device", "auto"),
                                 precision = "double", ...) {
  call <- sys.call()
  k <- of_covariance(x, call)
  evaluate(k$x, NULL, k, device, precision, call)
}

#' @export
as.array.lazy_covariance <- function(x, ...) as.matrix(x, ...)

#' @rdname lazy_covariance
#' @export
`[.lazy_covariance` <- function(x, i, j, ..., drop = TRUE) {
  call <- group_call(sys.call(), "[")
  subscripts <- nargs() - 1L - !missing(drop)
  if (subscripts < 2L) {
    if (missing(i)) {
      return(x)
    }
    abort_dimension(
      "'x' needs two subscripts, as in x[i, ] or x[, j]: for x[i] use as.matrix(x)[i]",
      call
    )
  }
  if (subscripts > 2L) {
    abort_dimension(base_text("incorrect number of dimensions"), call)
  }
  k <- of_covariance(x, call)
  rows <- if (missing(i)) seq_len(nrow(k$x)) else point_places(plain(i), k$x, call)
  columns <- if (missing(j)) seq_len(nrow(k$x)) else point_places(plain(j), k$x, call)
  part <- covariance_part(k, rows, columns, call)
  if (isFALSE(as_flag(drop))) part else drop(part)
}

# Point numbers for a subscript as base R reads it, with NA for NA.
point_places <- function(subscript, points, call) {
  as_user(call, {
    numbers <- matrix(seq_len(nrow(points)), ncol = 1L, dimnames = list(rownames(points), NULL))
    unname(numbers[subscript, 1L])
  })
}

# The block of these rows and columns. The nugget belongs to entries with equal point numbers.
covariance_part <- function(k, rows, columns, call) {
  points <- if (nrow(k$x) > 0L) k$x else matrix(0, 1L, ncol(k$x))
  at <- function(places) points[ifelse(is.na(places), 1L, places), , drop = FALSE]
  out <- evaluate(at(rows), at(columns), k, getOption("cudafactor.device", "auto"), "double", call)
  same <- which(outer(rows, columns, "=="))
  out[same] <- out[same] + k$nugget
  # An NA subscript has no covariance and no name.
  out[is.na(rows), ] <- NA
  out[, is.na(columns)] <- NA
  names <- dimnames(out)
  if (!is.null(names)) {
    names[[1L]][is.na(rows)] <- NA
    names[[2L]][is.na(columns)] <- NA
    dimnames(out) <- names
  }
  out
}

#' @rdname lazy_covariance
#' @export
format.lazy_covariance <- function(x, ...) {
  k <- of_covariance(x, sys.call())
  number <- function(value) paste(format(value, trim = TRUE), collapse = ", ")
  sprintf(
    "<lazy_covariance: %s, %s, range %s, variance %s, nugget %s; points in %d dimension%s>",
    dimensions_text(dim(x)), k$kernel,
    paste(vapply(k$range, number, ""), collapse = ", "), number(k$variance), number(k$nugget),
    ncol(k$x), if (ncol(k$x) == 1L) "" else "s"
  )
}

#' @rdname lazy_covariance
#' @export
print.lazy_covariance <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
