# Operands of gpu_eigen() and gpu_svd() with `k`.

# The operand as a list: its `kind`, `dim`, what the native routine reads (`native`), and what is
# known about its symmetry. `dim` is that of a function, or NULL. `missing_dim` names the argument.
as_few_operand <- function(x, dim, missing_dim, memory, where, call) {
  found <- if (is.function(x)) {
    if (is.null(dim)) {
      text <- sprintf("'%s' must be given if 'x' is a function", missing_dim)
      abort_argument(missing_dim, text, call)
    }
    list(kind = "function", dim = dim)
  } else if (!is.null(dim)) {
    text <- sprintf("'%s' can only be used if 'x' is a function", missing_dim)
    abort_argument(missing_dim, text, call)
  } else if (is_resident(x)) {
    list(kind = "resident", dim = dim(x), native = list("resident", x@pointer))
  } else if (is_tile_matrix(x)) {
    native <- list("tiles", .subset2(x, "path"), memory$bytes)
    # The file may have changed since the object was made.
    facts <- unwrap(native_tiles_info(.subset2(x, "path"), TRUE), call)
    list(
      kind = if (facts$holds == "factor") "factor" else "tiles", dim = dim(x), native = native,
      symmetric = if (facts$triangle) TRUE
    )
  } else if (inherits(x, "simple_triplet_matrix")) {
    c(as_lp_triplets(x, "x", call), stored = "")
  } else if (isS4(x) && inherits(x, "sparseMatrix")) {
    symmetric_columns(x, call)
  } else {
    foreign <- is_matrix_file(x) || is_big_matrix(x)
    if (foreign || is_in_tiles(x) || describes_matrix(x)) {
      what <- "a matrix of numbers, a tile_matrix, or a function that multiplies"
      way <- if (foreign) ": tile_matrix(x, file) writes it to a file that can be used"
      abort_type(
        sprintf("'x' must be %s, not of class \"%s\"%s", what, class(x)[[1L]], way %||% ""), call
      )
    }
    x <- as_finite(as_spectral_operand(x, "base::eigen() or base::svd()", call), where, call)
    list(kind = "dense", dim = dim(x), native = list("dense", x))
  }
  if (found$kind == "sparse") {
    if (!all(is.finite(found$values))) {
      text <- base_text("infinite or missing values in 'x'", domain = "R-base")
      abort("non_finite", text, call, argument = "x")
    }
    if (nzchar(found$stored)) found$symmetric <- TRUE
    found$native <- list("sparse", found$starts, found$rows, found$values, found$stored)
  }
  found$dim <- as.double(found$dim)
  found
}

# The operand of gpu_eigen(), which must be symmetric. `symmetric` may be missing. For a sparse
# matrix the native routine then reads the lower triangle, as for a dense one.
as_symmetric_operand <- function(operand, x, symmetric, call) {
  refuse <- function(reason) {
    abort("not_symmetric", not_symmetric_text(operand$kind, reason), call, argument = "x")
  }
  known <- operand$symmetric
  if (!missing(symmetric)) {
    known <- as_condition(symmetric, "symmetric", call)
    if (!known) refuse("'symmetric' must not be FALSE if 'k' is given")
  }
  if (operand$kind == "factor") {
    refuse("'x' must be a symmetric matrix if 'k' is given, but its file holds a Cholesky factor")
  }
  if (is.null(known)) {
    known <- switch(operand$kind,
      `function` = TRUE,
      dense = unwrap(native_is_symmetric(operand$native[[2L]], operand$dim[[1L]]), call)$symmetric,
      resident = isSymmetric(unname(as_matrix(x, call))),
      sparse = is_symmetric_sparse(operand),
      tiles = {
        text <- paste(
          "'symmetric' must be TRUE for a file with both triangles if 'k' is given:",
          "only a file written with triangle = TRUE is known to be symmetric"
        )
        abort_argument("symmetric", text, call)
      }
    )
  }
  if (!known) {
    refuse(paste(
      "'x' must be symmetric if 'k' is given, but isSymmetric() finds that it is not. Use",
      "symmetric = TRUE, which reads the lower triangle, if rounding is the cause"
    ))
  }
  if (operand$kind == "sparse" && !nzchar(operand$stored)) {
    operand$native[[5L]] <- "L"
  }
  operand
}

is_symmetric_sparse <- function(operand) {
  x <- methods::new("dgCMatrix",
    i = operand$rows, p = operand$starts, x = operand$values, Dim = as.integer(operand$dim)
  )
  isTRUE(Matrix::isSymmetric(x))
}

