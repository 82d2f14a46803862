# Cholesky factorization of matrices in files: no end of a process loses anything.

new_file <- function() tempfile(fileext = ".tiles")

# Bytes of a tile in a file.
tile_bytes <- function(tile, precision = "double") ceiling(
  tile^2 * (if (precision == "single") 4 else 8) / 4096
) * 4096

# The bytes of a factor, as far as they mean something.
values <- function(x) {
  x <- as.matrix(x)
  x[upper.tri(x, TRUE)]
}

# A factorization of many small steps in a process that is killed after some time; whether it was
# killed.
factor_and_kill <- function(file, second, after, device) {
  call <- sprintf(
    "chol_file(k, %s, resume = TRUE, host_memory = %.0f, gpu_memory = %.0f, device = '%s')",
    if (is.null(second)) "NULL" else sprintf("'%s'", second), 12 * tile_bytes(16),
    12 * tile_bytes(16), device
  )
  script <- tempfile(fileext = ".R")
  ready <- tempfile()
  writeLines(c(
    "library(cudafactor)",
    # Opens the device, whose time is not that of the work.
    sprintf(
      "chol_file(tile_matrix(diag(40), tempfile(), triangle = TRUE, tile = 16), device = '%s')",
      device
    ),
    sprintf("k <- open_tile_matrix('%s')", file),
    sprintf("writeLines(format(Sys.getpid()), '%s.part')", ready),
    sprintf("invisible(file.rename('%s.part', '%s'))", ready, ready), call
  ), script)
  on.exit(unlink(c(script, ready)))
  system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), env = child_library(),
    wait = FALSE, stdout = FALSE, stderr = FALSE
  )
  deadline <- Sys.time() + 60
  while (!file.exists(ready) && Sys.time() < deadline) Sys.sleep(0.002)
  pid <- as.integer(readLines(ready))
  Sys.sleep(after)
  killed <- tools::pskill(pid, tools::SIGKILL)
  # Gone when its lock is.
  while (Sys.time() < deadline) {
    held <- lapply(
      c(file, second),
      function(f) tryCatch(unwrap(native_tiles_info(f, TRUE), NULL), error = identity)
    )
    if (!any(vapply(held, inherits, NA, "cudafactor_error_file_in_use"))) break
    Sys.sleep(0.005)
  }
  killed
}

test_that("after a kill at any moment the same call goes on, bit for bit", {
  skip_on_os("windows")
  for_each_device(function(device) {
    set.seed(4)
    n <- 300L
    x <- definite_matrix(n)
    memory <- 12 * tile_bytes(16)
    # A killed process may have a lock for reading, which no other reader sees, until the system
    # has ended it.
    again <- function(k, second) {
      deadline <- Sys.time() + 60
      repeat {
        r <- tryCatch(
          chol_file(
            k, second, resume = TRUE, host_memory = memory, gpu_memory = memory, device = device
          ),
          cudafactor_error_file_in_use = identity
        )
        if (!inherits(r, "condition")) return(r)
        if (Sys.time() > deadline) stop(r)
        Sys.sleep(0.01)
      }
    }
    k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
    again(k, first <- new_file())
    # The first one may open the device.
    whole <- again(k, second <- new_file())
    wanted <- values(whole)
    seconds <- attr(whole, "report")$seconds
    unlink(c(file, first, second))
    interrupted <- 0L
    for (kill in seq_len(10L)) {
      in_place <- kill %% 2L == 0L
      k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
      second <- if (!in_place) new_file()
      factor_and_kill(file, second, runif(1L, 0, 1.2 * seconds), device)
      state <- tryCatch(
        unwrap(native_tiles_info(second %||% file, TRUE), NULL)$holds,
        cudafactor_error = function(e) "nothing"
      )
      interrupted <- interrupted + (state == "factoring")
      if (!in_place) expect_identical(as.matrix(k), x)
      if (!in_place && state != "nothing") {
        other <- tile_matrix(2 * x, third <- new_file(), triangle = TRUE, tile = 16)
        expect_error(again(other, second), "another matrix", class = "cudafactor_error_file_format")
        unlink(third)
      }
      if (in_place && state == "factoring") {
        expect_error(chol_file(k), "resume = TRUE", class = "cudafactor_error_argument")
        expect_error(as.matrix(k), "interrupted", class = "cudafactor_error_argument")
      }
      r <- again(k, second)
      expect_identical(values(r), wanted)
      if (!in_place) expect_identical(as.matrix(k), x)
      unlink(c(file, second))
    }
    expect_gt(interrupted, 0L)
  })
})

test_that("after a limit of time the same call goes on, bit for bit", {
  skip_on_os("windows")
  for_each_device(function(device) {
    # R looks at its clock twenty times a second, so the work has to take a good part of one,
    # however fast the machine.
    n <- if (device == "cpu") 1500L else 3000L
    make <- function() tile_matrix(
      function(i, j) exp(-abs(outer(i, j, "-")) / n), new_file(), dim = n, triangle = TRUE,
      tile = 64
    )
    again <- function(...) chol_file(
      k, ..., host_memory = 40 * tile_bytes(64), gpu_memory = 40 * tile_bytes(64), device = device
    )
    repeat {
      k <- make()
      again(first <- new_file())
      whole <- again(second <- new_file())
      if (attr(whole, "report")$seconds > 0.6 || n > 6000L) break
      unlink(c(k$path, first, second))
      n <- as.integer(1.5 * n)
    }
    wanted <- values(whole)
    # A busy machine may be faster or slower the next time.
    for (share in c(2, 3, 5, 1.5, 8, 2, 3)) {
      unlink(k$path)
      k <- make()
      setTimeLimit(elapsed = attr(whole, "report")$seconds / share, transient = TRUE)
      e <- tryCatch(again(), error = identity)
      setTimeLimit()
      if (unwrap(native_tiles_info(k$path, TRUE), NULL)$holds == "factoring") break
    }
    expect_s3_class(e, "simpleError")
    expect_match(format(k), "interrupted factorization")
    expect_error(again(), "resume = TRUE", class = "cudafactor_error_argument")
    r <- again(resume = TRUE)
    expect_identical(values(r), wanted)
    expect_lt(attr(r, "report")$operations, attr(whole, "report")$operations)
    expect_error(again(second), "resume = TRUE", class = "cudafactor_error_file_exists")
    unlink(c(k$path, first, second))
  })
})

test_that("a second file that was hardly begun is begun anew, and no other file is", {
  x <- definite_matrix(40)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  second <- new_file()
  on.exit(unlink(c(file, second)))
  for (size in c(0, file.size(file))) {
    writeBin(raw(size), second)
    r <- chol_file(k, second, resume = TRUE)
    expect_equal(as.matrix(r), chol(x))
    unlink(second)
  }
  writeLines("mine", second)
  expect_error(chol_file(k, second, resume = TRUE), class = "cudafactor_error_file_format")
  expect_identical(readLines(second), "mine")
})

test_that("a file is in use while it is factored elsewhere, and print says so", {
  skip_on_os("windows")
  k <- tile_matrix(diag(40), file <- new_file(), triangle = TRUE, tile = 16)
  on.exit(unlink(file))
  open <- .External(new_writer)
  other <- new_file()
  unwrap(
    native_tiles_create(other, c(4, 4), 2, TRUE, raw(), open, how("cpu", "double", NULL)), NULL
  )
  busy <- structure(
    class = "tile_matrix",
    list(path = other, dim = c(4L, 4L), tile = 2L, triangle = TRUE, precision = "double")
  )
  expect_output(print(busy), "in use")
  expect_error(chol_file(busy), class = "cudafactor_error_file_in_use")
  expect_error(chol_file(k, other, resume = TRUE), class = "cudafactor_error_file_in_use")
  expect_error(as.matrix(busy), class = "cudafactor_error_file_in_use")
  native_tiles_discard(open)
  expect_false(file.exists(other))
})
