# Dimnames of matrices in files of tiles. Rust stores them as bytes: strings in UTF-8, each followed
# by a zero. The first three strings say whether rows, columns and dimnames have names. The names of
# the dimnames, of rows and of columns follow. A "=" precedes each string that is not NA.

packed_names <- function(names) {
  there <- !vapply(names, is.null, NA)
  if (!any(there)) {
    return(raw())
  }
  titles <- names(names)
  flags <- as.character(as.integer(c(there, !is.null(titles))))
  strings <- c(flags, titles, unlist(names, use.names = FALSE))
  writeBin(ifelse(is.na(strings), "", paste0("=", enc2utf8(strings))), raw())
}

# The dimnames in `bytes` for a matrix of dimensions `dim`; NULL if the bytes are damaged.
unpacked_names <- function(bytes, dim) {
  strings <- readBin(bytes, "character", sum(bytes == as.raw(0L)))
  Encoding(strings) <- "UTF-8"
  strings <- ifelse(startsWith(strings, "="), substring(strings, 2L), NA)
  there <- utils::head(strings, 3L) == "1"
  if (length(there) < 3L || anyNA(there) ||
    length(strings) != 3 + 2 * there[[3L]] + sum(dim[there[1:2]])) {
    return(NULL)
  }
  rest <- strings[-(1:3)]
  titles <- if (there[[3L]]) rest[1:2]
  if (there[[3L]]) rest <- rest[-(1:2)]
  rows <- if (there[[1L]]) dim[[1L]] else 0
  names <- list(
    if (there[[1L]]) rest[seq_len(rows)],
    if (there[[2L]]) rest[rows + seq_len(dim[[2L]])]
  )
  names(names) <- titles
  names
}

# The names of a matrix for a file of dimensions `dim`, which may be smaller than the matrix.
names_for_file <- function(x, dim) {
  names <- if (!is.function(x)) dimnames(x)
  if (is.null(names)) {
    return(raw())
  }
  kept <- lapply(1:2, function(along) {
    given <- names[[along]]
    if (length(given) >= dim[[along]] && !is.null(given)) {
      as.character(given)[seq_len(dim[[along]])]
    }
  })
  names(kept) <- names(names)
  packed_names(kept)
}

#' @rdname tile_matrix_parts
#' @export
dimnames.tile_matrix <- function(x) names_on_disk(x, sys.call())

names_on_disk <- function(x, call) {
  path <- .subset2(x, "path")
  dim <- as.double(dim(x))
  bytes <- unwrap(native_tiles_names(path, dim), call)$names
  if (length(bytes) == 0L) {
    return(NULL)
  }
  text <- "%s: the names of rows and columns in the file are damaged: write the file again"
  unpacked_names(bytes, dim) %||% abort("file_format", sprintf(text, path), call, path = path)
}

# The names of a part; the name for a subscript NA is NA, as in base R.
named_part <- function(part, names, rows, columns) {
  if (!is.null(names)) {
    of <- function(names, places) if (is.null(places)) names else names[places]
    kept <- list(of(names[[1L]], rows), of(names[[2L]], columns))
    names(kept) <- names(names)
    dimnames(part) <- kept
  }
  part
}
