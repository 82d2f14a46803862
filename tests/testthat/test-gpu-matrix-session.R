# The class in other sessions: attached or not, with Matrix, in another package, in a restored file,
# under pressure of the collector.

expect_child <- function(code, output, libraries = NULL) {
  child <- run_child(code, if (!is.null(libraries))
    paste0("R_LIBS=", paste(c(libraries, .libPaths()), collapse = .Platform$path.sep)))
  expect_identical(child$status, 0L, info = child$output)
  expect_identical(child$output, output)
}

# What works in every session, with `as_gpu` and `as.matrix` alone to name.
chain <- c(
  "x <- matrix(c(4, 1, 0, 1, 5, 2, 0, 2, 6), 3)",
  "g <- cudafactor::as_gpu(x)",
  "close <- function(g, x) isTRUE(all.equal(if (isS4(g)) as.matrix(g) else g, x))",
  "answers <- c(close(g %*% x, x %*% x), close(x %*% g, x %*% x), close(chol(g), chol(x)),",
  "  close(solve(g), solve(x)),",
  "  close(solve(g, 1:3), solve(x, 1:3)), close(solve(qr(g), 1:3), solve(x, 1:3)),",
  "  close(det(g), det(x)), close(svd(g)$d, svd(x)$d), close(eigen(g)$values, eigen(x)$values),",
  "  close(kappa(g), kappa(x)), close(abs(prcomp(g)$rotation), abs(prcomp(x)$rotation)),",
  "  close(determinant(g), determinant(x)),",
  "  close(cudafactor::gpu_crossprod(g), base::crossprod(x)),",
  "  close(cudafactor::gpu_qr.Q(qr(g)), qr.Q(qr(x))), identical(dim(g), dim(x)), nrow(g) == 3L,",
  "  is.matrix(g))"
)

# What needs the package attached or imported, before R 4.4.
more <- c(
  "attached <- c(close(crossprod(g), crossprod(x)), close(crossprod(x, g), crossprod(x)),",
  "  close(tcrossprod(g, x), tcrossprod(x)),",
  "  close(solve(x, g), diag(3)), close(chol2inv(chol(g)), chol2inv(chol(x))),",
  "  close(backsolve(chol(g), g), backsolve(chol(x), x)),",
  "  close(forwardsolve(x, g), forwardsolve(x, x)), close(qr.Q(qr(g)), qr.Q(qr(x))),",
  "  close(qr.R(qr(g)), qr.R(qr(x))),",
  "  close(qr.coef(qr(g), x), qr.coef(qr(x), x)), close(qr.qty(qr(g), x), qr.qty(qr(x), x)),",
  "  close(qr.qy(qr(g), x), qr.qy(qr(x), x)))"
)

test_that("methods are found where the package is not attached", {
  expect_child(c(chain, "cat(all(answers))"), "TRUE")
})

test_that("attaching masks nothing and says nothing", {
  expect_child(c("library(cudafactor)", chain, more, "cat(all(answers, attached))"), "TRUE")
})

# Base R's functions that attaching makes generic: what they do of plain data is compared with base
# R, before and after.
plain_data <- c(
  "mine <- function()",
  "  stop(structure(class = c('mine', 'error', 'condition'), list(message = 'm', call = NULL)))",
  "generics <- c('as.qr', 'backsolve', 'chol2inv', 'colMeans', 'colSums', 'crossprod', 'diag',",
  "  'diag<-', 'eigen', 'forwardsolve', 'La.svd', 'norm', 'qr.Q', 'qr.R', 'qr.X', 'svd',",
  "  'qr.coef', 'qr.fitted', 'qr.qty', 'qr.qy', 'qr.resid', 'qr.solve', 'rcond', 'rowMeans',",
  "  'rowSums', 'solve', 'tcrossprod')",
  "# From R 4.5 on the first class of a missing argument's error tells whether R had compiled",
  "# the function.",
  "classes <- function(e) setdiff(class(e), c('getvarError', 'evalError'))",
  "outcome <- function(call) tryCatch({eval(call); 'a value'},",
  "  error = function(e) list(conditionMessage(e), deparse(conditionCall(e)), classes(e)))",
  "# An error in each argument that base R's function has, with valid operands.",
  "failures <- function(name) {",
  "  arguments <- setdiff(names(formals(get(name, baseenv()))), c('...', 'LINPACK'))",
  "  sound <- list(x = quote(diag(2)), y = 1:2, a = quote(diag(2)), b = 1:2, r = quote(diag(2)),",
  "    l = quote(diag(2)), qr = quote(qr(diag(2))), value = 1:2)",
  "  lapply(setNames(nm = arguments), function(a) {",
  "    values <- sound[intersect(arguments, names(sound))]",
  "    values[[a]] <- quote(mine())",
  "    outcome(as.call(c(as.name(name), values)))",
  "  })",
  "}",
  "wrong <- expression(rowSums('a'), colSums(1:3), rowMeans('a'), rowSums(), norm('a'),",
  "  norm(diag(2), 'Q'), norm(), diag('a', 1:2), crossprod('a'),",
  "  crossprod(1:2, 1:3), crossprod(), tcrossprod('a'), tcrossprod(diag(2), 1:3),",
  "  solve(diag(2), 1:3), solve('a', 1), solve(), backsolve(diag(2), 1:3),",
  "  backsolve(diag(2)), forwardsolve(diag(2), 1:3), forwardsolve(), qr.coef(1, 2),",
  "  qr.coef(qr(diag(2)), 1:3), qr.Q(1), qr.R(1), qr.X(1), qr.qy(1, 2),",
  "  qr.qty(1, 2), qr.fitted(1, 2), qr.resid(1, 2), qr.solve(diag(2), 1:3),",
  "  qr.solve(matrix(1, 2, 2)), as.qr(), rowSums(diag(2), dims = 3), cor('a'), var('a'),",
  "  eigen('a'), eigen(matrix(1, 2, 3)), eigen(), eigen(diag(2), only.values = NA),",
  "  La.svd('a'), La.svd(), La.svd(matrix(0, 0, 1)), La.svd(diag(2), tol = 1))",
  "look <- function()",
  "  suppressWarnings(c(lapply(setNames(nm = generics), failures), lapply(wrong, outcome)))",
  "base <- look()"
)

compare_plain_data <- c(
  "stopifnot(",
  "  setequal(setdiff(intersect(ls('package:cudafactor'), c(ls(baseenv()), ls('package:stats'))),",
  "    c('cor', 'cov', 'lm.fit', 'lm.wfit')), if (getRversion() < '4.4.0') generics else",
  "  setdiff(generics, c('crossprod', 'tcrossprod'))))",
  "caught <- vapply(unlist(base[generics], recursive = FALSE),",
  "  function(found) identical(found, list('m', 'NULL', c('mine', 'error', 'condition'))), NA)",
  "stopifnot(sum(caught) > 35)",
  "mine <- function()",
  "  stop(structure(class = c('mine', 'error', 'condition'), list(message = 'm', call = NULL)))",
  "for (f in list(cor, cov, function(x) lm.fit(x, 1), function(y) lm.fit(diag(2), y)))",
  "  stopifnot(tryCatch(f(mine()), mine = function(e) TRUE))",
  "# Base R's as.qr() is an error whatever its argument, and does not look at it.",
  "base$as.qr$x <- list('m', 'NULL', c('mine', 'error', 'condition'))",
  "ours <- look()",
  "for (k in seq_along(base))",
  "  if (!identical(ours[[k]], base[[k]])) cat(names(base)[[k]],",
  "    if (k > length(generics)) deparse(wrong[[k - length(generics)]]), '\\n')",
  "# Of these the call is another, and no class.",
  "stopifnot(identical(outcome(quote(rcond('a')))[c(1, 3)],",
  "  outcome(quote(base::rcond('a')))[c(1, 3)]))",
  "for (x in list('a', NA, matrix(0, 0, 2))) stopifnot(identical(",
  "  outcome(bquote(svd(.(x))))[c(1, 3)], outcome(bquote(base::svd(.(x))))[c(1, 3)]))",
  "cat('end')"
)

test_that("errors in arguments and errors of plain data are base R's where the package is attached",
    {
  expect_child(c(plain_data, "library(cudafactor)", compare_plain_data), "end")
})

test_that("they are with Matrix as well", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  expect_child(c(plain_data, "library(Matrix)", "library(cudafactor)", compare_plain_data), "end")
  expect_child(c(plain_data, "ns <- loadNamespace('cudafactor')", "library(Matrix)",
    "library(cudafactor)", compare_plain_data), "end")
})

test_that("the class works with Matrix, in either order", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  mixed <- c(
    "M <- Matrix::Matrix(x, sparse = TRUE)",
    "mixed <- c(close(g %*% M, x %*% x), close(M %*% g, x %*% x),",
    "  close(crossprod(M, g), crossprod(x)),",
    "  close(solve(g, M), diag(3)), close(as.matrix(crossprod(M)), crossprod(x)),",
    "  close(as.matrix(solve(M)), solve(x)))",
    "cat(all(answers, attached, mixed))"
  )
  expect_child(c("library(Matrix)", "library(cudafactor)", chain, more, mixed), "TRUE")
  expect_child(c("library(cudafactor)", "library(Matrix)", chain, more, mixed), "TRUE")
  expect_child(c("loadNamespace('Matrix') -> ns", chain, "cat(all(answers))"), "TRUE")
})

test_that("lu() of package Matrix takes a gpu_matrix, whichever is loaded first", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  check <- c(
    "x <- matrix(c(4, 1, 0, 1, 5, 2, 0, 2, 6), 3)",
    "f <- Matrix::lu(cudafactor::as_gpu(x))",
    "plain <- Matrix::lu(x)",
    "singular <- tryCatch(Matrix::lu(cudafactor::as_gpu(0 * x)), warning = function(w) 'warned')",
    "silent <- Matrix::lu(cudafactor::as_gpu(0 * x), warnSing = FALSE)$singular",
    "cat(class(f), all.equal(solve(f, 1:3), solve(x, 1:3)), is(plain, 'denseLU'), singular, silent)"
  )
  answer <- "gpu_lu TRUE TRUE warned 1"
  expect_child(c("loadNamespace('cudafactor') -> ns", check), answer)
  expect_child(c("loadNamespace('Matrix') -> ns", check), answer)
  expect_child(c("library(Matrix)", "library(cudafactor)", check), answer)
})

test_that("another package imports the methods", {
  folder <- tempfile("library")
  source <- file.path(tempfile("source"), "importer")
  dir.create(folder)
  dir.create(file.path(source, "R"), recursive = TRUE)
  on.exit(unlink(c(folder, dirname(source)), recursive = TRUE))
  writeLines(c("Package: importer", "Version: 0.1", "Title: Test", "Description: Test.",
    "License: MIT", "Imports: cudafactor"),
    file.path(source, "DESCRIPTION"))
  writeLines(c("import(cudafactor)", "export(check)"), file.path(source, "NAMESPACE"))
  writeLines(c("check <- function() {", chain, more, "all(answers, attached)", "}"),
    file.path(source, "R", "check.R"))
  install <- suppressWarnings(system2(
    file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-docs", "--no-test-load", "-l", shQuote(folder), shQuote(source)),
    stdout = TRUE, stderr = TRUE, env = child_library()
  ))
  expect_null(attr(install, "status"), info = install)
  expect_child("cat(importer::check())", "TRUE", libraries = folder)
})

test_that("a file or another process has no values, and says what to do", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(list(g = as_gpu(diag(2)), f = qr(as_gpu(diag(2))), lu = gpu_lu(as_gpu(diag(2)))), file)
  expect_child(c(
    sprintf("saved <- readRDS('%s')", file),
    "library(cudafactor)",
    "classes <- vapply(list(function() as.matrix(saved$g), function() saved$g %*% diag(2),",
    "  function() chol(saved$g),",
    "  function() solve(saved$g), function() qr.R(saved$f), function() solve(saved$lu, 1:2),",
    "  function() crossprod(saved$g)),",
    "  function(f) tryCatch(f(), error = function(e) class(e)[[1]]), '')",
    "cat(unique(classes), dim(saved$g), '')",
    "cat(capture.output(print(saved$g))[[1]])"
  ), sprintf("cudafactor_error_stale 2 2 <gpu_matrix 2 x 2 double, %s, 32 bytes>",
  as_gpu(1)@device))
})

test_that("results survive garbage collection at every third allocation", {
  expect_child(c(
    "library(cudafactor)",
    "x <- matrix(c(4, 1, 2, 1, 5, 3, 2, 3, 6), 3, dimnames = list(letters[1:3], LETTERS[1:3]))",
    "work <- function() {",
    "  g <- as_gpu(x)",
    "  parts <- list(g %*% x, crossprod(g), chol(g), chol2inv(g), solve(g), solve(g, x),",
    "    backsolve(g, x), qr.Q(qr(g)), qr.R(qr(g)),",
    "    qr.coef(qr(g), x), solve(gpu_lu(g), x), as_gpu(g, precision = 'single'))",
    "  c(lapply(parts, as.matrix), list(solve(g, 1:3), determinant(g), capture.output(print(g))))",
    "}",
    "expected <- work()",
    "invisible(gctorture2(3))",
    "found <- work()",
    "invisible(gctorture2(0))",
    "cat(identical(found, expected))"
  ), "TRUE")
})
