# Parts of matrices on disk.

test_that("parts are those of the plain matrix", {
  set.seed(4)
  m <- 3L * tile + 2L
  n <- 2L * tile + 1L
  s <- crossprod(random_matrix(m, m))
  for (x in list(random_matrix(m, n), s)) {
    file <- new_file()
    y <- tile_matrix(x, file, triangle = nrow(x) == ncol(x), tile = tile)
    expect_identical(y[, ], x)
    expect_identical(y[, , drop = FALSE], x)
    expect_identical(y[], y)
    expect_identical(head(y, 3), head(x, 3))
    for (i in subscripts(nrow(x))) {
      expect_identical(y[i, ], x[i, ])
      for (j in subscripts(ncol(x))) {
        expect_identical(y[i, j], x[i, j])
        expect_identical(y[i, j, drop = FALSE], x[i, j, drop = FALSE])
      }
    }
    for (j in subscripts(ncol(x))) {
      expect_identical(y[, j], x[, j])
    }
    unlink(file)
  }
})

test_that("subscripts that make no sense are errors", {
  y <- tile_matrix(diag(5), file <- new_file(), tile = 2)
  on.exit(unlink(file))
  for (e in list(
    outcome(y[1]), outcome(y[y]), outcome(y[6, 1]), outcome(y[1, 6]), outcome(y["a", 1]),
    outcome(y[c(-1, 1), 1]),
    outcome(y[1, 1, 1]), outcome(y[rep(TRUE, 6), 1]), outcome(y[1, -1i])
  )) {
    expect_s3_class(e$condition, "cudafactor_error_dimension")
  }
  expect_match(outcome(y[1])$error, "two subscripts")
  expect_match(deparse(outcome(y[1])$condition$call), "y[1]", fixed = TRUE)
  expect_error(y[1, 1] <- 2, class = "cudafactor_error_argument")
  expect_identical(as.matrix(y), diag(5))
})

test_that("what memory has no room for is not read", {
  memory <- gpu_mem()[1L, ]
  skip_if(is.na(memory$free), "the system does not tell what memory is free")
  x <- tile_matrix(matrix(7), file <- new_file())
  on.exit(unlink(file))
  # The addresses of so much can mostly be had, and the pages cannot.
  n <- ceiling(sqrt((memory$free + memory$total) / 2 / 8))
  e <- expect_error(x[rep(1L, n), rep(1L, n)])
  if (inherits(e, "cudafactor_error")) {
    expect_s3_class(e, "cudafactor_error_host_memory")
    expect_identical(e$needed, 8 * n^2)
    expect_match(conditionMessage(e), "GiB in memory, more than is free")
  }
  # Functions that know nothing of files have all of it.
  plain <- definite_matrix(9)
  x <- tile_matrix(plain, second <- new_file(), tile = 4)
  on.exit(unlink(second), add = TRUE)
  expect_identical(svd(x), svd(plain))
  expect_identical(qr(x), qr(plain))
  expect_identical(gpu_lu(x), gpu_lu(plain))
  expect_identical(as.matrix(as_gpu(x, "cpu")), plain)
})

test_that("a damaged tile is named, and others can be read", {
  x <- matrix(as.double(1:400), 20)
  y <- tile_matrix(x, file <- new_file(), tile = 10)
  on.exit(unlink(file))
  # The tiles are in the order of columns, at the end of the first page and of two tables of a page
  # each.
  con <- file(file, "r+b")
  seek(con, 3 * 4096 + 2 * 4096 + 17, rw = "write")
  writeBin(as.raw(255L), con)
  close(con)
  e <- tryCatch(as.matrix(y), error = identity)
  expect_s3_class(
    e, c("cudafactor_error_file_corrupt", "cudafactor_error_file", "cudafactor_error"),
    exact = FALSE
  )
  expect_identical(list(e$row, e$col, e$path), list(1L, 2L, y$path))
  expect_identical(y[11:20, 1:20], x[11:20, 1:20])
  expect_error(y[1, 11], class = "cudafactor_error_file_corrupt")
})
