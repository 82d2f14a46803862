# Linear programs by an interior-point method.

#' Linear programs by an interior-point method
#'
#' `lp_ipm()` minimizes or maximizes \eqn{c^T x}{c'x} where rows of \eqn{A x} are below, above or equal to right-hand sides and variables are within bounds. Arguments and the first parts of the
#' value are those of `Rglpk::Rglpk_solve_LP()`, but for `types`: all variables are continuous. The method is a primal-dual one: each of some 10 to 20 iterations forms \eqn{A D^2 A^T}{A D^2 A'}, factors it by Cholesky's method, and
#' solves with the factor a few times. On a GPU the matrix, the factor and all vectors stay there.
#'
#' What it gives is a solution *in the interior* of the set of all optimal ones, not a vertex: where the optimum is not unique, variables that a simplex method would put to a bound need not be there.
#' Values are accurate to about `tol`, not exact. The answer is a vertex only if the iteration leaves a
#' small problem undecided (section Stopping).
#'
#' @section Dense and sparse:
#' Random, dense matrices are what a GPU, or many cores, are for. A sparse matrix, of package Matrix or slam, is kept sparse, and so are the normal equations where they are sparse: these are factored on the CPU, in double precision,
#' whatever `precision` says, unless `device` names a GPU. A plain matrix with few entries that are not zero is taken as a sparse one.
#'
#' @section Signs of duals:
#' Whether minimized or maximized, `auxiliary$dual`, `dual` for short, has for each row the rate at which the optimum changes as its right-hand side grows, and `solution_dual` for each variable the
#' rate at which it changes as the bound grows at which the variable is (its reduced cost \eqn{c - A^T y}{c - A'y}). So minimizing, a row `>=` has a dual of at least 0 and a row `<=` one of at most 0; maximizing, it is the other way. Both
#' are 0, to the tolerance, where nothing is at a bound.
#'
#' @section Value:
#' A list of class `"lp_ipm"`:
#' \describe{
#'   \item{`optimum`}{the objective at `solution`, `constant` included; NA where the problem is infeasible, and infinite where it is unbounded.}
#'   \item{`solution`}{the variables, with the column names of `mat`; NA where there is none.}
#'   \item{`status`}{0 optimal, 1 infeasible, 2 unbounded; 3 the limit of iterations, 4 that of time, 5 an interrupt, 6 no further progress, and then the parts are those of the best point that was met.}
#'   \item{`solution_dual`}{reduced costs, as Rglpk names them.}
#'   \item{`auxiliary`}{`primal`, the rows' values \eqn{A x}, and `dual`, their duals.}
#'   \item{`dual`, `slack`}{the rows' duals again, and their distance from the right-hand side, `rhs - A x`, which may be off 0 to either side by what `tol` allows.}
#'   \item{`message`}{the status in words.}
#'   \item{`residuals`}{relative residuals `primal`, `dual`, and the relative `gap` of the objectives.}
#'   \item{`dual_optimum`, `iterations`}{the dual objective; how many iterations.}
#'   \item{`log`}{a data frame with a row for each point, the first one the start: `iteration`, `primal_objective`, `dual_objective`, the residuals `primal` and `dual`, the `gap`, the mean `mu` of
#'     complementary products, the steps that led there, `primal_step` and `dual_step`, their `centring` and `correctors`, and `tau` and `kappa`, of which the first goes to 0 where there is no optimum.}
#'   \item{`seconds`}{what all iterations took, `iterating`, and of that `forming` the normal equations and `factoring` them.}
#'   \item{`certificate`}{for an infeasible problem multipliers `rows` of the rows: their combination cannot be had within the bounds, by 1. For an unbounded one a `ray` along which the objective
#'     improves by 1 for ever, and a feasible `point` from which it begins. Else `NULL`.}
#'   \item{`dependent_rows`, `dependent_columns`}{how many equations followed from other rows and were left out; how many free variables did, which are 0 then.}
#'   \item{`at_bounds`}{how many `rows` and `variables` are at a bound, to 1e-6; `NULL` unless optimal.}
#'   \item{`maximum`, `dim`, `device`}{whether it was maximized; the extents of `mat`; where it was computed.}
#' }
#' `print()` and `summary()` show it, `plot()` draws how residuals and gap fell.
#'
#' @section Stopping:
#' Optimal means \eqn{\|b - A x\| \le tol (1 + \|b\|)}{||b - A x|| <= tol (1 + ||b||)}, \eqn{\|c - A^T y - z\| \le tol (1 + \|c\|)}{||c - A'y - z|| <= tol (1 + ||c||)} and a difference of the objectives of at most
#' \eqn{tol (1 + |objective|)}{tol (1 + |objective|)}, of the standard form as it was before scaling, with `rhs` as given for \eqn{b}.
#' Tolerances are relative to the problem's own scale. If the largest right-hand side or bound is below 1,
#' it replaces 1 in the first condition. So does the largest of \eqn{|c|} in the second, and the product of
#' both in the third. Besides, each row and each reduced cost by itself must be
#' within `100 * tol` of what is allowed, relative to its own bound or cost and to that scale, or to rounding, and none may be away from its bound and have a dual at once, to `sqrt(tol)`. Where the norms are small enough and this does not follow, the iteration goes on,
#' and ends in status 6, or 3, if it cannot be had: so it may be where numbers differ by ten orders of magnitude.
#'
#' That a problem is infeasible or unbounded is said with a certificate that was held against the problem as given and is exact to rounding: signs are, and what a combination of rows has in
#' variables without a bound is no more than rounding of its terms. Proofs for a `gpu_matrix` in single precision are as coarse as its numbers.
#'
#' Status 2 requires a feasible point as well as a ray. After a ray, a second iteration with an objective
#' of 0 finds such a point, or proves that the problem is infeasible (status 1).
#'
#' A presolve comes before the iteration: empty rows are checked, singleton rows become bounds of their
#' variable, fixed variables become constants. Rows and bounds may contradict each other by `tol / 10` of
#' their size, as rounded data do.
#'
#' A simplex method in twice the working precision decides small problems (`mat` with at most 20,000
#' entries) that the iteration leaves undecided: with status 6, or 3 after at least 100 iterations. It also
#' checks tiny problems (at most 1000 entries) if the solution violates a bound by more than `tol / 10` of
#' its size: these may be infeasible.
#'
#' Bounds of variables a thousand times beyond all right-hand sides, such as -1e8 for none, are left out at first; where the optimum is not within them, the problem is solved again with them, and iterations are those of that.
#'
#' @section Failure:
#' `cudafactor_error_dimension`: extents that do not go together, or an empty objective. `cudafactor_error_non_finite`: NA or an infinite coefficient (field `argument`). `cudafactor_error_argument`: a direction
#' that is none, bounds or a range that leave no value, numbers that differ by more orders of magnitude than can be computed with, a part of `control` that is unknown or given twice. `cudafactor_error_type`: an operand that is no matrix, or no numbers.
#'
#' The warning `cudafactor_warning_not_optimal` (field `status`) comes with status 3 to 6.
#'
#' @section Control:
#' `tol` (1e-8; 1e-4 for a `gpu_matrix` in single precision), `max_iter` (100), `time_limit` (seconds, `Inf`; looked at between iterations), `verbose` (`FALSE`; the log is shown when all is done). Rglpk's `tm_limit` (milliseconds, 0 for none) is known, too; its `presolve` and
#' `canonicalize_status` are disregarded.
#'
#' @param obj Coefficients \eqn{c} of the objective.
#' @param mat Constraints \eqn{A}, a row for each: a matrix, a [gpu_matrix], a matrix of package Matrix, or a `simple_triplet_matrix` of package slam. `NULL` for none.
#' @param dir For each row `"<"`, `"<="`, `">"`, `">="`, `"=="` or `"="`.
#' @param rhs Right-hand sides.
#' @param bounds Of variables: `NULL` for all at least 0; else `list(lower = , upper = )`, each either `list(ind = , val = )`, of the variables named in `ind`, or a number for each variable, or one for all. Those not named have
#'   0 and `Inf`. Magnitudes from 1e20 on are infinite, here and in `rhs`.
#' @param max Maximize?
#' @param range For rows with two bounds, a number for each row, NA for none: with `<=` the row is from `rhs - abs(range)` to `rhs`, with `>=` from `rhs` to `rhs + abs(range)`, with `==` between `rhs` and `rhs + range`,
#'   as in MPS files.
#' @param constant What is added to the objective.
#' @param control See below.
#' @param precision `"double"`, or `"single"`: normal equations of a dense problem are factored in single precision as long as solutions can be refined from that, then in double. The answer is as accurate; it pays
#'   where single precision is faster by far, as on GPUs that are made for graphics. A `gpu_matrix` has a precision of its own; one in single precision gives a coarse answer.
#' @inheritParams gpu_matmult
#' @references Mehrotra, S. (1992) On the implementation of a primal-dual interior point method. *SIAM Journal on Optimization* **2**, 575-601.
#'
#' Xu, X., Hung, P.-F. and Ye, Y. (1996) A simplified homogeneous and self-dual linear programming algorithm and its implementation. *Annals of Operations Research* **62**, 151-171.
#'
#' Gondzio, J. (1996) Multiple centrality corrections in a primal-dual method for linear programming. *Computational Optimization and Applications* **6**, 137-156.
#'
#' Jung, J. H. and O'Leary, D. P. (2008) Implementing an interior point method for linear programs on a CPU-GPU system. *Electronic Transactions on Numerical Analysis* **28**, 174-189.
#' @examples
#' # What to make of three products, with three machines' hours
#' hours <- matrix(c(3, 2, 1, 4, 1, 3, 2, 2, 2), 3)
#' plan <- lp_ipm(c(2, 4, 3), hours, rep("<=", 3), c(60, 40, 80), max = TRUE)
#' plan
#' plan$dual # what another hour of each is worth
#'
#' # Least absolute deviations: residuals in two parts, coefficients free
#' x <- cbind(1, stackloss[, 1:3])
#' n <- nrow(x)
#' p <- ncol(x)
#' fit <- lp_ipm(
#'   c(rep(0, p), rep(1, 2 * n)),
#'   cbind(as.matrix(x), diag(n), -diag(n)), rep("==", n), stackloss$stack.loss,
#'   bounds = list(lower = list(ind = 1:p, val = rep(-Inf, p)))
#' )
#' round(fit$solution[1:p], 4)
#'
#' # Two rows that contradict each other
#' none <- lp_ipm(c(1, 1), rbind(c(1, 2), c(1, 2)), c("<=", ">="), c(2, 3))
#' none$message
#' none$certificate$rows
#' @export
lp_ipm <- function(obj, mat, dir, rhs, bounds = NULL, max = FALSE, range = NULL, constant = 0, control = list(),
                   device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  absent <- c(obj = missing(obj), mat = missing(mat), dir = missing(dir), rhs = missing(rhs))
  if (any(absent)) {
    abort_missing(names(absent)[absent][[1L]], call)
  }
  obj <- as_lp_objective(obj, call)
  n <- length(obj)
  if (n == 0L) {
    abort_dimension("'obj' must have a coefficient for each variable, and at least one", call)
  }
  mat <- as_lp_matrix(mat, n, call)
  if (mat$dim[[2L]] != n) {
    abort_dimension(sprintf("'mat' has %.0f columns, and 'obj' %.0f coefficients", mat$dim[[2L]], n), call)
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
  control <- lp_control(control, if (mat$kind == "resident") mat$x@precision else "double", call)
  where <- how(device, precision, call)
  limits <- c(control$tol, control$max_iter, control$time_limit, if (max) -constant else constant)
  parts <- list(if (max) -obj else obj, rows$lower, rows$upper, columns$lower, columns$upper)
  found <- unwrap(lp_native(mat, parts, limits, where, call), call, "lp")
  lp_result(found, mat, rows, columns, max, constant, control, call)
}

# The native routine for the matrix that there is.
lp_native <- function(mat, parts, limits, where, call) {
  switch(mat$kind,
    resident = native_held_lp(mat$x@pointer, parts, limits, how_there(call)),
    sparse = native_lp_sparse(mat$starts, mat$rows, mat$values, mat$dim, parts, limits, where),
    native_lp(mat$x, mat$dim, parts, limits, where)
  )
}

lp_statuses <- c(
  optimal = "optimal", infeasible = "infeasible: a combination of rows has no value within the bounds, see $certificate",
  unbounded = "unbounded: the objective improves for ever along a ray, see $certificate", iteration_limit = "stopped at the limit of iterations, not optimal",
  time_limit = "stopped at the limit of time, not optimal", interrupted = "interrupted, not optimal",
  stalled = "no further progress within the precision, not optimal"
)

lp_result <- function(found, mat, rows, columns, max, constant, control, call) {
  code <- match(found$status, names(lp_statuses)) - 1L
  sign <- if (max) -1 else 1
  column_names <- mat$dimnames[[2L]]
  row_names <- mat$dimnames[[1L]]
  named <- function(x, names) {
    # What there is none of is missing.
    x[is.nan(x)] <- NA_real_
    if (is.null(names)) x else stats::setNames(x, names)
  }
  activity <- named(found$activity, row_names)
  dual <- named(sign * found$y, row_names)
  solved <- code == 0L || code > 2L
  optimum <- if (solved) sign * found$measures[[1L]] + constant else if (code == 1L) NA_real_ else -sign * Inf
  result <- structure(class = "lp_ipm", list(
    optimum = optimum,
    solution = named(found$x, column_names),
    status = code,
    solution_dual = named(sign * found$reduced, column_names),
    auxiliary = list(primal = activity, dual = dual),
    dual = dual,
    slack = rows$rhs - activity,
    message = lp_statuses[[found$status]],
    residuals = c(primal = found$measures[[3L]], dual = found$measures[[4L]], gap = found$measures[[5L]]),
    dual_optimum = if (solved) sign * found$measures[[2L]] + constant else NA_real_,
    iterations = max(length(found$log) %/% 12L - 1L, 0L),
    log = lp_log(found$log, sign, constant),
    seconds = stats::setNames(found$seconds, c("iterating", "forming", "factoring")),
    certificate = switch(found$kind,
      rows = list(rows = named(found$proof, row_names)),
      ray = list(ray = named(found$proof, column_names), point = named(found$point, column_names))
    ),
    dependent_rows = as.integer(found$dropped),
    dependent_columns = as.integer(found$dropped_columns),
    at_bounds = if (code == 0L) c(rows = at_bounds(found$activity, rows), variables = at_bounds(found$x, columns)),
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
    warn("not_optimal", sprintf(
      "%s: relative residuals %.1e and %.1e, gap %.1e", result$message, result$residuals[[1L]], result$residuals[[2L]],
      result$residuals[[3L]]
    ), call, status = code)
  }
  result
}

# How many of these values are at one of their bounds.
at_bounds <- function(x, bounds) {
  distance <- pmin(abs(x - bounds$lower), abs(x - bounds$upper))
  sum(distance <= 1e-6 * pmax(1, abs(x)))
}

lp_log <- function(values, sign, constant) {
  log <- matrix(values, ncol = 12L, byrow = TRUE, dimnames = list(NULL, c(
    "primal_objective", "dual_objective", "primal", "dual", "gap", "mu", "primal_step", "dual_step", "centring", "correctors",
    "tau", "kappa"
  )))
  log[, 1:2] <- sign * log[, 1:2] + constant
  data.frame(iteration = seq_len(nrow(log)) - 1L, log)
}

abort_non_finite <- function(argument, call) {
  abort("non_finite", base_text("NA/NaN/Inf in '%s'", argument, domain = "R-stats"), call, argument = argument)
}
