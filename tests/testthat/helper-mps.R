# MPS files for tests, and the problems read from them.

mps_file <- function(...) {
  file <- tempfile(fileext = ".mps")
  writeLines(c(...), file)
  file
}

rows <- c("ROWS", " N C", " L R1", " G R2", " E R3")

columns <- c("COLUMNS", " X C 1 R1 1", " X R2 1", " Y C 2 R1 1", " Y R3 1")

rhs <- c("RHS", " RHS R1 4 R2 1", " RHS R3 2")

small <- function(before = "NAME P", after = NULL, r = rows, c = columns, b = rhs) {
  mps_file(before, r, c, b, after, "ENDATA")
}

read <- function(file, ...) {
  on.exit(unlink(file))
  lp_read_mps(file, ...)
}

# The condition that reading signals.
signalled <- function(file, ...) {
  on.exit(unlink(file))
  tryCatch(
    {
      lp_read_mps(file, ...)
      NULL
    },
    condition = identity
  )
}

full <- function(p) {
  lower <- numeric(length(p$obj))
  upper <- rep(Inf, length(p$obj))
  lower[p$bounds$lower$ind] <- p$bounds$lower$val
  upper[p$bounds$upper$ind] <- p$bounds$upper$val
  list(lower = lower, upper = upper)
}

dense <- function(p) {
  a <- matrix(0, p$mat$nrow, p$mat$ncol, dimnames = p$mat$dimnames)
  a[cbind(p$mat$i, p$mat$j)] <- p$mat$v
  a
}
