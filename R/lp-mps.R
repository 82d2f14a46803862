# Linear programs in files, which another package reads.

#' A linear program from an MPS file
#'
#' Reads a file in the MPS format, fixed or free, by `Rglpk::Rglpk_read_file()`, which has to be installed, and gives the arguments of [lp_ipm()]: `do.call(lp_ipm, lp_read_mps(file))` solves it.
#'
#' GLPK reads compressed files, too. It leaves out a constant in the objective, and makes two rows of one with a range.
#'
#' @section Value:
#' A list with `obj`, `mat` (a `simple_triplet_matrix` of package slam), `dir`, `rhs`, `bounds` and `max`. Integer variables are taken as continuous, with a warning.
#' @section Failure:
#' `cudafactor_error_file`: there is no such file, or it cannot be read (field `path`). `cudafactor_error_argument`: package Rglpk is not installed. The warning `cudafactor_warning_argument`: variables that are to be whole numbers.
#' @param file The name of the file.
#' @param type `"fixed"` or `"free"`.
#' @seealso [lp_ipm()]
#' @examples
#' file <- tempfile(fileext = ".mps")
#' writeLines(c(
#'   "NAME          PLAN", "ROWS", " N  COST", " G  NEED", "COLUMNS",
#'   "    X         COST               2.0   NEED               1.0",
#'   "    Y         COST               3.0   NEED               2.0",
#'   "RHS", "    RHS       NEED               4.0", "ENDATA"
#' ), file)
#' if (requireNamespace("Rglpk", quietly = TRUE)) {
#'   do.call(lp_ipm, lp_read_mps(file))
#' }
#' unlink(file)
#' @export
lp_read_mps <- function(file, type = c("fixed", "free")) {
  call <- sys.call()
  if (missing(file)) {
    abort_missing("file", call)
  }
  if (!(is.character(file) && length(file) == 1L && !is.na(file))) {
    abort_argument("file", "'file' must be the name of a file", call)
  }
  if (!(is.character(type) && length(type) >= 1L && type[[1L]] %in% c("fixed", "free"))) {
    abort_argument("type", "'type' must be \"fixed\" or \"free\"", call)
  }
  if (!requireNamespace("Rglpk", quietly = TRUE)) {
    abort_argument("file", "package Rglpk, which reads MPS files, is not installed", call)
  }
  if (!file.exists(file)) {
    abort("file", sprintf("%s: there is no such file", file), call, path = file)
  }
  unwrap(native_file_check(path.expand(file)), call)
  read <- tryCatch(
    Rglpk::Rglpk_read_file(file, type = paste0("MPS_", type[[1L]]), verbose = FALSE),
    error = function(e) abort("file", mps_failure(file, type[[1L]], conditionMessage(e)), call, path = file)
  )
  if (any(read$types != "C")) {
    warn("argument", sprintf("%d variables that are to be whole numbers are taken as any numbers", sum(read$types != "C")), call)
  }
  list(
    obj = as.vector(as.matrix(read$objective)), mat = read$constraints[[1L]], dir = read$constraints[[2L]], rhs = read$constraints[[3L]],
    bounds = read$bounds, max = isTRUE(read$maximum)
  )
}

# GLPK says what is wrong, if asked to, on the console alone.
mps_failure <- function(file, type, message) {
  said <- utils::capture.output(
    tryCatch(Rglpk::Rglpk_read_file(file, type = paste0("MPS_", type), verbose = TRUE), error = function(e) NULL)
  )
  reason <- grep("^(.*:[0-9]+: |.*error)", said, value = TRUE)
  hint <- if (type == "fixed") "; if the file is free MPS, say type = \"free\""
  paste0(file, ": ", if (length(reason)) utils::tail(reason, 1L) else message, hint)
}
