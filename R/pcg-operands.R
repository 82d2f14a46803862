# What pcg() takes as matrix, preconditioner and start. Each is a list with `kind` and what the native routine needs of it.

as_pcg_choice <- function(value, known, argument, call) {
  if (!(is.character(value) && length(value) == 1L && value %in% known)) {
    abort_argument(argument, sprintf("'%s' must be one of %s", argument, paste0("\"", known, "\"", collapse = ", ")), call)
  }
  value
}

# `rows` is the order of a matrix that does not tell its own. `what` the user's function may be given instead of a matrix.
as_pcg_matrix <- function(A, rows, where, call, what = "a matrix of numbers, or a function that multiplies") {
  if (is.function(A) && !is.null(rows)) {
    return(list(kind = "function", f = A, argument = "A", n = rows))
  }
  found <- if (is_resident(A)) {
    list(kind = "resident", x = A, dim = dim(A), dimnames = dimnames(A))
  } else if (inherits(A, "simple_triplet_matrix")) {
    if (is.logical(A$v)) {
      A$v <- as.double(A$v)
    }
    c(as_lp_triplets(A, "A", call), stored = "")
  } else if (isS4(A) && inherits(A, "sparseMatrix")) {
    symmetric_columns(A, call)
  } else {
    if (is_in_tiles(A) || describes_matrix(A)) {
      abort_type(sprintf("'A' must be %s, not of class \"%s\"", what, class(A)[[1L]]), call)
    }
    check_numbers(A, "A", what, call)
    x <- as_coefficients_of(A, call)
    list(kind = "dense", x = x, dim = dim(x), dimnames = dimnames(x))
  }
  if (found$dim[[1L]] != found$dim[[2L]]) {
    abort_dimension(sprintf("'A' (%.0f x %.0f) must be square", found$dim[[1L]], found$dim[[2L]]), call)
  }
  found$n <- found$dim[[1L]]
  if (found$kind == "dense" && !all_finite(found$x, where, call)) {
    abort_non_finite("A", call)
  }
  found
}

# Right-hand sides: a vector, a plain matrix, or a `gpu_matrix`.
as_pcg_sides <- function(b, call) {
  as_side(if (is.data.frame(b) || inherits(b, "simple_triplet_matrix")) as_matrix(b, call) else b, call)
}

as_coefficients_of <- function(A, call) {
  x <- tryCatch(as_matrix(A, call), cudafactor_error_type = function(e) abort_not_numbers(A, "A", "a matrix of numbers", call))
  if (is.complex(x)) {
    abort_complex("base::solve()", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type(sprintf("'A' must be a matrix of numbers, not of type \"%s\"", typeof(x)), call)
  }
  as_double(x, call)
}

# For the native routine.
native_operand <- function(x, continuation, call) {
  switch(x$kind,
    sparse = list("sparse", x$starts, x$rows, x$values, x$stored),
    ichol = list("ichol", x$starts, x$rows, x$values),
    dense = list("dense", x$x),
    resident = list("resident", x$x@pointer),
    `function` = list("function", checked_function(x$f, x$argument, call), continuation),
    list(x$kind)
  )
}

# The user's function, whose value becomes as many numbers as it was given.
checked_function <- function(f, argument, call) {
  function(x) {
    y <- f(x)
    given <- class(y)[[1L]]
    # A factor in R's sense becomes text.
    if (is.object(y)) {
      y <- as_matrix(y, call)
    }
    if (!is.numeric(y)) {
      abort_type(sprintf("the function '%s' must give numbers, not an object of class \"%s\"", argument, given), call)
    }
    if (length(y) != length(x) || is.matrix(y) && !identical(dim(y), dim(x))) {
      abort_dimension(sprintf("the function '%s' must give numbers for a matrix of %d x %d, of the same extents", argument, nrow(x), ncol(x)), call)
    }
    as.double(y)
  }
}

# A matrix that is symmetric but for rounding, made exactly so.
symmetric_part <- function(matrix, call) {
  x <- switch(matrix$kind,
    sparse = methods::new("dgCMatrix", i = matrix$rows, p = matrix$starts, x = matrix$values, Dim = as.integer(matrix$dim)),
    matrix$x
  )
  same <- switch(matrix$kind,
    sparse = Matrix::isSymmetric(x),
    resident = isSymmetric(unname(as.matrix(x))),
    isSymmetric(unname(x))
  )
  if (!isTRUE(same)) {
    abort("not_symmetric", "'A' is not symmetric", call, argument = "A")
  }
  if (matrix$kind == "sparse") {
    return(utils::modifyList(symmetric_columns((x + Matrix::t(x)) / 2, call), list(n = matrix$n)))
  }
  matrix$x <- (x + t(x)) / 2
  matrix
}

# The preconditioner to take: `M` is NULL where it was not given, `free` says that there is no start either.
choose_preconditioner <- function(M, method, free, matrix, where, call) {
  if (method == "direct") {
    if (!is.null(M)) {
      abort_argument("M", "a direct solution has no preconditioner 'M': leave it out, or use method = \"cg\"", call)
    }
    if (matrix$kind == "function") {
      abort_argument("method", "a matrix that is a function cannot be factored: use method = \"cg\"", call)
    }
    return(list(kind = "cholesky", name = "cholesky", auto = FALSE))
  }
  if (!is.null(M)) {
    return(c(as_preconditioner(M, matrix, where, call), auto = FALSE))
  }
  auto <- method == "auto" && matrix$kind != "function"
  kind <- if (matrix$kind == "function") {
    "none"
  } else if (auto && free) {
    "auto"
  } else {
    # By kind and device, and of a plain matrix by its entries.
    "default"
  }
  list(kind = kind, name = kind, auto = auto)
}

as_preconditioner <- function(M, matrix, where, call) {
  if (is.character(M)) {
    known <- c("ic0", "jacobi", "none", "amg")
    kind <- if (identical(M, known)) "ic0" else as_pcg_choice(M, known, "M", call)
    if (matrix$kind == "function" && kind != "none") {
      abort_argument("M", sprintf("M = \"%s\" is made of the matrix, which a function does not tell: give M = \"none\", a factor or a function", kind), call)
    }
    if (kind == "amg" && matrix$kind != "sparse") {
      abort_argument("M", "M = \"amg\" is for sparse matrices: give 'A' as one of a sparse class of package Matrix, or of slam", call)
    }
    return(list(kind = kind, name = kind))
  }
  by <- function(f, name) list(kind = "function", name = name, f = f, argument = "M")
  if (is.function(M)) {
    return(by(M, "function"))
  }
  n <- matrix$n
  order <- dim(M)
  if (length(order) == 2L && any(order != n)) {
    abort_dimension(sprintf("'M' (%.0f x %.0f) must be compatible with 'A' (%.0f x %.0f)", order[[1L]], order[[2L]], n, n), call)
  }
  if (inherits(M, "ichol")) {
    return(c(lower_columns(M$L, call), name = "ichol"))
  }
  if (is_in_tiles(M)) {
    return(by(function(r) chol_solve(M, r), "factor"))
  }
  if (isS4(M) && inherits(M, "CHMfactor")) {
    return(by(function(r) as.matrix(Matrix::solve(M, r, system = "A")), "factor"))
  }
  what <- "one of \"ic0\", \"jacobi\", \"none\" and \"amg\", a Cholesky factor or a function"
  # Some of these extend a class of triangular matrices.
  if (isS4(M) && inherits(M, "MatrixFactorization") && !inherits(M, c("Cholesky", "pCholesky"))) {
    abort_not_numbers(M, "M", what, call)
  }
  # NA is in no order, either. `perm` is a slot of later versions of package Matrix.
  in_order <- function(name) isFALSE(is.unsorted(attr(M, name, exact = TRUE)))
  if (!(in_order("pivot") && in_order("perm"))) {
    abort_argument("M", "'M' is a pivoted factor, of a matrix in another order: give chol() without pivoting", call)
  }
  if (is_resident(M)) {
    return(list(kind = "resident", name = "factor", x = M))
  }
  if (isS4(M) && inherits(M, "sparseMatrix")) {
    uplo <- sparse_triangle(M, call)
    return(c(lower_columns(if (uplo == "U") Matrix::t(M) else M, call), name = "factor"))
  }
  if (describes_matrix(M)) {
    abort_type(sprintf("'M' must be a Cholesky factor, as chol() gives it, not of class \"%s\"", class(M)[[1L]]), call)
  }
  if (inherits(M, c("Cholesky", "pCholesky")) && !inherits(M, "triangularMatrix")) {
    M <- coerced(M, if (inherits(M, "Cholesky")) "dtrMatrix" else "dtpMatrix", call)
  }
  check_numbers(M, "M", what, call)
  x <- tryCatch(as_matrix(M, call), cudafactor_error_type = function(e) abort_not_numbers(M, "M", what, call))
  if (is.list(x)) {
    abort_not_numbers(M, "M", what, call)
  }
  uplo <- if (isS4(M) && inherits(M, "triangularMatrix")) M@uplo
  list(kind = "dense", name = "factor", x = upper_factor(as_real_matrix(x, call, "a real one"), uplo, n, where, call))
}

# Why a matrix is not taken for a factor. One that is diagonal could be a factor, and could be meant for the matrix itself.
no_factor_texts <- list(
  diagonal = "'M' is diagonal, and may be a matrix or its factor: M = \"jacobi\" is the diagonal of 'A'; of another one give a function",
  full = "'M' must be a triangular matrix, the Cholesky factor of a matrix near 'A': give chol() of that"
)

# "U" or "L", of a sparse matrix that stays sparse.
sparse_triangle <- function(M, call) {
  if (inherits(M, "triangularMatrix")) {
    return(M@uplo)
  }
  if (nrow(M) > 1L && Matrix::isDiagonal(M)) {
    abort_argument("M", no_factor_texts$diagonal, call)
  }
  found <- Matrix::isTriangular(M)
  if (!found) {
    abort_argument("M", no_factor_texts$full, call)
  }
  attr(found, "kind")
}

# A triangular matrix as an upper one. `uplo` is of one whose class tells that it is a factor, even where it is diagonal.
upper_factor <- function(M, uplo, n, where, call) {
  if (any(dim(M) != n)) {
    abort_dimension(sprintf("'M' (%d x %d) must be compatible with 'A' (%.0f x %.0f)", nrow(M), ncol(M), n, n), call)
  }
  upper <- if (is.null(uplo)) unwrap(native_triangles(M, dim(M)), call, "pcg")$upper else uplo == "U"
  if (!all_finite(M, where, call)) {
    abort_non_finite("M", call)
  }
  if (upper) M else t(M)
}

# A lower triangular matrix of package Matrix, as the native routine takes a sparse factor.
lower_columns <- function(L, call) {
  x <- sparse_columns(L, call)
  list(kind = "ichol", starts = x$starts, rows = x$rows, values = x$values)
}

# A dense matrix meets a dense factor on the device of one of them.
beside_factor <- function(matrix, preconditioner, call) {
  if (preconditioner$kind == "resident" && matrix$kind == "resident") {
    check_together(matrix$x, preconditioner$x, call, "M")
  } else if (preconditioner$kind == "resident" && matrix$kind == "dense") {
    matrix$x <- upload_beside(matrix$x, matrix$dim, NULL, preconditioner$x, call)
    matrix$kind <- "resident"
  }
  matrix
}

as_pcg_start <- function(x0, n, columns, call) {
  if (inherits(x0, "pcg")) {
    x0 <- x0$x
  }
  if (is.null(x0)) {
    return(NULL)
  }
  if (is.object(x0)) {
    x0 <- as_matrix(x0, call)
  }
  if (!(is.numeric(x0) || is.logical(x0))) {
    abort_type("'x0' must be numbers", call)
  }
  if (length(x0) != n * columns || is.matrix(x0) && nrow(x0) != n) {
    abort_dimension(sprintf("'x0' must be of the extents of 'b', %.0f x %d", n, columns), call)
  }
  as.double(x0)
}

as_pcg_maxit <- function(maxit, n, call) {
  if (is.null(maxit)) {
    return(max(100, min(10 * n, 10000)))
  }
  maxit <- as_number(maxit, "maxit", call)
  if (!(maxit >= 0 && maxit == round(maxit) && maxit <= .Machine$integer.max)) {
    abort_argument("maxit", sprintf("'maxit' must be a whole number from 0 to %d", .Machine$integer.max), call)
  }
  maxit
}
