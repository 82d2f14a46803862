# Covariances of points: computed at once, or kept as points and a function until they are needed.

#' Covariance matrices of points
#'
#' `gpu_covariance(x)` computes the covariance matrix of the points in the rows of `x`.
#' `gpu_covariance(x, y)` computes the covariances of the points in `x` with those in `y`.
#' `lazy_covariance(x)` keeps only the points and the covariance function. [tile_matrix()] evaluates
#' it tile by tile and writes the matrix to a file, so that the matrix may be larger than memory.
#'
#' The covariance functions are stationary, as in Gaussian processes and kriging. \eqn{h}{h} is the
#' Euclidean distance after coordinate differences are divided by `range`. With one range for each
#' dimension the function is anisotropic.
#' \tabular{ll}{
#'   **`kernel`** \tab **correlation** \cr
#'   `"exponential"`, or `"matern12"` \tab \eqn{\exp(-h)}{exp(-h)} \cr
#'   `"matern32"` \tab \eqn{(1 + \sqrt{3} h) \exp(-\sqrt{3} h)}{(1 + sqrt(3) h) exp(-sqrt(3) h)} \cr
#'   `"matern52"` \tab
#'   \eqn{(1 + \sqrt{5} h + 5 h^2 / 3)
#'   \exp(-\sqrt{5} h)}{(1 + sqrt(5) h + 5 h^2 / 3) exp(-sqrt(5) h)}
#'   \cr
#'   `"squared_exponential"` \tab \eqn{\exp(-h^2 / 2)}{exp(-h^2 / 2)}
#' }
#' The covariance of two points is `variance` (the sill) times their correlation. The `nugget` is
#' added on the diagonal of the matrix of points with themselves, and nowhere else. Two rows with
#' the same coordinates are two points, and so are a row of `x` and a row of `y`. Other packages
#' define `range` differently: a Gaussian function \eqn{\exp(-(d / r)^2)}{exp(-(d / r)^2)} has
#' `range = r / sqrt(2)` here.
#'
#' @section Errors:
#' * `cudafactor_error_type`: coordinates are not numeric.
#' * `cudafactor_error_non_finite`: NA, NaN or Inf among coordinates (field `argument`).
#' * `cudafactor_error_dimension`: no columns, different numbers of columns in `x` and `y`, or
#'   subscripts out of bounds.
#' * `cudafactor_error_argument`: `range` is not positive or has the wrong length, `variance` or
#'   `nugget` is negative, or `kernel` is unknown.
#' * Errors of the device: see [cudafactor_conditions].
#'
#' @section Accuracy:
#' Distances are computed from differences of coordinates, so close points far from the origin are
#' accurate. The relative error is a few units in the last place, multiplied by the exponent of the
#' exponential. On one device an entry depends only on its two points. The article *Accuracy and
#' reproducibility* (`vignettes/articles/accuracy.Rmd` in the sources) has more.
#'
#' @section Device:
#' `"auto"` is the first GPU, if there is one, for matrices of 2048 x 2048 entries or more, else the
#' CPU.
#'
#' @param x,y Numeric matrices with one row for each point and one column for each coordinate. A
#'   vector is a set of points on a line. `y = NULL` means the points of `x`. For methods, `x` is an
#'   object that `lazy_covariance()` made.
#' @param kernel The name of the correlation function, see above.
#' @param range The distance over which correlation falls, in the units of the coordinates: a
#'   positive number, or one for each column of `x`.
#' @param variance The covariance at distance zero, without the nugget: 0 or more.
#' @param nugget The number added on the diagonal, 0 or more: the variance of measurement errors, or
#'   a term that keeps a matrix of close points positive definite.
#' @inheritParams gpu_matmult
#' @param precision `"double"`, or `"single"`: entries are rounded to about 7 digits. If an operand
#'   is a `gpu_matrix`, `precision` and `device` are those of the operand.
#' @param i,j Rows and columns: positive or negative numbers, logical vectors, names, or nothing for
#'   all.
#' @param drop Does a result with one row or column become a vector?
#' @param ... Ignored.
#' @return `gpu_covariance()`: a double matrix with one row for each row of `x` and one column for
#' each row of `y` (or `x`), and their row names as dimnames. If `x` or `y` is a [gpu_matrix], so is
#' the result. Without `y` it is exactly symmetric.
#'
#' `lazy_covariance()`: an object of class `"lazy_covariance"`, a list of `x`, `kernel`, `range`,
#' `variance` and `nugget`. It has methods for [dim()], [dimnames()], [print()], [as.matrix()] and
#' `[`, which evaluates the requested entries.
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine
#' Learning*, section 4.2.1. MIT Press.
#' @seealso [tile_matrix()], [chol_file()], [stats::dist()]
#' @examples
#' x <- cbind(runif(50), runif(50))
#' k <- gpu_covariance(x, kernel = "matern32", range = 0.3, nugget = 0.01)
#' h <- as.matrix(dist(x / 0.3))
#' all.equal(k, (1 + sqrt(3) * h) * exp(-sqrt(3) * h) + diag(0.01, 50),
#'   check.attributes = FALSE)
#'
#' # With other points, and a different range in each direction
#' dim(gpu_covariance(x, rbind(c(0, 0), c(1, 1)), range = c(0.1, 0.5)))
#'
#' # Only the requested entries are computed; the file is written in tiles
#' k <- lazy_covariance(x, "exponential", range = 0.3, variance = 2)
#' k
#' k[1:2, 1:4]
#' file <- tempfile(fileext = ".tiles")
#' tile_matrix(k, file, tile = 20)
#' unlink(file)
#' @export
lazy_covariance <- function(x, kernel = "exponential", range = 1, variance = 1, nugget = 0) {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  x <- as_points(x, "x", call)
  structure(
    class = "lazy_covariance",
    c(list(x = x), as_kernel(kernel, range, variance, nugget, ncol(x), call))
  )
}

#' @rdname lazy_covariance
#' @export
gpu_covariance <- function(x, y = NULL, kernel = "exponential", range = 1, variance = 1, nugget = 0,
                           device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  beside <- if (is_resident(x)) x else if (is_resident(y)) y
  if (is_resident(x) && is_resident(y)) {
    check_together(x, y, call)
  }
  x <- as_points(x, "x", call)
  if (!is.null(y)) {
    y <- as_points(y, "y", call)
    if (ncol(x) != ncol(y)) {
      abort_dimension(base_text("non-conformable arguments"), call)
    }
  }
  evaluate(
    x, y, as_kernel(kernel, range, variance, nugget, ncol(x), call), device, precision, call, beside
  )
}

kernel_names <- c("exponential", "matern12", "matern32", "matern52", "squared_exponential")

# Points as a double matrix with one row for each.
as_points <- function(x, argument, call) {
  if (is.list(x) && !is.data.frame(x)) {
    abort_type(sprintf("'%s' must be a numeric matrix of coordinates", argument), call)
  }
  check_numbers(x, argument, "a numeric matrix of coordinates", call)
  names <- if (length(dim(x)) == 2L) dimnames(x)
  x <- if (is_resident(x)) fetch(x, call) else as_matrix(x, call)
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type(sprintf("'%s' must be a numeric matrix of coordinates", argument), call)
  }
  if (ncol(x) == 0L) {
    abort_dimension(
      sprintf("'%s' must have at least one column: one for each coordinate", argument), call
    )
  }
  x <- as_double(x, call)
  if (!all(is.finite(x))) {
    abort("non_finite", base_text("NA/NaN/Inf in '%s'", argument), call, argument = argument)
  }
  # fetch() gives no dimnames.
  if (is.null(dimnames(x))) dimnames(x) <- names
  x
}

# The covariance function, checked.
as_kernel <- function(kernel, range, variance, nugget, dimensions, call) {
  if (!(is.character(kernel) && length(kernel) == 1L && kernel %in% kernel_names)) {
    names <- paste0("\"", kernel_names, "\"", collapse = ", ")
    abort_argument("kernel", sprintf("'kernel' must be one of %s", names), call)
  }
  fits <- is.numeric(range) && length(range) %in% c(1L, dimensions) && all(is.finite(range)) &&
    all(range > 0)
  if (!fits) {
    text <- "'range' must be a positive number"
    if (dimensions > 1L) {
      text <- sprintf("%s, or one for each of the %d columns of 'x'", text, dimensions)
    }
    abort_argument("range", text, call)
  }
  for (argument in c("variance", "nugget")) {
    value <- if (argument == "variance") variance else nugget
    if (!(is.numeric(value) && length(value) == 1L && isTRUE(is.finite(value) && value >= 0))) {
      abort_argument(argument, sprintf("'%s' must be a number, 0 or more", argument), call)
    }
  }
  list(
    kernel = if (kernel == "matern12") "exponential" else kernel, range = as.double(range),
    variance = as.double(variance), nugget = as.double(nugget)
  )
}

# The numbers of a covariance function, in the order that native routines read.
kernel_parameters <- function(k, dimensions) c(k$variance, k$nugget, rep_len(k$range, dimensions))

# The covariance matrix: an ordinary one, or on the device of the gpu_matrix `beside`.
evaluate <- function(x, y, k, device, precision, call, beside = NULL) {
  rows <- nrow(x)
  columns <- nrow(y %||% x)
  names <- product_dimnames(x, y %||% x, "tcrossprod", dim(x), dim(y %||% x))
  parameters <- kernel_parameters(k, ncol(x))
  if (!is.null(beside)) {
    native <- function(out, where) {
      native_resident_covariance(
        x, dim(x), y, dim(y %||% x), k$kernel, parameters, beside@pointer, out, where
      )
    }
    return(make_resident(native, c(rows, columns), names, beside, call))
  }
  where <- how(device, precision, call)
  out <- .External(alloc_matrix, rows, columns)
  unwrap(native_covariance(x, dim(x), y, dim(y %||% x), k$kernel, parameters, out, where), call)
  dimnames(out) <- names
  out
}

is_covariance <- function(x) inherits(x, "lazy_covariance")

# The object as a list, after a check of its points.
of_covariance <- function(x, call) {
  x <- unclass(x)
  if (!(is.list(x) && is.matrix(x$x) && is.double(x$x))) {
    abort_type("'x' must be an object that lazy_covariance() made, unchanged", call)
  }
  x
}

# Writes all tiles of a new file.
write_covariance <- function(x, writer, where, call) {
  k <- of_covariance(x, call)
  parameters <- kernel_parameters(k, ncol(k$x))
  unwrap(native_tiles_covariance(writer, k$x, dim(k$x), k$kernel, parameters, where), call)
}
