# Random damage to files of tiles, to what chol_file() goes on with, and to .npy files: an error or
# the same values, in a separate process.

# What 300 damages are, by kind; `use` is code that reads `file` and gives a plain matrix.
fuzzed <- function(file, use, seed) {
  script <- c(
    sprintf("library(cudafactor); set.seed(%d)", seed),
    sprintf("file <- '%s'; good <- readBin(file, 'raw', file.size(file))", file),
    sprintf("use <- function() {\n%s\n}", use), "truth <- use(); seen <- character()",
    # Most bytes of a file of tiles are room: half of the damages are to bytes that are not zero.
    "used <- which(good != 0)",
    "for (k in 1:300) {",
    "  bad <- good; at <- if (k %% 2) used[[sample(length(used), 1)]] else sample(length(good), 1)",
    "  bad[at] <- xor(bad[at], as.raw(2^sample(0:7, 1)))",
    "  if (k %% 10 == 0) bad <- good[seq_len(sample(length(good), 1) - 1)]",
    "  writeBin(bad, file)",
    "  setTimeLimit(elapsed = 20, transient = TRUE)",
    "  seen <- c(seen, tryCatch(if (identical(use(), truth)) 'same' else 'other',",
    "    cudafactor_error = function(e) 'error',",
    "    error = function(e) paste('unclassed', conditionMessage(e))))",
    "}",
    "cat(length(seen), sort(unique(seen)))"
  )
  run_child(script)$output
}

test_that("a damaged file of tiles never gives other values", {
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  set.seed(1)
  a <- crossprod(matrix(rnorm(60), 6)) + diag(10)
  for (kind in c("matrix", "single", "factor")) {
    unlink(file)
    k <- tile_matrix(a, file, triangle = TRUE, tile = 4,
      precision = if (kind == "single") "single" else "double")
    if (kind == "factor") chol_file(k, device = "cpu")
    use <- "k <- open_tile_matrix(file); if (dim(k)[1] == 10) as.matrix(k) else 'other'"
    expect_identical(fuzzed(file, use, 36L), "300 error same", info = kind)
  }
})

test_that("chol_file() does not go on with a damaged file", {
  files <- tempfile(c("a", "b"), fileext = ".tiles")
  on.exit(unlink(files))
  set.seed(2)
  k <- tile_matrix(crossprod(matrix(rnorm(60), 6)) + diag(10), files[[1]], triangle = TRUE,
    tile = 4)
  chol_file(k, files[[2]], device = "cpu")
  use <-
    sprintf("as.matrix(chol_file(open_tile_matrix('%s'), file, resume = TRUE, device = 'cpu'))",
      files[[1]])
  expect_identical(fuzzed(files[[2]], use, 37L), "300 error same")
})

test_that("a damaged .npy file is an error, or what it says, which has no checksum", {
  file <- tempfile(fileext = c(".npy", ".tiles"))
  on.exit(unlink(file))
  write_matrix_file(tile_matrix(matrix(1:6, 2), file[[2]]), file[[1]])
  use <- "to <- tempfile(); on.exit(unlink(to)); as.matrix(tile_matrix(matrix_file(file), to))"
  expect_match(fuzzed(file[[1]], use, 38L), "^300 error( other)?( same)?$")
})
