# Matrices that are stored as a whole: chol_file() looks at their upper triangle, as chol() does.

new_file <- function() tempfile(fileext = ".tiles")

tile_bytes <- function(tile, precision = "double")
  ceiling(tile^2 * (if (precision == "single") 4 else 8) / 4096) * 4096

# Changes a byte of the tile in block row `i` and block column `j`, which `blocks` rows of tiles
# come before; again: and back.
change_tile <- function(path, tile, i, j, blocks) {
  bytes <- tile_bytes(tile)
  tables <- ceiling((32 + 12 * blocks^2) / 4096) * 4096
  file <- file(path, "r+b")
  on.exit(close(file))
  at <- 4096 + 2 * tables + ((j - 1) * blocks + i - 1) * bytes + 8 * (tile + 1)
  seek(file, at, rw = "read")
  old <- readBin(file, "raw", 1L)
  seek(file, at, rw = "write")
  writeBin(xor(old, as.raw(4L)), file)
}

test_that("the defaults of tile_matrix() and chol_file() go together", {
  for_each_setting(function(device, precision) {
    set.seed(2)
    for (n in c(1L, 16L, 83L)) {
      x <- definite_matrix(n)
      # Only the upper triangle is looked at.
      given <- x
      given[lower.tri(given)] <- rnorm(n * (n - 1) / 2)
      k <- tile_matrix(given, file <- new_file(), tile = 16, precision = precision)
      same <- tile_matrix(given, triangle <- new_file(), tile = 16, precision = precision,
        triangle = TRUE)
      wanted <- as.matrix(chol_file(same, device = device))
      before <- as.matrix(k)
      r <- chol_file(k, second <- new_file(), device = device)
      expect_true(r$triangle)
      expect_identical(as.matrix(r), wanted)
      expect_small(residual_cholesky(as.matrix(r), x, precision), "cholesky")
      expect_identical(as.matrix(k), before)
      # In place, in little memory.
      memory <- 5 * tile_bytes(k$tile, precision)
      r <- chol_file(k, host_memory = memory, gpu_memory = memory, device = device)
      expect_identical(r$path, k$path)
      expect_true(r$triangle)
      expect_identical(as.matrix(open_tile_matrix(file)), wanted)
      expect_true(all(as.matrix(r)[lower.tri(x)] == 0))
      expect_false(file.exists(paste0(k$path, ".factor")))
      expect_equal(chol_solve(r, rep(1, n), device = device),
        chol_solve(same, rep(1, n), device = device))
      # The object from before is of the same file.
      expect_error(chol_file(k), "Cholesky factor already", class = "cudafactor_error_argument")
      expect_identical(as.matrix(chol_file(k, resume = TRUE)), wanted)
      unlink(c(file, triangle, second))
    }
  })
})

test_that("a factorization of a whole matrix that was cut short leaves the matrix, and goes on", {
  n <- 5L * 16L
  x <- definite_matrix(n)
  for (in_place in c(TRUE, FALSE)) {
    k <- tile_matrix(x, file <- new_file(), tile = 16)
    second <- new_file()
    to <- if (in_place) paste0(k$path, ".factor") else absolute_path(second)
    factor <- function(...) {
      chol_file(k, if (!in_place) second, host_memory = 3 * tile_bytes(16), device = "cpu", ...)
    }
    # The tiles are written in order, each to the next place of the file.
    change_tile(k$path, 16, 5, 5, 5)
    e <- expect_error(factor(), class = "cudafactor_error_file_corrupt")
    expect_identical(e[c("path", "row", "col")], list(path = k$path, row = 5L, col = 5L))
    expect_true(file.exists(to))
    change_tile(k$path, 16, 5, 5, 5)
    expect_identical(as.matrix(k), x)
    e <- expect_error(factor(), "resume = TRUE", class = "cudafactor_error_file_exists")
    expect_identical(e$path, to)
    # Not of another matrix.
    other <- tile_matrix(x + diag(n), elsewhere <- new_file(), tile = 16)
    expect_error(chol_file(other, to, resume = TRUE), "begun from another matrix",
      class = "cudafactor_error_file_format")
    r <- factor(resume = TRUE)
    expect_equal(as.matrix(r), chol(x))
    expect_lt(attr(r, "report")$operations, n^3 / 3)
    expect_identical(file.exists(to), !in_place)
    unlink(c(file, to, elsewhere))
  }
})

test_that("what has no factor keeps its file", {
  x <- diag(40)
  x[33, 33] <- -1
  k <- tile_matrix(x, file <- new_file(), tile = 16)
  wide <- tile_matrix(matrix(1, 2, 3), other <- new_file())
  on.exit(unlink(c(file, other)))
  e <- expect_error(chol_file(k, device = "cpu"), class = "cudafactor_error_not_positive_definite")
  expect_identical(e$order, 33L)
  expect_identical(as.matrix(k), x)
  expect_false(file.exists(paste0(k$path, ".factor")))
  expect_error(chol_file(wide), "square", class = "cudafactor_error_dimension")
  # The disk is asked first, before anything is computed.
  expect_error(chol_file(k, file.path(tempdir(), "none", "x")), class = "cudafactor_error_file")
})
