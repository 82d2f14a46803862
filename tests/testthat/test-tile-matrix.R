# Matrices in files of tiles: what is written comes back, by any subscripts, and what cannot be
# written leaves nothing.

test_that("matrices of all shapes come back from their files", {
  set.seed(1)
  for (m in sizes) {
    for (n in sizes) {
      for (precision in c("double", "single")) {
        x <- random_matrix(m, n)
        file <- new_file()
        y <- tile_matrix(x, file, tile = tile, precision = precision)
        expect_identical(dim(y), dim(x))
        expect_identical(as.matrix(y), if (precision == "single") as_single(x) else x)
        expect_identical(open_tile_matrix(file), y)
        unlink(file)
      }
    }
  }
})

test_that("the triangle of a symmetric matrix is given whole", {
  set.seed(2)
  for (n in sizes) {
    x <- random_matrix(n, n)
    x <- x + t(x)
    half <- x
    half[lower.tri(half)] <- NaN
    file <- new_file()
    y <- tile_matrix(half, file, triangle = TRUE, tile = tile)
    expect_identical(as.matrix(y), x)
    unlink(file)
  }
  expect_error(
    tile_matrix(matrix(0, 3, 4), new_file(), triangle = TRUE), class = "cudafactor_error_dimension"
  )
})

test_that("a function is asked for each block once", {
  set.seed(3)
  for (m in sizes) {
    for (n in sizes) {
      x <- random_matrix(m, n)
      asked <- matrix(0L, m, n)
      f <- function(i, j) {
        asked[i, j] <<- asked[i, j] + 1L
        # Drops dimensions of 1, as users' functions do.
        x[i, j]
      }
      file <- new_file()
      y <- tile_matrix(f, file, dim = c(m, n), tile = tile)
      expect_identical(as.matrix(y), x)
      expect_true(all(asked == 1L))
      unlink(file)
    }
  }
  n <- 3L * tile + 2L
  x <- crossprod(random_matrix(n, n))
  asked <- matrix(0L, n, n)
  y <- tile_matrix(function(i, j) {
    asked[i, j] <<- asked[i, j] + 1L
    x[i, j, drop = FALSE]
  }, file <- new_file(), dim = n, triangle = TRUE, tile = tile)
  expect_identical(as.matrix(y), x)
  block <- (seq_len(n) - 1L) %/% tile
  expect_identical(asked, +outer(block, block, "<="))
  unlink(file)
})

test_that("functions may give integers, logicals and matrices of other classes", {
  file <- new_file()
  y <- tile_matrix(function(i, j) outer(i, j), file, dim = c(4, 5))
  expect_identical(as.matrix(y), outer(1:4, 1:5) + 0)
  unlink(file)
  y <- tile_matrix(function(i, j) outer(i, j, "<"), file, dim = c(4, 5))
  expect_identical(as.matrix(y), outer(1:4, 1:5, "<") + 0)
  unlink(file)
  y <- tile_matrix(function(i, j) as_gpu(outer(i, j), device = "cpu"), file, dim = c(4, 5))
  expect_identical(as.matrix(y), outer(1:4, 1:5) + 0)
  unlink(file)
  expect_identical(as.matrix(tile_matrix(matrix(c(TRUE, NA), 1), file)), matrix(c(1, NA), 1))
  unlink(file)
})

test_that("where a block cannot be had there is no file, and the error names the tile", {
  file <- new_file()
  at <- function(wrong) function(i, j) {
    if (i[[1L]] == 8 && j[[1L]] == 15) wrong else matrix(0, length(i), length(j))
  }
  make <- function(f) tile_matrix(f, file, dim = c(20, 20), tile = 7)
  for (wrong in list(1:49, matrix(0, 7, 7), matrix(0, 6, 7), 1, numeric())) {
    expect_error(
      make(at(wrong)), "tile (2, 3), rows 8 to 14 and columns 15 to 20", fixed = TRUE,
      class = "cudafactor_error_dimension"
    )
    expect_false(file.exists(file))
  }
  for (wrong in list("a", NULL, list(1), 1i, factor("a"), sum)) {
    expect_error(make(at(wrong)), "tile (2, 3)", fixed = TRUE, class = "cudafactor_error_type")
    expect_false(file.exists(file))
  }
  mine <- structure(class = c("mine", "error", "condition"), list(message = "mine", call = NULL))
  expect_error(make(function(i, j) stop(mine)), class = "mine")
  expect_false(file.exists(file))
})

test_that("an interrupt while a file is filled leaves no file", {
  skip_unless_interruptible()
  file <- new_file()
  tried <- tryCatch(
    tile_matrix(
      dim = c(20, 20), file = file, tile = 7,
      function(i, j) if (j[[1L]] > 1) interrupt_myself() else matrix(0, length(i), length(j))
    ),
    interrupt = function(i) "interrupted"
  )
  expect_identical(tried, "interrupted")
  expect_false(file.exists(file))
})

test_that("an existing file is unchanged", {
  file <- new_file()
  writeLines("mine", file)
  expect_error(tile_matrix(diag(2), file), class = "cudafactor_error_file_exists")
  expect_identical(readLines(file), "mine")
  expect_error(open_tile_matrix(file), class = "cudafactor_error_file_format")
  unlink(file)
  expect_error(open_tile_matrix(file), class = "cudafactor_error_file")
  expect_error(tile_matrix(diag(2), file.path(file, "none", "x")), class = "cudafactor_error_file")
})

test_that("arguments that make no sense are errors", {
  file <- new_file()
  expect_error(tile_matrix(), class = "cudafactor_error_argument")
  expect_error(tile_matrix(diag(2)), class = "cudafactor_error_argument")
  expect_error(tile_matrix(diag(2), c("a", "b")), class = "cudafactor_error_argument")
  expect_error(tile_matrix(diag(2), file, dim = 2), class = "cudafactor_error_argument")
  expect_error(tile_matrix(sum, file), class = "cudafactor_error_argument")
  for (dim in list(-1, 1.5, c(1, NA), 1:3, "a", Inf)) {
    expect_error(tile_matrix(sum, file, dim = dim), class = "cudafactor_error_argument")
  }
  for (tile in list(0, -1, 1.5, NA, 1:2, "a")) {
    expect_error(tile_matrix(diag(2), file, tile = tile), class = "cudafactor_error_argument")
  }
  expect_error(tile_matrix(diag(2), file, triangle = NA), class = "cudafactor_error_argument")
  expect_error(tile_matrix(diag(2), file, precision = "half"), class = "cudafactor_error_argument")
  expect_error(tile_matrix(matrix("a"), file), class = "cudafactor_error_type")
  expect_error(tile_matrix(matrix(1i), file), class = "cudafactor_error_type")
  expect_error(open_tile_matrix(), class = "cudafactor_error_argument")
  # More than any disk has, and more than any file.
  expect_error(tile_matrix(sum, file, dim = 1e8), class = "cudafactor_error_disk_space")
  expect_error(tile_matrix(sum, file, dim = 2^40), class = "cudafactor_error_dimension")
  expect_false(file.exists(file))
})

test_that("tiles are as large as the matrix asks for", {
  expect_identical(as_tile(NULL, c(5, 3), NULL), 5)
  expect_identical(as_tile(NULL, c(0, 0), NULL), 1)
  expect_identical(as_tile(NULL, c(8191, 3), NULL), 512)
  expect_identical(as_tile(NULL, c(3, 8192), NULL), 1024)
  expect_identical(as_tile(NULL, c(32768, 3), NULL), 2048)
  expect_identical(as_tile(100, c(32768, 3), NULL), 100)
})

test_that("a file that is written cannot be opened", {
  file <- new_file()
  seen <- NULL
  y <- tile_matrix(function(i, j) {
    seen <<- tryCatch(open_tile_matrix(file), error = identity)
    outer(i, j)
  }, file, dim = 3)
  expect_s3_class(seen, "cudafactor_error_file_in_use")
  expect_identical(as.matrix(y), outer(1:3, 1:3) + 0)
  unlink(file)
})

test_that("the object is ordinary data, for other sessions too", {
  folder <- tempfile()
  dir.create(folder)
  old <- setwd(folder)
  on.exit({
    setwd(old)
    unlink(folder, recursive = TRUE)
  })
  y <- tile_matrix(outer(1:9, 1:9), "m.tiles", tile = 4)
  setwd(old)
  saveRDS(y, file.path(folder, "y.rds"))
  expect_identical(readRDS(file.path(folder, "y.rds")), y)
  child <- run_child(
    sprintf(
      "library(cudafactor); y <- readRDS('%s'); cat(y[9, 8], dim(y))", file.path(folder, "y.rds")
    )
  )
  expect_identical(child$output, "72 9 9", info = child$output)
})

test_that("names of files may have any letters", {
  # Some locales have ASCII letters alone.
  letters <- if (l10n_info()[["UTF-8"]]) "\u00fc \u4e2d" else "u z"
  file <- file.path(tempdir(), paste0("Kovarianz ", letters, ".tiles"))
  y <- tile_matrix(diag(3), file)
  expect_identical(as.matrix(open_tile_matrix(file)), diag(3))
  unlink(file)
  if (l10n_info()[["UTF-8"]]) {
    latin <- iconv(file, "UTF-8", "latin1", sub = "x")
    y <- tile_matrix(diag(3), latin)
    expect_true(file.exists(latin))
    unlink(latin)
  }
})

test_that("a matrix on disk can be cut into other tiles", {
  set.seed(5)
  x <- random_matrix(20, 30)
  y <- tile_matrix(x, a <- new_file(), tile = 7)
  z <- tile_matrix(y, b <- new_file(), tile = 11, precision = "single")
  on.exit(unlink(c(a, b)))
  expect_identical(as.matrix(z), as_single(x))
  expect_identical(z$tile, 11L)
})

test_that("print says what is there", {
  y <- tile_matrix(diag(5), file <- new_file(), tile = 2, triangle = TRUE)
  expect_output(
    print(y), "tile_matrix: 5 x 5, the upper triangle in tiles of 2 x 2, double precision.*a matrix"
  )
  expect_match(format(y), y$path, fixed = TRUE)
  expect_identical(withVisible(print(y))$visible, FALSE) |> capture.output() |> invisible()
  unlink(file)
  expect_output(print(y), "no such file")
  expect_error(as.matrix(y), class = "cudafactor_error_file")
  y <- tile_matrix(diag(6), file)
  expect_null(dimnames(y))
  old <- y
  unlink(file)
  tile_matrix(diag(7), file)
  expect_error(old[1, 1], "another matrix", class = "cudafactor_error_file_format")
  unlink(file)
})

test_that("what a killed process has begun is not taken for a matrix", {
  skip_on_os("windows")
  file <- new_file()
  run_child(sprintf(
    paste(
      "library(cudafactor);",
      "f <- function(i, j) if (j[1] > 8) tools::pskill(Sys.getpid(), 9) else outer(i, j);",
      "tile_matrix(f, '%s', dim = 40, tile = 4)"
    ),
    file
  ))
  expect_error(
    open_tile_matrix(file), "must be complete, but [0-9]+ of its tiles were never written",
    class = "cudafactor_error_file_format"
  )
  unlink(file)
})

test_that("what is written anew keeps its triangle, unless it is a factor", {
  x <- crossprod(matrix(rnorm(400), 20)) + diag(20)
  k <- tile_matrix(x, file <- tempfile(), triangle = TRUE, tile = 8)
  again <- tile_matrix(k, second <- tempfile(), tile = 5)
  expect_true(again$triangle)
  expect_identical(as.matrix(again), as.matrix(k))
  r <- chol_file(k)
  expect_error(
    tile_matrix(r, tempfile(), triangle = TRUE), "factor", class = "cudafactor_error_argument"
  )
  whole <- tile_matrix(r, third <- tempfile())
  expect_false(whole$triangle)
  expect_identical(as.matrix(whole), as.matrix(r))
  expect_error(t(k), "transpose", class = "cudafactor_error_type")
  expect_error(tile_matrix("k.npy", tempfile()), "matrix_file", class = "cudafactor_error_type")
  expect_error(chol_file(file), "open_tile_matrix", class = "cudafactor_error_type")
  expect_error(chol_solve(file, 1:20), "open_tile_matrix", class = "cudafactor_error_type")
  expect_error(chol2inv_diag(file), "open_tile_matrix", class = "cudafactor_error_type")
  unlink(c(file, second, third))
})

test_that("a forked child leaves a file that is being made to its parent", {
  skip_on_os("windows")
  child <- run_child(c(
    "library(cudafactor)", "n <- 60", "file <- tempfile()", "parent <- Sys.getpid()",
    "cov <- function(i, j) exp(-abs(outer(i, j, '-')) / n)",
    "f <- function(i, j) {",
    "  if (j[[1]] == 41 && i[[1]] == 31) {",
    "    child <- parallel:::mcfork()",
    # Its error leaves tile_matrix(), too.
    "    if (inherits(child, 'masterProcess')) stop('in the child')",
    "    suppressWarnings(parallel::mccollect(child))",
    "  }",
    "  cov(i, j)",
    "}",
    "k <- tryCatch(tile_matrix(f, file, dim = n, triangle = TRUE, tile = 10), error = identity)",
    "if (Sys.getpid() != parent) parallel:::mcexit(0)",
    "stopifnot(identical(as.matrix(k), cov(1:n, 1:n)))", "cat('fine')"
  ))
  expect_identical(utils::tail(child$output, 1L), "fine", info = child$output)
  expect_identical(child$status, 0L)
})
