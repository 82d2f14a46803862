# Drawing for plot.random_walker().

# Draws a raster of pixels, axes along it, and a legend of `names` in `col` to its right. The legend
# is inside the plot region, whose coordinates go beyond the image. So no setting of the device
# changes, and both additions to the plot and later plots of a layout fit. `settings` are arguments
# of plot.default().
draw_picture <- function(raster, settings, names, col) {
  edges <- list(c(0.5, ncol(raster) + 0.5), c(nrow(raster) + 0.5, 0.5))
  shown <- list(settings$xlim %||% edges[[1L]], settings$ylim %||% edges[[2L]])
  graphics::plot.new()
  key <- if (length(names) > 0L) picture_key(names, col)
  frame <- picture_frame(shown, settings$asp, key)
  graphics::plot.window(frame$x, frame$y, xaxs = "i", yaxs = "i")
  part <- any(abs(unlist(shown) - unlist(edges)) > 0)
  if (part) {
    graphics::clip(shown[[1L]][[1L]], shown[[1L]][[2L]], shown[[2L]][[1L]], shown[[2L]][[2L]])
  }
  graphics::rasterImage(
    raster, 0.5, nrow(raster) + 0.5, ncol(raster) + 0.5, 0.5, interpolate = FALSE
  )
  if (part) {
    do.call(graphics::clip, as.list(graphics::par("usr")))
  }
  draw_margins(settings, shown, edges, frame)
  if (!is.null(key)) {
    left <- shown[[1L]][[2L]] + key$gap * frame$per_inch[[1L]]
    # The legend starts at the image's upper edge, and higher only if it would leave the figure
    # below.
    drop <- min(frame$above, max(0, key$room - key$high))
    graphics::legend(
      left, frame$y[[2L]] + drop * frame$per_inch[[2L]], key$names,
      fill = key$col, border = key$border, title = "label", bg = "white", cex = key$cex,
      ncol = key$columns, xpd = NA
    )
  }
}

# Coordinates of the edges of the plot region that centre the image with its legend, as large as
# possible.
picture_frame <- function(shown, asp, key) {
  pin <- graphics::par("pin")
  spans <- vapply(shown, diff, 0)
  # The legend may use the figure's right margin.
  margin <- 0.9 * graphics::par("mai")[[4L]]
  beside <- if (is.null(key)) 0 else max(0, key$gap + key$wide - margin)
  room <- c(max(pin[[1L]] - beside, 0.1 * pin[[1L]]), pin[[2L]])
  inches <- room / abs(spans)
  if (!is.null(asp) && is.finite(asp) && asp > 0) {
    inches <- min(inches[[1L]], inches[[2L]] / asp) * c(1, asp)
    # A line of pixels is drawn wider than to scale, since it would be invisible.
    inches <- pmax(inches, pmin(0.3, room) / abs(spans))
  }
  margins <- (room - inches * abs(spans)) / 2
  per_inch <- sign(spans) / inches
  x <- shown[[1L]][[1L]] - margins[[1L]] * per_inch[[1L]]
  y <- shown[[2L]][[1L]] - margins[[2L]] * per_inch[[2L]]
  list(
    x = x + c(0, pin[[1L]] * per_inch[[1L]]), y = y + c(0, pin[[2L]] * per_inch[[2L]]),
    above = margins[[2L]],
    # For y an inch downwards.
    per_inch = c(per_inch[[1L]], -per_inch[[2L]])
  )
}

# The layout of a legend for `names`: size of letters, number of columns, and its size in inches.
picture_key <- function(names, col) {
  pin <- graphics::par("pin")
  mai <- graphics::par("mai")
  # The legend may reach the figure's lower edge, and be so wide that the image has the larger part.
  room <- pin[[2L]] + 0.95 * mai[[1L]]
  widest <- 0.45 * (pin[[1L]] + mai[[4L]])
  size <- function(count, cex, columns) {
    # The longest name stands for all of them.
    names <- rep_len(names[[which.max(nchar(names))]], count)
    box <- graphics::legend(
      0, 0, names, fill = 1, title = "label", cex = cex, ncol = columns, plot = FALSE
    )$rect
    c(wide = box$w / graphics::xinch(1), high = box$h / graphics::yinch(1))
  }
  key <- function(count, cex, columns) {
    last <- if (count < length(names)) "..."
    first <- seq_len(count - length(last))
    box <- size(count, cex, columns)
    list(
      names = c(names[first], last), col = c(col[first], if (length(last)) NA),
      border = c(rep("black", length(first)), if (length(last)) NA), cex = cex, columns = columns,
      wide = box[["wide"]], high = box[["high"]],
      gap = 1.5 * graphics::par("cin")[[1L]] * graphics::par("cex"), room = room
    )
  }
  for (cex in c(0.8, 0.65, 0.5)) {
    one <- size(1L, cex, 1L)
    two <- size(2L, cex, 1L)
    rows <- 1 + floor((room - one[["high"]]) / (two[["high"]] - one[["high"]]))
    if (rows < 1) {
      next
    }
    columns <- ceiling(length(names) / rows)
    if (size(length(names), cex, columns)[["wide"]] <= widest) {
      return(key(length(names), cex, columns))
    }
  }
  # Not all names fit: the legend has those that fit in the smallest letters.
  if (rows < 1) {
    return(NULL)
  }
  while (columns > 1 && size(rows * columns, cex, columns)[["wide"]] > widest) {
    columns <- columns - 1
  }
  key(min(length(names), rows * columns), cex, columns)
}

# Axes along the edges of the image, not of the plot region, with whole numbers of pixels; axis
# labels and titles.
draw_margins <- function(settings, shown, edges, frame) {
  own <- c(
    setdiff(names(formals(graphics::plot.default)), "..."),
    "col", "bg", "pch", "cex", "lty", "lwd", "bty", "xaxs", "yaxs"
  )
  further <- settings[setdiff(names(settings), own)]
  sides <- list(shown[[2L]][[1L]], shown[[1L]][[1L]])
  drawn <- list(settings$xaxt, settings$yaxt)
  if (!isFALSE(settings$axes)) {
    for (side in 1:2) {
      ends <- c(
        max(min(shown[[side]]), min(edges[[side]])),
        min(max(shown[[side]]), max(edges[[side]]))
      )
      ticks <- pretty(ends)
      ticks <- ticks[ticks == round(ticks) & ticks >= max(ends[[1L]], 1) & ticks <= ends[[2L]]]
      kind <- drawn[[side]] %||% graphics::par(c("xaxt", "yaxt")[[side]])
      if (length(ticks) > 0L && !identical(kind, "n")) {
        others <- further[setdiff(names(further), c("xaxt", "yaxt"))]
        do.call(graphics::axis, c(list(side, ticks, pos = sides[[side]]), others))
      }
    }
  }
  if (isTRUE(settings$frame.plot) || !identical(settings$bty %||% "n", "n")) {
    x <- shown[[1L]]
    y <- shown[[2L]]
    graphics::rect(x[[1L]], y[[1L]], x[[2L]], y[[2L]], xpd = NA)
  }
  if (isFALSE(settings$ann)) {
    return(invisible())
  }
  taken <- c("xaxt", "yaxt", "at", "labels", "side", "line", "outer")
  further <- further[setdiff(names(further), taken)]
  do.call(graphics::title, c(list(main = settings$main, sub = settings$sub), further))
  # Axis labels are as far from the image as those of other plots from their region.
  texts <- list(settings$xlab, settings$ylab)
  line <- graphics::par("mex") * graphics::par("csi")
  apart <- list(
    abs(frame$y[[1L]] - sides[[1L]]) / abs(frame$per_inch[[2L]]),
    abs(frame$x[[1L]] - sides[[2L]]) / abs(frame$per_inch[[1L]])
  )
  look <- function(name) further[[name]] %||% graphics::par(name)
  for (side in 1:2) {
    if (!is.null(texts[[side]])) {
      graphics::mtext(
        texts[[side]], side, look("mgp")[[1L]] - apart[[side]] / line,
        at = mean(shown[[side]]), cex = graphics::par("cex") * look("cex.lab"),
        col = look("col.lab"), font = look("font.lab"), las = 0
      )
    }
  }
}

# Colours of labels: equidistant hues, in an order that puts distant hues next to each other. Many
# labels have fewer hues in up to three lightnesses.
label_colours <- function(count) {
  rounds <- min(3, max(1, ceiling(count / 8)))
  hues <- max(1, ceiling(count / rounds))
  turn <- order((seq_len(hues) - 1) %% ceiling(hues / 3)) - 1
  i <- seq_len(count) - 1
  round <- i %/% hues
  hue <- 360 * (turn[i %% hues + 1] + round / rounds) / max(hues, 1)
  grDevices::hcl(hue, c(80, 60, 70)[round + 1], c(60, 82, 38)[round + 1])
}
