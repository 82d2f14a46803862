# Images and seeds that random_walker() refuses.

test_that("wrong input is refused by class", {
  image <- halves()
  seeds <- two_seeds()
  refused <- function(code, kind, argument = NULL, words = NULL) {
    e <- expect_error(code, words, class = paste0("cudafactor_error_", kind))
    if (!is.null(argument)) expect_identical(e$argument, argument)
    expect_identical(as.character(conditionCall(e)[[1L]]), "random_walker")
  }
  refused(random_walker(image), "argument", "seeds", "missing")
  refused(random_walker(seeds = seeds), "argument", "image", "missing")
  for (bad in c(NA, NaN, Inf)) {
    refused(random_walker(replace(image, 5, bad), seeds), "non_finite", "image", "'image'")
  }
  refused(random_walker(image, seeds * NA), "argument", "seeds", "label above 0")
  refused(random_walker(image, replace(seeds + 0, 5, NaN)), "non_finite", "seeds")
  refused(random_walker(image, seeds + 0.5), "argument", "seeds", "whole numbers")
  refused(random_walker(image, seeds - 0.5), "argument", "seeds", "whole numbers")
  # Integers that are not NA, whose number is below them all.
  for (bad in c(1e10, -3e9, 2^31, -2^31)) {
    refused(
      random_walker(image, replace(seeds + 0, 5, bad)), "argument", "seeds",
      "between -2147483647 and 2147483647, not "
    )
  }
  ends <- random_walker(image, replace(replace(seeds + 0, 5, 2^31 - 1), 30, 1 - 2^31))
  expect_identical(ends$label_values, c(1:2, .Machine$integer.max))
  expect_identical(ends$labels[[30]], -1L)
  refused(random_walker(image, seeds * Inf), "non_finite", "seeds")
  refused(
    random_walker(image, seeds * 0L), "argument", "seeds", "^'seeds' must have a label above 0"
  )
  refused(random_walker(image, -seeds), "argument", "seeds", "label above 0")
  refused(
    random_walker(image, t(seeds)), "dimension", words = "'image' is 12 x 16 and 'seeds' 16 x 12"
  )
  refused(random_walker(image, seeds[-1, ]), "dimension")
  refused(random_walker(image, array(seeds, c(12, 16, 1))), "dimension")
  refused(
    random_walker(image, array(seeds, c(12, 16, 1, 1))), "dimension",
    words = "two or three dimensions"
  )
  refused(
    random_walker(array(0, c(12, 16, 0)), seeds), "dimension",
    words = "at least one channel, but is 12 x 16 x 0"
  )
  refused(
    random_walker(array(0, c(12, 16, 0)), seeds, channels = 1), "dimension",
    words = "at least one channel"
  )
  refused(
    random_walker(structure(array(0, c(12, 16, 1, 0)), class = c("cimg", "numeric")), seeds),
    "dimension", words = "at least one channel"
  )
  # Finite, and their squares are not.
  refused(random_walker(image * 1e160, seeds), "argument", "image", "^'image' has values too large")
  refused(random_walker(image * 0 + 1e308, seeds), "argument", "image", "too large")
  refused(random_walker(replace(image * 1e160, 5, NA), seeds), "non_finite", "image")
  refused(random_walker(c(image), seeds), "type", words = "at least two dimensions")
  refused(random_walker(image, c(seeds)), "type", words = "at least two dimensions")
  refused(random_walker(matrix("a", 12, 16), seeds), "type")
  refused(random_walker(image + 1i, seeds), "type")
  refused(random_walker(NULL, seeds), "type")
  refused(random_walker(mean, seeds), "type")
  refused(random_walker(as.data.frame(image), seeds), "type", words = "class \"data.frame\"")
  refused(random_walker(image, factor(seeds)), "type", words = "'seeds' .* class \"factor\"")
  refused(
    random_walker(structure(seeds, class = "nativeRaster"), seeds), "type", words = "native = FALSE"
  )
  refused(random_walker(image, seeds, beta = -1), "argument", "beta")
  refused(random_walker(image, seeds, beta = 1:2), "argument", "beta")
  refused(random_walker(image, seeds, beta = Inf), "argument", "beta", "^'beta' must be finite")
  refused(random_walker(image, seeds, maxit = 1.5), "argument", "maxit", "whole number")
  refused(
    random_walker(image, seeds, method = "cholesky"), "argument", "method",
    "\"auto\", \"direct\", \"cg\""
  )
  refused(random_walker(image, seeds, method = 1), "argument", "method")
  refused(random_walker(image, seeds, prob = NA), "argument", "prob")
  refused(random_walker(image, seeds, spacing = 1), "argument", "spacing", "2 positive numbers")
  refused(random_walker(image, seeds, spacing = c(0, 1)), "argument", "spacing")
  refused(random_walker(image, seeds, spacing = c(NA, 1)), "argument", "spacing")
  refused(random_walker(image, seeds, channels = 2), "argument", "channels")
  refused(random_walker(image, seeds, device = "gpu"), "argument")
  refused(
    random_walker(image, seeds, method = "direct", device = "cuda"), "argument", "device",
    "runs on the CPU"
  )
})
