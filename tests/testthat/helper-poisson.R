# Sparse matrices for tests of pcg() and ichol().

# The Laplacian of a grid in the plane, with Dirichlet boundaries: a dsCMatrix, as package Matrix
# makes it with the upper triangle.
poisson <- function(rows, columns = rows) {
  line <- function(n) {
    if (n == 1) Matrix::Diagonal(1, 2) else
      Matrix::bandSparse(n, k = 0:1, diagonals = list(rep(2, n), rep(-1, n - 1)), symmetric = TRUE)
  }
  a <- Matrix::kronecker(Matrix::Diagonal(columns), line(rows)) +
    Matrix::kronecker(line(columns), Matrix::Diagonal(rows))
  methods::as(Matrix::forceSymmetric(a, "U"), "CsparseMatrix")
}

# The same with the other triangle.
lower_stored <- function(a) Matrix::forceSymmetric(methods::as(a, "generalMatrix"), "L")

# Conjugate gradients as in Golub & Van Loan, Matrix Computations, algorithm 11.5.1, for one
# right-hand side: how many iterations bring the recurrence's residual below the tolerance.
textbook_iterations <- function(a, b, solve_m, tol) {
  r <- b
  p <- 0
  before <- 1
  count <- 0
  while (sqrt(sum(r^2)) > tol * sqrt(sum(b^2))) {
    z <- solve_m(r)
    rho <- sum(r * z)
    p <- if (count == 0) z else z + rho / before * p
    q <- as.vector(a %*% p)
    r <- r - rho / sum(p * q) * q
    before <- rho
    count <- count + 1
  }
  count
}

# IC(0) by its definition: the entries of L in the places of A, row by row, of a dense copy.
textbook_ic0 <- function(a) {
  a <- as.matrix(a)
  l <- matrix(0, nrow(a), nrow(a))
  for (i in seq_len(nrow(a))) {
    for (j in which(a[i, seq_len(i)] != 0)) {
      before <- seq_len(j - 1L)
      rest <- a[i, j] - sum(l[i, before] * l[j, before])
      l[i, j] <- if (i == j) sqrt(rest) else rest / l[j, j]
    }
  }
  l
}

# Relative residuals, of each right-hand side.
residuals_of <- function(a, x, b) {
  off <- as.matrix(b) - as.matrix(a %*% as.matrix(x))
  sqrt(colSums(off^2) / colSums(as.matrix(b)^2))
}

# Systems are solved to the tolerance; `k` is about the condition of the matrix.
expect_solved <- function(f, a, b, tol = f$tolerance, k = 1e4) {
  expect_s3_class(f, "pcg")
  expect_true(all(f$converged))
  expect_true(all(residuals_of(a, f$x, b) <= 1.01 * tol + 1e-14))
  expect_equal(as.vector(as.matrix(f$x)), as.vector(as.matrix(solve(as.matrix(a), as.matrix(b)))),
    tolerance = k * tol)
}
