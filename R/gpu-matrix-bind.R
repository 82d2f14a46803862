# cbind() and rbind() with a gpu_matrix.

#' @rdname gpu_matrix_parts
#' @export
cbind.gpu_matrix <- function(..., deparse.level = handed_level(parent.frame())) {
  bind(
    list(...), argument_names(substitute(list(...)), deparse.level), 2L,
    group_call(sys.call(), "cbind")
  )
}

#' @rdname gpu_matrix_parts
#' @export
rbind.gpu_matrix <- function(..., deparse.level = handed_level(parent.frame())) {
  bind(
    list(...), argument_names(substitute(list(...)), deparse.level), 1L,
    group_call(sys.call(), "rbind")
  )
}

# cbind() and rbind() call their methods from their own frame and do not pass this argument on.
handed_level <- function(frame) get0("deparse.level", frame, inherits = FALSE, ifnotfound = 1)

# Base R's label of a vector argument: its name, or the user's expression.
argument_names <- function(arguments, deparse.level) {
  arguments <- as.list(arguments)[-1L]
  written <- vapply(arguments, function(a) {
    if (deparse.level == 1 && is.symbol(a)) {
      as.character(a)
    } else if (deparse.level == 2) {
      paste(deparse(a), collapse = " ")
    } else {
      ""
    }
  }, "")
  given <- names(arguments) %||% rep("", length(arguments))
  ifelse(nzchar(given), given, written)
}

# Binds parts along dimension `along`: 2 for columns. The other dimension is that of the matrices,
# which must agree, or of the longest vector.
bind <- function(parts, labels, along, call) {
  across <- 3L - along
  parts <- lapply(parts, as_part, call = call)
  is_matrix <- vapply(parts, function(p) length(dim(p)) == 2L, NA)
  sizes <- vapply(parts[is_matrix], function(p) dim(p)[[across]], 0L)
  if (any(sizes != sizes[[1L]])) {
    at <- which(is_matrix)[[which(sizes != sizes[[1L]])[[1L]]]]
    text <- if (along == 2L) {
      "number of rows of matrices must match (see arg %d)"
    } else {
      "number of columns of matrices must match (see arg %d)"
    }
    abort_dimension(base_text(text, at), call)
  }
  size <- sizes[[1L]]
  # Vectors of length zero are dropped, unless all parts are empty.
  kept <- is_matrix | lengths(parts) >= (size > 0L || any(lengths(parts[!is_matrix]) > 0L))
  for (k in which(kept & !is_matrix)) {
    count <- length(parts[[k]])
    if (count > size || count > 0L && size %% count != 0) {
      warn_part(along, k, call)
      # A vector that is too long gives no row names.
      if (count > size) parts[[k]] <- unname(parts[[k]])[seq_len(size)]
    }
  }
  beside <- Find(is_resident, parts)
  for (k in which(is_matrix)) {
    if (is_resident(parts[[k]])) check_together(beside, parts[[k]], call)
  }
  lengths_along <- ifelse(
    is_matrix, vapply(parts, function(p) dim(p)[along][1L] %||% NA_integer_, 0L), 1L
  )
  names <- list(NULL, NULL)
  names[across] <- list(names_across(parts[kept], is_matrix[kept], across, size))
  names[along] <- list(names_along(
    parts[kept], is_matrix[kept], labels[kept], along, lengths_along[kept]
  ))
  dim <- c(0L, 0L)
  dim[[across]] <- size
  dim[[along]] <- sum(lengths_along[kept])
  # Parts without entries need no copy.
  filled <- kept & lengths_along > 0L & size > 0L
  shapes <- starts <- matrix(0, 2L, length(parts))
  shapes[across, ] <- size
  shapes[along, ] <- lengths_along
  starts[along, kept] <- cumsum(c(0, lengths_along[kept]))[seq_len(sum(kept))]
  values <- lapply(parts[filled], as_value)
  if (!any(vapply(parts[filled], is_resident, NA))) {
    # The gpu_matrix has no entries, so only ordinary parts are left.
    values <- Map(
      function(value, rows, columns) rep_len(value, rows * columns), values, shapes[1L, filled],
      shapes[2L, filled]
    )
    plain <- if (along == 2L) unlist(values) else matrix_of_rows(values, shapes[1L, filled], dim)
    return(upload_beside(as.double(plain), dim, names, beside, call))
  }
  make_resident(
    function(out, where) {
      native_resident_bind(
        values, as.double(starts[, filled]), as.double(shapes[, filled]), as.double(dim), out, where
      )
    },
    dim, names, beside, call
  )
}

matrix_of_rows <- function(values, rows, dim) {
  do.call(
    base::rbind,
    c(list(matrix(0, 0L, dim[[2L]])), Map(function(v, m) matrix(v, m, dim[[2L]]), values, rows))
  )
}

as_part <- function(x, call) {
  if (is_resident(x) || is.null(x)) {
    return(x)
  }
  if (isS4(x) || length(dim(x)) > 2L || is.data.frame(x)) {
    x <- as_matrix(x, call)
  }
  if (is.factor(x) || !(is.numeric(x) || is.logical(x))) {
    abort_type("all arguments must be numeric if one of them is a gpu_matrix", call)
  }
  x
}

warn_part <- function(along, k, call) {
  text <- if (along == 2L) {
    "number of rows of result is not a multiple of vector length (arg %d)"
  } else {
    "number of columns of result is not a multiple of vector length (arg %d)"
  }
  warn("recycling", base_text(text, k), call)
}

# The names of the first part that has some: a matrix, or a vector of the right length.
names_across <- function(parts, is_matrix, across, size) {
  own <- Map(
    function(p, matrix) if (matrix) dimnames(p)[[across]] else if (length(p) == size) names(p),
    parts, is_matrix
  )
  Find(Negate(is.null), own)
}

names_along <- function(parts, is_matrix, labels, along, counts) {
  all <- Map(function(p, matrix, label, count) {
    own <- if (matrix) dimnames(p)[[along]] else if (nzchar(label)) label
    own %||% rep("", count)
  }, parts, is_matrix, labels, counts)
  all <- unlist(all, use.names = FALSE)
  if (any(nzchar(all))) all
}
