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

# Each of these calls, after some preparations, shows a share that only grows, and takes it away at its end.
expect_progress <- function(calls, before) {
  out <- shown(0, c(
    before, "options(cudafactor.progress = 0)",
    sprintf("for (call in expression(%s)) {", paste(calls, collapse = ", ")), "  cat('<call>', deparse(call), '@', file = stderr())", "  eval(call)", "}"
  ))
  expect_identical(out$status, 0L)
  texts <- strsplit(out$text, "<call>", fixed = TRUE)[[1L]][-1L]
  expect_length(texts, length(calls))
  for (text in texts) {
    info <- sub("@.*", "", text)
    seen <- shares(text)
    expect_gt(length(seen), 0)
    expect_false(is.unsorted(seen), info = info)
    expect_true(all(seen >= 0 & seen <= 100), info = info)
    expect_match(text, "\r {79}\r$", perl = TRUE, info = info)
  }
}

prepared <- c(
  "options(cudafactor.progress = NULL, cudafactor.device = 'cpu')", "n <- 260", "x <- matrix(sin(seq_len(n * n)^2), n)", "diag(x) <- n"
)

test_that("every verb shows some progress, never backwards and never beyond the end", {
  expect_progress(c(
    "gpu_matmult(x, x)", "gpu_crossprod(x)", "gpu_chol(s)", "gpu_chol(s, pivot = TRUE)", "gpu_chol2inv(s)", "gpu_lu(x)",
    "gpu_qr(x)", "gpu_qr(x, LAPACK = TRUE)", "gpu_solve(x)", "gpu_backsolve(s, x)", "gpu_qr.Q(q)", "gpu_lm_fit(x, x[, 1:9])"
  ), c(prepared, "s <- crossprod(x)", "q <- gpu_qr(x)"))
})

test_that("what is computed where matrices are shows progress, too", {
  expect_progress(c(
    "g %*% g", "crossprod(g)", "tcrossprod(g, x)", "chol(s)", "chol2inv(s)", "gpu_lu(g)", "determinant(g)", "qr(g)", "solve(g)", "solve(g, x)",
    "solve(f, x)", "backsolve(s, x)", "qr.Q(q)", "qr.qty(q, x)", "qr.fitted(q, x)", "qr.coef(q, x)"
  ), c(prepared, "g <- as_gpu(x)", "s <- crossprod(g)", "q <- qr(g)", "f <- gpu_lu(g)"))
  silent <- shown("FALSE", c("g <- as_gpu(diag(300), 'cpu')", "invisible(list(chol(g), g %*% g, solve(g)))"))
  expect_identical(silent$text, "")
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
  there <- shown(0, c(
    "g <- as_gpu(matrix(sin(seq_len(4e6)^2), 2000), 'cuda')", "invisible(list(qr(g), gpu_lu(g), chol(crossprod(g)), solve(g)))"
  ))
  expect_identical(there$status, 0L)
  expect_gt(length(shares(there$text)), 0)
  expect_match(there$text, "\r {79}\r$", perl = TRUE)
})
