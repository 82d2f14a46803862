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
    error = function(e) abort_type(conditionMessage(e), call)
  )
}
