# Semantics of random_walker(): seeds, spacing, probabilities, and what is refused.

test_that("labels and probabilities are those of the model", {
  r <- expect_walk(halves(), two_seeds())
  expect_s3_class(r, "random_walker")
  expect_identical(dim(r$labels), c(12L, 16L))
  expect_type(r$labels, "integer")
  expect_true(all(r$labels[, 1:8] == 1L) && all(r$labels[, 9:16] == 2L))
  expect_identical(dim(r$probabilities), c(12L, 16L, 2L))
  expect_identical(dimnames(r$probabilities), list(NULL, NULL, c("1", "2")))
  expect_lt(max(abs(apply(r$probabilities, 1:2, sum) - 1)), 1e-12)
  expect_identical(r$unknowns, 190)
  expect_gt(r$factor_entries, 190)
  expect_identical(r$unreached, 0)
  expect_identical(
    r[c("method", "auto", "device")], list(method = "direct", auto = TRUE, device = "cpu")
  )
  plain <- random_walker(halves(), two_seeds(), method = "direct")
  expect_false(plain$auto)
  expect_null(plain$probabilities)
  expect_identical(plain$labels, r$labels)
})

test_that("seeds may be of any type and labels of any number", {
  image <- halves()
  first <- random_walker(image, two_seeds(), prob = TRUE)
  named <- two_seeds() + 0
  dimnames(named) <- list(letters[1:12], NULL)
  second <- random_walker(image, named, prob = TRUE)
  expect_identical(dimnames(second$labels), dimnames(named))
  expect_identical(c(second$labels), c(first$labels))
  renamed <- random_walker(image, two_seeds(values = c(4000, 7)), prob = TRUE)
  expect_identical(renamed$label_values, c(7L, 4000L))
  expect_identical(dimnames(renamed$probabilities)[[3L]], c("7", "4000"))
  expect_identical(renamed$labels == 4000L, first$labels == 1L)
  expect_equal(
    unname(renamed$probabilities[, , "4000"]), unname(first$probabilities[, , "1"]),
    tolerance = 1e-12
  )
  many <- matrix(0L, 12, 16)
  many[seq(1, 192, by = 9)] <- 1:22
  expect_walk(image, many)
})

test_that("pixels are left out, and islands have no label", {
  image <- halves()
  seeds <- two_seeds()
  seeds[5:6, 4:12] <- -1L
  r <- expect_walk(image, seeds)
  expect_true(all(r$labels[5:6, 4:12] == -1L))
  other <- random_walker(image, ifelse(seeds < 0L, -9L, seeds))
  expect_identical(other$labels, r$labels)
  # The last column is cut off, and has no seed.
  seeds[, 15] <- -1L
  r <- random_walker(image, seeds, prob = TRUE)
  expect_identical(r$unreached, 12)
  expect_true(all(r$labels[, 15:16] == -1L))
  expect_true(all(r$probabilities[, 15:16, ] == 0))
  expect_equal(c(apply(r$probabilities[, 1:3, ], 1:2, sum)), rep(1, 36), tolerance = 1e-12)
  # What is left is as if it were all.
  kept <- random_walker(image, replace(seeds, seeds == 0L & col(seeds) == 16, -1L))
  expect_identical(kept$labels, r$labels)
  # A seed there, which touches nothing unknown once its neighbours are seeds or out.
  seeds[, 16] <- -1L
  seeds[4, 16] <- 5L
  r <- random_walker(image, seeds, prob = TRUE)
  expect_identical(r$labels[4, 16], 5L)
  expect_identical(r$label_values, c(1L, 2L, 5L))
  expect_true(all(r$probabilities[, 1:14, "5"] == 0))
})

test_that("nothing to seek, one label, and the smallest images", {
  image <- halves()
  all <- matrix(rep(c(3L, -1L, 5L), 64), 12)
  r <- random_walker(image, all, prob = TRUE)
  expect_identical(r$labels, all)
  expect_identical(r[c("unknowns", "factor_entries")], list(unknowns = 0, factor_entries = 0))
  one <- random_walker(image, two_seeds(values = c(6, 6)), prob = TRUE)
  expect_true(all(one$labels == 6L))
  expect_true(all(one$probabilities == 1))
  expect_identical(random_walker(matrix(0), matrix(2))$labels, matrix(2L))
  expect_identical(
    random_walker(matrix(0, 1, 5), matrix(c(1, 0, 0, 0, 2), 1))$labels,
    matrix(c(1L, 1L, 1L, 2L, 2L), 1)
  )
  # A constant image has no edges: the nearer seed, and the lower label half way.
  expect_identical(
    random_walker(matrix(7, 5, 1), matrix(c(2, 0, 0, 0, 1), 5))$labels,
    matrix(c(2L, 2L, 1L, 1L, 1L), 5)
  )
})

test_that("volumes, channels and spacing", {
  set.seed(5)
  volume <- array(runif(4 * 5 * 6), 4:6)
  seeds <- array(0L, 4:6)
  seeds[c(1, 50, 119)] <- c(2L, 1L, 2L)
  r <- expect_walk(volume, seeds)
  expect_identical(dim(r$labels), 4:6)
  expect_identical(dim(r$probabilities), c(4:6, 2L))
  apart <- expect_walk(volume, seeds, spacing = c(1, 2, 0.5))
  expect_gt(max(abs(apart$probabilities - r$probabilities)), 1e-3)
  expect_identical(apart$spacing, c(1, 2, 0.5))
  flat <- matrix(0L, 4, 5)
  flat[c(1, 18)] <- 1:2
  # The same array is an image of six channels if seeds have two dimensions.
  r <- expect_walk(volume, flat)
  expect_identical(r$channels, 1:6)
  # With less contrast: a dense solve loses digits to weights near 1e-10.
  expect_walk(volume[, , 1:3], flat, spacing = c(2, 0.5), beta = 20)
  few <- random_walker(volume, flat, prob = TRUE, channels = c(6, 2))
  expect_identical(
    few$probabilities,
    random_walker(volume[, , c(6, 2)], flat, prob = TRUE, channels = 1:2)$probabilities
  )
  colours <- array(runif(4 * 5 * 6 * 3), c(4:6, 3L))
  expect_identical(expect_walk(colours, seeds)$channels, 1:3)
})

test_that("beta and the image's scale", {
  expect_walk(halves(), two_seeds(), beta = 0)
  expect_walk(halves(), two_seeds(), beta = 3000)
  image <- round(255 * halves())
  storage.mode(image) <- "integer"
  a <- random_walker(image, two_seeds(), prob = TRUE)
  b <- random_walker(image / 255, two_seeds(), prob = TRUE, beta = 130 * 255)
  expect_equal(a$probabilities, b$probabilities, tolerance = 1e-9)
  expect_identical(
    random_walker(image > 127, two_seeds())$labels,
    random_walker((image > 127) + 0, two_seeds())$labels
  )
})

test_that("print and plot show it", {
  seeds <- two_seeds()
  seeds[, 12] <- -1L
  seeds[7, 14] <- 0L
  seeds[9, 9] <- 8L
  r <- random_walker(halves(), seeds)
  expect_output(
    print(r),
    paste0(
      "12 x 16 pixels by random walks, beta = 130.*direct.*by \"auto\".*",
      "12 pixels left out.*48 pixels that no seed reaches"
    )
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(r, main = "two"), r)
  expect_identical(plot(r, alpha = 1, col = c("red", "#00FF00"), legend = FALSE), r)
  set.seed(5)
  volume <- array(rnorm(4 * 5 * 6), 4:6)
  seeds <- replace(array(0L, 4:6), c(1, 120), 1:2)
  v <- random_walker(volume, seeds)
  expect_output(print(v), "4 x 5 x 6 pixels")
  expect_identical(plot(v), v)
  expect_identical(plot(v, slice = 6), v)
  expect_error(plot(v, slice = 7), "from 1 to 6", class = "cudafactor_error_argument")
  expect_error(plot(r, alpha = 2), class = "cudafactor_error_argument")
  expect_error(plot(r, col = 1), "each of the 2 labels", class = "cudafactor_error_argument")
})

test_that("NA in seeds stands for an unknown label", {
  image <- outer(1:9, 1:7, function(i, j) (i > 4) + sin(i * j) / 10)
  seeds <- matrix(0L, 9, 7)
  seeds[c(1, 63)] <- 1:2
  wanted <- random_walker(image, seeds, prob = TRUE)
  unknown <- replace(seeds, seeds == 0L, NA)
  expect_true(anyNA(unknown))
  for (given in list(unknown, unknown + 0, replace(seeds, 5, NA))) {
    r <- random_walker(image, given, prob = TRUE)
    expect_identical(r$labels, wanted$labels)
    expect_identical(r$probabilities, wanted$probabilities)
  }
  # Logical marks of one label.
  one <- random_walker(image, replace(matrix(NA, 9, 7), 5, TRUE))
  expect_identical(unique(c(one$labels)), 1L)
  expect_error(
    random_walker(image, replace(seeds + 0, 5, NaN)), class = "cudafactor_error_non_finite"
  )
})
