# Arguments in any position and spelling, and operands of any kind, as base R takes them.

test_that("for plain data, an argument that base R's function lacks is an error, as in base R", {
  m <- matrix(c(1, NA, 3, 4), 2)
  q <- base::qr(diag(2))
  calls <- expression(
    rowSums(m, na.rn = TRUE), rowSums(m, FALSE, 1, TRUE), colMeans(m, narm = TRUE),
    norm(diag(2), tipe = "F"),
    backsolve(diag(2), 1:2, lower = TRUE), backsolve(diag(2), 1:2, uper.tri = FALSE),
    rowSums(m, a = 1, b = "c")
  )
  for (call in calls) {
    ours <- tryCatch(eval(call), error = identity)
    base <- tryCatch(eval(call, list2env(list(m = m, q = q), parent = baseenv())), error = identity)
    expect_s3_class(base, "error")
    expect_identical(conditionMessage(ours), conditionMessage(base))
    expect_identical(conditionCall(ours), conditionCall(base))
  }
})

test_that("range() leaves out what is not finite", {
  for_each_device(function(device) {
    for (x in list(matrix(c(2, 3, Inf, 7), 2), matrix(c(2, NA, -Inf, 7), 2), matrix(1:4, 2))) {
      g <- as_gpu(x, device)
      expect_identical(range(g, finite = TRUE), range(x + 0, finite = TRUE))
      expect_identical(
        range(g, 9, na.rm = TRUE, finite = TRUE), range(x + 0, 9, na.rm = TRUE, finite = TRUE)
      )
    }
  })
})

test_that("rcond() takes `triangular` and `uplo` in any position", {
  x <- matrix(c(14, .5, 9, 100, 21.25, 11, 9, 11, 31), 3)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_equal(rcond(g, "O", TRUE), base::rcond(x, "O", TRUE), tolerance = 1e-12)
    expect_equal(rcond(g, tri = TRUE), base::rcond(x, tri = TRUE), tolerance = 1e-12)
    expect_equal(rcond(g, triangular = FALSE), base::rcond(x), tolerance = 1e-12)
    expect_equal(rcond(g, "O", TRUE, "L"), base::rcond(x, "O", TRUE, "L"), tolerance = 1e-12)
  })
})

test_that("arguments that are none of base R's are errors for a gpu_matrix", {
  for_each_device(function(device) {
    g <- as_gpu(diag(3) + 1, device)
    e <- expect_error(solve(g, NULL), class = "cudafactor_error_dimension")
    expect_match(conditionMessage(e), "(0 x 1)", fixed = TRUE)
    for (wrong in list(NA, "a", NULL)) expect_error(
      rowSums(g, na.rm = wrong), class = "cudafactor_error_argument"
    )
    e <- expect_error(g[[1]] <- list(1), class = "cudafactor_error_type")
    expect_match(conditionMessage(e), "numeric")
    for (wrong in list(NULL, 1, NA)) expect_error(
      norm(g, wrong), class = "cudafactor_error_argument"
    )
    expect_error(norm(g, character()), class = "cudafactor_error_argument")
    expect_warning(log(as_gpu(matrix(c(1, 2), 1), device), 1), class = "cudafactor_warning_nan")
  })
  expect_error(gpu_lm_fit(diag(2), 1:2, offset = "a"), class = "cudafactor_error")
  expect_error(gpu_lm_fit(diag(2), list(1, 2)), class = "cudafactor_error_type")
})

test_that("what is bound keeps names of the right length, and what has no rows counts", {
  for_each_device(function(device) {
    x <- matrix(1:4, 2, dimnames = list(c("p", "q"), NULL))
    long <- c(a = 1, b = 2, c = 3)
    for (f in list(cbind, rbind)) {
      for (y in list(x, unname(x), matrix(5, 1, 1))) {
        expected <- suppressWarnings(f(long, y))
        got <- suppressWarnings(f(long, as_gpu(y, device)))
        expect_identical(dimnames(got), dimnames(expected))
        expect_equal(unname(as.matrix(got)), unname(expected))
      }
    }
    none <- matrix(0, 0, 3)
    expect_identical(dim(cbind(as_gpu(none, device), NULL)), dim(cbind(none, NULL)))
    expect_identical(
      dim(cbind(as_gpu(none, device), NULL, numeric())), dim(cbind(none, NULL, numeric()))
    )
  })
})

test_that("a plain factorization takes a right-hand side on a device", {
  x <- matrix(c(2, 1, 0, 3, -1, 4, 2, .5, 1), 3)
  q <- base::qr(x)
  for_each_device(function(device) {
    y <- as_gpu(matrix(c(1, 2, 3, 0, 1, 0), 3), device)
    for (f in list(qr.coef, qr.qy, qr.qty, qr.fitted, qr.resid)) {
      expect_equal(f(q, y), f(q, as.matrix(y)))
    }
    expect_equal(qr.fitted(q, y, 2), qr.fitted(q, as.matrix(y), 2))
    expect_equal(solve(q, y), solve(q, as.matrix(y)))
    expect_s4_class(qr.coef(qr(as_gpu(x, device)), y), "gpu_matrix")
  })
})
