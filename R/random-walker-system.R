# The linear system of a segmentation, for solvers of the user's choice.

#' The linear system of a segmentation
#'
#' `random_walker_system()` returns the matrix and the right-hand sides of the system that
#' [random_walker()] solves, for other solvers. Use the sparse matrix with [pcg()], or a dense copy
#' with [gpu_chol()] or, on disk, with [chol_file()].
#'
#' Let `u` be the pixels whose labels are sought. Their probabilities `p` of label `k` solve
#' `A p = b[, k]`. `A` is the Laplacian of the image's graph reduced to `u`, symmetric and positive
#' definite. `b[, k]` has the weights between pixels of `u` and seeds of label `k`. The
#' probabilities of all labels sum to 1, so all labels but one are enough.
#'
#' @section Accuracy: A small residual does not bound the error of probabilities if weights are
#' tiny. A region behind strong edges, or at a large `beta`, may be joined to its seeds by weights
#' of 1e-10 only. The matrix then has an eigenvalue of about that size, and a residual of 1e-8
#' leaves the probabilities there undetermined. [pcg()] stops by the residual and reports
#' convergence. [random_walker()] with `"cg"` estimates the error of the probabilities, and with
#' `"direct"` refines its solutions.
#'
#' @return
#' A list of class `"random_walker_system"`:
#' \describe{
#'   \item{`A`}{a sparse matrix (`dsCMatrix` of package Matrix, which must be installed).}
#'   \item{`b`}{a matrix with a row for each pixel of `u` and a column for each label.}
#'   \item{`pixels`}{the indices in the image of the rows of `A` and `b`.}
#'   \item{`label_values`}{the labels in ascending order.}
#' }
#' `print()` and `summary()` show its size.
#'
#' @inheritParams random_walker
#' @seealso [random_walker()] for the model and the arguments.
#' @examples
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   set.seed(1)
#'   image <- matrix(rep(c(0.2, 0.7), each = 200), 20) + rnorm(400, sd = 0.1)
#'   seeds <- matrix(0, 20, 20)
#'   seeds[10, c(2, 19)] <- 1:2
#'   s <- random_walker_system(image, seeds)
#'   p <- as.matrix(pcg(s$A, s$b)$x)
#'   labels <- seeds
#'   labels[s$pixels] <- s$label_values[max.col(p, "first")]
#'   identical(c(labels), as.double(random_walker(image, seeds)$labels))
#'
#'   # As a dense matrix on disk, by tiles
#'   file <- tempfile(fileext = ".tiles")
#'   a <- tile_matrix(function(i, j) as.matrix(s$A[i, j]), file, dim = nrow(s$A), triangle = TRUE)
#'   r <- chol_file(a)
#'   range(chol_solve(r, s$b) - p)
#'   unlink(file)
#' }
#' @export
random_walker_system <- function(image, seeds, beta = 130, spacing = NULL, channels = NULL) {
  call <- sys.call()
  absent <- c(image = missing(image), seeds = missing(seeds))
  if (any(absent)) {
    abort_missing(names(absent)[absent][[1L]], call)
  }
  if (!requireNamespace("Matrix", quietly = TRUE)) {
    abort_type(
      "package Matrix must be installed, since the system's matrix is an object of that package",
      call
    )
  }
  parts <- walker_parts(image, seeds, beta, spacing, channels, call)
  reply <- native_random_walker_system(
    parts$image$values, parts$seeds$values, parts$dim, parts$model
  )
  found <- unwrap(reply, call, "image")
  n <- length(found$pixels)
  structure(class = "random_walker_system", list(
    A = methods::new("dsCMatrix",
      i = found$rows, p = found$starts, x = found$entries, Dim = c(n, n), uplo = "L"
    ),
    b = matrix(found$sides, n, length(found$values), dimnames = list(NULL, found$values)),
    pixels = found$pixels,
    label_values = found$values
  ))
}

#' @rdname random_walker_system
#' @param x,object A result of `random_walker_system()`.
#' @param ... Ignored.
#' @export
print.random_walker_system <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  cat("$A: sparse symmetric matrix, $b: right-hand sides, $pixels: indices in the image\n")
  invisible(x)
}

#' @export
format.random_walker_system <- function(x, ...) {
  labels <- if (length(x$label_values) > 10L) "" else {
    sprintf(" (%s)", paste(x$label_values, collapse = ", "))
  }
  sprintf("<random_walker_system: %d pixels, %.0f entries, %s%s>",
    nrow(x$b), length(x$A@x), counted(ncol(x$b), "label"), labels)
}

#' @rdname random_walker_system
#' @export
summary.random_walker_system <- function(object, ...) object

#' @export
head.random_walker_system <- function(x, ...) utils::head(x$b, ...)

#' @export
tail.random_walker_system <- function(x, ...) utils::tail(x$b, ...)

#' @export
plot.random_walker_system <- function(x, ...) {
  text <- paste(
    "there is no 'plot' for an object of class \"random_walker_system\":",
    "plot(random_walker(image, seeds)) shows the labels"
  )
  abort_type(text, sys.call())
}
