# gpu_prcomp() and prcomp() of a gpu_matrix against stats::prcomp().

# base R's components with the signs of gpu_prcomp().
with_our_signs <- function(base) {
  largest <- apply(abs(base$rotation), 2, function(v) which(v >= max(v) * (1 - 2^-26))[[1]])
  sign <- sign(base$rotation[cbind(largest, seq_len(ncol(base$rotation)))])
  base$rotation <- base$rotation * rep(sign, each = nrow(base$rotation))
  if (!is.null(base$x)) {
    base$x <- base$x * rep(sign, each = nrow(base$x))
  }
  base
}

# A component without variance is any unit vector that is orthogonal to the others, so its loadings
# are compared by their products.
expect_components <- function(ours, base, tolerance = 1e-9, info = NULL) {
  expect_identical(shape_of(ours), shape_of(base), info = info)
  base <- with_our_signs(base)
  kept <- seq_len(ncol(base$rotation))
  free <- kept[base$sdev[kept] <= 1e-10 * base$sdev[[1]]]
  products <- crossprod(ours$rotation)
  expect_equal(unname(products), diag(nrow = length(kept)), tolerance = 1e-12, info = info)
  ours$rotation[, free] <- base$rotation[, free]
  expect_equal(ours, base, tolerance = tolerance, info = info)
}

observations <- function() {
  set.seed(71)
  list(
    arrests = USArrests, matrix = as.matrix(USArrests), tall = random_matrix(300, 7),
    wide = named(random_matrix(4, 9)), square = random_matrix(6, 6), pair = random_matrix(2, 2),
    column = random_matrix(8, 1), vector = c(a = 1, b = 4, c = 2),
    integer = matrix(c(3L, 1L, 4L, 1L, 5L, 9L, 2L, 6L), 4, dimnames = list(NULL, c("u", "v"))),
    logical = matrix(c(TRUE, FALSE, TRUE, TRUE, FALSE, TRUE), 3),
    named_dimnames = matrix(c(3, 1, 2, 5, 4, 7), 3, dimnames = list(row = letters[1:3], col = 1:2))
  )
}

test_that("components are those of prcomp()", {
  for_each_device(function(device) {
    ours <- function(...) gpu_prcomp(..., device = device)
    for (name in names(data <- observations())) {
      x <- data[[name]]
      for (scale in c(FALSE, TRUE)) {
        expect_components(ours(x, scale. = scale), prcomp(x, scale. = scale), info = name)
      }
      expect_components(ours(x, center = FALSE), prcomp(x, center = FALSE), info = name)
      expect_components(ours(x, retx = FALSE), prcomp(x, retx = FALSE), info = name)
    }
  })
})

test_that("center, scale., tol and rank. are those of prcomp()", {
  x <- USArrests
  p <- ncol(x)
  arguments <- expression(
    list(center = 1:p), list(center = 1:p, scale. = p:1), list(center = FALSE, scale. = TRUE),
    list(scale = TRUE), list(tol = 0.1), list(tol = 0.5), list(tol = 0), list(tol = -1),
    list(tol = 0.1, rank. = 3), list(tol = 0.5, rank. = 2), list(rank. = 2), list(rank. = 2.9),
    list(rank. = 9), list(rank. = 1L), list(rank. = TRUE), list(retx = 0), list(retx = "T")
  )
  for (k in seq_along(arguments)) {
    given <- eval(arguments[[k]])
    info <- deparse(arguments[[k]])
    ours <- do.call(gpu_prcomp, c(list(x), given))
    expect_components(ours, do.call(prcomp, c(list(x), given)), info = info)
  }
  # scale() left attributes, which prcomp() takes for its own.
  before <- scale(x)
  expect_components(gpu_prcomp(before, center = FALSE), prcomp(before, center = FALSE))
})

test_that("refusals are those of prcomp()", {
  x <- as.matrix(USArrests)
  refused <- expression(
    list(cbind(x, 1), scale. = TRUE), list(cbind(x, 0), scale. = TRUE),
    list(x, center = 1:3), list(x, scale. = 1:3), list(x, scale. = c(1, 2, 3, 0)),
    list(x, center = "a"), list(x, scale. = c(1, 2, 3, NA)),
    list(x, rank. = 0), list(x, rank. = -1), list(x, rank. = NA), list(x, rank. = 1:2),
    list(x, rank. = "a"), list(x, rank. = Inf), list(x, tol = NA), list(x, tol = "a"),
    list(x, retx = NA), list(x, retx = "a"),
    list(replace(x, 3, NA)), list(replace(x, 3, NaN)), list(replace(x, 3, Inf)),
    list(replace(x, 1:50, NA)), list(replace(x, 3, NA), scale. = TRUE), list(x[0, ]),
    list(x[, 0]), list(x[0, 0]), list(matrix("a")), list(matrix("1")), list(data.frame(a = "z")),
    list(iris), list(x[1, , drop = FALSE], scale. = TRUE), list(array(1:8, c(2, 2, 2)), rank. = 9)
  )
  for (k in seq_along(refused)) {
    given <- suppressWarnings(eval(refused[[k]]))
    info <- deparse(refused[[k]])
    base <- outcome(suppressWarnings(do.call(prcomp, given)))
    ours <- outcome(suppressWarnings(do.call(gpu_prcomp, given)))
    # The name of an argument may follow base R's words.
    if (!is.null(ours$error)) ours$error <- sub(" \\('[a-z.]+'\\)$", "", ours$error)
    expect_identical(ours$error, base$error, info = info)
    if (is.null(base$error)) {
      expect_components(ours$value, base$value)
    } else {
      expect_s3_class(ours$condition, "cudafactor_error")
    }
  }
  expect_error(gpu_prcomp(cbind(1:3, 1), scale. = TRUE), "cannot rescale",
    class = "cudafactor_error_argument")
  e <- expect_error(gpu_prcomp(matrix(NA_real_)), class = "cudafactor_error_non_finite")
  expect_identical(conditionCall(e), quote(gpu_prcomp(matrix(NA_real_))))
  expect_error(gpu_prcomp(matrix(0, 0, 2)), class = "cudafactor_error_dimension")
  expect_error(gpu_prcomp(matrix("a")), class = "cudafactor_error_type")
  expect_error(gpu_prcomp(matrix(1i)), "stats::prcomp", class = "cudafactor_error_type")
  for (tol in c(1, 2)) {
    expect_error(gpu_prcomp(x, tol = tol), "'tol' must leave a component",
      class = "cudafactor_error_argument")
  }
  expect_error(gpu_prcomp(0 * x, tol = 0.1), "'tol' must", class = "cudafactor_error_argument")
  e <- expect_error(gpu_prcomp(x, center = NA), "\\('center'\\)$",
    class = "cudafactor_error_argument")
  expect_identical(e$argument, "center")
  expect_error(gpu_prcomp(x, retx = NA), "\\('retx'\\)$", class = "cudafactor_error_argument")
  for (call in expression(
    gpu_prcomp(~., USArrests), gpu_prcomp(~ Murder + Rape, USArrests),
    gpu_prcomp(formula = ~Murder, data = USArrests)
  )) {
    expect_error(eval(call), "not a formula: use model.matrix.* with \"\\+ 0\" in the formula",
      class = "cudafactor_error_type")
  }
  expect_error(gpu_prcomp(), "missing", class = "cudafactor_error_argument")
  expect_not_found(gpu_prcomp(nosuch))
})

test_that("other operands are taken or refused as prcomp() does", {
  # Base R's words are about functions that the user did not call.
  reworded <- c("null", "fun", "environment", "symbol", "bad_list")
  for (name in names(odd_operands)) {
    base <- outcome(prcomp(odd_operands[[name]]))
    ours <- outcome(gpu_prcomp(odd_operands[[name]]))
    if (is.null(base$error)) {
      expect_components(ours$value, base$value, info = name)
    } else {
      expect_s3_class(ours$condition, "cudafactor_error")
      if (!name %in% reworded) expect_identical(ours$error, base$error, info = name)
    }
  }
})

test_that("a formula's components come from its model matrix", {
  ours <- gpu_prcomp(model.matrix(~ Murder + Rape + 0, USArrests), scale. = TRUE)
  base <- prcomp(~ Murder + Rape, USArrests, scale. = TRUE)
  base$call <- NULL
  expect_components(ours, base)
})

test_that("other arguments are ignored with base R's warning", {
  w <- expect_warning(found <- gpu_prcomp(USArrests, foo = 1), "extra argument .foo. will be",
    class = "cudafactor_warning_argument")
  expect_identical(conditionCall(w), quote(gpu_prcomp(USArrests, foo = 1)))
  expect_identical(found, gpu_prcomp(USArrests))
})

test_that("the methods of class prcomp work on the result", {
  ours <- gpu_prcomp(USArrests, scale. = TRUE)
  base <- with_our_signs(prcomp(USArrests, scale. = TRUE))
  expect_equal(predict(ours), predict(base), tolerance = 1e-9)
  new <- USArrests[3:1, 4:1] + 1
  expect_equal(predict(ours, new), predict(base, new), tolerance = 1e-9)
  expect_equal(predict(ours, USArrests), ours$x, tolerance = 1e-9)
  expect_error(predict(gpu_prcomp(USArrests, retx = FALSE)), "no scores")
  expect_equal(summary(ours)$importance, summary(base)$importance, tolerance = 1e-9)
  shown <- function(x) utils::capture.output(print(x), summary(x))
  expect_identical(shown(ours), shown(base))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (draw in list(plot, biplot, screeplot)) expect_error(draw(ours), NA)
})

test_that("the loading of largest magnitude is positive", {
  set.seed(72)
  for (shape in list(c(40, 5), c(5, 40), c(9, 9))) {
    rotation <- gpu_prcomp(random_matrix(shape[1], shape[2]))$rotation
    # The last component of a centred matrix with few rows is rounding.
    first <- seq_len(ncol(rotation) - 1L)
    expect_true(all(apply(rotation[, first], 2, function(v) v[which.max(abs(v))]) > 0))
  }
  x <- cbind(a = c(1, 2, 4), b = c(1, 2, 4))
  expect_true(all(gpu_prcomp(x)$rotation[1, ] > 0))
})

test_that("entries may be of any scale", {
  x <- as.matrix(USArrests)
  unit <- gpu_prcomp(x)
  for (scale in c(2^-664, 2^664)) {
    ours <- gpu_prcomp(x * scale)
    expect_components(ours, prcomp(x * scale))
    expect_equal(ours$rotation, unit$rotation, tolerance = 1e-12)
    expect_equal(ours$sdev / scale, unit$sdev, tolerance = 1e-12)
  }
})

test_that("the same call gives the same bits", {
  set.seed(73)
  x <- random_matrix(500, 60)
  expect_identical(gpu_prcomp(x), gpu_prcomp(x))
  expect_identical(gpu_prcomp(x, device = "cpu"), gpu_prcomp(x + 0, device = "cpu"))
})

test_that("single precision is near double precision", {
  set.seed(74)
  x <- random_matrix(60, 5) %*% diag(c(9, 7, 5, 3, 1))
  single <- gpu_prcomp(x, precision = "single")
  expect_equal(single, gpu_prcomp(x), tolerance = 1e-4)
  expect_false(identical(single$sdev, gpu_prcomp(x)$sdev))
})

test_that("entries may be beyond the range of single precision", {
  x <- as.matrix(USArrests)
  unit <- gpu_prcomp(x, precision = "single")
  for (scale in 2^c(-600, -160, 160, 600)) {
    ours <- gpu_prcomp(x * scale, precision = "single")
    expect_identical(ours$sdev / scale, unit$sdev)
    expect_identical(ours$rotation, unit$rotation)
    expect_equal(ours$x / scale, unit$x, tolerance = 1e-6)
  }
})

test_that("matrices on a device, of package Matrix and on disk are accepted", {
  x <- as.matrix(USArrests)
  wanted <- prcomp(x, scale. = TRUE)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_components(gpu_prcomp(g, scale. = TRUE), wanted)
    expect_components(prcomp(g, scale. = TRUE), wanted)
    expect_components(prcomp(g, tol = 0.1, rank. = 3), prcomp(x, tol = 0.1, rank. = 3))
  })
  g <- as_gpu(x)
  e <- expect_error(prcomp(g, center = 1:3), class = "cudafactor_error_argument")
  expect_identical(conditionCall(e), quote(prcomp(g, center = 1:3)))
  w <- expect_warning(prcomp(g, foo = 1), class = "cudafactor_warning_argument")
  expect_identical(conditionCall(w)[[1]], quote(prcomp))
  expect_components(gpu_prcomp(tile_matrix(x, tempfile()), scale. = TRUE), wanted)
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  expect_components(gpu_prcomp(Matrix::Matrix(x), scale. = TRUE), wanted)
})

test_that("dates and differences of times are refused as by prcomp()", {
  for (x in times_matrices()) {
    e <- expect_as_base(gpu_prcomp(x), prcomp(x))
    expect_s3_class(e, "cudafactor_error_type")
    expect_as_base(gpu_prcomp(x, scale. = TRUE), prcomp(x, scale. = TRUE))
  }
})
