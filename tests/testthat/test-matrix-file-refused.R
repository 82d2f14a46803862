# Files of other formats that are damaged, exist already or cannot be completed.

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

test_that("an existing file is unchanged, and an incomplete file is removed", {
  x <- random_matrix(20, 20)
  y <- as_tiles(x, keep = TRUE)
  on.exit(unlink(y$path))
  for (end in c("bin", "npy", "desc", "h5")) {
    path <- new_path(paste0("x.", end))
    writeLines("mine", path)
    expect_error(write_matrix_file(y, path), class = "cudafactor_error_file_exists")
    expect_identical(readLines(path), "mine")
  }
  # The file next to the description.
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
