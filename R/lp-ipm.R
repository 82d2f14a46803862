# Linear programs by an interior-point method.

#' Linear programs by an interior-point method
#'
#' `lp_ipm()` minimizes or maximizes \eqn{c^T x}{c'x}. Each row of \eqn{A x} is bounded by its
#' right-hand side, and each variable by its bounds. The arguments are those of
#' `Rglpk::Rglpk_solve_LP()` and a few more. There are no `types`: all variables are continuous. The
#' method is primal-dual. Each iteration forms \eqn{A D^2 A^T}{A D^2 A'} with a diagonal matrix
#' \eqn{D}, factors it by Cholesky's method, and solves a few systems (Mehrotra 1992).
#'
#' The solution is *in the interior* of the set of optimal solutions, not a vertex. If the optimum
#' is not unique, variables need not be at bounds where a simplex method would put them. Values are
#' accurate to about `tol`.
#'
#' The article *Linear programs: methods and tolerances*
#' (`vignettes/articles/linear-program-solver.Rmd` in the sources) has details.
#'
#' @section Duals: `dual` has, for each row, the rate at which the optimum changes as its right-hand
#' side grows. `solution_dual` has, for each variable, the reduced cost \eqn{c - A^T y}{c - A'y}:
#' the rate at which the optimum changes as the active bound grows. When minimizing, the dual of a
#' row `>=` is at least 0, and that of a row `<=` at most 0. When maximizing, the signs are
#' reversed.
#'
#' @return A list of class `"lp_ipm"`. `print()`, `summary()` and `plot()` (the convergence) show
#'   it, and `coef()` returns `solution`.
#' \describe{
#'   \item{`optimum`, `dual_optimum`}{objectives, `constant` included. The optimum is NA for an
#'     infeasible problem, infinite for an unbounded one.}
#'   \item{`solution`, `solution_dual`}{variables and reduced costs, with the column names of
#'     `mat`.}
#'   \item{`status`, `message`}{0 optimal, 1 infeasible, 2 unbounded, 3 iteration limit, 4 time
#'     limit, 5 interrupt, 6 no further progress. `message` says it in words. With 3 to 6 the list
#'     has the best point found.}
#'   \item{`auxiliary`}{`primal`, the values \eqn{A x} of the rows, and `dual`, their duals.}
#'   \item{`dual`, `slack`}{duals of the rows, and `rhs - A x`.}
#'   \item{`residuals`}{relative residuals `primal` and `dual`, and the relative `gap` of the
#'     objectives.}
#'   \item{`iterations`, `log`, `seconds`}{number, data frame with a row for each iterate, times.}
#'   \item{`certificate`}{proof that an infeasible problem has no solution (`rows`: multipliers of
#'     rows) or an unbounded one no optimum (`ray`, and a feasible `point`). Else `NULL`.}
#' }
#' The article describes the elements `dependent_rows`, `dependent_columns`, `at_bounds`, `maximum`,
#' `dim` and `device`.
#'
#' @section Errors:
#' - `cudafactor_error_dimension`: dimensions that do not conform, or an empty objective.
#' - `cudafactor_error_non_finite` (field `argument`): NA or an infinite coefficient.
#' - `cudafactor_error_argument`: an unknown direction, bounds or a range that leave no value, an
#'   unknown part of `control`, or numbers of too different magnitudes.
#' - `cudafactor_error_type`: an operand that is not numeric.
#'
#' Status 3 to 6 gives the warning `cudafactor_warning_not_optimal`.
#'
#' @section Control: `control` is a list of `tol` (1e-8; 1e-4 for a [gpu_matrix] in single
#' precision), `max_iter` (100), `time_limit` (`Inf`, in seconds, checked between iterations) and
#' `verbose` (`FALSE`; `TRUE` prints the log at the end). The article lists Rglpk's parts.
#'
#' @param obj Coefficients \eqn{c} of the objective, a numeric vector of length \eqn{n}.
#' @param mat Constraints \eqn{A}, \eqn{m \times n}{m x n}: a matrix, a [gpu_matrix], a matrix of
#'   package Matrix, or a `simple_triplet_matrix` of package slam. `NULL` for none.
#' @param dir Character vector of length \eqn{m}: `"<"`, `"<="`, `">"`, `">="`, `"=="` or `"="`.
#' @param rhs Right-hand sides, a numeric vector of length \eqn{m}. Magnitudes of 1e20 or more are
#'   infinite, here and in `bounds`.
#' @param bounds Bounds of variables, `list(lower = , upper = )`. Each part is one number, \eqn{n}
#'   numbers, or `list(ind = , val = )` for the variables `ind`. The default is 0 and `Inf`.
#' @param max `TRUE` maximizes, `FALSE` (the default) minimizes.
#' @param range Second bounds of rows, \eqn{m} numbers, NA for none. As in MPS files, a
#'   row `<=` is then between `rhs - abs(range)` and `rhs`, a row `>=` between `rhs` and
#'   `rhs + abs(range)`, and a row `==` between `rhs` and `rhs + range`.
#' @param constant Number that is added to the objective. The default is 0.
#' @param control A list, see the section Control.
#' @param device `"auto"` (the default), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"` (the
#'   second, and so on). See [cudafactor-options].
#' @param precision `"double"` (the default), or `"single"` to factor a dense problem in single
#'   precision, with refinement to the same accuracy. A [gpu_matrix] keeps its own precision.
#' @references Mehrotra, S. (1992) On the implementation of a primal-dual interior point method.
#' *SIAM Journal on Optimization* **2**, 575-601.
#' @seealso [lp_read_mps()]
#' @examples
#' # Three products that share the hours of three machines
#' hours <- matrix(c(3, 2, 1, 4, 1, 3, 2, 2, 2), 3)
#' plan <- lp_ipm(c(2, 4, 3), hours, rep("<=", 3), c(60, 40, 80), max = TRUE)
#' plan
#' plan$dual # the value of another hour of each machine
#'
#' # Contradictory rows
#' lp_ipm(1, rbind(1, 1), c("<=", ">="), c(2, 3))$message
#' @export
lp_ipm <- function(obj, mat, dir, rhs, bounds = NULL, max = FALSE, range = NULL, constant = 0,
                   control = list(), device = getOption("cudafactor.device", "auto"),
                   precision = "double") {
  call <- sys.call()
  absent <- c(obj = missing(obj), mat = missing(mat), dir = missing(dir), rhs = missing(rhs))
  if (any(absent)) {
    abort_missing(names(absent)[absent][[1L]], call)
  }
  obj <- as_lp_objective(obj, call)
  n <- length(obj)
  if (n == 0L) {
    abort_dimension("'obj' must have at least one coefficient, but is empty", call)
  }
  mat <- as_lp_matrix(mat, n, call)
  if (mat$dim[[2L]] != n) {
    abort_dimension(sprintf(
      "'mat' must have a column for each of the %.0f coefficients in 'obj', not %.0f columns",
      n, mat$dim[[2L]]
    ), call)
  }
  rows <- lp_rows(dir, rhs, range, mat$dim[[1L]], call)
  columns <- lp_bounds(bounds, n, call)
  max <- as_flag(max)
  if (is.na(max)) {
    abort_argument("max", "'max' must be TRUE or FALSE", call)
  }
  constant <- as_number(constant, "constant", call)
  if (!is.finite(constant)) {
    abort_non_finite("constant", call)
  }
  kept <- if (mat$kind == "resident") mat$x@precision else "double"
  control <- lp_control(control, kept, call)
  where <- how(device, precision, call)
  limits <- c(control$tol, control$max_iter, control$time_limit, if (max) -constant else constant)
  parts <- list(if (max) -obj else obj, rows$lower, rows$upper, columns$lower, columns$upper)
  found <- unwrap(lp_native(mat, parts, limits, where, call), call, "lp")
  lp_result(found, mat, rows, columns, max, constant, control, call)
}

# The native routine for this kind of matrix.
lp_native <- function(mat, parts, limits, where, call) {
  switch(mat$kind,
    resident = native_resident_lp(mat$x@pointer, parts, limits, how_there(call)),
    sparse = native_lp_sparse(
      mat$starts, mat$rows, mat$values, mat$dim, parts, limits, where
    ),
    native_lp(mat$x, mat$dim, parts, limits, where)
  )
}

lp_statuses <- c(
  optimal = "optimal",
  infeasible = "infeasible: a combination of rows has no value within the bounds, see $certificate",
  unbounded = "unbounded: the objective improves without limit along a ray, see $certificate",
  iteration_limit = "not optimal: stopped at the iteration limit",
  time_limit = "not optimal: stopped at the time limit",
  interrupted = "not optimal: interrupted",
  stalled = "not optimal: no further progress within the precision"
)

lp_result <- function(found, mat, rows, columns, max, constant, control, call) {
  code <- match(found$status, names(lp_statuses)) - 1L
  sign <- if (max) -1 else 1
  column_names <- mat$dimnames[[2L]]
  row_names <- mat$dimnames[[1L]]
  named <- function(x, names) {
    # The native routine writes NaN where a value does not exist.
    x[is.nan(x)] <- NA_real_
    if (is.null(names)) x else stats::setNames(x, names)
  }
  activity <- named(found$activity, row_names)
  dual <- named(sign * found$y, row_names)
  solved <- code == 0L || code > 2L
  optimum <- if (solved) {
    sign * found$measures[[1L]] + constant
  } else if (code == 1L) {
    NA_real_
  } else {
    -sign * Inf
  }
  result <- structure(class = "lp_ipm", list(
    optimum = optimum,
    solution = named(found$x, column_names),
    status = code,
    solution_dual = named(sign * found$reduced, column_names),
    auxiliary = list(primal = activity, dual = dual),
    dual = dual,
    slack = rows$rhs - activity,
    message = lp_statuses[[found$status]],
    residuals = stats::setNames(found$measures[3:5], c("primal", "dual", "gap")),
    dual_optimum = if (solved) sign * found$measures[[2L]] + constant else NA_real_,
    iterations = max(length(found$log) %/% 12L - 1L, 0L),
    log = lp_log(found$log, sign, constant),
    seconds = stats::setNames(found$seconds, c("iterating", "forming", "factoring")),
    certificate = switch(found$kind,
      rows = list(rows = named(found$proof, row_names)),
      ray = list(
        ray = named(found$proof, column_names), point = named(found$point, column_names)
      )
    ),
    dependent_rows = as.integer(found$dropped),
    dependent_columns = as.integer(found$dropped_columns),
    at_bounds = if (code == 0L) {
      c(rows = at_bounds(found$activity, rows), variables = at_bounds(found$x, columns))
    },
    maximum = max,
    dim = mat$dim,
    device = gpu_last_device()
  ))
  if (isTRUE(control$verbose)) {
    print(result$log, row.names = FALSE, digits = 3L)
  }
  if (found$status == "interrupted" && !is.null(e <- .External(take_raised))) {
    stop(e)
  }
  if (code > 2L) {
    residuals <- result$residuals
    warn("not_optimal", sprintf(
      "%s; relative residuals are %.1e (primal) and %.1e (dual), the gap is %.1e",
      result$message, residuals[["primal"]], residuals[["dual"]], residuals[["gap"]]
    ), call, status = code)
  }
  result
}

# The number of values that are at one of their bounds.
at_bounds <- function(x, bounds) {
  distance <- pmin(abs(x - bounds$lower), abs(x - bounds$upper))
  sum(distance <= 1e-6 * pmax(1, abs(x)))
}

lp_log <- function(values, sign, constant) {
  log <- matrix(values, ncol = 12L, byrow = TRUE, dimnames = list(NULL, c(
    "primal_objective", "dual_objective", "primal", "dual", "gap", "mu", "primal_step", "dual_step",
    "centring", "correctors", "tau", "kappa"
  )))
  log[, 1:2] <- sign * log[, 1:2] + constant
  data.frame(iteration = seq_len(nrow(log)) - 1L, log)
}

abort_non_finite <- function(argument, call) {
  text <- base_text("NA/NaN/Inf in '%s'", argument, domain = "R-stats")
  abort("non_finite", text, call, argument = argument)
}
