# What base R's functions do not do with matrices in tiles elsewhere: a factor over several GPUs, or a matrix on disk. Each is a list, which these functions would take
# for its values.

# The class of the operand that is in tiles; `y` may be missing.
class_in_tiles <- function(x, y) if (is_gpu_factor(x) || !missing(y) && is_gpu_factor(y)) "gpu_factor" else "tile_matrix"

# What there is instead, by class.
unavailable_texts <- c(
  gpu_factor = paste(
    "there is no '%s' for a factor of chol_gpus(): as.matrix() brings it to the host, and chol_solve(), backsolve(), %%*%%, crossprod(), diag() and determinant()",
    "compute with it where it is"
  ),
  tile_matrix = paste(
    "there is no '%s' for a matrix on disk: as.matrix() reads it into memory, x[i, j] a part of it, and chol_file(), chol_solve(), %%*%%, crossprod() and diag()",
    "compute with it where it is"
  )
)

change_texts <- c(
  gpu_factor = "a factor of chol_gpus() cannot be changed in part: as.matrix() of it gives a matrix that can",
  tile_matrix = "a matrix on disk cannot be changed in part: tile_matrix() writes a new one"
)

abort_unavailable <- function(class, call) {
  abort_type(sprintf(unavailable_texts[[class]], deparse(call[[1L]], backtick = FALSE)[[1L]]), call)
}

abort_change <- function(class, call) abort_argument("x", change_texts[[class]], call)

unavailable <- c(
  "c", "rep", "rev", "sort", "unique", "duplicated", "anyDuplicated", "cbind", "rbind", "is.na", "anyNA", "mean", "summary", "isSymmetric", "as.vector", "as.double",
  "as.integer", "as.logical", "as.complex", "as.data.frame"
)

unchangeable <- c("names<-", "dim<-", "dimnames<-", "length<-", "levels<-", "$<-", "[[<-")

# The same S3 methods for both classes. Their operands are not looked at, so they have no names for them.
register_refusals <- function() {
  for (class in names(unavailable_texts)) {
    for (generic in unavailable) registerS3method(generic, class, refusal(abort_unavailable, class, generic), baseenv())
    for (generic in unchangeable) registerS3method(generic, class, refusal(abort_change, class, generic), baseenv())
    for (group in c("Math", "Complex", "Summary")) registerS3method(group, class, group_refusal(class), baseenv())
  }
}

refusal <- function(say, class, generic) {
  # The next turn of the caller's loop has another name.
  force(say)
  force(class)
  force(generic)
  function(...) say(class, group_call(sys.call(), generic))
}

group_refusal <- function(class) {
  force(class)
  function(...) abort_unavailable(class, summary_call(sys.call(), .Generic))
}

# A part of a matrix on disk can be read.
#' @export
`[.gpu_factor` <- function(x, ...) abort_unavailable("gpu_factor", group_call(sys.call(), "["))

#' @export
`[<-.gpu_factor` <- function(x, i, j, ..., value) abort_change("gpu_factor", group_call(sys.call(), "[<-"))

for (class in names(unavailable_texts)) {
  # By value, since the loop goes on.
  method <- function(formals) as.function(c(formals, bquote(abort_unavailable(.(class), sys.call()))))
  for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
    setMethod(name, class, method(alist(x = , na.rm = FALSE, dims = 1, ... = )))
  }
  for (second in c("missing", "ANY")) {
    setMethod("norm", signature(class, second), method(alist(x = , type = , ... = )))
    setMethod("rcond", signature(class, second), method(alist(x = , norm = , ... = )))
  }
}
rm(class, method, name, second)
