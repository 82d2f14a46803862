# Segmentation by random walks by package Matrix alone, for random-walker.R and
# random-walker-large.R.

suppressPackageStartupMessages(library(Matrix))

# What a user of R would write without this package; pixels below 0 are left out.
by_matrix <- function(image, seeds, beta) {
  n <- length(seeds)
  id <- matrix(seq_len(n), nrow(seeds))
  i <- c(id[-nrow(id), ], id[, -ncol(id)])
  j <- c(id[-1, ], id[, -1])
  x <- matrix(image, n)
  s <- sqrt(mean((x - mean(x))^2)) * sqrt(ncol(x))
  w <- exp(-beta * rowSums((x[i, , drop = FALSE] - x[j, , drop = FALSE])^2) / (10 * s)) + 1e-10
  joined <- seeds[i] >= 0 & seeds[j] >= 0
  a <- sparseMatrix(i[joined], j[joined], x = w[joined], dims = c(n, n), symmetric = TRUE)
  u <- which(seeds == 0)
  m <- which(seeds > 0)
  labels <- sort(unique(seeds[m]))
  marks <- sparseMatrix(seq_along(m), match(seeds[m], labels), x = 1)
  system <- forceSymmetric(Diagonal(x = rowSums(a)[u]) - a[u, u])
  p <- as.matrix(solve(Cholesky(system, LDL = FALSE, super = TRUE), a[u, m] %*% marks))
  out <- seeds
  out[u] <- labels[max.col(p, "first")]
  list(labels = out, unknown = u, probabilities = p)
}
