# Segmentation of images from seeds.

#' Segmentation of an image from seeds, by random walks
#'
#' Marks in an image, the seeds, are spread to all of it: a pixel gets the label of the seed that a random walk from it most likely meets first, where a walk rarely steps between pixels that differ (Grady 2006). Weak
#' edges hold as far as stronger ones leave no way round. Seeds, weights and `beta` are those of `random_walker()` of Python's scikit-image, and so are the probabilities, of its exact mode (`"bf"`). Three conventions differ: labels
#' that are not consecutive are renumbered 1, 2, ... there and kept here; pixels that no seed reaches are labelled 0 there and -1 here; and images of whole numbers are scaled there, by their type, and taken as they are here.
#'
#' @section Model:
#' Pixels are joined to their neighbours along rows, columns and slices, with weights \eqn{w = \exp(-\beta \sum_c d_c^2 / (10 s \sqrt{C})) + 10^{-10}}{w = exp(-beta sum(d^2) / (10 s sqrt(C))) + 1e-10}, where \eqn{d_c} is their difference in channel
#' \eqn{c} of \eqn{C}, divided by their `spacing`, and \eqn{s} the standard deviation (with divisor \eqn{n}) of all values of the image, those of pixels that are left out too. Grady's own beta is \eqn{\beta / (10 s \sqrt{C})}{beta / (10 s sqrt(C))}. The
#' probabilities of a label are 1 at its seeds, 0 at others, and solve a linear system whose matrix is the same for all labels.
#'
#' `beta` depends on the scale of the image, and is meant for values between 0 and 1. Values are taken as they are, in double precision whatever they were. Of values from 0 to 255 the squares of differences grow by 255^2 and \eqn{s} by 255, so that
#' `beta = 130` is as 33150 would be for the image divided by 255: nearly every difference is an edge, noise too, weights fall to the least there is, and labels end at chance edges. Divide 8-bit values by 255.
#'
#' @section Seeds:
#' A matrix, or an array of three extents: whole numbers between -2147483647 and 2147483647, as integers or doubles. Those above 0 are labels, which need not be consecutive; 0 or `NA` stands where a label is sought; and one below 0, such as -1, for a pixel that is left out, so that no walk goes through it. `TRUE` is 1. A pixel from which no
#' seed can be reached has the label -1 in the answer, and is counted in `unreached`. Seeds keep their labels, also those that no pixel without a label touches. Of labels that are as likely, to 1e-12, the lowest is taken.
#'
#' @section Images:
#' `seeds` has the image's extents in space. An image with one extent more has channels, which are the last one: `png::readPNG()`, `jpeg::readJPEG()` and `tiff::readTIFF()` give such arrays, of rows, columns and channels. An array with the extents of
#' `seeds` is a matrix of grey values, or a volume of them. Objects of package imager (`cimg`) and EBImage (`Image`) are taken as they are, and their seeds may be of such a class, too; these packages are not needed. What they have first is
#' the horizontal coordinate, and `plot()` knows.
#'
#' An image of two or four channels has grey values, or colours, and an alpha channel. The alpha channel, which comes last, is left out:
#' pixels count by their colours, however opaque they are. `channels = 1:4` takes all channels of such an image, for example of one with
#' four bands of another kind. The answer's `channels` tells which channels were used.
#'
#' @section Method:
#' `"direct"` factors the matrix once for all labels, by a sparse Cholesky factorization along a nested dissection of the grid, on the CPU. It is exact to rounding at any `beta`; where weights are so small that rounding shows, solutions are refined. `"auto"`
#' takes it for pictures on the CPU. An image of \eqn{n} pixels takes about \eqn{n \log n}{n log(n)} numbers (3.8 GB of memory in all, with R's, at 2048 x 2048); a volume \eqn{n^{4/3}}{n^(4/3)} (3.2 GB at 64 x 64 x 64).
#'
#' `"cg"` iterates, on a GPU or on the CPU: conjugate gradients for all labels together, with a multigrid method along the grid as preconditioner, whose interpolation follows the weights (Dendy 1982). Memory is proportional to the number of pixels, for volumes too, and
#' so is the time of an iteration, of which there are 8 to 32 in images that were tried at `beta = 130`, 8 in synthetic ones of millions of pixels. Where regions hang on by weights of 1e-10, as in binary images, noise, or at a large `beta`, that method does not know them. A few iterations for a random
#' right-hand side tell, and then an algebraic multigrid method, whose levels follow strong weights, takes its place (17 to 300 iterations). It ends when probabilities are estimated to be within `tol`, which makes allowance for what the preconditioner does not know. Where `maxit` iterations
#' do not do, or rounding allows no more, there is a warning, and the answer as far as it came. Ties are decided to the accuracy of probabilities, not to 1e-12.
#'
#' `"auto"` takes `"cg"` where there is a GPU and the image has 100,000 pixels, and on the CPU where a factor would take long: for volumes of 26 pixels a side and more, and pictures of more than some 16 million pixels, but not for volumes of a few slices. Else it takes `"direct"`, and so it does where `"cg"`
#' does not reach `tol`, but for volumes whose factor would take some minutes, of more than 80 pixels a side; there the warning comes.
#'
#' @section Value:
#' A list of class `"random_walker"`:
#' \describe{
#'   \item{`labels`}{integers with the extents of `seeds`: labels, or -1.}
#'   \item{`probabilities`}{with `prob = TRUE`, an array with the extents of the image in space and, last, one for labels, with these for names. 1 or 0 at seeds; all 0 where the label is -1; else they sum to 1. `NULL` with `prob = FALSE`.}
#'   \item{`label_values`}{the labels there are, ascending.}
#'   \item{`method`, `auto`}{the method; whether `"auto"` chose it.}
#'   \item{`unknowns`, `factor_entries`}{how many pixels' labels were sought; numbers in the factor, 0 where none was needed.}
#'   \item{`iterations`, `error`}{of `"cg"`, the most for a label, and the estimate of the largest error of a probability, `Inf` where it did not converge; else `NULL`.}
#'   \item{`unreached`}{how many pixels had no label and no seed to reach.}
#'   \item{`beta`, `spacing`, `channels`}{as used; `NULL` for the channels of an image without.}
#'   \item{`image`, `horizontal_first`}{for `plot()`: the values used, and whether rows of the array are columns of the picture.}
#'   \item{`device`}{where it was computed.}
#' }
#' `print()` counts the labels, and `plot()` shows them over the image.
#'
#' @section Failure:
#' `cudafactor_error_dimension`: extents that do not go together. `cudafactor_error_non_finite`: NA or an infinite value in a channel of `image` that is used, or NaN or an infinite one in `seeds` (field `argument`); leave pixels out by -1 in `seeds`, and give them any value. `cudafactor_error_type`: what is no array of numbers.
#' `cudafactor_error_argument`: no seed at all, seeds that are not whole numbers in the range above, values of `image` so large that their squares overflow, other values that make no sense. `cudafactor_error_host_memory`: the factor does not fit into memory.
#'
#' @param image Matrix or array, see below.
#' @param seeds Whole numbers, see below.
#' @param beta How much differences count: the larger, the rarer is a step across an edge. 0 disregards the image.
#' @param method `"auto"`, `"direct"` or `"cg"`, see below.
#' @param tol,maxit Of `"cg"`: the largest error of a probability that is aimed at, and the most iterations.
#' @param prob Give the probabilities of all labels?
#' @param spacing Distances of neighbours along each extent of `seeds`, in any unit: differences are divided by them. `NULL` for 1. Slices that lie further apart than pixels have larger numbers.
#' @param channels Which channels to use; `NULL` for all but alpha.
#' @param device See [gpu_matmult()]. `"direct"` computes on the CPU.
#' @references Dendy, J. E. (1982) Black box multigrid. *Journal of Computational Physics* **48**, 366-386.
#'
#' Grady, L. (2006) Random walks for image segmentation. *IEEE Transactions on Pattern Analysis and Machine Intelligence* **28**, 1768-1783.
#' @examples
#' # A disc and a bar in noise, and a few pixels of each part
#' set.seed(1)
#' at <- expand.grid(row = 1:60, col = 1:80)
#' disc <- with(at, (row - 25)^2 + (col - 25)^2 < 150)
#' bar <- with(at, row > 15 & row < 50 & col > 52 & col < 65)
#' image <- matrix(0.2 + 0.4 * disc + 0.6 * bar + rnorm(nrow(at), sd = 0.1), 60)
#' seeds <- matrix(0, 60, 80)
#' seeds[5, 5:75] <- 1
#' seeds[24:26, 24:26] <- 2
#' seeds[30:34, 58] <- 3
#' parts <- random_walker(image, seeds, prob = TRUE)
#' parts
#' plot(parts)
#' mean(parts$labels == 1 + disc + 2 * bar)
#'
#' # How sure it is
#' summary(c(apply(parts$probabilities, 1:2, max)))
#'
#' # A picture read from a file is such an array:
#' # image <- png::readPNG("picture.png")
#' @order 1
#' @export
random_walker <- function(image, seeds, beta = 130, method = c("auto", "direct", "cg"), tol = 1e-9, prob = FALSE, spacing = NULL, channels = NULL, maxit = 500,
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
    abort_argument("device", "method \"direct\" runs on the CPU: use device = \"cpu\" or \"auto\", or method \"cg\"", call)
  }
  labels <- .External(alloc_integers, length(seeds$values))
  attributes(labels) <- seeds$attributes
  probabilities <- if (prob) {
    walker_probabilities(seeds$space, unwrap(native_random_walker_labels(seeds$values), call, "image")$values)
  }
  found <- unwrap(native_random_walker(
    image$values, seeds$values, parts$dim, parts$model, c(match(asked, walker_methods) - 1, tol, maxit), labels, probabilities, where
  ), call, "image")
  if (found$iterative && !isTRUE(found$error <= tol)) {
    why <- if (found$iterations < maxit) "weights are so different that rounding allows no more" else "more of them may do, by 'maxit'"
    warn("not_converged", sprintf(
      "probabilities have not converged in %s, and labels may be wrong: %s; method = \"direct\" is exact", counted(found$iterations, "iteration"), why
    ), call, error = found$error)
  }
  structure(class = "random_walker", list(
    labels = labels, probabilities = probabilities, label_values = found$values, method = if (found$iterative) "cg" else "direct", auto = asked == "auto",
    unknowns = found$unknowns, factor_entries = found$entries, iterations = if (found$iterative) found$iterations, error = if (found$iterative) found$error,
    unreached = found$unreached, beta = parts$beta, spacing = parts$spacing,
    channels = image$channels, image = image$values, horizontal_first = image$horizontal_first, device = gpu_last_device()
  ))
}

walker_methods <- c("auto", "direct", "cg")

# Arguments that describe a system, looked at, and as native routines take them.
walker_parts <- function(image, seeds, beta, spacing, channels, call) {
  seeds <- as_seeds(seeds, call)
  image <- as_image(image, seeds$space, channels, call)
  beta <- as_number(beta, "beta", call)
  spacing <- walker_spacing(spacing, length(seeds$space), call)
  three <- function(x) c(as.double(x), rep(1, 3L - length(x)))
  list(
    image = image, seeds = seeds, beta = beta, spacing = spacing, dim = c(three(seeds$space), image$count), model = c(beta, three(spacing))
  )
}

# Room for the probabilities of labels.
walker_probabilities <- function(space, labels) {
  extents <- c(space, length(labels))
  longest <- max(extents)
  out <- .External(alloc_matrix, longest, prod(extents) / longest)
  attributes(out) <- list(dim = extents, dimnames = c(vector("list", length(space)), list(as.character(labels))))
  out
}

walker_method <- function(method, call) {
  if (identical(method, walker_methods)) {
    return("auto")
  }
  if (!(is.character(method) && length(method) == 1L && method %in% walker_methods)) {
    abort_argument("method", paste0("'method' must be one of ", paste0("\"", walker_methods, "\"", collapse = ", ")), call)
  }
  method
}

walker_spacing <- function(spacing, extents, call) {
  if (is.null(spacing)) {
    return(rep(1, extents))
  }
  if (!(is.numeric(spacing) && length(spacing) == extents && isTRUE(all(is.finite(spacing) & spacing > 0)))) {
    abort_argument("spacing", sprintf("'spacing' must be %d positive numbers, one for each extent of 'seeds'", extents), call)
  }
  as.double(spacing)
}
