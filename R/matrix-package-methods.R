# Methods for a gpu_matrix with operands of package Matrix. Matrix is only suggested, so they are
# set when it is loaded.

.onLoad <- function(libname, pkgname) {
  restore_orders()
  register_refusals()
  register_object_methods()
  when_loaded("Matrix", set_methods_with_matrix)
  # These load Matrix.
  for (package in c("SparseArray", "DelayedArray")) when_loaded(package, set_operations)
  when_loaded("ROI", set_roi_solver)
  when_loaded("waldo", set_proxies)
}

# Runs `action` now, or when the package is loaded.
when_loaded <- function(package, action) {
  if (isNamespaceLoaded(package)) {
    action()
  } else {
    setHook(packageEvent(package, "onLoad"), function(...) action())
  }
}

# Namespaces are locked, so R's tables of these methods need their own environment.
set_methods_with_matrix <- function() {
  noted <- new.env()
  set_lu_method(noted)
  set_updown_methods(noted)
  set_operators(noted)
  set_products(noted)
  set_solutions(noted)
  set_comparison(noted)
  set_coercions(noted)
}

set_operations <- function() {
  noted <- new.env()
  set_operators(noted)
  set_products(noted)
}

# Package Matrix has a generic lu(); base R has none.
set_lu_method <- function(noted) {
  lu <- getExportedValue("Matrix", "lu")
  setMethod(lu, "gpu_matrix", function(x, ...) {
    warned <- list(...)$warnSing
    lu_resident(x, is.null(warned) || isTRUE(warned), sys.call())
  }, where = noted)
}

# Package Matrix has a generic updown() for its sparse factors; base R has none.
set_updown_methods <- function(noted) {
  if ("updown" %in% getNamespaceExports("Matrix")) {
    updown <- getExportedValue("Matrix", "updown")
    for (sign in c("character", "logical")) {
      setMethod(updown, signature(sign, "ANY", "gpu_matrix"), function(update, C, L) {
        call <- sys.call()
        change_factor_here(L, C, is_downdate(update, call), FALSE, FALSE, "auto", "double", call)
      }, where = noted)
    }
  }
}

# Is this a downdate? `update` is the sign as Matrix::updown() takes it.
is_downdate <- function(update, call) {
  known <- length(update) == 1L && update %in% list("+", "-", TRUE, FALSE)
  if (!known) {
    abort_argument("update", "'update' must be \"+\" or TRUE, or \"-\" or FALSE", call)
  }
  update %in% list("-", FALSE)
}

# With an S4 operand, operators look for S4 methods before S3 ones. Matrix has methods for "ANY"
# with its own classes; ours for the same classes are more specific.
set_operators <- function(noted) {
  ours <- function(e1, e2) operate(
    as.character(.Generic), e1, e2, group_call(sys.call(), as.character(.Generic))
  )
  set_for_any(c("Ops", "Arith", "Compare", "Logic"), ours, noted)
}

set_products <- function(noted) {
  set_for_any("%*%", function(x, y) product_resident(x, y, "matmult", sys.call()), noted)
  for (name in c("crossprod", "tcrossprod")) {
    # From R 4.4 on these are primitives, which package methods knows by name only.
    generic <- if (is.primitive(get(name, baseenv()))) name else getExportedValue("Matrix", name)
    set_for_any(list(generic), product_method(name), noted)
  }
}

# From Matrix 1.6 on its methods for any right-hand side are nearer than ours for any matrix.
# While this package is loaded, its own table of methods does not have Matrix's yet.
set_solutions <- function(noted) {
  solve <- getExportedValue("Matrix", "solve")
  known <- findMethodSignatures(solve)
  for (class in classes_of(known[known[, 2L] == "ANY", 1L, drop = FALSE])) {
    setMethod(solve, signature(class, "gpu_matrix"), function(a, b, ...) {
      solve_beside(a, b, ..., call = sys.call())
    }, where = noted)
  }
}

product_method <- function(name) {
  # Evaluated now: the caller's loop changes it.
  force(name)
  function(x, y = NULL, ...) product_resident(x, y, name, sys.call())
}

# The classes that Matrix compares depend on its version. Classes that extend plain vectors are
# left out: dispatch would strip a plain matrix of its dimensions.
set_comparison <- function(noted) {
  if ("all.equal" %in% getNamespaceExports("Matrix")) {
    equal <- getExportedValue("Matrix", "all.equal")
    method <- function(target, current, ...) base::all.equal(plain(target), plain(current), ...)
    classes <- classes_of(findMethodSignatures(equal))
    set_for_classes(
      equal, Filter(function(class) !extends("numeric", class), classes), method, noted
    )
  }
}

# Sets `method` for a gpu_matrix with each class that has a method with "ANY". Matrices in tiles
# have more specific methods.
set_for_any <- function(generics, method, noted) {
  for (generic in generics) {
    known <- findMethodSignatures(generic)
    set_for_classes(
      generic, classes_of(known[rowSums(known == "ANY") > 0L, , drop = FALSE]), method, noted
    )
  }
}

# The classes in the first two columns of `signatures`, without those that have their own methods.
classes_of <- function(signatures) {
  setdiff(
    signatures[, seq_len(min(2L, ncol(signatures)))],
    c("ANY", "gpu_matrix", "tile_matrix", "gpu_factor")
  )
}

set_for_classes <- function(generic, classes, method, noted) {
  for (class in classes) {
    setMethod(generic, signature("gpu_matrix", class), method, where = noted)
    setMethod(generic, signature(class, "gpu_matrix"), method, where = noted)
  }
}
