# Images and seeds of random_walker(): plain arrays, and objects of packages imager and EBImage,
# which are recognized by class.

# Plain values of an image or of seeds, and whether their first dimension is the horizontal one.
as_pixels <- function(x, argument, call) {
  if (inherits(x, "nativeRaster")) {
    text <- paste(
      "'%s' must be an array of numbers, not a native raster, whose numbers are colours:",
      "read it with native = FALSE"
    )
    abort_type(sprintf(text, argument), call)
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
  # 2 is EBImage's mark of an image whose third dimension is for colours; a fourth is for frames.
  colours <- inherits(x, "Image") && identical(as.integer(attr(x, "colormode")), 2L)
  if (is.object(x)) {
    x <- tryCatch(
      array(as.vector(x), dim(x), dimnames(x)),
      error = function(e) abort_as(e, abort_type, call)
    )
  }
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type(sprintf("'%s' must be %s, not of type \"%s\"", argument, what, typeof(x)), call)
  }
  if (is.null(dim(x)) || length(dim(x)) < 2L) {
    text <- "'%s' must be %s, with at least two dimensions, not a vector of length %d"
    abort_type(sprintf(text, argument, what, length(x)), call)
  }
  if (colours && length(dim(x)) == 4L) {
    x <- aperm(x, c(1L, 2L, 4L, 3L))
  }
  list(values = x, cimg = cimg, colours = colours, horizontal_first = horizontal_first)
}

# Seeds with their dimensions in space. Values are integers, or doubles that Rust checks.
as_seeds <- function(seeds, call) {
  x <- as_pixels(seeds, "seeds", call)
  values <- x$values
  space <- dim(values)
  if (x$cimg && length(space) == 4L && space[[4L]] == 1L) {
    space <- if (space[[3L]] == 1L) space[1:2] else space[1:3]
  }
  if (length(space) > 3L || x$colours) {
    text <- "'seeds' must have two or three dimensions, without channels, not %s"
    abort_dimension(sprintf(text, dimensions_text(dim(values))), call)
  }
  attributes <- attributes(values)[c("dim", "dimnames")]
  if (is.logical(values)) {
    values <- as.integer(values)
  }
  # NA means that no label is known. NaN and infinite numbers are results of computations, and
  # errors.
  if (anyNA(values) && any(unknown <- is.na(values) & !is.nan(values))) {
    values[unknown] <- 0L
  }
  if (is.double(values) && length(values) > 0L) {
    ends <- c(min(values), max(values))
    # Rust reports values that are not finite, or not whole numbers.
    if (all(is.finite(ends)) && any(abs(ends) > .Machine$integer.max)) {
      text <- "'seeds' must be whole numbers between -%1$d and %1$d, not %2$g"
      largest <- ends[[which.max(abs(ends))]]
      abort_argument("seeds", sprintf(text, .Machine$integer.max, largest), call)
    }
  }
  list(values = values, space = space, attributes = attributes[!vapply(attributes, is.null, NA)])
}

# An image as doubles with the used channels last; `count` is their number. An image that is in this
# form already is not copied.
as_image <- function(image, space, channels, call) {
  x <- as_pixels(image, "image", call)
  values <- x$values
  dims <- dim(values)
  if (x$cimg && length(dims) == 4L) {
    plane <- dims[[3L]] == 1L && length(space) == 2L
    dims <- c(if (plane) dims[1:2] else dims[1:3], if (dims[[4L]] > 1L) dims[[4L]])
  }
  along <- seq_along(space)
  has_channels <- length(dims) == length(space) + 1L
  fits <- identical(as.double(dims[along]), as.double(space)) &&
    (has_channels || length(dims) == length(space)) && (has_channels || !x$colours)
  if (!fits) {
    text <- paste(
      "'seeds' must have the dimensions of 'image' without channels, which come last:",
      "'image' is %s%s and 'seeds' %s"
    )
    colours <- if (x$colours) " with colours" else ""
    abort_dimension(sprintf(text, dimensions_text(dims), colours, dimensions_text(space)), call)
  }
  values <- as_double(values, call)
  if (!is.null(dimnames(values))) {
    dimnames(values) <- NULL
  }
  count <- if (has_channels) dims[[length(dims)]] else 1
  pixels <- prod(space)
  if (count == 0 || length(values) < pixels) {
    text <- "'image' must have at least one channel, but is %s"
    abort_dimension(sprintf(text, dimensions_text(dim(values))), call)
  }
  chosen <- seq_len(count)
  if (!is.null(channels)) {
    chosen <- walker_channels(channels, count, call)
  } else if (count %in% c(2, 4)) {
    # Grey values or colours, and an alpha channel, which is left out.
    chosen <- seq_len(count - 1L)
  }
  if (length(chosen) < count || is.unsorted(chosen)) {
    dim(values) <- c(pixels, count)
    values <- values[, chosen, drop = FALSE]
  }
  dims <- c(space, if (length(chosen) > 1L) length(chosen))
  if (!identical(as.double(dim(values)), as.double(dims))) {
    dim(values) <- dims
  }
  list(
    values = values, count = length(chosen), channels = if (has_channels) chosen,
    horizontal_first = x$horizontal_first
  )
}

walker_channels <- function(channels, count, call) {
  fits <- is.numeric(channels) && length(channels) > 0L &&
    all(channels %in% seq_len(count)) && !anyDuplicated(channels)
  if (!fits) {
    text <- "'channels' must be different whole numbers from 1 to %d"
    abort_argument("channels", sprintf(text, count), call)
  }
  as.integer(channels)
}
