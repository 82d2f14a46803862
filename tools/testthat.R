# Runs tests/testthat on an installed package, and counts.
# Usage: Rscript tools/testthat.R LIBRARY

library <- commandArgs(trailingOnly = TRUE)[[1L]]
.libPaths(c(normalizePath(library), .libPaths()))
Sys.setenv(NOT_CRAN = "true")
results <- as.data.frame(testthat::test_dir(
  "tests/testthat",
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
