# Files of other formats for tests.

tile <- 7L

sizes <- c(0L, 1L, tile - 1L, tile, tile + 1L, 3L * tile + 2L)

# A name for a file in a new folder, which is removed with the test.
new_path <- function(name, env = parent.frame()) {
  folder <- tempfile("formats")
  dir.create(folder)
  do.call(on.exit, list(bquote(unlink(.(folder), recursive = TRUE)), add = TRUE), envir = env)
  file.path(folder, name)
}

as_tiles <- function(x, ..., keep = FALSE) {
  file <- tempfile(fileext = ".tiles")
  on.exit(if (!keep) unlink(file))
  y <- tile_matrix(x, file, tile = tile, ...)
  if (keep) y else as.matrix(y)
}

# With some numbers that are none.
odd_matrix <- function(m, n) {
  x <- random_matrix(m, n)
  x[seq_along(x) %% 11 == 3] <- c(NaN, Inf, -Inf, NA, -0)[seq_len(
    sum(seq_along(x) %% 11 == 3)
  ) %% 5 + 1]
  x
}

write_raw <- function(x, path, type = "double", by_rows = FALSE, before = raw()) {
  x <- as.vector(if (by_rows) t(x) else x)
  con <- file(path, "wb")
  on.exit(close(con))
  writeBin(before, con)
  writeBin(
    if (type == "integer") as.integer(x) else as.double(x), con,
    size = if (type == "double") 8L else 4L
  )
}

# R's own reading and writing of single precision makes NaN of NA.
rounded_by_r <- function(x) {
  x[is.na(x)] <- NaN
  as_single(x)
}

npy_bytes <- function(text, version = 1L) {
  c(
    as.raw(0x93), charToRaw("NUMPY"), as.raw(c(version, 0)),
    writeBin(
      nchar(text), raw(), size = if (version == 1L) 2L else 4L, endian = "little"
    ), charToRaw(text)
  )
}

npy_file <- function(x, descr, fortran, path, write = function(v, con) writeBin(
  v, con, endian = if (startsWith(descr, ">")) "big" else "little"
),
                     shape = dim(x), version = 1L) {
  con <- file(path, "wb")
  on.exit(close(con))
  text <- sprintf(
    "{'descr': '%s', 'fortran_order': %s, 'shape': (%s,), }\n", descr,
    if (fortran) "True" else "False", paste(shape, collapse = ", ")
  )
  writeBin(npy_bytes(text, version), con)
  write(as.vector(if (fortran) x else t(x)), con)
}
