# What lp_ipm() takes as matrix, rows, bounds and control, as one form each.

as_lp_objective <- function(obj, call) {
  if (inherits(obj, "simple_triplet_matrix")) {
    obj <- as_lp_triplets(obj, "obj", call)
    all <- numeric(prod(obj$dim))
    all[1L + obj$rows + rep(seq_len(obj$dim[[2L]]) - 1, diff(obj$starts)) * obj$dim[[1L]]] <- obj$values
    obj <- all
  } else if (isS4(obj) || is.list(obj)) {
    obj <- as.vector(as_plain(obj, call))
  }
  if (!(is.numeric(obj) || is.logical(obj)) || is.factor(obj)) {
    abort_type("'obj' must be a vector of numbers", call)
  }
  obj <- as.double(obj)
  if (!all(is.finite(obj))) {
    abort_non_finite("obj", call)
  }
  obj
}

# A list with `kind`, `dim`, `dimnames`, and the values.
as_lp_matrix <- function(mat, n, call) {
  if (is.null(mat)) {
    mat <- matrix(0, 0L, n)
  }
  if (is_resident(mat)) {
    return(list(kind = "resident", x = mat, dim = as.double(dim(mat)), dimnames = dimnames(mat)))
  }
  if (inherits(mat, "simple_triplet_matrix")) {
    return(as_lp_triplets(mat, "mat", call))
  }
  if (isS4(mat) && inherits(mat, "sparseMatrix")) {
    return(sparse_columns(mat, call))
  }
  if (is.null(dim(mat)) && is.atomic(mat)) {
    mat <- matrix(mat, 1L, dimnames = if (!is.null(names(mat))) list(NULL, names(mat)))
  }
  check_numbers(mat, "mat", "a matrix of numbers", call)
  if (length(dim(mat)) > 2L) {
    abort_type(sprintf("'mat' must be a matrix, not an array of %d extents", length(dim(mat))), call)
  }
  x <- as_matrix(mat, call)
  if (is.complex(x)) {
    abort_complex("their real and imaginary parts", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type(sprintf("'mat' must be a matrix of numbers, not of type \"%s\"", typeof(x)), call)
  }
  x <- as_double(x, call)
  list(kind = "dense", x = x, dim = as.double(dim(x)), dimnames = dimnames(x))
}

# slam's triplets, of which none may name a place twice.
as_lp_triplets <- function(mat, argument, call) {
  i <- as.integer(mat$i)
  j <- as.integer(mat$j)
  dim <- c(mat$nrow, mat$ncol)
  sound <- length(i) == length(j) && length(i) == length(mat$v) && is.numeric(mat$v) && !anyNA(i) && !anyNA(j) &&
    all(i >= 1L & i <= dim[[1L]]) && all(j >= 1L & j <= dim[[2L]])
  if (!sound) {
    abort_type(sprintf("'%s' is no valid simple_triplet_matrix", argument), call)
  }
  order <- order(j, i)
  i <- i[order]
  j <- j[order]
  if (any(diff(i) == 0L & diff(j) == 0L)) {
    abort_argument(argument, sprintf("'%s' names an entry twice", argument), call)
  }
  list(
    kind = "sparse", starts = c(0L, cumsum(tabulate(j, dim[[2L]]))), rows = i - 1L, values = as.double(mat$v[order]),
    dim = as.double(dim), dimnames = mat$dimnames
  )
}

# The bounds of rows, and right-hand sides.
lp_rows <- function(dir, rhs, range, m, call) {
  if (!(is.character(dir) || is.factor(dir) || length(dir) == 0L)) {
    abort_type("'dir' must be character: \"<=\", \">=\" or \"==\" for each row", call)
  }
  if (length(dir) != m) {
    abort_dimension(sprintf("'dir' must have one of \"<=\", \">=\" and \"==\" for each of the %.0f rows of 'mat'", m), call)
  }
  dir <- sub("^=$", "==", sub("^([<>])$", "\\1=", as.character(dir)))
  if (!all(dir %in% c("<=", ">=", "=="))) {
    wrong <- dir[!(dir %in% c("<=", ">=", "=="))][[1L]]
    abort_argument("dir", sprintf("'dir' must be one of \"<\", \"<=\", \">\", \">=\", \"==\" and \"=\", not \"%s\"", wrong), call)
  }
  rhs <- as_lp_numbers(rhs, "rhs", m, call)
  lower <- upper <- rhs
  lower[dir == "<="] <- -Inf
  upper[dir == ">="] <- Inf
  if (any(dir == "==" & abs(rhs) >= 1e20)) {
    abort_argument("rhs", "the right-hand side of an equation must be finite", call)
  }
  if (!is.null(range)) {
    range <- as_lp_numbers(range, "range", m, call, na = TRUE)
    has <- !is.na(range)
    if (any(has & abs(rhs) >= 1e20)) {
      abort_argument("rhs", "the right-hand side of a row with a range must be finite", call)
    }
    below <- has & (dir == "<=" | dir == "==" & range < 0)
    above <- has & (dir == ">=" | dir == "==" & range >= 0)
    lower[below] <- rhs[below] - abs(range[below])
    upper[above] <- rhs[above] + abs(range[above])
  }
  impossible <- lower >= 1e20 | upper <= -1e20
  if (any(impossible)) {
    i <- which(impossible)[[1L]]
    abort_argument("rhs", sprintf(
      "row %d has no value: it is to be from %g to %g, and magnitudes from 1e20 on are infinite", i, lower[[i]], upper[[i]]
    ), call)
  }
  list(lower = lower, upper = upper, rhs = rhs)
}

# `what` is the part of the argument that a message names.
as_lp_numbers <- function(x, argument, length, call, na = FALSE, what = argument) {
  if (isS4(x) || is.list(x)) {
    x <- as.vector(as_plain(x, call))
  }
  if (!(is.numeric(x) || is.logical(x)) && length(x) > 0L) {
    abort_type(sprintf("'%s' must be numbers", what), call)
  }
  if (length(x) != length) {
    abort_dimension(sprintf("'%s' must have %.0f numbers, not %.0f", what, length, length(x)), call)
  }
  if (!na && anyNA(x)) {
    abort("non_finite", sprintf("'%s' must have no missing values", what), call, argument = argument)
  }
  as.double(x)
}

lp_bounds <- function(bounds, n, call) {
  known <- c("lower", "upper", "ld", "ud", "nobj")
  unnamed <- length(bounds) > 0L && is.null(names(bounds))
  if (!(is.null(bounds) || is.list(bounds)) || unnamed || length(setdiff(names(bounds), known)) || anyDuplicated(names(bounds))) {
    abort_argument("bounds", "'bounds' must be NULL or list(lower = , upper = )", call)
  }
  side <- function(name, default) {
    given <- bounds[[name]]
    all <- rep(as.double(default), n)
    if (is.null(given)) {
      return(all)
    }
    label <- paste0("bounds$", name)
    if (!is.list(given)) {
      if (length(given) == 1L) given <- rep(given, n)
      return(as_lp_numbers(given, "bounds", n, call, what = label))
    }
    if (length(given) == 0L) {
      return(all)
    }
    if (length(given) != 2L || !(is.null(names(given)) || setequal(names(given), c("ind", "val")))) {
      abort_argument("bounds", sprintf("'%s' must be numbers, or list(ind = , val = )", label), call)
    }
    ind <- if (is.null(names(given))) given[[1L]] else given[["ind"]]
    val <- if (is.null(names(given))) given[[2L]] else given[["val"]]
    fits <- is.numeric(ind) && !anyNA(ind) && all(ind %in% seq_len(n)) || length(ind) == 0L
    if (!fits) {
      abort_argument("bounds", sprintf("'bounds$%s$ind' must be numbers of variables, from 1 to %.0f", name, n), call)
    }
    if (anyDuplicated(ind)) {
      abort_argument("bounds", sprintf("'%s$ind' names variable %.0f twice", label, ind[[anyDuplicated(ind)]]), call)
    }
    all[ind] <- as_lp_numbers(val, "bounds", length(ind), call, what = paste0(label, "$val"))
    all
  }
  lower <- side("lower", bounds$ld %||% 0)
  upper <- side("upper", bounds$ud %||% Inf)
  crossed <- which(lower > upper | lower >= 1e20 | upper <= -1e20)
  if (length(crossed)) {
    j <- crossed[[1L]]
    abort_argument("bounds", sprintf("the bounds of variable %d, %g and %g, leave no value", j, lower[[j]], upper[[j]]), call)
  }
  list(lower = lower, upper = upper)
}

lp_control <- function(control, precision, call) {
  settled <- list(tol = if (identical(precision, "single")) 1e-4 else 1e-8, max_iter = 100, time_limit = Inf, verbose = FALSE)
  if (!is.list(control) || length(control) && is.null(names(control))) {
    abort_argument("control", "'control' must be a list with names", call)
  }
  if (anyDuplicated(names(control))) {
    abort_argument("control", sprintf("'control' has '%s' twice", names(control)[[anyDuplicated(names(control))]]), call)
  }
  # NULL stands for what is settled.
  control <- control[!(names(control) %in% c("presolve", "canonicalize_status")) & !vapply(control, is.null, NA)]
  unknown <- setdiff(names(control), c(names(settled), "tm_limit"))
  if (length(unknown)) {
    abort_argument("control", sprintf("'control' has no part '%s'", unknown[[1L]]), call)
  }
  if (!is.null(control$tm_limit)) {
    limit <- control$tm_limit
    if (!(is.numeric(limit) && length(limit) == 1L && isTRUE(limit >= 0))) {
      abort_argument("control", "'control$tm_limit' must be a number of milliseconds, not negative", call)
    }
    if (limit > 0) settled$time_limit <- limit / 1000
    control$tm_limit <- NULL
  }
  settled[names(control)] <- control
  for (name in c("tol", "max_iter", "time_limit")) {
    value <- settled[[name]]
    if (!(is.numeric(value) && length(value) == 1L && isTRUE(value >= 0))) {
      abort_argument("control", sprintf("'control$%s' must be a number, not negative", name), call)
    }
  }
  if (settled$max_iter != round(settled$max_iter)) {
    abort_argument("control", "'control$max_iter' must be a whole number", call)
  }
  if (!(isTRUE(settled$verbose) || isFALSE(settled$verbose))) {
    if (!(is.numeric(settled$verbose) && length(settled$verbose) == 1L && !is.na(settled$verbose))) {
      abort_argument("control", "'control$verbose' must be TRUE or FALSE", call)
    }
    settled$verbose <- settled$verbose != 0
  }
  settled$max_iter <- min(settled$max_iter, 1e6)
  settled
}
