# Dimnames of matrices on disk: kept in the file, and shown as base R would.

new_file <- function() tempfile(fileext = ".tiles")

n <- 20L
all_names <- list(
  none = NULL,
  both = list(paste0("row", 1:n), paste0("col", 1:n)),
  rows = list(paste0("r", 1:n), NULL),
  columns = list(NULL, paste0("c", 1:n)),
  titled = list(from = letters[1:n], to = LETTERS[1:n]),
  odd = list(c("", "=", "a\nb", NA, "\u00e9\u4e2d", "NA", rep("same", n - 6L)), NULL)
)

test_that("a file keeps the dimnames", {
  set.seed(1)
  x <- matrix(rnorm(n * n), n)
  for (names in all_names) {
    dimnames(x) <- names
    for (precision in c("double", "single")) {
      y <- if (precision == "single") {
        as.matrix(tile_matrix(x, single <- new_file(), tile = 7, precision = "single"))
      } else {
        x
      }
      k <- tile_matrix(x, file <- new_file(), tile = 7, precision = precision)
      expect_identical(dimnames(k), names)
      expect_identical(as.matrix(k), y)
      expect_identical(dimnames(open_tile_matrix(file)), names)
      expect_identical(k[3:5, c(1, 19)], y[3:5, c(1, 19)])
      expect_identical(k[3, ], y[3, ])
      expect_identical(k[, 2, drop = FALSE], y[, 2, drop = FALSE])
      expect_identical(k[c(2, NA), -(1:15)], y[c(2, NA), -(1:15)])
      expect_identical(head(k, 2), head(y, 2))
      # Written anew, and a part of it.
      again <- tile_matrix(k, second <- new_file(), tile = 4)
      expect_identical(as.matrix(again), y)
      unlink(c(file, second))
    }
    unlink(single)
  }
})

test_that("subscripts may be names", {
  x <- matrix(1:6 + 0, 2, dimnames = list(c("a", "b"), c("x", "y", "z")))
  k <- tile_matrix(x, file <- new_file(), tile = 2)
  on.exit(unlink(file))
  expect_identical(k["a", ], x["a", ])
  expect_identical(k[c("b", "a"), c("z", "z")], x[c("b", "a"), c("z", "z")])
  expect_error(k["c", ], "subscript out of bounds", class = "cudafactor_error_dimension")
})

test_that("what is computed has base R's names", {
  x <- definite_matrix(n)
  for (names in all_names) {
    dimnames(x) <- names
    b <- cbind(u = 1:n, v = 1)
    k <- tile_matrix(x, file <- new_file(), tile = 6)
    expect_equal(k %*% b, x %*% b)
    expect_equal(crossprod(k, b), crossprod(x, b))
    expect_equal(crossprod(b, k), crossprod(b, x))
    expect_equal(diag(k), diag(x))
    expect_equal(diag(k, names = FALSE), diag(x, names = FALSE))
    r <- chol_file(k, second <- new_file())
    expect_equal(as.matrix(r), chol(x))
    expect_equal(backsolve(r, 1:n), backsolve(chol(x), 1:n))
    expect_equal(solve(r, b), solve(chol(x), b))
    expect_equal(chol_solve(r, b), chol_solve(gpu_chol(x), b))
    expect_equal(as.matrix(chol_file(k)), chol(x))
    triangle <- tile_matrix(x, third <- new_file(), tile = 6, triangle = TRUE)
    expect_equal(as.matrix(chol_file(triangle)), chol(x))
    unlink(c(file, second, third))
  }
  symmetric <- x
  dimnames(symmetric) <- list(letters[1:n], letters[1:n])
  k <- tile_matrix(symmetric, file <- new_file(), tile = 6)
  expect_equal(diag(k), diag(symmetric))
  unlink(file)
})

test_that("covariances and data frames bring their names", {
  points <- matrix(runif(12), 6, dimnames = list(paste0("p", 1:6), NULL))
  k <- lazy_covariance(points)
  t <- tile_matrix(k, file <- new_file())
  expect_identical(dimnames(t), dimnames(as.matrix(k)))
  frame <- data.frame(a = 1:3, b = 4:6)
  d <- tile_matrix(frame, other <- new_file())
  expect_identical(as.matrix(d), as.matrix(frame) + 0)
  unlink(c(file, other))
})

test_that("damaged names are an error, and a file without them is as it was", {
  x <- matrix(1, 3, 3, dimnames = list(letters[1:3], NULL))
  k <- tile_matrix(x, file <- new_file(), tile = 3)
  plain <- tile_matrix(unname(x), other <- new_file(), tile = 3)
  on.exit(unlink(c(file, other)))
  size <- file.size(other)
  expect_identical(file.size(file), size + 4096)
  contents <- readBin(file, "raw", size + 4096)
  for (at in c(0, 3, 15)) {
    bad <- contents
    bad[[size + 1 + at]] <- xor(bad[[size + 1 + at]], as.raw(1L))
    writeBin(bad, file)
    expect_error(as.matrix(k), "names of rows and columns in the file are damaged",
      class = "cudafactor_error_file_format")
    expect_error(dimnames(open_tile_matrix(file)), class = "cudafactor_error_file_format")
  }
  writeBin(contents[seq_len(size)], file)
  expect_error(as.matrix(k), class = "cudafactor_error_file_format")
  writeBin(contents, file)
  expect_identical(as.matrix(k), x)
})
