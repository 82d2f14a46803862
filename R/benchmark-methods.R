# How a "gpu_benchmark" prints and plots.

#' @rdname gpu_benchmark
#' @export
print.gpu_benchmark <- function(x, ...) {
  all <- x
  times <- intersect(c("cpu", "base", "gpu"), names(x))
  times <- times[vapply(times, function(who) !all(is.na(x[[who]])), NA)]
  if (length(times)) {
    measured <- rowSums(!is.na(as.data.frame(x)[times])) > 0
    x <- as.data.frame(x)[measured, , drop = FALSE]
  }
  table <- as.data.frame(x)[intersect(c("what", "n", times, "auto"), names(x))]
  for (who in times) {
    table[[who]] <- ifelse(
      is.na(x[[who]]), "",
      format(signif(1e3 * x[[who]], 3), drop0trailing = TRUE, scientific = FALSE)
    )
  }
  names(table)[match(times, names(table))] <- paste0(times, ", ms")
  print(table, row.names = FALSE)
  # Some subsets lose the attributes.
  breakeven <- attr(all, "breakeven")
  if (isTRUE(is.na(attr(all, "gpu")))) {
    cat("No GPU to compare with: see gpu_sitrep().\n")
  } else if (length(breakeven)) {
    from <- ifelse(
      breakeven == 0, "at every measured order",
      ifelse(is.finite(breakeven), paste("from n =", breakeven), "at no measured order")
    )
    cat(
      "The GPU is faster than ", if (all(is.na(all$cpu))) "base R" else "the CPU backend", ":\n",
      sprintf("  %-9s  %s\n", names(breakeven), from), sep = ""
    )
  }
  invisible(all)
}

#' @rdname gpu_benchmark
#' @export
plot.gpu_benchmark <- function(x, ...) {
  times <- intersect(c("cpu", "base", "gpu"), names(x))
  measured <- rowSums(!is.na(as.data.frame(x)[times])) > 0
  if (!any(measured)) {
    abort_argument("x", paste0(
      "'x' must have at least one row", if (nrow(x)) " with a time", ": run gpu_benchmark()"
    ), sys.call())
  }
  verbs <- unique(x$what[measured])
  colours <- c(cpu = "#0072B2", base = "#666666", gpu = "#D55E00")
  names <- c(cpu = "cudafactor on the CPU", base = "base R", gpu = "GPU")
  columns <- Filter(function(who) !all(is.na(x[[who]])), names(colours))
  across <- ceiling(sqrt(length(verbs)))
  old <- graphics::par(mfrow = c(ceiling(length(verbs) / across), across), mar = c(4, 4, 2.5, 1))
  on.exit(graphics::par(old))
  for (verb in verbs) {
    rows <- x[x$what == verb, ]
    times <- 1e3 * as.matrix(as.data.frame(rows)[columns])
    settings <- utils::modifyList(
      list(type = "n", log = "xy", xlab = "n", ylab = "ms", main = verb), list(...)
    )
    do.call(graphics::plot, c(list(range(rows$n), range(times, na.rm = TRUE)), settings))
    for (who in columns) {
      graphics::lines(rows$n, times[, who], type = "b", pch = 19, col = colours[[who]])
    }
    from <- attr(x, "breakeven")[verb]
    if (length(from) == 1L && is.finite(from) && from > 0) {
      graphics::abline(v = from, lty = 2, col = colours[["gpu"]])
    }
    if (verb == verbs[[1L]]) {
      graphics::legend(
        "topleft", names[columns], col = colours[columns], lty = 1, pch = 19, bty = "n"
      )
    }
  }
  invisible(x)
}
