# Datasets in HDF5 files, by the optional package hdf5r.

need_hdf5r <- function(call) {
  if (!requireNamespace("hdf5r", quietly = TRUE)) {
    text <- "package hdf5r must be installed to read and write HDF5 files"
    abort_argument("format", text, call)
  }
}

# Runs code that uses hdf5r, and turns its errors into errors of this package.
with_hdf5 <- function(expr, path, call, kind = "file") {
  tryCatch(expr, cudafactor_error = stop, error = function(e) {
    # The first two lines have the reason, the others the place in the library.
    lines <- strsplit(conditionMessage(e), "\n", fixed = TRUE)[[1L]]
    lines <- utils::head(grep("[^[:space:]]", lines, value = TRUE), 2L)
    text <- sprintf("%s: %s", path, paste(trimws(lines), collapse = " "))
    abort(kind, text, call, path = path)
  })
}

check_dataset <- function(dataset, call) {
  if (!(is.character(dataset) && length(dataset) == 1L && !is.na(dataset) && nzchar(dataset))) {
    text <- "'dataset' must be the name of a dataset in the file, a string"
    abort_argument("dataset", text, call)
  }
}

# The open file, its dataset, and the dimensions.
hdf5_dataset <- function(path, dataset, call) {
  need_hdf5r(call)
  file <- with_hdf5(hdf5r::H5File$new(path, mode = "r"), path, call, "file_format")
  done <- FALSE
  on.exit(if (!done) file$close_all())
  if (is.null(dataset)) {
    there <- with_hdf5(file$ls(recursive = TRUE), path, call)
    there <- there$name[as.character(there$obj_type) == "H5I_DATASET"]
    if (length(there) != 1L) {
      text <- if (length(there)) {
        paste("one of", paste(dQuote(there, FALSE), collapse = ", "))
      } else {
        "but there is none"
      }
      text <- sprintf("%s: 'dataset' must name a dataset in the file, %s", path, text)
      abort_argument("dataset", text, call)
    }
    dataset <- there
  } else {
    check_dataset(dataset, call)
  }
  data <- tryCatch(file[[dataset]], error = function(e) NULL)
  if (!inherits(data, "H5D")) {
    abort_argument("dataset", sprintf("%s: there is no dataset \"%s\"", path, dataset), call)
  }
  wrong <- function(what) {
    text <- sprintf("%s: dataset \"%s\" must %s", path, dataset, what)
    abort("file_format", text, call, path = path)
  }
  type <- with_hdf5(data$get_type(), path, call)
  numeric <- as.character(type$get_class()) %in% c("H5T_FLOAT", "H5T_INTEGER") &&
    type$get_size() <= 8 || inherits(type, "H5T_LOGICAL")
  if (!numeric) {
    wrong("have real numbers")
  }
  dim <- with_hdf5(data$dims, path, call)
  if (!(length(dim) %in% 1:2)) {
    wrong(sprintf("have one or two dimensions, not %d", length(dim)))
  }
  done <- TRUE
  list(file = file, data = data, dataset = dataset, dim = as.double(dim))
}

describe_hdf5 <- function(path, dataset, call) {
  opened <- hdf5_dataset(path, dataset, call)
  on.exit(opened$file$close_all())
  new_matrix_file(path, "hdf5", c(opened$dim, 1)[1:2], dataset = opened$dataset)
}

open_hdf5 <- function(x, call) {
  path <- .subset2(x, "path")
  opened <- hdf5_dataset(path, .subset2(x, "dataset"), call)
  if (!identical(c(opened$dim, 1)[1:2], .subset2(x, "dim"))) {
    opened$file$close_all()
    text <- sprintf("%s: the file now holds another matrix: use matrix_file() again", path)
    abort("file_format", text, call, path = path)
  }
  flags <- hdf5r::h5const$H5TOR_CONV_INT64_FLOAT_FORCE
  blocks <- function(i, j) {
    places <- if (length(opened$dim) == 1L) list(i) else list(i, j)
    block <- with_hdf5(opened$data$read(args = places, flags = flags, drop = FALSE), path, call)
    array(as.double(block), c(length(i), length(j)))
  }
  list(blocks = blocks, close = function() opened$file$close_all())
}

# Writes the file of tiles `x` to a dataset in a new file, whose chunks are the tiles.
write_hdf5 <- function(x, path, dataset, call) {
  need_hdf5r(call)
  dim <- as.double(dim(x))
  tile <- as.double(.subset2(x, "tile"))
  single <- .subset2(x, "precision") == "single"
  empty <- any(dim == 0)
  chunk <- if (!empty) pmin(tile, dim)
  # Chunks at the edges are stored whole. A mebibyte is more than the index of all chunks takes.
  bytes <- if (empty) 0 else prod(ceiling(dim / chunk) * chunk) * (if (single) 4 else 8)
  unwrap(native_matrix_file_room(path, bytes + 2^20), call)
  done <- FALSE
  file <- NULL
  on.exit({
    if (!is.null(file)) file$close_all()
    if (!done) unlink(path)
  })
  file <- with_hdf5(hdf5r::H5File$new(path, mode = "w-"), path, call)
  with_hdf5({
    type <- if (single) hdf5r::h5types$H5T_NATIVE_FLOAT else hdf5r::h5types$H5T_NATIVE_DOUBLE
    space <- hdf5r::H5S$new("simple", dims = dim, maxdims = dim)
    data <- file$create_dataset(
      dataset, dtype = type, space = space, chunk_dims = chunk, gzip_level = NULL
    )
  }, path, call)
  ranges <- tile_ranges(dim, tile)
  rows <- ranges[[1L]]
  cols <- ranges[[2L]]
  for (b in seq_along(cols$from)) {
    j <- cols$from[[b]]:cols$to[[b]]
    for (a in seq_along(rows$from)) {
      i <- rows$from[[a]]:rows$to[[a]]
      block <- read_tiles(x, i, j, call)
      with_hdf5(data$write(args = list(i, j), value = block), path, call)
    }
  }
  with_hdf5(file$close_all(), path, call)
  file <- NULL
  done <- TRUE
}
