# Covariances and correlations of the columns of a gpu_matrix.

# `name` is that of the function in package stats, `arguments` are its others, and `here` tells whether they are its defaults.
# For others base R computes of the fetched matrices, and the answer goes back.
covariance_resident <- function(name, x, y, arguments, here, call) {
  beside <- if (is_resident(x)) x else y
  if (!(here && is_number_table(x) && NROW(x) > 1L && (is.null(y) || is_number_table(y) && NROW(y) == NROW(x)))) {
    out <- as_user(call, do.call(getExportedValue("stats", name), c(list(plain(x), plain(y)), arguments)))
    return(if (is.matrix(out)) upload_beside(out, dim(out), dimnames(out), beside, call) else out)
  }
  parts <- lapply(list(x, if (!is.null(y)) y), function(v) if (!is.null(v)) deviations(v, beside, call))
  if (name != "cor") {
    return(product_resident(parts[[1L]], parts[[2L]], "tcrossprod", call) / (NROW(x) - 1))
  }
  parts <- lapply(parts, function(z) if (!is.null(z)) in_range(z, call))
  lengths <- lapply(parts, function(z) if (!is.null(z)) sqrt(line_sums(z^2, "rows", FALSE, 1, FALSE, call)))
  if (any(unlist(lengths) == 0, na.rm = TRUE)) {
    warn("nan", base_text("the standard deviation is zero", domain = "stats"), call)
  }
  parts <- Map(function(z, length) if (!is.null(z)) z / length, parts, lengths)
  out <- product_resident(parts[[1L]], parts[[2L]], "tcrossprod", call)
  # Rounding may leave a little more than 1, or less than -1.
  whole <- trunc(out)
  out <- out * (1 - whole^2) + whole
  if (is.null(y)) set_diagonal(out, 1, call) else out
}

# Rows divided by their size, so that squares neither overflow nor vanish.
in_range <- function(z, call) {
  size <- fold_resident("magnitudes", z, call, "rows")
  z / ifelse(size == 0, 1, size)
}

is_number_table <- function(x) (is_resident(x) || is.numeric(x) && !is.object(x)) && NCOL(x) > 0L

# Columns less their means, as rows. The mean of what the first mean leaves is taken off too, so that nothing is left of
# constants.
deviations <- function(x, beside, call) {
  if (is_resident(x)) {
    check_together(beside, x, call)
  } else {
    x <- upload_beside(as_double(x, call), c(NROW(x), NCOL(x)), if (is.matrix(x)) dimnames(x), beside, call)
  }
  x@Dimnames <- list(NULL, x@Dimnames[[2L]])
  z <- t(x) - line_sums(x, "columns", FALSE, 1, TRUE, call)
  z - line_sums(z, "rows", FALSE, 1, TRUE, call)
}

cor_resident <- function(x, y, use, method, call) {
  here <- identical(use, "everything") && identical(method[1L], "pearson")
  covariance_resident("cor", x, y, list(use, method), here, call)
}

#' @rdname gpu_matrix_base
#' @importFrom stats cor cov var
#' @export
setMethod("cor", signature("gpu_matrix", "ANY"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cor_resident(x, y, use, method, sys.call())
  }
)

#' @rdname gpu_matrix_base
#' @export
setMethod("cor", signature("ANY", "gpu_matrix"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cor_resident(x, y, use, method, sys.call())
  }
)

#' @rdname gpu_matrix_base
#' @export
setMethod("cor", signature("gpu_matrix", "gpu_matrix"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cor_resident(x, y, use, method, sys.call())
  }
)

cov_resident <- function(x, y, use, method, call) {
  here <- identical(use, "everything") && identical(method[1L], "pearson")
  covariance_resident("cov", x, y, list(use, method), here, call)
}

#' @rdname gpu_matrix_base
#' @export
setMethod("cov", signature("gpu_matrix", "ANY"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cov_resident(x, y, use, method, sys.call())
  }
)

#' @rdname gpu_matrix_base
#' @export
setMethod("cov", signature("ANY", "gpu_matrix"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cov_resident(x, y, use, method, sys.call())
  }
)

#' @rdname gpu_matrix_base
#' @export
setMethod("cov", signature("gpu_matrix", "gpu_matrix"),
  function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    cov_resident(x, y, use, method, sys.call())
  }
)

var_resident <- function(x, y, na.rm, use, call) {
  covariance_resident("var", x, y, c(list(na.rm), use), is.null(use) && isFALSE(na.rm), call)
}

#' @rdname gpu_matrix_base
#' @export
setMethod("var", signature("gpu_matrix", "ANY"), function(x, y = NULL, na.rm = FALSE, use) {
  var_resident(x, y, na.rm, if (!missing(use)) use, sys.call())
})

#' @rdname gpu_matrix_base
#' @export
setMethod("var", signature("ANY", "gpu_matrix"), function(x, y = NULL, na.rm = FALSE, use) {
  var_resident(x, y, na.rm, if (!missing(use)) use, sys.call())
})

#' @rdname gpu_matrix_base
#' @export
setMethod("var", signature("gpu_matrix", "gpu_matrix"), function(x, y = NULL, na.rm = FALSE, use) {
  var_resident(x, y, na.rm, if (!missing(use)) use, sys.call())
})
