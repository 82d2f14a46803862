# LU of a matrix on a device, whose factors stay there, and determinants from it.

lu_resident <- function(x, warn_singular, call) {
  handle <- .External(new_handle)
  done <- unwrap(native_held_lu(x@pointer, handle, how_there(call)), call)
  if (done$zero > 0L && isTRUE(warn_singular)) {
    warn_exactly_singular(done$zero, call)
  }
  f <- list(
    lu = new_resident(handle, x@Dim, NULL, x@precision, x@device),
    ipiv = done$ipiv,
    perm = done$perm,
    singular = done$zero,
    norm1 = if (x@Dim[[1L]] == x@Dim[[2L]]) done$norm1,
    dimnames = dimnames(x),
    precision = x@precision,
    diagonal = done$diagonal
  )
  class(f) <- "gpu_lu"
  f
}

solve_lu_resident <- function(f, b, tol, call) {
  a <- f$lu
  check_square_system(a@Dim, call)
  there <- right_side_beside(b, a, call)
  tol <- as_number(tol %||% tolerance_of(a), "tol", call)
  if (f$singular > 0L) {
    raise("singular", "", list(index = f$singular), call, "solve")
  }
  if (tol > 0) {
    rcond <- unwrap(native_held_lu_rcond(a@pointer, f$norm1, how_there(call)), call)$rcond
    if (is_ill_conditioned_resident(rcond, tol, a, call)) {
      raise("singular", "", list(rcond = rcond), call, "solve")
    }
  }
  handle <- .External(new_handle)
  unwrap(native_held_lu_solve(a@pointer, f$ipiv, there, handle, how_there(call)), call)
  name_solution_resident(handle, a, b, f$dimnames %||% list(NULL, NULL), call)
}

determinant_resident <- function(x, logarithm, call) {
  if (x@Dim[[1L]] != x@Dim[[2L]]) {
    abort_dimension(base_text("'x' must be a square matrix", domain = "R-base"), call)
  }
  if (x@Dim[[1L]] < 1L) {
    return(as_determinant(if (isTRUE(as_flag(logarithm))) 0 else 1, 1L, logarithm))
  }
  f <- lu_resident(x, FALSE, call)
  determinant_of_diagonal(f$diagonal, f$ipiv, f$singular, logarithm, call)
}

# Package Matrix has a generic lu(), and base R none.
.onLoad <- function(libname, pkgname) {
  if (isNamespaceLoaded("Matrix")) {
    set_lu_method()
  } else {
    setHook(packageEvent("Matrix", "onLoad"), function(...) set_lu_method())
  }
}

# What R notes of the method lies in an environment of its own, since namespaces are locked.
set_lu_method <- function() {
  lu <- getExportedValue("Matrix", "lu")
  setMethod(lu, "gpu_matrix", function(x, ...) {
    warned <- list(...)$warnSing
    lu_resident(x, is.null(warned) || isTRUE(warned), sys.call())
  }, where = new.env())
}
