# Covariances of points: the formulas as base R writes them, in memory, on a device, in parts and
# in files.

new_file <- function() tempfile(fileext = ".tiles")

correlations <- list(
  exponential = function(h) exp(-h),
  matern32 = function(h) (1 + sqrt(3) * h) * exp(-sqrt(3) * h),
  matern52 = function(h) (1 + sqrt(5) * h + 5 * h^2 / 3) * exp(-sqrt(5) * h),
  squared_exponential = function(h) exp(-h^2 / 2)
)

# Sums of squared differences, dimension by dimension.
distances <- function(x, y, range) {
  squares <- lapply(
    seq_len(ncol(x)), function(k) (outer(x[, k], y[, k], "-") / rep_len(range, ncol(x))[[k]])^2
  )
  sqrt(Reduce(`+`, squares, matrix(0, nrow(x), nrow(y))))
}

test_that("covariances are those of the formulas", {
  set.seed(1)
  for_each_setting(function(device, precision) {
    tolerance <- c(double = 1e-13, single = 2e-7)[[precision]]
    for (n in c(0L, 1L, 2L, 33L, 130L)) {
      for (d in c(1L, 2L, 3L, 7L)) {
        x <- matrix(runif(n * d), n, d)
        y <- matrix(runif((n + 3L) * d), n + 3L, d)
        for (range in list(0.4, seq(0.2, 1, length.out = d))) {
          h <- distances(x, x, range)
          g <- distances(x, y, range)
          for (kernel in names(correlations)) {
            f <- correlations[[kernel]]
            k <- gpu_covariance(x, NULL, kernel, range, 1.5, 0.25, device, precision)
            expect_identical(dim(k), c(n, n))
            expect_equal(k, 1.5 * f(h) + diag(0.25, n), tolerance = tolerance)
            expect_identical(k, t(k))
            k <- gpu_covariance(x, y, kernel, range, 1.5, 0.25, device, precision)
            expect_equal(k, 1.5 * f(g), tolerance = tolerance)
          }
        }
      }
    }
  })
})

test_that("one function has two names, and a vector is points on a line", {
  x <- c(a = 0, b = 1, c = 3)
  k <- gpu_covariance(x)
  expect_equal(k, exp(-as.matrix(dist(x))))
  expect_identical(gpu_covariance(x, kernel = "matern12"), k)
  expect_identical(lazy_covariance(x, "matern12"), lazy_covariance(x))
  expect_identical(gpu_covariance(1:3), unname(gpu_covariance(c(1, 2, 3))))
  expect_identical(
    gpu_covariance(data.frame(p = 1:3, q = 4:6)), gpu_covariance(cbind(1:3, 4:6)),
    ignore_attr = TRUE
  )
})

test_that("row names become dimnames as in a product", {
  x <- matrix(runif(6), 3, dimnames = list(point = letters[1:3], NULL))
  y <- matrix(runif(4), 2)
  expect_identical(dimnames(gpu_covariance(x)), dimnames(gpu_tcrossprod(x)))
  expect_identical(dimnames(gpu_covariance(x, y)), dimnames(gpu_tcrossprod(x, y)))
  expect_identical(dimnames(gpu_covariance(y, x)), dimnames(gpu_tcrossprod(y, x)))
  expect_null(dimnames(gpu_covariance(y)))
  expect_identical(dimnames(lazy_covariance(x)), dimnames(gpu_covariance(x)))
  expect_identical(dimnames(as.matrix(lazy_covariance(x))), dimnames(gpu_covariance(x)))
})

test_that("the nugget is for a point and itself", {
  # Two points in one place.
  x <- rbind(c(0, 0), c(1, 2), c(1, 2))
  for_each_setting(function(device, precision) {
    for (kernel in names(correlations)) {
      k <- gpu_covariance(x, NULL, kernel, 1, 2, 0.5, device, precision)
      expect_identical(diag(k), rep(2.5, 3))
      expect_identical(k[2, 3], 2)
      k <- gpu_covariance(x, x, kernel, 1, 2, 0.5, device, precision)
      expect_identical(diag(k), rep(2, 3))
    }
  })
})

test_that("ends of the range are numbers", {
  for_each_setting(function(device, precision) {
    for (kernel in names(correlations)) {
      at <- function(x, range) gpu_covariance(x, NULL, kernel, range, 1, 0, device, precision)
      expect_identical(at(c(0, 1), 1e-300), diag(2))
      expect_identical(at(c(0, 1e-5), 5e-324), diag(2))
      expect_identical(at(c(-1e308, 1e308), 1), diag(2))
      expect_identical(at(c(0, 1), 1e300), matrix(1, 2, 2))
      # Points far from the origin are as far apart as their coordinates say.
      expect_equal(
        at(1e9 + c(0, 2^-10), 1e-3)[1, 2], correlations[[kernel]](2^-10 / 1e-3),
        tolerance = if (precision == "single") 1e-7 else 1e-14
      )
    }
  })
})

test_that("covariances of a gpu_matrix stay on its device", {
  set.seed(2)
  x <- named(random_matrix(9, 2))
  y <- named(random_matrix(5, 2))
  for_each_setting(function(device, precision) {
    there <- as_gpu(x, device, precision)
    beside <- as_gpu(y, device, precision)
    of <- function(x, y = NULL) gpu_covariance(x, y, "matern52", c(1, 2), 3, 0.5, "cpu", precision)
    rounded <- if (precision == "single") as_single else identity
    tolerance <- tolerance_for(precision)
    expect_resident(
      gpu_covariance(there, NULL, "matern52", c(1, 2), 3, 0.5), of(rounded(x)), there, tolerance
    )
    expect_resident(
      gpu_covariance(there, beside, "matern52", c(1, 2), 3, 0.5), of(rounded(x), rounded(y)), there,
      tolerance
    )
    expect_resident(
      gpu_covariance(there, y, "matern52", c(1, 2), 3, 0.5), of(rounded(x), y), there, tolerance
    )
    expect_resident(
      gpu_covariance(x, beside, "matern52", c(1, 2), 3, 0.5), of(x, rounded(y)), there, tolerance
    )
  })
  expect_error(
    gpu_covariance(as_gpu(x, "cpu"), as_gpu(y, "cpu", "single")), "precision",
    class = "cudafactor_error_argument"
  )
  expect_identical(lazy_covariance(as_gpu(x, "cpu")), lazy_covariance(x))
  stale <- unserialize(serialize(as_gpu(x, "cpu"), NULL))
  expect_error(lazy_covariance(stale), class = "cudafactor_error_stale")
  expect_error(gpu_covariance(x, stale), class = "cudafactor_error_stale")
})

test_that("parts of a covariance are those of the matrix, bit for bit", {
  set.seed(3)
  for (x in list(random_matrix(11, 2), named(random_matrix(11, 2)))) {
    k <- lazy_covariance(x, "matern32", 0.7, 2, 0.5)
    whole <- as.matrix(k)
    expect_part <- function(ours, base) {
      # Base R may leave a list of dimnames without any.
      if (length(base) == 0L && all(lengths(dimnames(base)) == 0L)) dimnames(base) <- NULL
      expect_identical(ours, base)
    }
    expect_identical(whole, gpu_covariance(x, NULL, "matern32", 0.7, 2, 0.5))
    expect_identical(dim(k), c(11L, 11L))
    expect_identical(k[, ], whole)
    expect_identical(k[], k)
    expect_identical(head(k, 2), head(whole, 2))
    places <- list(integer(), 3, c(5, 2, 5), -1, c(TRUE, FALSE, NA), 11:1, 0, c(2, NA))
    if (!is.null(rownames(x))) places <- c(places, list(c("r3", "r1")))
    for (i in places) {
      expect_part(k[i, ], whole[i, ])
      expect_part(k[, i], whole[, i])
      for (j in places) {
        expect_part(k[i, j], whole[i, j])
        expect_part(k[i, j, drop = FALSE], whole[i, j, drop = FALSE])
      }
    }
  }
  k <- lazy_covariance(random_matrix(4, 2))
  for (e in list(
    outcome(k[1]), outcome(k[5, 1]), outcome(k[1, 5]), outcome(k["a", 1]), outcome(k[1, 1, 1]),
    outcome(k[c(-1, 1), 1])
  )) {
    expect_s3_class(e$condition, "cudafactor_error_dimension")
  }
  none <- lazy_covariance(matrix(0, 0, 3))
  expect_identical(as.matrix(none), matrix(0, 0, 0))
  expect_identical(none[NULL, ], matrix(0, 0, 0))
  expect_output(
    print(none),
    "covariance: 0 x 0, exponential, range 1, variance 1, nugget 0; points in 3 dimensions",
    fixed = TRUE
  )
  expect_identical(
    format(lazy_covariance(1:3, "matern52", 0.1)),
    "<lazy_covariance: 3 x 3, matern52, range 0.1, variance 1, nugget 0; points in 1 dimension>"
  )
})

tile <- 7L

test_that("a file has the bits of the matrix", {
  set.seed(4)
  for_each_setting(function(device, precision) {
    for (n in c(0L, 1L, tile - 1L, tile, tile + 1L, 5L * tile + 2L)) {
      for (kernel in names(correlations)) {
        k <- lazy_covariance(random_matrix(n, 2), kernel, c(0.4, 0.9), 1.5, 0.1)
        want <- as.matrix(k, device, precision)
        y <- tile_matrix(k, file <- new_file(), precision = precision, tile = tile, device = device)
        expect_identical(
          unclass(y)[c("tile", "triangle", "precision")],
          list(tile = min(tile, max(n, 1L)), triangle = TRUE, precision = precision)
        )
        expect_identical(as.matrix(y), unname(want))
        expect_identical(gpu_last_device(), if (device == "cuda") "cuda:0" else device)
        unlink(file)
        y <- tile_matrix(
          k, file, triangle = FALSE, precision = precision, tile = tile, device = device
        )
        expect_false(y$triangle)
        expect_identical(as.matrix(y), unname(want))
        unlink(file)
      }
    }
  })
})

test_that("the file can be factored", {
  set.seed(5)
  n <- 5L * tile + 2L
  for_each_setting(function(device, precision) {
    k <- lazy_covariance(random_matrix(n, 2), "matern52", 0.5, 2, 0.1)
    y <- tile_matrix(k, file <- new_file(), precision = precision, tile = tile, device = device)
    r <- chol_file(y, device = device)
    expect_small(residual_cholesky(as.matrix(r), as.matrix(k), precision), "cholesky")
    unlink(file)
  })
})

test_that("a file that cannot be completed is removed", {
  skip_on_os("windows")
  file <- new_file()
  # As an interrupt of the user's, some time after the first tiles. A machine that is done before
  # has nothing to interrupt.
  child <- run_child(c(
    "library(cudafactor)",
    sprintf("file <- '%s'", file),
    paste(
      "system2('sh', c('-c', shQuote(sprintf('sleep 0.3; kill -INT %d', Sys.getpid()))), wait =",
      "FALSE)"
    ),
    "x <- matrix(runif(27000), 9000)",
    paste(
      "said <- tryCatch({ tile_matrix(lazy_covariance(x, 'matern52'), file, tile = 64, device =",
      "'cpu'); 'done' }, interrupt = function(i) 'interrupted')"
    ),
    "cat(said, file.exists(file))"
  ))
  expect_true(tail(child$output, 1) %in% c("interrupted FALSE", "done TRUE"), info = child$output)
  unlink(file)
})

test_that("arguments that make no sense are errors", {
  x <- matrix(runif(6), 3)
  for (of in list(function(...) lazy_covariance(...), function(...) gpu_covariance(...))) {
    expect_error(of(), class = "cudafactor_error_argument")
    for (wrong in list("a", sum, NULL, list(1, 2), 1i, factor("a"), data.frame(a = "z"))) {
      expect_error(of(wrong), class = "cudafactor_error_type")
    }
    for (wrong in c(NA, NaN, Inf, -Inf)) {
      e <- outcome(of(c(1, wrong)))
      expect_s3_class(e$condition, "cudafactor_error_non_finite")
      expect_identical(e$condition$argument, "x")
      expect_identical(e$error, "NA/NaN/Inf in 'x'")
    }
    expect_error(of(matrix(0, 3, 0)), class = "cudafactor_error_dimension")
    for (wrong in list(0, -1, c(1, -1), NA, Inf, "a", NULL, 1:3, numeric())) {
      e <- outcome(of(x, range = wrong))
      expect_identical(e$condition$argument, "range")
    }
    for (wrong in list(-1, NA, Inf, "a", NULL, 1:2, numeric())) {
      expect_identical(outcome(of(x, variance = wrong))$condition$argument, "variance")
      expect_identical(outcome(of(x, nugget = wrong))$condition$argument, "nugget")
    }
    for (wrong in list(
      "matern", "gaussian", "", NA_character_, 1, NULL, c("matern32", "matern52")
    )) {
      e <- outcome(of(x, kernel = wrong))
      expect_identical(e$condition$argument, "kernel")
      expect_match(e$error, "squared_exponential")
    }
  }
  expect_error(
    gpu_covariance(x, 1:3), "non-conformable arguments", class = "cudafactor_error_dimension"
  )
  expect_identical(outcome(gpu_covariance(x, c(1, NA)))$condition$argument, "y")
  expect_error(gpu_covariance(x, "a"), class = "cudafactor_error_type")
  expect_error(gpu_covariance(x, device = "tpu"), class = "cudafactor_error_argument")
  expect_error(gpu_covariance(x, precision = "half"), class = "cudafactor_error_argument")
  file <- new_file()
  expect_error(tile_matrix(lazy_covariance(x), file, dim = 3), class = "cudafactor_error_argument")
  expect_error(
    tile_matrix(lazy_covariance(x), file, device = "tpu"),
    class = "cudafactor_error_argument"
  )
  expect_false(file.exists(file))
})

test_that("a device that is not there leaves no file", {
  file <- new_file()
  expect_error(
    tile_matrix(lazy_covariance(1:3), file, device = if (gpu_available()) "cuda:99" else "cuda"),
    class = "cudafactor_error_device_unavailable"
  )
  expect_false(file.exists(file))
})
