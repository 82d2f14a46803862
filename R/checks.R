# Operands and arguments as base R would take them. What base R coerces is coerced, what it refuses
# is refused in its words. The verbs call these only when an operand is not a plain double matrix.

# `how` tells a native routine where and how to run, in the order it reads: device, single
# precision, CPU threads (0: as many as the machine offers), smallest work worth a GPU (NA: a
# model decides), seconds before progress is shown, bytes of a GPU's memory for tiles (Inf: what
# is free), GPUs as a sum of powers of two (0: all), and measured break-even orders.
how <- function(device, precision, call) {
  where <- .External(settings, device, precision)
  if (is.null(where)) abort_settings(device, precision, call) else where
}

# Says what settings.c did not take.
abort_settings <- function(device, precision, call) {
  if (!(is.character(device) && length(device) == 1L && !is.na(device))) {
    abort_argument(
      "device", "'device' must be one of \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\"", call
    )
  }
  if (!grepl("^(auto|cpu|cuda|cuda:[0-9]{1,6})$", device)) {
    reason <- sprintf(
      "'device' must be \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\", not \"%s\"", device
    )
    abort("device_unavailable", reason, call, reason = reason)
  }
  if (!(is.character(precision) && length(precision) == 1L &&
    precision %in% c("double", "single"))) {
    abort_argument("precision", "'precision' must be \"double\" or \"single\"", call)
  }
  wrong <- Filter(function(name) !option_fits[[name]](getOption(name)), names(option_fits))
  abort_argument(
    "options", paste0("the option \"", wrong, "\" must be ", option_wants[wrong], collapse = "; "),
    call
  )
}

# What settings() takes of each option, which may be unset, and the words for it.
is_size <- function(value) is.numeric(value) && length(value) == 1L && isTRUE(value >= 0)

# GPUs, counted from 0: numbers of which settings.c can hold the sum of powers of two.
is_device_numbers <- function(value) {
  is.numeric(value) && length(value) > 0L && all(value %in% 0:51) && !anyDuplicated(value)
}

option_fits <- list(
  cudafactor.threads = function(value) is.null(value) || is_size(value),
  cudafactor.min_flops = function(value) is.null(value) || is_size(value),
  cudafactor.progress = function(value) is.null(value) || isTRUE(value) || isFALSE(value) ||
    is_size(value),
  cudafactor.gpu_memory = function(value) is.null(value) || is_size(value),
  cudafactor.devices = function(value) is.null(value) || is_device_numbers(value),
  cudafactor.breakeven = function(value) {
    is.null(value) || is.numeric(value) && all(names(value) %in% tasks) && !is.null(names(value)) &&
      !any(value < 0, na.rm = TRUE)
  }
)

option_wants <- c(
  cudafactor.threads = "a number of threads, 0 for as many as there are cores",
  cudafactor.min_flops = "a number of operations, 0 or more",
  cudafactor.progress = "TRUE, FALSE or a number of seconds",
  cudafactor.gpu_memory = "a number of bytes",
  cudafactor.devices = "GPU numbers counted from 0, each named once",
  cudafactor.breakeven = "a named vector of orders, such as attr(gpu_benchmark(), \"breakeven\")"
)

# as.matrix(), then double, as the default methods of base R take an operand. `alternative` is the
# base function to turn to for a complex matrix.
as_real_matrix <- function(x, call, alternative) {
  x <- as_matrix(x, call)
  if (is.complex(x)) {
    abort_complex(alternative, call)
  }
  as_double(x, call)
}

abort_complex <- function(alternative, call) {
  abort_type(sprintf("complex matrices are not supported: use %s", alternative), call)
}

# as.matrix() is what turns a data frame, a vector, a sparse or any other S4 matrix into a plain
# one.
as_matrix <- function(x, call) {
  if (!is.object(x) && is.atomic(x) && !is.null(x)) {
    return(if (is.matrix(x)) x else as.matrix(x))
  }
  large <- is_elsewhere(x)
  if (large) {
    check_room(x, call)
  }
  x <- tryCatch(as.matrix(x), error = function(e) {
    # Less memory may be allowed than is free, and package Matrix counts entries in 31 bits.
    if (large && plain_bytes(x) > small_bytes) abort_room(x, plain_bytes(x), call)
    e$call <- call
    abort_as(e, abort_type, call)
  })
  if (isS4(x)) without_class(x) else x
}

# Whether an object's plain form may be larger than the object: sparse matrices, and those in files.
is_elsewhere <- function(x) {
  isS4(x) && !is_resident(x) && !is_in_tiles(x) || inherits(x, "simple_triplet_matrix")
}

# An S4 matrix as a plain one, and an S4 vector, which has no extents, as a plain vector.
as_plain <- function(x, call) {
  if (is.null(dim(x))) {
    if (is_elsewhere(x)) {
      check_room(x, call)
    }
    tryCatch(as.vector(x), error = function(e) abort_as(e, abort_type, call))
  } else {
    as_matrix(x, call)
  }
}

# Base R's words on what is no matrix at all speak of arguments of functions that the user has not
# called: `what` an operand is to be, instead, of a function that base R does not have.
check_numbers <- function(x, argument, what, call) {
  if (is.function(x) || !(is.object(x) || is.atomic(x) && !is.null(x))) {
    abort_type(sprintf("'%s' must be %s, not of type \"%s\"", argument, what, typeof(x)), call)
  }
}

# The values, extents and dimnames of an S4 array, as a plain one.
without_class <- function(x) array(as.vector(x), dim(x), dimnames(x))

# Keeps the attributes, as storage.mode<- does. Its warnings and errors become ours.
as_double <- function(x, call) {
  if (is.double(x)) {
    return(x)
  }
  convert <- function() {
    if (is.factor(x)) {
      as.double(x)
    } else {
      storage.mode(x) <- "double"
      x
    }
  }
  withCallingHandlers(
    tryCatch(convert(), error = function(e) abort_as(e, abort_type, call)),
    warning = function(w) {
      warn("coercion", conditionMessage(w), call)
      invokeRestart("muffleWarning")
    }
  )
}

# The first element as base R's compiled code reads a flag: NA when it is none.
as_flag <- function(value) {
  flag <- suppressWarnings(as.logical(value))
  if (length(flag)) flag[[1L]] else NA
}

# The first element as an integer, NA when it is none.
as_count <- function(value) {
  count <- suppressWarnings(as.integer(value))
  if (length(count)) count[[1L]] else NA_integer_
}

# Where an argument that has no default is not given.
abort_missing <- function(argument, call) {
  abort_argument(argument, base_text("argument \"%s\" is missing, with no default", argument), call)
}

as_number <- function(value, argument, call) {
  if (!(is.numeric(value) && length(value) == 1L && !is.na(value))) {
    abort_argument(argument, sprintf("'%s' must be one number", argument), call)
  }
  as.double(value)
}

# TRUE when no entry is NA, NaN or infinite. A finite sum proves it in one pass, which a large
# matrix shares among threads; a sum can also overflow from finite entries, so the other outcome
# asks for the extremes, which propagate NaN.
all_finite <- function(x, where, call) {
  if (length(x) == 0) {
    return(TRUE)
  }
  # Some classes, such as dates, have no sum.
  x <- unclass(x)
  total <- if (length(x) > 1e5) norm1(x, where, call) else sum(x)
  isTRUE(is.finite(total)) || all(is.finite(range(x)))
}

# The largest column sum of absolute values; a vector is one column.
norm1 <- function(x, where, call) {
  d <- if (is.matrix(x)) dim(x) else c(length(x), 1)
  unwrap(native_norm1(x, d, where), call)$norm1
}

# Arguments that base R's function has and this one does not, and misspelt names, in the words R
# has for them. `dots` is the caller's substitute(list(...)).
check_dots <- function(dots, call) {
  dots <- as.list(dots)[-1L]
  names <- names(dots) %||% rep("", length(dots))
  if ("LINPACK" %in% names) {
    abort_argument("LINPACK",
      base_text("the LINPACK argument has been defunct since R 3.1.0", domain = "R-base"), call)
  }
  values <- vapply(dots, function(value) paste(deparse(value, nlines = 2L), collapse = " "), "")
  long <- nchar(values) > 60L
  values[long] <- paste(substr(values[long], 1L, 56L), "...")
  shown <- paste(ifelse(names == "", values, paste(names, "=", values)), collapse = ", ")
  abort_argument(if (nzchar(names[[1L]])) names[[1L]] else "...",
    sprintf(
      ngettext(length(dots), "unused argument %s", "unused arguments %s", domain = "R"),
      paste0("(", shown, ")")
    ),
    call)
}
