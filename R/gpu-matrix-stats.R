# Functions of package stats that are not generic, whose errors for a gpu_matrix would not help.

#' Functions of package stats that need an ordinary matrix
#'
#' `cor()`, `cov()`, `lm.fit()` and `lm.wfit()` do not compute with a [gpu_matrix], a [gpu_factor]
#' or a [tile_matrix()]. Attaching this package makes S4 generics of them, whose methods for these
#' classes stop and name a replacement. For all other data they are the functions of package stats.
#'
#' Covariances and correlations of the columns of a `gpu_matrix` can be computed on its device as
#' products of the centred matrix. With `z <- t(x) - colMeans(x)`, `cov(x)` is
#' `tcrossprod(z) / (nrow(x) - 1)`, and `cor(x)` is `tcrossprod(z / sqrt(rowSums(z^2)))`.
#'
#' @section Errors:
#' `cudafactor_error_type`, for each of these classes.
#'
#' @return An error for these classes, else the value of the function of package stats.
#'
#' @usage
#' cor(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman"))
#' cov(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman"))
#' lm.fit(x, y, offset = NULL, method = "qr", tol = 1e-07, singular.ok = TRUE, ...)
#' lm.wfit(x, y, w, offset = NULL, method = "qr", tol = 1e-07, singular.ok = TRUE, ...)
#' @param x,y,use,method As in [stats::cor()], or the design matrix and the response of
#'   [stats::lm.fit()].
#' @param w,offset,tol,singular.ok,... As in [stats::lm.fit()].
#' @seealso [gpu_lm_fit()], [gpu_matrix_base]
#' @examples
#' g <- as_gpu(matrix(c(3, 1, 2, 5, 4, 6), 3))
#' try(cov(g))
#' z <- t(g) - colMeans(g)
#' tcrossprod(z) / (nrow(g) - 1)
#' @name gpu_matrix_stats
#' @aliases cor cov lm.fit lm.wfit cor,gpu_matrix,ANY-method cor,gpu_factor,ANY-method
#' @aliases cor,tile_matrix,ANY-method cor,ANY,gpu_matrix-method cor,ANY,gpu_factor-method
#' @aliases cor,ANY,tile_matrix-method cor,gpu_matrix,gpu_matrix-method
#' @aliases cor,gpu_matrix,gpu_factor-method cor,gpu_matrix,tile_matrix-method
#' @aliases cor,gpu_factor,gpu_matrix-method cor,gpu_factor,gpu_factor-method
#' @aliases cor,gpu_factor,tile_matrix-method cor,tile_matrix,gpu_matrix-method
#' @aliases cor,tile_matrix,gpu_factor-method cor,tile_matrix,tile_matrix-method
#' @aliases cov,gpu_matrix,ANY-method cov,gpu_factor,ANY-method cov,tile_matrix,ANY-method
#' @aliases cov,ANY,gpu_matrix-method cov,ANY,gpu_factor-method cov,ANY,tile_matrix-method
#' @aliases cov,gpu_matrix,gpu_matrix-method cov,gpu_matrix,gpu_factor-method
#' @aliases cov,gpu_matrix,tile_matrix-method cov,gpu_factor,gpu_matrix-method
#' @aliases cov,gpu_factor,gpu_factor-method cov,gpu_factor,tile_matrix-method
#' @aliases cov,tile_matrix,gpu_matrix-method cov,tile_matrix,gpu_factor-method
#' @aliases cov,tile_matrix,tile_matrix-method lm.fit,gpu_matrix,ANY-method
#' @aliases lm.fit,gpu_factor,ANY-method lm.fit,tile_matrix,ANY-method
#' @aliases lm.fit,ANY,gpu_matrix-method lm.fit,ANY,gpu_factor-method
#' @aliases lm.fit,ANY,tile_matrix-method lm.fit,gpu_matrix,gpu_matrix-method
#' @aliases lm.fit,gpu_matrix,gpu_factor-method lm.fit,gpu_matrix,tile_matrix-method
#' @aliases lm.fit,gpu_factor,gpu_matrix-method lm.fit,gpu_factor,gpu_factor-method
#' @aliases lm.fit,gpu_factor,tile_matrix-method lm.fit,tile_matrix,gpu_matrix-method
#' @aliases lm.fit,tile_matrix,gpu_factor-method lm.fit,tile_matrix,tile_matrix-method
#' @aliases lm.wfit,gpu_matrix,ANY-method lm.wfit,gpu_factor,ANY-method
#' @aliases lm.wfit,tile_matrix,ANY-method lm.wfit,ANY,gpu_matrix-method
#' @aliases lm.wfit,ANY,gpu_factor-method lm.wfit,ANY,tile_matrix-method
#' @aliases lm.wfit,gpu_matrix,gpu_matrix-method lm.wfit,gpu_matrix,gpu_factor-method
#' @aliases lm.wfit,gpu_matrix,tile_matrix-method lm.wfit,gpu_factor,gpu_matrix-method
#' @aliases lm.wfit,gpu_factor,gpu_factor-method lm.wfit,gpu_factor,tile_matrix-method
#' @aliases lm.wfit,tile_matrix,gpu_matrix-method lm.wfit,tile_matrix,gpu_factor-method
#' @aliases lm.wfit,tile_matrix,tile_matrix-method
NULL

#' @exportMethod cor cov lm.fit lm.wfit
setGeneric("cor")
setGeneric("cov")
setGeneric("lm.fit")
setGeneric("lm.wfit")

stats_texts <- c(
  cor = "tcrossprod(z / sqrt(rowSums(z^2))) with z <- t(x) - colMeans(x)",
  cov = "tcrossprod(z) / (nrow(x) - 1) with z <- t(x) - colMeans(x)",
  lm.fit = "gpu_lm_fit(x, y)",
  lm.wfit = "gpu_lm_fit(sqrt(w) * x, sqrt(w) * y)"
)

matrices_elsewhere <- c("gpu_matrix", "gpu_factor", "tile_matrix")

# The error for the operand that is not an ordinary matrix.
abort_stats <- function(name, x, y, call) {
  class <- class(if (inherits(x, matrices_elsewhere)) x else y)[[1L]]
  text <- sprintf("%s() needs an ordinary matrix, not a %s: use as.matrix() first", name, class)
  if (class == "gpu_matrix") {
    text <- paste0(text, ", or ", stats_texts[[name]])
  }
  abort_type(text, call)
}

for (name in names(stats_texts)) {
  # By value, because the loop changes the name; the formals are those of the generic.
  method <- as.function(c(
    formals(name), bquote(abort_stats(.(name), x, if (missing(y)) NULL else y, sys.call()))
  ))
  for (class in matrices_elsewhere) {
    setMethod(name, c(class, "ANY"), method)
    setMethod(name, c("ANY", class), method)
    for (other in matrices_elsewhere) setMethod(name, c(class, other), method)
  }
}
rm(name, method, class, other)
