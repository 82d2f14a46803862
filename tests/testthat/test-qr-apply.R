# Objects of every kind: base R's and ours, in both forms, full rank and not.
qr_objects <- function(device) {
  x <- list(
    tall = named(random_matrix(9, 4)), square = random_matrix(5, 5), wide = random_matrix(4, 7),
    row = random_matrix(1, 3),
    column = random_matrix(6, 1), one = matrix(3), deficient = cbind(
      a = 1:5, b = 2 * (1:5), c = c(1, 0, 2, 0, 1)
    ),
    identity = diag(4), upper = upper.tri(diag(4), TRUE) + 0, zero = matrix(0, 4, 2),
    long = random_matrix(70, 33),
    deep = deficient_matrix(40, 20), flat = deficient_matrix(6, 20), no_column = matrix(0, 3, 0)
  )
  linpack <- lapply(x, base::qr)
  lapack <- lapply(x, base::qr, LAPACK = TRUE)
  ours <- lapply(x[c("tall", "wide", "deficient", "deep")], gpu_qr, device = device)
  pivoted <- lapply(x[c("tall", "wide", "deficient")], gpu_qr, LAPACK = TRUE, device = device)
  no_row <- list(base::qr(matrix(0, 0, 3)), base::qr(matrix(0, 0, 0)))
  c(linpack, lapack, ours, pivoted, no_row, list(fit = lm(dist ~ speed, cars)$qr))
}

test_that("Q and its products are base R's for every kind of object", {
  set.seed(1)
  for_each_device(function(device) {
    objects <- qr_objects(device)
    for (i in seq_along(objects)) {
      f <- objects[[i]]
      m <- nrow(f$qr)
      info <- paste(i, names(objects)[[i]])
      expect_as_base(gpu_qr.Q(f, device = device), qr.Q(f), info = info)
      expect_as_base(gpu_qr.Q(f, TRUE, device = device), qr.Q(f, TRUE), info = info)
      scales <- seq_len(m) - 2.5
      expect_as_base(gpu_qr.Q(f, TRUE, scales, device = device), qr.Q(f, TRUE, scales), info = info)
      scales <- rnorm(min(dim(f$qr)))
      if (length(scales)) {
        expect_as_base(
          gpu_qr.Q(f, Dvec = scales, device = device), qr.Q(f, Dvec = scales), info = info
        )
      }
      for (y in list(
        rnorm(m), random_matrix(m, 3), named(random_matrix(m, 7)), matrix(0, m, 0), seq_len(m)
      )) {
        expect_as_base(gpu_qr.qy(f, y, device = device), qr.qy(f, y), info = info)
        expect_as_base(gpu_qr.qty(f, y, device = device), qr.qty(f, y), info = info)
      }
    }
  })
})

test_that("Q is orthogonal, and its products undo each other, at sizes around those of blocks", {
  set.seed(2)
  for_each_setting(function(device, precision) {
    for (shape in c(edge_shapes, list(c(300L, 129L)))) {
      for (LAPACK in c(FALSE, TRUE)) {
        x <- random_matrix(shape[1], shape[2])
        f <- base::qr(x, LAPACK = LAPACK)
        for (complete in c(FALSE, TRUE)) {
          q <- gpu_qr.Q(f, complete, device = device, precision = precision)
          expect_identical(dim(q), c(shape[1], if (complete) shape[1] else min(shape)))
          expect_small(
            relative(crossprod(q) - diag(ncol(q)), nrow(q) * unit[[precision]]), "orthogonality"
          )
        }
        y <- random_matrix(shape[1], 6)
        there <- gpu_qr.qty(f, y, device = device, precision = precision)
        scale <- shape[1] * unit[[precision]] * norm_one(y)
        expect_small(relative(there - qr.qty(f, y), scale), "qr")
        expect_small(
          relative(gpu_qr.qy(f, there, device = device, precision = precision) - y, scale), "qr"
        )
      }
    }
  })
})

test_that("y keeps what base R keeps of it", {
  x <- cbind(1, c(2, 1, 4, 3, 5), c(1, 0, 2, 0, 1))
  kinds <- list(
    named = c(
      u = 1, v = 2, w = 3, x = 4, z = 5
    ), whole = 1:5, truth = c(TRUE, FALSE, TRUE, TRUE, FALSE),
    series = ts(1:5, start = 2000), classed = structure(
      1:5 + 0.5, class = "reading", unit = "m"
    ), numbers = as.character(1:5),
    matrix = matrix(
      1:10, 5, dimnames = list(letters[1:5], c("p", "q"))
    ), column = array(1:5, 5), thick = array(1:10, c(5, 2, 1)),
    frame = data.frame(p = 1:5, q = 2), factor = factor(1:5), list = as.list(1:5),
    complex = 1:5 + 0i, null = NULL, text = letters[1:5]
  )
  for_each_device(function(device) {
    for (LAPACK in c(FALSE, TRUE)) {
      f <- base::qr(x, LAPACK = LAPACK)
      for (kind in setdiff(names(kinds), if (LAPACK) c("complex", "list", "null"))) {
        y <- kinds[[kind]]
        info <- paste(kind, LAPACK)
        expect_as_base(gpu_qr.qy(f, y, device = device), qr.qy(f, y), info = info)
        expect_as_base(gpu_qr.qty(f, y, device = device), qr.qty(f, y), info = info)
      }
      expect_error(
        gpu_qr.qy(f, sum, device = device), "cannot coerce", class = "cudafactor_error_type"
      )
      expect_error(
        gpu_qr.qty(f, sum, device = device), "cannot coerce", class = "cudafactor_error_type"
      )
      expect_error(gpu_qr.qty(f, NULL, device = device), class = "cudafactor_error")
    }
  })
})

test_that("Dvec and complete are read as base R reads them", {
  f <- base::qr(cbind(1:5, c(1, 0, 2, 0, 1), c(2, 7, 1, 8, 2)))
  for_each_device(function(device) {
    for (scales in list(1:3, c(a = 1, b = 2, c = 3), 1:7, 2, 1:2, numeric(), NULL, "a",
      c(1, NA, 2), c(TRUE, FALSE, TRUE),
                        list(1, 2, 3), matrix(1:9, 3), c(1, Inf, 2), 1i * 1:3)) {
      info <- deparse(scales)
      expect_as_base(
        gpu_qr.Q(f, Dvec = scales, device = device), qr.Q(f, Dvec = scales), info = info
      )
      expect_as_base(
        gpu_qr.Q(f, TRUE, Dvec = scales, device = device), qr.Q(f, TRUE, Dvec = scales), info = info
      )
    }
    g <- base::qr(matrix(c(2, 1, 1, 3), 2), LAPACK = TRUE)
    expect_as_base(gpu_qr.Q(g, Dvec = 5, device = device), qr.Q(g, Dvec = 5))
    expect_identical(gpu_qr.Q(f, "TRUE", device = device), gpu_qr.Q(f, TRUE, device = device))
    expect_identical(gpu_qr.Q(f, 1, device = device), gpu_qr.Q(f, TRUE, device = device))
  })
  for (bad in list(NA, "yes", NULL, c(TRUE, FALSE), sum, list(TRUE))) {
    e <- expect_error(gpu_qr.Q(f, bad), "TRUE or FALSE", class = "cudafactor_error_argument")
    expect_identical(e$argument, "complete")
  }
})

test_that("what base R refuses is refused in its words, and LAPACK's form lets NaN through", {
  x <- cbind(1, c(2, 1, 4, 3, 5), c(1, 0, 2, 0, 1))
  f <- base::qr(x)
  g <- base::qr(x, LAPACK = TRUE)
  for_each_device(function(device) {
    for (y in list(1:4, matrix(1, 6, 2), numeric())) {
      for (object in list(f, g)) {
        e <- expect_as_base(gpu_qr.qy(object, y, device = device), qr.qy(object, y))
        expect_s3_class(e, "cudafactor_error_dimension")
        expect_as_base(gpu_qr.qty(object, y, device = device), qr.qty(object, y))
      }
    }
    for (special in c(NA, NaN, Inf)) {
      e <- expect_as_base(gpu_qr.qy(f, c(special, 1:4), device = device), qr.qy(f, c(special, 1:4)))
      expect_identical(e$argument, "y")
      expect_as_base(
        gpu_qr.qty(f, cbind(1:5, special), device = device), qr.qty(f, cbind(1:5, special))
      )
      expect_true(anyNA(gpu_qr.qy(g, c(special, 1:4), device = device)))
      broken <- f
      broken$qr[2, 1] <- special
      e <- expect_as_base(gpu_qr.qy(broken, 1:5, device = device), qr.qy(broken, 1:5))
      expect_identical(e$argument, "qr")
      expect_as_base(gpu_qr.Q(broken, device = device), qr.Q(broken))
      broken <- f
      broken$qraux[1] <- special
      expect_as_base(gpu_qr.qty(broken, 1:5, device = device), qr.qty(broken, 1:5))
    }
  })
  for (no in list(x, 1, NULL, lm(dist ~ speed, cars), list(qr = x))) {
    expect_as_base(gpu_qr.Q(no), qr.Q(no))
    expect_as_base(gpu_qr.qy(no, 1:5), qr.qy(no, 1:5))
    expect_as_base(gpu_qr.qty(no, 1:5), qr.qty(no, 1:5))
  }
  for (broken in list(list(), replace(
    unclass(f), "rank", list(NULL)
  ), replace(unclass(f), "rank", 9L),
                      replace(unclass(f), "rank", -1L), replace(unclass(f), "qraux", list("a")),
                      replace(unclass(f), "qr", list(1:3)))) {
    class(broken) <- "qr"
    expect_error(gpu_qr.qy(broken, 1:5), "not a QR decomposition", class = "cudafactor_error_type")
  }
  expect_error(gpu_qr.Q(base::qr(x + 0i)), "complex", class = "cudafactor_error_type")
  expect_error(gpu_qr.Q(f, precison = "single"), "unused argument")
  expect_error(gpu_qr.Q(f, device = "tpu"), class = "cudafactor_error_argument")
  e <- expect_error(gpu_qr.qy(f, 1:3), class = "cudafactor_error")
  expect_identical(conditionCall(e)[[1]], quote(gpu_qr.qy))
})

test_that("no operand is changed", {
  x <- random_matrix(20, 5)
  f <- base::qr(x)
  kept <- rapply(f, function(v) v + 0L, how = "replace")
  y <- random_matrix(20, 2)
  copy <- y + 0
  for_each_device(function(device) {
    gpu_qr.Q(f, device = device)
    gpu_qr.qy(f, y, device = device)
    gpu_qr.qty(f, y, device = device)
    expect_identical(f, kept)
    expect_identical(y, copy)
  })
})

test_that("dates and times stay what they are", {
  f <- base::qr(cbind(1, c(2, 1, 4, 3, 5)))
  day <- as.Date("2024-02-03") + c(1, 3, 2, 5, 4)
  for_each_device(function(device) {
    for (y in list(day, as.POSIXct(day))) {
      expect_as_base(gpu_qr.qy(f, y, device = device), qr.qy(f, y))
      expect_as_base(gpu_qr.qty(f, y, device = device), qr.qty(f, y))
    }
  })
})

test_that("a missing argument is named, with the call", {
  f <- base::qr(diag(3))
  for (verb in list(quote(gpu_qr.Q), quote(gpu_qr.qy), quote(gpu_qr.qty))) {
    e <- expect_error(
      eval(as.call(list(verb))), "argument \"qr\" is missing, with no default",
      class = "cudafactor_error_argument"
    )
    expect_identical(list(e$argument, conditionCall(e)), list("qr", as.call(list(verb))))
  }
  for (verb in list(quote(gpu_qr.qy), quote(gpu_qr.qty))) {
    e <- expect_error(
      eval(as.call(list(verb, quote(f)))), "argument \"y\" is missing",
      class = "cudafactor_error_argument"
    )
    expect_identical(list(e$argument, conditionCall(e)), list("y", as.call(list(verb, quote(f)))))
  }
})
