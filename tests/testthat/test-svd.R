rectangular_kinds <- function(n, p) {
  x <- matrix(rnorm(n * p), n)
  grade <- 10^(-14 * seq_len(p) / p)
  list(
    random = x, graded = x * rep(grade, each = n), tiny = x * 1e-300, small = x * 1e-200,
    large = x * 1e160, huge = x * 1e300, zero = 0 * x, ones = 0 * x + 1,
    deficient = x[, 1] %o% x[1, ], partly = x * rep(c(0, 1), length.out = p)[col(x)],
    identity = diag(1, n, p)
  )
}

test_that("singular values are base R's, and vectors have small errors", {
  for_each_device(function(device) {
    set.seed(1)
    shapes <- list(
      c(1, 1), c(2, 2), c(31, 31), c(33, 32), c(127, 127), c(128, 128), c(129, 129), c(1, 9),
      c(9, 1), c(300, 20), c(20, 300), c(130, 90)
    )
    for (shape in shapes) {
      kinds <- rectangular_kinds(shape[1], shape[2])
      for (kind in names(kinds)) {
        x <- kinds[[kind]]
        ours <- gpu_svd(x, device = device)
        base <- svd(x)
        # Polar decomposition leaves the rounding of its larger weights.
        rounding <- if (device == "cpu") 2 else 2 + 40 / max(shape)
        info <- paste(c(kind, shape), collapse = " ")
        expect_identical(shape_of(ours), shape_of(base), info = info)
        error <- max(abs(to_unit(ours$d, x) - to_unit(base$d, x)))
        size <- max(1, frobenius(to_unit(x)))
        expect_lt(error, 8 * max(shape) * .Machine$double.eps * size)
        expect_lt(residual_svd(x, ours), max(rounding, 2 * residual_svd(x, base)))
        expect_lt(loss_of_orthogonality(ours$u), 4)
        expect_lt(loss_of_orthogonality(ours$v), 4)
        expect_false(is.unsorted(-ours$d))
        alone <- gpu_svd(x, 0, 0, device = device)
        expect_named(alone, "d")
        expect_lt(max(abs(to_unit(alone$d - ours$d, x))), 8 * max(shape) * 2e-16 * size)
      }
    }
  })
})

test_that("nu and nv are base R's", {
  for_each_device(function(device) {
    set.seed(2)
    for (shape in list(c(5L, 3L), c(3L, 5L), c(4L, 4L), c(40L, 3L))) {
      x <- matrix(rnorm(prod(shape)), shape[1])
      for (nu in list(0, 1, 2.5, 3, 4L, 9, TRUE, FALSE)) {
        for (nv in list(0L, 2, 5, 50)) {
          ours <- gpu_svd(x, nu, nv, device = device)
          base <- svd(x, nu, nv)
          expect_identical(shape_of(ours), shape_of(base), info = paste(nu, nv))
          expect_equal(ours$d, base$d)
          k <- seq_along(ours$d)
          for (side in intersect(c("u", "v"), names(ours))) {
            common <- intersect(k, seq_len(ncol(ours[[side]])))
            expect_equal(abs(ours[[side]][, common]), abs(base[[side]][, common]))
            expect_lt(loss_of_orthogonality(ours[[side]]), 4)
          }
        }
      }
    }
    wrong <- list(-1, NA, "a", "2", "TRUE", NULL, numeric(), list(2), factor(2), 1i, as.raw(1))
    # Earlier versions of R take the first of several values, or end under R CMD check.
    if (getRversion() >= "4.3.0") wrong <- c(wrong, list(1:2))
    for (count in wrong) {
      expect_as_base(gpu_svd(x, nu = count), svd(x, nu = count), argument = "nu")
      expect_as_base(gpu_svd(x, nv = count), svd(x, nv = count), argument = "nv")
    }
    e <- expect_error(gpu_svd(x, nv = 1:2), "\\('nv'\\)$", class = "cudafactor_error_argument")
    expect_identical(e$argument, "nv")
    expect_error(gpu_svd(x, nu = stop("mine")), "mine")
  })
})

test_that("signs follow the rule", {
  set.seed(3)
  x <- matrix(rnorm(60), 10)
  first <- function(q) q[cbind(apply(abs(q), 2, which.max), seq_len(ncol(q)))]
  both <- gpu_svd(x)
  expect_true(all(first(both$v) > 0))
  expect_true(all(first(gpu_svd(x, nv = 0)$u) > 0))
  expect_equal(gpu_svd(x, nu = 0)$v, both$v)
  expect_identical(gpu_svd(x), both)
})

test_that("operands are coerced and refused as base R does", {
  x <- matrix(c(2L, 1L, 1L, 3L, 5L, 6L), 3, dimnames = list(letters[1:3], c("c", "d")))
  for (operand in list(x, as.data.frame(x), x > 1, x + 0, 1:3)) {
    ours <- gpu_svd(operand)
    expect_identical(shape_of(ours), shape_of(svd(operand)))
    expect_equal(ours$d, svd(operand)$d)
  }
  expect_equal(gpu_svd(as_gpu(x + 0)), gpu_svd(x))
  refused <- list(
    matrix(0, 0, 0), matrix(0, 0, 3), matrix(0, 3, 0), matrix(c(1, NA), 1),
    matrix(Inf), matrix(NaN), matrix(NA)
  )
  for (operand in refused) expect_as_base(gpu_svd(operand), svd(operand))
  expect_as_base(gpu_svd(x, LINPACK = TRUE), svd(x, LINPACK = TRUE))
  expect_error(gpu_svd(x + 0i), "base::svd", class = "cudafactor_error_type")
  for (text in list("a", matrix("4"), data.frame(a = "z"), matrix(as.raw(4)), matrix(list(4)))) {
    expect_error(gpu_svd(text), "'x' must be a (numeric )?matrix, not of type",
      class = "cudafactor_error_type")
  }
  e <- expect_error(gpu_svd(), "\"x\" is missing", class = "cudafactor_error_argument")
  expect_identical(conditionCall(e), quote(gpu_svd()))
  expect_not_found(gpu_svd(nosuch))
  for_each_device(function(device) {
    expect_equal(gpu_svd(x, precision = "single", device = device)$d, svd(x)$d, tolerance = 1e-6)
    y <- random_matrix(60, 40)
    expect_equal(gpu_svd(y, device = device), gpu_svd(y, device = "cpu"), tolerance = 1e-9)
  })
})

test_that("entries may be beyond the range of single precision", {
  set.seed(4)
  x <- matrix(rnorm(40), 8)
  for_each_device(function(device) {
    unit <- gpu_svd(x, precision = "single", device = device)
    for (scale in 2^c(-600, -160, 160, 600)) {
      ours <- gpu_svd(x * scale, precision = "single", device = device)
      expect_identical(ours$d / scale, unit$d)
      expect_identical(ours[c("u", "v")], unit[c("u", "v")])
      expect_identical(gpu_norm(x * scale, "2", device, "single") / scale,
        gpu_norm(x, "2", device, "single"))
    }
  })
})

test_that("gpu_norm() is norm()", {
  x <- matrix(c(2, -1, 1, 3, 5, 6), 3)
  for (type in c("O", "1", "I", "F", "E", "M", "2", "o", "f")) {
    expect_as_base(gpu_norm(x, type), norm(x, type))
    expect_equal(gpu_norm(as_gpu(x), type), norm(x, type))
  }
  expect_identical(gpu_norm(x), norm(x))
  expect_as_base(gpu_norm(replace(x, 1, NA), "2"), norm(replace(x, 1, NA), "2"))
  expect_as_base(gpu_norm(replace(x, 1, Inf), "2"), norm(replace(x, 1, Inf), "2"))
  expect_as_base(gpu_norm(matrix(0, 0, 3), "2"), norm(matrix(0, 0, 3), "2"))
  expect_as_base(gpu_norm(x, "nonsense"), norm(x, "nonsense"))
  for (type in c("O", "I", "F", "M", "2")) {
    none <- matrix(0, 0, 3)
    expect_as_base(gpu_norm(none, type), if (type == "2") norm(none, "2") else 0)
    expect_identical(is.na(gpu_norm(replace(x, 1, NA), type)), TRUE)
    for (operand in list(as.data.frame(x), 1:3, x > 1, matrix(1:4, 2))) {
      expect_equal(gpu_norm(operand, type), norm(as.matrix(operand) + 0, type))
    }
    for (text in list("a", data.frame(a = "z"), NULL)) {
      expect_error(gpu_norm(text, type), "'x' must be a (numeric )?matrix, not",
        class = "cudafactor_error_type")
    }
    expect_error(gpu_norm(x + 0i, type), "base::norm", class = "cudafactor_error_type")
    if (type == "2") {
      expect_as_base(gpu_norm(array(x, c(2, 4, 5)), type), norm(array(x, c(2, 4, 5)), type))
    } else {
      expect_error(gpu_norm(array(x, c(2, 4, 5)), type), "not an array of 3 dimensions: use one",
        class = "cudafactor_error_dimension")
    }
    # Both count for every type.
    e <- expect_error(gpu_norm(x, type, device = "abacus"), class = "cudafactor_error_argument")
    expect_identical(e$argument, "device")
    e <- expect_error(gpu_norm(x, type, precision = "half"), class = "cudafactor_error_argument")
    expect_identical(e$argument, "precision")
    expect_not_found(gpu_norm(nosuch, type))
    expect_equal(gpu_norm(tile_matrix(x, tempfile()), type), norm(x, type))
    expect_error(gpu_norm(type = type), "missing", class = "cudafactor_error_argument")
    if (requireNamespace("Matrix", quietly = TRUE)) {
      sparse <- Matrix::sparseMatrix(1:3, c(1, 2, 2), x = c(2, -3, 4))
      expect_equal(gpu_norm(sparse, type), norm(as.matrix(sparse), type))
    }
  }
  expect_equal(gpu_norm(x * 1e300, "2"), norm(x * 1e300, "2"))
  for_each_device(function(device) expect_equal(gpu_norm(x, "2", device = device), norm(x, "2")))
})

test_that("gpu_norm() takes what as.matrix() does", {
  x <- matrix(c(2, -1, 1, 3, 5, 6), 3)
  as_held <- function(x, ...) x$m
  for (class in c("HeldByReference", "held")) {
    registerS3method("as.matrix", class, as_held, envir = baseenv())
  }
  registerS3method("as.matrix", "HeldInSlot", function(x, ...) x@m, envir = baseenv())
  here <- environment()
  # The package does not suggest it.
  delayed <- "DelayedArray"
  in_slot <- methods::setClass("HeldInSlot", methods::representation(m = "matrix"), where = here)
  by_reference <- methods::setRefClass("HeldByReference", fields = list(m = "matrix"), where = here)
  operands <- list(
    in_slot(m = x), by_reference(m = x), structure(list(m = x), class = "held"),
    if (requireNamespace(delayed, quietly = TRUE)) getExportedValue(delayed, delayed)(x)
  )
  for (operand in Filter(Negate(is.null), operands)) {
    for (type in c("O", "I", "F", "M", "2")) {
      expect_identical(gpu_norm(operand, type), gpu_norm(x, type), info = class(operand))
    }
  }
})

test_that("dates and differences of times are refused as by svd(), but norms computed", {
  for (x in times_matrices()) {
    e <- expect_as_base(gpu_svd(x), svd(x))
    expect_s3_class(e, "cudafactor_error_type")
    expect_identical(conditionMessage(expect_error(gpu_svd(x, k = 1))), conditionMessage(e))
    expect_as_base(gpu_svd(replace(x, 1, NA)), svd(replace(x, 1, NA)))
    expect_as_base(gpu_norm(x, "2"), norm(x, "2"))
    expect_as_base(gpu_norm(replace(x, 1, NA), "2"), norm(replace(x, 1, NA), "2"))
    # Newer versions of R refuse these.
    for (type in c("O", "I", "F", "M")) {
      expect_identical(gpu_norm(x, type), norm(unclass(x), type))
    }
  }
})
