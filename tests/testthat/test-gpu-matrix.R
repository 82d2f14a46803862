# The class gpu_matrix: made, fetched, shown, saved.

test_that("what goes to a device comes back the same", {
  set.seed(1)
  shapes <- c(edge_shapes, list(c(0L, 0L), c(0L, 3L), c(3L, 0L)))
  for_each_setting(function(device, precision) {
    for (shape in shapes) {
      x <- named(random_matrix(shape[[1]], shape[[2]]))
      if (length(x) > 3L) x[1:3] <- c(NA, Inf, NaN)
      g <- as_gpu(x, device, precision)
      back <- if (precision == "single") as_single(x) else x
      expect_identical(is.na(as.matrix(g)), is.na(x))
      expect_identical(as.matrix(g), back)
      expect_identical(dim(g), dim(x))
      expect_identical(dimnames(g), dimnames(x))
      expect_identical(c(nrow(g), ncol(g), length(g)), c(dim(x), length(x)))
      expect_identical(as.vector(g), as.vector(back))
      expect_identical(as.numeric(g), as.vector(back))
    }
  })
})

test_that("everything base R makes a matrix of numbers of is taken", {
  expect_identical(as.matrix(as_gpu(c(a = 1L, b = NA))), as.matrix(c(a = 1, b = NA)))
  expect_identical(
    as.matrix(as_gpu(matrix(c(TRUE, NA, FALSE, TRUE), 2))), matrix(c(1, NA, 0, 1), 2)
  )
  frame <- data.frame(u = 1:2, v = c(0.5, 1))
  expect_identical(as.matrix(as_gpu(frame)), as.matrix(frame))
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  sparse <- Matrix::Matrix(diag(3), sparse = TRUE)
  expect_identical(as.matrix(as_gpu(sparse)), as.matrix(sparse))
})

test_that("what is no matrix of numbers is refused", {
  for (x in list("a", matrix("4"), 1i, as.raw(1), sum, NULL, quote(a), data.frame(a = "z"))) {
    e <- expect_error(as_gpu(x), class = "cudafactor_error_type")
    expect_identical(conditionCall(e)[[1]], quote(as_gpu))
  }
  expect_error(as_gpu(1, precision = "half"), class = "cudafactor_error_argument")
  expect_error(as_gpu(1, device = "tpu"), class = "cudafactor_error_argument")
})

test_that("arrays of more dimensions are refused, and not flattened", {
  for (dim in list(2:4, c(2, 2, 1), c(1, 1, 1, 1))) {
    expect_error(
      as_gpu(array(1, dim)), sprintf("array of %d dimensions", length(dim)),
      class = "cudafactor_error_dimension"
    )
  }
  expect_identical(as.matrix(as_gpu(array(1:3 + 0, 3))), as.matrix(1:3 + 0))
})

test_that("it is a matrix to base R", {
  g <- as_gpu(matrix(1:6, 2), "cpu")
  expect_true(is.matrix(g))
  expect_true(is.numeric(g))
  expect_identical(c(NROW(g), NCOL(g)), 2:3)
  expect_identical(methods::as(g, "matrix"), matrix(as.double(1:6), 2))
  expect_identical(as.data.frame(g), as.data.frame(matrix(as.double(1:6), 2)))
  expect_identical(apply(g, 1, sum), c(9, 12))
  expect_true(all.equal(g, as_gpu(matrix(1:6 + 1e-12, 2), "cpu")))
  expect_true(all.equal(g, matrix(1:6 + 0, 2)))
  expect_match(all.equal(g, as_gpu(matrix(6:1, 2), "cpu")), "difference")
})

test_that("dimnames are set as base R sets them, and copies keep theirs", {
  x <- matrix(1:6 + 0, 2)
  g <- as_gpu(x, "cpu")
  values <- list(
    list(c("a", "b"), NULL), list(NULL, 1:3), list(row = 1:2, col = factor(c("u", "v", "u"))), NULL,
    list(character(), letters[1:3]), list("a"), list(1:2, 1:2), 1:3, list(1:2, NULL, NULL)
  )
  for (value in values) {
    set <- function(to) {
      dimnames(to) <- value
      to
    }
    base <- outcome(set(x))
    ours <- outcome(set(g))
    if (is.null(base$error)) {
      expect_identical(dimnames(ours$value), dimnames(base$value))
      expect_identical(as.matrix(ours$value), base$value)
    } else {
      expect_s3_class(ours$condition, "cudafactor_error_dimension")
      expect_match(ours$error, sub("^.*: ", "", base$error), fixed = TRUE)
    }
  }
  h <- g
  colnames(h) <- letters[1:3]
  rownames(h) <- c("u", "v")
  expect_identical(dimnames(h), list(c("u", "v"), letters[1:3]))
  expect_null(dimnames(g))
})

test_that("printing shows a corner, and str() a line", {
  for_each_device(function(device) {
    g <- as_gpu(matrix(1:100, 10), device, "single")
    shown <- capture.output(print(g))
    expect_match(shown[[1]], "^<gpu_matrix 10 x 10 single, (cpu|cuda:0), 400 bytes>$")
    expect_identical(shown[2:8], capture.output(print(matrix(1:100, 10)[1:6, 1:6])))
    expect_identical(capture.output(g), shown)
    expect_match(capture.output(str(g)), "^ <gpu_matrix 10 x 10 single")
    expect_length(capture.output(print(as_gpu(matrix(0, 0, 3), device))), 1L)
    if (device == "cuda") {
      large <- as_gpu(matrix(0, 500, 500), device)
      down <- function() native_transfer_bytes()$ok$down
      before <- down()
      capture.output(print(large), str(large))
      expect_lt(down() - before, 1000)
    }
    named <- as_gpu(named(diag(2)), device)
    expect_identical(capture.output(print(named))[-1], capture.output(print(as.matrix(named))))
  })
  expect_identical(
    describe_resident(as_gpu(matrix(0, 1024, 192), "cpu")),
    "<gpu_matrix 1024 x 192 double, cpu, 1.5 MiB>"
  )
})

test_that("a gpu_matrix goes to another precision", {
  x <- matrix(c(1 / 3, 2, 3, 4), 2)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_identical(as_gpu(g), g)
    s <- as_gpu(g, precision = "single")
    expect_identical(s@precision, "single")
    expect_identical(s@device, g@device)
    expect_identical(as.matrix(s), as_single(x))
    expect_identical(as_gpu(s)@precision, "single")
    expect_identical(as.matrix(as_gpu(s, device = "cpu", precision = "double")), as_single(x))
  })
})

test_that("a handle without its matrix is an error of class 'stale'", {
  g <- as_gpu(diag(3))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(g, file)
  restored <- readRDS(file)
  e <- expect_error(as.matrix(restored), class = "cudafactor_error_stale")
  expect_match(conditionMessage(e), "not in this R session")
  shown <- capture.output(print(restored))
  expect_match(shown[[1]], "^<gpu_matrix 3 x 3 double")
  expect_match(shown[[2]], "not in this R session")
  expect_identical(dim(restored), c(3L, 3L))
  expect_error(as_gpu(restored), class = "cudafactor_error_stale")
  expect_identical(
    capture.output(methods::new("gpu_matrix")), "<gpu_matrix 0 x 0 double, cpu, 0 bytes>"
  )
  # An external pointer of someone else.
  foreign <- g
  foreign@pointer <- methods::new("externalptr")
  expect_error(as.matrix(foreign), class = "cudafactor_error_stale")
  freed <- as_gpu(diag(2))
  native_resident_free(freed@pointer)
  expect_error(as.matrix(freed), class = "cudafactor_error_stale")
  expect_identical(as.matrix(g), diag(3))
})
