# What happens to an R session around a computation: collection of garbage, forks, interrupts,
# unloading.

test_that("results survive garbage collection at every third allocation", {
  # In a separate process, where every collection walks a small heap.
  child <- run_child(c(
    "library(cudafactor)",
    "x <- matrix(c(4, 1, 2, 1, 5, 3, 2, 3, 6), 3, dimnames = list(letters[1:3], LETTERS[1:3]))",
    "y <- c(1, 2, 3)",
    "work <- function() list(",
    "  gpu_matmult(x, x), gpu_crossprod(x), gpu_matmult(x, y), gpu_chol(x),",
    "  gpu_chol(x, pivot = TRUE),",
    "  gpu_chol2inv(x), gpu_qr(x), gpu_qr(x, LAPACK = TRUE), lu_expand(gpu_lu(x)),",
    "  gpu_solve(x, y), gpu_solve(x),",
    "  gpu_backsolve(x, y), gpu_determinant(x), gpu_determinant(x, FALSE),",
    "  gpu_lm_fit(x[, 1:2], y),",
    "  gpu_matmult(x, x, precision = 'single'),",
    "  conditionMessage(tryCatch(gpu_chol(-x), error = identity)))",
    "expected <- work()",
    "invisible(gctorture2(3))",
    "found <- work()",
    "invisible(gctorture2(0))",
    "cat(identical(found, expected))"
  ))
  expect_identical(child$status, 0L, info = child$output)
  expect_identical(child$output, "TRUE")
})

test_that("the same call gives the same bits", {
  set.seed(1)
  x <- random_matrix(150, 150)
  s <- crossprod(x)
  for_each_setting(function(device, precision) {
    run <- function() list(
      gpu_matmult(x, x, device, precision), gpu_chol(s, device = device, precision = precision),
      gpu_qr(x, device = device, precision = precision),
      gpu_solve(x, device = device, precision = precision)
    )
    expect_identical(run(), run())
  })
})

test_that("forked processes compute", {
  skip_unless(.Platform$OS.type == "unix" && requireNamespace("parallel", quietly = TRUE),
    "this system does not fork")
  set.seed(2)
  x <- random_matrix(700, 700)
  # The parent has used its threads, and a GPU where there is one, before the fork.
  old <- options(cudafactor.min_flops = 0)
  on.exit(options(old))
  expected <- gpu_matmult(x, x)
  jobs <- lapply(1:2, function(i) parallel::mcparallel(list(
    product = gpu_matmult(x, x), rank = gpu_qr(x[, 1:60])$rank, device = gpu_last_device()
  )))
  answers <- lapply(jobs, function(job) parallel::mccollect(job, wait = FALSE, timeout = 60)[[1]])
  for (job in jobs) {
    tools::pskill(job$pid, tools::SIGKILL)
  }
  suppressWarnings(parallel::mccollect(jobs))
  for (answer in answers) {
    expect_equal(answer$product, expected, tolerance = 1e-12)
    expect_identical(answer$rank, 60L)
    expect_identical(answer$device, "cpu")
  }
})

test_that("an interrupt ends a long computation and the session goes on", {
  skip_unless_interruptible()
  started <- tempfile()
  result <- tempfile(fileext = ".rds")
  log <- tempfile()
  child <- start_child(c(
    "library(cudafactor)",
    sprintf("started <- '%s'; result <- '%s'", started, result),
    # A generous size: the signal comes while the first call computes.
    "x <- matrix(rnorm(5000^2), 5000)",
    "copy <- x[1:5, 1:5]",
    "invisible(gpu_matmult(diag(2), diag(2)))",
    "writeLines(as.character(Sys.getpid()), started)",
    "outcome <- tryCatch({ for (i in 1:100) gpu_qr(x, device = 'cpu'); 'finished' },",
    "  interrupt = function(i) class(i))",
    "saveRDS(list(outcome = outcome, intact = identical(copy, x[1:5, 1:5]),",
    "             after = gpu_chol(diag(2), device = 'cpu')), result)"
  ), log)
  on.exit({
    close(child)
    unlink(c(started, result, log))
  })
  await <- function(condition, seconds) {
    until <- Sys.time() + seconds
    while (!condition() && Sys.time() < until) Sys.sleep(0.1)
    condition()
  }
  expect_true(await(function() file.exists(started) && length(readLines(started)) == 1L, 60))
  pid <- as.integer(readLines(started))
  Sys.sleep(1)
  tools::pskill(pid, tools::SIGINT)
  ended <- await(function() file.exists(result), 60)
  # Time to write the file.
  Sys.sleep(0.5)
  tools::pskill(pid, tools::SIGKILL)
  expect_true(ended, info = paste(readLines(log), collapse = "\n"))
  answer <- readRDS(result)
  expect_true("interrupt" %in% answer$outcome)
  expect_true(answer$intact)
  expect_identical(answer$after, diag(2))
})

test_that("a time limit ends a long computation with R's error", {
  x <- random_matrix(1500, 1500)
  on.exit(setTimeLimit())
  for (i in 1:2) {
    e <- tryCatch(
      {
        setTimeLimit(elapsed = 0.3)
        # Nearly all of the time passes within native code.
        for (more in 1:1000) gpu_qr(x, LAPACK = TRUE, device = "cpu")
      },
      error = identity, interrupt = function(i) "an interrupt"
    )
    setTimeLimit()
    expect_s3_class(e, "simpleError")
    expect_match(conditionMessage(e), outcome({
      setTimeLimit(elapsed = 0.01)
      repeat Sys.sleep(0.01)
    })$error, fixed = TRUE)
    setTimeLimit()
    expect_identical(gpu_chol(diag(2), device = "cpu"), diag(2))
  }
})

test_that("results are plain R data that another session reads", {
  set.seed(3)
  x <- random_matrix(12, 8)
  file <- tempfile(fileext = ".rds")
  answer <- tempfile(fileext = ".rds")
  on.exit(unlink(c(file, answer)))
  saveRDS(gpu_qr(x), file)
  child <- run_child(sprintf("saveRDS(qr.coef(readRDS('%s'), 1:12), '%s')", file, answer))
  expect_identical(child$status, 0L, info = child$output)
  expect_equal(readRDS(answer), qr.coef(qr(x), 1:12))
})

test_that("the namespace can be unloaded and loaded again", {
  child <- run_child(c(
    "x <- matrix(rnorm(300^2), 300)",
    "a <- cudafactor::gpu_matmult(x, x)",
    "unloadNamespace('cudafactor')",
    "invisible(gc())",
    "b <- cudafactor::gpu_matmult(x, x)",
    "cat(identical(a, b))"
  ))
  expect_identical(child$status, 0L, info = child$output)
  expect_identical(child$output, "TRUE")
})
