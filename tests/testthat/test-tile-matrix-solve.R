# What streams through a factor in a file is what base R gives for the factor in memory.

new_file <- function() tempfile(fileext = ".tiles")

tile_bytes <- function(tile, precision = "double")
  ceiling(tile^2 * (if (precision == "single") 4 else 8) / 4096) * 4096

# A factor in a file, and the same in memory.
factor_of <- function(x, tile = 16L, precision = "double") {
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = tile, precision = precision)
  r <- chol_file(k, device = "cpu")
  attr(r, "report") <- NULL
  list(r = r, plain = as.matrix(r), file = file)
}

test_that("systems are base R's, of every size and in little memory and much", {
  for_each_setting(function(device, precision) {
    set.seed(1)
    tile <- 16L
    for (n in c(1L, tile - 1L, tile, tile + 1L, 5L * tile + 3L)) {
      x <- definite_matrix(n)
      f <- factor_of(x, tile, precision)
      for (q in c(1L, 2L, 33L)) {
        b <- random_matrix(n, q)
        if (precision == "single") b <- as_single(b)
        for (tiles in c(3, 4, 1000)) {
          memory <- tiles * tile_bytes(f$r$tile, precision)
          # Beside tiles a column or two on a GPU.
          there <- memory + 6 * tile_bytes(f$r$tile, precision) + 2 * n * 8
          z <- chol_solve(f$r, b, host_memory = memory, gpu_memory = there, device = device)
          expect_small(residual_solve(z, crossprod(f$plain), b, precision), "solve")
          for (transpose in c(FALSE, TRUE)) {
            z <- backsolve(f$r, b, transpose = transpose, host_memory = memory, gpu_memory = there,
              device = device)
            expect_small(residual_triangular(z, if (transpose) t(f$plain) else f$plain, b,
              precision), "triangular")
          }
        }
      }
      unlink(f$file)
    }
  })
})

test_that("shapes, names, vectors and errors are base R's", {
  for_each_setting(function(device, precision) {
    set.seed(2)
    f <- factor_of(definite_matrix(20), 8L, precision)
    on.exit(unlink(f$file))
    r <- f$r
    old <- options(cudafactor.device = device)
    on.exit(options(old), add = TRUE)
    t <- tolerance_for(precision)
    rights <- list(
      vector = 1:20 + 0, integer = 1:20, named = setNames(1:20, letters[1:20]),
      matrix = named(random_matrix(20, 3)),
      column = matrix(1:20, 20), logical = rep(c(TRUE, FALSE), 10),
      data = data.frame(a = 1:20, b = 20:1),
      short = 1:19, tall = random_matrix(25, 2), text = rep("a", 20), nothing = matrix(0, 20, 0)
    )
    for (name in names(rights)) {
      b <- rights[[name]]
      if (name != "text") {
        for (trans in c(FALSE, TRUE)) {
          base <- function(...) base::backsolve(f$plain, b, transpose = trans, ...)
          expect_as_base(backsolve(r, b, transpose = trans), base(), t, info = name)
          expect_as_base(gpu_backsolve(r, b, 9, transpose = trans), base(k = 9), t, info = name)
          expect_as_base(forwardsolve(r, b, upper.tri = TRUE, transpose = trans), base(), t,
            info = name)
          expect_as_base(gpu_forwardsolve(r, b, 16L, upper.tri = TRUE, transpose = trans),
            base(k = 16L), t, info = name)
        }
      }
      if (!(name %in% c("data", "logical", "text"))) {
        expect_as_base(solve(r, b), base::solve(f$plain, b), t, info = name)
        # Base R has other names for the operands in what it says of these.
        if (!(name %in% c("short", "tall"))) {
          expect_as_base(chol_solve(r, b), base::solve(crossprod(f$plain), b), 100 * t, info = name)
        }
      }
    }
    expect_as_base(solve(r), base::solve(f$plain), t)
    expect_identical(dim(backsolve(r, matrix(0, 20, 0))), c(20L, 0L))
    expect_as_base(backsolve(r, 1:20, k = 0), base::backsolve(f$plain, 1:20, k = 0))
    expect_as_base(backsolve(r, 1:20, k = 21), base::backsolve(f$plain, 1:20, k = 21))
    expect_as_base(backsolve(r, 1:20, transpose = NA),
      base::backsolve(f$plain, 1:20, transpose = NA))
    g <- as_gpu(rights$matrix)
    plain <- function(x) unname(as.matrix(x))
    expect_equal(plain(solve(r, g)), plain(base::solve(f$plain, rights$matrix)), tolerance = t)
    expect_equal(plain(backsolve(r, g)), base::backsolve(f$plain, rights$matrix), tolerance = t)
    expect_equal(plain(forwardsolve(r, g, upper.tri = TRUE)),
      base::backsolve(f$plain, rights$matrix), tolerance = t)
  })
})

test_that("determinant and diagonal read what they are of", {
  for (precision in c("double", "single")) {
    set.seed(3)
    for (n in c(1L, 7L, 8L, 9L, 30L)) {
      x <- definite_matrix(n) * 4
      f <- factor_of(x, 8L, precision)
      for (logarithm in list(TRUE, FALSE, 1L)) {
        expect_as_base(determinant(f$r, logarithm), base::determinant(f$plain, logarithm))
        expect_as_base(gpu_determinant(f$r, logarithm), base::determinant(f$plain, logarithm))
      }
      expect_as_base(determinant(f$r, NA), base::determinant(f$plain, NA))
      expect_equal(det(f$r), det(f$plain))
      expect_identical(diag(f$r), diag(f$plain))
      unlink(f$file)
    }
  }
  x <- random_matrix(20, 13)
  for (tile in c(4, 20)) {
    y <- tile_matrix(x, file <- new_file(), tile = tile)
    expect_identical(diag(y), diag(x))
    expect_error(diag(y, 3), class = "cudafactor_error_argument")
    expect_error(determinant(y), class = "cudafactor_error_dimension")
    unlink(file)
  }
})

test_that("the diagonal of the inverse is chol2inv()'s", {
  for_each_setting(function(device, precision) {
    set.seed(4)
    for (n in c(1L, 15L, 16L, 17L, 90L)) {
      f <- factor_of(definite_matrix(n), 16L, precision)
      wanted <- diag(chol2inv(f$plain))
      for (tiles in c(3, 8, 1000)) {
        memory <- tiles * tile_bytes(f$r$tile, precision) +
          20 * n * (if (precision == "single") 4 else 8)
        there <- memory + 4 * tile_bytes(f$r$tile, precision)
        d <- chol2inv_diag(f$r, host_memory = memory, gpu_memory = there, device = device)
        expect_equal(d, wanted, tolerance = if (precision == "single") 1e-3 else 1e-10)
      }
      expect_equal(chol2inv_diag(f$r, device = device), wanted,
        tolerance = if (precision == "single") 1e-3 else 1e-10)
      unlink(f$file)
    }
  })
})

test_that("the inverse from a factor on disk is chol2inv()'s", {
  set.seed(6)
  for (n in c(1L, 16L, 17L)) {
    f <- factor_of(definite_matrix(n), 16)
    plain <- as.matrix(f$r)
    expect_equal(chol2inv(f$r), chol2inv(plain), info = n)
    expect_equal(gpu_chol2inv(f$r), chol2inv(plain), info = n)
    expect_equal(chol2inv(f$r, 1), chol2inv(plain, 1), info = n)
    # A matrix in a file is a right-hand side as others are.
    expect_equal(solve(plain, f$r), solve(plain, plain), info = n)
    unlink(f$file)
  }
  full <- tile_matrix(matrix(0, 2, 3), whole <- new_file())
  on.exit(unlink(whole))
  e <- expect_error(chol2inv(full), "must be square", class = "cudafactor_error_dimension")
  expect_identical(conditionCall(e), quote(chol2inv(full)))
})

test_that("a factor on disk is not factored again", {
  f <- factor_of(diag(20), 16)
  on.exit(unlink(f$file))
  q <- f$r
  words <- conditionMessage(expect_error(chol_file(q), class = "cudafactor_error_argument"))
  for (wrong in alist(chol(q), chol(q, file = new_file()), gpu_chol(q), chol_gpus(q))) {
    expect_error(eval(wrong), words, fixed = TRUE, class = "cudafactor_error_argument")
  }
  unlink(f$file)
  expect_error(chol(q), "must name a file for the factor", class = "cudafactor_error_argument")
})

test_that("what is no complete factor is told apart", {
  x <- diag(40)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  full <- tile_matrix(x, whole <- new_file(), tile = 16)
  x[20, 20] <- -1
  bad <- tile_matrix(x, third <- new_file(), triangle = TRUE, tile = 16)
  expect_error(chol_file(bad, device = "cpu"), class = "cudafactor_error_not_positive_definite")
  on.exit(unlink(c(file, whole, third)))
  for (y in list(k, full, bad)) {
    words <- if (identical(y, bad)) "order 20 is not positive" else "chol_file\\(\\)"
    calls <- list(
      r = function() chol_solve(y, 1:40), r = function() chol2inv_diag(y),
      a = function() solve(y, 1:40),
      r = function() backsolve(y, 1:40), l = function() forwardsolve(y, 1:40, upper.tri = TRUE),
      r = function() gpu_backsolve(y, 1:40), x = function() determinant(y),
      x = function() gpu_determinant(y), x = function() chol2inv(y), x = function() gpu_chol2inv(y)
    )
    for (i in seq_along(calls)) {
      e <- expect_error(calls[[i]](), words, class = "cudafactor_error_argument")
      expect_identical(e$argument, names(calls)[[i]])
    }
  }
})

test_that("arguments that make no sense are errors", {
  f <- factor_of(diag(40) * 4, 16)
  on.exit(unlink(f$file))
  r <- f$r
  expect_error(chol_solve(), class = "cudafactor_error_argument")
  expect_error(chol_solve(r), class = "cudafactor_error_argument")
  expect_error(chol2inv_diag(), class = "cudafactor_error_argument")
  for (device in c("cpu", if (gpu_available()) "cuda")) {
    few <- 2 * tile_bytes(16)
    memory <- if (device == "cpu") list(host_memory = few) else list(gpu_memory = few)
    for (call in list(chol_solve, solve, backsolve)) {
      expect_error(do.call(call, c(list(r, 1:40, device = device), memory)), "must be at least",
        class = "cudafactor_error_argument")
    }
    expect_error(do.call(chol2inv_diag, c(list(r, device = device), memory)), "must be at least",
      class = "cudafactor_error_argument")
  }
  expect_error(chol2inv_diag(r, host_memory = 3 * tile_bytes(16), device = "cpu"),
    "must be at least",
    class = "cudafactor_error_argument")
  expect_error(chol_solve(r, 1:40, host_memory = "much"), class = "cudafactor_error_argument")
  expect_error(chol_solve(r, 1:40, device = "abacus"),
    class = "cudafactor_error_argument")
  expect_error(solve(r, 1:40, tol = 0), class = "cudafactor_error_argument")
  expect_error(solve(r, 1:40, 7), class = "cudafactor_error_argument")
  expect_error(backsolve(r, 1:40, upper.tri = FALSE), "upper triangular",
    class = "cudafactor_error_argument")
  expect_error(forwardsolve(r, 1:40), "backsolve(r, b, transpose = TRUE)", fixed = TRUE,
    class = "cudafactor_error_argument")
  for (wrong in alist(chol_solve(r, 1i * 1:40), solve(r, 1i * 1:40), backsolve(r, 1i * 1:40))) {
    expect_error(eval(wrong), "as.matrix() of the factor", fixed = TRUE,
      class = "cudafactor_error_type")
  }
  expect_error(gpu_forwardsolve(r, 1:40), "transpose = TRUE", class = "cudafactor_error_argument")
  expect_error(chol_solve(r, 1:39), class = "cudafactor_error_dimension")
  expect_error(chol_solve(r, letters), class = "cudafactor_error")
  e <- expect_error(chol_solve(r, 1:39), class = "cudafactor_error")
  expect_identical(conditionCall(e)[[1L]], quote(chol_solve))
  expect_identical(conditionCall(expect_error(solve(r, 1:39), class = "cudafactor_error"))[[1L]],
    quote(solve.tile_matrix))
  unlink(f$file)
  expect_error(chol_solve(r, 1:40), class = "cudafactor_error_file")
  tile_matrix(diag(7), f$file)
  expect_error(chol_solve(r, 1:40), "another matrix", class = "cudafactor_error_file_format")
  expect_error(chol2inv_diag(r), "another matrix", class = "cudafactor_error_file_format")
  expect_error(determinant(r), "another matrix", class = "cudafactor_error_file_format")
})

test_that("messages name arguments as the user does", {
  f <- factor_of(diag(5), 4)
  on.exit(unlink(f$file))
  full <- tile_matrix(matrix(0, 2, 3), whole <- new_file())
  on.exit(unlink(whole), add = TRUE)
  for (r in list(f$r, f$plain, as_gpu(f$plain))) {
    expect_error(chol_solve(r, 1:4), "'b' (4 x 1) must be compatible with 'r' (5 x 5)",
      fixed = TRUE)
  }
  for (r in list(full, matrix(0, 2, 3), as_gpu(matrix(0, 2, 3)))) {
    expect_error(chol_solve(r, 1:2), "'r' (2 x 3) must be square", fixed = TRUE,
      class = "cudafactor_error_dimension")
  }
  for (r in list(matrix(0, 2, 3), as_gpu(matrix(0, 2, 3)))) {
    expect_error(chol2inv_diag(r), "'r' (2 x 3) must be square", fixed = TRUE,
      class = "cudafactor_error_dimension")
  }
  expect_error(solve(f$r, 1:4), "with 'a' (5 x 5)", fixed = TRUE)
  for (odd in list(NULL, quote(a), quote(a + b), globalenv(), list(1, 2))) {
    type <- sprintf("not of type \"%s\"", typeof(odd))
    expect_error(chol_solve(odd, 1), paste("'r' must be a Cholesky factor,", type),
      class = "cudafactor_error_type")
    expect_error(chol2inv_diag(odd), paste("'r' must be a Cholesky factor,", type),
      class = "cudafactor_error_type")
    expect_error(tile_matrix(odd, new_file()),
      paste("'x' must be a numeric matrix, or a function,", type), class = "cudafactor_error_type")
    expect_error(lazy_covariance(odd), "'x' must be a numeric matrix of coordinates",
      class = "cudafactor_error_type")
  }
})

test_that("NaN and infinite entries go on, and a damaged tile is named", {
  for_each_setting(function(device, precision) {
    set.seed(6)
    f <- factor_of(definite_matrix(40), 16, precision)
    for (bad in c(NaN, NA, Inf)) {
      b <- random_matrix(40, 2)
      b[30, 2] <- bad
      z <- backsolve(f$r, b, device = device)
      expect_true(all(is.finite(z[, 1])))
      expect_identical(is.finite(z[, 2]), 1:40 > 30)
      z <- backsolve(f$r, b, transpose = TRUE, device = device)
      expect_identical(is.finite(z[, 2]), 1:40 < 30)
      expect_false(any(is.finite(chol_solve(f$r, b, device = device)[1:30, 2])))
    }
    con <- file(f$file, "r+b")
    # The factor of a matrix of three by three tiles: some slot of its last tiles.
    size <- file.size(f$file)
    each <- tile_bytes(16, precision)
    for (slot in seq_len((size - 3 * 4096) %/% each) - 1) {
      seek(con, 3 * 4096 + slot * each + 100, rw = "write")
      writeBin(as.raw(77L), con)
    }
    close(con)
    e <- expect_error(chol_solve(f$r, 1:40, device = device),
      class = "cudafactor_error_file_corrupt")
    expect_true(e$row <= e$col && e$col <= 3L)
    expect_error(chol2inv_diag(f$r, device = device), class = "cudafactor_error_file_corrupt")
    expect_error(determinant(f$r), class = "cudafactor_error_file_corrupt")
    unlink(f$file)
  })
})

test_that("a limit of time ends it", {
  skip_on_os("windows")
  for_each_device(function(device) {
    n <- 1200L
    k <- tile_matrix(function(i, j) exp(-abs(outer(i, j, "-")) / 50), new_file(), dim = n,
      triangle = TRUE, tile = 16)
    r <- chol_file(k, device = "cpu")
    again <- function() chol2inv_diag(r, host_memory = "1MB", gpu_memory = "2MB", device = device)
    seconds <- system.time(again())[["elapsed"]]
    # A busy machine may be faster the next time.
    for (share in c(3, 2, 5, 1.5, 8)) {
      setTimeLimit(elapsed = seconds / share, transient = TRUE)
      e <- tryCatch(again(), error = identity)
      setTimeLimit()
      if (inherits(e, "error")) break
    }
    expect_s3_class(e, "simpleError")
    expect_true(is.finite(sum(again())))
    unlink(k$path)
  })
})
