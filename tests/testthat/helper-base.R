# Comparison with base R itself: value, attributes, warnings and errors.

outcome <- function(expr) {
  warnings <- character()
  value <- tryCatch(
    withCallingHandlers(expr, warning = function(w) {
      warnings <<- c(warnings, conditionMessage(w))
      invokeRestart("muffleWarning")
    }),
    error = identity
  )
  list(
    error = if (inherits(value, "error")) conditionMessage(value),
    condition = if (inherits(value, "error")) value,
    value = if (!inherits(value, "error")) value,
    warnings = warnings
  )
}

# Types and attributes without the numbers of double vectors.
shape_of <- function(x) {
  skeleton <- if (is.list(x)) {
    lapply(unclass(x), shape_of)
  } else if (is.double(x) || is.complex(x)) {
    c(typeof(x), length(x))
  } else {
    as.vector(x)
  }
  list(skeleton, lapply(attributes(x), function(a) if (is.list(a)) lapply(a, identity) else a))
}

# `ours` does what `base` does: the same numbers to `tolerance`, identical types and attributes, the
# same words in warnings and errors; errors and warnings are of our classes and name our function.
# Errors name the `argument`, if one is given: at the end, if base R does not.
expect_as_base <- function(ours, base, tolerance = 1e-10, info = NULL, argument = NULL) {
  ours <- outcome(ours)
  base <- outcome(base)
  if (!is.null(argument) && !is.null(base$error)) {
    name <- sprintf("'%s'", argument)
    if (!grepl(name, base$error, fixed = TRUE)) base$error <- sprintf("%s (%s)", base$error, name)
    expect_s3_class(ours$condition, "cudafactor_error_argument")
    expect_identical(ours$condition$argument, argument)
  }
  expect_identical(ours$error, base$error, info = info)
  expect_identical(ours$warnings, base$warnings, info = info)
  if (!is.null(base$error)) {
    expect_s3_class(ours$condition, "cudafactor_error")
    return(invisible(ours$condition))
  }
  expect_identical(shape_of(ours$value), shape_of(base$value), info = info)
  expect_equal(ours$value, base$value, tolerance = tolerance, info = info)
  invisible(ours$value)
}

# The error of an operand that cannot be evaluated is the user's, and names no internal function.
expect_not_found <- function(code) {
  e <- expect_error(code, "object 'nosuch' not found")
  # Newer versions of R name the function whose argument it is, or none.
  internal <- setdiff(ls(asNamespace("cudafactor")), getNamespaceExports("cudafactor"))
  called <- conditionCall(e)
  expect_false(is.call(called) && deparse(called[[1L]])[[1L]] %in% internal)
}

# What else than a matrix of numbers a user may pass.
odd_operands <- list(
  text = matrix("a", 1, 1), numeric_text = matrix("4", 1, 1), raw = matrix(as.raw(4), 1, 1),
  factor = factor(4),
  null = NULL, fun = sum, environment = globalenv(), symbol = quote(a),
  array = array(1:8, c(2, 2, 2)),
  date = as.Date("2024-02-03"), data = data.frame(a = 4), text_data = data.frame(a = "z"),
  one = array(4, 1), named = c(a = 4), vector = 1:3, nothing = matrix(0, 0, 0),
  logical = matrix(TRUE, 1, 1),
  integer = matrix(4L, 1, 1), wide_nothing = matrix(0, 0, 2), tall_nothing = matrix(0, 2, 0),
  bad_list = matrix(list(1:2), 1, 1)
)
