# The iterative method of random_walker(), compared with the direct one, and its report.

disc <- function(space, sd = 0.05) {
  set.seed(4)
  at <- arrayInd(seq_len(prod(space)), space)
  near <- colSums((t(at) - space / 2)^2) < (min(space[space > 1]) / 3)^2
  array(0.3 + 0.4 * near + rnorm(length(near), sd = sd), space)
}

three_seeds <- function(space) {
  seeds <- array(0L, space)
  n <- length(seeds)
  seeds[c(1, (n + 1) %/% 2, n)] <- c(2L, 7L, 5L)
  seeds
}

test_that("pictures and volumes get the direct method's answer", {
  for_each_device(function(device) {
    for (space in list(
      c(37, 52), c(1, 400), c(300, 1), c(16, 17), c(9, 14, 12), c(5, 1, 90), c(2, 3)
    )) {
      image <- disc(space)
      seeds <- three_seeds(space)
      if (length(seeds) > 100) seeds[40:47] <- -1L
      direct <- random_walker(image, seeds, method = "direct", prob = TRUE, device = "cpu")
      r <- random_walker(image, seeds, method = "cg", prob = TRUE, device = device)
      info <- paste(space, collapse = " x ")
      expect_lt(max(abs(r$probabilities - direct$probabilities)), 1e-6, label = info)
      expect_identical(r$labels, direct$labels, info = info)
      inside <- r$labels > 0
      expect_lt(
        max(abs(apply(r$probabilities, seq_along(space), sum)[inside] - 1)), 1e-8, label = info
      )
      expect_identical(list(r$method, r$auto), list("cg", FALSE))
      expect_lte(r$error, 1e-9)
      expect_identical(r$unreached, direct$unreached)
      expect_match(r$device, device, fixed = TRUE)
    }
  })
})

test_that("colours, spacing and many labels go with it", {
  for_each_device(function(device) {
    set.seed(8)
    image <- array(runif(30 * 25 * 3), c(30, 25, 3))
    seeds <- matrix(0L, 30, 25)
    seeds[seq(3, 750, by = 60)] <- rev(seq_along(seq(3, 750, by = 60))) * 3L
    direct <- random_walker(
      image, seeds, 40, "direct", prob = TRUE, spacing = c(1, 2.5), device = "cpu"
    )
    r <- random_walker(image, seeds, 40, "cg", prob = TRUE, spacing = c(1, 2.5), device = device)
    expect_lt(max(abs(r$probabilities - direct$probabilities)), 1e-6)
    expect_identical(r$labels, direct$labels)
    # The same twice.
    expect_identical(
      random_walker(image, seeds, 40, "cg", prob = TRUE, spacing = c(1, 2.5), device = device), r
    )
  })
})

test_that("a tolerance is kept, and limits are told of", {
  image <- disc(c(60, 60))
  seeds <- three_seeds(c(60, 60))
  direct <- random_walker(image, seeds, method = "direct", prob = TRUE, device = "cpu")
  off <- function(tol) max(
    abs(
      random_walker(
        image, seeds, method = "cg", tol = tol, prob = TRUE
      )$probabilities - direct$probabilities
    )
  )
  expect_lt(off(1e-3), 1e-2)
  expect_lt(off(1e-12), 1e-10)
  expect_warning(
    r <- random_walker(image, seeds, method = "cg", maxit = 1),
    "in 1 iteration: .* labels may be wrong; use a larger 'maxit'",
    class = "cudafactor_warning_not_converged"
  )
  expect_output(print(r), "\n1 iteration,")
  expect_warning(
    r <- random_walker(image, seeds, method = "cg", maxit = 2),
    class = "cudafactor_warning_not_converged"
  )
  expect_identical(list(r$iterations, r$error), list(2, Inf))
  expect_output(print(r), "2 iterations")
  expect_error(random_walker(image, seeds, tol = 0), class = "cudafactor_error_argument")
  expect_error(random_walker(image, seeds, tol = NA), class = "cudafactor_error_argument")
  expect_error(random_walker(image, seeds, maxit = 0), class = "cudafactor_error_argument")
  expect_error(random_walker(image, seeds, method = "ls"), class = "cudafactor_error_argument")
})

test_that("regions behind weights of 1e-10 have the exact solution's probabilities", {
  for_each_device(function(device) {
    expect_right <- function(image, beta = 130) {
      seeds <- array(0, dim(image))
      seeds[c(1L, length(seeds))] <- 1:2
      direct <- random_walker(image, seeds, beta, "direct", prob = TRUE, device = "cpu")
      r <- random_walker(image, seeds, beta, "cg", prob = TRUE, device = device)
      expect_lte(r$error, 1e-9)
      expect_lt(max(abs(r$probabilities - direct$probabilities)), 1e-8)
    }
    expect_right(outer(1:36, 1:36, function(i, j) ((i %/% 4) + (j %/% 4)) %% 2))
    square <- matrix(0, 36, 36)
    square[9:18, 9:18] <- 1
    expect_right(square)
    set.seed(1)
    expect_right(matrix(+(runif(60^2) < 0.6), 60))
    expect_right(array(+(runif(14^3) < 0.7), c(14, 14, 14)))
    expect_right(array(round(4 * runif(14^3)), c(14, 14, 14)), 1000)
  })
})

test_that("slabs of a few slices are factored, and volumes are not", {
  chosen <- function(space) random_walker(disc(space), three_seeds(space), device = "cpu")$method
  expect_identical(chosen(c(150, 150, 3)), "direct")
  expect_identical(chosen(c(28, 28, 28)), "cg")
})

test_that("a volume is iterated for by itself", {
  space <- c(28, 28, 28)
  r <- random_walker(disc(space), three_seeds(space))
  expect_identical(list(r$method, r$auto), list("cg", TRUE))
  expect_output(print(r), "by \"auto\"")
})
