test_that("a factor that R has no memory for is an error of this package", {
  skip_if_not_installed("Matrix")
  n <- 1200L
  # The first column fills all others.
  a <- Matrix::sparseMatrix(i = c(seq_len(n), rep(1L, n - 1L)), j = c(seq_len(n), 2:n), x = rep(c(n + 0, rep(2, n - 1L), rep(0.5, n - 1L))), symmetric = TRUE)
  before <- mem.maxVSize()
  on.exit(mem.maxVSize(before))
  # The least limit that R takes is the size at which it looks for garbage; all but 4 MB of that is taken away. The factor has 8.6 MB.
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
