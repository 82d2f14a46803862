# Methods for the results of random_walker().

#' @rdname random_walker
#' @order 2
#' @param x,object A result of `random_walker()`.
#' @export
print.random_walker <- function(x, ...) {
  cat(sprintf("Segmentation of %s by random walks, beta = %g\n", walker_size(x), x$beta))
  counts <- walker_counts(x)
  print(utils::head(counts, 20L))
  if (length(counts) > 20L) {
    cat(sprintf("and %s more\n", counted(length(counts) - 20L, "label")))
  }
  cat(sprintf(
    "%.0f labels sought, method \"%s\"%s, on %s\n", x$unknowns, x$method,
    if (x$auto) " (by \"auto\")" else "", x$device
  ))
  if (x$method == "cg") {
    iterations <- counted(x$iterations, "iteration")
    cat(sprintf("%s, estimated error of probabilities %.2g\n", iterations, x$error))
  }
  out <- length(x$labels) - sum(counts) - x$unreached
  if (out > 0) {
    cat(sprintf("%.0f pixels left out\n", out))
  }
  if (x$unreached > 0) {
    cat(sprintf("%.0f pixels that no seed reaches: label -1\n", x$unreached))
  }
  invisible(x)
}

# The number of pixels of each label.
walker_counts <- function(x) {
  counts <- tabulate(match(x$labels, x$label_values), length(x$label_values))
  stats::setNames(counts, x$label_values)
}

walker_size <- function(x) {
  channels <- length(x$channels)
  sprintf(
    "%s pixels%s", dimensions_text(walker_space(x)),
    if (channels > 1L) sprintf(" in %d channels", channels) else ""
  )
}

#' @export
format.random_walker <- function(x, ...) {
  sprintf("<random_walker: %s, %s>", walker_size(x), counted(length(x$label_values), "label"))
}

#' @export
head.random_walker <- function(x, ...) utils::head(x$labels, ...)

#' @export
tail.random_walker <- function(x, ...) utils::tail(x$labels, ...)

#' @rdname random_walker
#' @order 4
#' @export
summary.random_walker <- function(object, ...) {
  counts <- walker_counts(object)
  labels <- data.frame(
    label = object$label_values, pixels = unname(counts),
    share = unname(counts) / length(object$labels)
  )
  structure(class = "summary.random_walker", list(result = object, labels = labels))
}

#' @export
print.summary.random_walker <- function(x, ...) {
  print(x$result)
  cat("\n")
  print(utils::head(x$labels, 20L), row.names = FALSE, digits = 3L)
  invisible(x)
}

#' @rdname random_walker
#' @order 3
#' @param slice Number of the slice of a volume to show. `NULL` for the middle one.
#' @param alpha Share of a label's colour in a pixel, from 0 to 1. Pixels without a label have none.
#' @param col Colours of the labels in ascending order. `NULL` for distinct hues, in several
#'   lightnesses for more than 8 labels.
#' @param legend `TRUE` draws a legend next to the image.
#' @param ... `plot()` passes arguments for titles and axes to [graphics::plot.default()], such as
#'   `main`, `las`, `xlim`, `ylim` and `asp`. Other methods ignore them.
#' @export
plot.random_walker <- function(x, slice = NULL, alpha = 0.4, col = NULL,
                               legend = length(x$label_values) <= 20L, ...) {
  call <- sys.call()
  alpha <- as_number(alpha, "alpha", call)
  if (alpha < 0 || alpha > 1) {
    abort_argument("alpha", sprintf("'alpha' must be between 0 and 1, not %g", alpha), call)
  }
  count <- length(x$label_values)
  col <- col %||% label_colours(count)
  if (length(col) != count) {
    text <- "'col' must have a colour for each of the %d labels, not %d colours"
    abort_argument("col", sprintf(text, count, length(col)), call)
  }
  picture <- walker_slice(x, slice, call)
  mix <- alpha * !is.na(picture$label)
  inks <- t(grDevices::col2rgb(col)) / 255
  ink <- inks[ifelse(is.na(picture$label), 1L, picture$label), , drop = FALSE]
  pixels <- (1 - mix) * picture$rgb + mix * ink
  raster <- matrix(grDevices::rgb(pixels), picture$dim[[1L]], picture$dim[[2L]])
  spacing <- x$spacing[1:2]
  if (x$horizontal_first) {
    raster <- t(raster)
    spacing <- rev(spacing)
  }
  settings <- utils::modifyList(list(
    asp = spacing[[1L]] / spacing[[2L]], xlab = if (x$horizontal_first) "x" else "column",
    ylab = if (x$horizontal_first) "y" else "row", main = picture$title
  ), list(...))
  # sprintf() writes whole numbers in full; as.character(100000) is "1e+05".
  draw_picture(raster, settings, if (isTRUE(legend)) sprintf("%d", x$label_values), col)
  invisible(x)
}

# The image's dimensions in space.
walker_space <- function(x) {
  dim(x$image)[seq_along(x$spacing)]
}

# One plane of an image: the colours of its pixels, and the positions of their labels.
walker_slice <- function(x, slice, call) {
  space <- walker_space(x)
  pixels <- seq_len(prod(space[1:2]))
  title <- NULL
  if (length(space) == 3L) {
    slice <- slice %||% ((space[[3L]] + 1L) %/% 2L)
    if (!(is.numeric(slice) && length(slice) == 1L && slice %in% seq_len(space[[3L]]))) {
      text <- "'slice' must be a whole number from 1 to %d"
      abort_argument("slice", sprintf(text, space[[3L]]), call)
    }
    pixels <- pixels + (slice - 1) * length(pixels)
    title <- sprintf("slice %d", as.integer(slice))
  }
  values <- matrix(x$image, prod(space))
  # Values outside 0 to 1 are scaled to that range, in the same way for all slices.
  range <- range(values)
  if (range[[1L]] < 0 || range[[2L]] > 1) {
    values <- (values - range[[1L]]) / max(range[[2L]] - range[[1L]], .Machine$double.xmin)
  }
  values <- values[pixels, , drop = FALSE]
  if (ncol(values) != 3L) {
    values <- matrix(rowMeans(values), length(pixels), 3L)
  }
  label <- match(x$labels[pixels], x$label_values)
  list(rgb = values, label = label, dim = space[1:2], title = title)
}
