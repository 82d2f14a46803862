# Dimnames of matrices in files of tiles. Rust stores them as bytes, which are made and read here: strings in UTF-8, each of which
# ends in a zero. The first three tell whether there are names of rows, of columns, and of the dimnames; those names follow. A "=" is in
# front of each string, but not of NA.

packed_names <- function(names) {
  there <- !vapply(names, is.null, NA)
  if (!any(there)) {
    return(raw())
  }
  titles <- names(names)
  strings <- c(as.character(as.integer(c(there, !is.null(titles)))), titles, unlist(names, use.names = FALSE))
  writeBin(ifelse(is.na(strings), "", paste0("=", enc2utf8(strings))), raw())
}

# Of a matrix with extents `dim`; NULL where these are no such bytes.
unpacked_names <- function(bytes, dim) {
  strings <- readBin(bytes, "character", sum(bytes == as.raw(0L)))
  Encoding(strings) <- "UTF-8"
  strings <- ifelse(startsWith(strings, "="), substring(strings, 2L), NA)
  there <- utils::head(strings, 3L) == "1"
  if (length(there) < 3L || anyNA(there) || length(strings) != 3 + 2 * there[[3L]] + sum(dim[there[1:2]])) {
    return(NULL)
  }
  rest <- strings[-(1:3)]
  titles <- if (there[[3L]]) rest[1:2]
  if (there[[3L]]) rest <- rest[-(1:2)]
  rows <- if (there[[1L]]) dim[[1L]] else 0
  names <- list(if (there[[1L]]) rest[seq_len(rows)], if (there[[2L]]) rest[rows + seq_len(dim[[2L]])])
  names(names) <- titles
  names
}

# The names that a matrix brings to a file with extents `dim`, of which a file of tiles may be written in part.
names_for_file <- function(x, dim) {
  names <- if (!is.function(x)) dimnames(x)
  if (is.null(names)) {
    return(raw())
  }
  kept <- lapply(1:2, function(along) {
    if (length(names[[along]]) >= dim[[along]] && !is.null(names[[along]])) as.character(names[[along]])[seq_len(dim[[along]])]
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
  unpacked_names(bytes, dim) %||%
    abort("file_format", sprintf("%s: the names of rows and columns in the file are damaged", path), call, path = path)
}

# The names of a part, with the same meaning of NA as base R's.
named_part <- function(part, names, rows, columns) {
  if (!is.null(names)) {
    of <- function(names, places) if (is.null(places)) names else names[places]
    kept <- list(of(names[[1L]], rows), of(names[[2L]], columns))
    names(kept) <- names(names)
    dimnames(part) <- kept
  }
  part
}
