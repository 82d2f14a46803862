# Symmetric positive definite systems by preconditioned conjugate gradients.

#' Symmetric positive definite systems by preconditioned conjugate gradients
#'
#' `pcg()` solves \eqn{A X = B} for a symmetric positive definite matrix \eqn{A} and any number of right-hand sides, by conjugate gradients with a preconditioner \eqn{M}, a matrix near \eqn{A} whose systems are
#' easily solved. All right-hand sides are iterated together, so that \eqn{A} and \eqn{M} are read once for all; each has an iteration of its own, which ends as soon as
#' \eqn{\|b - A x\| \le tol \|b\|}{||b - A x|| <= tol ||b||}.
#'
#' @section Matrices:
#' A sparse `A`, of package Matrix or slam, stays sparse; of Matrix's symmetric classes the triangle that is stored is read. So does a plain matrix of which three quarters or more are zeros, unless `device` names a GPU. Other plain matrices and a
#' [gpu_matrix] are dense. A matrix that is symmetric but for rounding, as [isSymmetric()] has it, is taken as the mean of it and its transpose.
#'
#' A function is given a matrix, of all the right-hand sides that are still iterated on, and gives its product with `A`, of the same extents, or something that [as.matrix()] makes that of. Nothing can be found out about such a matrix beforehand: that it is symmetric and positive definite is
#' the caller's word.
#'
#' @section Preconditioners:
#' `M` is one of
#' \describe{
#'   \item{`"ic0"`}{the incomplete Cholesky factor without fill, [ichol()]; of a dense matrix, where nothing is left out, the Cholesky factor itself, which the value then names.}
#'   \item{`"jacobi"`}{the diagonal of `A`.}
#'   \item{`"none"`}{the identity.}
#'   \item{`"amg"`}{of a sparse matrix, one of package Matrix or slam, algebraic multigrid: a cycle over ever coarser matrices, of aggregates of about four rows each, with relaxation by Chebyshev's polynomial of degree 2 on each of them. It is made for matrices
#'     whose entries beside the diagonal are mostly negative, as those of differential equations and graphs; the number of iterations hardly grows with their order. Units of measurement that differ from row to row are found by relaxation and taken out, where they do so by a factor of up to some tens; where rows and columns have been scaled by factors of a hundred or more there are many times as many iterations, and `"ic0"` is better.
#'     All of it is computed on the device.}
#'   \item{a factor}{of a matrix \eqn{M = R^T R}{M = R'R} near `A`: what [ichol()] gave; an upper triangular matrix, as `chol()` gives it, plain, of package Matrix or a [gpu_matrix]; a factor on disk by [chol_file()] or on GPUs by [chol_gpus()];
#'     what Matrix's `Cholesky()` gave. A lower triangular matrix is \eqn{R^T}{R'}, whatever its class. The matrix \eqn{M} itself is refused: give `chol(M)`; and so is a pivoted factor, which is of a matrix in another order. One that is diagonal could be \eqn{M} or its factor, and is refused too, unless its class
#'     tells that it is a factor, triangular: `M = "jacobi"` is the diagonal of `A`, of another diagonal give a function, or [ichol()] of the matrix.}
#'   \item{a function}{of a matrix of residuals \eqn{r}, which gives \eqn{M^{-1} r}{M^-1 r}, of the same extents, by something that is linear, symmetric and positive definite, and the same in each iteration.}
#' }
#' What `M` is where it is not given depends on the kind of `A`: `"ic0"` for a matrix that stays sparse, on the CPU, and `"amg"` for one on a GPU, `"jacobi"` for a dense one and `"none"` for a function. The Cholesky factor of a matrix that has changed since by a little leaves few iterations, of
#' \eqn{n^2} operations for each right-hand side, instead of another factorization of \eqn{n^3 / 3}. That is faster on the CPU, where the matrix has changed by a percent or less and there are few right-hand sides, and on a GPU for matrices of order 16000 and more that are there already ([gpu_matrix]); where they have to be brought there another factorization is.
#'
#' @section Method:
#' `"direct"` takes the complete Cholesky factor of `A`, of a sparse one in an order that keeps it sparse (approximate minimum degree), for the preconditioner: then one iteration is enough, and a second one removes what rounding left. `"auto"` is `"cg"` where `M` or `x0` is
#' given or `A` is a function. Else it is `"direct"` for a dense matrix, and for a sparse one where the factor, for which the order tells the number of operations, is expected to take less time than iterations with `"ic0"` would, of which \eqn{\sqrt n / 2}{sqrt(n) / 2} are counted on at most, and fewer where the diagonal of `A` is larger than the rest of its rows; where no complete factor can be had it iterates. So it is with grids in the plane, up to millions of points, and
#' not with those in space from some thousand points on. The order may itself take longer than all of the iterations, so it is not asked for where the graph of the entries widens too fast: where a breadth-first search meets levels of so many rows that no order would help. Where `"auto"` chose a factorization of a sparse matrix and that fails, it goes on with `"cg"`. Where you know that `A` is well conditioned, so that there are few iterations, say `method = "cg"`: of that `"auto"` knows no more than the dominance of the diagonal tells.
#' On a GPU `"auto"` is `"cg"` with `"amg"` for a sparse matrix. The value and `print()` say what was chosen.
#'
#' @section Value:
#' A list of class `"pcg"`:
#' \describe{
#'   \item{`x`}{the solution, a vector where `b` is a plain one, else a matrix, of one column where `b` is a `sparseVector` of package Matrix, with names as by [solve()]; a `gpu_matrix` where `b` is a matrix and `A` or `b` a `gpu_matrix`.}
#'   \item{`iterations`}{how many iterations each right-hand side took.}
#'   \item{`residuals`}{the history: a matrix with a column for each right-hand side and a row for each iteration, the first one for the start, of \eqn{\|b - A x\| / \|b\|}{||b - A x|| / ||b||}; NA from the end on. Those in between are the recurrence's.}
#'   \item{`relative_residual`}{at the end, computed from `A`, `b` and `x`, before components of `x` underflow to zero.}
#'   \item{`converged`}{of each right-hand side, whether that is within the tolerance.}
#'   \item{`end`}{why each ended: `"converged"`; `"iterations"`, at `maxit`; `"stagnated"`, where rounding allows no smaller residual.}
#'   \item{`tolerance`, `maxit`}{the limits.}
#'   \item{`method`, `auto`}{`"cg"` or `"direct"`, and whether `"auto"` chose it.}
#'   \item{`preconditioner`}{`"ic0"`, `"jacobi"`, `"none"`, `"amg"`, `"cholesky"`, `"ichol"`, `"factor"` or `"function"`.}
#'   \item{`shift`}{where `"ic0"` broke down, the factor is of \eqn{A + shift\,diag(A)}{A + shift diag(A)}, which is told here and by `print()`, without a warning; else 0.}
#'   \item{`dim`, `device`}{order of `A` and number of right-hand sides; where it was computed.}
#' }
#' `print()` shows it, `plot()` draws the history.
#'
#' @section Failure:
#' `cudafactor_error_not_symmetric`. `cudafactor_error_indefinite` (fields `argument`, `"A"` or `"M"`; `column`, `iteration`; `cosine`): the iteration met a vector \eqn{v} with \eqn{v^T A v \le 0}{v'Av <= 0}, or the same of \eqn{M^{-1}}{M^-1}.
#' The cosine of the angle between the vector and its product is about -1 where it is an eigenvector of a negative eigenvalue, and tiny where the matrix is singular to the precision; conjugate gradients need not come across such a vector, and factorizations do. Also, with
#' `method = "direct"`, of a sparse matrix whose complete factorization fails, then without these numbers. `cudafactor_error_not_positive_definite` (field `order`): an entry of the diagonal of `A` is not positive, where `"ic0"`, `"jacobi"` or a complete factor is made of it, or a dense factorization fails. With `"amg"`, `"none"` and
#' what is given as `M` such a matrix is found by the iteration. Systems whose matrix is singular, such as the Laplacian of a graph, and which have a solution nevertheless, since `b` is in the range of `A`, may be solved by `method = "cg"`; whether a factorization of such a matrix fails is up to rounding.
#' `cudafactor_error_non_finite`: NA or an infinite number in an operand, or one that comes up in the iteration, or inner products there that vanish because entries of `A` or `M` are too small, or too large.
#' So is a solution beyond the range of numbers (field `argument`: `"solution"`).
#' `cudafactor_error_dimension`, `cudafactor_error_argument` and `cudafactor_error_type`: operands that do not go together or are none. Errors of the user's functions are what they are.
#'
#' The warning `cudafactor_warning_not_converged` (fields `columns`, `relative_residual`) comes where right-hand sides have not converged. Then `x` has the last iterate, whose error, in the norm of `A`, is the least of all.
#'
#' @section Device:
#' Dense matrices are computed with where they are, or on the device that `device` chooses, `"auto"` by the work of a Cholesky factorization. Sparse matrices are on a GPU, from upload to solution, where `M` is not given or is
#' `"amg"`, `"jacobi"` or `"none"`, and `device` names a GPU or is `"auto"`, there is one, and `A` has 50,000 rows or more. Other preconditioners of sparse matrices, `method = "direct"` and functions are on the CPU, whatever `device` says: the incomplete factor of a grid of 1000 x 1000 points in natural order has 1999 levels that depend on each other, in
#' each of two solves of each of 850 iterations. Beside a factor that is a `gpu_matrix` blocks of vectors go to the device and back. A `gpu_matrix` in single precision
#' allows for residuals of some 1e-6.
#'
#' @param A A symmetric positive definite matrix, or a function that multiplies by it: see below.
#' @param b Right-hand sides: a vector, or a matrix with a column for each; a [gpu_matrix], a data frame, or a matrix of package Matrix or slam, too.
#' @param M The preconditioner: see below.
#' @param x0 Where to start: numbers of the extents of `b`, in any form that `b` may have, or what `pcg()` gave before; `NULL` for zero. A right-hand side beside which its start is too large for the range of numbers begins from zero.
#' @param tol The relative residual that is wanted. `NULL` for 1e-8, and for 1e-5 where `A` or `M` is a `gpu_matrix` in single precision.
#' @param maxit The most iterations. `NULL` for ten times the order of `A`, and not less than 100 or more than 10000.
#' @param method `"cg"`, `"direct"`, or `"auto"`, which chooses: see below.
#' @inheritParams gpu_matmult
#' @references Hestenes, M. R. and Stiefel, E. (1952) Methods of conjugate gradients for solving linear systems. *Journal of Research of the National Bureau of Standards* **49**, 409-436.
#'
#' Notay, Y. (2010) An aggregation-based algebraic multigrid method. *Electronic Transactions on Numerical Analysis* **37**, 123-146.
#'
#' Meijerink, J. A. and van der Vorst, H. A. (1977) An iterative solution method for linear systems of which the coefficient matrix is a symmetric M-matrix. *Mathematics of Computation* **31**, 148-162.
#' @seealso [ichol()], [chol_solve()], [gpu_solve()]
#' @examples
#' # Poisson's equation on a grid of 30 x 30 points
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   diagonals <- list(rep(2, 30), rep(-1, 29))
#'   line <- Matrix::bandSparse(30, k = 0:1, diagonals = diagonals, symmetric = TRUE)
#'   one <- Matrix::Diagonal(30)
#'   a <- Matrix::kronecker(line, one) + Matrix::kronecker(one, line)
#'   b <- rep(1, 900)
#'   f <- pcg(a, b, M = "ic0")
#'   print(f)
#'   plot(f)
#'   print(pcg(a, b)) # small enough for the complete factor
#' }
#'
#' # A covariance that has changed by a little, and the factor from before
#' points <- seq(0, 1, length.out = 200)
#' covariance <- function(range) exp(-abs(outer(points, points, "-")) / range) + diag(0.01, 200)
#' before <- chol(covariance(0.2))
#' now <- covariance(0.22)
#' y <- sin(6 * points)
#' pcg(now, y, M = before)$iterations
#' pcg(now, y, M = "none")$iterations
#'
#' # The matrix as a function: the Laplacian of a circle of points, and a multiple of the identity
#' circle <- function(x) 2.1 * x - x[c(2:50, 1), , drop = FALSE] - x[c(50, 1:49), , drop = FALSE]
#' pcg(circle, diag(50)[, 1:3])
#' @order 1
#' @export
pcg <- function(A, b, M = c("ic0", "jacobi", "none", "amg"), x0 = NULL, tol = NULL, maxit = NULL, method = c("auto", "cg", "direct"),
                device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(A) || missing(b)) {
    abort_missing(if (missing(A)) "A" else "b", call)
  }
  if (!is.null(tol)) {
    tol <- as_number(tol, "tol", call)
    if (!(tol >= 0)) {
      abort_argument("tol", "'tol' must not be negative", call)
    }
  }
  method <- as_pcg_choice(if (missing(method)) "auto" else method, c("auto", "cg", "direct"), "method", call)
  where <- how(device, "double", call)
  b <- as_pcg_sides(b, call)
  there <- is_resident(b)
  if (there) {
    beside <- b
    b <- as.matrix(b)
  }
  matrix <- as_pcg_matrix(A, NROW(b), where, call)
  if (is_resident(A)) {
    there <- TRUE
    beside <- A
  }
  n <- matrix$n
  if (n == 0L) {
    abort_dimension("'A' is 0-diml", call)
  }
  values <- as_right_side(b, n, call, "A")
  columns <- count_right_sides(values, n)
  preconditioner <- choose_preconditioner(if (missing(M)) NULL else M, method, is.null(x0), matrix, where, call)
  matrix <- beside_factor(matrix, preconditioner, call)
  tol <- tol %||% if (is_single(matrix) || is_single(preconditioner)) 1e-5 else 1e-8
  start <- as_pcg_start(x0, n, columns, call)
  maxit <- as_pcg_maxit(maxit, n, call)
  out <- .External(alloc_matrix, n, columns)
  continuation <- .External(new_continuation)
  run <- function(matrix) {
    native_pcg(native_operand(matrix, continuation, call), native_operand(preconditioner, continuation, call), values, c(n, columns), start, c(tol, maxit), out,
      where)
  }
  reply <- run(matrix)
  if (identical(reply$err$kind, "not_symmetric")) {
    reply <- run(symmetric_part(matrix, call))
  }
  if (identical(reply$err$kind, "jumped")) {
    .External(resume_jump, continuation)
  }
  found <- unwrap(reply, call, "pcg")
  names <- matrix$dimnames
  if (is.matrix(b)) {
    x <- if (there) upload_beside(out, dim(out), NULL, beside, call) else out
    dimnames(x) <- solution_dimnames(names, b)
  } else {
    dim(out) <- NULL
    names(out) <- names[[2L]]
    x <- out
  }
  pcg_result(found, x, if (is.matrix(b)) dimnames(b)[[2L]], preconditioner, c(n, columns), tol, maxit, call)
}

# Whether an operand has blocks iterated on in single precision.
is_single <- function(x) x$kind == "resident" && x$x@precision == "single"

pcg_result <- function(found, x, names, preconditioner, dim, tol, maxit, call) {
  named <- function(x) if (is.null(names)) x else stats::setNames(x, names)
  longest <- max(lengths(found$history))
  history <- vapply(found$history, function(h) c(h, rep(NA_real_, longest - length(h))), numeric(longest))
  dim(history) <- c(longest, dim[[2L]])
  dimnames(history) <- if (!is.null(names)) list(NULL, names)
  # A preconditioner that was given is what it is; one that was to be made may be another.
  made <- nzchar(found$preconditioner)
  kind <- if (made) found$preconditioner else preconditioner$name
  result <- structure(class = "pcg", list(
    x = x,
    iterations = named(found$iterations),
    residuals = history,
    relative_residual = named(found$residuals),
    converged = named(found$ends == "converged"),
    end = named(found$ends),
    tolerance = tol,
    maxit = maxit,
    # "ic0" that is the factor, as of a dense matrix, is a preconditioner that was asked for.
    method = if (kind == "cholesky" && preconditioner$kind != "ic0") "direct" else "cg",
    auto = preconditioner$auto,
    preconditioner = kind,
    shift = found$shift,
    dim = dim,
    device = found$device
  ))
  if (!all(result$converged)) {
    left <- which(!result$converged)
    worst <- left[[which.max(result$relative_residual[left])]]
    warn("not_converged", sprintf(
      "%s not converged: the relative residual is %.1e, above 'tol', %s", left_text(left, dim[[2L]]), result$relative_residual[[worst]],
      switch(result$end[[worst]],
        stagnated = "and rounding allows for no smaller one",
        sprintf(ngettext(result$iterations[[worst]], "after %d iteration", "after %d iterations"), result$iterations[[worst]])
      )
    ), call, columns = unname(left), relative_residual = unname(result$relative_residual[left]))
  }
  result
}

# Which right-hand sides have not.
left_text <- function(left, columns) {
  if (columns == 1L) {
    return("the iteration has")
  }
  shown <- paste(utils::head(left, 5L), collapse = ", ")
  sprintf(ngettext(length(left), "right-hand side %s has", "right-hand sides %s have"), if (length(left) > 5L) paste0(shown, ", ...") else shown)
}
