# What print() and plot() show of results of pcg().

test_that("it is printed and drawn", {
  skip_if_not_installed("Matrix")
  set.seed(13)
  a <- poisson(10)
  b <- random_matrix(100, 3)
  f <- pcg(a, b, "jacobi")
  expect_output(
    print(f),
    paste0(
      "Conjugate gradients, preconditioner \"jacobi\"\n",
      "100 unknowns, 3 right-hand sides, on cpu\nconverged after"
    )
  )
  expect_output(print(pcg(a, b)), "Cholesky factorization, chosen by method")
  expect_output(
    print(suppressWarnings(pcg(a, b, "none", maxit = 1))), "3 not converged after 1 iteration:"
  )
  pdf(NULL)
  on.exit(dev.off())
  expect_identical(plot(f), f)
  expect_identical(plot(pcg(a, b), main = "own", col = 2), pcg(a, b))
  expect_no_error(plot(pcg(a, numeric(100))))
})

test_that("what is printed and drawn is what has not converged", {
  skip_if_not_installed("Matrix")
  set.seed(19)
  a <- poisson(12)
  b <- cbind(as.vector(a %*% rep(1, 144)), 0, rnorm(144))
  f <- suppressWarnings(pcg(a, b, "none", maxit = 10))
  expect_output(print(f), "2 not converged after 10 iterations: relative residual", fixed = TRUE)
  expect_false(any(grepl("stagnated", capture.output(print(f)))))
  f <- suppressWarnings(pcg(a, b[, 3], "none", tol = 0))
  expect_output(print(f), "\nstagnated: rounding allows for no smaller residual", fixed = TRUE)
  f[c("end", "converged", "iterations", "relative_residual")] <- list(
    c("stagnated", "iterations"), c(FALSE, FALSE), c(9L, 30L), c(1e-15, 1e-3)
  )
  f$dim[[2L]] <- 2L
  expect_output(print(f), "\n1 of them stagnated: ", fixed = TRUE)
  # With no iterations there are axes alone, and there are none between iterations.
  drawn <- tempfile(fileext = ".pdf")
  on.exit(unlink(drawn))
  draw <- function(...) {
    grDevices::pdf(drawn, compress = FALSE, useKerning = FALSE)
    plot(...)
    grDevices::dev.off()
    readLines(drawn, warn = FALSE)
  }
  shows <- function(page, label) any(
    grepl(sprintf("(%s) Tj", label), page, fixed = TRUE, useBytes = TRUE)
  )
  page <- draw(pcg(a, numeric(144)))
  expect_true(shows(page, "1") && shows(page, "Convergence"))
  two <- suppressWarnings(pcg(a, b[, 3], "none", maxit = 2))
  page <- draw(two)
  expect_true(shows(page, "2"))
  expect_false(shows(page, "1.5"))
  expect_false(shows(draw(two, axes = FALSE), "2"))
  expect_no_error(
    draw(
      suppressWarnings(pcg(a, cbind(0, b[, 3]), "none", tol = 0, maxit = 0)), col = 2,
      xlim = c(0, 10)
    )
  )
})
