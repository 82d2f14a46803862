# What plot() draws of a segmentation: the legend next to the image, axes along it, and nothing that
# stays changed.

# A segmentation whose labels are these, in parts of an image.
parts_of <- function(labels, rows = 20L, columns = 30L) {
  set.seed(2)
  image <- matrix(runif(rows * columns), rows)
  seeds <- array(0, dim(image))
  seeds[round(seq(1, length(seeds), length.out = length(labels)))] <- labels
  random_walker(image, seeds)
}

two <- parts_of(1:2)
twenty <- parts_of(1:20)

# The pixels of a device of this size after `code`, as darkness by rows and columns, whether they
# are pure red or blue, and where in them the last image lies.
drawn <- function(code, width = 600, height = 450, sizes = c(20, 30)) {
  skip_if_not_installed("png")
  skip_if_not(capabilities("png"))
  file <- tempfile(fileext = ".png")
  on.exit(unlink(file))
  grDevices::png(file, width, height)
  device <- grDevices::dev.cur()
  tryCatch({
    force(code)
    x <- graphics::grconvertX(c(0.5, sizes[[2L]] + 0.5), "user", "device")
    y <- graphics::grconvertY(c(0.5, sizes[[1L]] + 0.5), "user", "device")
  }, finally = grDevices::dev.off(device))
  p <- png::readPNG(file)
  pure <- p[, , 2L] == 0 & p[, , 1L] + p[, , 3L] == 1
  list(dark = p[, , 1L] + p[, , 2L] + p[, , 3L] < 2, pure = pure, x = x, y = y)
}

# Nothing covers the image, and next to it is a legend, which is not cut off.
expect_beside <- function(d, info) {
  rows <- seq(ceiling(d$y[[1L]]) + 2, floor(d$y[[2L]]) - 1)
  columns <- seq(ceiling(d$x[[1L]]) + 2, floor(d$x[[2L]]) - 1)
  expect_true(all(d$pure[rows, columns]), info = info)
  right <- d$dark[, seq(ceiling(d$x[[2L]]) + 3, ncol(d$dark))]
  expect_gt(sum(right), 50, label = info)
  expect_false(any(right[, ncol(right)]), info = info)
  expect_false(any(right[nrow(right), ]), info = info)
}

red_and_blue <- function(r, ...) plot(
  r, alpha = 1, col = rep_len(c("#FF0000", "#0000FF"), length(r$label_values)), ...
)

test_that("the legend is next to the image", {
  long <- parts_of(c(1e9, 2e9))
  expect_beside(drawn(red_and_blue(two)), "two labels")
  expect_beside(drawn(red_and_blue(long, main = "long")), "long labels")
  expect_beside(drawn(red_and_blue(twenty)), "twenty labels")
  expect_beside(drawn(red_and_blue(twenty), 300, 200), "twenty labels in a small picture")
  layout <- function(r) {
    graphics::par(mfrow = c(3, 3))
    for (k in 1:9) red_and_blue(r)
  }
  expect_beside(drawn(layout(two)), "layout")
  expect_beside(drawn(layout(long)), "layout, long labels")
})

test_that("axes go as far as the image", {
  set.seed(1)
  image <- matrix(runif(87 * 61), 87)
  r <- random_walker(image, replace(0 * image, c(1, 5307), 1:2))
  d <- drawn(red_and_blue(r, legend = FALSE), sizes = dim(image))
  # Ticks, which are longer than this.
  below <- which(d$dark[ceiling(d$y[[2L]]) + 4, ])
  left <- which(d$dark[, floor(d$x[[1L]]) - 4])
  expect_gte(length(below), 4)
  expect_gte(length(left), 4)
  expect_true(all(below > d$x[[1L]] & below < d$x[[2L]]))
  expect_true(all(left > d$y[[1L]] & left < d$y[[2L]]))
  # The aspect is the pixels'.
  expect_equal(diff(d$x) / 61, diff(d$y) / 87, tolerance = 1e-6)
})

test_that("a line of pixels can be seen", {
  for (k in 1:2) {
    r <- if (k == 1) parts_of(1:2, 100L, 1L) else parts_of(1:2, 1L, 100L)
    d <- drawn(red_and_blue(r), 600, 150, dim(r$labels))
    expect_gt(diff(d$x), 10)
    expect_gt(diff(d$y), 10)
    expect_beside(d, paste("line", k))
  }
})

test_that("settings of the device stay as they were", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  graphics::par(mfrow = c(2, 2), mar = c(4, 4, 1, 1))
  graphics::plot.new()
  kept <- c("mar", "mai", "mfrow", "cex", "xpd", "pty", "mgp", "oma", "pin", "plt", "las")
  before <- graphics::par(kept)
  plot(twenty, las = 1)
  expect_identical(graphics::par(kept), before)
  expect_identical(graphics::par("mfg")[1:2], 1:2)
  plot(two, xlim = c(5, 10), ylim = c(15, 5))
  expect_identical(graphics::par(kept), before)
  # Later points are where the image is: rows downwards.
  expect_lt(graphics::grconvertX(5, "user", "ndc"), graphics::grconvertX(10, "user", "ndc"))
  expect_gt(graphics::grconvertY(5, "user", "ndc"), graphics::grconvertY(15, "user", "ndc"))
})

test_that("arguments of plots are taken", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(
    plot(
      two, main = "two", sub = "sub", las = 1, cex.axis = 0.5, col.lab = "red", xlab = NULL,
      ylab = "y", bty = "o"
    )
  )
  expect_silent(plot(two, axes = FALSE, ann = FALSE))
  expect_silent(plot(two, xaxt = "n", asp = NA))
  usr <- graphics::par("usr")
  expect_equal(usr[3:4], c(20.5, 0.5))
  expect_silent(plot(two, xlim = c(3, 3.5), ylim = c(7.2, 7.1), frame.plot = TRUE))
  graphics::par(mar = c(0, 0, 0, 0))
  expect_silent(plot(twenty))
})

test_that("as many labels are named as there is room for", {
  key <- function(count, width, height) {
    grDevices::pdf(NULL, width, height)
    on.exit(grDevices::dev.off())
    graphics::plot.new()
    c(
      cudafactor:::picture_key(as.character(seq_len(count)), rep("red", count)),
      list(wide_at_most = 0.45 * graphics::par("pin")[[1L]] + graphics::par("mai")[[4L]])
    )
  }
  few <- key(5, 7, 7)
  expect_identical(few$names, as.character(1:5))
  expect_identical(list(few$cex, few$columns), list(0.8, 1))
  small <- key(20, 4.2, 2.8)
  expect_identical(small$names, as.character(1:20))
  many <- key(2000, 7, 7)
  count <- length(many$names)
  expect_identical(many$names, c(as.character(seq_len(count - 1L)), "..."))
  expect_gt(count, 50)
  expect_identical(many$col[count + -1:0], c("red", NA))
  expect_lte(many$high, many$room)
  expect_lte(many$wide, many$wide_at_most)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(parts_of(seq_len(500)), legend = TRUE))
})

test_that("labels that follow each other have different colours", {
  lab <- function(col) grDevices::convertColor(t(grDevices::col2rgb(col)) / 255, "sRGB", "Lab")
  for (count in 2:30) {
    x <- lab(cudafactor:::label_colours(count))
    expect_identical(nrow(unique(round(x))), count)
    expect_gt(min(sqrt(rowSums(diff(x)^2))), 45, label = count)
  }
  expect_identical(cudafactor:::label_colours(3), grDevices::hcl.colors(3, "Dark 3"))
  expect_identical(length(cudafactor:::label_colours(1)), 1L)
})
