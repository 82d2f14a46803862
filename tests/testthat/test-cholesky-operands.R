# What updates of Cholesky factors take and refuse, and in which words.

verbs <- list(
  update = function(r, ...) chol_update(r, seq_len(NROW(r)), ...),
  downdate = function(r, ...) chol_downdate(r, seq_len(NROW(r)) / 100, ...),
  drop = function(r, ...) chol_drop(r, 1, ...),
  insert = function(r, ...) chol_insert(r, 1, seq_len(NROW(r) + 1), ...)
)

refused <- function(expr, kind, text = NULL, info = NULL) {
  e <- tryCatch(expr, error = identity)
  expect_s3_class(e, paste0("cudafactor_error_", kind))
  if (!is.null(text)) expect_match(conditionMessage(e), text, fixed = TRUE, info = info)
  invisible(e)
}

letter_names <- function(a) {
  dimnames(a) <- rep(list(letters[seq_len(nrow(a))]), 2L)
  a
}

test_that("variables of a pivoted factor are those that its columns name", {
  set.seed(91)
  a <- letter_names(definite_matrix(4) + diag(c(0, 3, 1, 7)))
  q <- chol(a, pivot = TRUE)
  pivot <- attr(q, "pivot")
  expect_false(identical(pivot, 1:4))
  for (f in list(identity, function(x) as_gpu(x, "cpu"))) {
    for (variable in list("d", "a", c("b", "c"))) {
      left <- setdiff(colnames(q), variable)
      out <- chol_drop(f(q), variable)
      expect_identical(colnames(out), left)
      expect_equal(
        unname(fetched(crossprod(out))), unname(a[left, left, drop = FALSE]), info = variable
      )
      low <- chol_drop(f(t(q)), variable, lower = TRUE)
      expect_identical(rownames(low), left)
      expect_equal(
        unname(fetched(tcrossprod(low))), unname(a[left, left, drop = FALSE]), info = variable
      )
    }
  }
  # Row names stay in the order of before pivoting, as base R has them.
  expect_identical(rownames(q), letters[1:4])
  expect_identical(rownames(chol_drop(q, "d")), letters[1:3])
  expect_identical(colnames(chol_drop(t(q), "d", lower = TRUE)), letters[1:3])
  expect_identical(
    dimnames(chol_drop(q, 2)), list(setdiff(letters[1:4], colnames(q)[[2L]]), colnames(q)[-2L])
  )
  # In the order of the columns, and without the attributes of pivoting.
  v <- random_matrix(4, 2)
  up <- chol_update(q, v[pivot, ])
  expect_equal(unname(crossprod(up)), unname((a + tcrossprod(v))[pivot, pivot]))
  expect_identical(names(attributes(up)), c("dim", "dimnames"))
})

test_that("a pivoted factor without full rank is no factor", {
  x <- cbind(1, c(1, 2, 3, 5), 2, c(0, 1, 0, 0))
  for (q in list(
    suppressWarnings(chol(crossprod(x), pivot = TRUE)),
    suppressWarnings(gpu_chol(crossprod(x), pivot = TRUE))
  )) {
    expect_identical(attr(q, "rank"), 3L)
    calls <- c(
      lapply(verbs, function(f) function() f(q)),
      lapply(verbs, function(f) function() f(t(q), lower = TRUE)),
      list(
        function() chol_update(q, as_gpu(1:4, "cpu")),
        function() chol_insert(q, 2, as_gpu(1:5, "cpu"))
      )
    )
    for (f in calls) {
      e <- refused(
        f(), "singular",
        "'r' must have full rank, and its rank is 3 of 4: use its leading 3 rows and columns"
      )
      expect_identical(e$index, 4L)
    }
    block <- chol_update(q[1:3, 1:3], 1:3)
    expect_equal(crossprod(block), crossprod(q[1:3, 1:3]) + tcrossprod(1:3))
  }
})

test_that("matrices of package Matrix are read as they say they are", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  set.seed(92)
  a <- definite_matrix(4)
  up <- chol(a + tcrossprod(1:4))
  dense <- methods::as(methods::as(Matrix::Matrix(a), "denseMatrix"), "dpoMatrix")
  sparse <- Matrix::Matrix(a, sparse = TRUE)
  for (x in list(dense, sparse)) {
    for (f in verbs) refused(f(x), "type", "not a symmetric matrix: use chol(r)")
  }
  r <- chol(a)
  for (kind in list(
    methods::as(Matrix::triu(Matrix::Matrix(r)), "denseMatrix"),
    Matrix::triu(Matrix::Matrix(r, sparse = TRUE)), Matrix::chol(dense)
  )) {
    expect_true(methods::is(kind, "triangularMatrix"))
    expect_equal(chol_update(kind, 1:4), up, ignore_attr = TRUE)
    expect_equal(chol_update(Matrix::t(kind), 1:4, lower = TRUE), t(up), ignore_attr = TRUE)
    for (f in verbs) {
      e <- refused(
        f(kind, lower = TRUE), "argument",
        "'lower' must be FALSE, as 'r' is upper triangular: or use t(r)"
      )
      expect_identical(e$argument, "lower")
      e <- refused(
        f(Matrix::t(kind)), "argument",
        "'lower' must be TRUE, as 'r' is lower triangular: or use t(r)"
      )
      expect_identical(e$argument, "lower")
    }
  }
  expect_equal(chol_update(Matrix::Matrix(r, sparse = TRUE), 1:4), up, ignore_attr = TRUE)
  expect_equal(chol_update(Matrix::Diagonal(4), 1:4), chol_update(diag(4), 1:4))
  factorization <- Matrix::Cholesky(sparse)
  for (f in verbs) refused(
    f(factorization), "type", "'r' must be a Cholesky factor, as chol() gives it, not of class \""
  )
  refused(
    chol_update(r, factorization), "type",
    "'v' must be a vector or a matrix of numbers, not of class \""
  )
})

test_that("operands of different precision are those of the user's arguments", {
  r <- as_gpu(diag(3), "cpu", "single")
  expect_identical(refused(chol_update(r, as_gpu(1:3, "cpu")), "argument")$argument, "v")
  expect_identical(refused(chol_downdate(r, as_gpu(1:3, "cpu")), "argument")$argument, "v")
  expect_identical(refused(chol_insert(r, 1, as_gpu(1:4, "cpu")), "argument")$argument, "x")
})

test_that("text and factors are no numbers", {
  wrong <- list(
    factor = factor(1:3), text = c("1", "2", "3"), matrix = matrix(c("1", "2", "3")),
    raw = as.raw(1:3), data = data.frame(a = c("1", "2", "3")),
    factors = data.frame(a = factor(1:3)), levels = structure(factor(1:3), dim = c(3L, 1L))
  )
  for (name in names(wrong)) {
    v <- wrong[[name]]
    said <- "'v' must be a vector or a matrix of numbers, not of "
    refused(chol_update(diag(3), v), "type", said, name)
    refused(chol_downdate(as_gpu(diag(3), "cpu"), v), "type", said, name)
    refused(
      chol_insert(diag(2), 1, v), "type", "'x' must be a vector or a matrix of numbers, not of ",
      name
    )
  }
  frame <- data.frame(a = 1:3, b = c(TRUE, FALSE, TRUE))
  expect_identical(chol_update(diag(3), frame), chol_update(diag(3), as.matrix(frame)))
  expect_identical(chol_update(diag(3), c(TRUE, FALSE, TRUE)), chol_update(diag(3), c(1, 0, 1)))
  for (f in verbs) {
    refused(f(factor(4)), "type", "not of class \"factor\"")
    refused(f(matrix("4")), "type", "as chol() gives it, not of type \"character\"")
    refused(f("a.tiles"), "type", "open_tile_matrix(r)")
    refused(f(data.frame(a = "4")), "type", "not of type \"character\"")
  }
})

test_that("what is no matrix is said to be none", {
  fit <- stats::lm(dist ~ speed, datasets::cars)
  for (f in verbs) {
    refused(
      f(fit), "type", "'r' must be a Cholesky factor, as chol() gives it, not of class \"lm\""
    )
    refused(f(list(1, 2)), "type", "not of type \"list\"")
    refused(f(array(1, c(2, 2, 2))), "dimension", "'r' (2 x 2 x 2) must be a square matrix")
  }
  refused(
    chol_update(diag(2), fit), "type",
    "'v' must be a vector or a matrix of numbers, not of class \"lm\""
  )
})

test_that("observations in rows are asked about", {
  refused(
    chol_update(diag(3), matrix(1, 2, 3)), "dimension",
    "'v' (2 x 3) must be compatible with 'r' (3 x 3); did you mean t(v)?"
  )
  refused(
    chol_downdate(as_gpu(diag(3), "cpu"), t(1:3)), "dimension",
    "'v' (1 x 3) must be compatible with 'r' (3 x 3); did you mean t(v)?"
  )
  e <- refused(chol_update(diag(3), matrix(1, 2, 2)), "dimension")
  expect_identical(conditionMessage(e), "'v' (2 x 2) must be compatible with 'r' (3 x 3)")
})
