# Products of which an operand is on a device.

test_that("products stay on the device and are base R's, mixed with plain matrices and vectors", {
  set.seed(1)
  x <- named(random_matrix(7, 5))
  y <- random_matrix(5, 3)
  z <- random_matrix(7, 4)
  colnames(z) <- letters[1:4]
  for_each_setting(function(device, precision) {
    near <- tolerance_for(precision)
    g <- as_gpu(x, device, precision)
    there <- function(ours, base) expect_resident(ours, base, g, near)
    gpu <- function(x) as_gpu(x, device, precision)
    there(g %*% y, x %*% y)
    there(g %*% gpu(y), x %*% y)
    there(t(z) %*% g, t(z) %*% x)
    there(gpu(t(z)) %*% g, t(z) %*% x)
    there(g %*% 1:5, x %*% 1:5)
    there(1:7 %*% g, 1:7 %*% x)
    there(g %*% c(TRUE, FALSE, NA, TRUE, TRUE), x %*% c(TRUE, FALSE, NA, TRUE, TRUE))
    there(crossprod(g), crossprod(x))
    there(tcrossprod(g), tcrossprod(x))
    there(crossprod(g, z), crossprod(x, z))
    there(crossprod(z, g), crossprod(z, x))
    there(crossprod(gpu(z), g), crossprod(z, x))
    there(crossprod(g, 1:7), crossprod(x, 1:7))
    there(tcrossprod(g, t(y)), tcrossprod(x, t(y)))
    there(tcrossprod(t(y), g), tcrossprod(t(y), x))
    there(tcrossprod(g, gpu(t(y))), tcrossprod(x, t(y)))
    there(gpu_matmult(g, y), x %*% y)
    there(gpu_matmult(t(z), g), t(z) %*% x)
    there(gpu_crossprod(g), crossprod(x))
    there(gpu_crossprod(z, g), crossprod(z, x))
    there(gpu_tcrossprod(g, g), tcrossprod(x, x))
    s <- as.matrix(crossprod(g))
    expect_identical(s, t(s))
  })
})

test_that("products of vectors and a gpu_matrix follow base R's rules, errors too", {
  for_each_device(function(device) {
    for (shape in list(c(3, 1), c(1, 3), c(3, 3), c(1, 1))) {
      x <- matrix(seq_len(prod(shape)) + 0, shape[[1]], shape[[2]])
      g <- as_gpu(x, device)
      for (v in list(1, 1:3, 1:2, numeric())) {
        for (f in list(`%*%`, crossprod, tcrossprod)) {
          for (swapped in c(FALSE, TRUE)) {
            ours <- outcome(if (swapped) f(v, g) else f(g, v))
            base <- outcome(if (swapped) f(v, x) else f(x, v))
            expect_identical(ours$error, base$error)
            if (is.null(base$error)) {
              expect_equal(as.matrix(ours$value), base$value)
            } else {
              expect_s3_class(ours$condition, "cudafactor_error_dimension")
            }
          }
        }
      }
    }
  })
})

test_that("products of edge sizes have small residuals", {
  set.seed(2)
  for_each_setting(function(device, precision) {
    for (shape in edge_shapes) {
      x <- as_single(random_matrix(shape[[1]], shape[[2]]))
      y <- as_single(random_matrix(shape[[2]], 9))
      out <- as.matrix(as_gpu(x, device, precision) %*% as_gpu(y, device, precision))
      expect_small(residual_product(out, x, y, precision), "product")
    }
    expect_identical(as.matrix(as_gpu(matrix(0, 3, 0), device, precision) %*% matrix(0, 0, 2)),
      matrix(0, 3, 2))
  })
})

test_that("operands that cannot meet are refused", {
  g <- as_gpu(diag(2), "cpu")
  s <- as_gpu(diag(2), "cpu", "single")
  e <- expect_error(g %*% s, "precision", class = "cudafactor_error_argument")
  expect_identical(e$call, quote(g %*% s))
  expect_error(crossprod(s, g), class = "cudafactor_error_argument")
  expect_error(g %*% diag(2i, 2), "complex", class = "cudafactor_error_type")
  expect_error(g %*% "a", "requires numeric", class = "cudafactor_error_type")
  expect_error(g %*% data.frame(a = 1:2), "requires numeric", class = "cudafactor_error_type")
  refused <- native_resident_gemm(FALSE, FALSE, g@pointer, s@pointer, .External(new_handle),
    how_there(NULL))
  expect_identical(refused$err$kind, "argument")
  skip_unless(gpu_available(), "there is no GPU")
  expect_error(g %*% as_gpu(diag(2), "cuda"), "device", class = "cudafactor_error_argument")
})
