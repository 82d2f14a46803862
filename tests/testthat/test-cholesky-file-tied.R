# A second file is for the matrix that it was begun from, and an object for the matrix that it
# describes.

new_file <- function() tempfile(fileext = ".tiles")

bytes_of <- function(...) lapply(c(...), function(file) readBin(file, "raw", file.size(file)))

expect_of_another <- function(call, second) {
  e <- expect_error(call, "begun from another matrix", class = "cudafactor_error_file_format")
  expect_identical(e$path, second)
  expect_match(conditionMessage(e), "choose another file", fixed = TRUE)
}

test_that("a finished second file is taken for its own matrix alone", {
  for_each_setting(function(device, precision) {
    place <- seq(0, 1, length.out = 70)
    # Tiles at the edge, tiles that fill no page, and one tile.
    for (tile in c(16L, 33L, 70L)) {
      made <- function(range, ...) {
        k <- lazy_covariance(place, "matern32", range = range, ...)
        tile_matrix(k, new_file(), tile = tile, precision = precision, device = device)
      }
      k <- made(0.1)
      second <- absolute_path(new_file())
      r <- chol_file(k, second, resume = TRUE, device = device)
      wanted <- as.matrix(r)
      others <- list(
        made(0.2), made(0.1, variance = 1.5), made(0.1, nugget = 1e-3),
        tile_matrix(k, new_file(), tile = tile - 1L, precision = precision)
      )
      for (other in others) {
        before <- bytes_of(second, other$path)
        expect_of_another(chol_file(other, second, resume = TRUE, device = device), second)
        expect_identical(bytes_of(second, other$path), before)
      }
      # The same matrix, made again.
      again <- made(0.1)
      r <- chol_file(again, second, resume = TRUE, device = device)
      expect_identical(attr(r, "report")$operations, 0)
      expect_identical(as.matrix(r), wanted)
      unlink(c(second, k$path, again$path, vapply(others, `[[`, "", "path")))
    }
  })
})

test_that("a second file that was interrupted goes on for its own matrix alone", {
  for_each_setting(function(device, precision) {
    set.seed(5)
    x <- definite_matrix(150)
    made <- function(x) tile_matrix(
      x, new_file(), triangle = TRUE, tile = 16, precision = precision
    )
    k <- made(x)
    wanted <- as.matrix(chol_file(k, whole <- new_file(), device = device))
    # The last tile cannot be read for a while.
    damage <- function() {
      con <- file(k$path, "r+b")
      on.exit(close(con))
      at <- file.size(k$path) - 5 * ceiling(
        16^2 * (if (precision == "single") 4 else 8) / 4096
      ) * 4096
      seek(con, at, rw = "read")
      old <- readBin(con, "raw", 1L)
      seek(con, at, rw = "write")
      writeBin(xor(old, as.raw(1L)), con)
    }
    damage()
    second <- absolute_path(new_file())
    factor <- function(k, ...) chol_file(
      k, second, host_memory = "64KiB", gpu_memory = "64KiB", device = device, ...
    )
    expect_error(factor(k), class = "cudafactor_error_file_corrupt")
    damage()
    expect_match(format(open_tile_matrix(second)), "interrupted factorization")
    other <- made(x + diag(150))
    before <- bytes_of(second, other$path)
    expect_of_another(factor(other, resume = TRUE), second)
    expect_identical(bytes_of(second, other$path), before)
    expect_identical(as.matrix(factor(made(x), resume = TRUE)), wanted)
    unlink(c(k$path, other$path, whole, second))
  })
})

test_that("a matrix that is not positive definite takes no other one's factor along", {
  x <- definite_matrix(20)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 8)
  bad <- tile_matrix(-x, third <- new_file(), triangle = TRUE, tile = 8)
  r <- chol_file(k, second <- new_file())
  on.exit(unlink(c(file, second, third)))
  expect_error(chol_file(bad), class = "cudafactor_error_not_positive_definite")
  for (resume in c(TRUE, FALSE)) {
    expect_error(
      chol_file(bad, fourth <- new_file(), resume = resume),
      class = "cudafactor_error_not_positive_definite"
    )
    expect_false(file.exists(fourth))
  }
  expect_error(
    chol_file(bad, second, resume = TRUE), class = "cudafactor_error_not_positive_definite"
  )
  expect_equal(as.matrix(r), chol(x))
})

test_that("a file with another matrix is not accepted as second file, complete or not", {
  x <- definite_matrix(20)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 8)
  other <- tile_matrix(2 * x, third <- new_file(), triangle = TRUE, tile = 8)
  r <- tile_matrix(x, second <- new_file(), triangle = TRUE, tile = 8)
  on.exit(unlink(c(file, second, third)))
  refused <- function(k) {
    before <- bytes_of(second)
    expect_error(
      chol_file(k, second, resume = TRUE), "holds another matrix or that matrix.s factor",
      class = "cudafactor_error_argument"
    )
    expect_identical(bytes_of(second), before)
  }
  refused(k)
  chol_file(r)
  for (of in list(k, other)) refused(of)
  # Not positive definite, as the matrix that it is said to be the factor of.
  unlink(second)
  bad <- tile_matrix(-x, second, triangle = TRUE, tile = 8)
  expect_error(chol_file(bad), class = "cudafactor_error_not_positive_definite")
  refused(k)
})

test_that("an object whose file has another matrix now factors nothing", {
  for (precision in c("double", "single")) {
    k <- tile_matrix(diag(5) * 4, file <- new_file(), triangle = TRUE)
    unlink(file)
    now <- tile_matrix(diag(3) * 9, file, triangle = TRUE, precision = precision)
    second <- new_file()
    before <- bytes_of(file)
    text <- "the file holds another matrix now, which is 3 x 3: open_tile_matrix() opens it"
    for (resume in c(TRUE, FALSE)) {
      expect_error(
        chol_file(k, resume = resume), text, fixed = TRUE, class = "cudafactor_error_file_format"
      )
      expect_error(
        chol_file(k, second, resume = resume), text, fixed = TRUE,
        class = "cudafactor_error_file_format"
      )
      expect_error(
        chol(k, second, resume = resume), text, fixed = TRUE, class = "cudafactor_error_file_format"
      )
    }
    expect_error(tile_matrix(k, second), text, fixed = TRUE, class = "cudafactor_error_file_format")
    expect_error(
      write_matrix_file(k, second), text, fixed = TRUE, class = "cudafactor_error_file_format"
    )
    expect_error(diag(k), text, fixed = TRUE, class = "cudafactor_error_file_format")
    expect_output(print(k), text, fixed = TRUE)
    expect_false(file.exists(second))
    expect_identical(bytes_of(file), before)
    expect_equal(as.matrix(chol_file(open_tile_matrix(file))), diag(3) * 3)
    unlink(file)
  }
})

test_that("an object whose file is no longer a triangle is rewritten with its present contents", {
  k <- tile_matrix(diag(4), file <- new_file(), triangle = TRUE)
  unlink(file)
  x <- matrix(as.double(1:16), 4)
  tile_matrix(x, file)
  again <- tile_matrix(k, second <- new_file())
  expect_identical(as.matrix(again), x)
  # Not positive definite, by its upper triangle.
  expect_error(chol_file(k), class = "cudafactor_error_not_positive_definite")
  expect_identical(as.matrix(again), x)
  unlink(c(file, second))
})

test_that("messages of files that are there name them, and say what they are", {
  x <- definite_matrix(20)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 8)
  other <- tile_matrix(x, third <- new_file(), triangle = TRUE, tile = 8)
  second <- new_file()
  notes <- tempfile(fileext = ".txt")
  on.exit(unlink(c(file, third, second, notes)))
  says <- function(call, ..., class = "cudafactor_error_file_exists") {
    e <- expect_error(call, class = class)
    for (text in c(...)) expect_match(conditionMessage(e), text, fixed = TRUE)
    # A file is named once.
    for (path in c(third, second, notes)) expect_lte(
      lengths(regmatches(conditionMessage(e), gregexpr(path, conditionMessage(e), fixed = TRUE))),
      1L
    )
    conditionMessage(e)
  }
  writeLines("mine", notes)
  expect_no_match(
    says(chol_file(k, notes), "the file exists", "not a file of tiles"), "resume = TRUE"
  )
  expect_identical(readLines(notes), "mine")
  expect_no_match(
    says(chol_file(k, third), "the file exists", "no factorization to resume"), "resume = TRUE"
  )
  writeBin(raw(file.size(file)), second)
  says(chol_file(k, second), "use resume = TRUE to continue the interrupted factorization in it")
  chol_file(k, second, resume = TRUE)
  says(
    chol_file(k, second), "holds a Cholesky factor",
    "use resume = TRUE if it is the factor of this matrix"
  )
  says(
    chol_file(open_tile_matrix(second)), second, "holds a Cholesky factor already",
    class = "cudafactor_error_argument"
  )
  says(
    chol_file(k, third, resume = TRUE), third, "holds another matrix",
    class = "cudafactor_error_argument"
  )
  chol_file(other)
  says(
    chol_file(other, tempfile()), third, "holds a Cholesky factor already",
    class = "cudafactor_error_argument"
  )
  # A file that was cut off.
  bytes <- bytes_of(second)[[1L]]
  writeBin(bytes[1:9000], second)
  cut <- structure(
    class = "tile_matrix", utils::modifyList(unclass(asS4(k, FALSE)), list(path = second))
  )
  expect_match(format(cut), "cut off")
  expect_length(gregexpr(second, format(cut), fixed = TRUE)[[1L]], 1L)
})
