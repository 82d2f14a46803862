# The argument M of pcg(): its choice, its checks and its form for the native routine.

# The preconditioner to use. `M` is NULL if it is missing; `free` is TRUE if there is no start.
choose_preconditioner <- function(M, method, free, matrix, where, call) {
  if (method == "direct") {
    if (!is.null(M)) {
      text <- "'M' can only be used when pcg() iterates: leave it out, or use method = \"cg\""
      abort_argument("M", text, call)
    }
    if (matrix$kind == "function") {
      text <- "method = \"direct\" needs a matrix 'A', not a function: use method = \"cg\""
      abort_argument("method", text, call)
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
    # The native routine chooses by kind and device, and for a plain matrix by its entries.
    "default"
  }
  list(kind = kind, name = kind, auto = auto)
}

as_preconditioner <- function(M, matrix, where, call) {
  if (is.character(M)) {
    known <- c("ic0", "jacobi", "none", "amg")
    kind <- if (identical(M, known)) "ic0" else as_pcg_choice(M, known, "M", call)
    if (matrix$kind == "function" && kind != "none") {
      text <- paste(
        "M = \"%s\" needs the entries of 'A', and 'A' is a function:",
        "use M = \"none\", a Cholesky factor or a function"
      )
      abort_argument("M", sprintf(text, kind), call)
    }
    if (kind == "amg" && matrix$kind != "sparse") {
      text <- paste(
        "M = \"amg\" needs a sparse 'A': give 'A' as a matrix of a sparse class of package Matrix,",
        "or of slam"
      )
      abort_argument("M", text, call)
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
    abort_pcg_order(order, n, call)
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
  # Other factorizations are refused first: some of their classes extend triangular matrices.
  if (isS4(M) && inherits(M, "MatrixFactorization") && !inherits(M, c("Cholesky", "pCholesky"))) {
    abort_not_numbers(M, "M", what, call)
  }
  # Pivots with NA count as unsorted. `perm` is a slot of later versions of package Matrix.
  in_order <- function(name) isFALSE(is.unsorted(attr(M, name, exact = TRUE)))
  if (!(in_order("pivot") && in_order("perm"))) {
    text <- paste(
      "'M' must be a factor in the order of the rows of 'A', but it is pivoted:",
      "use chol() without pivoting"
    )
    abort_argument("M", text, call)
  }
  if (is_resident(M)) {
    return(list(kind = "resident", name = "factor", x = M))
  }
  if (isS4(M) && inherits(M, "sparseMatrix")) {
    uplo <- sparse_triangle(M, call)
    return(c(lower_columns(if (uplo == "U") Matrix::t(M) else M, call), name = "factor"))
  }
  if (describes_matrix(M)) {
    text <- "'M' must be a Cholesky factor, as chol() returns it, not of class \"%s\""
    abort_type(sprintf(text, class(M)[[1L]]), call)
  }
  if (inherits(M, c("Cholesky", "pCholesky")) && !inherits(M, "triangularMatrix")) {
    M <- coerced(M, if (inherits(M, "Cholesky")) "dtrMatrix" else "dtpMatrix", call)
  }
  check_numbers(M, "M", what, call)
  refuse <- function(e) abort_not_numbers(M, "M", what, call)
  x <- tryCatch(as_matrix(M, call), cudafactor_error_type = refuse)
  if (is.list(x)) {
    abort_not_numbers(M, "M", what, call)
  }
  uplo <- if (isS4(M) && inherits(M, "triangularMatrix")) M@uplo
  factor <- upper_factor(as_real_matrix(x, call, "a real one"), uplo, n, where, call)
  list(kind = "dense", name = "factor", x = factor)
}

abort_pcg_order <- function(order, n, call) {
  text <- "'M' (%.0f x %.0f) must be compatible with 'A' (%.0f x %.0f)"
  abort_dimension(sprintf(text, order[[1L]], order[[2L]], n, n), call)
}

# Why a matrix is not accepted as a factor. A diagonal one could be meant as M or as its factor.
no_factor_texts <- list(
  diagonal = paste(
    "'M' must be a Cholesky factor, but a diagonal matrix could also be the matrix itself:",
    "use M = \"jacobi\" for the diagonal of 'A', or a function that divides by another diagonal"
  ),
  full = paste(
    "'M' must be a triangular matrix, the Cholesky factor of a matrix near 'A':",
    "use the result of chol()"
  )
)

# "U" or "L" for a sparse matrix.
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

# A triangular matrix as an upper triangular one. `uplo` is "U" or "L" if the class of `M` says so,
# which makes a diagonal matrix a factor; else NULL.
upper_factor <- function(M, uplo, n, where, call) {
  if (any(dim(M) != n)) {
    abort_pcg_order(dim(M), n, call)
  }
  upper <- if (is.null(uplo)) {
    unwrap(native_triangles(M, dim(M)), call, "pcg")$upper
  } else {
    uplo == "U"
  }
  if (!all_finite(M, where, call)) {
    abort_non_finite("M", call)
  }
  if (upper) M else t(M)
}

# A lower triangular matrix of package Matrix, as the native routine reads a sparse factor.
lower_columns <- function(L, call) {
  x <- sparse_columns(L, call)
  list(kind = "ichol", starts = x$starts, rows = x$rows, values = x$values)
}

# A dense matrix is moved to the device of a factor that is a `gpu_matrix`.
beside_factor <- function(matrix, preconditioner, call) {
  if (preconditioner$kind == "resident" && matrix$kind == "resident") {
    check_together(matrix$x, preconditioner$x, call, "M")
  } else if (preconditioner$kind == "resident" && matrix$kind == "dense") {
    matrix$x <- upload_beside(matrix$x, matrix$dim, NULL, preconditioner$x, call)
    matrix$kind <- "resident"
  }
  matrix
}
