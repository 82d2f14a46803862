# Runs tests/testthat on an installed package, and counts.
# Usage: Rscript tools/testthat.R LIBRARY [FILTER]
# FILTER: a regular expression of the names of files, without "test-" and ".R".

arguments <- commandArgs(trailingOnly = TRUE)
.libPaths(c(normalizePath(arguments[[1L]]), .libPaths()))
Sys.setenv(NOT_CRAN = "true")
results <- as.data.frame(testthat::test_dir(
  "tests/testthat",
  filter = if (length(arguments) > 1L) arguments[[2L]],
  package = "cudafactor",
  load_package = "installed",
  reporter = "check",
  stop_on_failure = FALSE
))
failed <- sum(results$failed) + sum(results$error)
cat(sprintf(
  "test result: %d expectations passed; %d failed; %d tests skipped\n",
  sum(results$passed), failed, sum(results$skipped)
))
if (failed > 0) quit(status = 1L)
