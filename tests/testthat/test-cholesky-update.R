# Updates and downdates of Cholesky factors.

orders <- c(0L, 1L, 2L, 5L, 31L, 32L, 33L, 64L, 65L, 200L)

# A factor with numbers that single precision has, and NaN where nothing may be read.
factor_of <- function(n) {
  r <- as_single(if (n > 0L) chol(definite_matrix(n, 10)) else matrix(0, 0, 0))
  r[lower.tri(r)] <- NaN
  r
}

upper_of <- function(r) {
  r[lower.tri(r)] <- 0
  r
}

# As if R'R + by V V' had been factored: errors in units of n eps times the larger of the matrices,
# and what a factor must be.
expect_factor <- function(out, r, v, by, precision) {
  before <- crossprod(upper_of(r))
  product <- tcrossprod(v)
  expect_true(is.double(out) && identical(dim(out), dim(r)))
  expect_true(all(out[lower.tri(out)] == 0) && all(diag(out) > 0))
  scale <- max(norm_one(before), norm_one(before + by * product))
  expect_small(relative(crossprod(out) - (before + by * product),
    max(1, nrow(r)) * unit[[precision]] * scale), "cholesky")
}

test_that("the factor of A + VV', and of A - VV', is made from that of A", {
  set.seed(71)
  for_each_setting(function(device, precision) {
    for (n in orders) {
      for (k in unique(c(0L, 1L, 2L, 16L, 17L, n, n + 3L))) {
        if (n == 200L && !k %in% c(16L, n)) next
        r <- factor_of(n)
        v <- as_single(random_matrix(n, k) / sqrt(max(1, n, k)))
        before <- list(r + 0, v + 0)
        up <- chol_update(r, v, device = device, precision = precision)
        expect_factor(up, r, v, 1, precision)
        there <- as_gpu(r, device, precision)
        resident <- chol_update(there, as_gpu(v, device, precision))
        expect_true(is_resident(resident))
        expect_equal(as.matrix(resident), up, tolerance = 100 * unit[[precision]])
        # And back.
        expect_factor(chol_downdate(up, v, device = device, precision = precision), up, v, -1,
          precision)
        down <- chol_downdate(resident, as_gpu(v, device, precision))
        expect_factor(as.matrix(down), up, v, -1, precision)
        expect_identical(list(r, v), before)
        expect_identical(as.matrix(there), before[[1L]])
      }
    }
  })
})

test_that("a lower factor, and what else an operand may be, is taken", {
  set.seed(72)
  r <- upper_of(factor_of(33))
  v <- as_single(random_matrix(33, 3))
  garbage <- t(r)
  garbage[upper.tri(garbage)] <- NaN
  for_each_setting(function(device, precision) {
    gpu <- function(x) as_gpu(x, device, precision)
    near <- function(x, y) expect_equal(fetched(x), y, tolerance = tolerance_for(precision))
    up <- t(chol(crossprod(r) + tcrossprod(v)))
    near(l <- chol_update(garbage, v, TRUE, device = device, precision = precision), up)
    expect_true(all(l[upper.tri(l)] == 0))
    near(chol_downdate(up, v, lower = TRUE, device = device, precision = precision), t(r))
    near(there <- chol_update(gpu(garbage), v, lower = TRUE), up)
    expect_true(is_resident(there) && all(fetched(there)[upper.tri(up)] == 0))
    near(chol_downdate(there, gpu(v), lower = TRUE), t(r))
    # One of two on the device, and a vector.
    one <- chol(crossprod(r) + tcrossprod(v[, 1]))
    near(chol_update(r, v[, 1], device = device, precision = precision), one)
    for (x in list(chol_update(gpu(r), v[, 1]), chol_update(r, gpu(v[, 1])),
        chol_update(gpu(r), v[, 1, drop = FALSE]))) {
      expect_true(is_resident(x))
      expect_identical(c(x@device, x@precision), c(there@device, precision))
      near(x, one)
    }
  })
  whole <- round(10 * v)
  storage.mode(whole) <- "integer"
  expect_equal(chol_update(r, whole), chol_update(r, whole + 0))
  expect_equal(chol_update(r, as.data.frame(v)), chol_update(r, v))
  expect_equal(chol_update(data.frame(r), v), chol_update(r, v), ignore_attr = TRUE)
  negative <- r
  negative[c(1, 20), ] <- -negative[c(1, 20), ]
  expect_equal(chol_update(negative, v), chol_update(r, v))
})

test_that("dimnames are those of the factor", {
  set.seed(73)
  r <- named(chol(definite_matrix(4)))
  v <- named(random_matrix(4, 2))
  for_each_device(function(device) {
    for (f in list(chol_update, chol_downdate)) {
      expect_identical(dimnames(f(r, v / 100, device = device)), dimnames(r))
      expect_identical(dimnames(f(as_gpu(r, device), v / 100)), dimnames(r))
      expect_null(dimnames(f(unname(r), v / 100, device = device)))
      expect_null(dimnames(f(as_gpu(unname(r), device), v / 100)))
      expect_identical(dimnames(f(r, as_gpu(v / 100, device))), dimnames(r))
    }
    expect_identical(dimnames(chol_update(t(r), v, lower = TRUE, device = device)), dimnames(t(r)))
    expect_identical(dimnames(chol_update(as_gpu(t(r), device), v, lower = TRUE)), dimnames(t(r)))
  })
})

test_that("a gpu_matrix can be changed in place, for every name that it has", {
  set.seed(74)
  r <- named(upper_of(factor_of(65)))
  v <- as_single(random_matrix(65, 2))
  for_each_setting(function(device, precision) {
    g <- as_gpu(r, device, precision)
    same <- g
    apart <- g[, ]
    up <- as.matrix(chol_update(g, v))
    expect_identical(as.matrix(same), r)
    result <- withVisible(chol_update(g, v, in_place = TRUE))
    expect_false(result$visible)
    expect_identical(result$value@pointer, g@pointer)
    expect_identical(as.matrix(g), up)
    expect_identical(as.matrix(same), up)
    expect_identical(as.matrix(apart), r)
    chol_downdate(g, as_gpu(v, device, precision), in_place = TRUE)
    expect_equal(as.matrix(same), r, tolerance = tolerance_for(precision))
    lower <- t(g)
    chol_update(lower, v, lower = TRUE, in_place = TRUE)
    expect_equal(as.matrix(lower), t(up), tolerance = tolerance_for(precision))
    # By itself.
    own <- unname(as.matrix(g))
    chol_update(g, same, in_place = TRUE)
    expect_equal(unname(as.matrix(same)), chol(crossprod(own) + tcrossprod(own)),
      tolerance = tolerance_for(precision))
    # What fails leaves all as it was.
    kept <- as.matrix(g)
    expect_error(chol_downdate(g, 1e3 * v, in_place = TRUE),
      class = "cudafactor_error_not_positive_definite")
    expect_error(chol_update(g, replace(v, 3, Inf), in_place = TRUE),
      class = "cudafactor_error_non_finite")
    expect_error(chol_update(g, 1:3, in_place = TRUE), class = "cudafactor_error_dimension")
    expect_identical(as.matrix(g), kept)
    gpu_free(g)
    expect_error(chol_update(g, v, in_place = TRUE), class = "cudafactor_error_stale")
    expect_error(chol_update(g, v), class = "cudafactor_error_stale")
  })
  e <- expect_error(chol_update(r, v, in_place = TRUE), class = "cudafactor_error_argument")
  expect_identical(e$argument, "in_place")
  expect_error(chol_update(r, as_gpu(v, "cpu"), in_place = TRUE),
    class = "cudafactor_error_argument")
})

test_that("memory held does not grow by changes in place", {
  g <- as_gpu(diag(20), "cpu")
  v <- as_gpu(rep(1, 20), "cpu")
  held <- function() {
    gc()
    sum(gpu_mem()$held)
  }
  before <- held()
  for (k in 1:20) chol_update(g, v, in_place = TRUE)
  expect_identical(held(), before)
})

test_that("many updates and downdates by the same columns do not drift", {
  set.seed(75)
  r <- factor_of(20)
  pairs <- 300
  for_each_setting(function(device, precision) {
    g <- as_gpu(upper_of(r), device, precision)
    for (k in seq_len(pairs)) {
      v <- as_gpu(random_matrix(20, 1 + k %% 3), device, precision)
      chol_update(g, v, in_place = TRUE)
      chol_downdate(g, v, in_place = TRUE)
    }
    drift <- max(abs(as.matrix(g) - upper_of(r)))
    expect_lt(drift, 50 * pairs * unit[[precision]])
  })
})

test_that("numbers that are none, and no factor at all, are refused", {
  set.seed(76)
  r <- factor_of(33)
  v <- as_single(random_matrix(33, 2))
  for_each_setting(function(device, precision) {
    both <- function(r, v) {
      lapply(list(
        function() chol_update(r, v, device = device, precision = precision),
        function() chol_downdate(r, v, device = device, precision = precision),
        function() chol_update(as_gpu(r, device, precision), v),
        function() chol_downdate(r, as_gpu(v, device, precision)),
        function() chol_update(t(r), v, lower = TRUE, device = device, precision = precision)
      ), function(f) tryCatch(f(), error = identity))
    }
    for (bad in c(NaN, NA, Inf, -Inf)) {
      wrong <- r
      wrong[2, 30] <- bad
      for (e in both(wrong, v)) {
        expect_s3_class(e, "cudafactor_error_non_finite")
        expect_identical(e$argument, "r")
        expect_match(conditionMessage(e), "NA/NaN/Inf in 'r'", fixed = TRUE)
      }
      for (e in both(r, replace(v, 40, bad))) {
        expect_s3_class(e, "cudafactor_error_non_finite")
        expect_identical(e$argument, "v")
      }
    }
    zero <- r
    zero[7, 7] <- 0
    for (e in both(zero, v)) {
      expect_s3_class(e, "cudafactor_error_singular")
      expect_identical(e$index, 7L)
    }
  })
})

test_that("a downdate that leaves no factor is an error before anything is done", {
  for_each_setting(function(device, precision) {
    r <- diag(2, 40)
    r[upper.tri(r)] <- 1 / 64
    for (order in c(1L, 2L, 31L, 32L, 33L, 40L)) {
      for (k in c(1L, 5L, 41L)) {
        v <- matrix(0, 40, k)
        v[order, k] <- 2.5
        plain <- tryCatch(chol_downdate(r, v, device = device, precision = precision),
          error = identity)
        there <- tryCatch(chol_downdate(as_gpu(r, device, precision), v), error = identity)
        for (e in list(plain, there)) {
          expect_s3_class(e, "cudafactor_error_not_positive_definite")
          expect_identical(e$order, order)
        }
      }
    }
  })
  e <- tryCatch(chol_downdate(diag(2), c(0, 2)), error = identity)
  expect_identical(conditionCall(e), quote(chol_downdate(diag(2), c(0, 2))))
  base <- tryCatch(chol(diag(c(1, -3))), error = identity)
  expect_identical(conditionMessage(e), conditionMessage(base))
})

test_that("what a downdate loses is told", {
  for_each_setting(function(device, precision) {
    eps <- unit[[precision]]
    for (left in c(0.5, 2 * sqrt(eps), sqrt(eps) / 4)) {
      v <- matrix(0, 40, 3)
      v[20, 2] <- if (precision == "single") as_single(sqrt(1 - left)) else sqrt(1 - left)
      left <- 1 - v[20, 2]^2
      margins <- numeric()
      catch <- function(expr) {
        withCallingHandlers(expr, cudafactor_warning_ill_conditioned = function(w) {
          expect_s3_class(w, "cudafactor_warning")
          expect_match(conditionMessage(w), "digits of the new factor are lost")
          margins <<- c(margins, w$margin)
          invokeRestart("muffleWarning")
        })
      }
      plain <- catch(chol_downdate(diag(40), v, device = device, precision = precision))
      there <- catch(chol_downdate(as_gpu(diag(40), device, precision), v))
      for (x in list(plain, as.matrix(there))) {
        expect_equal(x[20, 20], sqrt(left), tolerance = 4 * eps / left)
      }
      expect_length(margins, if (left < sqrt(eps)) 2L else 0L)
      if (length(margins)) expect_equal(margins, c(left, left), tolerance = 10 * eps / left)
    }
    # All but rounding is gone.
    gone <- c(1 - eps, 0, 0)
    expect_error(chol_downdate(diag(3), gone, device = device, precision = precision),
      class = "cudafactor_error_not_positive_definite")
  })
})

test_that("the errors are classed, and name the call", {
  r <- diag(3)
  v <- 1:3
  fails <- function(expr, kind, argument = NULL) {
    e <- tryCatch(expr, error = identity)
    expect_s3_class(e, paste0("cudafactor_error_", kind))
    if (!is.null(argument)) expect_identical(e$argument, argument)
  }
  for (f in list(chol_update, chol_downdate)) {
    fails(f(), "argument", "r")
    fails(f(r), "argument", "v")
    fails(f(r, 1:2), "dimension")
    fails(f(r, t(1:3)), "dimension")
    fails(f(r[, 1:2], v), "dimension")
    fails(f(as_gpu(r[, 1:2], "cpu"), v), "dimension")
    fails(f(r, v, lower = NA), "argument", "lower")
    fails(f(r, v, in_place = "x"), "argument", "in_place")
    fails(f(r, v, device = "abacus"), "argument")
    fails(f(r, v, precision = "half"), "argument", "precision")
    fails(f(as_gpu(r, "cpu"), as_gpu(v, "cpu", "single")), "argument")
    fails(f(r * 1i, v), "type")
    fails(f(r, v * 1i), "type")
    fails(f(sum, v), "type")
    fails(f(r, sum), "type")
    fails(f("a file", v), "type")
    fails(f(qr(r), v), "type")
    fails(f(r, qr(r)), "type")
    fails(f(r, NULL), "type")
  }
  e <- tryCatch(chol_update(r, 1:2), error = identity)
  expect_identical(conditionCall(e), quote(chol_update(r, 1:2)))
  expect_identical(conditionMessage(e), "'v' (2 x 1) must be compatible with 'r' (3 x 3)")
})

test_that("Matrix::updown() takes a gpu_matrix, whichever package is loaded first", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  body <- c(
    "a <- crossprod(matrix(c(2, 1, 0, 3, 1, 4, 1, 5, 9, 2, 6, 5), 4))",
    "x <- matrix(c(1, 0, 2, 0, 3, 0), 3)",
    "up <- chol(a + tcrossprod(x))",
    "for (device in c('cpu', if (cudafactor::gpu_available()) 'cuda')) {",
    "  g <- cudafactor::as_gpu(chol(a), device)",
    "  for (C in list(x, cudafactor::as_gpu(x, device), Matrix::Matrix(x),",
    "      Matrix::Matrix(x, sparse = TRUE))) for (update in list('+', TRUE)) {",
    "    u <- Matrix::updown(update, C, g)",
    "    stopifnot(methods::is(u, 'gpu_matrix'), all.equal(as.matrix(u), up))",
    "    stopifnot(all.equal(as.matrix(Matrix::updown(if (isTRUE(update)) FALSE else '-', C, u)),",
    "      chol(a)))",
    "  }",
    "  for (wrong in list('x', NA, c('+', '-'))) {",
    "    stopifnot(inherits(tryCatch(Matrix::updown(wrong, x, g), error = identity),",
    "      'cudafactor_error_argument'))",
    "  }",
    "}",
    "sparse <- Matrix::Cholesky(Matrix::Matrix(a, sparse = TRUE))",
    "stopifnot(methods::is(Matrix::updown('+', Matrix::Matrix(x, sparse = TRUE), sparse),",
    "  'CHMfactor'))",
    "cat('end')"
  )
  for (first in list(c("cudafactor", "Matrix"), c("Matrix", "cudafactor"))) {
    child <- run_child(c(sprintf("invisible(loadNamespace('%s'))", first), body))
    expect_identical(child, list(status = 0L, output = "end"))
  }
})
