# A gpu_matrix, or a matrix on disk, beside the classes of package Matrix, which is no more than suggested: methods are set once it is loaded.

.onLoad <- function(libname, pkgname) {
  if (isNamespaceLoaded("Matrix")) {
    set_methods_beside_matrix()
  } else {
    setHook(packageEvent("Matrix", "onLoad"), function(...) set_methods_beside_matrix())
  }
}

# What R notes of the methods lies in an environment of its own, since namespaces are locked.
set_methods_beside_matrix <- function() {
  noted <- new.env()
  set_lu_method(noted)
  set_operators(noted)
  set_products(noted)
  set_comparison(noted)
}

# Package Matrix has a generic lu(), and base R none.
set_lu_method <- function(noted) {
  lu <- getExportedValue("Matrix", "lu")
  setMethod(lu, "gpu_matrix", function(x, ...) {
    warned <- list(...)$warnSing
    lu_resident(x, is.null(warned) || isTRUE(warned), sys.call())
  }, where = noted)
}

# Operators look for S4 methods before S3 ones where an operand has an S4 class, and Matrix has some for any other operand:
# "ANY" with a class of its own. Ours are for the same classes, and nearer.
set_operators <- function(noted) {
  ours <- function(e1, e2) operate(as.character(.Generic), e1, e2, group_call(sys.call(), as.character(.Generic)))
  set_beside_any(c("Ops", "Arith", "Compare", "Logic"), ours, noted)
}

set_products <- function(noted) {
  set_beside_any("%*%", function(x, y) product_resident(x, y, "matmult", sys.call()), noted)
  set_beside_any("%*%", function(x, y) operate_tiles(x, y, "matmult", sys.call()), noted, "tile_matrix")
  for (name in c("crossprod", "tcrossprod")) {
    generic <- list(getExportedValue(if (is.primitive(get(name, baseenv()))) "base" else "Matrix", name))
    set_beside_any(generic, product_method(name, product_resident), noted)
    set_beside_any(generic, product_method(name, operate_tiles), noted, "tile_matrix")
  }
}

product_method <- function(name, product) {
  # The next turn of the caller's loop has another name.
  force(name)
  force(product)
  function(x, y = NULL, ...) product(x, y, name, sys.call())
}

set_comparison <- function(noted) {
  if ("all.equal" %in% getNamespaceExports("Matrix")) {
    equal <- getExportedValue("Matrix", "all.equal")
    set_beside_any(list(equal), function(target, current, ...) base::all.equal(plain(target), plain(current), ...), noted)
  }
}

# `method` of two operands, for one of `ours` and each class for which a generic has a method beside "ANY".
set_beside_any <- function(generics, method, noted, ours = "gpu_matrix") {
  for (generic in generics) {
    known <- findMethodSignatures(generic)
    for (class in setdiff(c(known[known[, 1L] == "ANY", 2L], known[known[, 2L] == "ANY", 1L]), c("ANY", "gpu_matrix", "tile_matrix"))) {
      setMethod(generic, signature(ours, class), method, where = noted)
      setMethod(generic, signature(class, ours), method, where = noted)
    }
  }
}
