# Products of doubles with zeros, on the GPU: from integers where the bound is proven, beside the
# same products with option cudafactor.emulation = "never". Operands are there already, and the
# result stays there.
#   Rscript bench/emulated/zeros.R [--runs=5] [ORDER]...
# Results: emulated-zeros.md and .csv.

file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(dirname(normalizePath(file))), "common.R"))
library(cudafactor)

words <- commandArgs(trailingOnly = TRUE)
runs <- as.integer(sub("--runs=", "", c(grep("^--runs=", words, value = TRUE), "5")[[1]]))
orders <- as.integer(grep("^[0-9]+$", words, value = TRUE))
if (!length(orders)) orders <- c(4096L, 8192L)

set.seed(1)
# A million numbers, again and again.
normal <- function(n) matrix(rep_len(rnorm(1e6 + 3), n * n), n)
holed <- function(n, share) normal(n) * (runif(n * n) >= share)
# A model matrix: half of its columns are groups of twenty, of which each row is in one; half are
# numbers.
design <- function(n) {
  x <- normal(n)
  groups <- seq_len(n %/% 40L * 20L)
  of_row <- outer(seq_len(n), (groups - 1L) %/% 20L, function(i, factor) (i + factor * i) %% 20L)
  x[, groups] <- +(of_row == (col(of_row) - 1L) %% 20L)
  x
}
cases <- list(
  `no zeros` = function(n) list(normal(n), normal(n)),
  `a tenth of zeros` = function(n) list(holed(n, 0.1), holed(n, 0.1)),
  `nine tenths of zeros` = function(n) list(holed(n, 0.9), holed(n, 0.9)),
  `99 of 100 are zeros` = function(n) list(holed(n, 0.99), holed(n, 0.99)),
  `triangles` = function(n) {
    list(normal(n) * lower.tri(diag(n), TRUE), normal(n) * upper.tri(diag(n), TRUE))
  },
  `t(x) and a design x` = function(n) {
    x <- design(n)
    list(t(x), x)
  }
)

# Seconds of a product.
seconds <- function(a, b, option) {
  options(cudafactor.emulation = option)
  bench_median_ms(function() (a %*% b)[1, 1], runs) / 1e3
}

rows <- list()
for (n in orders) {
  for (case in names(cases)) {
    operands <- cases[[case]](n)
    a <- as_gpu(operands[[1]], device = "cuda")
    b <- as_gpu(operands[[2]], device = "cuda")
    auto <- seconds(a, b, "auto")
    product <- a %*% b
    never <- seconds(a, b, "never")
    other <- a %*% b
    # The largest difference over k u |A||B|.
    options(cudafactor.emulation = "never")
    size <- as.matrix(abs(a) %*% abs(b))
    difference <- abs(as.matrix(product) - as.matrix(other))
    worst <- max(ifelse(size == 0, ifelse(difference == 0, 0, Inf), difference / size)) / n * 2^53
    rows[[length(rows) + 1]] <- data.frame(
      operands = case, n = n, `auto ms` = 1e3 * auto, `never ms` = 1e3 * never,
      `auto TFLOP/s` = 2e-12 * n^3 / auto, `never / auto` = never / auto, difference = worst,
      check.names = FALSE
    )
    print(rows[[length(rows)]])
    rm(a, b, product, other, size, difference, operands)
    invisible(gc())
  }
}
bench_write("emulated-zeros", "Products of operands with zeros, from integers and in doubles",
  list(Products = do.call(rbind, rows)), notes = c(
    "auto, never: option cudafactor.emulation. Times from the call until an entry of the result",
    "is here. difference: the largest |auto - never| over n 2^-53 |A||B|."
  ))
