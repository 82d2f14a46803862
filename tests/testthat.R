library(testthat)
library(cudafactor)

test_check("cudafactor")
