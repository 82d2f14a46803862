# Arithmetic and mathematical functions of a gpu_matrix, compared with base R's.

# A plain matrix as a device of that precision holds it.
stored <- function(x, precision) if (precision == "single") as_single(x) else x

# What base R computes in double precision, rounded as the device rounds it. `ulps`: units in the
# last place that functions of two mathematical libraries may differ by, before the rounding.
expect_entries <- function(ours, base, precision, ulps = 0, info = NULL) {
  expect_s4_class(ours, "gpu_matrix")
  expect_identical(ours@precision, precision)
  expect_identical(dimnames(ours), dimnames(base), info = info)
  got <- as.matrix(ours)
  want <- stored(base, precision)
  expect_identical(is.na(got), is.na(want), info = info)
  if (ulps == 0) {
    expect_true(identical(as.vector(got)[!is.na(got)], as.vector(want)[!is.na(want)]), info = info)
    return(invisible())
  }
  same <- is.na(got) | got == want
  error <- abs(got - want) /
    (ulps * .Machine$double.eps + if (precision == "single") unit[["single"]] else 0)
  expect_true(all(same | error <= abs(want) + .Machine$double.xmin), info = info)
}

shapes <- list(c(0L, 0L), c(0L, 3L), c(3L, 0L), c(1L, 1L), c(2L, 3L), c(33L, 31L), c(257L, 5L),
  c(5L, 257L))

test_that("two matrices, and a matrix and a number, are computed with as base R does", {
  set.seed(21)
  for_each_setting(function(device, precision) {
    for (shape in shapes) {
      x <- stored(random_matrix(shape[[1]], shape[[2]]), precision)
      y <- stored(random_matrix(shape[[1]], shape[[2]]), precision)
      g <- as_gpu(x, device, precision)
      h <- as_gpu(y, device, precision)
      for (op in c("+", "-", "*", "/", "^", "%%", "%/%")) {
        f <- get(op)
        ulps <- if (op == "^") 4 else if (op %in% c("%%", "%/%")) 2 else 0
        info <- paste(op, device, precision, paste(shape, collapse = " x "))
        # Remainders near zero depend on the last bit of what they are taken from.
        if (op == "%%") {
          x <- round(x * 64) / 8
          y <- round(y * 64) / 8 + 0.125
          g <- as_gpu(x, device, precision)
          h <- as_gpu(y, device, precision)
        }
        expect_entries(f(g, h), f(x, y), precision, ulps, info)
        expect_entries(f(g, y), f(x, y), precision, ulps, info)
        expect_entries(f(x, h), f(x, y), precision, ulps, info)
        expect_entries(f(g, 3), f(x, 3), precision, ulps, info)
        expect_entries(f(3, g), f(3, x), precision, ulps, info)
        expect_entries(f(g, 2L), f(x, 2L), precision, ulps, info)
        expect_entries(f(g, TRUE), f(x, TRUE), precision, ulps, info)
      }
      expect_entries(-g, -x, precision)
      expect_entries(+g, x, precision)
    }
  })
})

test_that("vectors are recycled down the columns, with base R's warnings and errors", {
  set.seed(22)
  x <- random_matrix(6, 4)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    for (length in c(1:8, 12, 23, 24)) {
      v <- rnorm(length)
      for (case in list(list(function(a) a - v), list(function(a) v / a))) {
        base <- outcome(case[[1]](x))
        ours <- outcome(case[[1]](g))
        expect_identical(ours$warnings, base$warnings)
        expect_entries(ours$value, base$value, "double")
      }
    }
    expect_warning(g + 1:5, class = "cudafactor_warning_recycling")
    for (v in list(1:25, numeric(), NULL, matrix(1, 4, 6), matrix(1, 1, 1), array(1, 24),
        array(1, c(6, 4, 1)), "a")) {
      base <- outcome(x + v)
      ours <- outcome(g + v)
      expect_identical(ours$error, base$error)
      expect_identical(ours$value, base$value)
      if (!is.null(base$error)) expect_s3_class(ours$condition, "cudafactor_error")
    }
    e <- expect_error(g * matrix(1, 2, 2), class = "cudafactor_error_dimension")
    expect_identical(conditionMessage(e), "non-conformable arrays")
    expect_identical(conditionCall(e), quote(g * matrix(1, 2, 2)))
    expect_error(g + as_gpu(matrix(1, 4, 6), device), "non-conformable arrays",
      class = "cudafactor_error_dimension")
    expect_error(g + as_gpu(x, device, "single"), class = "cudafactor_error_argument")
    expect_error(!"a" + g, class = "cudafactor_error_type")
  })
})

test_that("special numbers are those of base R", {
  special <- c(0, -0, 1, -1, 2, 0.5, -0.5, 3, Inf, -Inf, NaN, NA)
  x <- matrix(special, length(special), length(special))
  y <- t(x)
  for_each_setting(function(device, precision) {
    g <- as_gpu(x, device, precision)
    h <- as_gpu(y, device, precision)
    for (op in c("+", "-", "*", "/", "^", "%%", "%/%")) {
      f <- get(op)
      expect_entries(f(g, h), f(x, y), precision, if (op == "^") 4 else 0,
        paste(op, device, precision))
      expect_entries(f(g, NA), f(x, NA), precision, info = op)
      expect_entries(f(Inf, g), f(Inf, x), precision, info = op)
    }
    for (f in list(abs, sign, ceiling, floor, trunc, round)) {
      expect_entries(f(g), f(x), precision)
    }
  })
})

test_that("remainders are base R's, with its warning of lost digits", {
  x <- matrix(c(-1.8e-16, 1e-300, 0.1, 1, -2.5, 1e5 / 7, -1e15, 1e20, -1e300), 9, 9)
  y <- t(x)
  loses <- function(value) {
    lost <- FALSE
    value <- withCallingHandlers(value, warning = function(w) {
      lost <<- TRUE
      expect_match(conditionMessage(w), "probable complete loss of accuracy in modulus",
        fixed = TRUE)
      invokeRestart("muffleWarning")
    })
    list(value = value, lost = lost)
  }
  for_each_device(function(device) {
    ours <- loses(as_gpu(x, device) %% as_gpu(y, device))
    base <- loses(x %% y)
    expect_identical(as.matrix(ours$value), base$value)
    expect_identical(ours$lost, base$lost)
    expect_identical(suppressWarnings(as.matrix((-1.8e-16) %% as_gpu(y, device))),
      suppressWarnings((-1.8e-16) %% y))
  })
  warned <- tryCatch(as_gpu(matrix(1e300)) %% 3, warning = identity)
  if (inherits(warned, "warning")) expect_s3_class(warned, "cudafactor_warning_accuracy")
})

test_that("dimnames come from the first operand that has some", {
  x <- matrix(1:4 + 0, 2, dimnames = list(a = c("u", "v"), NULL))
  y <- matrix(5:8 + 0, 2, dimnames = list(NULL, b = c("s", "t")))
  z <- matrix(0, 2, 2)
  for_each_device(function(device) {
    for (operands in list(list(x, y), list(z, y), list(y, x), list(x, z), list(z, z))) {
      on <- lapply(operands, as_gpu, device = device)
      base <- operands[[1]] * operands[[2]]
      expect_entries(on[[1]] * on[[2]], base, "double")
      expect_entries(on[[1]] * operands[[2]], base, "double")
      expect_entries(operands[[1]] * on[[2]], base, "double")
    }
    expect_identical(dimnames(exp(as_gpu(x, device))), dimnames(x))
    expect_identical(dimnames(as_gpu(z, device) + c(a = 1, b = 2)), NULL)
  })
})

test_that("functions of one number are base R's, with its warnings", {
  set.seed(23)
  special <- c(0, 1, -1, 0.5, -2.5, 1.5, 2.5, 1e-300, 30, Inf, -Inf, NaN, NA)
  x <- named(matrix(c(special, rnorm(27)), 8))
  functions <- c("abs", "sign", "sqrt", "ceiling", "floor", "trunc", "exp", "expm1", "log", "log1p",
    "log10", "log2",
    "cos", "sin", "tan", "cospi", "sinpi", "tanpi", "acos", "asin", "atan", "cosh", "sinh", "tanh",
    "acosh", "asinh",
    "atanh", "gamma", "lgamma", "digamma", "trigamma", "round", "signif")
  exact <- c("abs", "sign", "sqrt", "ceiling", "floor", "trunc", "round")
  for_each_setting(function(device, precision) {
    x <- stored(x, precision)
    g <- as_gpu(x, device, precision)
    for (name in functions) {
      f <- get(name)
      base <- outcome(f(x))
      ours <- outcome(f(g))
      expect_identical(ours$warnings, base$warnings, info = name)
      info <- paste(name, device, precision)
      if (grepl("pi$", name)) {
        # Next to a zero base R's own error is that of pi x.
        expect_equal(as.matrix(ours$value), stored(base$value, precision),
          tolerance = 8 * unit[[precision]], info = info)
      } else {
        expect_entries(ours$value, base$value, precision, if (name %in% exact) 0 else 4, info)
      }
    }
    expect_warning(sqrt(g), class = "cudafactor_warning_nan")
    expect_silent(exp(g))
    positive <- abs(x)
    p <- as_gpu(positive, device, precision)
    for (base in list(2, 10, exp(1), 0.5)) {
      expect_entries(log(p, base), log(positive, base), precision, 8)
      expect_entries(log(p, base = base), log(positive, base), precision, 8)
      expect_entries(log(base = base, p), log(positive, base), precision, 8)
      expect_entries(log(base = base, x = p), log(positive, base), precision, 8)
    }
    expect_entries(round(g, 1), round(x, 1), precision)
    expect_entries(round(g, digits = -1), round(x, -1), precision)
    expect_entries(signif(g, 2), signif(x, 2), precision)
  })
  expect_identical(cumsum(as_gpu(matrix(1:6, 2))), cumsum(matrix(1:6 + 0, 2)))
  expect_identical(cummax(as_gpu(matrix(6:1, 2))), cummax(matrix(6:1 + 0, 2)))
})

test_that("comparisons and logic give base R's plain matrices", {
  x <- named(matrix(c(1, 2, NA, 0, -1, 3), 2))
  y <- matrix(c(1, 0, 1, NA, -1, 4), 2)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    h <- as_gpu(y, device)
    for (op in c("==", "!=", "<", ">", "<=", ">=", "&", "|")) {
      f <- get(op)
      expect_identical(f(g, h), f(x, y))
      expect_identical(f(g, 1), f(x, 1))
      expect_identical(f(y, g), f(y, x))
    }
    expect_identical(!g, !x)
    expect_identical(is.na(g), is.na(x))
    expect_identical(is.nan(g), is.nan(x))
    expect_identical(is.finite(g), is.finite(x))
    expect_identical(is.infinite(g), is.infinite(x))
    e <- expect_error(g == matrix(1, 3, 3), class = "cudafactor_error")
    expect_identical(conditionMessage(e), "non-conformable arrays")
  })
})

test_that("complex numbers make a plain complex matrix", {
  x <- named(matrix(1:4 + 0.5, 2))
  g <- as_gpu(x, "cpu")
  expect_identical(g * 1i, x * 1i)
  expect_identical((1 + 2i) - g, (1 + 2i) - x)
})

test_that("operands are left as they were", {
  for_each_device(function(device) {
    x <- matrix(1:6 + 0, 2)
    g <- as_gpu(x, device)
    h <- g
    g <- g + 1
    exp(h)
    h * h
    expect_identical(as.matrix(h), x)
    expect_identical(as.matrix(g), x + 1)
  })
})

test_that("other matrices are operands together with a gpu_matrix", {
  x <- matrix(1:4 + 0, 2)
  g <- as_gpu(x, "cpu")
  expect_entries(g + data.frame(a = 1:2, b = 3:4)[["a"]], x + 1:2, "double")
})
