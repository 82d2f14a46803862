# Blocks that a function of the user returns for tiles.

# First and last rows of the tiles, and first and last columns.
tile_ranges <- function(dim, tile) {
  lapply(dim, function(n) {
    from <- if (n > 0) seq(1, n, by = tile) else numeric()
    list(from = from, to = pmin(from + tile - 1, n))
  })
}

write_blocks <- function(f, writer, ranges, triangle, call) {
  # The progress bar is hidden before a message of the function appears.
  hide <- function(condition) native_tiles_hide(writer)
  rows <- ranges[[1L]]
  cols <- ranges[[2L]]
  for (b in seq_along(cols$from)) {
    j <- cols$from[[b]]:cols$to[[b]]
    for (a in if (triangle) seq_len(b) else seq_along(rows$from)) {
      i <- rows$from[[a]]:rows$to[[a]]
      block <- withCallingHandlers(as_block(f(i, j), i, j, c(a, b), call), condition = hide)
      unwrap(native_tiles_write(writer, c(a, b) - 1, block), call)
    }
  }
}

# The value of a function for a tile, as a double matrix.
as_block <- function(block, i, j, at, call) {
  where <- sprintf(
    "the block of tile (%d, %d), rows %.0f to %.0f and columns %.0f to %.0f",
    at[[1L]], at[[2L]], i[[1L]], i[[length(i)]], j[[1L]], j[[length(j)]]
  )
  if (isS4(block) || is.data.frame(block)) {
    block <- as_matrix(block, call)
  }
  if (is.object(block) || !(is.numeric(block) || is.logical(block))) {
    kind <- if (is.object(block)) class(block)[[1L]] else typeof(block)
    text <- "the function must return a numeric matrix for %s, not type \"%s\""
    abort_type(sprintf(text, where, kind), call)
  }
  wanted <- c(length(i), length(j))
  fits <- if (is.matrix(block)) {
    all(dim(block) == wanted)
  } else {
    any(wanted == 1L) && is.null(dim(block)) && length(block) == prod(wanted)
  }
  if (!fits) {
    got <- if (is.null(dim(block))) {
      sprintf("a vector of length %d", length(block))
    } else {
      dimensions_text(dim(block))
    }
    text <- "the function must return a matrix of %s for %s, not %s"
    abort_dimension(sprintf(text, dimensions_text(wanted), where, got), call)
  }
  as_double(block, call)
}
