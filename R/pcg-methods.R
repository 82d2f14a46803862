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
  left <- which(!x$converged)
  state <- if (length(left) == 0L) "converged" else if (x$dim[[2L]] == 1L) "not converged" else sprintf("%d not converged", length(left))
  # Those that have converged are of no interest beside others.
  of <- if (length(left)) left else seq_along(x$converged)
  span <- range(x$iterations[of])
  iterations <- if (span[[1L]] == span[[2L]]) counted(span[[1L]], "iteration") else sprintf("%d to %d iterations", span[[1L]], span[[2L]])
  cat(sprintf("%s after %s: relative residual %.1e (tolerance %.1e)\n", state, iterations, max(x$relative_residual[of]), x$tolerance))
  stagnated <- sum(x$end == "stagnated")
  if (stagnated > 0L) {
    cat(if (stagnated < length(left)) sprintf("%d of them ", stagnated), "stagnated: rounding allows for no smaller residual\n", sep = "")
  }
  invisible(x)
}

counted <- function(count, what) sprintf("%.0f %s%s", count, what, if (count == 1) "" else "s")

#' @rdname pcg
#' @export
plot.pcg <- function(x, ...) {
  values <- x$residuals
  # A logarithm has no zero.
  values[values <= 0] <- NA
  last <- nrow(values) - 1L
  # One point is no line.
  settings <- list(
    x = 0:last, y = values, type = if (last > 0L) "l" else "p", pch = 1L, log = "y", lty = 1L, xlim = c(0L, max(last, 1L)), xlab = "iteration", ylab = "relative residual",
    main = "Convergence"
  )
  # Of b = 0 there is nothing but axes.
  if (all(is.na(values))) {
    settings$y[] <- 1
    settings[c("type", "ylim")] <- list("n", c(if (x$tolerance > 0 && x$tolerance < 1) x$tolerance else 1e-8, 1))
  }
  settings <- utils::modifyList(settings, list(...))
  # No ticks between iterations.
  own_axis <- !isFALSE(settings$axes) && !isTRUE(settings$add) && is.null(settings$xaxt)
  if (own_axis) {
    settings$xaxt <- "n"
  }
  do.call(graphics::matplot, settings)
  if (own_axis) {
    at <- graphics::axTicks(1L)
    at <- at[at == round(at)]
    if (length(at)) graphics::axis(1L, at = at)
  }
  if (x$tolerance > 0) {
    graphics::abline(h = x$tolerance, lty = 3L)
  }
  invisible(x)
}
