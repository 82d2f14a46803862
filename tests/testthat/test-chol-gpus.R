# Factors that are spread over several GPUs. On the CPU the tiles are memory of the host, and of any
# order.

in_tiles <- function(x, tile, device = "cpu")
  spread_factor(x, NULL, device, tile, quote(chol_gpus(x)))

test_that("tiles of any order hold the factor", {
  set.seed(1)
  tile <- 8L
  for (n in c(1L, 7L, 8L, 9L, 43L)) {
    x <- named(definite_matrix(n))
    r <- in_tiles(x, tile)
    expect_s4_class(r, "gpu_factor")
    expect_identical(dim(r), c(n, n))
    expect_identical(dimnames(r), dimnames(x))
    expect_length(r$tiles, choose(ceiling(n / tile) + 1, 2))
    for (t in r$tiles) expect_identical(dim(t), c(tile, tile))
    expect_equal(as.matrix(r), chol(x), info = n)
    expect_identical(as.matrix(r)[lower.tri(x)], numeric(n * (n - 1) / 2))
    expect_equal(determinant(r), determinant(chol(x)), info = n)
    expect_equal(determinant(r, logarithm = FALSE), determinant(chol(x), logarithm = FALSE),
      info = n)
    expect_equal(gpu_determinant(r), determinant(r))
    b <- named(random_matrix(n, 3))
    expect_as_base(chol_solve(r, b), solve(x, b), info = n)
    expect_as_base(chol_solve(r, b[, 1L]), solve(x, b[, 1L]), info = n)
    expect_equal(chol2inv_diag(r), diag(chol2inv(chol(x))), info = n)
  }
  # Tile (i, j), counted from 0, is at j (j + 1) / 2 + i + 1, filled up with the identity; of what
  # is below the diagonal nothing is used.
  full <- rbind(cbind(as.matrix(r), matrix(0, 43, 5)), cbind(matrix(0, 5, 43), diag(5)))
  for (j in 0:5) for (i in 0:j) {
    expect_equal(as.matrix(r$tiles[[j * (j + 1) / 2 + i + 1]]),
      unname(full[i * 8 + 1:8, j * 8 + 1:8]))
  }
  tiles <- r$tiles
  for (j in 0:5) {
    at <- j * (j + 1) / 2 + j + 1
    noise <- as.matrix(tiles[[at]])
    noise[lower.tri(noise)] <- NaN
    tiles[[at]] <- as_gpu(noise, "cpu")
  }
  r <- new_gpu_factor(tiles, r$n, r$tile, r$dimnames)
  expect_equal(as.matrix(r), chol(x))
  expect_equal(determinant(r), determinant(chol(x)))
  expect_equal(chol_solve(r, b), solve(x, b))
})

test_that("the factor is chol()'s on every device", {
  for_each_device(function(device) {
    set.seed(2)
    for (n in c(1L, 127L, 128L, 129L, 300L)) {
      x <- named(definite_matrix(n))
      r <- chol_gpus(x, device = device)
      expect_identical(r$tile, min(n, 128L))
      expect_identical(unique(vapply(r$tiles, function(t) t@device, "")), r$devices)
      expect_identical(r$devices == "cpu", device == "cpu")
      expect_small(residual_cholesky(unname(as.matrix(r)), unname(x), "double"), "cholesky")
      expect_equal(as.matrix(r), chol(x), tolerance = 1e-10, info = n)
      expect_equal(determinant(r), determinant(chol(x)), tolerance = 1e-10)
      b <- named(random_matrix(n, 2))
      expect_as_base(chol_solve(r, b), solve(x, b))
      expect_as_base(chol_solve(r, 1:n), solve(x, 1:n))
      expect_equal(chol_solve(r, as_gpu(b, device)), solve(x, b))
    }
    upper <- x
    upper[lower.tri(upper)] <- NaN
    expect_equal(as.matrix(chol_gpus(upper, device = device)), chol(x), tolerance = 1e-10)
    whole <- matrix(c(4L, 2L, 2L, 3L), 2L)
    expect_equal(as.matrix(chol_gpus(whole, device = device)), chol(whole))
    expect_equal(as.matrix(chol_gpus(as.data.frame(whole), device = device)),
      chol(as.matrix(as.data.frame(whole))))
    expect_equal(as.matrix(chol_gpus(as_gpu(x, device), device = device)), chol(x),
      tolerance = 1e-10)
  })
})

test_that("all GPUs take part by default", {
  expect_null(getOption("cudafactor.devices"))
  expect_null(getOption("cudafactor.device"))
  gpus <- gpu_info()$device
  # Tiles of 128, so that each of several GPUs has some.
  n <- 128L * 6L * max(1L, length(gpus))
  x <- definite_matrix(n)
  r <- chol_gpus(x)
  expect_setequal(r$devices, if (length(gpus)) gpus else "cpu")
  held <- table(vapply(r$tiles, function(t) t@device, ""))
  if (length(gpus) > 1L) {
    # Neighbouring columns are on different GPUs, and equal ones share the work evenly.
    expect_gt(min(held), length(r$tiles) / length(gpus) / 4)
  }
  expect_equal(as.matrix(r), chol(x), tolerance = 1e-10)
  expect_equal(chol_solve(r, 1:n), solve(x, 1:n), tolerance = 1e-10)
})

test_that("the order of a tile leaves six rows of tiles or more to each GPU", {
  expect_identical(tile_order(1L, 1L), 1L)
  expect_identical(tile_order(300L, 1L), 128L)
  expect_identical(tile_order(640L, 1L), 128L)
  expect_identical(tile_order(1280L, 1L), 128L)
  expect_identical(tile_order(1281L, 1L), 256L)
  expect_identical(tile_order(10240L, 1L), 1024L)
  expect_identical(tile_order(10241L, 1L), 2048L)
  expect_identical(tile_order(10241L, 2L), 512L)
  expect_identical(tile_order(100000L, 8L), 2048L)
})

test_that("NaN and infinite right-hand sides go where base R takes them", {
  set.seed(3)
  x <- definite_matrix(21)
  r <- in_tiles(x, 8L)
  b <- random_matrix(21, 3)
  b[20, 1] <- NaN
  b[3, 2] <- Inf
  out <- chol_solve(r, b)
  wanted <- backsolve(chol(x), backsolve(chol(x), b, transpose = TRUE))
  expect_identical(is.finite(out), is.finite(wanted))
  expect_equal(out[, 3], wanted[, 3])
  # Zero times infinity, below the order, is not let in.
  expect_identical(chol_solve(r, c(numeric(20), Inf))[[21]], Inf)
})

test_that("a matrix that is not positive definite is named by its minor", {
  for_each_device(function(device) {
    set.seed(4)
    x <- definite_matrix(300)
    for (order in c(1L, 129L, 300L)) for (value in c(-1, NaN)) {
      bad <- x
      bad[order, order] <- value
      e <- expect_error(chol_gpus(bad, device = device),
        class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, order)
      expect_identical(conditionCall(e)[[1L]], quote(chol_gpus))
    }
  })
})

test_that("wrong arguments are classed errors", {
  expect_error(chol_gpus(), class = "cudafactor_error_argument")
  expect_error(chol_gpus(matrix(1, 2, 3)), class = "cudafactor_error_dimension")
  expect_error(chol_gpus(matrix(0, 0, 0)), class = "cudafactor_error_dimension")
  expect_error(chol_gpus(1:3), class = "cudafactor_error_dimension")
  expect_error(chol_gpus(matrix("a", 2, 2)), class = "cudafactor_error_type")
  expect_as_base(chol_gpus(diag(1i, 2)), chol(diag(1i, 2)))
  expect_error(chol_gpus(unserialize(serialize(as_gpu(diag(2), "cpu"), NULL))),
    class = "cudafactor_error_stale")
  expect_error(chol_gpus(sum), class = "cudafactor_error_type")
  expect_error(chol_gpus(NULL), class = "cudafactor_error_type")
  expect_error(chol_gpus(list(diag(2), diag(3))), class = "cudafactor_error_type")
  expect_error(chol_gpus(diag(2), device = "gpu"), class = "cudafactor_error_argument")
  expect_error(chol_gpus(diag(2), device = 1), class = "cudafactor_error_argument")
  for (devices in list("a", c(0, 0), -1, 0.5, numeric())) {
    e <- expect_error(chol_gpus(diag(2), devices), class = "cudafactor_error_argument")
    expect_identical(e$argument, "devices")
  }
  expect_error(chol_gpus(diag(2), 0, "cpu"), class = "cudafactor_error_argument")
  expect_error(chol_gpus(diag(2), device = "cuda:99"),
    class = "cudafactor_error_device_unavailable")
  expect_error(chol_gpus(diag(2), devices = 50, device = "cuda"),
    class = "cudafactor_error_device_unavailable")
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  expect_error(chol_gpus(tile_matrix(diag(2), file, triangle = TRUE)), "chol_file",
    class = "cudafactor_error_type")

  r <- in_tiles(diag(4, 10), 4L)
  same <- diag(2, 10)
  for (b in list(1:9, matrix(0, 10, 0), sum, "a", matrix("a", 10, 1))) {
    ours <- outcome(chol_solve(r, b))
    wanted <- outcome(chol_solve(same, b))
    expect_identical(ours$error, wanted$error)
    expect_identical(class(ours$condition), class(wanted$condition))
    expect_identical(ours$warnings, wanted$warnings)
  }
  e <- expect_error(chol_solve(r, 1:9), class = "cudafactor_error_dimension")
  expect_match(conditionMessage(e), "'b' (9 x 1) must be compatible with 'r' (10 x 10)",
    fixed = TRUE)
  expect_error(determinant(r, logarithm = NA), class = "cudafactor_error_argument")
})

test_that("a factor says what it is", {
  r <- in_tiles(diag(4, 10), 4L)
  expect_identical(format(r), "<gpu_factor> order 10, tiles of 4 on cpu (768 bytes)")
  expect_output(print(r), "<gpu_factor> order 10, tiles of 4 on cpu (768 bytes)", fixed = TRUE)
  expect_output(str(r), "<gpu_factor> order 10", fixed = TRUE)
  expect_output(expect_invisible(print(r)))
  expect_null(dimnames(r))
  many <- list(tiles = rep(r$tiles[1L], 1176L), n = 98304L, tile = 2048L,
    devices = c("cuda:0", "cuda:1"), dimnames = NULL)
  many <- asS4(structure(many, class = "gpu_factor"))
  expect_identical(format(many),
    "<gpu_factor> order 98304, tiles of 2048 on cuda:0, cuda:1 (36.8 GiB)")
})

test_that("what was saved and restored, or given back, is stale", {
  expect_error(gpu_save(in_tiles(diag(2), 1L), tempfile()), "as.matrix",
    class = "cudafactor_error_type")
  for_each_device(function(device) {
    r <- chol_gpus(diag(4, 200), device = device)
    file <- tempfile(fileext = ".rds")
    on.exit(unlink(file))
    saveRDS(r, file)
    restored <- readRDS(file)
    gpu_free(r)
    for (gone in list(restored, r)) {
      expect_match(format(gone), "<gpu_factor> order 200", fixed = TRUE)
      expect_error(as.matrix(gone), class = "cudafactor_error_stale")
      expect_error(chol2inv_diag(gone), class = "cudafactor_error_stale")
      e <- expect_error(gpu_determinant(gone), class = "cudafactor_error_stale")
      expect_identical(conditionCall(e)[[1L]], quote(gpu_determinant))
      e <- expect_error(chol_solve(gone, 1:200), class = "cudafactor_error_stale")
      expect_identical(conditionCall(e)[[1L]], quote(chol_solve))
    }
  })
})
