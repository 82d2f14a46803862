test_that("a factor that R has no memory for is an error of this package", {
  skip_if_not_installed("Matrix")
  skip_if(getRversion() < "4.2")
  n <- 1200L
  # The first column fills all others.
  a <- Matrix::sparseMatrix(i = c(seq_len(n), rep(1L, n - 1L)), j = c(seq_len(n), 2:n), x = rep(c(n + 0, rep(2, n - 1L), rep(0.5, n - 1L))), symmetric = TRUE)
  before <- mem.maxVSize()
  on.exit(mem.maxVSize(before))
  # The factor has 8.6 MB.
  mem.maxVSize(sum(gc()[2L, 2L]) + 4)
  e <- tryCatch(ichol(a, 1e-300), error = identity)
  mem.maxVSize(before)
  expect_s3_class(e, "cudafactor_error_host_memory")
  expect_gt(e$needed, 2^21)
  expect_length(ichol(a, 1e-300)$L@x, n * (n + 1) / 2)
})
