# What a computation writes to stderr, in a session of its own.
shown <- function(progress, code) {
  script <- tempfile(fileext = ".R")
  errors <- tempfile()
  on.exit(unlink(c(script, errors)))
  writeLines(c("library(cudafactor)", sprintf("options(cudafactor.progress = %s)", progress), code), script)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
    stdout = TRUE, stderr = errors, env = child_library())
  list(status = attr(status, "status") %||% 0L, output = status, text = readChar(errors, file.size(errors), useBytes = TRUE))
}

# Three pieces of a product on the CPU, so that the first is done before the last.
pieces <- c("x <- matrix(1, 6000, 10)", "y <- gpu_matmult(x, diag(10), device = 'cpu')", "stopifnot(identical(x, y))")

test_that("progress is drawn and taken away", {
  out <- shown(0, pieces)
  expect_identical(out$status, 0L)
  expect_match(out$text, "^\r\\[=* *>? *\\] +[0-9]+ %  [0-9.]+ GFLOP/s  [0-9:]+ left", perl = TRUE)
  expect_match(out$text, "\r {79}\r$", perl = TRUE)
  expect_no_match(out$text, "\n")
})

test_that("short calls, FALSE and sessions that are not interactive show nothing", {
  for (progress in c("FALSE", "NULL", "TRUE", "3600")) {
    out <- shown(progress, pieces)
    expect_identical(out$status, 0L)
    expect_identical(out$text, "", info = progress)
  }
})

test_that("the line is gone before an error or a warning is told", {
  out <- shown(0, c(
    "n <- 300", "x <- diag(n)", "x[n, n] <- -1",
    "tryCatch(gpu_chol(x, device = 'cpu'), error = function(e) cat('E', e$order, file = stderr()))"
  ))
  expect_identical(out$status, 0L)
  expect_match(out$text, "\r {79}\rE 300$", perl = TRUE)
})

# The shares that were shown, in percent.
shares <- function(text) as.integer(regmatches(text, gregexpr("[0-9]+(?= %)", text, perl = TRUE))[[1L]])

test_that("every verb shows some progress, never backwards and never beyond the end", {
  for (call in c(
    "gpu_matmult(x, x)", "gpu_crossprod(x)", "gpu_chol(s)", "gpu_chol(s, pivot = TRUE)", "gpu_chol2inv(s)", "gpu_lu(x)",
    "gpu_qr(x)", "gpu_qr(x, LAPACK = TRUE)", "gpu_solve(x)", "gpu_backsolve(s, x)", "gpu_qr.Q(q)", "gpu_lm_fit(x, x[, 1:9])"
  )) {
    out <- shown(0, c(
      "n <- 260", "x <- matrix(sin(seq_len(n * n)^2), n)", "diag(x) <- n", "s <- crossprod(x)", "options(cudafactor.progress = NULL)",
      "q <- gpu_qr(x, device = 'cpu')", "options(cudafactor.progress = 0, cudafactor.device = 'cpu')", paste0("invisible(", call, ")")
    ))
    expect_identical(out$status, 0L, info = call)
    seen <- shares(out$text)
    expect_gt(length(seen), 0)
    expect_false(is.unsorted(seen), info = call)
    expect_true(all(seen >= 0 & seen <= 100), info = call)
  }
})

test_that("a session whose stderr goes to a connection goes on", {
  out <- shown(0, c(
    "told <- textConnection('lines', 'w')", "sink(told, type = 'message')", pieces,
    "sink(type = 'message')", "close(told)", "cat(any(grepl('FLOP/s', lines)))"
  ))
  expect_identical(out$status, 0L)
  expect_identical(out$output, "TRUE")
  expect_identical(out$text, "")
})

test_that("a GPU's progress is shown", {
  skip_unless(gpu_available(), "there is no GPU")
  out <- shown(0, c(
    "x <- matrix(sin(seq_len(4e6)^2), 2000)", "options(cudafactor.device = 'cuda')",
    "invisible(list(gpu_matmult(x, x), gpu_qr(x), gpu_lu(x), gpu_chol(crossprod(x))))"
  ))
  expect_identical(out$status, 0L)
  expect_gt(length(shares(out$text)), 0)
  expect_match(out$text, "\r {79}\r$", perl = TRUE)
})
