# What a user reads when a call of the session's housekeeping goes wrong.

test_that("an option that makes no sense is named, and what it takes", {
  wrong <- list(
    list(cudafactor.threads = "two"), list(cudafactor.min_flops = -1),
    list(cudafactor.progress = "yes"), list(cudafactor.breakeven = c(svd = 1))
  )
  for (setting in wrong) {
    old <- options(setting)
    said <- outcome(gpu_crossprod(diag(2)))$error
    options(old)
    expect_match(said, sprintf("the option \"%s\" must be ", names(setting)), fixed = TRUE)
    others <- setdiff(names(option_fits), names(setting))
    expect_false(any(vapply(others, grepl, NA, x = said, fixed = TRUE)), info = names(setting))
  }
  old <- options(cudafactor.threads = -1, cudafactor.progress = NA)
  on.exit(options(old))
  expect_match(outcome(as_gpu(1))$error,
    "\"cudafactor.threads\" must .*; the option \"cudafactor.progress\" must ")
})

test_that("what is refused is known to be, option by option", {
  values <- list(NULL, TRUE, FALSE, NA, 0, 2, 2L, -1, NaN, NA_real_, Inf, c(1, 2), "1", factor(1),
    numeric(), c(qr = 1), c(qr = NA_real_),
    c(qr = -1), c(qr = 1L), list(qr = 1), c(qr = 1, svd = 1))
  for (name in names(option_fits)) {
    for (value in values) {
      old <- options(stats::setNames(list(value), name))
      taken <- is.null(outcome(gpu_chol(diag(2)))$error)
      options(old)
      expect_identical(option_fits[[name]](value), taken, info = paste(name, deparse(value)))
    }
  }
})

test_that("an argument that is missing is named in the user's call", {
  calls <- expression(as_gpu(), gpu_save(), gpu_save(as_gpu(1)), gpu_restore())
  missing <- c("x", "x", "file", "file")
  for (i in seq_along(calls)) {
    e <- expect_error(eval(calls[[i]]), class = "cudafactor_error_argument")
    expect_identical(e$argument, missing[[i]])
    expect_identical(conditionCall(e), calls[[i]])
  }
})

test_that("a file that is something else is said to be, with its name", {
  file <- tempfile()
  on.exit(unlink(file))
  writeLines("text", file)
  expect_match(outcome(gpu_restore(file))$error, file, fixed = TRUE)
  expect_match(outcome(gpu_restore(file))$error, "gpu_save()", fixed = TRUE)
  gpu_save(as_gpu(diag(40)), file)
  writeBin(readBin(file, "raw", 200), file)
  expect_match(outcome(gpu_restore(file))$error, file, fixed = TRUE)
})

test_that("errors of sum() and its kin do not show the object", {
  stale <- unserialize(serialize(as_gpu(diag(2)), NULL))
  for (f in c("sum", "max", "range")) {
    e <- expect_error(do.call(f, list(stale, na.rm = TRUE)), class = "cudafactor_error_stale")
    expect_identical(conditionCall(e), call(f, quote(x), na.rm = TRUE))
  }
})
