# Operands and arguments as base R takes them: what base R coerces is coerced, and what it refuses
# is refused with its message. Callers skip these checks for an ordinary double matrix.

# `how` tells a native routine where and how to run, in the order it reads: device, single
# precision, CPU threads (0: as many as the machine offers), smallest work worth a GPU (NA: a
# model decides), seconds before progress is shown, bytes of a GPU's memory for tiles (Inf: what
# is free), GPUs as a sum of powers of two (0: all), whether the call shows its plan, and measured
# break-even orders.
how <- function(device, precision, call) {
  where <- .External(settings, device, precision)
  if (is.null(where)) abort_settings(device, precision, call) else where
}

# The error for settings that settings.c refused.
abort_settings <- function(device, precision, call) {
  from_option <- !("device" %in% names(call)) && identical(device, getOption("cudafactor.device"))
  wrong <- wrong_setting(device, precision, from_option)
  text <- paste(c(wrong$text, restoring(wrong$options)), collapse = "; ")
  abort_argument(wrong$argument, text, call)
}

# What settings.c refused: the `argument`, the `text` that says so, and the `options` to correct.
# `from_option`: the device is the option's value.
wrong_setting <- function(device, precision, from_option) {
  if (!(is_string(device) && grepl("^(auto|cpu|cuda|cuda:[0-9]{1,6})$", device))) {
    text <- sprintf(
      "%s must be \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\", not %s",
      if (from_option) "the option \"cudafactor.device\"" else "'device'", as_code(device)
    )
    return(list(
      argument = "device", text = text, options = if (from_option) "cudafactor.device"
    ))
  }
  if (!(is_string(precision) && precision %in% c("double", "single"))) {
    return(list(argument = "precision", text = "'precision' must be \"double\" or \"single\""))
  }
  wrong <- Filter(function(name) !option_fits[[name]](getOption(name)), names(option_fits))
  values <- vapply(wrong, function(name) as_code(getOption(name)), "")
  list(
    argument = "options", options = wrong,
    text = sprintf("the option \"%s\" must be %s, not %s", wrong, option_wants[wrong], values)
  )
}

# The remedy for wrong options.
restoring <- function(names) {
  if (length(names)) {
    sprintf(
      "options(%s) restores the default%s", paste(names, "= NULL", collapse = ", "),
      if (length(names) > 1L) "s" else ""
    )
  }
}

is_string <- function(value) is.character(value) && length(value) == 1L && !is.na(value)

# A value as R code, for an error, cut at 60 characters.
as_code <- function(value) {
  text <- paste(deparse(value, nlines = 2L), collapse = " ")
  if (nchar(text) > 60L) paste(substr(text, 1L, 56L), "...") else text
}

# Tests of option values, which may be unset, and the words for what they must be.
is_size <- function(value) is.numeric(value) && length(value) == 1L && isTRUE(value >= 0)

# GPU numbers, counted from 0; settings.c holds them as a sum of powers of two.
is_device_numbers <- function(value) {
  is.numeric(value) && length(value) > 0L && all(value %in% 0:51) && !anyDuplicated(value)
}

option_fits <- list(
  cudafactor.threads = function(value) {
    is.null(value) || is_size(value) && value == floor(value)
  },
  cudafactor.min_flops = function(value) is.null(value) || is_size(value),
  cudafactor.progress = function(value) is.null(value) || isTRUE(value) || isFALSE(value) ||
    is_size(value),
  cudafactor.gpu_memory = function(value) is.null(value) || is_size(value),
  cudafactor.devices = function(value) is.null(value) || is_device_numbers(value),
  cudafactor.verbose = function(value) is.null(value) || isTRUE(value) || isFALSE(value),
  cudafactor.emulation = function(value) {
    is.null(value) || is.character(value) && length(value) == 1L &&
      value %in% c("auto", "never", "always")
  },
  cudafactor.breakeven = function(value) {
    # R reads NA as logical.
    numbers <- is.numeric(value) || is.logical(value) && all(is.na(value))
    known <- !is.null(names(value)) && all(names(value) %in% names(benchmark_verbs))
    is.null(value) || numbers && known && !any(value < 0, na.rm = TRUE)
  }
)

option_wants <- c(
  cudafactor.threads = "a whole number of threads, 0 for as many as there are cores",
  cudafactor.min_flops = "a number of operations, 0 or more",
  cudafactor.progress = "TRUE, FALSE or a number of seconds",
  cudafactor.gpu_memory = "a number of bytes such as 8e9",
  cudafactor.devices = "GPU numbers counted from 0, each named once",
  cudafactor.verbose = "TRUE or FALSE",
  cudafactor.emulation = "\"auto\", \"never\" or \"always\"",
  cudafactor.breakeven = paste(
    "a numeric vector of orders (from 0, Inf or NA) with names among product, crossprod, chol, lu,",
    "qr, solve, eigen and svd"
  )
)

# as.matrix(), then double, as base R's default methods take an operand. `alternative` is what the
# error recommends for a complex matrix.
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

# as.matrix() makes an ordinary matrix of a data frame, a vector, or an S4 matrix, sparse or not.
as_matrix <- function(x, call) {
  if (!is.object(x) && is.atomic(x) && !is.null(x)) {
    return(if (is.matrix(x)) x else as.matrix(x))
  }
  large <- is_elsewhere(x)
  if (large) {
    check_room(x, call)
  }
  x <- tryCatch(as.matrix(x), error = function(e) {
    # The limit on memory may be below the free memory, and package Matrix counts entries in 31
    # bits.
    if (large && plain_bytes(x) > small_bytes) abort_room(x, plain_bytes(x), call)
    e$call <- call
    abort_as(e, abort_type, call)
  })
  if (isS4(x)) without_class(x) else x
}

# Can the ordinary form be larger than the object? True for sparse matrices and those in files.
is_elsewhere <- function(x) {
  isS4(x) && !is_resident(x) && !is_in_tiles(x) || inherits(x, "simple_triplet_matrix")
}

# An S4 matrix becomes an ordinary matrix; an S4 vector, which has no dimensions, a vector.
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

# Base R's messages for objects that are not matrices name arguments of functions that the user
# did not call. `what` says what an operand of our function must be.
check_numbers <- function(x, argument, what, call) {
  if (is.function(x) || !(is.object(x) || is.atomic(x) && !is.null(x))) {
    abort_type(sprintf("'%s' must be %s, not of type \"%s\"", argument, what, typeof(x)), call)
  }
}

# Base R flattens an array in some functions. `instead` is a call with a matrix.
check_no_array <- function(x, instead, call) {
  if (length(dim(x)) > 2L) {
    text <- "'x' must be a matrix or a vector, not an array of %d dimensions: use one matrix of it"
    text <- sprintf(text, length(dim(x)))
    if (length(dim(x)) == 3L) text <- paste0(text, ", as in ", instead)
    abort_dimension(text, call)
  }
}

# The values, dimensions and dimnames of an S4 array as an ordinary array.
without_class <- function(x) array(as.vector(x), dim(x), dimnames(x))

# Keeps the attributes, as storage.mode<- does. Warnings and errors get this package's classes.
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

# The first element as base R's compiled code reads a flag: NA if it is not one.
as_flag <- function(value) {
  flag <- suppressWarnings(as.logical(value))
  if (length(flag)) flag[[1L]] else NA
}

# The first element as an integer, NA if it is not one.
as_count <- function(value) {
  count <- suppressWarnings(as.integer(value))
  if (length(count)) count[[1L]] else NA_integer_
}

# The error for a missing argument without a default.
abort_missing <- function(argument, call) {
  abort_argument(argument, base_text("argument \"%s\" is missing, with no default", argument), call)
}

as_number <- function(value, argument, call) {
  if (!(is.numeric(value) && length(value) == 1L && !is.na(value))) {
    text <- sprintf("'%s' must be one number, not %s", argument, as_code(value))
    abort_argument(argument, text, call)
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

# The error for unused arguments, in R's words: those that only base R's function has, and
# misspelt names. `dots` is the caller's substitute(list(...)).
check_dots <- function(dots, call) {
  dots <- as.list(dots)[-1L]
  names <- names(dots) %||% rep("", length(dots))
  if ("LINPACK" %in% names) {
    abort_argument("LINPACK",
      base_text("the LINPACK argument has been defunct since R 3.1.0", domain = "R-base"), call)
  }
  values <- vapply(dots, as_code, "")
  shown <- paste(ifelse(names == "", values, paste(names, "=", values)), collapse = ", ")
  abort_argument(if (nzchar(names[[1L]])) names[[1L]] else "...",
    sprintf(
      ngettext(length(dots), "unused argument %s", "unused arguments %s", domain = "R"),
      paste0("(", shown, ")")
    ),
    call)
}

# A single letter is a power of two, as in most tools.
byte_units <- c(
  B = 1, KB = 1e3, MB = 1e6, GB = 1e9, TB = 1e12, KIB = 2^10, MIB = 2^20, GIB = 2^30, TIB = 2^40,
  K = 2^10, M = 2^20, G = 2^30, T = 2^40
)

# The bytes in a number, or in text with a unit; NaN for NULL.
as_bytes <- function(size, argument, call) {
  if (is.null(size)) {
    return(NaN)
  }
  bytes <- NA_real_
  if (is.numeric(size) && length(size) == 1L) {
    bytes <- as.double(size)
  } else if (is.character(size) && length(size) == 1L && !is.na(size)) {
    parts <- regmatches(
      size, regexec("^ *([0-9.]+(?:[eE][+-]?[0-9]+)?) *([A-Za-z]*) *$", size)
    )[[1L]]
    if (length(parts)) {
      unit <- if (nzchar(parts[[3L]])) toupper(parts[[3L]]) else "B"
      bytes <- suppressWarnings(as.double(parts[[2L]])) * unname(byte_units[unit])
    }
  }
  if (is.na(bytes) || bytes < 0) {
    abort_argument(
      argument,
      sprintf(
        paste(
          "'%s' must be a number of bytes, or text such as \"8GB\" (8e9),",
          "\"8G\" or \"8GiB\" (8 * 2^30)"
        ),
        argument
      ),
      call
    )
  }
  bytes
}
