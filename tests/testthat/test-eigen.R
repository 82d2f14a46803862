test_that("symmetric eigenvalues are base R's, and vectors have small errors", {
  for_each_device(function(device) {
    set.seed(1)
    for (n in c(1, 2, 31, 32, 33, 127, 128, 129, 300)) {
      kinds <- symmetric_kinds(n)
      if (n == 300) kinds <- kinds[c("random", "small", "huge", "clustered", "wilkinson")]
      for (kind in names(kinds)) {
        x <- kinds[[kind]]
        ours <- gpu_eigen(x, TRUE, device = device)
        base <- eigen(x, TRUE)
        info <- paste(kind, n)
        expect_identical(shape_of(ours), shape_of(base), info = info)
        error <- max(abs(to_unit(ours$values, x) - to_unit(base$values, x)))
        expect_lt(error, 8 * n * .Machine$double.eps * max(1, frobenius(to_unit(x))))
        expect_lt(residual_eigen(x, ours), max(if (n < 5) 2 else 1, 2 * residual_eigen(x, base)))
        expect_lt(loss_of_orthogonality(ours$vectors), 4)
        expect_false(is.unsorted(-ours$values))
        alone <- gpu_eigen(x, TRUE, only.values = TRUE, device = device)
        expect_identical(shape_of(alone), shape_of(eigen(x, TRUE, only.values = TRUE)))
        expect_lt(max(abs(to_unit(alone$values - ours$values, x))), 8 * n * 2e-16 * n)
      }
    }
  })
})

test_that("general eigenvalues are base R's, complex or not", {
  set.seed(2)
  for (n in c(1, 2, 3, 31, 33, 129)) {
    x <- matrix(rnorm(n * n), n)
    upper <- x
    upper[lower.tri(upper)] <- 0
    real <- solve(x + 10 * diag(n), diag(seq_len(n), n)) %*% (x + 10 * diag(n))
    kinds <- list(
      random = x, real = real, triangular = upper, tiny = x * 1e-300, huge = x * 1e300,
      stochastic = abs(x) / rowSums(abs(x)), zero = 0 * x
    )
    for (kind in names(kinds)) {
      x <- kinds[[kind]]
      ours <- gpu_eigen(x, FALSE)
      base <- eigen(x, FALSE)
      info <- paste(kind, n)
      expect_identical(shape_of(ours), shape_of(base), info = info)
      expect_lt(residual_eigen(x, ours), max(2, 2 * residual_eigen(x, base)))
      expect_equal(colSums(Mod(ours$vectors)^2), rep(1, n), info = info)
      if (kind != "triangular") {
        expect_equal(Mod(to_unit(ours$values, x)), Mod(to_unit(base$values, x)),
          tolerance = 1e-7, info = info)
      }
      largest <- apply(Mod(ours$vectors), 2, function(v) which(v >= max(v) * (1 - 2^-26))[1])
      component <- ours$vectors[cbind(largest, seq_len(n))]
      expect_true(all(Re(component) > 0))
      alone <- gpu_eigen(x, FALSE, only.values = TRUE)
      expect_identical(shape_of(alone), shape_of(eigen(x, FALSE, only.values = TRUE)))
    }
  }
})

test_that("values and vectors of known matrices are exact", {
  expect_equal(gpu_eigen(diag(3:1))$vectors, diag(3))
  expect_identical(gpu_eigen(matrix(c(0, 1, -1, 0), 2))$values, c(1i, -1i))
  rotation <- gpu_eigen(matrix(c(0, 1, -1, 0), 2))
  expect_equal(rotation$vectors, matrix(c(1, -1i, 1, 1i), 2) / sqrt(2))
  expect_identical(gpu_eigen(4), eigen(4))
  expect_identical(gpu_eigen(-4)$values, -4)
  # The first of components of equal size is positive.
  expect_equal(gpu_eigen(matrix(c(2, 1, 1, 2), 2))$vectors, matrix(c(1, 1, 1, -1), 2) / sqrt(2))
  expect_identical(gpu_eigen(diag(200)), gpu_eigen(diag(200)))
})

test_that("a matrix is symmetric by the rule of isSymmetric()", {
  set.seed(3)
  x <- crossprod(matrix(rnorm(49), 7))
  for (by in c(0, 1.5e-14, 1e-13, 1e-10, 1)) {
    near <- x
    near[5, 3] <- near[5, 3] * (1 + by)
    for (scale in c(1e-16, 1, 1e300)) {
      ours <- gpu_eigen(near * scale)
      base <- eigen(near * scale)
      expect_equal(ours$values / scale, base$values / scale, info = by)
      # Vectors of a general matrix are not orthogonal.
      symmetric <- isSymmetric(near * scale)
      general <- gpu_eigen(near * scale, FALSE)
      expect_identical(identical(ours, general), !symmetric && !identical(ours,
        gpu_eigen(near * scale, TRUE)))
    }
  }
  garbage <- x
  garbage[upper.tri(garbage)] <- 1e6
  expect_identical(gpu_eigen(garbage, TRUE), gpu_eigen(x))
})

test_that("operands are coerced and refused as base R does", {
  x <- matrix(c(2L, 1L, 1L, 3L), 2, dimnames = list(c("a", "b"), c("c", "d")))
  for (operand in list(x, as.data.frame(x), x > 1, x + 0)) {
    ours <- gpu_eigen(operand)
    base <- eigen(operand)
    expect_identical(shape_of(ours), shape_of(base))
    expect_equal(ours$values, base$values)
    expect_equal(abs(ours$vectors), abs(base$vectors))
  }
  expect_equal(gpu_eigen(as_gpu(x + 0)), gpu_eigen(x))
  refused <- list(
    matrix(0, 0, 0), matrix(0, 0, 3), matrix(0, 3, 0), matrix(0, 2, 3), 1:3,
    matrix(c(1, NA, 2, 3), 2), matrix(Inf), matrix(NaN), matrix(NA)
  )
  for (operand in refused) {
    expect_as_base(gpu_eigen(operand), eigen(operand))
    expect_as_base(gpu_eigen(operand, TRUE), eigen(operand, TRUE))
  }
  for (flag in list(NA, "a", logical(), c(TRUE, FALSE), NULL)) {
    expect_as_base(gpu_eigen(x, TRUE, only.values = flag), eigen(x, TRUE, only.values = flag),
      argument = "only.values")
    expect_as_base(gpu_eigen(x, symmetric = flag), eigen(x, symmetric = flag),
      argument = "symmetric")
  }
  expect_identical(gpu_eigen(x, EISPACK = TRUE), gpu_eigen(x))
  expect_error(gpu_eigen(x, nonsense = 1), "unused argument", class = "cudafactor_error_argument")
  expect_error(gpu_eigen(x + 0i), "base::eigen", class = "cudafactor_error_type")
  expect_error(gpu_eigen(sum), class = "cudafactor_error_type")
  for (text in list("a", matrix("4"), data.frame(a = "z"), matrix(as.raw(4)), matrix(list(4)))) {
    expect_error(gpu_eigen(text), "'x' must be a (numeric )?matrix, not of type",
      class = "cudafactor_error_type")
  }
  e <- expect_error(gpu_eigen(), "\"x\" is missing", class = "cudafactor_error_argument")
  expect_identical(conditionCall(e), quote(gpu_eigen()))
  expect_not_found(gpu_eigen(nosuch))
  expect_error(gpu_eigen(stop("mine")), "^mine$")
  e <- expect_error(gpu_eigen(matrix(NaN)), class = "cudafactor_error_non_finite")
  expect_identical(conditionCall(e)[[1]], quote(gpu_eigen))
})

test_that("a GPU is refused in words, and single precision is an argument", {
  x <- matrix(c(0, 1, -1, 0), 2)
  for (device in c("cuda", "cuda:0")) {
    e <- expect_error(gpu_eigen(x, device = device), "use device = \"cpu\" or \"auto\"",
      class = "cudafactor_error_device_unavailable", fixed = TRUE)
    expect_s3_class(e, "cudafactor_error_device")
  }
  expect_error(gpu_eigen(x, device = "nonsense"), class = "cudafactor_error_argument")
  set.seed(4)
  x <- crossprod(matrix(rnorm(900), 30))
  for_each_device(function(device) {
    single <- gpu_eigen(x, precision = "single", device = device)
    expect_equal(single$values, eigen(x)$values, tolerance = 1e-5)
    ours <- gpu_eigen(x, device = device)
    expect_match(gpu_last_device(), device)
    expect_false(identical(single$values, ours$values))
    expect_identical(gpu_eigen(x, device = device), ours)
    # The rule of signs is that of the CPU.
    expect_equal(ours, gpu_eigen(x, device = "cpu"), tolerance = 1e-9)
  })
})

test_that("a small eigenvalue of order 2 keeps its digits", {
  small <- 2^-50
  for (precision in c("double", "single")) {
    for (only in c(TRUE, FALSE)) {
      values <- function(x) gpu_eigen(x, only.values = only, precision = precision)$values
      expect_equal(values(diag(c(1, small))), c(1, small), tolerance = 1e-14)
      expect_equal(values(diag(c(small, 1))), c(1, small), tolerance = 1e-14)
      expect_equal(values(diag(c(-1, small)))[[1]], small, tolerance = 1e-14)
      expect_equal(values(matrix(c(2^53, 1, 1, 1), 2))[[2]], 1, tolerance = 1e-14)
      expect_equal(values(matrix(small)), small)
    }
    x <- matrix(c(4, 2^-30, 2^-30, 2^-50), 2)
    e <- gpu_eigen(x, precision = precision)
    expect_equal(e$values[[2]], 2^-50 - 2^-62, tolerance = 1e-14)
    expect_equal(abs(e$vectors), diag(2), tolerance = 1e-6)
  }
})

test_that("entries may be beyond the range of single precision", {
  set.seed(5)
  x <- matrix(rnorm(49), 7)
  for (y in list(x, crossprod(x))) {
    unit <- gpu_eigen(y, precision = "single")
    for (scale in 2^c(-600, -160, 160, 600)) {
      ours <- gpu_eigen(y * scale, isSymmetric(y), precision = "single")
      expect_identical(ours$values / scale, unit$values)
      expect_identical(ours$vectors, unit$vectors)
    }
  }
})

test_that("entries of a general matrix may differ by more than the range of numbers", {
  for (precision in c("double", "single")) {
    for (large in c(1e20, 1e100, 1e162, 1e300)) {
      x <- matrix(c(1, large, 1 / large, 1), 2)
      expect_equal(gpu_eigen(x, FALSE, precision = precision)$values, c(2, 0), tolerance = 1e-6)
      v <- gpu_eigen(t(x), FALSE, precision = precision)$vectors[, 1]
      expect_equal(v, c(1, 0), tolerance = 1e-6)
    }
  }
})

test_that("a failure to converge has base R's words", {
  raised <- tryCatch(
    raise("not_converged", "", list(routine = "dgeev"), quote(gpu_eigen(x)), NULL),
    error = identity
  )
  expect_s3_class(raised, "cudafactor_error_not_converged")
  expect_identical(conditionMessage(raised), "error code 1 from Lapack routine 'dgeev'")
})

test_that("default options decompose a matrix for which a GPU is faster", {
  expect_null(getOption("cudafactor.device"))
  set.seed(11)
  x <- crossprod(random_matrix(700, 700)) / 700
  e <- gpu_eigen(x)
  expect_equal(e$values, eigen(x)$values, tolerance = 1e-12)
  expect_lte(max(abs(x %*% e$vectors - sweep(e$vectors, 2, e$values, "*"))), 1e-11)
  expect_equal(gpu_svd(x)$d, e$values, tolerance = 1e-12)
  few <- gpu_eigen(x, k = 5)
  expect_equal(few$values, head(e$values, 5), tolerance = 1e-9)
  expect_equal(gpu_prcomp(x)$sdev, prcomp(x)$sdev, tolerance = 1e-10)
})

test_that("dates and differences of times are numbers, and factors are not", {
  times <- times_matrices()
  for (x in times) {
    base <- eigen(x)
    expect_equal(gpu_eigen(x)$values, base$values)
    expect_lt(residual_eigen(matrix(as.double(unclass(x)), 3), gpu_eigen(x)), 10)
    expect_identical(attributes(gpu_eigen(x)$vectors), attributes(base$vectors))
  }
  x <- times$time
  expect_equal(gpu_eigen(x, k = 1)$values, eigen(x)$values[1])
  batch <- structure(rep(unclass(x), 2), dim = c(3, 3, 2), class = "Date")
  expect_equal(gpu_eigen(batch)$values, matrix(eigen(x)$values, 3, 2))
  expect_as_base(gpu_eigen(replace(times$date, 1, NA)), eigen(replace(times$date, 1, NA)))
  expect_error(
    gpu_eigen(structure(factor(1:4), dim = c(2, 2))),
    "'x' must be a numeric matrix, not of class \"factor\"", class = "cudafactor_error_type"
  )
})
