# Operands of pcg(): matrix, right-hand sides and start. The matrix becomes a list with `kind` and
# the values that the native routine reads.

as_pcg_choice <- function(value, known, argument, call) {
  if (!(is.character(value) && length(value) == 1L && value %in% known)) {
    choices <- paste0("\"", known, "\"", collapse = ", ")
    abort_argument(argument, sprintf("'%s' must be one of %s", argument, choices), call)
  }
  value
}

# `rows` is the order of a matrix that is a function, NULL where none is allowed. `what` describes
# the operands allowed, for errors.
as_pcg_matrix <- function(A, rows, where, call,
                          what = "a matrix of numbers, or a function that multiplies") {
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
    text <- sprintf("'A' (%.0f x %.0f) must be square", found$dim[[1L]], found$dim[[2L]])
    abort_dimension(text, call)
  }
  found$n <- found$dim[[1L]]
  if (found$kind == "dense" && !all_finite(found$x, where, call)) {
    abort_non_finite("A", call)
  }
  found
}

# Right-hand sides: a vector, a plain matrix, or a `gpu_matrix`.
as_pcg_sides <- function(b, call) {
  if (is.data.frame(b) || inherits(b, "simple_triplet_matrix")) {
    b <- as_matrix(b, call)
  }
  as_side(b, call)
}

as_coefficients_of <- function(A, call) {
  refuse <- function(e) abort_not_numbers(A, "A", "a matrix of numbers", call)
  x <- tryCatch(as_matrix(A, call), cudafactor_error_type = refuse)
  if (is.complex(x)) {
    abort_complex("base::solve()", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_not_numbers(x, "A", "a matrix of numbers", call)
  }
  as_double(x, call)
}

# The operand as the native routine reads it.
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

# The user's function, with a check that its value has the dimensions of its argument, or as many
# columns and this number of rows.
checked_function <- function(f, argument, call, rows = NULL) {
  function(x) {
    wanted <- c(as.integer(rows %||% nrow(x)), ncol(x))
    y <- f(x)
    given <- if (is.object(y)) {
      sprintf("an object of class \"%s\"", class(y)[[1L]])
    } else {
      sprintf("of type \"%s\"", typeof(y))
    }
    # as.matrix() turns a factor into text, which is refused below.
    if (is.object(y)) {
      y <- as_matrix(y, call)
    }
    if (!is.numeric(y)) {
      text <- "the function '%s' must return numbers, not %s"
      abort_type(sprintf(text, argument, given), call)
    }
    if (length(y) != prod(wanted) || is.matrix(y) && !identical(dim(y), wanted)) {
      found <- if (is.matrix(y)) dimensions_text(dim(y)) else sprintf("%d numbers", length(y))
      text <- if (is.null(rows)) {
        "the function '%s' must return the dimensions of its argument, %s, not %s"
      } else {
        "the function '%s' must return a matrix, %s, not %s"
      }
      abort_dimension(sprintf(text, argument, dimensions_text(wanted), found), call)
    }
    as.double(y)
  }
}

# The mean of a matrix and its transpose, if it is symmetric up to rounding as isSymmetric() checks.
symmetric_part <- function(matrix, call) {
  x <- switch(matrix$kind,
    sparse = methods::new("dgCMatrix",
      i = matrix$rows, p = matrix$starts, x = matrix$values, Dim = as.integer(matrix$dim)
    ),
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
    mean <- symmetric_columns((x + Matrix::t(x)) / 2, call)
    return(utils::modifyList(mean, list(n = matrix$n)))
  }
  matrix$x <- (x + t(x)) / 2
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
    abort_not_numbers(x0, "x0", "numbers with the dimensions of 'b'", call)
  }
  if (length(x0) != n * columns || is.matrix(x0) && nrow(x0) != n) {
    found <- if (is.null(dim(x0))) sprintf("%d numbers", length(x0)) else dimensions_text(dim(x0))
    text <- "'x0' must have the dimensions of 'b', %.0f x %d, not %s"
    abort_dimension(sprintf(text, n, columns, found), call)
  }
  as.double(x0)
}

as_pcg_maxit <- function(maxit, n, call) {
  if (is.null(maxit)) {
    return(max(100, min(10 * n, 10000)))
  }
  maxit <- as_number(maxit, "maxit", call)
  if (!(maxit >= 0 && maxit == round(maxit) && maxit <= .Machine$integer.max)) {
    text <- "'maxit' must be a whole number from 0 to %d, not %g"
    abort_argument("maxit", sprintf(text, .Machine$integer.max, maxit), call)
  }
  maxit
}
