# A function that the system refuses memory stops with a condition, and R goes on. The calls and the
# forked processes under limits are those of memory-limits.R, which makes the table in
# bench/results.

skip_without_limits <- function() {
  skip_on_cran()
  skip_if_not(identical(Sys.info()[["sysname"]], "Linux"), "limits of address space are Linux's")
  skip_if_not(nzchar(Sys.which("prlimit")), "prlimit is not there")
  skip_if_not_installed("Matrix")
}

test_that("every function ends in a result or an error of memory, under three limits each", {
  skip_without_limits()
  script <- test_path("memory-limits.R")
  # With a GPU each process starts CUDA, which takes seconds under a limit: fewer calls.
  some <- if (gpu_available())
    "gpu_matmult,gpu_chol,gpu_solve,gpu_qr,pcg_jacobi,random_walker_cg,product,chol_resident"
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script), "3", "auto", some),
    stdout = TRUE, stderr = TRUE, env = c(child_library(), "CUDAFACTOR_WORKERS=2")
  ))
  expect_null(attr(out, "status"),
    info = paste(grep(" 0 faults", out, value = TRUE, invert = TRUE), collapse = "\n"))
  expect_match(utils::tail(out, 1L), "^[0-9]+ runs, 0 faults$")
})

test_that("a call that was refused memory says how much, and the session goes on to compute", {
  skip_without_limits()
  code <- c(
    "library(cudafactor)",
    "x <- diag(2000)",
    "size <- as.numeric(gsub('[^0-9]', '',",
    "  grep('^VmSize', readLines('/proc/self/status'), value = TRUE))) * 1024",
    "room <- function(mib) {",
    "  invisible(system2('prlimit',",
    "    c('--pid', Sys.getpid(), sprintf('--as=%.0f:', size + mib * 2^20))))",
    "}",
    "room(48)",
    "e <- tryCatch(gpu_chol(x, device = 'cpu'), cudafactor_error_host_memory = identity)",
    "stopifnot(inherits(e, 'cudafactor_error_host_memory'), e$needed > 2^20,",
    "  grepl('cannot allocate', conditionMessage(e)))",
    "stopifnot(identical(x, diag(2000)), is.data.frame(gpu_free()))",
    "room(2000)",
    "stopifnot(identical(gpu_chol(x, device = 'cpu'), x))",
    "cat('went on')"
  )
  child <- run_child(code)
  expect_identical(child$status, 0L, info = paste(child$output, collapse = "\n"))
  expect_identical(utils::tail(child$output, 1L), "went on")
})

test_that("base R's error of memory is not told as one of operands", {
  skip_without_limits()
  code <- c(
    "library(cudafactor)",
    "g <- as_gpu(matrix(0.5, 2000, 2000), device = 'cpu')",
    "invisible(g[1, 1]); invisible(gc())",
    "size <- as.numeric(gsub('[^0-9]', '',",
    "  grep('^VmSize', readLines('/proc/self/status'), value = TRUE))) * 1024",
    "invisible(system2('prlimit', c('--pid', Sys.getpid(), sprintf('--as=%.0f:', size + 1e7))))",
    "for (call in expression(g > 0, g[1:10], g[-1], round(g, 2), gamma(g))) {",
    "  e <- tryCatch(eval(call), error = identity)",
    "  stopifnot(inherits(e, 'error'),",
    "    !inherits(e, c('cudafactor_error_dimension', 'cudafactor_error_argument',",
    "      'cudafactor_error_type')))",
    "}",
    "cat('went on')"
  )
  child <- run_child(code)
  expect_identical(utils::tail(child$output, 1L), "went on",
    info = paste(child$output, collapse = "\n"))
})

test_that("matrices on the CPU that nothing refers to hold no more than half a GiB", {
  skip_on_cran()
  code <- c(
    "library(cudafactor)",
    "x <- matrix(0.5, 300, 300)",
    "most <- 0",
    "for (i in 1:2500) {",
    "  g <- as_gpu(x, device = 'cpu')",
    "  if (i %% 50 == 0) most <- max(most, gpu_mem()$held[[1]])",
    "}",
    "cat(most / 2^20)"
  )
  child <- run_child(code)
  expect_identical(child$status, 0L)
  expect_lt(as.numeric(utils::tail(child$output, 1L)), 520)
})
