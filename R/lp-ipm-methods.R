# Methods for what lp_ipm() gives.

#' @rdname lp_ipm
#' @param x,object What `lp_ipm()` gave.
#' @param ... Ignored by `print()` and `summary()`; further arguments of [graphics::plot()] for `plot()`.
#' @export
print.lp_ipm <- function(x, ...) {
  cat(sprintf(
    "Linear program, %s, %.0f x %.0f: %s\n", if (x$maximum) "maximized" else "minimized", x$dim[[1L]], x$dim[[2L]], x$message
  ))
  if (is.finite(x$optimum)) {
    cat(sprintf("objective %.10g, %d iterations on %s\n", x$optimum, x$iterations, x$device))
    cat(sprintf("relative residuals %.1e (primal), %.1e (dual), gap %.1e\n", x$residuals[[1L]], x$residuals[[2L]], x$residuals[[3L]]))
  } else {
    cat(sprintf("%d iterations on %s\n", x$iterations, x$device))
  }
  invisible(x)
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
    cat(sprintf("%d equations follow from others and were left out\n", r$dependent_rows))
  }
  if (r$dependent_columns > 0L) {
    cat(sprintf("%d free variables follow from others and are 0\n", r$dependent_columns))
  }
  if (nrow(r$log)) {
    cat("\n")
    shown <- r$log[c("iteration", "primal_objective", "dual_objective", "primal", "dual", "gap", "primal_step", "dual_step")]
    shown[4:8] <- lapply(shown[4:8], signif, 2L)
    print(shown, row.names = FALSE, digits = 8L)
  }
  if (!is.null(r$at_bounds)) {
    cat(sprintf("\nrows at a bound: %d of %.0f; variables at a bound: %d of %.0f\n", r$at_bounds[["rows"]], r$dim[[1L]],
      r$at_bounds[["variables"]], r$dim[[2L]]))
  }
  invisible(x)
}

#' @rdname lp_ipm
#' @export
plot.lp_ipm <- function(x, ...) {
  if (nrow(x$log) < 1L) {
    abort_argument("x", "there were no iterations to plot", sys.call())
  }
  values <- pmax(as.matrix(x$log[c("primal", "dual", "gap")]), 1e-17)
  values[!is.finite(values)] <- NA
  settings <- utils::modifyList(
    list(
      x = x$log$iteration, y = values, type = "o", log = "y", pch = 1:3, lty = 1:3, col = c(1, 2, 4), xlab = "iteration",
      ylab = "relative residual", main = "Convergence"
    ), list(...)
  )
  do.call(graphics::matplot, settings)
  graphics::legend("bottomleft", c("primal", "dual", "gap"), pch = 1:3, lty = 1:3, col = c(1, 2, 4), bty = "n")
  invisible(x)
}
