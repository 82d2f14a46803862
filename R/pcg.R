# Symmetric positive definite systems by preconditioned conjugate gradients.

#' Symmetric positive definite systems by preconditioned conjugate gradients
#'
#' `pcg()` solves \eqn{A X = B} for a symmetric positive definite matrix \eqn{A} by conjugate
#' gradients with a preconditioner \eqn{M}. All right-hand sides are iterated together. Each ends as
#' soon as \eqn{\|b - A x\| \le tol \|b\|}{||b - A x|| <= tol ||b||}. By default `pcg()`
#' factors a dense `A`. On the CPU it also factors a sparse `A` if that should be faster. On a GPU
#' it iterates with a sparse `A`.
#'
#' The article *Choosing a solver* (`vignettes/articles/solvers.Rmd` in the sources) has details.
#'
#' @section Preconditioners:
#' `M` is one of these:
#' - `"ic0"`: the incomplete Cholesky factor without fill, as by [ichol()]. For a dense
#'   matrix it is the complete factor.
#' - `"amg"`: algebraic multigrid, only for sparse matrices. It suits matrices whose
#'   off-diagonal entries are mostly negative.
#' - `"jacobi"`: the diagonal of `A`. `"none"`: the identity.
#' - A Cholesky factor of a matrix near `A`: a result of [ichol()], `chol()`, `Matrix::Cholesky()`,
#'   [chol_file()] or [chol_gpus()]. A lower triangular matrix is the transposed factor. Other
#'   matrices and pivoted factors are refused, except those of `Matrix::Cholesky()`.
#' - A function that returns \eqn{M^{-1} R}{M^-1 R} for a matrix \eqn{R} of residuals. It must be
#'   linear, symmetric, positive definite, and the same in each iteration.
#'
#' The first value of `M` in the usage is not the default. If `pcg()` iterates and `M` is missing,
#' it uses:
#'
#' | `A` | on the CPU | on a GPU |
#' |:---|:---|:---|
#' | sparse | `"ic0"` | `"amg"` |
#' | dense | `"jacobi"` | `"jacobi"` |
#' | function | `"none"` | |
#'
#' @return A list of class `"pcg"`. `coef()` returns the solution, `plot()` draws the residuals, and
#'   `summary()` lists the right-hand sides.
#' \describe{
#'   \item{`x`}{the solution: a vector if `b` is a vector, else a matrix, with names as by
#'     [solve()]. If `b` is a matrix and `A` or `b` a [gpu_matrix], so is `x`.}
#'   \item{`iterations`, `relative_residual`, `converged`}{one value for each right-hand side.}
#'   \item{`end`}{`"converged"`, `"iterations"` (`maxit` reached) or `"stagnated"` (rounding allows
#'     no smaller residual).}
#'   \item{`residuals`}{relative residuals, one row for each iteration, beginning with the start,
#'     and one column for each right-hand side. NA follows the end.}
#' }
#' The article describes the elements `tolerance`, `maxit`, `method`, `auto`, `preconditioner`,
#' `shift`, `dim` and `device`.
#'
#' @section Errors:
#' - `cudafactor_error_not_symmetric`: `A` is not symmetric up to rounding.
#' - `cudafactor_error_not_positive_definite`: a diagonal entry of `A` is not positive, or a dense
#'   factorization failed.
#' - `cudafactor_error_indefinite`: the iteration or a sparse factorization found that `A` or `M`
#'   is not positive definite.
#' - `cudafactor_error_non_finite`: NA or Inf in an operand, in the iteration or in the solution.
#'
#' [cudafactor_conditions] has other classes and all fields. Errors inside your functions are passed
#' on unchanged. The warning `cudafactor_warning_not_converged` says that `x` is the last iterate.
#'
#' @section Device: A dense `gpu_matrix` is processed on its device; `device` chooses
#' for an ordinary matrix. Sparse matrices use a GPU if `pcg()` iterates and `M` is missing,
#' `"amg"`, `"jacobi"` or `"none"`. With `device = "auto"` they need 50,000 rows or more. Otherwise,
#' and for functions, products with `A` run on the CPU. A dense factor `M` may then use a GPU.
#'
#' @param A A symmetric positive definite \eqn{n \times n}{n x n} matrix: plain, a [gpu_matrix], or
#'   sparse (package Matrix or slam). Or a function that returns the product of `A` with a matrix,
#'   in the same dimensions.
#' @param b Right-hand sides: a vector of length \eqn{n} or a matrix with \eqn{n} rows. Also a
#'   [gpu_matrix], a data frame, or a matrix of package Matrix or slam.
#' @param M The preconditioner, see the section Preconditioners.
#' @param x0 Initial solution with the dimensions of `b`, or an earlier result of `pcg()`. `NULL`
#'   for zero.
#' @param tol Relative residual to reach, a number. The default is 1e-8, and 1e-5 if `A` or `M` is a
#'   `gpu_matrix` in single precision.
#' @param maxit Maximum number of iterations. The default is \eqn{10 n}, at least 100 and at most
#'   10000.
#' @param method `"cg"` iterates, `"direct"` factors `A` completely and refines the solution.
#'   `"auto"` (the default) chooses, and iterates if `M` or `x0` is given or `A` is a function.
#' @param device `"auto"` (the default), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"` (the
#'   second, and so on). See [cudafactor-options].
#' @seealso [ichol()], [chol_solve()], [gpu_solve()]
#' @examples
#' # A sparse matrix
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   bands <- list(rep(4.1, 900), rep(-1, 899), rep(-1, 870))
#'   a <- Matrix::bandSparse(900, k = c(0, 1, 30), diagonals = bands, symmetric = TRUE)
#'   f <- pcg(a, rep(1, 900), M = "ic0")
#'   print(f)
#'   head(coef(f))
#' }
#'
#' # The factor of a similar matrix as preconditioner
#' distance <- abs(outer(1:200, 1:200, "-")) / 200
#' before <- chol(exp(-distance / 0.2) + diag(0.01, 200))
#' pcg(exp(-distance / 0.22) + diag(0.01, 200), rep(1, 200), M = before)$iterations
#' @order 1
#' @export
pcg <- function(A, b, M = c("ic0", "jacobi", "none", "amg"), x0 = NULL, tol = NULL, maxit = NULL,
                method = c("auto", "cg", "direct"),
                device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(A) || missing(b)) {
    abort_missing(if (missing(A)) "A" else "b", call)
  }
  if (!is.null(tol)) {
    tol <- as_number(tol, "tol", call)
    if (!(tol >= 0)) {
      abort_argument("tol", sprintf("'tol' must not be negative, but is %g", tol), call)
    }
  }
  if (missing(method)) {
    method <- "auto"
  }
  method <- as_pcg_choice(method, c("auto", "cg", "direct"), "method", call)
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
  if (missing(M)) {
    M <- NULL
  }
  preconditioner <- choose_preconditioner(M, method, is.null(x0), matrix, where, call)
  matrix <- beside_factor(matrix, preconditioner, call)
  tol <- tol %||% if (is_single(matrix) || is_single(preconditioner)) 1e-5 else 1e-8
  start <- as_pcg_start(x0, n, columns, call)
  maxit <- as_pcg_maxit(maxit, n, call)
  out <- .External(alloc_matrix, n, columns)
  continuation <- .External(new_continuation)
  run <- function(matrix) {
    native_pcg(
      native_operand(matrix, continuation, call),
      native_operand(preconditioner, continuation, call),
      values, c(n, columns), start, c(tol, maxit), out, where
    )
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
  sides <- if (is.matrix(b)) dimnames(b)[[2L]]
  pcg_result(found, x, sides, preconditioner, c(n, columns), tol, maxit, call)
}

# Whether an operand makes the iteration compute in single precision.
is_single <- function(x) x$kind == "resident" && x$x@precision == "single"

pcg_result <- function(found, x, names, preconditioner, dim, tol, maxit, call) {
  named <- function(x) if (is.null(names)) x else stats::setNames(x, names)
  longest <- max(lengths(found$history))
  padded <- function(h) c(h, rep(NA_real_, longest - length(h)))
  history <- vapply(found$history, padded, numeric(longest))
  dim(history) <- c(longest, dim[[2L]])
  dimnames(history) <- if (!is.null(names)) list(NULL, names)
  # The native routine names a preconditioner that it built. It may differ from the one asked for.
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
    # For a dense matrix "ic0" is the complete factor, but was asked for as a preconditioner.
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
    text <- sprintf(
      "%s not converged after %s: the relative residual %.1e is above 'tol' = %.1e; %s",
      left_text(left, dim[[2L]]), counted(result$iterations[[worst]], "iteration"),
      result$relative_residual[[worst]], tol,
      switch(result$end[[worst]],
        stagnated = "rounding allows no smaller residual, so use a larger 'tol'",
        "use a larger 'maxit' or another preconditioner 'M'"
      )
    )
    warn("not_converged", text, call,
      columns = unname(left), relative_residual = unname(result$relative_residual[left])
    )
  }
  result
}

# The subject of the warning: the right-hand sides `left` have not converged.
left_text <- function(left, columns) {
  if (columns == 1L) {
    return("the iteration has")
  }
  shown <- paste(utils::head(left, 5L), collapse = ", ")
  if (length(left) > 5L) {
    shown <- paste0(shown, ", ...")
  }
  sprintf(ngettext(length(left), "right-hand side %s has", "right-hand sides %s have"), shown)
}
