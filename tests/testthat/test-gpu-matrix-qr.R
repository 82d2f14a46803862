# QR factorizations that stay on a device.

test_that("rank, order and parts are base R's", {
  set.seed(6)
  all <- designs()
  for_each_device(function(device) {
    for (name in names(all)) {
      x <- all[[name]]
      g <- as_gpu(x, device)
      base <- qr(x)
      f <- qr(g)
      expect_s4_class(f, "gpu_qr_factor")
      expect_identical(dim(f), dim(x))
      expect_identical(f@rank, base$rank, info = name)
      expect_identical(f@pivot, base$pivot, info = name)
      there <- function(ours, base) expect_resident(ours, base, g, info = name)
      there(qr.R(f), base::qr.R(base))
      there(qr.R(f, complete = TRUE), base::qr.R(base, complete = TRUE))
      there(qr.Q(f), base::qr.Q(base))
      there(qr.Q(f, complete = TRUE), base::qr.Q(base, complete = TRUE))
      there(qr.Q(f, Dvec = seq_len(min(dim(x)))), base::qr.Q(base, Dvec = seq_len(min(dim(x)))))
      there(gpu_qr.Q(gpu_qr(g)), base::qr.Q(base))
      y <- named(random_matrix(nrow(x), 2))
      v <- y[, 1]
      for (side in list(y, as_gpu(y, device))) {
        there(qr.qty(f, side), base::qr.qty(base, y))
        there(qr.qy(f, side), base::qr.qy(base, y))
        there(qr.coef(f, side), base::qr.coef(base, y) * 1)
        there(gpu_qr.qty(f, side), base::qr.qty(base, y))
        if (base$rank > 0L) {
          there(qr.fitted(f, side), base::qr.fitted(base, y))
          there(qr.fitted(f, side, 1), base::qr.fitted(base, y, 1))
        }
        there(qr.resid(f, side), base::qr.resid(base, y))
      }
      expect_as_base(qr.resid(f, v), base::qr.resid(base, v), info = name)
      expect_as_base(qr.qty(f, v), base::qr.qty(base, v), info = name)
      expect_as_base(gpu_qr.qy(f, v), base::qr.qy(base, v), info = name)
      expect_as_base(qr.coef(f, v), base::qr.coef(base, v) * 1, info = name)
      expect_identical(as.matrix(g), x)
    }
  })
})

test_that("systems are solved as by base R's qr", {
  set.seed(7)
  all <- designs()
  for_each_device(function(device) {
    for (name in names(all)) {
      x <- all[[name]]
      f <- qr(as_gpu(x, device))
      base <- qr(x)
      y <- random_matrix(nrow(x), 2)
      compare <- function(ours, expected) {
        expected <- outcome(expected)
        ours <- outcome(fetched(ours))
        expect_identical(ours$error, expected$error, info = name)
        if (!is.null(expected$error)) expect_s3_class(ours$condition, "cudafactor_error")
        expect_equal(ours$value, expected$value, info = name)
      }
      compare(solve(f, y), base::solve(base, y))
      compare(solve(f, y[, 1]), base::solve(base, y[, 1]))
      compare(solve(f), base::solve(base))
      compare(solve(f, as_gpu(y, device)), base::solve(base, y))
    }
  })
})

test_that("residuals are small at edge shapes", {
  set.seed(8)
  for_each_setting(function(device, precision) {
    for (shape in edge_shapes) {
      x <- as_single(random_matrix(shape[[1]], shape[[2]]))
      f <- qr(as_gpu(x, device, precision))
      q <- as.matrix(qr.Q(f))
      r <- as.matrix(qr.R(f))
      error <- q %*% r - x[, f@pivot, drop = FALSE]
      expect_small(relative(error, max(dim(x)) * unit[[precision]] * norm_one(x)), "qr")
      expect_small(relative(crossprod(q) - diag(ncol(q)), nrow(q) * unit[[precision]]),
        "orthogonality")
    }
  })
})

test_that("what base R refuses is refused", {
  for_each_device(function(device) {
    x <- as_gpu(diag(3), device)
    expect_error(qr(as_gpu(c(1, NA), device)), "NA/NaN/Inf", class = "cudafactor_error_non_finite")
    expect_error(qr.qty(qr(x), c(1, Inf, 0)), "NA/NaN/Inf", class = "cudafactor_error_non_finite")
    expect_error(qr.Q(qr(x), Dvec = c(1, NA, 2)), "NA/NaN/Inf",
      class = "cudafactor_error_non_finite")
    expect_error(qr(x, LAPACK = TRUE), class = "cudafactor_error_argument")
    expect_error(gpu_qr(x, LAPACK = TRUE), class = "cudafactor_error_argument")
    expect_as_base(qr.coef(qr(x), 1:2), base::qr.coef(qr(diag(3)), 1:2))
    expect_as_base(qr.fitted(qr(x), 1:3, 4), base::qr.fitted(qr(diag(3)), 1:3, 4))
    expect_as_base(qr.qy(qr(x), 1:2), base::qr.qy(qr(diag(3)), 1:2))
    expect_error(qr.qty(qr(x), as_gpu(diag(3), device, "single")), "precision",
      class = "cudafactor_error_argument")
    expect_match(capture.output(qr(x)), "^<gpu_qr_factor: QR of a 3 x 3 matrix, rank 3, double")
    # Huge but finite: the sum of a column overflows.
    expect_identical(qr(as_gpu(matrix(1e308, 3, 1), device))@rank, 1L)
  })
})
