# The system of a segmentation, for other solvers.

test_that("other solvers get the same answer from the system", {
  skip_if_not_installed("Matrix")
  set.seed(5)
  image <- matrix(rep(c(0.2, 0.7), each = 300), 20) + rnorm(600, sd = 0.1)
  seeds <- matrix(0, 20, 30)
  seeds[10, c(2, 19, 25)] <- c(4, 2, 9)
  seeds[3:5, 7] <- -1
  r <- random_walker(image, seeds, prob = TRUE)
  s <- random_walker_system(image, seeds)
  expect_s4_class(s$A, "dsCMatrix")
  expect_true(methods::validObject(s$A))
  expect_identical(dim(s$b), c(length(s$pixels), 3L))
  expect_identical(colnames(s$b), c("2", "4", "9"))
  wanted <- matrix(r$probabilities, 600)[s$pixels, ]
  expect_lt(max(abs(as.matrix(Matrix::solve(s$A, s$b)) - wanted)), 1e-10)
  expect_lt(max(abs(as.matrix(pcg(s$A, s$b, tol = 1e-12)$x) - wanted)), 1e-8)
  dense <- as.matrix(s$A)
  expect_lt(max(abs(chol_solve(gpu_chol(dense), s$b) - wanted)), 1e-10)
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  tiles <- tile_matrix(function(i, j) as.matrix(s$A[i, j]), file, dim = nrow(s$A), triangle = TRUE)
  expect_lt(max(abs(chol_solve(chol_file(tiles), s$b) - wanted)), 1e-10)
  expect_error(random_walker_system(image), "seeds")
  expect_error(random_walker_system(image, seeds * NA), class = "cudafactor_error")
})

test_that("a system without unknowns is empty", {
  skip_if_not_installed("Matrix")
  s <- random_walker_system(matrix(0.5, 2, 2), matrix(1, 2, 2))
  expect_identical(dim(s$A), c(0L, 0L))
  expect_identical(dim(s$b), c(0L, 1L))
})
