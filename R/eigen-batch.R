# Batches of gpu_eigen(): an array of symmetric matrices.

# What other functions take as many matrices, or base R as one column.
check_eigen_operand <- function(x, call) {
  many <- is.list(x) && length(x) && all(vapply(x, is.matrix, NA))
  if (many && !has_as_matrix(x)) {
    # simplify2array() makes a vector of matrices with one entry.
    each <- if (length(unique(lapply(x, dim))) == 1L && length(x[[1L]]) > 1L) "simplify2array(x)"
    text <- "'x' must be a matrix or an array, not a list of matrices: use "
    abort_type(paste0(text, each %||% "lapply(x, gpu_eigen)"), call)
  }
  if (length(dim(x)) > 3L) {
    abort_dimension(sprintf(
      "'x' must be a matrix or an array c(n, n, b), not an array of %d dimensions", length(dim(x))
    ), call)
  }
}

# Does a class of the object have its own method?
has_as_matrix <- function(x) {
  found <- lapply(oldClass(x), utils::getS3method, f = "as.matrix", optional = TRUE)
  length(unlist(found)) > 0L
}

eigen_batch <- function(x, symmetric, only.values, device, precision, call) {
  if (isS4(x)) {
    x <- without_class(x)
  }
  if (is.complex(x)) {
    abort_complex("base::eigen() of each matrix", call)
  }
  dx <- dim(x)
  n <- dx[[1L]]
  count <- dx[[3L]]
  if (dx[[2L]] != n) {
    abort_dimension(batch_shape_text(dx), call)
  }
  if (n == 0L && count > 0L) {
    abort_dimension(eigen_shape_text(c(0L, 0L)), call)
  }
  where <- how(device, precision, call)
  x <- as_numeric_matrix(without_times(x), call)
  last <- dimnames(x)[3L]
  names <- last[[1L]]
  text <- base_text("infinite or missing values in 'x'", domain = "R-base")
  check_batch(x, "x", names, where, call, text, "matrix")
  if (missing(symmetric)) {
    check_each_symmetric(x, n, names, call)
  } else if (!as_condition(symmetric, "symmetric", call)) {
    abort_argument("symmetric", paste(
      "'symmetric' must not be FALSE for an array: use apply(x, 3, gpu_eigen, symmetric = FALSE)",
      "for matrices that are not symmetric"
    ), call)
  }
  wanted <- !as_only_values(only.values, call)
  out <- .External(alloc_matrix, n, if (wanted) n * as.double(count) else 0)
  values <- unwrap(native_eigen_batch(x, n, wanted, out, where), call)$values
  found <- list(values = matrix(values, n, count), vectors = NULL)
  if (wanted) {
    dim(out) <- dx
    found$vectors <- out
    class(found) <- "eigen"
  }
  if (!is.null(names)) {
    dimnames(found$values) <- c(list(NULL), last)
    if (wanted) dimnames(found$vectors) <- c(list(NULL, NULL), last)
  }
  found
}

batch_shape_text <- function(dim) {
  text <- sprintf(
    "'x' must be an array c(n, n, b) of square matrices: its dimensions are %s",
    paste(dim, collapse = ", ")
  )
  if (dim[[2L]] == dim[[3L]]) {
    text <- paste0(text, "; use aperm(x, c(2, 3, 1)) if the first one counts matrices")
  }
  text
}

# Stops at the first matrix that is not symmetric.
check_each_symmetric <- function(x, n, names, call) {
  index <- as.integer(unwrap(native_first_asymmetric(x, n), call)$index)
  if (index > 0L) {
    place <- with_name(list(index = index), names)
    one <- matrix(x[, , index], n)
    difference <- max(abs(one - t(one))) / max(abs(one))
    text <- paste(
      "'x' is not symmetric: entries differ from those across the diagonal by up to",
      sprintf("%.1e times the largest; if that is rounding, use symmetric = TRUE,", difference),
      "which takes lower triangles, else apply(x, 3, gpu_eigen)"
    )
    fields <- c(list(argument = "x", asymmetry = difference), place)
    stop(error_condition("not_symmetric", in_batch_text(place, text), call, fields))
  }
}
