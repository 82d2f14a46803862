# A few eigenvalues or singular values: gpu_eigen() and gpu_svd() with `k`.

# The arguments that count only with `k`. `given` are those that the user wrote.
check_without_k <- function(given, call) {
  if (length(given)) {
    text <- sprintf("'%s' can only be used with 'k', the number of values", given[[1L]])
    abort_argument(given[[1L]], text, call)
  }
}

# `k`, `tol` and `maxit` as the native routines read them, for a matrix with this smaller dimension.
few_limits <- function(k, tol, maxit, least, call) {
  k <- as_number(k, "k", call)
  if (!(k >= 1 && k <= least && k == round(k))) {
    text <- "'k' must be a whole number from 1 to %.0f, not %g"
    abort_argument("k", sprintf(text, least, k), call)
  }
  tol <- as_number(tol, "tol", call)
  if (!(tol >= 0)) {
    abort_argument("tol", sprintf("'tol' must not be negative, but is %g", tol), call)
  }
  c(k, tol, as_pcg_maxit(maxit, least, call))
}

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
    triangle <- isTRUE(.subset2(x, "triangle"))
    list(kind = "tiles", dim = dim(x), native = native, symmetric = if (triangle) TRUE)
  } else if (inherits(x, "simple_triplet_matrix")) {
    c(as_lp_triplets(x, "x", call), stored = "")
  } else if (isS4(x) && inherits(x, "sparseMatrix")) {
    symmetric_columns(x, call)
  } else {
    if (is_in_tiles(x) || describes_matrix(x)) {
      what <- "a matrix of numbers, a tile_matrix, or a function that multiplies"
      abort_type(sprintf("'x' must be %s, not of class \"%s\"", what, class(x)[[1L]]), call)
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
  known <- operand$symmetric
  if (!missing(symmetric)) {
    known <- as_condition(symmetric, "symmetric", call)
  }
  if (is.null(known)) {
    known <- switch(operand$kind,
      `function` = TRUE,
      dense = unwrap(native_is_symmetric(operand$native[[2L]], operand$dim[[1L]]), call)$symmetric,
      resident = isSymmetric(unname(as.matrix(x))),
      sparse = is_symmetric_sparse(operand),
      tiles = {
        text <- paste(
          "'symmetric' must be TRUE for a file with both triangles:",
          "only a file written with triangle = TRUE is known to be symmetric"
        )
        abort_argument("symmetric", text, call)
      }
    )
  }
  if (!known) {
    text <- paste(
      "'x' must be symmetric if 'k' is given, but it is not:",
      "gpu_eigen(x) computes all eigenvalues, and gpu_svd(x, k = ) singular values"
    )
    abort("not_symmetric", text, call, argument = "x")
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

# The settings of a call, and the budget of a matrix on disk.
few_where <- function(x, device, precision, call) {
  if (is_tile_matrix(x)) {
    memory <- budget(list(device = device), call)
    return(list(how = memory$how, memory = memory))
  }
  list(how = spectral_how(x, device, precision, call))
}

# Runs a native routine that may call functions of the user.
few_run <- function(operand, run, call) {
  continuation <- .External(new_continuation)
  native <- switch(operand$kind,
    `function` = c(operand$native, list(continuation)),
    operand$native
  )
  reply <- run(native)
  if (identical(reply$err$kind, "jumped")) {
    .External(resume_jump, continuation)
  }
  unwrap(reply, call, "few")
}

eigen_few <- function(x, symmetric, only.values, k, which, n, tol, maxit, device, precision, call) {
  which <- as_pcg_choice(which, c("LM", "LA", "SA"), "which", call)
  wanted <- !as_only_values(only.values, call)
  where <- few_where(x, device, precision, call)
  dim <- if (!is.null(n)) rep(few_order(n, "n", call), 2L)
  operand <- as_few_operand(x, dim, "n", where$memory, where$how, call)
  if (!operand$dim[[1L]] || operand$dim[[1L]] != operand$dim[[2L]]) {
    abort_dimension(eigen_shape_text(operand$dim), call)
  }
  operand <- as_symmetric_operand(operand, x, symmetric, call)
  if (is.function(x)) {
    operand$native <- list("function", checked_function(x, "x", call))
  }
  limits <- few_limits(k, tol, maxit, operand$dim[[1L]], call)
  out <- .External(alloc_matrix, operand$dim[[1L]], if (wanted) k else 0L)
  found <- few_run(operand, function(native) {
    native_eigen_few(native, operand$dim, which, limits, out, where$how)
  }, call)
  hint <- if (is.function(x)) ", and a function 'x' that is a symmetric matrix"
  warn_few(found, limits, "eigenvalue", hint, call)
  result <- list(values = found$values, vectors = if (wanted) out)
  result <- c(result, few_facts(found))
  if (wanted) class(result) <- "eigen"
  result
}

svd_few <- function(x, nu, nv, k, Atrans, dim, tol, maxit, device, precision, call) {
  where <- few_where(x, device, precision, call)
  if (!is.null(dim)) {
    if (length(dim) != 2L) abort_argument("dim", "'dim' must be two numbers", call)
    dim <- c(few_order(dim[[1L]], "dim", call), few_order(dim[[2L]], "dim", call))
  }
  if (is.function(x) != is.function(Atrans)) {
    text <- "'Atrans' must be a function, x'y, if 'x' is one, and only then"
    abort_argument("Atrans", text, call)
  }
  operand <- as_few_operand(x, dim, "dim", where$memory, where$how, call)
  dim <- operand$dim
  if (!all(dim > 0)) {
    abort_dimension(base_text("a dimension is zero", domain = "R-base"), call)
  }
  if (is.function(x)) {
    operand$native <- list("functions", checked_function(x, "x", call, dim[[1L]]),
      checked_function(Atrans, "Atrans", call, dim[[2L]]))
  }
  limits <- few_limits(k, tol, maxit, min(dim), call)
  u <- .External(alloc_matrix, dim[[1L]], few_columns(nu, "nu", k, call))
  v <- .External(alloc_matrix, dim[[2L]], few_columns(nv, "nv", k, call))
  found <- few_run(operand, function(native) {
    native_svd_few(native, dim, limits, u, v, where$how)
  }, call)
  hint <- if (is.function(x)) ", and check that 'Atrans' is the transpose of 'x'"
  warn_few(found, limits, "singular value", hint, call)
  result <- list(d = found$values)
  if (ncol(u)) result$u <- u
  if (ncol(v)) result$v <- v
  c(result, few_facts(found))
}

# A dimension of a function.
few_order <- function(n, argument, call) {
  n <- as_number(n, argument, call)
  if (!(n >= 1 && n == round(n) && n <= .Machine$integer.max)) {
    text <- "'%s' must be a whole number from 1 to %d, not %g"
    abort_argument(argument, sprintf(text, argument, .Machine$integer.max, n), call)
  }
  n
}

# How many columns of vectors are returned; all if `count` is NULL.
few_columns <- function(count, argument, k, call) {
  count <- as_number(count %||% k, argument, call)
  if (!(count >= 0 && count <= k && count == round(count))) {
    text <- "'%s' must be a whole number from 0 to 'k' = %.0f, not %g"
    abort_argument(argument, sprintf(text, argument, k, count), call)
  }
  as.integer(count)
}

few_facts <- function(found) {
  list(residuals = found$residuals, iterations = found$restarts, products = found$products)
}

warn_few <- function(found, limits, what, hint, call) {
  left <- which(!found$converged)
  if (!length(left)) {
    return(invisible())
  }
  text <- sprintf(
    ngettext(length(left), "%d %s of %.0f has", "%d %ss of %.0f have"), length(left), what,
    limits[[1L]]
  )
  text <- sprintf(
    "%s not converged after %s: the relative residual %.1e is too large for 'tol' = %.1e; %s%s",
    text, counted(found$restarts, "restart"), max(found$residuals[left]), limits[[2L]],
    "use a larger 'maxit' or 'tol'", hint %||% ""
  )
  warn("not_converged", text, call, columns = left, relative_residual = found$residuals[left])
}
