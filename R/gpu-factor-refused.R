# Functions of base R that would take the list which a factor over several GPUs is for its values.

abort_unavailable <- function(call) {
  text <- "there is no '%s' for a factor of chol_gpus(): as.matrix() brings it to the host, and %s compute with it where it is"
  abort_type(sprintf(text, deparse(call[[1L]], backtick = FALSE)[[1L]], "chol_solve(), backsolve(), %*%, crossprod(), diag() and determinant()"), call)
}

unavailable <- function(x, ...) abort_unavailable(group_call(sys.call(), .Generic))

#' @export
`[.gpu_factor` <- unavailable

#' @export
c.gpu_factor <- unavailable

#' @export
rep.gpu_factor <- unavailable

#' @export
rev.gpu_factor <- unavailable

#' @export
sort.gpu_factor <- unavailable

#' @export
unique.gpu_factor <- unavailable

#' @export
duplicated.gpu_factor <- unavailable

#' @export
anyDuplicated.gpu_factor <- unavailable

#' @export
cbind.gpu_factor <- function(...) abort_unavailable(group_call(sys.call(), "cbind"))

#' @export
rbind.gpu_factor <- function(...) abort_unavailable(group_call(sys.call(), "rbind"))

#' @export
is.na.gpu_factor <- unavailable

#' @export
anyNA.gpu_factor <- function(x, recursive = FALSE) abort_unavailable(group_call(sys.call(), "anyNA"))

#' @export
mean.gpu_factor <- unavailable

#' @export
summary.gpu_factor <- function(object, ...) abort_unavailable(group_call(sys.call(), "summary"))

#' @export
isSymmetric.gpu_factor <- function(object, ...) abort_unavailable(group_call(sys.call(), "isSymmetric"))

#' @export
as.vector.gpu_factor <- function(x, mode = "any") abort_unavailable(group_call(sys.call(), "as.vector"))

#' @export
as.double.gpu_factor <- unavailable

#' @export
as.data.frame.gpu_factor <- unavailable

#' @export
Math.gpu_factor <- unavailable

#' @export
Summary.gpu_factor <- function(x, ..., na.rm = FALSE) abort_unavailable(summary_call(sys.call(), .Generic))

for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
  setMethod(name, "gpu_factor", function(x, na.rm = FALSE, dims = 1, ...) abort_unavailable(sys.call()))
}
for (second in c("missing", "ANY")) {
  setMethod("norm", signature("gpu_factor", second), function(x, type, ...) abort_unavailable(sys.call()))
  setMethod("rcond", signature("gpu_factor", second), function(x, norm, ...) abort_unavailable(sys.call()))
}
rm(name, second)
