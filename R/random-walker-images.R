# Images and seeds as random_walker() takes them: plain arrays, and those of packages imager and EBImage, told by their classes.

# Plain values and extents of an image or of seeds, and whether the first extent is the horizontal one.
as_pixels <- function(x, argument, call) {
  if (inherits(x, "nativeRaster")) {
    abort_type(sprintf("'%s' is a native raster, whose numbers are colours: read it with native = FALSE", argument), call)
  }
  what <- "a matrix or an array of numbers"
  check_numbers(x, argument, what, call)
  if (is.factor(x) || is.data.frame(x)) {
    abort_not_numbers(x, argument, what, call)
  }
  if (is_elsewhere(x)) {
    check_room(x, call)
  }
  horizontal_first <- inherits(x, c("cimg", "pixset", "Image"))
  cimg <- inherits(x, c("cimg", "pixset"))
  # 2 is EBImage's mark of an image whose third extent is that of colours; further ones are frames.
  colours <- inherits(x, "Image") && identical(as.integer(attr(x, "colormode")), 2L)
  if (is.object(x)) {
    x <- tryCatch(array(as.vector(x), dim(x), dimnames(x)), error = function(e) abort_as(e, abort_type, call))
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type(sprintf("'%s' must be %s, not of type \"%s\"", argument, what, typeof(x)), call)
  }
  if (is.null(dim(x)) || length(dim(x)) < 2L) {
    abort_type(sprintf("'%s' must be %s, with extents", argument, what), call)
  }
  if (colours && length(dim(x)) == 4L) {
    x <- aperm(x, c(1L, 2L, 4L, 3L))
  }
  list(values = x, cimg = cimg, colours = colours, horizontal_first = horizontal_first)
}

# Seeds with their extents in space, as integers or, to be looked at in Rust, as doubles.
as_seeds <- function(seeds, call) {
  x <- as_pixels(seeds, "seeds", call)
  values <- x$values
  space <- dim(values)
  if (x$cimg && length(space) == 4L && space[[4L]] == 1L) {
    space <- if (space[[3L]] == 1L) space[1:2] else space[1:3]
  }
  if (length(space) > 3L || x$colours) {
    abort_dimension(sprintf("'seeds' must have two or three extents, without channels, not %s", extents_text(dim(values))), call)
  }
  attributes <- attributes(values)[c("dim", "dimnames")]
  if (is.logical(values)) {
    values <- as.integer(values)
  }
  # NA says that no label is known. NaN and infinite numbers come of computations, and are errors.
  if (anyNA(values) && any(unknown <- is.na(values) & !is.nan(values))) {
    values[unknown] <- 0L
  }
  if (is.double(values) && length(values) > 0L) {
    ends <- c(min(values), max(values))
    # What is not finite is another error, and not whole numbers are a third one: both are seen in Rust.
    if (all(is.finite(ends)) && any(abs(ends) > .Machine$integer.max)) {
      abort_argument("seeds", sprintf("'seeds' must be whole numbers between -%1$d and %1$d, not %2$g", .Machine$integer.max, ends[[which.max(abs(ends))]]), call)
    }
  }
  list(values = values, space = space, attributes = attributes[!vapply(attributes, is.null, NA)])
}

# An image as doubles, with the channels that are used last, which are `count`. One that is as it shall be is not copied.
as_image <- function(image, space, channels, call) {
  x <- as_pixels(image, "image", call)
  values <- x$values
  extents <- dim(values)
  if (x$cimg && length(extents) == 4L) {
    plane <- extents[[3L]] == 1L && length(space) == 2L
    extents <- c(if (plane) extents[1:2] else extents[1:3], if (extents[[4L]] > 1L) extents[[4L]])
  }
  along <- seq_along(space)
  has_channels <- length(extents) == length(space) + 1L
  fits <- identical(as.double(extents[along]), as.double(space)) &&
    (has_channels || length(extents) == length(space)) && (has_channels || !x$colours)
  if (!fits) {
    abort_dimension(sprintf(
      "'image' is %s%s and 'seeds' %s: seeds must have the extents of the image without its channels, which come last",
      extents_text(extents), if (x$colours) " with colours" else "", extents_text(space)
    ), call)
  }
  values <- as_double(values, call)
  if (!is.null(dimnames(values))) {
    dimnames(values) <- NULL
  }
  count <- if (has_channels) extents[[length(extents)]] else 1
  pixels <- prod(space)
  if (count == 0 || length(values) < pixels) {
    abort_dimension(sprintf("'image' is %s: it has no channel", extents_text(dim(values))), call)
  }
  chosen <- seq_len(count)
  if (!is.null(channels)) {
    chosen <- walker_channels(channels, count, call)
  } else if (count %in% c(2, 4)) {
    # Grey values or colours, and how opaque they are.
    chosen <- seq_len(count - 1L)
  }
  if (length(chosen) < count || is.unsorted(chosen)) {
    dim(values) <- c(pixels, count)
    values <- values[, chosen, drop = FALSE]
  }
  extents <- c(space, if (length(chosen) > 1L) length(chosen))
  if (!identical(as.double(dim(values)), as.double(extents))) {
    dim(values) <- extents
  }
  list(
    values = values, count = length(chosen), channels = if (has_channels) chosen, horizontal_first = x$horizontal_first
  )
}

walker_channels <- function(channels, count, call) {
  fits <- is.numeric(channels) && length(channels) > 0L && all(channels %in% seq_len(count)) && !anyDuplicated(channels)
  if (!fits) {
    abort_argument("channels", sprintf("'channels' must be different whole numbers from 1 to %d", count), call)
  }
  as.integer(channels)
}
