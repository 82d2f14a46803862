# The linear system of a segmentation, for solvers of the user's choice.

#' The linear system of a segmentation
#'
#' The matrix and the right-hand sides that [random_walker()] solves, for other solvers: a sparse one by [pcg()], or a dense one, in memory or on disk, by [gpu_chol()] or [chol_file()].
#'
#' With `u` the pixels whose labels are sought, the probabilities `p` of label `k` there solve `A p = b[, k]`, where `A` is the Laplacian of the image's graph reduced to `u`, symmetric and positive definite, and `b[, k]` has the weights between pixels of `u`
#' and seeds of label `k`. They sum to 1, so that all labels but one are enough.
#'
#' @section Accuracy:
#' A small residual does not bound the error of probabilities where weights are tiny: a region that only weights of 1e-10 join to its seeds, as behind strong edges or at a large `beta`, has an eigenvalue of about that size, and a residual of 1e-8 there leaves its probabilities
#' undetermined. [pcg()] and other iterations end by their residual, and say that they have converged. [random_walker()] takes care of it: its `"cg"` estimates the error of the probabilities themselves, and `"direct"` refines its solutions.
#'
#' @section Value:
#' A list of `A`, a sparse matrix (`dsCMatrix` of package Matrix, which must be installed); `b`, a matrix with a row for each pixel of `u` and a column for each label; `pixels`, where these rows are in the image, as one index; and `label_values`.
#'
#' @inheritParams random_walker
#' @seealso [random_walker()], whose sections say what arguments are.
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
    abort_type("the system's matrix is an object of package Matrix, which is not installed", call)
  }
  parts <- walker_parts(image, seeds, beta, spacing, channels, call)
  found <- unwrap(native_random_walker_system(parts$image$values, parts$seeds$values, parts$dim, parts$model), call, "image")
  n <- length(found$pixels)
  list(
    A = methods::new("dsCMatrix", i = found$rows, p = found$starts, x = found$entries, Dim = c(n, n), uplo = "L"),
    b = matrix(found$sides, n, length(found$values), dimnames = list(NULL, found$values)), pixels = found$pixels, label_values = found$values
  )
}
