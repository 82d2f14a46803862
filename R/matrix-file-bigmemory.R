# bigmemory's descriptions of its files. They are R code, which bigmemory runs; here they are parsed
# as text.

describe_bigmemory <- function(path, call) {
  wrong <- function(what) abort("file_format", sprintf("%s: %s", path, what), call, path = path)
  known <- tryCatch(read_description(path), error = function(e) {
    wrong(paste("the file must be a description by package bigmemory, but", conditionMessage(e)))
  })
  if (!identical(known$sharedType, "FileBacked")) {
    wrong("the matrix must have a file, but is in memory: use tile_matrix() on the big.matrix")
  }
  whole <- function(name, length) {
    value <- known[[name]]
    fits <- is.numeric(value) && length(value) == length &&
      all(is.finite(value) & value >= 0 & value < 2^53 & value == trunc(value))
    if (!fits) {
      wrong(sprintf("its '%s' must be a whole number, at least 0", name))
    }
    as.double(value)
  }
  total <- c(whole("totalRows", 1L), whole("totalCols", 1L))
  rows <- whole("rowOffset", 2L)
  cols <- whole("colOffset", 2L)
  dim <- c(whole("nrow", 1L), whole("ncol", 1L))
  # The number of rows and columns before the part.
  first <- c(rows[[1L]], cols[[1L]])
  if (!identical(c(rows[[2L]], cols[[2L]]), dim) || any(first + dim > total)) {
    wrong("the part must be inside the matrix, but is not")
  }
  type <- known$type
  types <- c(double = "f8", float = "f4", integer = "i4", short = "i2", char = "i1", raw = "u1")
  if (!(is.character(type) && length(type) == 1L && type %in% names(types))) {
    wrong(if (identical(type, "complex")) {
      "the matrix must have real numbers, but is complex"
    } else {
      "its 'type' must be one of bigmemory's types"
    })
  }
  file <- known$filename
  # Only a file in the folder of the description, where bigmemory looks.
  fits <- is.character(file) && length(file) == 1L && !is.na(file) && nzchar(file) &&
    file == basename(file) && !(file %in% c(".", ".."))
  if (!fits) {
    wrong("its 'filename' must be the name of a file in the same folder")
  }
  if (!(isTRUE(known$separated) || isFALSE(known$separated))) {
    wrong("its 'separated' must be TRUE or FALSE")
  }
  names <- list(known$rowNames, known$colNames)
  fits <- mapply(function(names, n) {
    is.null(names) || is.character(names) && length(names) == n
  }, names, dim)
  if (!all(fits)) {
    wrong("it must have a name for each row and each column, or none")
  }
  data <- file.path(dirname(path), file)
  size <- as.integer(substr(types[[type]], 2L, 2L))
  # Columns are numbered from 0, also in the names of their files.
  before <- first[[1L]] + if (known$separated) 0 else first[[2L]] * total[[1L]]
  if (before * size >= 2^53) {
    wrong("the matrix must fit into a file, but is larger than any file")
  }
  new_matrix_file(path, "bigmemory", dim,
    data = if (known$separated) paste0(data, "_column_") else data,
    number = native_number(types[[type]]), na = type %in% c("integer", "short", "char"),
    offset = before * size, stride = total[[1L]], separate = if (known$separated) first[[2L]],
    dimnames = if (!all(vapply(names, is.null, NA))) names
  )
}

# A description takes a few hundred bytes without names.
longest_description <- 2^30

# The list in new("big.matrix.descriptor", description = list(...)), as dput() writes it. The errors
# follow "must be a description by package bigmemory, but".
read_description <- function(path) {
  size <- file.size(path)
  if (size > longest_description) {
    stop("it is too long")
  }
  bytes <- readBin(path, "raw", size)
  gzip <- as.raw(c(0x1f, 0x8b))
  if (length(bytes) >= 2L && (identical(bytes[1:2], gzip) || any(bytes == 0))) {
    stop("it is binary: dput(describe(x), file) writes it as text")
  }
  code <- parse(text = rawToChar(bytes), keep.source = FALSE, encoding = "UTF-8")
  fits <- length(code) == 1L && is_call(code[[1L]], "new") && length(code[[1L]]) == 3L &&
    identical(code[[1L]][[2L]], "big.matrix.descriptor")
  if (!fits) {
    stop("it is not a call of new(\"big.matrix.descriptor\")")
  }
  description <- code[[1L]][[3L]]
  if (!identical(names(code[[1L]]), c("", "", "description")) || !is_call(description, "list")) {
    stop("its 'description' is not a list")
  }
  known <- lapply(as.list(description)[-1L], as_constant)
  if (is.null(names(known)) || anyDuplicated(names(known))) {
    stop("the parts of its list do not have different names")
  }
  known
}

is_call <- function(code, name) {
  is.call(code) && is.name(code[[1L]]) && identical(as.character(code[[1L]]), name)
}

# The value of code that dput() writes for vectors. Other code is an error, and is not run.
as_constant <- function(code) {
  if (is.null(code) || is.numeric(code) || is.character(code) || is.logical(code)) {
    return(code)
  }
  if (is_call(code, "c")) {
    # The parts are constants without a class, so unlist() calls no method.
    return(unlist(lapply(as.list(code)[-1L], as_constant), use.names = FALSE))
  }
  if (is_call(code, "-") && length(code) == 2L && is.numeric(code[[2L]])) {
    return(-code[[2L]])
  }
  if (is_call(code, ":") && length(code) == 3L) {
    from <- code[[2L]]
    to <- code[[3L]]
    if (is.numeric(from) && is.numeric(to) && length(from) == 1L && length(to) == 1L &&
      isTRUE(abs(from - to) < .Machine$integer.max)) {
      return(from:to)
    }
  }
  if (is.call(code) && length(code) == 2L && identical(code[[2L]], 0)) {
    # character(0), numeric(0) and so on.
    for (type in c("character", "numeric", "integer", "logical")) {
      if (is_call(code, type)) {
        return(vector(type, 0L))
      }
    }
  }
  stop("it has code other than constants")
}

# Writes the description that bigmemory's attach.big.matrix() reads, for the matrix in `data`, a
# file in the same folder.
write_description <- function(path, data, dim, single, names) {
  description <- list(
    sharedType = "FileBacked", filename = basename(data), dirname = paste0(dirname(data), "/"),
    totalRows = dim[[1L]], totalCols = dim[[2L]],
    rowOffset = c(0, dim[[1L]]), colOffset = c(0, dim[[2L]]),
    nrow = as.double(dim[[1L]]), ncol = as.double(dim[[2L]]),
    rowNames = names[[1L]], colNames = names[[2L]],
    type = if (single) "float" else "double", separated = FALSE
  )
  text <- deparse(description, control = c("keepNA", "keepInteger", "niceNames", "digits17"))
  text[[1L]] <- paste0("new(\"big.matrix.descriptor\", description = ", text[[1L]])
  text[[length(text)]] <- paste0(text[[length(text)]], ")")
  writeLines(enc2utf8(text), path, useBytes = TRUE)
}
