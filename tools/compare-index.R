# Random expressions of `[`, `[[`, `[<-` and `[[<-` of a gpu_matrix, compared with base R's.
#
#   R_LIBS=build/library Rscript tools/compare-index.R [COUNT [SEED [DEVICE]]]
#
# Prints each difference and their number; fails where there is one.

library(testthat)
library(cudafactor)
arguments <- commandArgs(TRUE)
given <- function(k, default) if (length(arguments) >= k) arguments[[k]] else default
count <- as.integer(given(1L, "5000"))
seed <- as.integer(given(2L, "1"))

here <- new.env(parent = asNamespace("cudafactor"))
for (helper in c("base", "matrices", "resident", "index")) {
  sys.source(sprintf("tests/testthat/helper-%s.R", helper), here)
}
set.seed(seed)
wrong <- here$compare_parts(count, given(3L, "cpu"))
writeLines(wrong)
cat(sprintf("%d of %d expressions differ, seed %d\n", length(wrong), count, seed))
quit(status = as.integer(length(wrong) > 0L))
