# What a user reads when a call of the session's housekeeping goes wrong.

test_that("an option that makes no sense is named, and what it takes", {
  wrong <- list(
    list(cudafactor.threads = "two"), list(cudafactor.min_flops = -1),
    list(cudafactor.progress = "yes"), list(cudafactor.breakeven = c(ginv = 1))
  )
  for (setting in wrong) {
    old <- options(setting)
    said <- outcome(gpu_crossprod(diag(2)))$error
    options(old)
    expect_match(said, sprintf("the option \"%s\" must be ", names(setting)), fixed = TRUE)
    expect_match(said, fixed = TRUE, sprintf(
      ", not %s; options(%s = NULL) restores the default", deparse(setting[[1]]), names(setting)
    ))
    others <- setdiff(names(option_fits), names(setting))
    expect_false(any(vapply(others, grepl, NA, x = said, fixed = TRUE)), info = names(setting))
  }
  old <- options(cudafactor.threads = -1, cudafactor.progress = NA)
  on.exit(options(old))
  expect_match(outcome(as_gpu(1))$error,
    "\"cudafactor.threads\" must .*; the option \"cudafactor.progress\" must ")
})

test_that("a wrong device is an option's, or the call's", {
  old <- options(cudafactor.device = "gpu")
  on.exit(options(old))
  e <- expect_error(gpu_chol(diag(2)), class = "cudafactor_error_argument")
  expect_identical(conditionMessage(e), paste(
    "the option \"cudafactor.device\" must be \"auto\", \"cpu\", \"cuda\" or",
    "\"cuda:<number>\", not \"gpu\"; options(cudafactor.device = NULL) restores the default"
  ))
  expect_match(outcome(as_gpu(diag(2)))$error, "the option \"cudafactor.device\"", fixed = TRUE)
  e <- expect_error(
    gpu_chol(diag(2), device = "gpu"), class = "cudafactor_error_argument"
  )
  expect_identical(conditionMessage(e),
    "'device' must be \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\", not \"gpu\"")
  options(cudafactor.device = c("cpu", "cuda"))
  expect_error(
    gpu_chol(diag(2)), "not c(\"cpu\", \"cuda\"); options(", fixed = TRUE,
    class = "cudafactor_error_argument"
  )
})

test_that("values in errors are cut", {
  expect_identical(cudafactor:::as_code(c(a = 1)), "c(a = 1)")
  expect_identical(nchar(cudafactor:::as_code(sqrt(1:1000))), 60L)
})

test_that("what is refused is known to be, option by option", {
  values <- list(NULL, TRUE, FALSE, NA, 0, 0.5, 2, 2L, -1, NaN, NA_real_, Inf, c(1, 2), "1",
    factor(1), numeric(), c(qr = 1), c(qr = NA_real_),
    c(qr = -1), c(qr = 1L), list(qr = 1), c(qr = 1, svd = 1), c(qr = NA), c(qr = TRUE),
    c(qr = NA, lu = FALSE), c(svd = NA), "never", "always", c("auto", "never"))
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
