# Methods for the results of lp_ipm().

#' @rdname lp_ipm
#' @param x,object A result of `lp_ipm()`.
#' @param ... For `plot()`, arguments of [graphics::matplot()]. For `head()` and `tail()`, arguments
#'   of the methods for vectors. Otherwise ignored.
#' @export
print.lp_ipm <- function(x, ...) {
  cat(sprintf("Linear program, %s: %s\n", lp_size(x), x$message))
  if (is.finite(x$optimum)) {
    r <- x$residuals
    cat(sprintf("objective %.10g, %d iterations on %s\n", x$optimum, x$iterations, x$device))
    cat(sprintf(
      "relative residuals %.1e (primal), %.1e (dual), gap %.1e\n", r[[1L]], r[[2L]], r[[3L]]
    ))
  } else {
    cat(sprintf("%d iterations on %s\n", x$iterations, x$device))
  }
  invisible(x)
}

lp_size <- function(x) {
  sense <- if (x$maximum) "maximized" else "minimized"
  sprintf("%s, %.0f x %.0f", sense, x$dim[[1L]], x$dim[[2L]])
}

#' @rdname lp_ipm
#' @export
coef.lp_ipm <- function(object, ...) object$solution

#' @export
head.lp_ipm <- function(x, ...) utils::head(x$solution, ...)

#' @export
tail.lp_ipm <- function(x, ...) utils::tail(x$solution, ...)

#' @export
format.lp_ipm <- function(x, ...) {
  value <- if (is.finite(x$optimum)) sprintf(", objective %.10g", x$optimum) else ""
  sprintf("<lp_ipm: %s, %s%s>", lp_size(x), sub(":.*", "", x$message), value)
}

#' @rdname lp_ipm
#' @export
summary.lp_ipm <- function(object, ...) {
  structure(class = "summary.lp_ipm", list(result = object))
}

#' @export
print.summary.lp_ipm <- function(x, ...) {
  r <- x$result
  print(r)
  if (r$dependent_rows > 0L) {
    cat(sprintf("%d redundant equations were left out\n", r$dependent_rows))
  }
  if (r$dependent_columns > 0L) {
    cat(sprintf("%d redundant free variables are 0\n", r$dependent_columns))
  }
  if (nrow(r$log)) {
    cat("\n")
    shown <- r$log[c(
      "iteration", "primal_objective", "dual_objective", "primal", "dual", "gap", "primal_step",
      "dual_step"
    )]
    shown[4:8] <- lapply(shown[4:8], signif, 2L)
    print(shown, row.names = FALSE, digits = 8L)
  }
  if (!is.null(r$at_bounds)) {
    cat(sprintf("\nrows at a bound: %d of %.0f; variables at a bound: %d of %.0f\n",
      r$at_bounds[["rows"]], r$dim[[1L]], r$at_bounds[["variables"]], r$dim[[2L]]))
  }
  invisible(x)
}

#' @rdname lp_ipm
#' @export
plot.lp_ipm <- function(x, ...) {
  if (nrow(x$log) < 1L) {
    abort_argument("x", "'x' must have iterations to plot, but the problem took none", sys.call())
  }
  values <- pmax(as.matrix(x$log[c("primal", "dual", "gap")]), 1e-17)
  values[!is.finite(values)] <- NA
  settings <- utils::modifyList(
    list(
      x = x$log$iteration, y = values, type = "o", log = "y", pch = 1:3, lty = 1:3,
      col = c(1, 2, 4), xlab = "iteration", ylab = "relative residual", main = "Convergence"
    ), list(...)
  )
  do.call(graphics::matplot, settings)
  graphics::legend("bottomleft", c("primal", "dual", "gap"),
    pch = 1:3, lty = 1:3, col = c(1, 2, 4), bty = "n"
  )
  invisible(x)
}
