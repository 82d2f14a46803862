# Functions of base R that are errors for a factor over several GPUs and for a matrix on disk. Both
# objects are lists, and without these methods base R would compute with the lists.

# The class of the operand that is in tiles; `y` may be missing.
class_in_tiles <- function(x, y) {
  if (is_gpu_factor(x) || !missing(y) && is_gpu_factor(y)) "gpu_factor" else "tile_matrix"
}

# The error by class, with the alternatives.
unavailable_texts <- c(
  gpu_factor = paste(
    "there is no '%s' for a factor of chol_gpus(): as.matrix() copies it to the host;",
    "chol_solve(), backsolve(), %%*%%, crossprod(), diag() and determinant() use it on the GPUs"
  ),
  tile_matrix = paste(
    "there is no '%s' for a matrix on disk: as.matrix() reads it, x[i, j] reads a part;",
    "chol_file(), chol_solve(), %%*%%, crossprod() and diag() use it on disk"
  )
)

change_texts <- c(
  gpu_factor = paste(
    "a factor of chol_gpus() cannot be changed in part:",
    "as.matrix() copies it to a matrix that can"
  ),
  tile_matrix = "a matrix on disk cannot be changed in part: tile_matrix() writes a new one"
)

abort_unavailable <- function(class, call) {
  abort_type(sprintf(unavailable_texts[[class]], deparse(call[[1L]], backtick = FALSE)[[1L]]), call)
}

abort_change <- function(class, call) abort_argument("x", change_texts[[class]], call)

unavailable <- c(
  "c", "rep", "rev", "sort", "unique", "duplicated", "anyDuplicated", "cbind", "rbind", "is.na",
  "anyNA", "mean", "summary", "isSymmetric", "as.vector", "as.double", "as.integer",
  "as.logical", "as.complex", "as.data.frame"
)

unchangeable <- c("names<-", "dim<-", "dimnames<-", "length<-", "levels<-", "$<-", "[[<-")

# Registers the same S3 methods for both classes.
register_refusals <- function() {
  for (class in names(unavailable_texts)) {
    register <- function(generic, method) registerS3method(generic, class, method, baseenv())
    for (generic in unavailable) register(generic, refusal(abort_unavailable, class, generic))
    for (generic in unchangeable) register(generic, refusal(abort_change, class, generic))
    for (group in c("Math", "Complex", "Summary")) register(group, group_refusal(class))
  }
}

refusal <- function(say, class, generic) {
  # The caller's loop changes these variables, so their values are taken now.
  force(say)
  force(class)
  force(generic)
  function(...) say(class, group_call(sys.call(), generic))
}

group_refusal <- function(class) {
  force(class)
  function(...) abort_unavailable(class, summary_call(sys.call(), .Generic))
}

# Only for a factor: x[i, j] of a matrix on disk reads a part.
#' @export
`[.gpu_factor` <- function(x, ...) abort_unavailable("gpu_factor", group_call(sys.call(), "["))

#' @export
`[<-.gpu_factor` <- function(x, i, j, ..., value) {
  abort_change("gpu_factor", group_call(sys.call(), "[<-"))
}

for (class in names(unavailable_texts)) {
  # bquote() inserts the value of `class`, which the loop changes.
  method <- function(formals) {
    as.function(c(formals, bquote(abort_unavailable(.(class), sys.call()))))
  }
  for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
    setMethod(name, class, method(alist(x = , na.rm = FALSE, dims = 1, ... = )))
  }
  for (second in c("missing", "ANY")) {
    setMethod("norm", signature(class, second), method(alist(x = , type = , ... = )))
    setMethod("rcond", signature(class, second), method(alist(x = , norm = , ... = )))
  }
}
rm(class, method, name, second)
