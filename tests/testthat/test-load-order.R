# Sessions that attach this package and another that has matrix classes, in both orders: nothing
# more is printed than the other package prints alone, and the answers are base R's.

# `other` is an operand of a class of the package's, with the values of `x`.
answers <- c(
  "x <- matrix(c(4, 1, 0, 1, 5, 2, 0, 2, 6), 3)",
  "g <- as_gpu(x, 'cpu')",
  "is_ours <- function(ours, base) methods::is(ours, 'gpu_matrix') &&",
  "  identical(as.matrix(ours), base)",
  "products <- expression(g %*% m, m %*% g, crossprod(g, m), crossprod(m, g), tcrossprod(g, m),",
  "  tcrossprod(m, g),",
  "  g + m, m * g, cbind(g, m))",
  "values <- expression(isSymmetric(g), rowSums(g), colMeans(g), norm(g), norm(g, 'F'), rcond(g),",
  "  diag(g), det(g), g > 1,",
  "  solve(g, 1:3), qr.coef(qr(g), 1:3), sum(g), range(g), apply(g, 1, max), as.vector(g),",
  "  dim(t(g)), isSymmetric(g[, 3:1]), svd(g)$d, eigen(g)$values, La.svd(g, 0, 0)$d, kappa(g))",
  "plain <- expression(rowSums(x), norm(x), crossprod(x), x %*% x, diag(x), solve(x),",
  "  chol2inv(chol(x)), backsolve(chol(x), 1:3),",
  "  qr.Q(qr(x)), isSymmetric(x), all.equal(x, x), rcond(x), unname(x), t(x), svd(x), eigen(x),",
  "  La.svd(x))",
  "check <- function(other) {",
  "  wrong <- function(call) cat('differs:', deparse(call), '\\n')",
  "  for (call in as.list(products))",
  "    if (!is_ours(eval(call, list(g = g, m = other)), eval(call, list(g = x, m = x))))",
  "      wrong(call)",
  "  for (call in as.list(values))",
  "    if (!isTRUE(base::all.equal(eval(call), eval(call, list(g = x))))) wrong(call)",
  "  for (call in as.list(plain))",
  "    if (!identical(eval(call), eval(call, list2env(list(x = x), parent = baseenv()))))",
  "      wrong(call)",
  "  stopifnot(isTRUE(all.equal(g, other)), !isTRUE(all.equal(g, other * 2)))",
  "}"
)

attach <- function(packages) sprintf("library(%s)", packages)

expect_quiet_and_right <- function(package, other, more = character()) {
  skip_if_not(requireNamespace(package, quietly = TRUE), paste(package, "is not installed"))
  alone <- run_child(attach(package))
  expect_identical(alone$status, 0L)
  for (order in list(c(package, "cudafactor"), c("cudafactor", package))) {
    child <- run_child(c(attach(order), answers, sprintf("check(%s)", other), more))
    expect_identical(child, alone, info = paste(order, collapse = ", then "))
  }
}

test_that("with Matrix", {
  more <- c(
    "m <- Matrix(x, sparse = TRUE)",
    "stopifnot(isTRUE(all.equal(m, g)), !isTRUE(all.equal(m + 1, g)),",
    "  isTRUE(all.equal(Matrix(x, sparse = FALSE), g)))",
    "stopifnot(isTRUE(all.equal(m, m)), is(m %*% m, 'Matrix'), rowSums(m) == rowSums(x),",
    "  norm(m) == norm(g))",
    "for (d in list(m, Matrix(x, sparse = FALSE), Matrix(x + 0 * 1:9, sparse = FALSE),",
    "               Matrix(crossprod(x)), forceSymmetric(Matrix(x)), Diagonal(3)))",
    "  stopifnot(is(solve(d, g), 'gpu_matrix'),",
    "    isTRUE(base::all.equal(as.matrix(solve(d, g)), base::solve(as.matrix(d), x))))",
    "for (f in list(Cholesky(m), qr(m)))",
    "  stopifnot(isTRUE(base::all.equal(as.matrix(solve(f, g)), diag(3))))",
    "check(Matrix(x, sparse = FALSE))"
  )
  expect_quiet_and_right("Matrix", "Matrix(x, sparse = TRUE)", more)
})

test_that("with lme4, whose models are what they are without this package", {
  fit <-
    "cat(format(fixef(lmer(Reaction ~ Days + (Days | Subject), lme4::sleepstudy)), digits = 6))"
  expect_quiet_and_right("lme4", "Matrix(x, sparse = TRUE)")
  without <- run_child(c("suppressMessages(library(lme4))", fit))
  expect_identical(without$status, 0L)
  expect_identical(run_child(c("suppressMessages(library(lme4))", "library(cudafactor)", fit)),
    without)
})

test_that("with DelayedArray", {
  more <- c("if (isClass('SVT_SparseMatrix')) check(as(x, 'SVT_SparseMatrix'))",
    "stopifnot(identical(rowSums(DelayedArray(x)), base::rowSums(x)))")
  expect_quiet_and_right("DelayedArray", "DelayedArray(x)", more)
})

test_that("with float", {
  more <- "stopifnot(identical(dbl(crossprod(fl(x))), base::crossprod(x)), is.float(chol(fl(x))))"
  expect_quiet_and_right("float", "fl(x)", more)
})
