# Methods for the results of pcg().

#' @rdname pcg
#' @param x,object A result of `pcg()`.
#' @param ... For `plot()`, arguments of [graphics::matplot()]. For `head()` and `tail()`, arguments
#'   of the methods for the solution. Otherwise ignored.
#' @export
print.pcg <- function(x, ...) {
  chosen <- if (x$auto) ", chosen by method = \"auto\"" else ""
  how <- if (x$method == "direct") {
    "Cholesky factorization"
  } else {
    sprintf("Conjugate gradients, preconditioner \"%s\"", x$preconditioner)
  }
  cat(sprintf("%s%s\n", how, chosen))
  cat(sprintf("%s, on %s\n", pcg_size(x), x$device))
  if (x$shift > 0) {
    cat(sprintf("the incomplete factor is of A + %.3g diag(A)\n", x$shift))
  }
  cat(sprintf("%s (tolerance %.1e)\n", pcg_outcome(x), x$tolerance))
  stagnated <- sum(x$end == "stagnated")
  if (stagnated > 0L) {
    some <- if (stagnated < sum(!x$converged)) sprintf("%d of them ", stagnated)
    cat(some, "stagnated: rounding allows for no smaller residual\n", sep = "")
  }
  invisible(x)
}

counted <- function(count, what) sprintf("%.0f %s%s", count, what, if (count == 1) "" else "s")

pcg_size <- function(x) {
  sprintf("%.0f unknowns, %s", x$dim[[1L]], counted(x$dim[[2L]], "right-hand side"))
}

# If any right-hand sides have not converged, the text is about those alone.
pcg_outcome <- function(x) {
  left <- which(!x$converged)
  state <- if (length(left) == 0L) {
    "converged"
  } else if (x$dim[[2L]] == 1L) {
    "not converged"
  } else {
    sprintf("%d not converged", length(left))
  }
  of <- if (length(left)) left else seq_along(x$converged)
  span <- range(x$iterations[of])
  iterations <- if (span[[1L]] == span[[2L]]) {
    counted(span[[1L]], "iteration")
  } else {
    sprintf("%d to %d iterations", span[[1L]], span[[2L]])
  }
  residual <- max(x$relative_residual[of])
  sprintf("%s after %s: relative residual %.1e", state, iterations, residual)
}

#' @rdname pcg
#' @importFrom stats coef
#' @export
coef.pcg <- function(object, ...) object$x

#' @importFrom utils head
#' @export
head.pcg <- function(x, ...) utils::head(x$x, ...)

#' @export
tail.pcg <- function(x, ...) utils::tail(x$x, ...)

#' @export
format.pcg <- function(x, ...) sprintf("<pcg: %s, %s>", pcg_size(x), pcg_outcome(x))

#' @rdname pcg
#' @export
summary.pcg <- function(object, ...) {
  sides <- data.frame(
    iterations = object$iterations, relative_residual = object$relative_residual, end = object$end,
    row.names = names(object$iterations)
  )
  structure(class = "summary.pcg", list(result = object, sides = sides))
}

#' @export
print.summary.pcg <- function(x, ...) {
  print(x$result)
  cat("\n")
  print(utils::head(x$sides, 20L), digits = 3L)
  if (nrow(x$sides) > 20L) {
    cat(sprintf("and %s more\n", counted(nrow(x$sides) - 20L, "right-hand side")))
  }
  invisible(x)
}

#' @rdname pcg
#' @export
plot.pcg <- function(x, ...) {
  values <- x$residuals
  # A logarithmic axis has no zero.
  values[values <= 0] <- NA
  last <- nrow(values) - 1L
  # A single point needs a mark, since it is not a line.
  settings <- list(
    x = 0:last, y = values, type = if (last > 0L) "l" else "p", pch = 1L, log = "y", lty = 1L,
    xlim = c(0L, max(last, 1L)), xlab = "iteration", ylab = "relative residual",
    main = "Convergence"
  )
  # For b = 0 there are only axes to draw.
  if (all(is.na(values))) {
    settings$y[] <- 1
    least <- if (x$tolerance > 0 && x$tolerance < 1) x$tolerance else 1e-8
    settings[c("type", "ylim")] <- list("n", c(least, 1))
  }
  settings <- utils::modifyList(settings, list(...))
  # The axis gets no ticks between iterations.
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
