test_that("gpu_matrix() takes what matrix() takes", {
  expect_made <- function(...) {
    ours <- gpu_matrix(..., device = "cpu")
    base <- matrix(...)
    storage.mode(base) <- "double"
    expect_true(is_gpu_matrix(ours))
    expect_identical(as.matrix(ours), base)
  }
  expect_made()
  expect_made(1:6, 2)
  expect_made(1:6, ncol = 2)
  expect_made(1:6, 2, 3, TRUE, list(NULL, c("a", "b", "c")))
  expect_made(0, 3, 2)
  expect_made(c(TRUE, NA), 2, 2)
  expect_made(numeric(), 0, 4)
  expect_made(matrix(1:4, 2), 4)
})

test_that("gpu_matrix() has base R's errors and warnings, with the user's call", {
  expect_error(gpu_matrix(1:3, -1), "invalid 'nrow' value", class = "cudafactor_error_dimension")
  expect_error(gpu_matrix(1i), class = "cudafactor_error_type")
  expect_error(gpu_matrix("a"), "'x' must be a numeric matrix", class = "cudafactor_error_type")
  expect_warning(gpu_matrix(1:5, 2, device = "cpu"), class = "cudafactor_warning_coercion")
  error <- tryCatch(gpu_matrix("a"), error = identity)
  expect_identical(conditionCall(error), quote(gpu_matrix("a")))
  expect_error(gpu_matrix(1, device = "moon"), class = "cudafactor_error_argument")
})

test_that("gpu_matrix() stores in the precision that is asked for, and takes a gpu_matrix", {
  single <- gpu_matrix(1 / 3, 2, 2, device = "cpu", precision = "single")
  expect_identical(single@precision, "single")
  expect_equal(as.matrix(single), matrix(1 / 3, 2, 2), tolerance = 1e-7)
  g <- as_gpu(matrix(1:6, 2), "cpu")
  expect_identical(as.matrix(gpu_matrix(g, 3, device = "cpu")), matrix(1:6 + 0, 3))
})

test_that("is_gpu_matrix() is TRUE for a gpu_matrix alone", {
  g <- as_gpu(diag(2), "cpu")
  expect_true(is_gpu_matrix(g))
  expect_true(is_gpu_matrix(chol(g)))
  for (other in list(diag(2), NULL, "a", list(g), qr(g), gpu_lu(g), chol_gpus(diag(2)))) {
    expect_false(is_gpu_matrix(other))
  }
})

# One object of each class.
objects <- function() {
  a <- crossprod(random_matrix(6, 4)) + diag(4)
  g <- as_gpu(a, "cpu")
  raw <- tempfile(fileext = ".bin")
  writeBin(c(a), raw)
  tiles <- tile_matrix(a, tempfile(fileext = ".tiles"))
  list(
    gpu_matrix = g, gpu_factor = chol_gpus(a), tile_matrix = tiles,
    gpu_qr_factor = qr(g), gpu_lu = gpu_lu(a),
    covariance = lazy_covariance(random_matrix(4, 2), range = 1),
    matrix_file = matrix_file(raw, dim = c(4, 4)),
    ichol = if (requireNamespace("Matrix", quietly = TRUE)) ichol(a)
  )
}

test_that("summary(), head(), tail() and plot() of each class work or are one clear error", {
  pdf(NULL)
  on.exit(dev.off())
  works <- list(
    gpu_matrix = c("summary", "head", "tail", "plot"),
    tile_matrix = c("head", "tail"), covariance = c("head", "tail")
  )
  all <- objects()
  for (class in names(all)) {
    x <- all[[class]]
    if (is.null(x)) next
    for (name in c("summary", "head", "tail", "plot")) {
      call <- as.call(list(as.name(name), quote(x)))
      if (name %in% works[[class]]) {
        expect_error(eval(call), NA)
      } else {
        error <- tryCatch(eval(call), error = identity)
        expect_s3_class(error, "cudafactor_error_type")
        expect_match(conditionMessage(error), sprintf("there is no '%s' for ", name), fixed = TRUE)
        expect_identical(conditionCall(error), call)
      }
    }
  }
})

test_that("str() and format() of each class are short text, apart from the format() of numbers", {
  for (x in objects()) {
    if (is.null(x)) next
    expect_output(str(x))
    shown <- format(x)
    expect_type(shown, "character")
    if (!is_gpu_matrix(x)) {
      expect_lte(length(shown), 2)
      as_lines <- unlist(strsplit(shown, "\n", fixed = TRUE))
      expect_identical(as_lines, capture.output(print(x)))
    }
  }
  expect_output(str(qr(as_gpu(diag(2), "cpu"))), "^ <gpu_qr_factor: QR of a 2 x 2 matrix")
  expect_identical(format(gpu_lu(diag(2))), "<gpu_lu: x = P L U of a 2 x 2 matrix>")
})
