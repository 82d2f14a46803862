# Cholesky factorization of matrices in files: the factor is chol()'s, in any memory. What happens
# after the end of a process is in test-cholesky-file-resume.R.

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
        k <- tile_matrix(
          half, file <- new_file(), triangle = TRUE, tile = tile, precision = precision
        )
        memory <- tiles * tile_bytes(k$tile, precision)
        # The GPU computes with two tiles more.
        on_gpu <- (tiles + 2) * tile_bytes(k$tile, precision)
        r <- chol_file(
          k, second <- new_file(), host_memory = memory, gpu_memory = on_gpu, device = device
        )
        expect_small(residual_cholesky(as.matrix(r), x, precision), "cholesky")
        expect_true(all(as.matrix(r)[lower.tri(x)] == 0))
        expect_identical(as.matrix(k), if (precision == "single") as_single(x) else x)
        expect_false(withVisible(chol_file(
          k, host_memory = memory, gpu_memory = on_gpu, device = device
        ))$visible)
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
    expect_message(
      r <- chol_file(k, device = device, verbose = TRUE),
      paste(
        "order 200 on .* GFLOP/s; read .*, written .*; reading for .*bound by the .*; tiles in .*",
        "of host memory"
      )
    )
    expect_message(
      chol_file(k, device = device, verbose = TRUE, resume = TRUE),
      "the factor of order 200 was complete: nothing to do"
    )
    expect_small(residual_cholesky(as.matrix(r), x, "double"), "cholesky")
    expect_silent(chol_file(k, resume = TRUE, device = device))
    report <- attr(r, "report")
    half <- utils::modifyList(report, list(operations = 200^3 / 6))
    expect_match(
      cudafactor:::report_text(200, half), "order 200 (50 % of the operations were left) on ",
      fixed = TRUE
    )
    expect_identical(names(report), c(
      "device", "seconds", "operations", "gflops", "read", "written", "sent", "fetched", "passed",
      "reading", "writing", "idle", "copying", "host_memory", "gpu_memory"
    ))
    expect_true(
      report$reading > 0 && report$writing > 0 && report$idle >= 0 && report$idle <= report$seconds
    )
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
      factor <- function(...) chol_file(
        k, ..., host_memory = 4 * tile_bytes(16), gpu_memory = 6 * tile_bytes(16), device = device
      )
      e <- expect_error(
        factor(second <- new_file()), class = "cudafactor_error_not_positive_definite"
      )
      expect_identical(e$order, order)
      expect_identical(conditionMessage(e), not_positive_definite_text(order))
      expect_false(file.exists(second))
      expect_identical(as.matrix(k), x)
      e <- expect_error(factor(), class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      # The file says the same from now on.
      e <- expect_error(factor(resume = TRUE), class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      expect_match(
        format(open_tile_matrix(file)), sprintf("not positive definite, at order %d", order)
      )
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
  expect_error(
    chol_file(k, third, resume = TRUE), "holds another matrix",
    class = "cudafactor_error_argument"
  )
  expect_error(chol_file(k, full, resume = TRUE), class = "cudafactor_error")
  expect_error(
    chol_file(k, second, host_memory = 2 * tile_bytes(16)), "3 tiles",
    class = "cudafactor_error_argument"
  )
  expect_false(file.exists(second))
  for (size in list("a", "5 pounds", -1, NA, 1:2, "1..2", TRUE)) {
    expect_error(chol_file(k, host_memory = size), class = "cudafactor_error_argument")
    expect_error(chol_file(k, gpu_memory = size), class = "cudafactor_error_argument")
  }
  expect_error(chol_file(k, resume = NA), class = "cudafactor_error_argument")
  expect_error(chol_file(k, verbose = 2), class = "cudafactor_error_argument")
  expect_error(chol_file(k, device = "abacus"), class = "cudafactor_error_argument")
  expect_identical(as.matrix(k), x)
  expect_identical(as.matrix(whole), x)
  expect_identical(as.matrix(other), 2 * x)
  chol_file(k)
  expect_error(chol_file(k), "factor already", class = "cudafactor_error_argument")
  expect_identical(as.matrix(k), x)
})

test_that("sizes are read with their units", {
  sizes <- list(
    "8GB" = 8e9, "512MiB" = 512 * 2^20, " 1.5 gib " = 1.5 * 2^30, "100" = 100, "2e3 kB" = 2e6,
    "1TB" = 1e12, "3 B" = 3, "8G" = 8 * 2^30, "512 m" = 512 * 2^20, "1k" = 1024, "2T" = 2^41
  )
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
