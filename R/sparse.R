# Package Matrix's sparse matrices, by columns: where each begins, rows, counted from 0, and values. Matrix is loaded where there is an object of its classes.

sparse_columns <- function(x, call) {
  x <- coerced(x, c("dMatrix", "generalMatrix", "CsparseMatrix"), call)
  list(
    kind = "sparse", starts = x@p, rows = x@i, values = x@x, dim = as.double(x@Dim), dimnames = dimnames(x)
  )
}

# Of a symmetric matrix, with `stored`: "U" or "L" where it is one triangle, else "".
symmetric_columns <- function(x, call) {
  if (!inherits(x, "symmetricMatrix")) {
    return(c(sparse_columns(x, call), stored = ""))
  }
  x <- coerced(x, c("dMatrix", "CsparseMatrix"), call)
  list(
    kind = "sparse", starts = x@p, rows = x@i, values = x@x, dim = as.double(x@Dim), dimnames = dimnames(x), stored = x@uplo
  )
}

coerced <- function(x, classes, call) {
  # A slot of numbers may hold integers, which package Matrix's own code takes for doubles.
  if (inherits(x, "dMatrix") && !is.double(x@x)) {
    abort_type(sprintf("a matrix of class \"%s\" must have a slot 'x' of type \"double\", not \"%s\"", class(x)[[1L]], typeof(x@x)), call)
  }
  tryCatch(
    Reduce(function(x, class) methods::as(x, class), classes, x),
    error = function(e) abort_as(e, abort_type, call)
  )
}

# An error where the plain form of an object of a class is larger than the memory that is free: as.matrix() of a large
# sparse matrix would take all of it, or fail without a word on what to do.
check_room <- function(x, call) {
  needed <- plain_bytes(x)
  if (needed < small_bytes) {
    return(invisible())
  }
  free <- unwrap(native_free_memory(), call)$free
  if (isTRUE(needed > free)) {
    abort_room(x, needed, call, sprintf(", and %s are free", format_bytes(free)), free)
  }
}

# Bytes of an object's numbers as doubles. No memory is too small for so few.
plain_bytes <- function(x) 8 * prod(as.double(dim(x) %||% length(x)))
small_bytes <- 2^24

abort_room <- function(x, needed, call, than = "", free = NA_real_) {
  extents <- if (is.null(dim(x))) sprintf("a vector of %.0f numbers", length(x)) else extents_text(dim(x))
  text <- sprintf("an object of class \"%s\", %s, takes %s as a plain one%s", class(x)[[1L]], extents, format_bytes(needed), than)
  abort("host_memory", paste0(text, ": ", sparse_way(called_function(call))), call, needed = needed, free = free)
}

# The name of the function that the user called, or none.
called_function <- function(call) {
  f <- if (is.call(call)) call[[1L]]
  if (is.call(f) && length(f) == 3L) {
    f <- f[[3L]]
  }
  if (is.name(f)) as.character(f) else ""
}

# What computes with a sparse matrix instead.
sparse_way <- function(f) {
  switch(f,
    gpu_solve = , solve = "pcg() solves systems with a sparse positive definite matrix, and Matrix::solve() others",
    gpu_chol = , chol = , chol_gpus = ,
    chol_file = "ichol() makes an incomplete factor of a sparse matrix, and Matrix::Cholesky() a complete one",
    gpu_lu = "Matrix::lu() factors a sparse matrix",
    gpu_qr = , gpu_lm_fit = "Matrix::qr() factors a sparse matrix",
    gpu_determinant = "Matrix::determinant() is for sparse matrices",
    gpu_matmult = , gpu_crossprod = , gpu_tcrossprod = , `%*%` = , crossprod = ,
    tcrossprod = "%*%, crossprod() and tcrossprod() of package Matrix multiply sparse matrices",
    gpu_backsolve = , gpu_forwardsolve = , backsolve = ,
    forwardsolve = "Matrix::solve() solves systems with a sparse triangular matrix",
    tile_matrix = "tile_matrix(function(i, j) as.matrix(x[i, j]), file, dim = dim(x)) writes a matrix by parts",
    "pcg() solves systems with a sparse matrix 'A', ichol() and Matrix::Cholesky() factor one, package Matrix computes with it"
  )
}
