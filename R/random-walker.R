# Segmentation of images from seeds.

#' Segmentation of an image from seeds, by random walks
#'
#' `random_walker()` extends the labels of a few marked pixels, the seeds, to the whole image. A
#' pixel gets the label of the seed that a random walk from it most likely meets first. Steps
#' between pixels that differ are unlikely (Grady 2006).
#'
#' Probabilities are those of `random_walker()` in Python's scikit-image (mode `"bf"`), for the same
#' seeds and `beta`. The article tells which conventions differ.
#'
#' `beta` is meant for images with values between 0 and 1. Divide 8-bit values by 255: otherwise
#' nearly every difference, noise included, counts as an edge.
#'
#' The article *Segmentation: model, images and methods*
#' (`vignettes/articles/segmentation-methods.Rmd` in the sources) has the model, kinds of images
#' and seeds, and memory.
#'
#' @section Method: `"direct"` computes a sparse Cholesky factorization on the CPU, exact to
#' rounding at any `beta`. `"cg"` iterates on a GPU or the CPU, with a multigrid preconditioner and
#' memory proportional to the number of pixels. `"cg"` ends when the estimated error of the
#' probabilities is below `tol`.
#'
#' `"auto"` uses `"cg"` on a GPU for 100,000 pixels or more, or if `device` names the GPU. On the
#' CPU it uses `"cg"` for volumes of 26 pixels a side or more, and for pictures of more than about
#' 16 million pixels. In all other cases it uses `"direct"`.
#'
#' @return A list of class `"random_walker"`. `print()` and `summary()` count the labels, and
#'   `plot()` shows them over the image.
#' \describe{
#'   \item{`labels`}{integers with the dimensions of `seeds`: labels, and -1 for pixels with a
#'     negative seed or that no seed reaches.}
#'   \item{`probabilities`}{with `prob = TRUE`, an array with the dimensions of `seeds` and one more
#'     for labels, with the labels as dimnames. All are 0 where the label is -1, else they sum to 1.
#'     `NULL` with `prob = FALSE`.}
#'   \item{`label_values`}{the labels in ascending order.}
#'   \item{`unknowns`, `unreached`}{number of pixels whose label was computed, and of pixels that
#'     no seed reaches.}
#'   \item{`iterations`, `error`}{for `"cg"`: the largest number of iterations for a label, and the
#'     estimated largest error of a probability. Else `NULL`.}
#' }
#' The article describes the elements `method`, `auto`, `factor_entries`, `beta`, `spacing`,
#' `channels`, `image`, `horizontal_first` and `device`.
#'
#' @section Errors:
#' - `cudafactor_error_dimension`: the dimensions of `image` and `seeds` do not match.
#' - `cudafactor_error_non_finite` (field `argument`): NA or Inf in a channel of `image` that is
#'   used, or NaN or Inf in `seeds`.
#' - `cudafactor_error_type`: an operand that is not an array of numbers.
#' - `cudafactor_error_argument`: no seed at all, seeds that are not whole numbers, values of
#'   `image` whose squares overflow, or other invalid values.
#' - `cudafactor_error_host_memory`: the factor does not fit into memory.
#'
#' The warning `cudafactor_warning_not_converged` (field `error`) says that `"cg"` did not reach
#' `tol`.
#'
#' @param image Numeric matrix (grey values), or array with a third dimension for slices. One more
#'   dimension, the last, is for channels. Objects of packages imager (`cimg`) and EBImage (`Image`)
#'   are accepted.
#' @param seeds Whole numbers with the dimensions of `image` without channels. Values above 0 are
#'   labels. 0 or `NA` marks pixels whose label is sought, and a negative value pixels that no walk
#'   enters.
#' @param beta Weight of differences, a number of at least 0. A larger one makes steps across edges
#'   rarer. 0 ignores the image.
#' @param method `"auto"` (the default), `"direct"` or `"cg"`, see the section Method.
#' @param tol,maxit For `"cg"`: the largest error of a probability to allow, and the maximum number
#'   of iterations.
#' @param prob `TRUE` returns the probabilities of all labels. The default is `FALSE`.
#' @param spacing Distances between neighbours along each dimension of `seeds`, positive numbers in
#'   any unit. `NULL` for 1.
#' @param channels Numbers of the channels to use. `NULL` for all but an alpha channel, which is the
#'   last of two or four.
#' @param device `"auto"` (the default), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"` (the
#'   second, and so on). `"direct"` always computes on the CPU.
#' @references Grady, L. (2006) Random walks for image segmentation. *IEEE Transactions on Pattern
#' Analysis and Machine Intelligence* **28**, 1768-1783.
#' @seealso [random_walker_system()]
#' @examples
#' # A disc in noise, and a few pixels of each part
#' set.seed(1)
#' at <- expand.grid(row = 1:60, col = 1:80)
#' disc <- with(at, (row - 25)^2 + (col - 25)^2 < 150)
#' image <- matrix(0.2 + 0.4 * disc + rnorm(nrow(at), sd = 0.1), 60)
#' seeds <- matrix(0, 60, 80)
#' seeds[5, 5:75] <- 1
#' seeds[24:26, 24:26] <- 2
#' parts <- random_walker(image, seeds)
#' parts
#' plot(parts)
#' mean(parts$labels == 1 + disc)
#' @order 1
#' @export
random_walker <- function(image, seeds, beta = 130, method = c("auto", "direct", "cg"), tol = 1e-9,
                          prob = FALSE, spacing = NULL, channels = NULL, maxit = 500,
                          device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  absent <- c(image = missing(image), seeds = missing(seeds))
  if (any(absent)) {
    abort_missing(names(absent)[absent][[1L]], call)
  }
  asked <- if (missing(method)) "auto" else walker_method(method, call)
  parts <- walker_parts(image, seeds, beta, spacing, channels, call)
  image <- parts$image
  seeds <- parts$seeds
  prob <- as_flag(prob)
  if (is.na(prob)) {
    abort_argument("prob", "'prob' must be TRUE or FALSE", call)
  }
  tol <- as_number(tol, "tol", call)
  maxit <- as_number(maxit, "maxit", call)
  if (!(tol > 0 && is.finite(tol))) {
    abort_argument("tol", "'tol' must be positive and finite", call)
  }
  if (!(maxit >= 1 && maxit <= 1e9 && maxit == round(maxit))) {
    abort_argument("maxit", "'maxit' must be a whole number from 1 to 1e9", call)
  }
  where <- how(device, "double", call)
  if (asked == "direct" && startsWith(device, "cuda")) {
    text <- paste(
      "method = \"direct\" runs on the CPU: use device = \"cpu\" or \"auto\",",
      "or method = \"cg\" for a GPU"
    )
    abort_argument("device", text, call)
  }
  labels <- .External(alloc_integers, length(seeds$values))
  attributes(labels) <- seeds$attributes
  probabilities <- if (prob) {
    values <- unwrap(native_random_walker_labels(seeds$values), call, "image")$values
    walker_probabilities(seeds$space, values)
  }
  limits <- c(match(asked, walker_methods) - 1, tol, maxit)
  found <- unwrap(native_random_walker(
    image$values, seeds$values, parts$dim, parts$model, limits, labels, probabilities, where
  ), call, "image")
  if (found$iterative && !isTRUE(found$error <= tol)) {
    way <- if (found$iterations < maxit) {
      "rounding allows no smaller error, so use method = \"direct\""
    } else {
      "use a larger 'maxit' or method = \"direct\""
    }
    text <- paste(
      "probabilities have not converged in %s: their estimated error %.1e is above 'tol' = %.1e,",
      "and labels may be wrong; %s"
    )
    text <- sprintf(text, counted(found$iterations, "iteration"), found$error, tol, way)
    warn("not_converged", text, call, error = found$error)
  }
  structure(class = "random_walker", list(
    labels = labels, probabilities = probabilities, label_values = found$values,
    method = if (found$iterative) "cg" else "direct", auto = asked == "auto",
    unknowns = found$unknowns, factor_entries = found$entries,
    iterations = if (found$iterative) found$iterations,
    error = if (found$iterative) found$error,
    unreached = found$unreached, beta = parts$beta, spacing = parts$spacing,
    channels = image$channels, image = image$values,
    horizontal_first = image$horizontal_first, device = gpu_last_device()
  ))
}

walker_methods <- c("auto", "direct", "cg")

# The arguments that describe a system, checked and in the form that native routines read.
walker_parts <- function(image, seeds, beta, spacing, channels, call) {
  seeds <- as_seeds(seeds, call)
  image <- as_image(image, seeds$space, channels, call)
  beta <- as_number(beta, "beta", call)
  spacing <- walker_spacing(spacing, length(seeds$space), call)
  three <- function(x) c(as.double(x), rep(1, 3L - length(x)))
  list(
    image = image, seeds = seeds, beta = beta, spacing = spacing,
    dim = c(three(seeds$space), image$count), model = c(beta, three(spacing))
  )
}

# An array for the probabilities of labels. Without values yet: the native routine fills it.
walker_probabilities <- function(space, labels) {
  dims <- c(space, length(labels))
  longest <- max(dims)
  out <- .External(alloc_matrix, longest, prod(dims) / longest)
  dimnames <- c(vector("list", length(space)), list(as.character(labels)))
  attributes(out) <- list(dim = dims, dimnames = dimnames)
  out
}

walker_method <- function(method, call) {
  if (identical(method, walker_methods)) {
    return("auto")
  }
  if (!(is.character(method) && length(method) == 1L && method %in% walker_methods)) {
    choices <- paste0("\"", walker_methods, "\"", collapse = ", ")
    abort_argument("method", paste("'method' must be one of", choices), call)
  }
  method
}

walker_spacing <- function(spacing, dims, call) {
  if (is.null(spacing)) {
    return(rep(1, dims))
  }
  fits <- is.numeric(spacing) && length(spacing) == dims &&
    isTRUE(all(is.finite(spacing) & spacing > 0))
  if (!fits) {
    text <- "'spacing' must be %d positive numbers, one for each dimension of 'seeds'"
    abort_argument("spacing", sprintf(text, dims), call)
  }
  as.double(spacing)
}
