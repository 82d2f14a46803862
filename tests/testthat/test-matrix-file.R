# Files of other formats: into files of tiles and out of them, each judged by another reader or
# writer where there is one.

test_that("raw files of all shapes, orders and types are read and written", {
  set.seed(1)
  for (m in sizes) {
    for (n in sizes) {
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
  for (n in sizes) {
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

test_that(".npy files in both orders, byte orders and all versions are read", {
  set.seed(3)
  for (m in sizes) {
    for (n in sizes) {
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
