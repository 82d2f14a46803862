# Operands of lp_ipm(): objective, matrix, rows, bounds and control, each in one form.

as_lp_objective <- function(obj, call) {
  if (inherits(obj, "simple_triplet_matrix")) {
    obj <- as_lp_triplets(obj, "obj", call)
    all <- numeric(prod(obj$dim))
    column <- rep(seq_len(obj$dim[[2L]]) - 1, diff(obj$starts))
    all[1L + obj$rows + column * obj$dim[[1L]]] <- obj$values
    obj <- all
  } else if (isS4(obj) || is.list(obj)) {
    obj <- as.vector(as_plain(obj, call))
  }
  if (!(is.numeric(obj) || is.logical(obj)) || is.factor(obj)) {
    abort_not_numbers(obj, "obj", "a vector of numbers", call)
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
    dims <- length(dim(mat))
    abort_type(sprintf("'mat' must be a matrix, not an array of %d dimensions", dims), call)
  }
  x <- as_matrix(mat, call)
  if (is.complex(x)) {
    abort_complex("their real and imaginary parts", call)
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_not_numbers(x, "mat", "a matrix of numbers", call)
  }
  x <- as_double(x, call)
  list(kind = "dense", x = x, dim = as.double(dim(x)), dimnames = dimnames(x))
}

# Triplets of package slam. No two triplets may be for the same entry.
as_lp_triplets <- function(mat, argument, call) {
  i <- as.integer(mat$i)
  j <- as.integer(mat$j)
  dim <- c(mat$nrow, mat$ncol)
  sound <- length(i) == length(j) && length(i) == length(mat$v) && is.numeric(mat$v) &&
    !anyNA(i) && !anyNA(j) &&
    all(i >= 1L & i <= dim[[1L]]) && all(j >= 1L & j <= dim[[2L]])
  if (!sound) {
    text <- paste(
      "'%s' must be a valid simple_triplet_matrix: 'i', 'j' and 'v' of one length,",
      "with indices within the dimensions"
    )
    abort_type(sprintf(text, argument), call)
  }
  order <- order(j, i)
  i <- i[order]
  j <- j[order]
  if (any(diff(i) == 0L & diff(j) == 0L)) {
    text <- "'%s' must have each entry once, but has an entry twice"
    abort_argument(argument, sprintf(text, argument), call)
  }
  list(
    kind = "sparse", starts = c(0L, cumsum(tabulate(j, dim[[2L]]))), rows = i - 1L,
    values = as.double(mat$v[order]), dim = as.double(dim), dimnames = mat$dimnames
  )
}

# Lower and upper bounds of rows, and right-hand sides.
lp_rows <- function(dir, rhs, range, m, call) {
  if (!(is.character(dir) || is.factor(dir) || length(dir) == 0L)) {
    abort_type("'dir' must be character: \"<=\", \">=\" or \"==\" for each row", call)
  }
  if (length(dir) != m) {
    text <- "'dir' must have one direction for each of the %.0f rows of 'mat', not %d"
    abort_dimension(sprintf(text, m, length(dir)), call)
  }
  dir <- sub("^=$", "==", sub("^([<>])$", "\\1=", as.character(dir)))
  if (!all(dir %in% c("<=", ">=", "=="))) {
    wrong <- dir[!(dir %in% c("<=", ">=", "=="))][[1L]]
    text <- "'dir' must be one of \"<\", \"<=\", \">\", \">=\", \"==\" and \"=\", not \"%s\""
    abort_argument("dir", sprintf(text, wrong), call)
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
    text <- paste(
      "'rhs' and 'range' must leave a value for each row: row %d is bounded by %g and %g,",
      "and magnitudes of 1e20 or more are infinite"
    )
    abort_argument("rhs", sprintf(text, i, lower[[i]], upper[[i]]), call)
  }
  list(lower = lower, upper = upper, rhs = rhs)
}

# `what` is the name in messages, such as a part of the argument.
as_lp_numbers <- function(x, argument, length, call, na = FALSE, what = argument) {
  if (isS4(x) || is.list(x)) {
    x <- as.vector(as_plain(x, call))
  }
  if (!(is.numeric(x) || is.logical(x)) && length(x) > 0L) {
    abort_not_numbers(x, what, "numbers", call)
  }
  if (length(x) != length) {
    abort_dimension(sprintf("'%s' must have %.0f numbers, not %.0f", what, length, length(x)), call)
  }
  if (!na && anyNA(x)) {
    text <- sprintf("'%s' must have no missing values", what)
    abort("non_finite", text, call, argument = argument)
  }
  as.double(x)
}

lp_bounds <- function(bounds, n, call) {
  known <- c("lower", "upper", "ld", "ud", "nobj")
  unnamed <- length(bounds) > 0L && is.null(names(bounds))
  wrong <- length(setdiff(names(bounds), known)) || anyDuplicated(names(bounds))
  if (!(is.null(bounds) || is.list(bounds)) || unnamed || wrong) {
    text <- "'bounds' must be NULL or list(lower = , upper = ), with each part at most once"
    abort_argument("bounds", text, call)
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
    names <- names(given)
    if (length(given) != 2L || !(is.null(names) || setequal(names, c("ind", "val")))) {
      text <- "'%s' must be numbers, or list(ind = , val = )"
      abort_argument("bounds", sprintf(text, label), call)
    }
    ind <- if (is.null(names)) given[[1L]] else given[["ind"]]
    val <- if (is.null(names)) given[[2L]] else given[["val"]]
    fits <- is.numeric(ind) && !anyNA(ind) && all(ind %in% seq_len(n)) || length(ind) == 0L
    if (!fits) {
      text <- "'%s$ind' must be numbers of variables, from 1 to %.0f"
      abort_argument("bounds", sprintf(text, label, n), call)
    }
    if (anyDuplicated(ind)) {
      twice <- ind[[anyDuplicated(ind)]]
      text <- "'%s$ind' must have each variable once, but has variable %.0f twice"
      abort_argument("bounds", sprintf(text, label, twice), call)
    }
    all[ind] <- as_lp_numbers(val, "bounds", length(ind), call, what = paste0(label, "$val"))
    all
  }
  lower <- side("lower", bounds$ld %||% 0)
  upper <- side("upper", bounds$ud %||% Inf)
  crossed <- which(lower > upper | lower >= 1e20 | upper <= -1e20)
  if (length(crossed)) {
    j <- crossed[[1L]]
    text <- "'bounds' must leave a value for each variable: those of variable %d are %g and %g"
    abort_argument("bounds", sprintf(text, j, lower[[j]], upper[[j]]), call)
  }
  list(lower = lower, upper = upper)
}

lp_control <- function(control, precision, call) {
  settled <- list(
    tol = if (identical(precision, "single")) 1e-4 else 1e-8,
    max_iter = 100, time_limit = Inf, verbose = FALSE
  )
  if (!is.list(control) || length(control) && is.null(names(control))) {
    abort_argument("control", "'control' must be a list with names", call)
  }
  if (anyDuplicated(names(control))) {
    twice <- names(control)[[anyDuplicated(names(control))]]
    text <- "'control' must have each part once, but has '%s' twice"
    abort_argument("control", sprintf(text, twice), call)
  }
  # NULL stands for the default. Two parts of Rglpk's control are ignored.
  ignored <- names(control) %in% c("presolve", "canonicalize_status")
  control <- control[!ignored & !vapply(control, is.null, NA)]
  unknown <- setdiff(names(control), c(names(settled), "tm_limit"))
  if (length(unknown)) {
    text <- "'control' must have the parts %s only, not '%s'"
    known <- paste0("'", names(settled), "'", collapse = ", ")
    abort_argument("control", sprintf(text, known, unknown[[1L]]), call)
  }
  if (!is.null(control$tm_limit)) {
    limit <- control$tm_limit
    if (!(is.numeric(limit) && length(limit) == 1L && isTRUE(limit >= 0))) {
      text <- "'control$tm_limit' must be a number of milliseconds, at least 0"
      abort_argument("control", text, call)
    }
    if (limit > 0) settled$time_limit <- limit / 1000
    control$tm_limit <- NULL
  }
  settled[names(control)] <- control
  for (name in c("tol", "max_iter", "time_limit")) {
    value <- settled[[name]]
    if (!(is.numeric(value) && length(value) == 1L && isTRUE(value >= 0))) {
      abort_argument("control", sprintf("'control$%s' must be a number, at least 0", name), call)
    }
  }
  if (settled$max_iter != round(settled$max_iter)) {
    abort_argument("control", "'control$max_iter' must be a whole number", call)
  }
  verbose <- settled$verbose
  if (!(isTRUE(verbose) || isFALSE(verbose))) {
    if (!(is.numeric(verbose) && length(verbose) == 1L && !is.na(verbose))) {
      abort_argument("control", "'control$verbose' must be TRUE or FALSE", call)
    }
    settled$verbose <- verbose != 0
  }
  settled$max_iter <- min(settled$max_iter, 1e6)
  settled
}
