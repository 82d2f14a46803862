# What tells a matrix that is elsewhere from all others, and how such matrices are compared.

hashes <- function() {
  found <- list(serialize = function(x) paste(serialize(x, NULL), collapse = ""))
  if (requireNamespace("rlang", quietly = TRUE)) found$rlang <- rlang::hash
  if (requireNamespace("digest", quietly = TRUE)) found$digest <- function(x) digest::digest(x)
  found
}

test_that("matrices and factors that differ hash differently, and copies alike", {
  set.seed(1)
  seed <- .Random.seed
  a <- crossprod(matrix(1:9 + 0.5, 3)) + diag(3)
  make <- list(as_gpu, function(x) qr(as_gpu(x)), function(x) gpu_lu(as_gpu(x)),
    function(x) chol(as_gpu(x)), chol_gpus)
  for (hash in hashes()) {
    for (f in make) {
      x <- f(a)
      y <- f(a + diag(3))
      z <- x
      expect_false(hash(x) == hash(y))
      expect_identical(hash(z), hash(x))
      expect_true(identical(x, x))
    }
  }
  expect_identical(.Random.seed, seed)
})

test_that("the hash packages of a cache are among those that are tested", {
  skip_if_not_installed("rlang")
  skip_if_not_installed("digest")
  expect_identical(names(hashes()), c("serialize", "rlang", "digest"))
})

test_that("other sessions, and forked processes, give other identities", {
  identity_of <- "cat(paste(serialize(cudafactor::as_gpu(1, 'cpu'), NULL), collapse = ''))"
  expect_false(run_child(identity_of)$output == run_child(identity_of)$output)
  skip_on_os("windows")
  skip_if_not_installed("parallel")
  all <- parallel::mclapply(1:4, function(i) serialize(as_gpu(1, "cpu"), NULL), mc.cores = 2)
  expect_false(anyDuplicated(all) > 0)
})

test_that("a change in place renews it for all names, also where it fails", {
  for (hash in hashes()) {
    r <- as_gpu(diag(3))
    s <- r
    before <- hash(s)
    chol_update(r, 1:3, in_place = TRUE)
    expect_false(hash(s) == before)
    expect_identical(hash(s), hash(r))
  }
})

test_that("a matrix on disk has that of its file's contents", {
  files <- tempfile(c("a", "b"), fileext = ".tiles")
  on.exit(unlink(files))
  a <- crossprod(matrix(1:9 + 0.5, 3)) + diag(3)
  for (hash in hashes()) {
    unlink(files)
    k <- tile_matrix(a, files[[1]], triangle = TRUE)
    kept <- unserialize(serialize(k, NULL))
    again <- open_tile_matrix(files[[1]])
    before <- hash(k)
    expect_identical(hash(again), before)
    expect_identical(hash(kept), before)
    expect_identical(again, k)
    chol_file(kept)
    expect_false(hash(k) == before)
    expect_false(hash(kept) == before)
    expect_identical(hash(open_tile_matrix(files[[1]])), hash(k))
    factor <- hash(k)
    unlink(files[[1]])
    k2 <- tile_matrix(a, files[[1]], triangle = TRUE)
    expect_false(hash(k2) %in% c(before, factor))
  }
})

test_that("testthat compares values", {
  file <- tempfile(c("a", "b"), fileext = ".tiles")
  on.exit(unlink(file))
  a <- crossprod(matrix(1:9 + 0.5, 3)) + diag(3)
  b <- a
  b[2, 2] <- b[2, 2] + 7
  make <- list(
    as_gpu, function(x) qr(as_gpu(x)), function(x) gpu_lu(as_gpu(x)), chol_gpus,
    function(x) {
      unlink(file[[1]])
      tile_matrix(x, file[[1]])
    }
  )
  for (f in make) {
    x <- f(a)
    on_disk <- inherits(x, "tile_matrix")
    if (on_disk) file <- rev(file)
    y <- f(a)
    if (!on_disk) expect_identical(x, y)
    expect_equal(x, y)
    if (on_disk) file <- c(tempfile(fileext = ".tiles"), file)
    z <- f(b)
    expect_failure(expect_equal(x, z))
    expect_failure(expect_identical(x, z))
    expect_true(isTRUE(all.equal(x, y)))
    expect_false(isTRUE(all.equal(x, z)))
    with_edition <- function(edition, code) {
      local_edition(edition)
      code
    }
    with_edition(2, expect_equal(x, y))
    with_edition(2, expect_failure(expect_equal(x, z)))
  }
  expect_equal(as_gpu(a), a)
})

test_that(
    "an object of an earlier session, with nothing to tell it from others, is shown and stale", {
  g <- as_gpu(diag(2))
  .External(cudafactor:::set_identity, g@pointer, "")
  old <- unserialize(serialize(g, NULL))
  expect_output(print(old), "gpu_matrix 2 x 2")
  expect_error(as.matrix(old), class = "cudafactor_error_stale")
})
