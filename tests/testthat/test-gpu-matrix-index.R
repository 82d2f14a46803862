# Parts of a gpu_matrix, compared with base R's: subscripts, assignment, t(), cbind() and rbind().

# A result on the device is compared entry by entry, an ordinary one as a whole.
expect_part <- function(ours, base, info = NULL) {
  if (is.matrix(base)) {
    expect_s4_class(ours, "gpu_matrix")
    ours <- as.matrix(ours)
    # Base R sometimes keeps a list of no names.
    if (identical(dimnames(base), list(NULL, NULL))) dimnames(base) <- NULL
  }
  expect_identical(ours, base, info = info)
}

# `f` of the matrix does on a device what it does in base R, errors and warnings included.
expect_same <- function(f, x, device, precision = "double") {
  base <- outcome(f(x))
  ours <- outcome(f(as_gpu(x, device, precision)))
  info <- paste(deparse(body(f)), collapse = " ")
  expect_identical(ours$error, base$error, info = info)
  expect_identical(ours$warnings, base$warnings, info = info)
  if (is.null(base$error)) {
    expect_part(ours$value, base$value, info)
  } else {
    expect_s3_class(ours$condition, "cudafactor_error")
  }
}

# Whole numbers are the same in both precisions.
numbered <- function(m, n) named(matrix(as.double(seq_len(m * n)), m, n))

test_that("rows and columns are taken as base R takes them", {
  subscripts <- list(
    1, 3:1, c(2, 2, 1), -1, -(1:3), 0, integer(), c(0, 2), c(TRUE, FALSE), c(TRUE, NA, FALSE), NA,
    c(1, NA), TRUE, FALSE,
    "r1", c("r3", "r1"), 2.9, 1:9, c(-1, 1), "none", rep(TRUE, 20),
    factor("b", levels = c("a", "b")), NULL, 1:2 + 0.5
  )
  for_each_setting(function(device, precision) {
    for (x in list(numbered(5, 4), unname(numbered(5, 4)), numbered(1, 4), numbered(5, 1),
        numbered(130, 3))) {
      for (s in subscripts) {
        if (is.character(s) && is.null(rownames(x))) next
        expect_same(function(x) x[s, ], x, device, precision)
        expect_same(function(x) x[s, , drop = FALSE], x, device, precision)
        expect_same(function(x) x[s, 1], x, device, precision)
        expect_same(function(x) x[s, 1, drop = FALSE], x, device, precision)
        expect_same(function(x) x[s, c(1, 1)], x, device, precision)
        if (!is.character(s)) expect_same(function(x) x[1, s], x, device, precision)
        if (!is.character(s)) expect_same(function(x) x[, s], x, device, precision)
      }
      expect_same(function(x) x[, "c1"], x, device, precision)
      expect_same(function(x) x[], x, device, precision)
      expect_same(function(x) x[, ], x, device, precision)
      expect_same(function(x) x[, , drop = FALSE], x, device, precision)
      expect_same(function(x) x[1, 1, 1], x, device, precision)
    }
  })
})

test_that("a single subscript gives a plain vector", {
  for_each_device(function(device) {
    x <- numbered(4, 3)
    for (s in list(1, 5:2, -1, c(TRUE, FALSE), x > 5, cbind(1:2, 3:2), 99, NA, cbind("r1", "c2"),
        integer(), "a")) {
      expect_same(function(x) x[s], x, device)
    }
    g <- as_gpu(x, device)
    expect_identical(g[g > 5], x[x > 5])
    expect_identical(g[[2, 3]], x[[2, 3]])
    expect_identical(g[[5]], x[[5]])
    expect_error(g[[99]], class = "cudafactor_error")
    e <- expect_error(g[9, 1], class = "cudafactor_error_dimension")
    expect_identical(conditionCall(e), quote(g[9, 1]))
  })
})

test_that("parts are replaced as base R replaces them", {
  for_each_setting(function(device, precision) {
    x <- numbered(6, 4)
    assigned <- list(
      function(x) { x[1, 1] <- -1; x }, function(x) { x[2, ] <- 0; x },
      function(x) { x[, 3] <- 1:6; x },
      function(x) { x[, 3] <- 1:3; x }, function(x) { x[1:2, 3:4] <- matrix(9:12, 2); x },
      function(x) { x[c(5, 1), c(4, 2)] <- c(7, 8); x }, function(x) { x[-1, ] <- NA; x },
      function(x) { x["r2", "c3"] <- 5L; x }, function(x) { x[c(TRUE, FALSE), 1] <- TRUE; x },
      function(x) { x[c(1, 1, 2), 1] <- 1:3; x }, function(x) { x[1, c(2, 3, 2)] <- 1:3; x },
      function(x) { x[c(2, 1, 2), c(1, 3, 1)] <- 1:9; x },
      function(x) { x[, ] <- 3; x }, function(x) { x[] <- 4; x }, function(x) { x[] <- 1:24; x },
      function(x) { x[0, ] <- 1; x }, function(x) { x[integer(), 1] <- numeric(); x },
      function(x) { x[c(1, NA), 1] <- 6; x }, function(x) { x[c(1, NA), 1] <- c(6, 7); x },
      function(x) { x[1:3, 1] <- 1:2; x }, function(x) { x[1, 1] <- 1:2; x },
      function(x) { x[1, 1] <- numeric(); x },
      function(x) { x[9, 1] <- 1; x }, function(x) { x["none", 1] <- 1; x },
      function(x) { x[1, 1, 1] <- 1; x },
      function(x) { x[3] <- -3; x }, function(x) { x[x > 20] <- 0; x },
      function(x) { x[cbind(1:3, 3:1)] <- 0; x },
      function(x) { x[] <- 1:5; x }, function(x) { x[2:3] <- numeric(); x }
    )
    for (f in assigned) {
      expect_same(f, x, device, precision)
      expect_same(f, unname(x), device, precision)
    }
    g <- h <- as_gpu(x, device, precision)
    g[1:2, ] <- as_gpu(matrix(0, 2, 4), device, precision)
    g[, 1] <- as_gpu(matrix(1:6, 2, 3), device, precision)
    x[1:2, ] <- 0
    x[, 1] <- 1:6
    expect_part(g, x)
    expect_part(h, numbered(6, 4))
    expect_error(g[1, 1] <- "a", class = "cudafactor_error_type")
    expect_error(g[1, 1] <- 1i, class = "cudafactor_error_type")
    expect_error(g[99] <- 1, class = "cudafactor_error_dimension")
    expect_error(dim(g) <- c(4, 6), class = "cudafactor_error_dimension")
  })
})

test_that("transposes are exact, names and all", {
  for_each_setting(function(device, precision) {
    for (shape in list(c(0, 0), c(0, 3), c(1, 1), c(1, 7), c(33, 31), c(64, 64), c(129, 200))) {
      x <- matrix(as.double(seq_len(prod(shape))), shape[[1]])
      expect_same(t, x, device, precision)
      expect_same(t, named(x), device, precision)
    }
  })
})

test_that("diagonals are taken and set as base R does", {
  for_each_setting(function(device, precision) {
    for (x in list(numbered(4, 4), numbered(3, 5), numbered(5, 3), matrix(0, 0, 3), matrix(2, 1, 1),
        unname(numbered(70, 65)))) {
      expect_same(function(x) diag(x), x, device, precision)
      expect_same(function(x) { diag(x) <- 0; x }, x, device, precision)
      expect_same(function(x) { diag(x) <- seq_len(min(dim(x))); x }, x, device, precision)
      expect_same(function(x) { diag(x) <- 1:2; x }, x, device, precision)
    }
    x <- matrix(1:4 + 0, 2, dimnames = list(c("a", "b"), c("a", "b")))
    expect_same(function(x) diag(x), x, device, precision)
    expect_same(function(x) diag(x, names = FALSE), x, device, precision)
    expect_same(function(x) diag(x, 3), x, device, precision)
  })
})

test_that("matrices and vectors are bound as base R binds them", {
  v <- c(1, 2, 3)
  n <- c(u = 1, v = 2, w = 3)
  y <- matrix(7:9 + 0, 3, dimnames = list(NULL, "y"))
  z <- matrix(1:4 + 0, 2)
  calls <- alist(
    cbind(x), rbind(x), cbind(x, x), rbind(x, x), cbind(x, 1), cbind(1, x), cbind(x, v),
    cbind(x, one = 1), rbind(x, v[1:2]),
    cbind(x, y), cbind(y, x), cbind(n, x), cbind(x, n), cbind(x, 1:2), rbind(x, 1:5), rbind(1:2, x),
    cbind(x, NULL),
    cbind(x, numeric()), cbind(x, z), rbind(x, y), cbind(x, 1:7), rbind(x, first = 9, x),
    cbind(x, v, deparse.level = 0),
    cbind(x, v + 1, deparse.level = 2), cbind(x, TRUE, 2L), cbind(x[, 0, drop = FALSE], v),
    rbind(x[0, ], 1:2),
    rbind(x[0, ], x), cbind(x[0, ], x[0, ]), cbind(x[0, ], 1), rbind(x[0, ], 1, x[1:2, ])
  )
  for_each_setting(function(device, precision) {
    for (plain in list(matrix(1:6 + 0, 3), named(matrix(1:6 + 0, 3)),
        matrix(1:6 + 0, 3, dimnames = list(letters[1:3], NULL)))) {
      for (code in calls) {
        f <- eval(substitute(function(x) code, list(code = code)))
        expect_same(f, plain, device, precision)
      }
    }
    g <- as_gpu(z, device, precision)
    expect_part(cbind(g, rbind(g, g)[3:4, ], 5), cbind(z, z, 5))
    expect_error(cbind(g, "a"), class = "cudafactor_error_type")
    other <- if (precision == "single") "double" else "single"
    expect_error(cbind(g, as_gpu(z, device, other)), class = "cudafactor_error_argument")
  })
})

test_that("random parts are taken and replaced as base R does, errors included", {
  set.seed(33)
  for_each_device(function(device) expect_identical(compare_parts(400L, device), character()))
})

test_that("[[ and [[<- refuse subscripts that name no one entry", {
  x <- matrix(1:6 + 0, 2)
  for_each_device(function(device) {
    for (code in expression(
      x[[-1]] <- 5, x[[0]] <- 5, x[[1:2]] <- 5, x[[NA]] <- 5, x[[1, 0]] <- 5, x[[-1]], x[[0]]
    )) {
      expect_same(eval(bquote(function(x) { .(code); x })), x, device)
    }
    g <- as_gpu(x, device)
    expect_error(g[[-1]] <- 5, class = "cudafactor_error_dimension")
    expect_error(g[[0]] <- 5, class = "cudafactor_error_dimension")
    expect_error(g[[-1L, 1L]], class = "cudafactor_error_dimension")
    expect_error(g[[1L, -1L]] <- 5, class = "cudafactor_error_dimension")
    expect_identical(as.matrix(g), x)
  })
})
