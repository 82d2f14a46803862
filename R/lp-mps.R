# Linear programs in MPS files.

#' A linear program from an MPS file
#'
#' `lp_read_mps()` reads a file in the MPS format, fixed or free, and returns the arguments of
#' [lp_ipm()]: `do.call(lp_ipm, lp_read_mps(file))` solves the problem. Files compressed by gzip,
#' bzip2 or xz are read as well.
#'
#' Where programs differ about the format, the reader follows HiGHS:
#' * A right-hand side of the objective row is minus the objective's constant.
#' * The first row of type N is the objective, or the one that a section `OBJNAME` names. Further
#'   rows of type N are left out.
#' * `OBJSENSE` may have `MAX` or `MIN` on its own line or on the next one.
#' * Names of sections and types of rows and bounds may be in lower case. Names of sets may be
#'   missing. Numbers may have Fortran's exponent `D`.
#' * If a coefficient, a right-hand side, a range or a bound occurs twice, the first one counts,
#'   with a warning. A second set of right-hand sides, ranges or bounds adds to the first one, with
#'   a warning.
#' * Entries of a row that does not exist are left out, with a warning. A column that occurs in
#'   `BOUNDS` alone is added, with a warning.
#' * An upper bound below 0 makes the lower bound `-Inf` if the file has no lower bound, with a
#'   warning.
#'
#' These are errors: a row or a column that is defined twice, a malformed number, and a file without
#' `ENDATA`.
#'
#' @return A list with `obj`, `mat`, `dir`, `rhs`, `bounds`, `max`, `range` and `constant`. `mat` is
#'   a `simple_triplet_matrix`, whose methods are in package slam; [lp_ipm()] does not need that
#'   package. Its dimnames are the names of rows and columns, so the solution and the duals of
#'   [lp_ipm()] are named. The attribute `name` is the name of the problem, and `objective` that of
#'   the objective row. With `relax = TRUE` the attribute `integers` has the names of the integer
#'   variables.
#'
#' @section Errors:
#' - `cudafactor_error_file` (field `path`): the file does not exist, cannot be read, or is not a
#'   regular file.
#' - `cudafactor_error_file_format` (fields `path` and `line`): the file is not an MPS file, is
#'   damaged, or is not a linear program. Linear programs have no integer variables (unless `relax`
#'   is `TRUE`), semi-continuous variables, quadratic terms, indicators or special ordered sets.
#'
#' The warning `cudafactor_warning_argument` (fields `path`, `line` and `count`) is signalled once
#' for each of the reasons above.
#' @param file The name of the file, a string.
#' @param type `"auto"` (the default), `"fixed"` or `"free"`. `"auto"` separates fields by blanks.
#'   It uses the columns of the fixed format if only they make sense, as with blanks in names.
#' @param relax `FALSE` (the default) makes integer variables an error. `TRUE` makes them
#'   continuous, from 0 to 1 if `BOUNDS` does not name them.
#' @seealso [lp_ipm()]
#' @examples
#' file <- tempfile(fileext = ".mps")
#' writeLines(c(
#'   "NAME          PLAN", "ROWS", " N  COST", " G  NEED", "COLUMNS",
#'   "    X         COST               2.0   NEED               1.0",
#'   "    Y         COST               3.0   NEED               2.0",
#'   "RHS", "    RHS       NEED               4.0   COST             -10.0", "ENDATA"
#' ), file)
#' plan <- do.call(lp_ipm, lp_read_mps(file))
#' plan$optimum # with the constant 10
#' plan$solution
#' plan$dual
#' unlink(file)
#' @export
lp_read_mps <- function(file, type = c("auto", "fixed", "free"), relax = FALSE) {
  call <- sys.call()
  if (missing(file)) {
    abort_missing("file", call)
  }
  if (!(is.character(file) && length(file) == 1L && !is.na(file))) {
    abort_argument("file", "'file' must be the name of a file, a string", call)
  }
  known <- c("auto", "fixed", "free")
  if (!(is.character(type) && length(type) >= 1L && type[[1L]] %in% known)) {
    abort_argument("type", "'type' must be \"auto\", \"fixed\" or \"free\"", call)
  }
  if (!(isTRUE(relax) || isFALSE(relax))) {
    abort_argument("relax", "'relax' must be TRUE or FALSE", call)
  }
  if (!file.exists(file)) {
    abort("file", sprintf("%s: there is no such file", file), call, path = file)
  }
  unwrap(native_file_check(path.expand(file)), call)
  read <- unwrap(native_read_mps(read_bytes(file, call), type[[1L]]), call)
  if (!is.null(read$fault)) {
    abort_mps(file, read$line, read$fault, call)
  }
  if (length(read$integers) && !relax) {
    abort_mps(file, NULL, sprintf(
      paste(
        "all variables must be continuous, but there are %d integer variable%s,",
        "the first one '%s': relax = TRUE makes them continuous"
      ), length(read$integers), if (length(read$integers) == 1L) "" else "s",
      read$columns[[read$integers[[1L]]]]
    ), call)
  }
  for (k in seq_along(read$notes)) {
    more <- if (read$counts[[k]] > 1) sprintf(" (and %.0f more)", read$counts[[k]] - 1) else ""
    warn("argument", sprintf("%s:%.0f: %s%s", file, read$lines[[k]], read$notes[[k]], more), call,
      path = file, line = read$lines[[k]], count = read$counts[[k]])
  }
  mps_arguments(read)
}

# `line` is NULL for an error of the whole file.
abort_mps <- function(file, line, what, call) {
  place <- if (is.null(line)) file else sprintf("%s:%.0f", file, line)
  abort("file_format", sprintf("%s: %s", place, what), call, path = file, line = line)
}

# All bytes of a file, decompressed. R reports damage to a compressed file by a warning or an error.
# The handler of warnings comes last, so that the handler of errors does not see its error.
read_bytes <- function(file, call) {
  failed <- function(e) {
    text <- sprintf("%s: the file cannot be read: %s", file, conditionMessage(e))
    abort("file_format", text, call, path = file)
  }
  tryCatch(
    {
      if (is_bzip2(file)) return(read_bzip2(file))
      source <- gzfile(file, "rb")
      on.exit(close(source))
      parts <- list()
      while (length(part <- readBin(source, "raw", 2^24))) {
        parts[[length(parts) + 1L]] <- part
      }
      if (length(parts)) do.call(c, parts) else raw()
    },
    error = failed, warning = failed
  )
}

is_bzip2 <- function(file) {
  isTRUE(file.size(file) >= 4) && identical(readBin(file, "raw", 3L), charToRaw("BZh"))
}

# R's connections end a damaged bzip2 file early without a warning, so its streams are decompressed
# in memory, which checks them. A stream begins with "BZh", a digit, and the magic number of a block
# or, if it is empty, of its end.
read_bzip2 <- function(file) {
  bytes <- readBin(file, "raw", file.size(file))
  block <- charToRaw("1AY&SY")
  end <- as.raw(c(0x17, 0x72, 0x45, 0x38, 0x50, 0x90))
  starts <- grepRaw(charToRaw("BZh"), bytes, fixed = TRUE, all = TRUE)
  starts <- Filter(function(at) list(bytes[at + 4:9]) %in% list(block, end), starts)
  streams <- Map(function(from, to) bytes[from:to], starts, c(starts[-1L] - 1L, length(bytes)))
  whole <- identical(starts[1L], 1L) && all(vapply(streams, ends_as_bzip2, NA, end))
  data <- if (whole) {
    # Only an internal error means damage; others, such as too little memory, are passed on.
    tryCatch(lapply(streams, memDecompress, "bzip2"), error = function(e) {
      if (!grepl("internal error", conditionMessage(e), fixed = TRUE)) stop(e)
    })
  }
  if (is.null(data)) stop("its bzip2 data are damaged")
  do.call(c, data)
}

# Whether a stream's last bits are the magic number of its end, 32 bits of a checksum, and less than
# a byte of padding.
ends_as_bzip2 <- function(stream, end) {
  bits <- function(bytes) as.integer(matrix(rawToBits(bytes), 8L)[8:1, ])
  last <- bits(utils::tail(stream, 11L))
  any(vapply(0:7, function(padding) identical(last[9:56 - padding], bits(end)), NA))
}

mps_arguments <- function(read) {
  m <- length(read$rows)
  n <- length(read$columns)
  bounds <- function(values, usual) {
    ind <- which(values != usual)
    list(ind = ind, val = values[ind])
  }
  arguments <- list(
    obj = stats::setNames(read$costs, read$columns),
    mat = structure(class = "simple_triplet_matrix", list(
      i = read$i, j = read$j, v = read$v, nrow = m, ncol = n,
      dimnames = list(read$rows, read$columns)
    )),
    dir = c("<=", ">=", "==")[read$relations],
    rhs = stats::setNames(read$rhs, read$rows),
    bounds = list(lower = bounds(read$lower, 0), upper = bounds(read$upper, Inf)),
    max = read$max,
    range = if (!all(is.nan(read$ranges))) {
      ifelse(is.nan(read$ranges), NA_real_, read$ranges)
    },
    constant = read$constant
  )
  attr(arguments, "name") <- read$name
  attr(arguments, "objective") <- read$objective
  if (length(read$integers)) attr(arguments, "integers") <- read$columns[read$integers]
  arguments
}
