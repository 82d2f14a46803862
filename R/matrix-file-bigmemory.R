# bigmemory's descriptions of its files, which are R code that it would run. Here they are read as text.

describe_bigmemory <- function(path, call) {
  wrong <- function(what) abort("file_format", sprintf("%s: %s", path, what), call, path = path)
  known <- tryCatch(read_description(path), error = function(e) wrong(paste("no description by package bigmemory,", conditionMessage(e))))
  if (!identical(known$sharedType, "FileBacked")) {
    wrong("describes a matrix in memory, which has no file: give tile_matrix() the big.matrix itself")
  }
  whole <- function(name, length) {
    value <- known[[name]]
    if (!(is.numeric(value) && length(value) == length && all(is.finite(value) & value >= 0 & value < 2^53 & value == trunc(value)))) {
      wrong(sprintf("its '%s' is no count", name))
    }
    as.double(value)
  }
  total <- c(whole("totalRows", 1L), whole("totalCols", 1L))
  rows <- whole("rowOffset", 2L)
  cols <- whole("colOffset", 2L)
  dim <- c(whole("nrow", 1L), whole("ncol", 1L))
  # Places before the part, and its extents.
  first <- c(rows[[1L]], cols[[1L]])
  if (!identical(c(rows[[2L]], cols[[2L]]), dim) || any(first + dim > total)) {
    wrong("describes a part that is not in the matrix")
  }
  type <- known$type
  types <- c(double = "f8", float = "f4", integer = "i4", short = "i2", char = "i1", raw = "u1")
  if (!(is.character(type) && length(type) == 1L && type %in% names(types))) {
    wrong(if (identical(type, "complex")) "a matrix of complex numbers" else "its 'type' is none of bigmemory's")
  }
  file <- known$filename
  # In the folder of the description, where bigmemory looks, and nowhere else.
  if (!(is.character(file) && length(file) == 1L && !is.na(file) && nzchar(file) && file == basename(file) && !(file %in% c(".", "..")))) {
    wrong("its 'filename' is no name of a file in the same folder")
  }
  if (!(isTRUE(known$separated) || isFALSE(known$separated))) {
    wrong("its 'separated' is neither TRUE nor FALSE")
  }
  names <- list(known$rowNames, known$colNames)
  fits <- mapply(function(names, n) is.null(names) || is.character(names) && length(names) == n, names, dim)
  if (!all(fits)) {
    wrong("its names are not those of the rows and columns")
  }
  data <- file.path(dirname(path), file)
  size <- as.integer(substr(types[[type]], 2L, 2L))
  # Columns are numbered from 0, also in the names of their files.
  before <- first[[1L]] + if (known$separated) 0 else first[[2L]] * total[[1L]]
  if (before * size >= 2^53) {
    wrong("describes a matrix that is larger than any file")
  }
  new_matrix_file(path, "bigmemory", dim,
    data = if (known$separated) paste0(data, "_column_") else data, number = native_number(types[[type]]), na = type %in% c("integer", "short", "char"),
    offset = before * size, stride = total[[1L]], separate = if (known$separated) first[[2L]],
    dimnames = if (!all(vapply(names, is.null, NA))) names
  )
}

# A description takes a few hundred bytes, and more only for names.
longest_description <- 2^30

# The list in new("big.matrix.descriptor", description = list(...)), as dput() has written it.
read_description <- function(path) {
  size <- file.size(path)
  if (size > longest_description) {
    stop("it is too long")
  }
  bytes <- readBin(path, "raw", size)
  if (length(bytes) >= 2L && (identical(bytes[1:2], as.raw(c(0x1f, 0x8b))) || any(bytes == 0))) {
    stop("or one in binary form, which is not read: dput(describe(x), file) writes it as text")
  }
  code <- parse(text = rawToChar(bytes), keep.source = FALSE, encoding = "UTF-8")
  if (!(length(code) == 1L && is_call(code[[1L]], "new") && length(code[[1L]]) == 3L && identical(code[[1L]][[2L]], "big.matrix.descriptor"))) {
    stop("which is a call of new(\"big.matrix.descriptor\")")
  }
  description <- code[[1L]][[3L]]
  if (!identical(names(code[[1L]]), c("", "", "description")) || !is_call(description, "list")) {
    stop("which has a list of facts")
  }
  known <- lapply(as.list(description)[-1L], as_constant)
  if (is.null(names(known)) || anyDuplicated(names(known))) {
    stop("whose facts have names")
  }
  known
}

is_call <- function(code, name) is.call(code) && is.name(code[[1L]]) && identical(as.character(code[[1L]]), name)

# The value of what dput() writes for vectors. Anything else in a file is an error, and is not run.
as_constant <- function(code) {
  if (is.null(code) || is.numeric(code) || is.character(code) || is.logical(code)) {
    return(code)
  }
  if (is_call(code, "c")) {
    # The parts are constants alone: an object without a class, so that no method is called.
    return(unlist(lapply(as.list(code)[-1L], as_constant), use.names = FALSE))
  }
  if (is_call(code, "-") && length(code) == 2L && is.numeric(code[[2L]])) {
    return(-code[[2L]])
  }
  if (is_call(code, ":") && length(code) == 3L && is.numeric(code[[2L]]) && is.numeric(code[[3L]])) {
    if (length(code[[2L]]) == 1L && length(code[[3L]]) == 1L && isTRUE(abs(code[[2L]] - code[[3L]]) < .Machine$integer.max)) {
      return(code[[2L]]:code[[3L]])
    }
  }
  if (is.call(code) && length(code) == 2L && identical(code[[2L]], 0)) {
    # character(0) and its like.
    for (type in c("character", "numeric", "integer", "logical")) {
      if (is_call(code, type)) {
        return(vector(type, 0L))
      }
    }
  }
  stop("which has constants alone, and no code to run")
}

# What bigmemory's attach.big.matrix() reads: of the matrix in `data`, a file in the same folder.
write_description <- function(path, data, dim, single, names) {
  description <- list(
    sharedType = "FileBacked", filename = basename(data), dirname = paste0(dirname(data), "/"), totalRows = dim[[1L]], totalCols = dim[[2L]],
    rowOffset = c(0, dim[[1L]]), colOffset = c(0, dim[[2L]]), nrow = as.double(dim[[1L]]), ncol = as.double(dim[[2L]]), rowNames = names[[1L]], colNames = names[[2L]],
    type = if (single) "float" else "double", separated = FALSE
  )
  text <- deparse(description, control = c("keepNA", "keepInteger", "niceNames", "digits17"))
  text[[1L]] <- paste0("new(\"big.matrix.descriptor\", description = ", text[[1L]])
  text[[length(text)]] <- paste0(text[[length(text)]], ")")
  writeLines(enc2utf8(text), path, useBytes = TRUE)
}
