# Elementwise arithmetic and mathematical functions of a gpu_matrix.

#' Arithmetic with matrices on the GPU
#'
#' The operators `+ - * / ^ %% %/%` and mathematical functions such as `exp()` and `sqrt()` work on
#' a [gpu_matrix] as on an ordinary matrix. Results stay on its device. The other operand may be a
#' `gpu_matrix`, an ordinary matrix, or a vector, which is recycled down the columns.
#'
#' These functions are computed on the device: `abs`, `sign`, `sqrt`, `ceiling`, `floor`, `trunc`,
#' `round` to whole numbers, `exp`, `expm1`, `log` (with any single base), `log1p`, `log2`, `log10`,
#' `cos`, `sin`, `tan`, `cospi`, `sinpi`, `tanpi`, `acos`, `asin`, `atan`, `cosh`, `sinh`, `tanh`,
#' `acosh`, `asinh`, `atanh`. For `gamma`, `lgamma`, `digamma`, `trigamma`, `signif`, `round` to
#' other digits, and `%%`, base R computes with a copy on the host, and the result is copied to the
#' device.
#'
#' @section Accuracy:
#' Entries are computed in double precision and rounded to the precision of the matrix. Before that
#' rounding `+ - * /`, the square root and rounding functions equal base R's; others are within a
#' few units in the last place. The other operand is first rounded to the precision of the matrix.
#' `is.na()` of a result is the same as in base R, but NA and NaN may be exchanged.
#'
#' @section Errors:
#' `cudafactor_error_dimension` and `cudafactor_error_type`: base R's errors for operands that are
#' not conformable or not numeric. `cudafactor_warning_nan` and `cudafactor_warning_recycling`: base
#' R's warnings.
#'
#' @param e1,e2 A `gpu_matrix`, a matrix or a vector.
#' @param x A `gpu_matrix`.
#' @param ... `digits` of [round()] and `signif()`, or the `base` of `log()`.
#' @return A `gpu_matrix` of the same device and precision, with base R's dimnames. Comparisons
#' (`<`, `==`, ...), logic (`&`, `|`, `!`), `is.na()` and related functions give an ordinary logical
#' matrix. Arithmetic with complex numbers gives an ordinary complex matrix. `cumsum()` and related
#' functions give ordinary vectors, as in base R.
#' @seealso [gpu_matrix], [base::Arithmetic], [base::groupGeneric]
#' @examples
#' d <- as_gpu(as.matrix(dist(matrix(rnorm(10), 5))))
#' k <- 2 * exp(-d^2 / 2)
#' k
#' as.matrix(k / rowSums(k))
#' @name gpu_matrix_arithmetic
NULL

#' @rdname gpu_matrix_arithmetic
#' @export
Ops.gpu_matrix <- function(e1, e2) operate(.Generic, e1, e2, group_call(sys.call(), .Generic))

# The same function for these classes, so that R calls it for mixed operands.
#' @export
Ops.gpu_factor <- Ops.gpu_matrix

#' @export
Ops.tile_matrix <- Ops.gpu_matrix

operate <- function(op, e1, e2, call) {
  if (is_in_tiles(e1) || !missing(e2) && is_in_tiles(e2)) {
    abort_unavailable(class_in_tiles(e1, e2), call)
  }
  if (!op %in% arithmetic) {
    compute <- get(op, envir = baseenv())
    return(as_user(call, if (missing(e2)) compute(plain(e1)) else compute(plain(e1), plain(e2))))
  }
  if (!missing(e2)) {
    return(arith(op, e1, e2, call))
  }
  switch(op,
    "+" = e1,
    "-" = map_resident("negate", e1, call),
    abort_argument("e2", base_text("invalid unary operator"), call)
  )
}

arithmetic <- c("+", "-", "*", "/", "^", "%%", "%/%")

# The call of a group generic's method, as the user wrote it.
group_call <- function(call, generic) {
  call[[1L]] <- as.name(generic)
  call
}

# A gpu_matrix, or another S4 matrix or vector, as base R computes with it.
plain <- function(x) {
  if (!isS4(x)) {
    x
  } else if (is.null(dim(x))) {
    as.vector(x)
  } else {
    as.matrix(x)
  }
}

# Evaluates base R's code on ordinary operands. Its conditions get this package's classes and the
# user's call.
as_user <- function(call, value) {
  withCallingHandlers(
    tryCatch(value, error = function(e) abort_as(e, abort_dimension, call)),
    warning = function(w) {
      if (!inherits(w, "cudafactor_warning")) {
        warn("coercion", conditionMessage(w), call)
        invokeRestart("muffleWarning")
      }
    }
  )
}

arith <- function(op, x, y, call) {
  beside <- if (is_resident(x)) x else y
  x <- as_operand(x, call)
  y <- as_operand(y, call)
  if (is_resident(x) && is_resident(y)) {
    if (!identical(x@Dim, y@Dim)) {
      abort_dimension(base_text("non-conformable arrays"), call)
    }
    check_together(x, y, call)
  } else {
    other <- if (is_resident(x)) y else x
    count <- prod(beside@Dim)
    if (!is.null(dim(other))) {
      if (!identical(dim(other), beside@Dim)) {
        abort_dimension(base_text("non-conformable arrays"), call)
      }
    } else if (length(other) == 0L || length(other) > max(count, 1)) {
      # Base R decides about these operands: mostly an error.
      return(as_user(call, get(op, envir = baseenv())(plain(x), plain(y))))
    } else if (count %% length(other) != 0) {
      warn(
        "recycling", base_text("longer object length is not a multiple of shorter object length"),
        call
      )
    }
    if (is.complex(other)) {
      return(get(op, envir = baseenv())(plain(x), plain(y)))
    }
  }
  names <- dimnames(x) %||% dimnames(y)
  if (op == "%%") {
    return(remainder_at_home(x, y, names, beside, call))
  }
  make_resident(
    function(out, where) native_resident_zip(op, as_value(x), as_value(y), out, where), beside@Dim,
    names, beside, call
  )
}

# Computed by base R on the host: its versions differ in rounding and in the warning of lost
# digits.
remainder_at_home <- function(x, y, names, beside, call) {
  value <- withCallingHandlers(
    numbers_beside(x, beside, call) %% numbers_beside(y, beside, call),
    warning = function(w) {
      warn("accuracy", conditionMessage(w), call)
      invokeRestart("muffleWarning")
    }
  )
  upload_beside(value, beside@Dim, names, beside, call)
}

# An operand's numbers, recycled to the dimensions of the gpu_matrix `beside` and in its
# precision.
numbers_beside <- function(x, beside, call) {
  if (is_resident(x)) {
    return(fetch(x, call))
  }
  x <- array(as.double(x), beside@Dim)
  if (beside@precision == "double") {
    return(x)
  }
  fetch(upload_beside(x, beside@Dim, NULL, beside, call), call)
}

# An operand that base R accepts as numeric: a vector or a matrix.
as_operand <- function(x, call) {
  if (is_resident(x)) {
    return(x)
  }
  if (isS4(x) || is.data.frame(x)) {
    x <- as_plain(x, call)
  }
  if (is.factor(x) || !(is.numeric(x) || is.logical(x) || is.complex(x) || is.null(x))) {
    abort_type(base_text("non-numeric argument to binary operator"), call)
  }
  x
}

# The form that native routines take: a handle, or a double vector. An empty operand is not read.
as_value <- function(x) if (is_resident(x)) x@pointer else if (length(x)) as.double(x) else 0

# Applies `f`, a name in `src/rust/src/device/elementwise.rs`, to each entry.
map_resident <- function(f, x, call) {
  handle <- .External(new_handle)
  done <- unwrap(native_resident_map(f, x@pointer, handle, how_there(call)), call)
  if (done$nan) {
    warn("nan", base_text("NaNs produced"), call)
  }
  new_resident(handle, x@Dim, x@Dimnames, x@precision, x@device)
}

#' @rdname gpu_matrix_arithmetic
#' @export
Math.gpu_matrix <- function(x, ...) {
  call <- group_call(sys.call(), .Generic)
  switch(.Generic,
    cumsum = , cumprod = , cummax = , cummin = {
      return(get(.Generic, envir = baseenv())(as.vector(x)))
    },
    # R gives `x` the base's value, and the reverse, if the base comes first in the call.
    log = return(
      if (is_resident(x)) log_resident(x, ..., call = call) else log_resident(..1, x, call)
    ),
    round = return(round_resident(x, ..., call = call)),
    signif = , gamma = , lgamma = , digamma = , trigamma = {
      return(math_at_home(.Generic, x, ..., call = call))
    }
  )
  map_resident(.Generic, x, call)
}

log_resident <- function(x, base, call) {
  if (missing(base)) {
    return(map_resident("log", x, call))
  }
  if (!(is.numeric(base) && length(base) == 1L && isTRUE(base > 0 && base != 1 && base < Inf))) {
    return(math_at_home("log", x, base, call = call))
  }
  # Base R's exact logarithms for these bases.
  switch(as.character(base),
    "10" = map_resident("log10", x, call),
    "2" = map_resident("log2", x, call),
    arith("/", map_resident("log", x, call), log(base), call)
  )
}

round_resident <- function(x, digits = 0, call) {
  if (is.numeric(digits) && length(digits) == 1L && identical(as.double(digits), 0)) {
    map_resident("round", x, call)
  } else {
    math_at_home("round", x, digits, call = call)
  }
}

# Computed by base R on the host, and copied back.
math_at_home <- function(f, x, ..., call) {
  value <- withCallingHandlers(
    tryCatch(get(f, envir = baseenv())(as.matrix(x), ...), error = function(e) {
      abort_as(e, function(text, call) abort_argument("...", text, call), call)
    }),
    warning = function(w) {
      warn("nan", conditionMessage(w), call)
      invokeRestart("muffleWarning")
    }
  )
  if (is.double(value) && identical(dim(value), x@Dim)) {
    upload_beside(value, x@Dim, dimnames(x), x, call)
  } else {
    value
  }
}

#' @export
is.na.gpu_matrix <- function(x) is.na(as.matrix(x))

#' @export
is.nan.gpu_matrix <- function(x) is.nan(as.matrix(x))

#' @export
is.finite.gpu_matrix <- function(x) is.finite(as.matrix(x))

#' @export
is.infinite.gpu_matrix <- function(x) is.infinite(as.matrix(x))
