# Files of other formats: into files of tiles and out of them, each judged by another reader or
# writer where there is one.

tile <- 7L
extents <- c(0L, 1L, tile - 1L, tile, tile + 1L, 3L * tile + 2L)

# A name for a file in a folder of its own, which goes with the test.
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

test_that("raw files of all shapes, orders and types are read and written", {
  set.seed(1)
  for (m in extents) {
    for (n in extents) {
      x <- odd_matrix(m, n)
      for (order in c("column", "row")) {
        raw <- new_path("x.bin")
        write_raw(x, raw, by_rows = order == "row", before = as.raw(1:5))
        f <- matrix_file(raw, dim = c(m, n), offset = 5, order = order)
        expect_identical(dim(f), c(m, n))
        expect_identical(as_tiles(f), x)
        expect_identical(as_tiles(f, precision = "single"), as_single(x))
        write_raw(x, raw <- new_path("x.raw"), "single", by_rows = order == "row")
        expect_identical(
          as_tiles(matrix_file(raw, c(m, n), "single", order = order), precision = "single"),
          rounded_by_r(x)
        )
        whole <- matrix(as.double(sample(c(NA, -3:3), m * n, TRUE)), m, n)
        write_raw(whole, raw <- new_path("x.dat"), "integer", by_rows = order == "row")
        expect_identical(as_tiles(matrix_file(raw, c(m, n), "integer", order = order)), whole)
      }
      for (precision in c("double", "single")) {
        y <- as_tiles(x, precision = precision, keep = TRUE)
        f <- write_matrix_file(y, out <- new_path("y.bin"))
        expect_identical(dim(f), c(m, n))
        size <- if (precision == "double") 8L else 4L
        expect_identical(file.size(out), as.double(m * n * size))
        read <- matrix(readBin(out, "double", m * n, size), m, n)
        expect_identical(read, if (precision == "single") rounded_by_r(x) else x)
        expect_identical(as_tiles(f, precision = precision), as.matrix(y))
        unlink(y$path)
      }
    }
  }
})

test_that("both triangles of a symmetric matrix are written, and of a square file one is read", {
  set.seed(2)
  for (n in extents) {
    x <- crossprod(random_matrix(n, n)) + diag(n, n)
    half <- x
    half[lower.tri(half)] <- NaN
    write_raw(half, raw <- new_path("x.bin"))
    y <- as_tiles(matrix_file(raw, n), triangle = TRUE, keep = TRUE)
    expect_identical(as.matrix(y), x)
    write_raw(half, raw, by_rows = TRUE)
    expect_identical(as_tiles(matrix_file(raw, n, order = "row"), triangle = TRUE), x)
    write_matrix_file(y, out <- new_path("y.bin"))
    expect_identical(matrix(readBin(out, "double", n * n), n, n), x)
    if (n > 0) {
      r <- chol_file(y, device = "cpu")
      write_matrix_file(r, out <- new_path("r.npy"))
      expect_identical(as_tiles(matrix_file(out)), as.matrix(r))
      expect_equal(as.matrix(r), chol(x))
    }
    unlink(y$path)
  }
  write_raw(matrix(0, 2, 3), raw <- new_path("x.bin"))
  expect_error(
    as_tiles(matrix_file(raw, c(2, 3)), triangle = TRUE), class = "cudafactor_error_dimension"
  )
})

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

test_that(".npy files in both orders, byte orders and all versions are read", {
  set.seed(3)
  for (m in extents) {
    for (n in extents) {
      x <- odd_matrix(m, n)
      for (fortran in c(TRUE, FALSE)) {
        for (descr in c("<f8", ">f8")) {
          npy_file(x, descr, fortran, path <- new_path("x.npy"), version = 1L + (m + n) %% 3L)
          expect_identical(as_tiles(matrix_file(path)), x)
        }
      }
    }
  }
  x <- matrix(c(0, 1, 2, -3, 1, 0), 2)
  sized <- function(size, endian = "little") function(v, con) writeBin(
    as.integer(v), con, size = size, endian = endian
  )
  npy_file(x, ">i4", FALSE, path <- new_path("x.npy"), sized(4L, "big"))
  expect_identical(as_tiles(matrix_file(path)), x)
  npy_file(x, "<i2", TRUE, path, sized(2L))
  expect_identical(as_tiles(matrix_file(path)), x)
  npy_file(x, "|b1", TRUE, path, function(v, con) writeBin(as.raw(v != 0), con))
  expect_identical(as_tiles(matrix_file(path)), (x != 0) + 0)
  npy_file(x, ">f4", TRUE, path, function(v, con) writeBin(v, con, size = 4L, endian = "big"))
  expect_identical(as_tiles(matrix_file(path), precision = "single"), x)
  # An integer is a number, the smallest one too; a vector is a column.
  npy_file(matrix(c(NA, 7L), 2), "<i4", FALSE, path, shape = 2)
  expect_identical(as_tiles(matrix_file(path)), matrix(c(-2^31, 7), 2))
  expect_error(matrix_file(path, dim = 2), class = "cudafactor_error_argument")
})

test_that("NumPy reads what is written and what it writes is read", {
  python <- Find(
    function(python) nzchar(python) && identical(
      suppressWarnings(
        system2(python, c("-c", shQuote("import numpy")), stdout = FALSE, stderr = FALSE)
      ),
      0L
    ),
    c(Sys.which("python3"), "/usr/bin/python3")
  )
  skip_if(is.null(python), "there is no Python with NumPy")
  run <- function(...) {
    script <- new_path("a.py")
    writeLines(c("import numpy as np", ...), script)
    system2(python, shQuote(script), stdout = TRUE)
  }
  set.seed(4)
  x <- odd_matrix(3L * tile + 2L, tile + 1L)
  for (precision in c("double", "single")) {
    y <- as_tiles(x, precision = precision, keep = TRUE)
    write_matrix_file(y, npy <- new_path("x.npy"))
    raw <- new_path("x.bin")
    said <- run(
      sprintf(
        "x = np.load(r'%s', mmap_mode='r')", npy
      ),
      sprintf("x.astype('<f8').T.tofile(r'%s')", raw),
      "print(x.shape, x.dtype, x.flags.f_contiguous)"
    )
    expect_identical(
      said,
      sprintf("(%d, %d) float%d True", nrow(x), ncol(x), if (precision == "double") 64 else 32)
    )
    expect_identical(
      matrix(readBin(raw, "double", length(x), endian = "little"), nrow(x)), as.matrix(y)
    )
    unlink(y$path)
  }
  whole <- matrix(as.double(sample(0:100, 30L * 9L, TRUE)), 30)
  folder <- dirname(npy <- new_path("x.npy"))
  run(
    sprintf("x = np.array([%s]).reshape(9, 30).T", paste(as.integer(whole), collapse = ", ")),
    "for t in 'f8 >f8 f4 >f4 i1 u1 i2 >u2 i4 >i4 u4 i8 >i8 u8'.split():",
    "  for order in 'CF':",
    "    name = t.replace('>', 'big') + order + '.npy'",
    sprintf("    np.save(r'%s/' + name, np.array(x, dtype=t, order=order))", folder),
    "for v in 2, 3:",
    sprintf("  with open(r'%s/version%%d.npy' %% v, 'wb') as f:", folder),
    "    np.lib.format.write_array(f, x.astype('f8'), version=(v, 0))"
  )
  files <- list.files(folder, full.names = TRUE)
  expect_length(files, 30L)
  for (file in files) {
    expect_identical(as_tiles(matrix_file(file)), whole, info = file)
  }
  folder <- dirname(npy <- new_path("x.npy"))
  run(
    "for name, x in dict(complex=np.zeros((2, 2), dtype='c16'), object=np.array([[None, 1]]),",
    "  text=np.array([['a']]), cube=np.zeros((2, 2, 2)), scalar=np.array(1.0),",
    "  half=np.zeros((2, 2), dtype='f2'),",
    "  fields=np.zeros((2, 2), dtype=[('a', 'f8')])).items():",
    sprintf("  np.save(r'%s/' + name + '.npy', x)", folder)
  )
  files <- list.files(folder, full.names = TRUE)
  expect_length(files, 7L)
  for (file in files) {
    expect_error(matrix_file(file), class = "cudafactor_error_file_format")
  }
})

test_that("damaged files are errors, and nothing is left of a file that was begun", {
  x <- random_matrix(20, 9)
  npy_file(x, "<f8", TRUE, path <- new_path("x.npy"))
  bytes <- readBin(path, "raw", 1e4)
  set.seed(5)
  for (k in 1:300) {
    damaged <- if (k <= 100) bytes[seq_len(k)] else replace(
      bytes, sample.int(70, 1), as.raw(sample.int(256, 1) - 1)
    )
    writeBin(damaged, path)
    done <- tryCatch(dim(matrix_file(path)), cudafactor_error_file_format = function(e) NULL)
    expect_true(is.null(done) || length(done) == 2L)
  }
  # R has no texts with a zero in them.
  text <- c(
    charToRaw("{'descr': '"), as.raw(0),
    charToRaw("', 'fortran_order': True, 'shape': (20, 9), }\n")
  )
  writeBin(c(npy_bytes(strrep(" ", length(text)))[1:10], text, raw(1440)), path)
  expect_error(
    matrix_file(path), "type \\u{0}", fixed = TRUE, class = "cudafactor_error_file_format"
  )
  writeBin(bytes[-length(bytes)], path)
  expect_error(matrix_file(path), "has 1[0-9]* bytes", class = "cudafactor_error_file_format")
  writeBin(bytes, path)
  f <- matrix_file(path)
  writeBin(c(bytes, as.raw(1:9)), path)
  expect_error(matrix_file(path), "has [0-9]+ bytes", class = "cudafactor_error_file_format")
  # Cut off after it was looked at.
  writeBin(bytes[1:500], path)
  file <- tempfile(fileext = ".tiles")
  expect_error(tile_matrix(f, file), class = "cudafactor_error_file_format")
  expect_false(file.exists(file))
  write_raw(x, raw <- new_path("x.bin"))
  expect_error(matrix_file(raw, c(20, 8)), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, c(20, 10)), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, c(20, 9), offset = 8), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, 2^40), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, c(20, 9), "integer"), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, format = "npy"), class = "cudafactor_error_file_format")
  expect_error(matrix_file(raw, format = "bigmemory"), class = "cudafactor_error_file_format")
})

test_that("arguments that make no sense are errors", {
  write_raw(diag(2), raw <- new_path("x.bin"))
  expect_error(matrix_file(), class = "cudafactor_error_argument")
  for (path in list(1, NA_character_, "", c("a", "b"))) {
    expect_error(matrix_file(path), class = "cudafactor_error_argument")
  }
  expect_error(matrix_file(raw), "'dim'", class = "cudafactor_error_argument")
  for (dim in list(-1, 1.5, c(1, NA), 1:3, "a", Inf)) {
    expect_error(matrix_file(raw, dim), class = "cudafactor_error_argument")
  }
  for (offset in list(-1, 0.5, NA, 1:2, "a", Inf)) {
    expect_error(matrix_file(raw, 2, offset = offset), class = "cudafactor_error_argument")
  }
  expect_error(matrix_file(raw, 2, type = "half"), class = "cudafactor_error_argument")
  expect_error(matrix_file(raw, 2, order = "C"), class = "cudafactor_error_argument")
  expect_error(matrix_file(raw, 2, format = "csv"), class = "cudafactor_error_argument")
  expect_error(matrix_file(raw, 2, dataset = "x"), class = "cudafactor_error_argument")
  expect_error(matrix_file(file.path(raw, "none"), 2), class = "cudafactor_error_file")
  expect_error(matrix_file(dirname(raw), 2), class = "cudafactor_error_file")
  f <- matrix_file(raw, 2)
  expect_error(tile_matrix(f, tempfile(), dim = 2), class = "cudafactor_error_argument")
  expect_error(as.matrix(f), class = "cudafactor_error_type")
  expect_output(print(f), "matrix_file: 2 x 2, raw binary")
  y <- as_tiles(diag(2), keep = TRUE)
  on.exit(unlink(y$path))
  expect_error(write_matrix_file(), class = "cudafactor_error_argument")
  expect_error(write_matrix_file(y), class = "cudafactor_error_argument")
  expect_error(write_matrix_file(y, 1), class = "cudafactor_error_argument")
  expect_error(write_matrix_file(diag(2), tempfile()), class = "cudafactor_error_type")
  expect_error(write_matrix_file(y, tempfile(), dataset = "y"), class = "cudafactor_error_argument")
  expect_error(
    write_matrix_file(y, tempfile(fileext = ".h5"), dataset = 1),
    class = "cudafactor_error_argument"
  )
  expect_error(
    write_matrix_file(y, tempfile(), format = "csv"), class = "cudafactor_error_argument"
  )
  expect_error(write_matrix_file(y, file.path(raw, "none")), class = "cudafactor_error_file")
})

test_that("binary numbers get no name of text, unless the format is said", {
  y <- as_tiles(diag(2), keep = TRUE)
  on.exit(unlink(y$path))
  for (end in c(".csv", ".tsv", ".txt", ".CSV")) {
    path <- tempfile(fileext = end)
    e <- expect_error(write_matrix_file(y, path), "text", class = "cudafactor_error_argument")
    expect_identical(e$argument, "format")
    expect_false(file.exists(path))
    write_matrix_file(y, path, format = "raw")
    expect_identical(readBin(path, "double", 5), c(1, 0, 0, 1))
    expect_error(matrix_file(path, 2), "text", class = "cudafactor_error_argument")
    expect_identical(dim(matrix_file(path, 2, format = "raw")), c(2L, 2L))
    unlink(path)
  }
})

test_that("what exists is left as it is, and what cannot be completed is removed", {
  x <- random_matrix(20, 20)
  y <- as_tiles(x, keep = TRUE)
  on.exit(unlink(y$path))
  for (end in c("bin", "npy", "desc", "h5")) {
    path <- new_path(paste0("x.", end))
    writeLines("mine", path)
    expect_error(write_matrix_file(y, path), class = "cudafactor_error_file_exists")
    expect_identical(readLines(path), "mine")
  }
  # The file beside the description.
  path <- new_path("x.desc")
  writeLines("mine", sub("desc$", "bin", path))
  expect_error(write_matrix_file(y, path), class = "cudafactor_error_file_exists")
  expect_identical(readLines(sub("desc$", "bin", path)), "mine")
  expect_false(file.exists(path))
  # A damaged tile.
  con <- file(y$path, "r+b")
  seek(con, 3 * 4096 + 17, rw = "write")
  writeBin(as.raw(255L), con)
  close(con)
  ends <- c("bin", "npy", "desc", if (requireNamespace("hdf5r", quietly = TRUE)) "h5")
  for (end in ends) {
    path <- new_path(paste0("x.", end))
    expect_error(write_matrix_file(y, path), class = "cudafactor_error_file_corrupt")
    expect_identical(list.files(dirname(path)), character())
  }
})

test_that("an interrupt leaves no file", {
  x <- random_matrix(240, 240)
  y <- tile_matrix(x, tempfile(fileext = ".tiles"), tile = 2)
  on.exit(unlink(y$path))
  write_raw(x, raw <- new_path("x.bin"))
  for (end in c("bin", "npy", "desc")) {
    path <- new_path(paste0("x.", end))
    setTimeLimit(elapsed = 0.01, transient = TRUE)
    expect_error(write_matrix_file(y, path), "time limit")
    setTimeLimit()
    expect_identical(list.files(dirname(path)), character())
  }
  file <- new_path("y.tiles")
  setTimeLimit(elapsed = 0.01, transient = TRUE)
  expect_error(tile_matrix(matrix_file(raw, 240), file, tile = 2), "time limit")
  setTimeLimit()
  expect_identical(list.files(dirname(file)), character())
})
