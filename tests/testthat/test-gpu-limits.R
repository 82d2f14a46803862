# Matrices that are larger than the memory of a GPU that may be used, and choices of GPUs.

gpus <- if (gpu_available()) "cuda" else character()

with_limit <- function(bytes, code) {
  old <- options(cudafactor.gpu_memory = bytes)
  on.exit(options(old))
  force(code)
}

test_that("what needs more of the GPU's memory than it may take is base R's all the same", {
  set.seed(11)
  for_each_device(function(device) {
    for (n in c(1L, 127L, 129L, 400L)) {
      x <- definite_matrix(n)
      dimnames(x) <- list(paste0("r", seq_len(n)), paste0("c", seq_len(n)))
      y <- matrix(rnorm(n * 7), n)
      # Some ten tiles of 128.
      with_limit(1.5e6, {
        r <- gpu_chol(x, device = device)
        expect_small(residual_cholesky(r, x, "double"), "cholesky")
        expect_identical(dimnames(r), dimnames(chol(x)))
        expect_true(all(r[lower.tri(r)] == 0))
        expect_equal(gpu_matmult(x, y, device = device), x %*% y)
        expect_equal(gpu_crossprod(y, x, device = device), crossprod(y, x))
        s <- gpu_crossprod(x, device = device)
        expect_equal(s, crossprod(x))
        expect_identical(unname(s), unname(t(s)))
        expect_equal(gpu_tcrossprod(y, device = device), tcrossprod(y))
        expect_equal(gpu_solve(x, y, device = device), solve(x, y))
        expect_equal(gpu_solve(x, device = device), solve(x))
      })
    }
    with_limit(1.5e6, {
      x <- diag(300)
      x[200, 200] <- -1
      e <- expect_error(gpu_chol(x, device = device),
        class = "cudafactor_error_not_positive_definite")
      expect_identical(e$order, 200L)
      expect_equal(gpu_solve(x, x, device = device), diag(300))
      x[1, 2] <- 3
      expect_equal(gpu_solve(x, device = device), solve(x))
    })
  })
})

test_that("a limit below a few tiles is told, and a limit that is none is an error", {
  x <- definite_matrix(200)
  for (device in gpus) {
    with_limit(1000,
      expect_error(gpu_chol(x, device = device), "gpu_memory|too few",
        class = "cudafactor_error_argument"))
  }
  for (wrong in list(-1, "8GB", NA_real_, c(1, 2))) {
    with_limit(wrong,
      expect_error(gpu_chol(x), "cudafactor.gpu_memory", class = "cudafactor_error_argument"))
  }
  for (wrong in list(-1, 1.5, c(0, 0), 60, NA_real_, "0", numeric())) {
    old <- options(cudafactor.devices = wrong)
    expect_error(gpu_chol(x), "cudafactor.devices", class = "cudafactor_error_argument")
    options(old)
  }
})

test_that("GPUs are chosen by their numbers", {
  x <- definite_matrix(100)
  k <- tile_matrix(x, file <- tempfile(fileext = ".tiles"), triangle = TRUE, tile = 16)
  on.exit(unlink(file))
  expect_error(chol_file(k, devices = c(0, 0)), "devices", class = "cudafactor_error_argument")
  expect_error(chol_file(k, devices = 0, device = "cpu"), "devices",
    class = "cudafactor_error_argument")
  for (device in gpus) {
    r <- chol_file(k, second <- tempfile(), device = "cuda", devices = 0)
    expect_identical(attr(r, "report")$device, "cuda:0")
    expect_small(residual_cholesky(as.matrix(r), x, "double"), "cholesky")
    unlink(second)
    # The default, and all GPUs by their numbers.
    for (devices in list(NULL, seq_len(nrow(gpu_info())) - 1)) {
      old <- options(cudafactor.devices = devices)
      expect_small(residual_cholesky(gpu_chol(x, device = "auto"), x, "double"), "cholesky")
      options(old)
    }
  }
})
