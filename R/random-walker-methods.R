# Methods for what random_walker() gives.

#' @rdname random_walker
#' @order 2
#' @param x What `random_walker()` gave.
#' @export
print.random_walker <- function(x, ...) {
  space <- walker_space(x)
  cat(sprintf(
    "Segmentation of %s pixels%s by random walks, beta = %g\n", extents_text(space),
    if (length(x$channels) > 1L) sprintf(", %d channels,", length(x$channels)) else "", x$beta
  ))
  counts <- tabulate(match(x$labels, x$label_values), length(x$label_values))
  shown <- utils::head(seq_along(counts), 20L)
  print(stats::setNames(counts[shown], x$label_values[shown]))
  if (length(counts) > length(shown)) {
    cat(sprintf("and %d labels more\n", length(counts) - length(shown)))
  }
  cat(sprintf("%.0f labels sought, method \"%s\"%s, on %s\n", x$unknowns, x$method, if (x$auto) " (by \"auto\")" else "", x$device))
  if (x$method == "cg") {
    cat(sprintf("%s, estimated error of probabilities %.2g\n", counted(x$iterations, "iteration"), x$error))
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

#' @rdname random_walker
#' @order 3
#' @param slice Of a volume, the slice to show; `NULL` for the middle one.
#' @param alpha How much of a label's colour there is, from 0 to 1. Pixels without a label have none.
#' @param col Colours of the labels, in ascending order; `NULL` for hues that lie far apart where labels follow each other, in several lightnesses where there are more than 8 labels.
#' @param legend Name the labels beside the image? Many have smaller letters and stand in columns; of more than there is room for, the last ones are left out, and `...` stands for them.
#' @param ... Of `plot()`, arguments of [graphics::plot.default()] for titles and axes, such as `main` and `las`, and `xlim`, `ylim` and `asp`. Ignored by `print()`.
#' @export
plot.random_walker <- function(x, slice = NULL, alpha = 0.4, col = NULL, legend = length(x$label_values) <= 20L, ...) {
  call <- sys.call()
  alpha <- as_number(alpha, "alpha", call)
  if (alpha < 0 || alpha > 1) {
    abort_argument("alpha", "'alpha' must be between 0 and 1", call)
  }
  count <- length(x$label_values)
  col <- col %||% label_colours(count)
  if (length(col) != count) {
    abort_argument("col", sprintf("'col' must have a colour for each of the %d labels", count), call)
  }
  picture <- walker_slice(x, slice, call)
  mix <- alpha * !is.na(picture$label)
  inks <- t(grDevices::col2rgb(col)) / 255
  pixels <- (1 - mix) * picture$rgb + mix * inks[ifelse(is.na(picture$label), 1L, picture$label), , drop = FALSE]
  extents <- picture$extents
  raster <- matrix(grDevices::rgb(pixels), extents[[1L]], extents[[2L]])
  spacing <- x$spacing[1:2]
  if (x$horizontal_first) {
    raster <- t(raster)
    extents <- rev(extents)
    spacing <- rev(spacing)
  }
  settings <- utils::modifyList(list(
    asp = spacing[[1L]] / spacing[[2L]], xlab = if (x$horizontal_first) "x" else "column", ylab = if (x$horizontal_first) "y" else "row", main = picture$title
  ), list(...))
  # Whole numbers in full: 100000 as text is "1e+05".
  draw_picture(raster, settings, if (isTRUE(legend)) sprintf("%d", x$label_values), col)
  invisible(x)
}

# The image's extents in space.
walker_space <- function(x) {
  dim(x$image)[seq_along(x$spacing)]
}

# One plane of an image, as colours of its pixels, and the numbers of their labels.
walker_slice <- function(x, slice, call) {
  space <- walker_space(x)
  pixels <- seq_len(prod(space[1:2]))
  title <- NULL
  if (length(space) == 3L) {
    slice <- slice %||% ((space[[3L]] + 1L) %/% 2L)
    if (!(is.numeric(slice) && length(slice) == 1L && slice %in% seq_len(space[[3L]]))) {
      abort_argument("slice", sprintf("'slice' must be a whole number from 1 to %d", space[[3L]]), call)
    }
    pixels <- pixels + (slice - 1) * length(pixels)
    title <- sprintf("slice %d", as.integer(slice))
  }
  values <- matrix(x$image, prod(space))
  # What is no intensity between 0 and 1 is brought there, all slices alike.
  range <- range(values)
  if (range[[1L]] < 0 || range[[2L]] > 1) {
    values <- (values - range[[1L]]) / max(range[[2L]] - range[[1L]], .Machine$double.xmin)
  }
  values <- values[pixels, , drop = FALSE]
  if (ncol(values) != 3L) {
    values <- matrix(rowMeans(values), length(pixels), 3L)
  }
  list(rgb = values, label = match(x$labels[pixels], x$label_values), extents = space[1:2], title = title)
}
