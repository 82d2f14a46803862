test_that("a factor that R has no memory for is an error of this package", {
  skip_if_not_installed("Matrix")
  n <- 1200L
  # The first column fills all others.
  a <- Matrix::sparseMatrix(i = c(seq_len(n), rep(1L, n - 1L)), j = c(seq_len(n), 2:n),
    x = rep(c(n + 0, rep(2, n - 1L), rep(0.5, n - 1L))), symmetric = TRUE)
  before <- mem.maxVSize()
  on.exit(mem.maxVSize(before))
  # The least limit that R takes is the size at which it looks for garbage; all but 4 MB of that is
  # taken away. The factor has 8.6 MB.
  now <- gc()[2L, ]
  mem.maxVSize(now[[4L]] + 1)
  ballast <- raw(max(0, mem.maxVSize() - now[[2L]] - 4) * 2^20)
  e <- tryCatch(ichol(a, 1e-300), error = identity)
  rm(ballast)
  mem.maxVSize(before)
  expect_s3_class(e, "cudafactor_error_host_memory")
  expect_gt(e$needed, 2^21)
  expect_length(ichol(a, 1e-300)$L@x, n * (n + 1) / 2)
})

test_that("a sparse matrix that no memory holds as a plain one is an error that names the way", {
  skip_if_not_installed("Matrix")
  n <- 1e6
  a <- Matrix::Diagonal(n, 2) + Matrix::sparseMatrix(i = 1:2, j = 2:1, x = c(1, 1), dims = c(n, n))
  expect_true(is(a, "sparseMatrix"))
  small <- diag(2)
  file <- tempfile(fileext = ".tiles")
  verbs <- list(
    "pcg\\(\\)" = list(
      function() gpu_solve(a, 1:2), function() gpu_solve(a), function() as_gpu(a),
      function() cudafactor::gpu_solve(a),
      function() chol_solve(small, a), function() gpu_covariance(a), function() lazy_covariance(a),
      function() chol_update(small, a),
      function() chol2inv_diag(a), function() gpu_chol2inv(a)
    ),
    "Cholesky\\(\\)" = list(
      function() gpu_chol(a), function() gpu_chol(a, pivot = TRUE), function() chol_gpus(a)
    ),
    "Matrix::lu" = list(function() gpu_lu(a)),
    "Matrix::qr" = list(function() gpu_qr(a), function() gpu_lm_fit(a, 1:2)),
    "Matrix::determinant" = list(function() gpu_determinant(a)),
    "crossprod.. and tcrossprod.. of package Matrix" = list(
      function() gpu_matmult(a, small), function() gpu_matmult(small, a),
      function() gpu_crossprod(a), function() gpu_tcrossprod(small, a)
    ),
    "Matrix::solve" = list(function() gpu_backsolve(a, 1:2), function() gpu_forwardsolve(a, 1:2),
      function() gpu_solve(small, a)),
    "in blocks" = list(function() tile_matrix(a, file))
  )
  for (way in names(verbs)) for (f in verbs[[way]]) {
    e <- tryCatch(f(), error = identity)
    info <- deparse(body(f))
    expect_s3_class(e, "cudafactor_error_host_memory")
    expect_match(conditionMessage(e), way, info = info)
    expect_identical(e$needed, 8e12, info = info)
  }
  expect_false(file.exists(file))
  # Package slam's, and one whose plain form is small.
  triplets <- structure(list(i = 1:2, j = 1:2, v = c(1, 1), nrow = n, ncol = n, dimnames = NULL),
    class = "simple_triplet_matrix")
  if (requireNamespace("slam", quietly = TRUE)) {
    expect_error(gpu_solve(triplets), "pcg\\(\\)", class = "cudafactor_error_host_memory")
  }
  expect_equal(gpu_solve(a[1:3, 1:3], 1:3), solve(as.matrix(a[1:3, 1:3]), 1:3))
  # The way that is named.
  expect_true(all(pcg(a, rep(1, n))$converged))
})
