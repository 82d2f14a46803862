# Methods for what pcg() gives.

#' @rdname pcg
#' @param x What `pcg()` gave.
#' @param ... Ignored by `print()`; further arguments of [graphics::matplot()] for `plot()`.
#' @export
print.pcg <- function(x, ...) {
  chosen <- if (x$auto) ", chosen by method = \"auto\"" else ""
  how <- if (x$method == "direct") {
    "Cholesky factorization"
  } else {
    sprintf("Conjugate gradients, preconditioner \"%s\"", x$preconditioner)
  }
  cat(sprintf("%s%s\n", how, chosen))
  cat(sprintf("%.0f unknowns, %s, on %s\n", x$dim[[1L]], counted(x$dim[[2L]], "right-hand side"), x$device))
  if (x$shift > 0) {
    cat(sprintf("the incomplete factor is of A + %.3g diag(A)\n", x$shift))
  }
  left <- sum(!x$converged)
  state <- if (left == 0L) "converged" else if (x$dim[[2L]] == 1L) "not converged" else sprintf("%d not converged", left)
  span <- range(x$iterations)
  iterations <- if (span[[1L]] == span[[2L]]) counted(span[[1L]], "iteration") else sprintf("%d to %d iterations", span[[1L]], span[[2L]])
  cat(sprintf("%s after %s: relative residual %.1e (tolerance %.1e)\n", state, iterations, max(x$relative_residual), x$tolerance))
  invisible(x)
}

counted <- function(count, what) sprintf("%.0f %s%s", count, what, if (count == 1) "" else "s")

#' @rdname pcg
#' @export
plot.pcg <- function(x, ...) {
  values <- x$residuals
  # A logarithm has no zero.
  values[values <= 0] <- NA
  if (all(is.na(values))) {
    abort_argument("x", "there are no residuals to plot", sys.call())
  }
  # One point is no line.
  settings <- utils::modifyList(list(
    x = seq_len(nrow(values)) - 1L, y = values, type = if (nrow(values) > 1L) "l" else "p", pch = 1L, log = "y", lty = 1L, xlab = "iteration", ylab = "relative residual", main = "Convergence"
  ), list(...))
  do.call(graphics::matplot, settings)
  graphics::abline(h = x$tolerance, lty = 3L)
  invisible(x)
}
