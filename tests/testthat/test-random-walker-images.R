# Images as other packages give them, which need not be installed: only their classes matter.

grey <- matrix(c(0.1, 0.1, 0.2, 0.9, 0.8, 0.9), 5, 6)
seeds <- matrix(0L, 5, 6)
seeds[c(1, 30)] <- 1:2

test_that("an alpha channel is left out, whatever it holds", {
  rgb <- array(c(grey, 1 - grey, grey^2), c(5, 6, 3))
  wanted <- random_walker(rgb, seeds, prob = TRUE)$probabilities
  with_alpha <- function(base, alpha, k) array(c(base, rep_len(alpha, 30)), c(5, 6, k))
  for (alpha in list(1, c(1, 1, 0), NA, 255)) {
    r <- expect_silent(random_walker(with_alpha(rgb, alpha, 4), seeds, prob = TRUE))
    expect_identical(r$probabilities, wanted)
    expect_identical(r$channels, 1:3)
    expect_identical(dim(r$image), c(5L, 6L, 3L))
    r <- expect_silent(random_walker(with_alpha(grey, alpha, 2), seeds, prob = TRUE))
    # One channel is like none: the square root of 1 scales nothing.
    expect_identical(r$probabilities, random_walker(grey, seeds, prob = TRUE)$probabilities)
    expect_identical(r$channels, 1L)
  }
  varying <- with_alpha(rgb, c(1, 1, 0), 4)
  all <- random_walker(varying, seeds, prob = TRUE, channels = 1:4)
  expect_identical(all$channels, 1:4)
  expect_gt(max(abs(all$probabilities - wanted)), 1e-3)
  expect_error(
    random_walker(with_alpha(rgb, NA, 4), seeds, channels = 1:4),
    class = "cudafactor_error_non_finite"
  )
  # No pixels: no seed, and no warning.
  expect_warning(
    expect_error(
      random_walker(array(0, c(0, 0, 4)), matrix(0, 0, 0)), "label above 0",
      class = "cudafactor_error_argument"
    ),
    NA
  )
})

test_that("pictures read by png", {
  skip_if_not_installed("png")
  file <- tempfile(fileext = ".png")
  on.exit(unlink(file))
  for (k in 1:4) {
    png::writePNG(array(c(grey, 1 - grey, grey^2, grey)[seq_len(30 * k)], c(5, 6, k)), file)
    read <- png::readPNG(file)
    r <- random_walker(read, seeds)
    expect_identical(length(r$channels), c(0L, 1L, 3L, 3L)[[k]])
  }
  native <- png::readPNG(file, native = TRUE)
  expect_error(random_walker(native, seeds), "native = FALSE", class = "cudafactor_error_type")
})

cimg <- function(x) structure(x, class = c("cimg", "imager_array", "numeric"))

test_that("imager's images have four dimensions, the horizontal one first", {
  wanted <- random_walker(grey, seeds)
  as_cimg <- cimg(array(grey, c(5, 6, 1, 1)))
  r <- random_walker(as_cimg, seeds)
  expect_identical(r$labels, wanted$labels)
  expect_true(r$horizontal_first)
  expect_false(wanted$horizontal_first)
  own <- random_walker(as_cimg, cimg(array(seeds + 0, c(5, 6, 1, 1))))
  expect_identical(dim(own$labels), c(5L, 6L, 1L, 1L))
  expect_null(attr(own$labels, "class"))
  expect_identical(c(own$labels), c(wanted$labels))
  colours <- array(c(grey, 1 - grey, grey^2), c(5, 6, 3))
  r <- random_walker(cimg(array(colours, c(5, 6, 1, 3))), seeds, prob = TRUE)
  expect_identical(r$probabilities, random_walker(colours, seeds, prob = TRUE)$probabilities)
  volume <- array(grey, c(5, 3, 2))
  r <- random_walker(cimg(array(volume, c(5, 3, 2, 1))), cimg(array(seeds, c(5, 3, 2, 1))))
  expect_identical(c(r$labels), c(random_walker(volume, array(seeds, c(5, 3, 2)))$labels))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(own), own)
  expect_identical(plot(r), r)
})

test_that("EBImage's images say whether they have colours", {
  where <- environment()
  methods::setClass(
    "Image", representation(colormode = "integer"), contains = "array", where = where
  )
  on.exit(methods::removeClass("Image", where = where))
  ebimage <- function(x, colormode) methods::new("Image", x, colormode = colormode)
  r <- random_walker(ebimage(array(grey, c(5, 6)), 0L), ebimage(array(seeds, c(5, 6)), 0L))
  expect_identical(r$labels, random_walker(grey, seeds)$labels)
  expect_true(r$horizontal_first)
  colours <- array(c(grey, 1 - grey, grey^2), c(5, 6, 3))
  wanted <- random_walker(colours, seeds, prob = TRUE)
  expect_identical(
    random_walker(ebimage(colours, 2L), seeds, prob = TRUE)$probabilities, wanted$probabilities
  )
  # Colours come before frames there.
  frames <- array(c(colours, colours), c(5, 6, 3, 2))
  both <- array(c(seeds, seeds), c(5, 6, 2))
  r <- random_walker(ebimage(frames, 2L), both, prob = TRUE)
  expect_identical(
    r$probabilities, random_walker(aperm(frames, c(1, 2, 4, 3)), both, prob = TRUE)$probabilities
  )
  expect_error(
    random_walker(ebimage(colours, 2L), array(seeds, c(5, 6, 3))), "with colours",
    class = "cudafactor_error_dimension"
  )
})
