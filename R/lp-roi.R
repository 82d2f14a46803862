# lp_ipm() as a solver of package ROI. It is registered when that optional package is loaded.

#' A solver of package ROI
#'
#' When packages ROI and cudafactor are both loaded, `ROI::ROI_solve(problem, "cudafactor")` solves
#' linear problems by [lp_ipm()]. The order of loading does not matter. `control` has the parts of
#' `lp_ipm()`, and `device` and `precision`. ROI's own `max_time`, in milliseconds, is accepted.
#'
#' `ROI::solution(, "dual")` returns the reduced costs. `ROI::solution(, "aux")` returns values and
#' duals of the rows, as for ROI's other solvers. `ROI::solution(, "msg")` returns the result of
#' `lp_ipm()`.
#'
#' @seealso [lp_ipm()]
#' @examples
#' if (requireNamespace("ROI", quietly = TRUE)) {
#'   problem <- ROI::OP(
#'     ROI::L_objective(c(2, 4, 3)),
#'     ROI::L_constraint(matrix(c(3, 2, 1, 4, 1, 3, 2, 2, 2), 3), rep("<=", 3), c(60, 40, 80)),
#'     maximum = TRUE
#'   )
#'   ROI::ROI_solve(problem, "cudafactor")
#' }
#' @name cudafactor-roi
NULL

set_roi_solver <- function() {
  roi <- function(name) getExportedValue("ROI", name)
  signature <- roi("ROI_plugin_make_signature")(
    objective = "L", constraints = c("X", "L"), types = "C", bounds = c("X", "V"), cones = "X",
    maximum = c(TRUE, FALSE)
  )
  roi("ROI_plugin_register_solver_method")(signature, "cudafactor", solve_roi)
  symbols <- toupper(names(lp_statuses))
  for (k in seq_along(lp_statuses)) {
    roi("ROI_plugin_add_status_code_to_db")(
      "cudafactor", k - 1L, symbols[[k]], lp_statuses[[k]], if (k == 1L) 0L else 1L
    )
  }
  roi("ROI_plugin_register_solver_control")(
    "cudafactor",
    c("tol", "max_iter", "tm_limit", "verbose", "time_limit", "device", "precision"),
    c("tol", "max_iter", "max_time", "verbose", "X", "X", "X")
  )
  register <- function(generic, method) {
    registerS3method(generic, "cudafactor_solution", method, asNamespace("ROI"))
  }
  register("ROI_plugin_solution_dual", function(x) x$message$solution_dual)
  register("ROI_plugin_solution_aux", function(x) x$message$auxiliary)
}

# Solves `problem`, an object of ROI's class OP.
solve_roi <- function(problem, control) {
  roi <- function(name) getExportedValue("ROI", name)
  rows <- roi("constraints")(problem)
  objective <- stats::terms(roi("objective")(problem))[["L"]]
  device <- control$device %||% getOption("cudafactor.device", "auto")
  precision <- control$precision %||% "double"
  control <- control[setdiff(names(control), c("device", "precision"))]
  some <- inherits(rows, "L_constraint")
  bounds <- roi("bounds")(problem)
  solved <- withCallingHandlers(
    lp_ipm(
      objective, if (some) rows$L, if (some) rows$dir else character(),
      if (some) rows$rhs else numeric(), list(lower = bounds$lower, upper = bounds$upper),
      max = isTRUE(roi("maximum")(problem)), control = control, device = device,
      precision = precision
    ),
    # ROI's status code says the same.
    cudafactor_warning_not_optimal = function(w) invokeRestart("muffleWarning")
  )
  roi("ROI_plugin_canonicalize_solution")(
    solution = solved$solution, optimum = solved$optimum, status = solved$status,
    solver = "cudafactor", message = solved
  )
}
