# Drawing of what random_walker() gives.

# Draws a raster of pixels, axes along it, and a legend of `names` in `col` at its right. Room for the legend is kept inside of the plot's
# region, by coordinates that go on beyond the image: no setting of the device changes, so that what is added to the plot fits it, and so do
# the plots that come after it in a layout. `settings` are arguments of plot.default().
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
  graphics::rasterImage(raster, 0.5, nrow(raster) + 0.5, ncol(raster) + 0.5, 0.5, interpolate = FALSE)
  if (part) {
    do.call(graphics::clip, as.list(graphics::par("usr")))
  }
  draw_margins(settings, shown, edges, frame)
  if (!is.null(key)) {
    left <- shown[[1L]][[2L]] + key$gap * frame$per_inch[[1L]]
    # From the image's upper edge down, and higher up only where it would leave the figure below.
    drop <- min(frame$above, max(0, key$room - key$high))
    graphics::legend(
      left, frame$y[[2L]] + drop * frame$per_inch[[2L]], key$names, fill = key$col, border = key$border, title = "label", bg = "white", cex = key$cex,
      ncol = key$columns, xpd = NA
    )
  }
}

# Coordinates of the edges of the plot's region in which the image, and the legend beside it, are in the middle and as large as can be.
picture_frame <- function(shown, asp, key) {
  pin <- graphics::par("pin")
  spans <- vapply(shown, diff, 0)
  # Of the figure's margin the legend may have what is there.
  beside <- if (is.null(key)) 0 else max(0, key$gap + key$wide - 0.9 * graphics::par("mai")[[4L]])
  room <- c(max(pin[[1L]] - beside, 0.1 * pin[[1L]]), pin[[2L]])
  inches <- room / abs(spans)
  if (!is.null(asp) && is.finite(asp) && asp > 0) {
    inches <- min(inches[[1L]], inches[[2L]] / asp) * c(1, asp)
    # A line of pixels is shown wider than it is: there would be nothing to see.
    inches <- pmax(inches, pmin(0.3, room) / abs(spans))
  }
  margins <- (room - inches * abs(spans)) / 2
  per_inch <- sign(spans) / inches
  x <- shown[[1L]][[1L]] - margins[[1L]] * per_inch[[1L]]
  y <- shown[[2L]][[1L]] - margins[[2L]] * per_inch[[2L]]
  list(
    x = x + c(0, pin[[1L]] * per_inch[[1L]]), y = y + c(0, pin[[2L]] * per_inch[[2L]]), above = margins[[2L]],
    # Downwards, for y.
    per_inch = c(per_inch[[1L]], -per_inch[[2L]])
  )
}

# A legend for so many names: how large its letters are, in how many columns it stands, and how much room it takes, in inches.
picture_key <- function(names, col) {
  pin <- graphics::par("pin")
  mai <- graphics::par("mai")
  # Down to the figure's edge, and at most so wide that the image has the larger part.
  room <- pin[[2L]] + 0.95 * mai[[1L]]
  widest <- 0.45 * (pin[[1L]] + mai[[4L]])
  size <- function(count, cex, columns) {
    # The longest name for all.
    names <- rep_len(names[[which.max(nchar(names))]], count)
    box <- graphics::legend(0, 0, names, fill = 1, title = "label", cex = cex, ncol = columns, plot = FALSE)$rect
    c(wide = box$w / graphics::xinch(1), high = box$h / graphics::yinch(1))
  }
  key <- function(count, cex, columns) {
    last <- if (count < length(names)) "..."
    first <- seq_len(count - length(last))
    box <- size(count, cex, columns)
    list(
      names = c(names[first], last), col = c(col[first], if (length(last)) NA), border = c(rep("black", length(first)), if (length(last)) NA), cex = cex, columns = columns,
      wide = box[["wide"]], high = box[["high"]], gap = 1.5 * graphics::par("cin")[[1L]] * graphics::par("cex"), room = room
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
  # Not all fit: those that do in the smallest letters.
  if (rows < 1) {
    return(NULL)
  }
  while (columns > 1 && size(rows * columns, cex, columns)[["wide"]] > widest) {
    columns <- columns - 1
  }
  key(min(length(names), rows * columns), cex, columns)
}

# Axes along the edges of the image, not of the region it is in, with whole numbers of pixels; and names of them, of the picture.
draw_margins <- function(settings, shown, edges, frame) {
  own <- c(setdiff(names(formals(graphics::plot.default)), "..."), "col", "bg", "pch", "cex", "lty", "lwd", "bty", "xaxs", "yaxs")
  further <- settings[setdiff(names(settings), own)]
  sides <- list(shown[[2L]][[1L]], shown[[1L]][[1L]])
  drawn <- list(settings$xaxt, settings$yaxt)
  if (!isFALSE(settings$axes)) {
    for (side in 1:2) {
      ends <- c(max(min(shown[[side]]), min(edges[[side]])), min(max(shown[[side]]), max(edges[[side]])))
      ticks <- pretty(ends)
      ticks <- ticks[ticks == round(ticks) & ticks >= max(ends[[1L]], 1) & ticks <= ends[[2L]]]
      if (length(ticks) > 0L && !identical(drawn[[side]] %||% graphics::par(c("xaxt", "yaxt")[[side]]), "n")) {
        do.call(graphics::axis, c(list(side, ticks, pos = sides[[side]]), further[setdiff(names(further), c("xaxt", "yaxt"))]))
      }
    }
  }
  if (isTRUE(settings$frame.plot) || !identical(settings$bty %||% "n", "n")) {
    graphics::rect(shown[[1L]][[1L]], shown[[2L]][[1L]], shown[[1L]][[2L]], shown[[2L]][[2L]], xpd = NA)
  }
  if (isFALSE(settings$ann)) {
    return(invisible())
  }
  further <- further[setdiff(names(further), c("xaxt", "yaxt", "at", "labels", "side", "line", "outer"))]
  do.call(graphics::title, c(list(main = settings$main, sub = settings$sub), further))
  # Names stand as far from the image as those of other plots from their region.
  texts <- list(settings$xlab, settings$ylab)
  line <- graphics::par("mex") * graphics::par("csi")
  apart <- list(abs(frame$y[[1L]] - sides[[1L]]) / abs(frame$per_inch[[2L]]), abs(frame$x[[1L]] - sides[[2L]]) / abs(frame$per_inch[[1L]]))
  look <- function(name) further[[name]] %||% graphics::par(name)
  for (side in 1:2) {
    if (!is.null(texts[[side]])) {
      graphics::mtext(
        texts[[side]], side, look("mgp")[[1L]] - apart[[side]] / line, at = mean(shown[[side]]), cex = graphics::par("cex") * look("cex.lab"), col = look("col.lab"),
        font = look("font.lab"), las = 0
      )
    }
  }
}

# Colours of labels: hues at equal distances, in an order in which those of neighbours lie far apart; and where they are many, in up to three
# lightnesses, of fewer hues.
label_colours <- function(count) {
  rounds <- min(3, max(1, ceiling(count / 8)))
  hues <- max(1, ceiling(count / rounds))
  turn <- order((seq_len(hues) - 1) %% ceiling(hues / 3)) - 1
  i <- seq_len(count) - 1
  lightness <- c(60, 82, 38)[i %/% hues + 1]
  grDevices::hcl(360 * (turn[i %% hues + 1] + (i %/% hues) / rounds) / max(hues, 1), c(80, 60, 70)[i %/% hues + 1], lightness)
}
