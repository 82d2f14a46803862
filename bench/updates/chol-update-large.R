# A Cholesky factor in R's memory that is larger than what the GPU may hold of it: panels pass by.
# Needs 110 GB of memory at order 65536.
#   Rscript bench/updates/chol-update-large.R [ORDER] [GPU_MEMORY]

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

given <- as.numeric(commandArgs(trailingOnly = TRUE))
n <- if (length(given) > 0L) as.integer(given[[1L]]) else 65536L
memory <- if (length(given) > 1L) given[[2L]] else 4e9
options(cudafactor.gpu_memory = memory)

r <- diag(10, n)
r[1L, ] <- 1
r[1L, 1L] <- 20
some <- unique(pmin(c(1L, 2L, 449L, n %/% 2L, n), n))
rows <- lapply(c(1L, 16L), function(k) {
  v <- matrix(runif(n * k), n)
  start <- proc.time()[["elapsed"]]
  u <- chol_update(r, v, device = "cuda")
  seconds <- proc.time()[["elapsed"]] - start
  # Some columns of the new matrix.
  of <- crossprod(u[, some])
  error <- max(abs(of - crossprod(r[, some]) - tcrossprod(v[some, , drop = FALSE]))) /
    max(abs(of)) / .Machine$double.eps
  rm(u)
  gc()
  data.frame(k = k, n = n, gpu_memory = memory, seconds = seconds, error_eps = error)
})
bench_write(
  "chol-update-large", "Updates of a Cholesky factor larger than the GPU may hold",
  list(seconds = do.call(rbind, rows)),
  paste0(
    "From R matrix to R matrix, one call each: the first result lies in memory that the system ",
    "gives anew, the second in that of the first."
  )
)
