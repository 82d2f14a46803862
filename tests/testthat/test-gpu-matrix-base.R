# What base R's functions make of a gpu_matrix: what they make of the matrix, or an error that
# says what to do.

# Dimnames and the type of the answer as well.
compare_all <- function(calls, here, plain) {
  for (call in calls) {
    ours <- fetched(eval(call, here))
    base <- eval(call, plain)
    expect_equal(ours, base, tolerance = 1e-10, info = deparse(call)[[1L]])
  }
}

operands <- function(device) {
  x <- named(matrix(c(4, 1, 2, -3, 5, 1.5, 2, 1, 6, 1, 7, -2, 2, 2, 9), 5))
  s <- crossprod(unname(x))
  list(
    plain = list(x = x, y = x[, 2:3] + 1, s = s),
    here = list(x = as_gpu(x, device), y = as_gpu(x[, 2:3] + 1, device), s = as_gpu(s, device))
  )
}

test_that("functions that look at, order or take apart a matrix give base R's answer", {
  calls <- expression(
    length(x), nrow(x), NROW(x), is.matrix(x), is.array(x), is.numeric(x), names(x), rev(x),
    summary(x), as.array(x), as.table(x),
    as.integer(x), as.logical(x), as.complex(x), as.vector(x), as.list(x), c(x), c(x, 1, y),
    rep(x, 2), rep(x, length.out = 4), rep_len(as.vector(x), 4),
    sort(x), sort(x, decreasing = TRUE), order(x), rank(x), xtfrm(x), unique(x), duplicated(x),
    anyDuplicated(x), cut(x, 3), diff(x),
    diff(x, lag = 2), rowsum(x, c(1, 2, 1, 2, 2)), format(x), format(x, digits = 3), toString(x),
    which(x > 2), which(x > 2, arr.ind = TRUE),
    ifelse(x > 2, x, 0), ifelse(x, 1, 0), pmin(x, 2), pmax(2, x), cumsum(x), upper.tri(s),
    lower.tri(s), s[upper.tri(s)],
    factor(x), table(x), split(x, 1:5), tabulate(as.integer(x)), is.na(x), anyNA(x), is.finite(x),
    head(x, 2), head(y, c(2, 1)), tail(y, 2), tail(unname(x), 2),
    tail(x, c(1, 1)), unname(x), lapply(x, identity), data.frame(x), as.data.frame(x),
    unlist(lapply(x, sqrt2))
  )
  for_each_device(function(device) {
    o <- operands(device)
    o$here$sqrt2 <- o$plain$sqrt2 <- function(v) abs(v)^0.5
    compare_all(calls, o$here, o$plain)
  })
})

test_that("functions that compute with a matrix give base R's answer", {
  calls <- expression(
    apply(x, 1, sum), apply(x, c(1, 2), abs), sweep(x, 2, colMeans(x)), scale(x), scale(x, FALSE),
    outer(x, 1:2), outer(1:2, x), outer(x, y, "+"), x %o% 1:2,
    kronecker(x, diag(2)), kronecker(diag(2), x), x %x% y, median(x),
    quantile(x), fivenum(x), mad(x), sd(x), mean(x), weighted.mean(x, 1:15), isSymmetric(x),
    isSymmetric(s), aperm(x), aperm(x, 2:1), aperm(x, c(1, 2)),
    Re(x), Im(x), Mod(x), Arg(x), Conj(x), svd(x)$d, eigen(s)$values, kappa(s), kappa(x),
    kappa(s, exact = TRUE), det(s), solve(s, 1:3), round(x, 1), signif(x, 2),
    prcomp(x)$sdev, dist(x), mahalanobis(x, 1:3, diag(3)), max(x), range(x), prod(x), any(x > 1),
    all(x > 1),
    hist(x, plot = FALSE)$counts, boxplot(x, plot = FALSE)$stats, all.equal(x, x),
    all.equal(x, x + 1), all.equal(s, s)
  )
  for_each_device(function(device) {
    o <- operands(device)
    compare_all(calls, o$here, o$plain)
  })
})

test_that("covariances and correlations as the help page has them stay on the device", {
  set.seed(62)
  for_each_setting(function(device, precision) {
    for (x in list(
      random_matrix(40, 5), cbind(a = 3:1, b = c(2, 5, 9)), random_matrix(3, 7),
      matrix(c(1, 5, 2), 3)
    )) {
      g <- as_gpu(x, device, precision)
      z <- t(g) - colMeans(g)
      expect_resident(
        tcrossprod(z) / (nrow(g) - 1), cov(x), g, tolerance = tolerance_for(precision)
      )
      expect_resident(
        tcrossprod(z / sqrt(rowSums(z^2))), cor(x), g, tolerance = tolerance_for(precision)
      )
    }
  })
})

test_that("all.equal() compares values", {
  x <- matrix(1:6 + 0.5, 2)
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    expect_true(all.equal(g, x))
    expect_true(all.equal(g, as_gpu(x, device)))
    expect_true(all.equal(x, as.matrix(g)))
    expect_match(all.equal(x, g), "gpu_matrix", all = FALSE)
    expect_match(all.equal(g + 1, x), "difference")
  })
})

test_that("matrices that come out stay on the device where that is natural", {
  for_each_setting(function(device, precision) {
    g <- as_gpu(named(matrix(1:6, 2)), device, precision)
    for (ours in list(
      t(g), aperm(g), head(g, 1), tail(g, 1), unname(g), abs(g), Re(g), Mod(g), round(g), pmin(g, 2)
    )) {
      expect_true(is_resident(ours))
      expect_identical(c(ours@device, ours@precision), c(g@device, precision))
    }
  })
})

test_that("single entries are replaced", {
  for_each_device(function(device) {
    x <- named(matrix(1:6 + 0, 2))
    g <- as_gpu(x, device)
    set <- function(x) {
      x[[2, 3]] <- 9
      x[[1]] <- 8
      x[["r1", "c2"]] <- 7
      x
    }
    expect_identical(as.matrix(set(g)), set(x))
    expect_identical(as.matrix(g), x)
    expect_error(g[[1, 1]] <- 1:2, "more elements supplied", class = "cudafactor_error_dimension")
    expect_error(g[[1, 1]] <- numeric(), "length zero", class = "cudafactor_error_dimension")
    expect_error(g[[1:2]] <- 1, "more than one element", class = "cudafactor_error_dimension")
    expect_error(g[[1:2, 1]] <- 1, "more than one element", class = "cudafactor_error_dimension")
    expect_error(g[[3, 1]] <- 1, "out of bounds", class = "cudafactor_error_dimension")
  })
})

test_that("rows with NA are left out", {
  x <- matrix(c(1, NA, 3, 4, 5, 6), 3)
  expect_identical(na.omit(as_gpu(x)), na.omit(x))
})

test_that("pictures are drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  g <- as_gpu(matrix(c(1:5, 7, 2, 1, 9), 3))
  for (draw in list(image, persp, contour, boxplot, hist, plot, barplot)) expect_error(draw(g), NA)
})

test_that("what cannot be done says what to do", {
  g <- as_gpu(diag(2))
  expect_error(dim(g) <- c(1, 4), "as.matrix", class = "cudafactor_error_dimension")
  expect_error(names(g) <- 1:4, "as.matrix", class = "cudafactor_error_dimension")
  expect_error(
    utils::capture.output(utils::write.csv(g)), "as.matrix", class = "cudafactor_error_type"
  )
  expect_error(prop.table(g, 1), "as.matrix", class = "cudafactor_error_type")
  for (sums in expression(marginSums(g, 1), margin.table(g, 2), marginSums(g, 1:2))) {
    e <- expect_error(eval(sums), "as.matrix", class = "cudafactor_error_type")
    expect_identical(conditionCall(e), sums)
  }
  expect_identical(marginSums(g), 2)
  expect_error(aperm(g, c(1, 1)), class = "cudafactor_error")
  expect_error(cut(g, NA), class = "cudafactor_error")
  expect_error(unique(g, MARGIN = 3), class = "cudafactor_error")
  for (f in list(which.max, which.min)) expect_error(f(g))
  for (f in list(unique, sort, isSymmetric, as.integer, format)) {
    lost <- g
    lost@pointer <- methods::new("externalptr")
    expect_error(f(lost), class = "cudafactor_error_stale")
  }
})

test_that("functions of package stats that need a plain matrix name what to call", {
  x <- cbind(a = c(1, 2, 4, 3), b = c(2, 1, 5, 7))
  for_each_device(function(device) {
    g <- as_gpu(x, device)
    for (f in list(cor, cov)) {
      expect_error(f(g), "tcrossprod", class = "cudafactor_error_type")
      expect_error(f(x, g), "tcrossprod", class = "cudafactor_error_type")
    }
    expect_error(lm.fit(g, 1:4), "gpu_lm_fit(x, y)", fixed = TRUE, class = "cudafactor_error_type")
    expect_error(lm.fit(x, g), "gpu_lm_fit(x, y)", fixed = TRUE, class = "cudafactor_error_type")
    expect_error(lm.wfit(g, 1:4, 1:4), "sqrt(w) * x", fixed = TRUE, class = "cudafactor_error_type")
  })
  expect_error(cov(chol_gpus(crossprod(x))), "not a gpu_factor", class = "cudafactor_error_type")
  expect_identical(cor(x), stats::cor(x))
  expect_identical(
    cov(x[, 1], x[, 2], method = "kendall"), stats::cov(x[, 1], x[, 2], method = "kendall")
  )
  expect_identical(lm.fit(x, 1:4), stats::lm.fit(x, 1:4))
  expect_identical(lm.wfit(x, 1:4, 4:1), stats::lm.wfit(x, 1:4, 4:1))
  expect_identical(conditionCall(tryCatch(cor("a"), error = identity)), quote(cor("a")))
})

test_that("the condition number is base R's", {
  set.seed(61)
  matrices <- list(
    one = matrix(-3), good = random_matrix(9, 9), bad = conditioned_matrix(8, 1e12),
    singular = matrix(1, 3, 3), zero = matrix(0, 2, 2),
    tall = random_matrix(7, 4), wide = random_matrix(3, 6),
    upper = random_matrix(5, 5) * upper.tri(diag(5), TRUE)
  )
  for_each_device(function(device) {
    for (name in names(matrices)) {
      x <- matrices[[name]]
      g <- as_gpu(x, device)
      # An estimate, whose relative error may be rounding divided by what is estimated.
      near <- function(ours, base) expect_lte(abs(ours - base), 0.01 * base)
      for (norm in c("O", "I", "1")) near(rcond(g, norm), base::rcond(x, norm))
      near(rcond(g), base::rcond(x))
    }
    x <- matrices$upper
    expect_equal(rcond(as_gpu(x, device), triangular = TRUE), base::rcond(x, triangular = TRUE))
    single <- rcond(as_gpu(matrices$good, device, "single"))
    expect_equal(single, base::rcond(matrices$good), tolerance = 1e-3)
    e <- expect_error(rcond(as_gpu(x, device), "F"), class = "cudafactor_error_argument")
    expect_identical(conditionMessage(e), outcome(base::rcond(x, "F"))$error)
    expect_as_base(
      rcond(as_gpu(matrix(c(1, NA, 2, 3), 2), device)), base::rcond(matrix(c(1, NA, 2, 3), 2))
    )
    expect_as_base(rcond(as_gpu(matrix(0, 0, 0), device)), base::rcond(matrix(0, 0, 0)))
    # R before 4.4 recurses without end.
    expect_identical(rcond(as_gpu(matrix(0, 0, 3), device)), Inf)
    expect_identical(rcond(as_gpu(matrix(0, 3, 0), device), "I"), Inf)
    for (norm in list(NULL, 1, c("I", "O"), character())) {
      expect_as_base(rcond(as_gpu(x, device), norm), base::rcond(x, norm))
    }
  })
  expect_identical(rcond(matrices$good), base::rcond(matrices$good))
})

test_that("the generics leave other operands to base R", {
  x <- named(matrix(c(3, 1, 2, 5, 4, 7), 2))
  expect_identical(rcond(x), base::rcond(x))
  expect_identical(
    outcome(qr.solve(diag(2), 1:3))$error, outcome(base::qr.solve(diag(2), 1:3))$error
  )
  expect_identical(qr.solve(x[, 1:2], 1:2), base::qr.solve(x[, 1:2], 1:2))
  expect_identical(qr.X(qr(x)), base::qr.X(qr(x)))
  expect_identical(qr.X(qr(t(x)), complete = TRUE), base::qr.X(qr(t(x)), complete = TRUE))
  expect_identical(qr.X(qr(t(x)), ncol = 1), base::qr.X(qr(t(x)), ncol = 1))
  table <- as.data.frame(x)
  expect_identical(list(rowSums(table), colMeans(table), norm(x, "F"), diag(2, names = FALSE)),
    list(
      base::rowSums(table), base::colMeans(table), base::norm(x, "F"), base::diag(2, names = FALSE)
    ))
})

test_that("an error of an operand keeps its class", {
  for_each_device(function(device) {
    g <- as_gpu(matrix(1, 3, 3), device)
    for (call in expression(
      backsolve(chol(g), 1:3), crossprod(g, chol(g)), chol2inv(chol(g)), solve(g, chol(g)),
      norm(chol(g)), diag(chol(g))
    )) {
      expect_error(eval(call), class = "cudafactor_error_not_positive_definite")
    }
  })
})

test_that("subset() has rows and columns as base R's", {
  x <- matrix(c(1, 5, NA, 2, 4, 6), 3, dimnames = list(NULL, c("a", "b")))
  g <- as_gpu(x, device = "cpu")
  expect_same <- function(got, want) expect_identical(as.matrix(got), want)
  expect_same(subset(g, x[, 1] > 1), subset(x, x[, 1] > 1))
  expect_same(subset(g, c(TRUE, FALSE, TRUE)), subset(x, c(TRUE, FALSE, TRUE)))
  expect_same(subset(g, TRUE), x)
  expect_same(subset(g, select = "b"), subset(x, select = "b"))
  expect_same(subset(g, select = b:a), subset(x, select = b:a))
  expect_same(subset(g, x[, 2] < 5, a), subset(x, x[, 2] < 5, a))
  expect_identical(as.vector(subset(g, select = a, drop = TRUE)), x[, "a"])
  expect_error(subset(g, 1:2), "must be logical", class = "cudafactor_error_argument")
})
