# Batches of gpu_eigen(): an array of symmetric matrices.

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
  if (dx[[2L]] != n || (n == 0L && count > 0L)) {
    abort_dimension(eigen_shape_text(dx[1:2]), call)
  }
  where <- how(device, precision, call)
  x <- as_numeric_matrix(x, call)
  names <- dimnames(x)[[3L]]
  text <- base_text("infinite or missing values in 'x'", domain = "R-base")
  check_batch(x, "x", names, where, call, text, "matrix")
  if (missing(symmetric)) {
    check_each_symmetric(x, n, names, call)
  } else if (!as_condition(symmetric, "symmetric", call)) {
    text <- "'symmetric' must be TRUE for a batch: use lapply() for matrices that are not symmetric"
    abort_argument("symmetric", text, call)
  }
  wanted <- !as_only_values(only.values, call)
  out <- .External(alloc_matrix, n, if (wanted) n * as.double(count) else 0)
  values <- unwrap(native_eigen_batch(x, n, wanted, out, where), call)$values
  found <- list(values = name_last(matrix(values, n, count), names), vectors = NULL)
  if (wanted) {
    dim(out) <- dx
    found$vectors <- name_last(out, names)
    class(found) <- "eigen"
  }
  found
}

# Stops at the first matrix that is not symmetric.
check_each_symmetric <- function(x, n, names, call) {
  index <- as.integer(unwrap(native_first_asymmetric(x, n), call)$index)
  if (index > 0L) {
    place <- with_name(list(index = index), names)
    text <- paste0(
      "'x' is not symmetric: use lapply() for such matrices, or symmetric = TRUE to take lower ",
      "triangles"
    )
    fields <- c(list(argument = "x"), place)
    stop(error_condition("not_symmetric", in_batch_text(place, text), call, fields))
  }
}
