# Updates and downdates of Cholesky factors in files.

new_file <- function() tempfile(fileext = ".tiles")

# A factor in a file, and the same in memory.
factor_of <- function(x, tile = 16L, precision = "double") {
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = tile, precision = precision)
  r <- chol_file(k, device = "cpu")
  attr(r, "report") <- NULL
  list(r = r, plain = as.matrix(r), file = file)
}

expect_change <- function(out, r, v, by, precision) {
  before <- crossprod(r)
  product <- tcrossprod(v)
  expect_true(all(out[lower.tri(out)] == 0) && all(diag(out) > 0))
  scale <- max(norm_one(before), norm_one(before + by * product))
  expect_small(
    relative(crossprod(out) - (before + by * product), max(1, nrow(r)) * unit[[precision]] * scale),
    "cholesky"
  )
}

test_that("a second file has the factor of A + VV', or of A - VV', and the first one stays", {
  for_each_setting(function(device, precision) {
    set.seed(1)
    tile <- 16L
    for (n in c(1L, tile - 1L, tile, tile + 1L, 5L * tile + 3L)) {
      f <- factor_of(definite_matrix(n), tile, precision)
      before <- tools::md5sum(f$file)
      for (k in c(0L, 1L, 5L)) {
        v <- as_single(random_matrix(n, k) / sqrt(n))
        files <- c(new_file(), new_file())
        up <- chol_update(f$r, v, file = files[[1L]], device = device)
        expect_true(inherits(up, "tile_matrix"))
        expect_identical(up$precision, precision)
        expect_change(as.matrix(up), f$plain, v, 1, precision)
        down <- chol_downdate(
          up, v, device = device, file = files[[2L]], host_memory = "100MB", gpu_memory = "1GB"
        )
        expect_change(as.matrix(down), as.matrix(up), v, -1, precision)
        # It is a factor as chol_file() makes one.
        b <- random_matrix(n, 2)
        expect_small(
          residual_solve(
            chol_solve(down, b, device = device), crossprod(as.matrix(down)), b, precision
          ),
          "solve"
        )
        unlink(files)
      }
      expect_identical(tools::md5sum(f$file), before)
      unlink(f$file)
    }
  })
})

test_that("panels are those of a factor in memory, bit for bit on the CPU", {
  set.seed(2)
  n <- 1000L
  f <- factor_of(definite_matrix(n), 300L)
  on.exit(unlink(c(f$file, file)))
  v <- random_matrix(n, 3)
  up <- chol_update(f$r, v[, 1], file = file <- new_file(), device = "cpu")
  expect_identical(as.matrix(up), chol_update(f$plain, v[, 1], device = "cpu"))
  unlink(file)
  up <- chol_update(f$r, v, file = file, device = "cpu")
  expect_identical(as.matrix(up), chol_update(f$plain, v, device = "cpu"))
})

test_that("where there is no factor there is no file", {
  for_each_setting(function(device, precision) {
    f <- factor_of(diag(40), 16L, precision)
    file <- new_file()
    on.exit(unlink(c(f$file, file)))
    refused <- function(expr, class, ...) {
      e <- expect_error(expr, class = paste0("cudafactor_error_", class))
      expect_false(file.exists(file))
      fields <- list(...)
      for (name in names(fields)) expect_identical(e[[name]], fields[[name]])
    }
    v <- replace(double(40), 33, 1.5)
    refused(
      chol_downdate(f$r, v, file = file, device = device), "not_positive_definite", order = 33L
    )
    refused(
      chol_update(f$r, replace(v, 2, NaN), file = file, device = device), "non_finite",
      argument = "v"
    )
    refused(chol_update(f$r, v[-1], file = file, device = device), "dimension")
    refused(
      chol_update(f$r, v, file = file, host_memory = 1000, device = device), "argument",
      argument = "host_memory"
    )
    refused(chol_update(f$r, v, file = file.path(file, "there"), device = device), "file")
    # A margin that is small is told, and the file is there.
    v[[33L]] <- if (precision == "single") sqrt(1 - 2e-4) else sqrt(1 - 1e-10)
    w <- expect_warning(
      chol_downdate(f$r, v, file = file, device = device),
      class = "cudafactor_warning_ill_conditioned"
    )
    expect_lt(w$margin, 1e-3)
    expect_true(file.exists(file))
  })
})

test_that("arguments that do not go together are refused", {
  f <- factor_of(definite_matrix(20), 8L)
  file <- new_file()
  x <- tile_matrix(definite_matrix(20), matrix_file <- new_file(), triangle = TRUE, tile = 8L)
  on.exit(unlink(c(f$file, file, matrix_file)))
  v <- 1:20 / 100
  argument <- function(expr, name) {
    e <- expect_error(expr, class = "cudafactor_error_argument")
    expect_identical(e$argument, name)
  }
  argument(chol_update(f$r, v), "file")
  argument(chol_update(f$r, v, file = f$file), "file")
  argument(chol_update(f$r, v, file = 7), "file")
  argument(chol_update(f$r, v, file = file, lower = TRUE), "lower")
  argument(chol_update(f$r, v, file = file, in_place = TRUE), "in_place")
  argument(chol_downdate(f$r, v, file = file, host_memory = "many"), "host_memory")
  argument(chol_update(x, v, file = file), "r")
  argument(chol_update(f$plain, v, file = file), "file")
  argument(chol_downdate(f$plain, v, gpu_memory = 1e9), "gpu_memory")
  expect_error(chol_update(f$r, rep(1i, 20), file = file), class = "cudafactor_error_type")
  expect_false(file.exists(file))
  writeLines("mine", file)
  e <- expect_error(chol_update(f$r, v, file = file), class = "cudafactor_error_file_exists")
  expect_identical(readLines(file), "mine")
  expect_identical(basename(e$path), basename(file))
})

test_that("a factor in memory is changed where the GPU has little room for it", {
  skip_unless(gpu_available(), "no GPU")
  old <- options(cudafactor.gpu_memory = 150e6)
  on.exit(options(old))
  set.seed(3)
  n <- 3000L
  r <- chol(definite_matrix(n))
  v <- random_matrix(n, 5) / sqrt(n)
  up <- chol_update(r, v, device = "cuda")
  expect_change(up, r, v, 1, "double")
  expect_change(t(chol_downdate(t(up), v, lower = TRUE, device = "cuda")), up, v, -1, "double")
})
