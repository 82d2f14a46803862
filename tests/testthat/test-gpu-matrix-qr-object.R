# Base R's qr object from a factorization that stays on a device, and what needs it.

test_that("as.qr() is base R's object, and base R works on it", {
  set.seed(9)
  all <- designs()
  for_each_device(function(device) {
    for (name in names(all)) {
      x <- all[[name]]
      f <- qr(as_gpu(x, device))
      base <- qr(x)
      ours <- as.qr(f)
      expect_s3_class(ours, "qr", exact = TRUE)
      expect_identical(lapply(ours, typeof), lapply(base, typeof), info = name)
      expect_identical(list(ours$rank, ours$pivot, dimnames(ours$qr)),
        list(base$rank, base$pivot, dimnames(base$qr)), info = name)
      # What is left of columns beyond the rank is rounding.
      kept <- seq_len(base$rank)
      expect_equal(ours$qr[, kept], base$qr[, kept], tolerance = 1e-10, info = name)
      expect_equal(ours$qraux[kept], base$qraux[kept], tolerance = 1e-10, info = name)
      if (base$rank == min(dim(x))) expect_equal(ours, base, tolerance = 1e-10, info = name)
      y <- random_matrix(nrow(x), 2)
      expect_equal(base::qr.coef(ours, y), base::qr.coef(base, y), info = name)
      expect_equal(base::qr.resid(ours, y), base::qr.resid(base, y), info = name)
      expect_equal(outcome(base::qr.X(ours))$value, outcome(base::qr.X(base))$value, info = name)
      expect_identical(qr(structure(list(qr = ours), class = "lm")), ours)
      expect_equal(gpu_qr.Q(ours), base::qr.Q(base), info = name)
      expect_identical(f$rank, base$rank)
      expect_identical(f$pivot, base$pivot)
      expect_identical(f$qr, ours$qr)
      expect_identical(f$qraux, ours$qraux)
    }
    expect_null(qr(as_gpu(diag(2), device))$nothing)
    x <- random_matrix(40, 33)
    single <- as.qr(qr(as_gpu(x, device, "single")))
    expect_equal(single, qr(x), tolerance = 1e-4)
    expect_equal(kappa(qr(as_gpu(x, device))), kappa(qr(x)))
  })
  expect_error(as.qr(qr(diag(2))), outcome(base::as.qr(1))$error)
  lost <- qr(as_gpu(diag(2)))
  lost@factor@pointer <- methods::new("externalptr")
  expect_error(as.qr(lost), class = "cudafactor_error_stale")
})

test_that("qr.X() gives the matrix back", {
  set.seed(10)
  all <- designs()
  for_each_device(function(device) {
    for (name in names(all)) {
      x <- all[[name]]
      g <- as_gpu(x, device)
      f <- qr(g)
      base <- qr(x)
      for (arguments in list(list(), list(complete = TRUE), list(ncol = ncol(x)), list(ncol = 1))) {
        expected <- outcome(do.call(base::qr.X, c(list(base), arguments)))
        if (is.null(expected$error)) {
          expect_resident(do.call(qr.X, c(list(f), arguments)), expected$value, g,
            info = paste(name, names(arguments)))
        } else {
          e <- expect_error(do.call(qr.X, c(list(f), arguments)),
            class = "cudafactor_error_argument")
          expect_identical(conditionMessage(e), expected$error)
        }
      }
    }
    expect_error(qr.X(qr(as_gpu(diag(2), device)), ncol = 3), class = "cudafactor_error_argument")
  })
})

test_that("qr.solve() solves systems and least squares", {
  set.seed(11)
  a <- named(random_matrix(6, 6))
  tall <- named(random_matrix(9, 4))
  y <- random_matrix(6, 2)
  for_each_device(function(device) {
    g <- as_gpu(a, device)
    h <- as_gpu(y, device)
    there <- function(ours, base) expect_resident(ours, base, g)
    there(qr.solve(g, y), base::qr.solve(a, y))
    there(qr.solve(g, h), base::qr.solve(a, y))
    there(qr.solve(a, h), base::qr.solve(a, y))
    there(qr.solve(qr(g), y), base::qr.solve(a, y))
    there(qr.solve(qr(g), h), base::qr.solve(a, y))
    there(qr.solve(g), base::qr.solve(a))
    there(qr.solve(qr(g)), base::qr.solve(a))
    expect_equal(qr.solve(qr(a), h), base::qr.solve(a, y))
    expect_as_base(qr.solve(g, y[, 1]), base::qr.solve(a, y[, 1]))
    expect_as_base(qr.solve(as_gpu(tall, device), 1:9), base::qr.solve(tall, 1:9))
    expect_as_base(qr.solve(as_gpu(tall, device)), base::qr.solve(tall))
    expect_as_base(qr.solve(as_gpu(matrix(1, 3, 3), device), 1:3),
      base::qr.solve(matrix(1, 3, 3), 1:3))
    expect_as_base(qr.solve(g, 1:2), base::qr.solve(a, 1:2))
    nearly <- diag(c(1, 1e-9))
    nearly[1, 2] <- 1
    expect_as_base(qr.solve(as_gpu(nearly, device), 1:2), base::qr.solve(nearly, 1:2))
    expect_as_base(qr.solve(as_gpu(nearly, device), 1:2, tol = 1e-12),
      base::qr.solve(nearly, 1:2, tol = 1e-12))
    single <- qr.solve(as_gpu(a, device, "single"), y)
    expect_identical(single@precision, "single")
    expect_small(residual_solve(as.matrix(single), as_single(a), as_single(y), "single"), "solve")
  })
})
