# What a computation writes to stderr, in a separate session.
shown <- function(progress, code) {
  script <- tempfile(fileext = ".R")
  errors <- tempfile()
  on.exit(unlink(c(script, errors)))
  writeLines(
    c("library(cudafactor)", sprintf("options(cudafactor.progress = %s)", progress), code), script
  )
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
    stdout = TRUE, stderr = errors, env = child_library())
  list(
    status = attr(status, "status") %||% 0L, output = status,
    text = readChar(errors, file.size(errors), useBytes = TRUE)
  )
}

# Three pieces of a product on the CPU, so that the first is done before the last.
pieces <- c(
  "x <- matrix(1, 6000, 10)", "y <- gpu_matmult(x, diag(10), device = 'cpu')",
  "stopifnot(identical(x, y))"
)

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
shares <- function(text) as.integer(regmatches(
  text, gregexpr("[0-9]+(?= %)", text, perl = TRUE)
)[[1L]])

# Each of these calls, after some preparations, shows a share that only grows, and takes it away
# at its end.
expect_progress <- function(calls, before) {
  out <- shown(0, c(
    before, "options(cudafactor.progress = 0)",
    sprintf("for (call in expression(%s)) {", paste(calls, collapse = ", ")),
    "  cat('<call>', deparse(call), '@', file = stderr())", "  eval(call)", "}"
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
  "options(cudafactor.progress = NULL, cudafactor.device = 'cpu')", "n <- 260",
  "x <- matrix(sin(seq_len(n * n)^2), n)", "diag(x) <- n"
)

test_that("every verb shows some progress, never backwards and never beyond the end", {
  expect_progress(c(
    "gpu_matmult(x, x)", "gpu_crossprod(x)", "gpu_chol(s)", "gpu_chol(s, pivot = TRUE)",
    "gpu_chol2inv(s)", "gpu_lu(x)",
    "gpu_qr(x)", "gpu_qr(x, LAPACK = TRUE)", "gpu_solve(x)", "gpu_backsolve(s, x)", "gpu_qr.Q(q)",
    "gpu_lm_fit(x, x[, 1:9])"
  ), c(prepared, "s <- crossprod(x)", "q <- gpu_qr(x)"))
})

test_that("what is computed where matrices are shows progress, too", {
  expect_progress(c(
    "g %*% g", "crossprod(g)", "tcrossprod(g, x)", "chol(s)", "chol2inv(s)", "gpu_lu(g)",
    "determinant(g)", "qr(g)", "solve(g)", "solve(g, x)",
    "solve(f, x)", "backsolve(s, x)", "qr.Q(q)", "qr.qty(q, x)", "qr.fitted(q, x)", "qr.coef(q, x)"
  ), c(prepared, "g <- as_gpu(x)", "s <- crossprod(g)", "q <- qr(g)", "f <- gpu_lu(g)"))
  silent <- shown(
    "FALSE", c("g <- as_gpu(diag(300), 'cpu')", "invisible(list(chol(g), g %*% g, solve(g)))")
  )
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
    "g <- as_gpu(matrix(sin(seq_len(4e6)^2), 2000), 'cuda')",
    "invisible(list(qr(g), gpu_lu(g), chol(crossprod(g)), solve(g)))"
  ))
  expect_identical(there$status, 0L)
  expect_gt(length(shares(there$text)), 0)
  expect_match(there$text, "\r {79}\r$", perl = TRUE)
})

# A file of a matrix that can be factored.
on_disk <- c(
  "options(cudafactor.progress = NULL, cudafactor.device = 'cpu')", "n <- 300",
  "x <- diag(n, n) + 1", "new <- function() tempfile(fileext = '.tiles')",
  "k <- tile_matrix(x, new(), triangle = TRUE, tile = 32)", "few <- 4 * 32^2 * 8",
  "r <- chol_file(k, new(), host_memory = few)"
)

test_that("work on files shows its phase, rate, bytes and time left in a line", {
  phases <- list(
    "factorizing|planning|finishing" = "chol_file(k, new(), host_memory = few)",
    solving = "chol_solve(r, x, host_memory = few)",
    solving = "backsolve(r, x, host_memory = few)", solving = "solve(r, x)",
    inverting = "chol2inv_diag(r, host_memory = few)",
    writing = "tile_matrix(x, new(), tile = 32)", writing = "tile_matrix(k, new(), tile = 20)",
    writing = "tile_matrix(function(i, j) x[i, j], new(), dim = n, tile = 32)",
    writing = "tile_matrix(lazy_covariance(1:n), new(), tile = 32)",
    writing = "tile_matrix(matrix_file(npy), new(), tile = 32)"
  )
  calls <- unlist(phases, use.names = FALSE)
  before <- c(on_disk, "npy <- tempfile(fileext = '.npy')", "write_matrix_file(k, npy)")
  expect_progress(calls, before)
  out <- shown(
    0,
    c(
      before, "options(cudafactor.progress = 0)",
      sprintf("cat('<call>', file = stderr()); invisible(%s)", calls)
    )
  )
  texts <- strsplit(out$text, "<call>", fixed = TRUE)[[1L]][-1L]
  expect_length(texts, length(calls))
  rate <- c(writing = "([0-9.]+ [MG]B/s|[0-9.]+ [GT]FLOP/s)", other = "[0-9.]+ [GT]FLOP/s")
  for (call in seq_along(calls)) {
    phase <- names(phases)[[call]]
    lines <- strsplit(texts[[call]], "\r", fixed = TRUE)[[1L]]
    lines <- lines[grepl("[^ ]", lines)]
    expect_gt(length(lines), 0)
    expect_true(all(nchar(lines) < 80), info = calls[[call]])
    line <- sprintf(
      "^(%s) \\[=*>? *\\] +[0-9]+ %%(  %s)?  [0-9.]+ [MG]B moved(  [0-9:]+ left)? *$", phase,
      rate[[if (phase == "writing") "writing" else "other"]]
    )
    expect_match(lines, line, info = calls[[call]])
  }
})

test_that("what a function of blocks says does not meet the bar", {
  say <- function(what) c(
    on_disk[-(5:7)], "options(cudafactor.progress = 0)",
    sprintf("f <- function(i, j) { if (j[[1]] > 32) %s; x[i, j] }", what)
  )
  make <- "invisible(tile_matrix(f, new(), dim = 64, tile = 32))"
  for (what in c("message('told')", "warning('told', immediate. = TRUE)", "stop('told')")) {
    out <- shown(0, c(say(what), sprintf("invisible(try(%s))", make)))
    expect_identical(out$status, 0L)
    expect_match(out$text, "writing \\[")
    expect_match(out$text, "\r {79}\r[^\r]*told", perl = TRUE, info = what)
    expect_no_match(out$text, "left *[^\r ][^\r]*told", perl = TRUE)
    expect_match(out$text, if (startsWith(what, "stop")) "told\n$" else "\r {79}\r$", perl = TRUE)
  }
  # A computation inside it shows its progress, and then the bar returns.
  out <- shown(0, c(say("gpu_matmult(x, x)"), make))
  expect_match(out$text, "writing .*\r\\[=.*\r {79}\r", perl = TRUE)
  expect_match(out$text, "\r {79}\r$", perl = TRUE)
})

test_that("work on files shows nothing where nothing is to be shown", {
  for (progress in c("FALSE", "3600")) {
    out <- shown(
      progress,
      c(
        on_disk[-1L], "y <- chol_solve(r, x)",
        "k <- tile_matrix(function(i, j) x[i, j], new(), dim = n)", "d <- chol2inv_diag(r)"
      )
    )
    expect_identical(out$status, 0L)
    expect_identical(out$text, "", info = progress)
  }
})
