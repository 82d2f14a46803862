# Random expressions that take and replace parts of a matrix, compared with base R: value, or the
# text of the error.

# One subscript. `n` is the number it counts to; "missing" stands for an empty place.
random_subscript <- function(n, names) {
  some <- function(size) sample.int(n + 1L, size, replace = TRUE)
  switch(sample.int(22L, 1L),
    some(1L), some(1L), some(1L) + 0, some(1L) + 0.7, some(2L), some(3L) + 0, -some(1L),
    -(some(2L) + 0), 0, n + 3L, NA, NA_integer_, c(1, NA), c(-1, 2), character(),
    c(TRUE, NA, FALSE), rep(TRUE, n), sample(c(names, "none"), 1L),
    sample(c(names, "none"), 2L, replace = TRUE), quote(expr = ),
    switch(sample.int(5L, 1L), NULL, integer(), 1e10, -1e10, NaN),
    switch(sample.int(7L, 1L),
      list(1), list(1, 2), 1i, factor("b", levels = c("a", "b")), as.raw(1), quote(sum), ""
    )
  )
}

# A subscript that stands alone may be a matrix of the places.
random_single <- function(x) {
  names <- c(rownames(x), "r1")
  switch(sample.int(8L, 1L),
    cbind(sample.int(nrow(x) + 1L, 2L, TRUE), sample.int(ncol(x), 2L, TRUE)),
    cbind(c(1, 0), 1), cbind(names[[1L]], "c1"), matrix(x > 4, nrow(x), dimnames = NULL),
    matrix(1:6, 2), random_subscript(length(x), names), random_subscript(length(x), names),
    random_subscript(nrow(x), names)
  )
}

random_values <- function() {
  switch(sample.int(14L, 1L),
    5, 5, 5, 5L, TRUE, NA, numeric(), NULL, 1:2, c(1, 2, 3), matrix(1:4, 2), -Inf, c(a = 7), 1:6
  )
}

# A call that takes x[...] or x[[...]], or replaces it and gives the changed `x`.
random_part <- function(x) {
  places <- sample.int(20L, 1L)
  subscripts <- if (places <= 8L) {
    list(random_single(x))
  } else if (places <= 18L) {
    list(
      random_subscript(nrow(x), c(rownames(x), "r1")),
      random_subscript(ncol(x), c(colnames(x), "c1"))
    )
  } else if (places == 19L) {
    list(1, 1, 1)
  } else {
    list()
  }
  bracket <- as.name(sample(c("[", "[["), 1L))
  extra <- switch(sample.int(10L, 1L),
    if (bracket == "[") list(drop = FALSE) else list(exact = FALSE),
    if (bracket == "[") list(drop = TRUE) else list(exact = TRUE),
    list()
  )
  if (runif(1L) < 0.5) {
    return(as.call(c(bracket, quote(x), subscripts, extra)))
  }
  call("{", call("<-", as.call(c(bracket, quote(x), subscripts)), random_values()), quote(x))
}

# The value of `code` for `x`, with its warnings, or its error.
part_outcome <- function(code, x) {
  seen <- outcome(eval(code, list(x = x)))
  if (!is.null(seen$error)) {
    return(list(error = seen$error, class = class(seen$condition)))
  }
  value <- fetched(seen$value)
  if (is.matrix(value) && identical(dimnames(value), list(NULL, NULL))) dimnames(value) <- NULL
  list(value = value, warnings = seen$warnings)
}

# For a negative integer with another subscript base R's `[[` reads a number that it has not set, so
# there is nothing to compare with.
is_undefined <- function(code) {
  part <- if (code[[1L]] == "{") code[[2L]][[2L]] else code
  places <- as.list(part)[-(1:2)]
  places <- places[!nzchar(names(places) %||% character(length(places)))]
  negative <- vapply(places, function(p) is.integer(p) && isTRUE(any(p < 0L)), NA)
  part[[1L]] == "[[" && length(places) == 2L && any(negative)
}

# Where a gpu_matrix says that it cannot become what base R's matrix becomes.
is_refused_change <- function(code, base, x) {
  fits <- is.numeric(base$value) && identical(dim(base$value), dim(x))
  code[[1L]] == "{" && is.null(base$error) && !fits
}

# TRUE, or what differs between the matrix and the gpu_matrix `g` of it.
same_part <- function(code, x, g) {
  base <- part_outcome(code, x)
  ours <- part_outcome(code, g)
  if (!is.null(ours$error) && !"cudafactor_error" %in% ours$class) {
    return(paste("unclassed:", ours$error))
  }
  if (is_undefined(code)) {
    return(if (is.null(ours$error)) "a negative integer was taken" else TRUE)
  }
  if (is_refused_change(code, base, x)) {
    return(if (is.null(ours$error)) "a change that a gpu_matrix cannot take was taken" else TRUE)
  }
  parts <- c("error", "value", "warnings")
  if (identical(ours[parts], base[parts])) {
    return(TRUE)
  }
  shown <- function(seen) deparse(seen$error %||% seen$value)[[1L]]
  paste0("base ", shown(base), ", ours ", shown(ours))
}

# The differences, by expression, among `count` random expressions.
compare_parts <- function(count, device) {
  plain <- matrix(as.double(c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)), 4)
  matrices <- list(
    plain, named(plain), matrix(plain, 4, dimnames = list(NULL, c("c1", "c2", "c2"))),
    plain[1, , drop = FALSE], named(plain[, 1, drop = FALSE]), plain[0, ], matrix(7)
  )
  resident <- lapply(matrices, as_gpu, device = device)
  wrong <- character()
  for (i in seq_len(count)) {
    k <- sample.int(length(matrices), 1L)
    code <- random_part(matrices[[k]])
    same <- same_part(code, matrices[[k]], resident[[k]])
    if (!isTRUE(same)) {
      shown <- paste(deparse(code), collapse = " ")
      wrong <- c(wrong, sprintf("matrix %d, %s: %s", k, shown, same))
    }
  }
  wrong
}
