# Rows and columns taken out of a Cholesky factor, and put in.

case_matrix <- function(n) {
  a <- as_single(definite_matrix(n, 10))
  if (n > 0L) dimnames(a) <- rep(list(sprintf("c%d", seq_len(n))), 2L)
  a
}

# What may go of n rows: none, ends, runs, some apart, all.
choices <- function(n) {
  unique(Filter(
    function(i) all(i <= n),
    list(
      integer(), 1L, n, 2:3, c(1L, n), seq(2L, max(2L, n - 1L), by = 3L), c(5:9, 14:16, 31:33),
      seq_len(n)
    )
  ))
}

# The upper triangle alone, what is not to be read being NaN.
with_garbage <- function(r) {
  r[lower.tri(r)] <- NaN
  r
}

expect_near_factor <- function(out, a, precision, scale = 10) {
  out <- fetched(out)
  expect_identical(dim(out), dim(a))
  expect_true(all(out[lower.tri(out)] == 0) && all(diag(out) > 0))
  expect_small(
    relative(crossprod(out) - a, scale * max(1, nrow(a)) * unit[[precision]] * max(1, norm_one(a))),
    "cholesky"
  )
}

test_that("a factor without some rows is that of the matrix without them", {
  set.seed(81)
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 5L, 33L, 65L)) {
      a <- case_matrix(n)
      r <- if (precision == "single") as_single(chol(a)) else chol(a)
      for (i in choices(n)) {
        left <- setdiff(seq_len(n), i)
        want <- a[left, left, drop = FALSE]
        given <- with_garbage(r)
        out <- chol_drop(given, i, device = device, precision = precision)
        expect_near_factor(out, want, precision)
        expect_identical(given, with_garbage(r))
        there <- chol_drop(as_gpu(given, device, precision), i)
        expect_true(is_resident(there))
        expect_near_factor(there, want, precision)
        names <- if (length(left)) dimnames(want)
        expect_identical(list(dimnames(out), dimnames(there)), list(names, names))
        low <- chol_drop(t(given), i, lower = TRUE, device = device, precision = precision)
        expect_identical(
          list(low, fetched(chol_drop(as_gpu(t(given), device, precision), i, TRUE))),
          list(t(out), t(out))
        )
      }
    }
  })
})

test_that("rows are chosen as by a subscript", {
  set.seed(82)
  a <- case_matrix(6)
  r <- chol(a)
  for (f in list(identity, function(x) as_gpu(x, "cpu"))) {
    r <- f(chol(a))
    for (i in list(
      c(4, 2, 2), c(2L, 0L, 4L), c("c4", "c2"), c(FALSE, TRUE),
      c(FALSE, TRUE, FALSE, TRUE, FALSE, FALSE), -c(1, 3, 5, 6), matrix(2:4), 2.7, -1, 0
    )) {
      gone <- seq_len(6)[match(
        seq_len(6), if (is.character(i)) match(i, colnames(a)) else seq_len(6)[i], 0
      ) > 0]
      left <- setdiff(1:6, gone)
      expect_equal(fetched(chol_drop(r, i)), chol(a[left, left, drop = FALSE]), info = deparse(i))
    }
    for (i in list(7, "c7", rep(TRUE, 7), c(-1, 2), -7, c(-1, -7), -1e10)) {
      expect_error(chol_drop(r, i), class = "cudafactor_error_dimension")
    }
    for (i in list(NA, c(1, NA))) {
      e <- expect_error(chol_drop(r, i), class = "cudafactor_error_argument")
      expect_identical(e$argument, "i")
    }
  }
  bare <- unname(chol(a))
  expect_error(chol_drop(bare, "c1"), class = "cudafactor_error_dimension")
  # One kind of names is enough, and is kept.
  rownames(bare) <- colnames(a)
  expect_identical(dimnames(chol_drop(bare, "c1")), list(colnames(a)[-1], NULL))
  colnames(bare) <- colnames(a)
  dimnames(bare)[1] <- list(NULL)
  expect_identical(dimnames(chol_drop(bare, "c1")), list(NULL, colnames(a)[-1]))
  expect_null(dimnames(chol_drop(unname(bare), 2)))
})

test_that("new rows come to their place", {
  set.seed(83)
  for_each_setting(function(device, precision) {
    for (n in c(1L, 2L, 5L, 33L, 65L)) {
      a <- case_matrix(n)
      for (run in unique(list(
        1L, n, (n + 1L) %/% 2L, seq_len(n), max(1L, n - 2L):n, seq_len(min(n, 4L))
      ))) {
        rest <- a[-run, -run, drop = FALSE]
        r <- with_garbage(if (nrow(rest)) chol(rest) else rest)
        if (precision == "single") r <- as_single(r)
        x <- a[, run, drop = FALSE]
        before <- list(r + 0, x + 0)
        out <- chol_insert(r, run[[1L]], x, device = device, precision = precision)
        expect_near_factor(out, a, precision)
        expect_identical(dimnames(out), dimnames(a))
        there <- chol_insert(as_gpu(r, device, precision), run[[1L]], as_gpu(x, device, precision))
        expect_true(is_resident(there))
        expect_identical(list(fetched(there), dimnames(there)), list(out, dimnames(a)))
        low <- chol_insert(t(r), run[[1L]], x, lower = TRUE, device = device, precision = precision)
        expect_identical(low, t(out))
        expect_identical(
          fetched(chol_insert(as_gpu(t(r), device, precision), run[[1L]], x, lower = TRUE)), t(out)
        )
        expect_identical(list(r, x), before)
      }
    }
  })
})

test_that("what is taken out can be put back", {
  set.seed(84)
  a <- case_matrix(40)
  r <- chol(a)
  for_each_setting(function(device, precision) {
    g <- as_gpu(r, device, precision)
    for (i in c(1L, 17L, 38L)) {
      run <- i:(i + 2L)
      back <- chol_insert(chol_drop(g, run), i, a[, run])
      expect_equal(as.matrix(back), r, tolerance = 10 * tolerance_for(precision))
      one <- chol_insert(
        chol_drop(r, i, device = device, precision = precision), i, a[, i], device = device,
        precision = precision
      )
      expect_equal(one, `dimnames<-`(r, dimnames(one)), tolerance = 10 * tolerance_for(precision))
    }
    # One of two on the device.
    expect_identical(
      fetched(chol_insert(chol_drop(r, 3), 3, as_gpu(a[, 3, drop = FALSE], "cpu"))),
      chol_insert(chol_drop(r, 3), 3, a[, 3, drop = FALSE])
    )
  })
})

test_that("new cases get names where there are some", {
  r <- chol(diag(2))
  named <- r
  dimnames(named) <- list(c("a", "b"), c("a", "b"))
  expect_null(dimnames(chol_insert(r, 2, c(x = 0, y = 4, z = 0))))
  of <- function(...) dimnames(chol_insert(...))
  for (f in list(identity, function(x) as_gpu(x, "cpu"))) {
    g <- f(named)
    expect_identical(of(g, 2, c(x = 0, y = 4, z = 0)), rep(list(c("a", "y", "b")), 2))
    expect_identical(of(g, 3, c(0, 0, 4)), rep(list(c("a", "b", "")), 2))
    expect_identical(
      of(g, 1, matrix(c(4, 0, 0), dimnames = list(NULL, "q"))), rep(list(c("q", "a", "b")), 2)
    )
    expect_identical(
      of(g, 1, matrix(c(4, 0, 0), dimnames = list(c("p", "a", "b"), NULL))),
      rep(list(c("p", "a", "b")), 2)
    )
  }
  dimnames(named)[1] <- list(NULL)
  expect_identical(of(named, 1, c(u = 4, v = 0, w = 0)), list(NULL, c("u", "a", "b")))
  expect_identical(of(matrix(0, 0, 0), 1, c(k = 4)), list("k", "k"))
  expect_identical(chol_insert(matrix(0, 0, 0), 1, 4), matrix(2))
  expect_identical(chol_insert(r, 2, matrix(0, 2, 0)), r)
})

test_that("a new case that leaves nothing positive is an error with the order of the minor", {
  set.seed(85)
  a <- unname(case_matrix(20))
  r <- chol(a)
  for_each_setting(function(device, precision) {
    fails <- function(order, i, x) {
      plain <- tryCatch(
        chol_insert(r, i, x, device = device, precision = precision), error = identity
      )
      there <- tryCatch(chol_insert(as_gpu(r, device, precision), i, x), error = identity)
      for (e in list(plain, there)) {
        expect_s3_class(e, "cudafactor_error_not_positive_definite")
        expect_identical(e$order, order)
      }
    }
    fails(21L, 21, c(a[, 3], a[3, 3] / 2))
    fails(1L, 1, c(-1, numeric(20)))
    fails(7L, 7, append(a[, 3], a[3, 3] / 2, 6))
    # More of case 12 than there is, which follows the new one.
    x <- numeric(21)
    x[7] <- 1
    x[13] <- 2 * sqrt(a[12, 12])
    fails(13L, 7, x)
    # The second of two is the first again, and less.
    pair <- rbind(matrix(0, 4, 2), c(4, 4), c(4, 3), matrix(0, 16, 2))
    fails(6L, 5, pair)
  })
  # Nearly a case that follows: what that one adds is almost nothing.
  near <- a[, 12]
  x <- append(near, a[12, 12] + 1e-10, 4)
  w <- tryCatch(chol_insert(r, 5, x), warning = identity)
  expect_s3_class(w, "cudafactor_warning_ill_conditioned")
  expect_true(w$margin > 0 && w$margin < 1e-8)
  expect_match(
    conditionMessage(w),
    "^the rows up to the new ones nearly determine a later row \\(margin .*\\): about "
  )
})

test_that("errors are classed", {
  r <- chol(diag(3))
  fails <- function(expr, kind, argument = NULL) {
    e <- tryCatch(expr, error = identity)
    expect_s3_class(e, paste0("cudafactor_error_", kind))
    if (!is.null(argument)) expect_identical(e$argument, argument)
  }
  for (f in list(identity, function(x) as_gpu(x, "cpu"))) {
    g <- f(r)
    for (i in list(0, 5, 1.5, NA, "1", 1:2, NULL)) fails(chol_insert(g, i, 1:4), "argument", "i")
    fails(chol_insert(g, 1, 1:3), "dimension")
    fails(chol_insert(g, 1, diag(4)), "dimension")
    fails(chol_insert(g, 1, c(NA, 1:3)), "non_finite", "x")
    fails(chol_insert(f(replace(r, 4, Inf)), 1, 1:4), "non_finite", "r")
    fails(chol_drop(f(replace(r, 4, NaN)), 1), "non_finite", "r")
    fails(chol_insert(f(replace(r, 5, 0)), 1, 1:4), "singular")
    fails(chol_drop(f(replace(r, 5, 0)), 1), "singular")
    fails(chol_drop(f(r[, 1:2]), 1), "dimension")
    fails(chol_insert(f(r[, 1:2]), 1, 1:4), "dimension")
    fails(chol_insert(g, 1, sum), "type")
    fails(chol_drop(g, 1, lower = NA), "argument", "lower")
  }
  fails(chol_drop(), "argument", "r")
  fails(chol_drop(r), "argument", "i")
  fails(chol_insert(r, 1), "argument", "x")
  fails(chol_drop(qr(r), 1), "type")
  fails(chol_drop(r, 1, device = "abacus"), "argument")
  fails(chol_insert(r * 1i, 1, 1:4), "type")
  freed <- as_gpu(r, "cpu")
  gpu_free(freed)
  fails(chol_drop(freed, 1), "stale")
  fails(chol_insert(freed, 1, 1:4), "stale")
})
