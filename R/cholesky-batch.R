# Batches of gpu_chol(): an array of matrices, or a list of them.

# As for chol(), a list with a class (such as a data frame) or with dimensions is one operand.
is_batch <- function(x) {
  if (is.list(x)) {
    !is.object(x) && is.null(dim(x))
  } else {
    is.atomic(x) && length(dim(x)) == 3L && !is.factor(x)
  }
}

chol_batch <- function(x, pivot, device, precision, call) {
  if (!isFALSE(pivot) && is_pivoted(pivot, call)) {
    each <- "lapply(x, gpu_chol, pivot = TRUE)"
    one <- if (is.list(x)) each else "gpu_chol(x[, , 1], pivot = TRUE)"
    text <- "'pivot' must be FALSE for many matrices: factor them one by one, as in"
    abort_argument("pivot", paste(text, one), call)
  }
  where <- how(device, precision, call)
  # is.list() is TRUE for a pairlist too.
  if (is.list(x)) chol_list(as.list(x), where, call) else chol_array(x, where, call)
}

# Adds to an error's fields the name of the matrix, if it has one.
with_name <- function(fields, names) {
  name <- names[fields$index]
  if (length(name) && !is.na(name) && nzchar(name)) {
    fields$name <- name
  }
  fields
}

chol_array <- function(x, where, call) {
  if (isS4(x)) {
    x <- without_class(x)
  }
  x <- as_double(refuse_complex(x, call), call)
  dx <- dim(x)
  n <- dx[[1L]]
  count <- as.double(dx[[3L]])
  if (dx[[2L]] != n || (n == 0L && count > 0)) {
    abort_not_square(dx, call)
  }
  out <- .External(alloc_matrix, n, n * count)
  attributes(out) <- attributes(x)
  reply <- native_chol_batch(x, n, out, count * n^3 / 3, where)
  if (!is.null(reply$err)) {
    reply$err$fields <- with_name(reply$err$fields, dimnames(x)[[3L]])
  }
  unwrap(reply, call)
  out
}

# Matrices of one order are one batch. If several batches fail, the error is about the first
# matrix in the list.
chol_list <- function(x, where, call) {
  orders <- .External(square_orders, x)
  for (i in which(is.na(orders) | orders == 0L)) {
    x[[i]] <- chol_element(x[[i]], with_name(list(index = i), names(x)), call)
    orders[[i]] <- dim(x[[i]])[[1L]]
  }
  out <- .External(alloc_alike, x)
  names(out) <- names(x)
  flops <- sum(orders^3) / 3
  failure <- NULL
  for (members in split(seq_along(x), orders)) {
    first <- members[[1L]]
    if (is.null(failure) || first < failure$index) {
      reply <- native_chol_batch(x[members], orders[[first]], out[members], flops, where)
      failure <- first_failure(failure, reply, members, call)
    }
  }
  if (!is.null(failure)) {
    raise("not_positive_definite", NULL, with_name(failure, names(x)), call, NULL)
  }
  out
}

# An element as gpu_chol() takes it; an error gets the fields that identify the element.
chol_element <- function(m, place, call) {
  tryCatch(
    {
      m <- as_chol_operand(m, call)
      dm <- dim(m)
      if (dm[[1L]] != dm[[2L]] || dm[[1L]] == 0L) abort_not_square(dm, call) else m
    },
    cudafactor_error = function(e) {
      e$message <- in_batch_text(place, conditionMessage(e))
      e[names(place)] <- place
      stop(e)
    }
  )
}

# The fields of the failure that comes first in the list, given those known and a reply about the
# list's `members`.
first_failure <- function(known, reply, members, call) {
  if (!identical(reply$err$kind, "not_positive_definite")) {
    unwrap(reply, call)
    return(known)
  }
  tell(reply, call)
  fields <- reply$err$fields
  fields$index <- members[[fields$index]]
  if (is.null(known) || fields$index < known$index) fields else known
}
