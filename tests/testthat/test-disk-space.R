# Disks without room: no half file is left, the input is as it was, and what was begun in place
# goes on when there is room.

new_file <- function() tempfile(fileext = ".tiles")

# Runs R code in a separate process after commands of a shell. With `namespace = TRUE` the file
# systems that these mount are gone with it.
run_shell <- function(before, code, namespace = FALSE) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(c(
    "library(cudafactor)",
    "failure <- function(expr) tryCatch({ expr; 'none' }, error = function(e) class(e)[[1L]])",
    "say <- function(...) cat(..., '\\n')", code
  ), script)
  command <- paste(
    before, "&& exec", shQuote(file.path(R.home("bin"), "Rscript")), "--vanilla", shQuote(script)
  )
  out <- suppressWarnings(system2(
    if (namespace) "unshare" else "sh", c(if (namespace) c("-rm", "sh"), "-c", shQuote(command)),
    stdout = TRUE, stderr = TRUE, env = child_library()
  ))
  trimws(as.character(out))
}

# No file may have more than so many bytes. The signal that would end the process is ignored.
limited <- function(bytes) sprintf("trap '' XFSZ && ulimit -f %d", as.integer(bytes %/% 512))

x <- definite_matrix(200)

test_that("a new file that the system refuses its room is not left behind", {
  skip_on_os("windows")
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  second <- new_file()
  on.exit(unlink(c(file, second)))
  before <- tools::md5sum(file)
  calls <- c(
    "chol_file(k, new)", "chol_file(k, new, resume = TRUE)", "tile_matrix(k, new)",
    "tile_matrix(matrix(1, 300, 300), new)",
    "tile_matrix(function(i, j) outer(i, j), new, dim = 300)",
    "tile_matrix(lazy_covariance(1:500), new)", "write_matrix_file(k, sub('tiles', 'npy', new))"
  )
  out <- run_shell(limited(file.size(file) / 2), c(
    sprintf("k <- open_tile_matrix('%s')", file), sprintf("new <- '%s'", second),
    sprintf("say(failure(%s), any(file.exists(new, sub('tiles', 'npy', new))))", calls)
  ))
  expect_identical(out, rep("cudafactor_error_file FALSE", length(calls)))
  expect_identical(tools::md5sum(file), before)
  expect_equal(as.matrix(chol_file(k, second)), chol(x))
})

# The classes of the failures of two calls in place, of which the second one does not say resume =
# TRUE.
fail_in_place <- rep("say(failure(chol_file(k, host_memory = '40KiB', device = 'cpu')))", 2L)

test_that("a factorization in place goes on where writing failed", {
  skip_on_os("windows")
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 32)
  wanted <- as.matrix(chol_file(k, second <- new_file(), device = "cpu"))
  on.exit(unlink(c(file, second)))
  # Some of the room that is free at first lies before the limit.
  out <- run_shell(
    limited(file.size(file) - 2.5 * 32^2 * 8),
    c(sprintf("k <- open_tile_matrix('%s')", file), fail_in_place)
  )
  expect_identical(out, c("cudafactor_error_file", "cudafactor_error_argument"))
  expect_error(as.matrix(k), "interrupted", class = "cudafactor_error_argument")
  expect_identical(as.matrix(chol_file(k, resume = TRUE, device = "cpu")), wanted)
})

test_that("a disk that is full is told, and what was begun goes on when there is room", {
  skip_on_os(c("windows", "mac", "solaris"))
  dir.create(folder <- tempfile())
  mounted <- sprintf("mount -t tmpfs -o size=4m tmpfs %s", shQuote(folder))
  skip_if_not(
    identical(run_shell(mounted, "say('able')", TRUE), "able"), "no file system can be mounted"
  )
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 32)
  wanted <- as.matrix(chol_file(k, second <- new_file(), device = "cpu"))
  result <- tempfile()
  on.exit(unlink(c(file, second, folder, result), recursive = TRUE))
  out <- run_shell(mounted, c(
    sprintf("folder <- '%s'", folder), "new <- file.path(folder, 'new.tiles')",
    sprintf("from <- open_tile_matrix('%s')", file),
    paste(
      "e <- tryCatch(tile_matrix(matrix(1, 1000, 1000), new), cudafactor_error_disk_space =",
      "identity)"
    ),
    "say(e$needed > 8e6, e$free > 0 && e$free < e$needed, length(dir(folder)))",
    # Without the room that was reserved in it; then there is some for few tiles.
    sprintf("stopifnot(system2('cp', c('--sparse=always', '%s', new)) == 0)", file),
    paste(
      "size <- function(bytes) stopifnot(system2('mount', c('-o', sprintf('remount,size=%.0f',",
      "bytes), folder)) == 0)"
    ),
    paste(
      "size(as.numeric(strsplit(system2('du', c('-k', new), stdout = TRUE), '\\t')[[1]][[1]]) *",
      "1024 + 24576)"
    ),
    "k <- open_tile_matrix(new)", fail_in_place,
    "say(failure(chol_file(from, file.path(folder, 'second.tiles'))), length(dir(folder)))",
    "size(2^22)", "r <- chol_file(k, resume = TRUE, device = 'cpu')",
    sprintf("saveRDS(as.matrix(r), '%s')", result)
  ), TRUE)
  expect_identical(out, c(
    "TRUE TRUE 0", "cudafactor_error_disk_space", "cudafactor_error_argument",
    "cudafactor_error_disk_space 1"
  ))
  expect_identical(readRDS(result), wanted)
  expect_identical(as.matrix(k)[upper.tri(x, TRUE)], x[upper.tri(x, TRUE)])
})
