# Sparse matrices of package Matrix by columns: the start of each, rows (counted from 0) and values.
# Package Matrix is loaded whenever an object of its classes exists.

sparse_columns <- function(x, call) {
  x <- coerced(x, c("dMatrix", "generalMatrix", "CsparseMatrix"), call)
  list(
    kind = "sparse", starts = x@p, rows = x@i, values = x@x, dim = as.double(x@Dim),
    dimnames = dimnames(x)
  )
}

# The columns of a symmetric matrix. `stored` is "U" or "L" if only that triangle is stored, else
# "".
symmetric_columns <- function(x, call) {
  if (!inherits(x, "symmetricMatrix")) {
    return(c(sparse_columns(x, call), stored = ""))
  }
  x <- coerced(x, c("dMatrix", "CsparseMatrix"), call)
  list(
    kind = "sparse", starts = x@p, rows = x@i, values = x@x, dim = as.double(x@Dim),
    dimnames = dimnames(x), stored = x@uplo
  )
}

coerced <- function(x, classes, call) {
  # The slot may hold integers, which the C code of package Matrix would read as doubles.
  if (inherits(x, "dMatrix") && !is.double(x@x)) {
    text <- "a matrix of class \"%s\" must have a slot 'x' of type \"double\", not \"%s\""
    abort_type(sprintf(text, class(x)[[1L]], typeof(x@x)), call)
  }
  tryCatch(
    Reduce(function(x, class) methods::as(x, class), classes, x),
    error = function(e) abort_as(e, abort_type, call)
  )
}

# An error if the dense form of an object is larger than the free memory. as.matrix() of a large
# sparse matrix would use it all, or fail without an alternative.
check_room <- function(x, call) {
  needed <- plain_bytes(x)
  if (needed < small_bytes) {
    return(invisible())
  }
  free <- unwrap(native_free_memory(), call)$free
  if (isTRUE(needed > free)) {
    abort_room(x, needed, call, sprintf(", but %s are free", format_bytes(free)), free)
  }
}

# Bytes of an object's numbers as doubles. Any memory has room for `small_bytes`.
plain_bytes <- function(x) 8 * prod(as.double(dim(x) %||% length(x)))
small_bytes <- 2^24

abort_room <- function(x, needed, call, than = "", free = NA_real_) {
  size <- if (is.null(dim(x))) {
    sprintf("a vector of %.0f numbers", length(x))
  } else {
    dimensions_text(dim(x))
  }
  text <- sprintf(
    "an object of class \"%s\", %s, needs %s as an ordinary one%s: %s",
    class(x)[[1L]], size, format_bytes(needed), than, sparse_way(called_function(call))
  )
  abort("host_memory", text, call, needed = needed, free = free)
}

# The name of the function that the user called, or "".
called_function <- function(call) {
  f <- if (is.call(call)) call[[1L]]
  if (is.call(f) && length(f) == 3L) {
    f <- f[[3L]]
  }
  if (is.name(f)) as.character(f) else ""
}

# The function to use for a sparse matrix instead of `f`.
sparse_way <- function(f) {
  switch(f,
    gpu_solve = ,
    solve = "use pcg() for a sparse positive definite system, or Matrix::solve() for others",
    gpu_chol = , chol = , chol_gpus = ,
    chol_file = paste(
      "use ichol() for an incomplete factor of a sparse matrix,",
      "or Matrix::Cholesky() for a complete one"
    ),
    gpu_lu = "use Matrix::lu() for a sparse matrix",
    gpu_qr = , gpu_lm_fit = "use Matrix::qr() for a sparse matrix",
    gpu_determinant = "use Matrix::determinant() for a sparse matrix",
    gpu_matmult = , gpu_crossprod = , gpu_tcrossprod = , `%*%` = , crossprod = ,
    tcrossprod = "use %*%, crossprod() and tcrossprod() of package Matrix for sparse matrices",
    gpu_backsolve = , gpu_forwardsolve = , backsolve = ,
    forwardsolve = "use Matrix::solve() for a sparse triangular matrix",
    tile_matrix = paste(
      "use tile_matrix(function(i, j) as.matrix(x[i, j]), file, dim = dim(x))",
      "to write it in blocks"
    ),
    "use pcg() for a sparse positive definite system, or functions of package Matrix"
  )
}
