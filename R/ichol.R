# Incomplete Cholesky factors of sparse matrices.

#' Incomplete Cholesky factors
#'
#' `ichol(A)` gives a sparse lower triangular \eqn{L} such that \eqn{L L^T}{LL'} approximates a
#' symmetric positive definite matrix \eqn{A}. It is a preconditioner for [pcg()]. Rows are not
#' reordered. `solve()` of it solves systems with \eqn{L L^T}{LL'}.
#'
#' With `droptol = 0` there is no fill: \eqn{L} has entries only where \eqn{A} has some, and
#' \eqn{L L^T}{LL'} equals \eqn{A} there. With a threshold, an entry of column \eqn{j} is dropped
#' if, before the division by the root of the pivot, it is smaller than `droptol` times the sum of
#' \eqn{|A_{ij}|}{|A[i, j]|}, \eqn{i \ge j}{i >= j}. A smaller threshold means more entries, fewer
#' iterations of `pcg()`, and more time for each: see the example.
#'
#' Such factors exist for diagonally dominant matrices and M-matrices, such as graph Laplacians with
#' something added to the diagonal. For other positive definite matrices a pivot may not be
#' positive. Then \eqn{A + \alpha\,diag(A)}{A + alpha diag(A)} is factored, with
#' \eqn{\alpha = 0.001}{alpha = 0.001}, doubled until it works. The number of iterations tells if
#' that is a good preconditioner.
#'
#' @section Errors:
#' * `cudafactor_error_not_symmetric`: `A` is not symmetric.
#' * `cudafactor_error_not_positive_definite` (field `order`): a diagonal entry is not positive, or
#'   no shift helps.
#' * `cudafactor_error_non_finite`, `cudafactor_error_dimension`, `cudafactor_error_type`,
#'   `cudafactor_error_argument`: an argument is invalid, see [cudafactor_conditions].
#'
#' The warning `cudafactor_warning_shifted` (field `shift`) means that a shift was needed.
#'
#' @section Device:
#' The CPU.
#'
#' @param A A symmetric matrix: sparse, of package Matrix or slam, or an ordinary matrix with zeros.
#'   A symmetric class may store either triangle.
#' @param droptol The threshold, a number of 0 or more; 0, the default, means no fill.
#' @return A list of class `"ichol"`: `L`, a `dtCMatrix` of package Matrix; `shift`,
#' \eqn{\alpha}{alpha} or 0; `attempts`, the number of factorizations; `droptol`; `entries`, the
#' number in a triangle of `A`.
#'
#' Functions treat it as the matrix \eqn{L L^T}{LL'}. `solve(a, b)` gives a vector or matrix as
#' [solve()] does, and a `gpu_matrix` if `b` is one. `as.matrix(x)` is \eqn{L L^T}{LL'} as a dense
#' matrix, and `determinant(x)` its determinant. `t(x)` is the same factor; `dim(x)` and
#' `dimnames(x)` are those of `A`. For other functions use `x$L` or `as.matrix(x)`.
#' @references Manteuffel, T. A. (1980) An incomplete factorization technique for positive definite
#' linear systems. *Mathematics of Computation* **34**, 473-497.
#'
#' Munksgaard, N. (1980) Solving sparse symmetric sets of linear equations by preconditioned
#' conjugate gradients. *ACM Transactions on Mathematical Software* **6**, 206-219.
#' @seealso [pcg()]
#' @examples
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   diagonals <- list(rep(2, 30), rep(-1, 29))
#'   line <- Matrix::bandSparse(30, k = 0:1, diagonals = diagonals, symmetric = TRUE)
#'   one <- Matrix::Diagonal(30)
#'   a <- Matrix::kronecker(line, one) + Matrix::kronecker(one, line)
#'   b <- rep(1, 900)
#'   for (droptol in c(0, 0.1, 0.01, 0.001)) {
#'     m <- ichol(a, droptol)
#'     cat(droptol, length(m$L@x), "entries", pcg(a, b, m)$iterations, "iterations\n")
#'   }
#'   print(m)
#' }
#' @export
ichol <- function(A, droptol = 0) {
  call <- sys.call()
  if (missing(A)) {
    abort_missing("A", call)
  }
  droptol <- as_number(droptol, "droptol", call)
  if (!(droptol >= 0 && droptol < Inf)) {
    abort_argument("droptol", "'droptol' must be a finite number, 0 or more", call)
  }
  if (!requireNamespace("Matrix", quietly = TRUE)) {
    abort_type("ichol() needs package Matrix, which is not installed", call)
  }
  matrix <- as_pcg_matrix(
    if (is_resident(A)) as.matrix(A) else A, NULL, how("cpu", "double", call), call,
    "a matrix of numbers"
  )
  if (matrix$kind == "dense") {
    places <- which(matrix$x != 0)
    columns <- (places - 1L) %/% matrix$n + 1L
    matrix <- c(list(
      kind = "sparse", starts = c(0L, cumsum(tabulate(columns, matrix$n))),
      rows = as.integer((places - 1L) %% matrix$n),
      values = matrix$x[places], stored = ""
    ), matrix[c("n", "dim", "dimnames")])
  }
  run <- function(m) native_ichol(m$starts, m$rows, m$values, as.double(m$dim), m$stored, droptol)
  reply <- run(matrix)
  if (identical(reply$err$kind, "not_symmetric")) {
    reply <- run(symmetric_part(matrix, call))
  }
  found <- unwrap(reply, call, "pcg")
  if (found$shift > 0) {
    text <- sprintf("a pivot was not positive: the factor is that of A + %.3g diag(A)", found$shift)
    warn("shifted", text, call, shift = found$shift)
  }
  names <- matrix$dimnames
  stored <- length(matrix$values)
  triangle <- if (nzchar(matrix$stored)) stored else (stored + matrix$n) / 2
  structure(class = "ichol", list(
    L = methods::new("dtCMatrix",
      p = found$starts, i = found$rows, x = found$values, Dim = as.integer(matrix$dim), uplo = "L",
      Dimnames = if (is.null(names)) list(NULL, NULL) else unname(names)
    ),
    shift = found$shift,
    attempts = as.integer(found$failures) + 1L,
    droptol = droptol,
    entries = triangle
  ))
}

#' @rdname ichol
#' @param x,a An object that `ichol()` made.
#' @param b Right-hand sides, as for [pcg()]; without `b`, `solve()` gives the inverse of
#'   \eqn{L L^T}{LL'}, which is dense.
#' @param ... Ignored.
#' @export
print.ichol <- function(x, ...) {
  kind <- if (x$droptol == 0) "without fill" else sprintf("with threshold %g", x$droptol)
  cat(sprintf("Incomplete Cholesky factor %s, of order %d\n", kind, nrow(x$L)))
  entries <- length(x$L@x)
  cat(sprintf(
    "%d %s, %.2f times those of a triangle of the matrix\n", entries,
    if (entries == 1L) "entry" else "entries", entries / max(x$entries, 1)
  ))
  if (x$shift > 0) {
    cat(sprintf(
      "of A + %.3g diag(A), as %s broke down\n", x$shift, counted(x$attempts - 1L, "factorization")
    ))
  }
  invisible(x)
}

#' @rdname ichol
#' @method as.matrix ichol
#' @export
as.matrix.ichol <- function(x, ...) {
  out <- as.matrix(Matrix::tcrossprod(x$L))
  dimnames(out) <- if (!all(vapply(dimnames(x), is.null, NA))) dimnames(x)
  out
}

#' @rdname ichol
#' @param logarithm Whether `determinant()` gives the logarithm.
#' @method determinant ichol
#' @export
determinant.ichol <- function(x, logarithm = TRUE, ...) {
  modulus <- 2 * sum(log(abs(Matrix::diag(x$L))))
  structure(
    class = "det",
    list(
      modulus = structure(if (logarithm) modulus else exp(modulus), logarithm = logarithm),
      sign = 1L
    )
  )
}

#' @rdname ichol
#' @method t ichol
#' @export
t.ichol <- function(x) {
  x$L@Dimnames <- rev(x$L@Dimnames)
  x
}

#' @export
dim.ichol <- function(x) dim(x$L)

#' @export
dimnames.ichol <- function(x) dimnames(x$L)

#' @rdname ichol
#' @method solve ichol
#' @export
solve.ichol <- function(a, b, ...) {
  call <- sys.call()
  n <- nrow(a$L)
  names <- solution_dimnames(dimnames(a), NULL)
  there <- FALSE
  if (missing(b)) {
    b <- diag(n)
  } else {
    b <- as_pcg_sides(b, call)
    there <- is_resident(b)
    if (there) {
      beside <- b
      b <- as.matrix(b)
    }
    names <- solution_dimnames(dimnames(a), b)
  }
  values <- as_right_side(b, n, call)
  columns <- count_right_sides(values, n)
  out <- .External(alloc_matrix, n, columns)
  l <- lower_columns(a$L, call)
  reply <- native_ichol_solve(
    l$starts, l$rows, l$values, c(n, n) + 0, values, c(n, columns) + 0, out,
    how("cpu", "double", call)
  )
  unwrap(reply, call, "pcg")
  if (is.matrix(b)) {
    x <- if (there) upload_beside(out, dim(out), NULL, beside, call) else out
    dimnames(x) <- names
  } else {
    dim(out) <- NULL
    names(out) <- colnames(a$L)
    x <- out
  }
  x
}
