# Images, seeds and a dense solution for tests of random_walker().

# Two flat halves with a step between them, and noise.
halves <- function(rows = 12, columns = 16) {
  set.seed(3)
  image <- matrix(0.2, rows, columns)
  image[, seq(columns / 2 + 1, columns)] <- 0.8
  image + rnorm(length(image), sd = 0.02)
}

two_seeds <- function(rows = 12, columns = 16, values = 1:2) {
  seeds <- matrix(0L, rows, columns)
  seeds[3, 2] <- values[[1L]]
  seeds[7, 14] <- values[[2L]]
  seeds
}

# The model by a dense solve: probabilities of the labels, by rows for pixels. Every pixel must
# reach a seed.
dense_walk <- function(image, seeds, beta = 130, spacing = rep(1, length(dim(seeds)))) {
  space <- dim(seeds)
  n <- prod(space)
  values <- matrix(image, n)
  s <- sqrt(mean((values - mean(values))^2))
  if (ncol(values) > 1L) s <- s * sqrt(ncol(values))
  at <- arrayInd(seq_len(n), space)
  l <- matrix(0, n, n)
  for (i in seq_len(n)) {
    for (j in which(colSums(abs(t(at) - at[i, ])) == 1)) {
      h <- spacing[at[i, ] != at[j, ]]
      l[i, j] <- -exp(-beta * sum((values[i, ] - values[j, ])^2) / h^2 / (10 * s)) - 1e-10
    }
  }
  l[seeds < 0, ] <- 0
  l[, seeds < 0] <- 0
  diag(l) <- -rowSums(l)
  labels <- sort(unique(seeds[seeds > 0]))
  p <- outer(c(seeds), labels, "==") + 0
  u <- which(seeds == 0)
  m <- which(seeds > 0)
  p[u, ] <- solve(l[u, u], -l[u, m] %*% p[m, ])
  p
}

expect_walk <- function(image, seeds, ..., beta = 130, spacing = rep(1, length(dim(seeds)))) {
  r <- random_walker(image, seeds, beta, prob = TRUE, spacing = spacing, ...)
  p <- dense_walk(image, seeds, beta, spacing)
  expect_lt(max(abs(matrix(r$probabilities, length(seeds)) - p)), 1e-9)
  best <- r$label_values[max.col(p, "first")]
  best[seeds < 0] <- -1L
  expect_identical(c(r$labels), best)
  r
}
