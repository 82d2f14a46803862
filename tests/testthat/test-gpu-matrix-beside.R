# A gpu_matrix together with the classes of package Matrix, in either order of loading, attached or
# not.

script <- c(
  "x <- matrix(c(4, 1, 0, 1, 5, 2, 0, 2, 6), 3)",
  "of <- function(class)",
  "  methods::as(methods::as(Matrix::Matrix(x, sparse = TRUE), 'generalMatrix'), class)",
  "others <- list(of('CsparseMatrix'), methods::as(c(1, 0, 2), 'sparseVector'))",
  "if (thorough) others <- c(others, of('TsparseMatrix'), Matrix::Matrix(x, sparse = FALSE),",
  "  Matrix::Diagonal(3, 2),",
  "  Matrix::triu(others[[1]]), methods::as(3:1, 'pMatrix'), others[[1]] != 0)",
  "calls <- expression(g + m, m + g, m - g, g * m, m / g, g^m, g %% (m + 1), g > m, m > g, g == m,",
  "  g & m, m | g, g %*% m, m %*% g)",
  "more <- expression(solve(g, m), cbind(g, m), rbind(m, g), all.equal(g, m))",
  "plain <- function(v) if (inherits(v, 'sparseVector')) as.vector(v) else if (isS4(v))",
  "  as.matrix(v) else v",
  "check <- function(device) {",
  "  g <- cudafactor::as_gpu(x, device)",
  "  for (m in others) for (call in c(as.list(calls), if (!is.null(dim(m))) as.list(more))) {",
  "    ours <- eval(call, list(g = g, m = m))",
  "    base <- eval(call, list(g = x, m = plain(m)))",
  "    arithmetic <- is.numeric(base) && is.matrix(base)",
  "    if (isS4(ours) != arithmetic || !isTRUE(all.equal(unname(plain(ours)), unname(base))))",
  "      cat(class(m), deparse(call), '\\n')",
  "  }",
  "}",
  "check('cpu')",
  "if (cudafactor::gpu_available()) check('cuda')",
  "m <- others[[1]]",
  "stopifnot(Matrix::norm(m) == norm(x), suppressWarnings(Matrix::rcond(m)) > 0,",
  "  Matrix::rowSums(m) == rowSums(x), isTRUE(all.equal(m, m)), methods::is(m + m, 'Matrix'))"
)

attached <- c(
  "g <- as_gpu(x, 'cpu')",
  "stopifnot(norm(m) == base::norm(x), norm(g) == base::norm(x), norm(m, 'F') == norm(g, 'F'),",
  "  rcond(g) > 0, suppressWarnings(rcond(m)) > 0, norm(x) == norm(g))",
  "stopifnot(methods::is(qr.Q(qr(m)), 'Matrix'), identical(dim(qr.Q(qr(g))), c(3L, 3L)),",
  "  diag(m) == diag(g))",
  "stopifnot(all.equal(m, g), all.equal(g, m), !isTRUE(all.equal(m + 1, g)), all.equal(g, x))",
  "two <- m[, 1:2]",
  "stopifnot(all.equal(as.matrix(crossprod(g, two)), crossprod(x, x[, 1:2])),",
  "  all.equal(as.matrix(tcrossprod(g, t(two))), x %*% x[, 1:2]))"
)

expect_all <- function(...) {
  child <- run_child(c(..., "cat('end')"))
  expect_identical(child, list(status = 0L, output = "end"))
}

test_that("operators and products take both", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  expect_all(
    "ns <- c(loadNamespace('cudafactor'), loadNamespace('Matrix'))", "thorough <- TRUE", script,
    "library(cudafactor)", "library(Matrix)", attached
  )
  expect_all("library(Matrix)", "library(cudafactor)", "thorough <- FALSE", script, attached)
})

test_that("package Matrix works after this one is unloaded", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  load <- "ns <- loadNamespace('cudafactor')"
  unload <- "unloadNamespace('cudafactor')"
  detach <- "detach('package:cudafactor', unload = TRUE)"
  orders <- list(
    c("library(Matrix)", load, unload), c(load, "library(Matrix)", unload),
    c("library(Matrix)", "library(cudafactor)", detach),
    c("library(cudafactor)", "library(Matrix)", detach),
    c("library(Matrix)", load, unload, load, unload), c(load, unload, "library(Matrix)")
  )
  for (order in orders) expect_all(
    order, "x <- matrix(c(2, 1, 1, 3), 2)",
    "for (m in list(Matrix(x), Matrix(x, sparse = TRUE), as(x, 'generalMatrix'), x))",
    "  stopifnot(norm(m) == 4, norm(m, 'I') == 4, all.equal(suppressWarnings(rcond(m)), 0.3125),",
    "    all.equal(as.matrix(solve(m)), base::solve(x)), rowSums(m) == 3:4, diag(m) == 2:3,",
    "    as.matrix(crossprod(m)) == base::crossprod(x), as.matrix(m %*% m) == x %*% x)"
  )
})

test_that("norm() and rcond() need no second argument, also after package Matrix is unloaded", {
  check <- c("x <- table(c(1, 1, 2), c(1, 2, 2))",
    "stopifnot(norm(x) == base::norm(x), rcond(x) == base::rcond(x), norm(as_gpu(x)) == norm(x))")
  expect_all("library(cudafactor)", check)
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  expect_all(
    "ns <- loadNamespace('Matrix')", "library(cudafactor)", "unloadNamespace('Matrix')", check
  )
})
