# Batches of gpu_lm_fit(): an array of design matrices, with one or more responses for each.

is_design_batch <- function(x) is.atomic(x) && length(dim(x)) == 3L && !is.factor(x)

lm_batch <- function(x, y, offset, tol, singular.ok, device, precision, call) {
  x <- plain_array(x, call)
  y <- plain_array(y, call)
  dx <- dim(x)
  dy <- dim(y)
  k <- dx[[3L]]
  if (!(length(dy) %in% 2:3) || dy[[1L]] != dx[[1L]] || dy[[length(dy)]] != k) {
    abort_responses(dx, y, call)
  }
  if (dx[[1L]] == 0L && k > 0L) {
    abort_dimension(base_text("0 (non-NA) cases", domain = "R-stats"), call)
  }
  if (!is.null(offset)) {
    check_conformable(y, offset, call)
    if (!(length(offset) %in% c(dx[[1L]], length(y)))) {
      abort_dimension(
        "'offset' must have one number for each row of 'x', or for each entry of 'y'", call
      )
    }
    y <- y - as.vector(offset)
  }
  problems <- problem_names(x, y, call)
  where <- how(device, precision, call)
  check_batch(x, "x", problems, where, call)
  check_batch(y, "y", problems, where, call)
  fit <- least_squares_batch(x, y, problems, tol, where, call)
  if (!singular.ok && any(deficient <- fit$qr$rank < dx[[2L]])) {
    index <- which(deficient)[[1L]]
    place <- with_name(list(index = index), problems)
    text <- in_batch_text(
      place, base_text("singular fit encountered", domain = "R-stats"), "problem"
    )
    stop(error_condition("singular", text, call, c(place, rank = fit$qr$rank[[index]])))
  }
  fitted <- y - fit$residuals
  if (!is.null(offset)) {
    fitted <- fitted + as.vector(offset)
  }
  list(
    coefficients = fit$coefficients,
    residuals = fit$residuals,
    effects = fit$effects,
    rank = fit$qr$rank,
    fitted.values = name_last(fitted, problems),
    assign = attr(x, "assign"),
    qr = fit$qr,
    df.residual = dx[[1L]] - fit$qr$rank
  )
}

plain_array <- function(x, call) {
  if (isS4(x)) {
    x <- without_class(x)
  }
  if (is.complex(x)) {
    abort_complex("stats::lm.fit() of each part", call)
  }
  as_double(x, call)
}

abort_responses <- function(dx, y, call) {
  shown <- paste(dim(y) %||% length(y), collapse = " x ")
  abort_dimension(sprintf(
    "%s: 'x' is %s, so 'y' must be %d x %d, or %d x q x %d for q responses each, not %s",
    base_text("incompatible dimensions", domain = "R-stats"), paste(dx, collapse = " x "),
    dx[[1L]], dx[[3L]], dx[[1L]], dx[[3L]], shown
  ), call)
}

# The names of the problems: the third dimnames of x, else the last of y.
problem_names <- function(x, y, call) {
  of_x <- dimnames(x)[[3L]]
  of_y <- dimnames(y)[[length(dim(y))]]
  if (!is.null(of_x) && !is.null(of_y) && !identical(of_x, of_y)) {
    warn("names", "the names of the problems in 'x' and 'y' differ: those of 'x' are used", call)
  }
  of_x %||% of_y
}

# Stops at the first problem (or matrix) that has a value that is not finite.
check_batch <- function(values, operand, problems, where, call,
                        text = base_text("NA/NaN/Inf in '%s'", operand), what = "problem") {
  if (all_finite(values, where, call)) {
    return(invisible())
  }
  each <- length(values) / dim(values)[[length(dim(values))]]
  index <- as.integer((which(!is.finite(values))[[1L]] - 1) %/% each + 1)
  place <- with_name(list(index = index), problems)
  text <- in_batch_text(place, text, what)
  stop(error_condition("non_finite", text, call, c(list(argument = operand), place)))
}

# Names the last dimension after the problems, if they have names.
name_last <- function(x, problems) {
  last <- length(dim(x))
  if (!is.null(problems) && !identical(dimnames(x)[[last]], problems)) {
    names <- dimnames(x) %||% vector("list", last)
    names[[last]] <- problems
    dimnames(x) <- names
  }
  x
}

# All fits, with the names that they share.
least_squares_batch <- function(x, y, problems, tol, where, call) {
  dx <- dim(x)
  dy <- dim(y)
  n <- dx[[1L]]
  p <- dx[[2L]]
  k <- dx[[3L]]
  q <- if (length(dy) == 3L) dy[[2L]] else 1L
  # As doubles: the columns of all problems may exceed the largest integer.
  columns <- as.double(k) * c(p, q)
  qr <- .External(alloc_matrix, n, columns[[1L]])
  qraux <- .External(alloc_matrix, p, k)
  effects <- .External(alloc_matrix, n, columns[[2L]])
  residuals <- .External(alloc_matrix, n, columns[[2L]])
  coefficients <- .External(alloc_matrix, p, columns[[2L]])
  done <- unwrap(
    native_lm_batch(x, p, y, c(n, q), k, tol, qr, qraux, effects, residuals, coefficients, where),
    call
  )
  pivot <- matrix(done$pivot, p, k)
  dim(coefficients) <- c(p, q, k)
  coefficients <- unpivot(coefficients, pivot, done$rank)
  attributes(residuals) <- attributes(effects) <- attributes(y)
  # Rows of Q'y are not observations, and problems may order their columns differently.
  names <- dimnames(y) %||% vector("list", length(dy))
  dimnames(effects) <- c(list(NULL), names[-1L])
  dim(qr) <- dx
  dimnames(qr) <- list(rownames(x), NULL, problems)
  dim(coefficients) <- c(p, if (length(dy) == 3L) q, k)
  dimnames(coefficients) <- c(list(colnames(x) %||% sprintf("x%d", seq_len(p))), names[-1L])
  rank <- done$rank
  names(rank) <- problems
  list(
    coefficients = name_last(coefficients, problems),
    residuals = name_last(residuals, problems),
    effects = name_last(effects, problems),
    qr = list(
      qr = qr, qraux = name_last(qraux, problems), pivot = name_last(pivot, problems), tol = tol,
      rank = rank
    )
  )
}

# Coefficients (p x q x k) in the order of the columns of x, with NA for dependent columns. Only
# problems with dependent columns have another order.
unpivot <- function(coefficients, pivot, rank) {
  p <- nrow(pivot)
  some <- which(rank < p)
  if (length(some) == 0L) {
    return(coefficients)
  }
  pivot <- pivot[, some, drop = FALSE]
  dependent <- row(pivot) > rep(rank[some], each = p)
  # A vector: a matrix of two columns would index rows and columns.
  to <- as.vector(pivot + p * (col(pivot) - 1))
  for (response in seq_len(dim(coefficients)[[2L]])) {
    b <- matrix(coefficients[, response, some], p)
    b[dependent] <- NA
    b[to] <- b
    coefficients[, response, some] <- b
  }
  coefficients
}
