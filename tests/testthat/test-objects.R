# summary(), str(), format(), head(), tail() and plot() of the classes of results: each shows the
# object, or is one sentence that says what to use.

shown <- function(code) utils::capture.output(result <- code)

refuses <- function(f, x, words, ...) {
  e <- expect_error(f(x), words, ..., class = "cudafactor_error_type")
  expect_false(grepl("\n", conditionMessage(e)))
  expect_false(is.null(conditionCall(e)))
}

test_that("results of pcg() behave", {
  set.seed(3)
  a <- crossprod(matrix(rnorm(60), 10)) + diag(6)
  dimnames(a) <- list(NULL, letters[1:6])
  b <- matrix(rnorm(12), 6, dimnames = list(NULL, c("u", "v")))
  f <- pcg(a, b)
  expect_identical(coef(f), f$x)
  expect_equal(coef(f), solve(a, b))
  expect_equal(coef(pcg(a, b[, 1])), solve(a, b[, 1]))
  expect_identical(head(f, 2), head(f$x, 2))
  expect_identical(tail(f, 1), tail(f$x, 1))
  expect_match(format(f), "^<pcg: 6 unknowns, 2 right-hand sides, converged after .*>$")
  s <- summary(f)
  expect_identical(s$sides$end, unname(f$end))
  expect_identical(row.names(s$sides), c("u", "v"))
  expect_match(shown(print(s)), "relative_residual", all = FALSE)
  many <- summary(pcg(diag(2), matrix(1, 2, 25)))
  expect_identical(utils::tail(shown(print(many)), 1L), "and 5 right-hand sides more")
  expect_match(shown(str(f)), "List of", all = FALSE)
})

test_that("results of lp_ipm() behave", {
  x <- lp_ipm(c(a = 1, b = 2), matrix(1, 1, 2, dimnames = list(NULL, c("a", "b"))), ">=", 1)
  expect_identical(coef(x), x$solution)
  expect_named(coef(x), c("a", "b"))
  expect_identical(head(x, 1), x$solution[1])
  expect_identical(tail(x, 1), x$solution[2])
  expect_match(format(x), "^<lp_ipm: minimized, 1 x 2, optimal, objective .*>$")
  none <- lp_ipm(1, matrix(1), "<=", -1)
  expect_identical(format(none), "<lp_ipm: minimized, 1 x 1, infeasible>")
  expect_match(shown(str(x)), "List of", all = FALSE)
  expect_s3_class(summary(x), "summary.lp_ipm")
})

test_that("results of random_walker() behave", {
  image <- matrix(rep(c(0.2, 0.8), each = 50), 10)
  seeds <- matrix(0, 10, 10)
  seeds[5, c(2, 9)] <- 1:2
  x <- random_walker(image, seeds)
  expect_identical(head(x, 2), head(x$labels, 2))
  expect_identical(tail(x, 2), tail(x$labels, 2))
  expect_identical(format(x), "<random_walker: 10 x 10 pixels, 2 labels>")
  s <- summary(x)
  expect_identical(s$labels$pixels, as.vector(table(x$labels)))
  expect_equal(sum(s$labels$share), 1)
  expect_match(shown(print(s)), "label +pixels +share", all = FALSE)
  expect_match(shown(str(x)), "List of", all = FALSE)
})

test_that("systems of random_walker_system() have a class that behaves", {
  skip_if_not_installed("Matrix")
  image <- matrix(rep(c(0.2, 0.8), each = 50), 10)
  seeds <- matrix(0, 10, 10)
  seeds[5, c(2, 9)] <- 1:2
  x <- random_walker_system(image, seeds)
  expect_s3_class(x, "random_walker_system")
  expect_match(
    format(x), "^<random_walker_system: 98 pixels, [0-9]+ entries, 2 labels \\(1, 2\\)>$"
  )
  expect_identical(shown(print(x))[[1L]], format(x))
  expect_identical(summary(x), x)
  expect_identical(head(x, 3), head(x$b, 3))
  expect_identical(tail(x, 3), tail(x$b, 3))
  expect_match(shown(str(x)), "List of 4", all = FALSE)
  refuses(plot, x, "plot(random_walker", fixed = TRUE)
})

test_that("matrices in files behave", {
  raw <- tempfile(fileext = ".bin")
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(c(raw, file)))
  writeBin(as.double(1:12), raw)
  m <- matrix_file(raw, c(4, 3))
  expect_match(shown(str(m)), "format", all = FALSE)
  for (f in list(as.matrix, function(x) x[1, ])) refuses(f, m, "tile_matrix\\(x, file\\)")
  x <- tile_matrix(m, file)
  expect_identical(head(x, 2), head(matrix(1:12 + 0, 4), 2))
  expect_identical(tail(x, 1), matrix(c(4, 8, 12), 1))
  expect_match(shown(str(x)), "List of 5", all = FALSE)
  refuses(summary, x, "there is no 'summary' for a matrix on disk")
})
