# Cholesky factorization of matrices in files: the factor is chol()'s, in any memory, and no end of a process loses anything.

new_file <- function() tempfile(fileext = ".tiles")

# Bytes of a tile in a file.
tile_bytes <- function(tile, precision = "double") ceiling(tile^2 * (if (precision == "single") 4 else 8) / 4096) * 4096

# The bytes of a factor, as far as they mean something.
values <- function(x) {
  x <- as.matrix(x)
  x[upper.tri(x, TRUE)]
}

test_that("the factor is chol()'s, in place and in a second file, in little memory and much", {
  for_each_setting(function(device, precision) {
    set.seed(1)
    tile <- 16L
    for (n in c(1L, tile - 1L, tile, tile + 1L, 7L * tile + 3L)) {
      x <- definite_matrix(n)
      half <- x
      half[lower.tri(half)] <- NaN
      factors <- list()
      for (tiles in c(3, 5, 12, 1000)) {
        k <- tile_matrix(half, file <- new_file(), triangle = TRUE, tile = tile, precision = precision)
        memory <- tiles * tile_bytes(k$tile, precision)
        # The GPU computes with two tiles more.
        on_gpu <- (tiles + 2) * tile_bytes(k$tile, precision)
        r <- chol_file(k, second <- new_file(), host_memory = memory, gpu_memory = on_gpu, device = device)
        expect_small(residual_cholesky(as.matrix(r), x, precision), "cholesky")
        expect_true(all(as.matrix(r)[lower.tri(x)] == 0))
        expect_identical(as.matrix(k), if (precision == "single") as_single(x) else x)
        expect_false(withVisible(chol_file(k, host_memory = memory, gpu_memory = on_gpu, device = device))$visible)
        expect_identical(as.matrix(k), as.matrix(r))
        factors <- c(factors, list(as.matrix(r)))
        report <- attr(r, "report")
        expect_identical(report$device, if (device == "cpu") "cpu" else "cuda:0")
        expect_lte(report$host_memory, max(memory, 3 * tile_bytes(k$tile, precision)))
        expect_identical(report$sent > 0, device != "cpu")
        unlink(c(file, second))
      }
      # The order of steps on a tile does not depend on the memory.
      expect_length(unique(factors), 1L)
    }
  })
})

test_that("less memory means more reading", {
  set.seed(2)
  x <- definite_matrix(160)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  read <- vapply(c(3, 5, 10, 30), function(tiles) {
    r <- chol_file(k, second <- new_file(), host_memory = tiles * tile_bytes(16), device = "cpu")
    unlink(second)
    attr(r, "report")$read
  }, 0)
  expect_true(all(diff(read) < 0))
  expect_identical(read[[4L]], 55 * tile_bytes(16))
  unlink(file)
})

test_that("defaults choose the memory, and verbose tells what was done", {
  set.seed(3)
  for_each_device(function(device) {
    x <- definite_matrix(200)
    k <- tile_matrix(x, file <- new_file(), triangle = TRUE)
    expect_message(r <- chol_file(k, device = device, verbose = TRUE), "order 200 on .* GFLOP/s; read .*, written .*; reading for .*bound by the .*; tiles in .* of host memory")
    expect_message(chol_file(k, device = device, verbose = TRUE, resume = TRUE), "the factor of order 200 was complete: nothing to do")
    expect_small(residual_cholesky(as.matrix(r), x, "double"), "cholesky")
    expect_silent(chol_file(k, resume = TRUE, device = device))
    report <- attr(r, "report")
    half <- utils::modifyList(report, list(operations = 200^3 / 6))
    expect_match(cudafactor:::report_text(200, half), "order 200 (50 % of the operations were left) on ", fixed = TRUE)
    expect_identical(names(report), c(
      "device", "seconds", "operations", "gflops", "read", "written", "sent", "fetched", "passed", "reading", "writing", "idle", "copying", "host_memory", "gpu_memory"
    ))
    expect_true(report$reading > 0 && report$writing > 0 && report$idle >= 0 && report$idle <= report$seconds)
    expect_true(report$seconds > 0 && report$gflops > 0)
    unlink(file)
  })
})

test_that("chol() and gpu_chol() do not change their argument", {
  x <- crossprod(matrix(c(2, 1, 0, 3), 2))
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE)
  expect_error(chol(k), "chol_file", class = "cudafactor_error_argument")
  expect_error(gpu_chol(k), "chol_file", class = "cudafactor_error_type")
  r <- chol(k, file = second <- new_file())
  expect_equal(as.matrix(r), chol(x))
  expect_equal(as.matrix(k), x)
  unlink(c(file, second))
})

test_that("a matrix that is not positive definite is told with the order", {
  for_each_setting(function(device, precision) {
    for (order in c(1L, 16L, 17L, 40L, 50L)) {
      x <- diag(50)
      x[order, order] <- if (order == 40L) NaN else -1
      k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16, precision = precision)
      factor <- function(...) chol_file(k, ..., host_memory = 4 * tile_bytes(16), gpu_memory = 6 * tile_bytes(16), device = device)
      e <- expect_error(factor(second <- new_file()), class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      expect_identical(conditionMessage(e), not_positive_definite_text(order))
      expect_false(file.exists(second))
      expect_identical(as.matrix(k), x)
      e <- expect_error(factor(), class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      # The file says the same from now on.
      e <- expect_error(factor(resume = TRUE), class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      expect_match(format(open_tile_matrix(file)), sprintf("not positive definite, at order %d", order))
      expect_error(as.matrix(k), class = "cudafactor_error_argument")
      unlink(file)
    }
  })
})

test_that("what cannot be is an error, and nothing is lost by it", {
  x <- diag(40)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  whole <- tile_matrix(x, full <- new_file(), tile = 16)
  other <- tile_matrix(2 * x, third <- new_file(), triangle = TRUE, tile = 16)
  none <- tile_matrix(matrix(0, 0, 0), empty <- new_file(), triangle = TRUE)
  second <- new_file()
  on.exit(unlink(c(file, full, third, empty, second)))
  expect_error(chol_file(), class = "cudafactor_error_argument")
  expect_error(chol_file(x), "gpu_chol", class = "cudafactor_error_type")
  expect_error(chol_file(none), class = "cudafactor_error_dimension")
  expect_error(chol_file(k, file), class = "cudafactor_error_argument")
  expect_error(chol_file(k, third), class = "cudafactor_error_file_exists")
  expect_error(chol_file(k, third, resume = TRUE), "holds a matrix", class = "cudafactor_error_argument")
  expect_error(chol_file(k, full, resume = TRUE), class = "cudafactor_error")
  expect_error(chol_file(k, second, host_memory = 2 * tile_bytes(16)), "3 tiles", class = "cudafactor_error_argument")
  expect_false(file.exists(second))
  for (size in list("a", "5 pounds", -1, NA, 1:2, "1..2", TRUE)) {
    expect_error(chol_file(k, host_memory = size), class = "cudafactor_error_argument")
    expect_error(chol_file(k, gpu_memory = size), class = "cudafactor_error_argument")
  }
  expect_error(chol_file(k, resume = NA), class = "cudafactor_error_argument")
  expect_error(chol_file(k, verbose = 2), class = "cudafactor_error_argument")
  expect_error(chol_file(k, device = "abacus"), class = "cudafactor_error_device_unavailable")
  expect_identical(as.matrix(k), x)
  expect_identical(as.matrix(whole), x)
  expect_identical(as.matrix(other), 2 * x)
  chol_file(k)
  expect_error(chol_file(k), "factor already", class = "cudafactor_error_argument")
  expect_identical(as.matrix(k), x)
})

test_that("sizes are read with their units", {
  sizes <- list("8GB" = 8e9, "512MiB" = 512 * 2^20, " 1.5 gib " = 1.5 * 2^30, "100" = 100, "2e3 kB" = 2e6, "1TB" = 1e12, "3 B" = 3, "8G" = 8 * 2^30, "512 m" = 512 * 2^20, "1k" = 1024, "2T" = 2^41)
  for (text in names(sizes)) {
    expect_identical(as_bytes(text, "host_memory", NULL), sizes[[text]])
  }
  expect_identical(as_bytes(5L, "host_memory", NULL), 5)
  expect_identical(as_bytes(Inf, "host_memory", NULL), Inf)
  expect_identical(as_bytes(NULL, "host_memory", NULL), NaN)
})

test_that("a damaged tile ends the factorization with its name", {
  k <- tile_matrix(diag(40), file <- new_file(), triangle = TRUE, tile = 16)
  second <- new_file()
  on.exit(unlink(c(file, second)))
  con <- file(file, "r+b")
  seek(con, 3 * 4096 + 2 * tile_bytes(16) + 100, rw = "write")
  writeBin(as.raw(1L), con)
  close(con)
  e <- expect_error(chol_file(k, second, device = "cpu"), class = "cudafactor_error_file_corrupt")
  expect_identical(list(e$row, e$col), list(2L, 2L))
})

# A factorization of many small steps in a process that is killed after some time; whether it was killed.
factor_and_kill <- function(file, second, after, device) {
  call <- sprintf("chol_file(k, %s, resume = TRUE, host_memory = %.0f, gpu_memory = %.0f, device = '%s')",
    if (is.null(second)) "NULL" else sprintf("'%s'", second), 12 * tile_bytes(16), 12 * tile_bytes(16), device)
  script <- tempfile(fileext = ".R")
  ready <- tempfile()
  writeLines(c(
    "library(cudafactor)",
    # Opens the device, whose time is not that of the work.
    sprintf("chol_file(tile_matrix(diag(40), tempfile(), triangle = TRUE, tile = 16), device = '%s')", device),
    sprintf("k <- open_tile_matrix('%s')", file), sprintf("writeLines(format(Sys.getpid()), '%s.part')", ready),
    sprintf("invisible(file.rename('%s.part', '%s'))", ready, ready), call
  ), script)
  on.exit(unlink(c(script, ready)))
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), env = child_library(), wait = FALSE, stdout = FALSE, stderr = FALSE)
  deadline <- Sys.time() + 60
  while (!file.exists(ready) && Sys.time() < deadline) Sys.sleep(0.002)
  pid <- as.integer(readLines(ready))
  Sys.sleep(after)
  killed <- tools::pskill(pid, tools::SIGKILL)
  # Gone when its lock is.
  while (Sys.time() < deadline) {
    held <- lapply(c(file, second), function(f) tryCatch(unwrap(native_tiles_info(f, TRUE), NULL), error = identity))
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
    # A killed process may have a lock for reading, which no other reader sees, until the system has ended it.
    again <- function(k, second) {
      deadline <- Sys.time() + 60
      repeat {
        r <- tryCatch(
          chol_file(k, second, resume = TRUE, host_memory = memory, gpu_memory = memory, device = device),
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
      state <- tryCatch(unwrap(native_tiles_info(second %||% file, TRUE), NULL)$holds, cudafactor_error = function(e) "nothing")
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
    # R looks at its clock twenty times a second, so the work has to take a good part of one, however fast the machine.
    n <- if (device == "cpu") 1500L else 3000L
    make <- function() tile_matrix(function(i, j) exp(-abs(outer(i, j, "-")) / n), new_file(), dim = n, triangle = TRUE, tile = 64)
    again <- function(...) chol_file(k, ..., host_memory = 40 * tile_bytes(64), gpu_memory = 40 * tile_bytes(64), device = device)
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
  unwrap(native_tiles_create(other, c(4, 4), 2, TRUE, raw(), open, how("cpu", "double", NULL)), NULL)
  busy <- structure(class = "tile_matrix", list(path = other, dim = c(4L, 4L), tile = 2L, triangle = TRUE, precision = "double"))
  expect_output(print(busy), "in use")
  expect_error(chol_file(busy), class = "cudafactor_error_file_in_use")
  expect_error(chol_file(k, other, resume = TRUE), class = "cudafactor_error_file_in_use")
  expect_error(as.matrix(busy), class = "cudafactor_error_file_in_use")
  native_tiles_discard(open)
  expect_false(file.exists(other))
})
