# A few eigenvalues or singular values: gpu_eigen() and gpu_svd() with `k`.

# The arguments that count only with `k`. `given` are those that the user wrote.
check_without_k <- function(given, call) {
  if (length(given)) {
    text <- sprintf(
      "'%s' can only be used with 'k', the number of values: give 'k' too", given[[1L]]
    )
    abort_argument(given[[1L]], text, call)
  }
}

# A function has no entries, from which all values are computed.
check_no_function <- function(x, way, call) {
  if (is.function(x)) {
    text <- "'x' must be a matrix, not a function, unless 'k' is given: %s computes a few values"
    abort_type(sprintf(text, way), call)
  }
}

# `k`, `tol` and `maxit` as the native routines read them, for a matrix with this smaller dimension.
few_limits <- function(k, tol, maxit, least, call) {
  k <- as_whole(k, "k", 1, least, call)
  tol <- as_number(tol, "tol", call)
  if (!(tol >= 0 && tol < Inf)) {
    text <- "'tol' must be a finite number that is not negative, but is %g"
    abort_argument("tol", sprintf(text, tol), call)
  }
  c(k, tol, as_whole(maxit, "maxit", 0, .Machine$integer.max, call))
}

# A whole number in this range. `upper` names its end.
as_whole <- function(value, argument, from, to, call, upper = sprintf("%.0f", to)) {
  number <- as_number(value, argument, call)
  if (!(number >= from && number <= to && number == round(number))) {
    text <- "'%s' must be a whole number from %.0f to %s, not %s"
    abort_argument(argument, sprintf(text, argument, from, upper, as_code(value)), call)
  }
  number
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
  fields <- reply$err$fields
  if (!is.null(fields$asymmetry)) {
    text <- asymmetric_text(operand$kind, fields$asymmetry)
    abort("not_symmetric", text, call, argument = "x", asymmetry = fields$asymmetry)
  }
  if (!is.null(fields$difference)) {
    text <- not_transposed_text(fields$difference)
    abort("argument", text, call, argument = "Atrans", difference = fields$difference)
  }
  unwrap(reply, call, "few")
}

eigen_few <- function(x, symmetric, only.values, k, which, n, tol, maxit, device, precision, call) {
  which <- as_pcg_choice(which, c("LM", "LA", "SA"), "which", call)
  wanted <- !as_only_values(only.values, call)
  where <- few_where(x, device, precision, call)
  dim <- if (!is.null(n)) rep(as_whole(n, "n", 1, .Machine$integer.max, call), 2L)
  x <- without_times(x)
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
  warn_few(found, limits, "eigenvalue", operand$kind, call)
  result <- list(values = found$values, vectors = if (wanted) out)
  result <- c(result, few_facts(found))
  if (wanted) class(result) <- "eigen"
  result
}

svd_few <- function(x, nu, nv, k, Atrans, dim, tol, maxit, device, precision, call) {
  where <- few_where(x, device, precision, call)
  if (!is.null(dim)) {
    dim <- few_dim(dim, call)
  }
  if (is.function(x) && !is.function(Atrans)) {
    text <- "'Atrans' must be a function if 'x' is one: it returns x'u for a matrix u"
    abort_argument("Atrans", text, call)
  }
  if (!is.function(x) && !is.null(Atrans)) {
    abort_argument("Atrans", "'Atrans' can only be used if 'x' is a function", call)
  }
  if (is.matrix(x)) refuse_times(x, call)
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
  warn_few(found, limits, "singular value", operand$kind, call)
  result <- list(d = found$values)
  if (ncol(u)) result$u <- u
  if (ncol(v)) result$v <- v
  c(result, few_facts(found))
}

# The dimensions of a function.
few_dim <- function(dim, call) {
  most <- .Machine$integer.max
  fits <- is.numeric(dim) && length(dim) == 2L && !anyNA(dim) &&
    all(dim >= 1 & dim == round(dim) & dim <= most)
  if (!fits) {
    text <- "'dim' must be two whole numbers from 1 to %d, not %s"
    abort_argument("dim", sprintf(text, most, as_code(dim)), call)
  }
  as.double(dim)
}

# How many columns of vectors are returned; all if `count` is NULL.
few_columns <- function(count, argument, k, call) {
  as.integer(as_whole(count %||% k, argument, 0, k, call, sprintf("'k' = %.0f", k)))
}

few_facts <- function(found) {
  list(residuals = found$residuals, iterations = found$restarts, products = found$products)
}

# `found$residuals` and `found$limits` are in units of the largest value.
warn_few <- function(found, limits, what, kind, call) {
  left <- which(!found$converged)
  if (!length(left)) {
    return(invisible())
  }
  worst <- left[[which.max(found$residuals[left] / found$limits[left])]]
  text <- paste(
    ngettext(length(left), "%d %s of %.0f has", "%d %ss of %.0f have"),
    "not converged after %s: the residual of number %d is %.1e times the largest %s, above its",
    "limit %.1e"
  )
  text <- sprintf(
    text, length(left), what, limits[[1L]], counted(found$restarts, "restart"), worst,
    found$residuals[[worst]], if (what == "eigenvalue") "|value|" else "value",
    found$limits[[worst]]
  )
  way <- if (found$restarts >= limits[[3L]]) {
    "use a larger 'maxit' or 'tol'"
  } else {
    reasons <- c(
      if (what == "eigenvalue") "are not those of a symmetric matrix",
      "are not exact enough"
    )
    # Products with matrices in memory are exact but for rounding.
    external <- kind %in% c("function", "tiles")
    paste0(
      "residuals do not fall further",
      if (external) paste0(", as products ", paste(reasons, collapse = ", or ")),
      ": use a larger 'tol'",
      if (kind == "function") ", or a function with smaller errors"
    )
  }
  warn("not_converged", paste0(text, "; ", way), call,
    columns = left, relative_residual = found$residuals[left], limit = found$limits[left])
}
