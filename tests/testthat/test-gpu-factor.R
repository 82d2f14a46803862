# What base R's functions do with a factor that is spread over several GPUs, and what a right-hand
# side may be.

spread <- function(x, tile = 8L) spread_factor(x, NULL, "cpu", tile, quote(chol_gpus(x)))

# A factor of order n in each form that chol_solve() takes.
factors_of <- function(x) {
  file <- tempfile(fileext = ".tiles")
  list(
    plain = chol(x), resident = as_gpu(chol(x), "cpu"), spread = spread(x),
    file = chol_file(tile_matrix(unname(x), file, triangle = TRUE, tile = 8), device = "cpu")
  )
}

test_that("a right-hand side of package Matrix, or on disk, is a matrix", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "package Matrix is not installed")
  set.seed(1)
  x <- named(definite_matrix(20))
  b <- random_matrix(20, 3)
  on_disk <- tile_matrix(b, tempfile(fileext = ".tiles"), tile = 8)
  sparse <- Matrix::Matrix(diag(20), sparse = TRUE)
  factors <- factors_of(x)
  on.exit(unlink(c(factors$file$path, on_disk$path)))
  for (kind in names(factors)) {
    r <- factors[[kind]]
    wanted <- if (kind == "file") unname(x) else x
    expect_equal(fetched(chol_solve(r, Matrix::Matrix(b))), solve(wanted, b), info = kind)
    expect_equal(fetched(chol_solve(r, Matrix::Matrix(b[, 1, drop = FALSE]))),
      solve(wanted, b[, 1, drop = FALSE]), info = kind)
    expect_equal(fetched(chol_solve(r, sparse)), solve(wanted, diag(20)), info = kind)
    expect_equal(fetched(chol_solve(r, Matrix::Diagonal(20))), solve(wanted, diag(20)), info = kind)
    expect_equal(fetched(chol_solve(r, on_disk)), solve(wanted, b), info = kind)
  }
  for (r in factors[c("spread", "file")]) {
    expect_equal(unname(solve(r, Matrix::Matrix(b))), unname(solve(chol(x), b)))
  }
})

test_that("the solution has no attributes of the right-hand side but its names of columns", {
  set.seed(2)
  x <- named(definite_matrix(10))
  sides <- list(
    ts(1:10), structure(1:10, class = "other", note = "k"),
    structure(matrix(1:20 + 0, 10), class = "other", note = "k"), as.Date("2024-01-01") + 1:10,
    as.difftime(1:10, units = "secs"), factor(letters[1:10]), table(letters[1:10]), array(1:10, 10),
    as.list(1:10), c(TRUE, rep(FALSE, 9)),
    stats::setNames(1:10 + 0, letters[1:10]), named(random_matrix(10, 2))
  )
  for (b in sides) {
    expect_identical(shape_of(chol_solve(spread(x), b)), shape_of(chol_solve(chol(x), b)))
    expect_equal(chol_solve(spread(x), b), chol_solve(chol(x), b))
  }
  expect_warning(chol_solve(chol(x), letters[1:10]), class = "cudafactor_warning_coercion")
})

test_that("what is no right-hand side, no factor or no setting is an error", {
  x <- diag(4, 10)
  factors <- factors_of(x)
  on.exit(unlink(factors$file$path))
  for (r in factors) {
    for (b in list(lazy_covariance(1:10), spread(x), qr(x), gpu_lu(x))) {
      e <- expect_error(chol_solve(r, b), "'b' must be a vector or a matrix of numbers",
        class = "cudafactor_error_type")
      expect_identical(conditionCall(e)[[1L]], quote(chol_solve))
    }
    expect_error(chol_solve(r, 1:10, device = "nonsense"),
      class = "cudafactor_error_argument")
    expect_error(chol_solve(r, 1:10, device = 1), class = "cudafactor_error_argument")
    expect_error(chol_solve(r, 1:10, host_memory = "nonsense"), class = "cudafactor_error_argument")
    expect_error(chol_solve(r, 1:10, gpu_memory = -1), class = "cudafactor_error_argument")
    expect_error(chol2inv_diag(r, host_memory = "nonsense"), class = "cudafactor_error_argument")
    expect_error(chol2inv_diag(r, device = "nonsense"),
      class = "cudafactor_error_argument")
  }
  for (r in list(lazy_covariance(1:10), qr(x), gpu_lu(x))) {
    expect_error(chol_solve(r, 1:10), "'r' must be a Cholesky factor",
      class = "cudafactor_error_type")
    expect_error(chol2inv_diag(r), "'r' must be a Cholesky factor", class = "cudafactor_error_type")
  }
})

test_that("a factor cannot be changed in part", {
  x <- named(diag(4, 10))
  r <- spread(x)
  changes <- list(
    function(r) diag(r) <- 1, function(r) r[1] <- 1, function(r) r[1, 1] <- 1,
    function(r) r[[1]] <- 1, function(r) r$tiles <- 1, function(r) r$other <- 1,
    function(r) r$tiles[[1]][1, 1] <- 5, function(r) names(r) <- letters[1:5],
    function(r) dim(r) <- c(5, 20), function(r) dimnames(r) <- NULL,
    function(r) rownames(r) <- NULL, function(r) length(r) <- 2, function(r) levels(r) <- "a",
    function(r) is.na(r) <- 1, function(r) base::diag(r) <- 1
  )
  for (change in changes) {
    expect_error(change(r), "cannot be changed in part", class = "cudafactor_error_argument",
      info = deparse(change))
  }
  expect_equal(as.matrix(r), chol(x))
})

test_that("what base R's functions cannot do with a factor they say", {
  r <- spread(named(diag(4, 10)))
  z <- matrix(1, 10, 1)
  calls <- alist(
    r[1], r[1, 2], r[1, ], head(r), tail(r), c(r, r), rep(r, 2), rev(r), sort(r), unique(r),
    duplicated(r), anyDuplicated(r), cbind(r, 1), cbind(1, r), rbind(r, r),
    is.na(r), anyNA(r), mean(r), summary(r), isSymmetric(r), as.vector(r), as.numeric(r),
    as.double(r), as.data.frame(r), r + 1, 1 - r, -r, r == r, !r, r + r,
    log(r), round(r), cumsum(r), sum(r), max(r), range(r), norm(r), norm(r, "F"), rcond(r),
    colSums(r), rowSums(r), colMeans(r), rowMeans(r), outer(r, 1),
    as.integer(r), as.logical(r), as.complex(r), Re(r), Mod(r)
  )
  for (wrong in calls) {
    e <- expect_error(eval(wrong), "as.matrix", class = "cudafactor_error_type",
      info = deparse(wrong))
    expect_match(conditionMessage(e), "chol_solve", fixed = TRUE)
  }
  e <- expect_error(mean(r), class = "cudafactor_error")
  expect_identical(conditionCall(e), quote(mean(r)))
  expect_match(conditionMessage(e), "there is no 'mean' for a factor of chol_gpus()", fixed = TRUE)
  expect_match(conditionMessage(expect_error(r[1, 2])), "there is no '['", fixed = TRUE)
  expect_identical(unname(as.list(conditionCall(expect_error(sum(r))))[1:2]),
    list(quote(sum), quote(x)))
  expect_silent(try(norm(r), silent = TRUE))
  expect_error(t(r), "transpose", class = "cudafactor_error_type")
  expect_identical(conditionCall(expect_error(round(r, 2))), quote(round(x, 2)))
  expect_error(summary(object = r), class = "cudafactor_error_type")
  # A gpu_matrix as the other operand
  for (op in list(`+`, `==`)) {
    expect_error(op(r, as_gpu(diag(10), "cpu")), "as.matrix", class = "cudafactor_error_type")
    expect_error(op(as_gpu(diag(10), "cpu"), r), "as.matrix", class = "cudafactor_error_type")
  }
  expect_equal(as.array(r), as.matrix(r))
  expect_equal(chol2inv(r), chol2inv(as.matrix(r)))
  expect_equal(chol2inv(r, 3), chol2inv(as.matrix(r), 3))
  expect_equal(gpu_chol2inv(r), chol2inv(as.matrix(r)))
  expect_equal(svd(r)$d, svd(as.matrix(r))$d)
  expect_equal(apply(r, 1, sum), apply(as.matrix(r), 1, sum))
})

test_that("diagonals, products and triangular systems are computed tile by tile", {
  for_each_device(function(device) {
    set.seed(3)
    # Tiles of 128: one, some, and a last one that is not full.
    for (n in c(1L, 2L, 128L, 129L, 300L)) {
      x <- named(definite_matrix(n))
      r <- chol_gpus(x, device = device)
      plain <- chol(x)
      z <- named(random_matrix(n, 2))
      expect_equal(diag(r), diag(plain), tolerance = 1e-10, info = n)
      expect_as_base(r %*% z, plain %*% z, info = n)
      expect_as_base(t(z) %*% r, t(z) %*% plain, info = n)
      expect_as_base(crossprod(r, z), crossprod(plain, z), info = n)
      expect_as_base(crossprod(z, r), crossprod(z, plain), info = n)
      expect_as_base(tcrossprod(r, t(z)), tcrossprod(plain, t(z)), info = n)
      expect_as_base(tcrossprod(t(z), r), tcrossprod(t(z), plain), info = n)
      expect_as_base(r %*% 1:n, plain %*% 1:n, info = n)
      expect_as_base(gpu_crossprod(r, z), crossprod(plain, z), info = n)
      expect_as_base(gpu_matmult(r, 1:n), plain %*% 1:n, info = n)
      expect_equal(crossprod(r, as_gpu(z, device)), crossprod(plain, z), tolerance = 1e-10)
      expect_equal(as_gpu(t(z), device) %*% r, t(z) %*% plain, tolerance = 1e-10)
      for (transpose in c(FALSE, TRUE)) {
        expect_as_base(backsolve(r, z, transpose = transpose),
          backsolve(plain, z, transpose = transpose), info = n)
        expect_as_base(backsolve(r, 1:n, transpose = transpose),
          backsolve(plain, 1:n, transpose = transpose), info = n)
        expect_as_base(gpu_backsolve(r, z, transpose = transpose),
          backsolve(plain, z, transpose = transpose), info = n)
        for (k in unique(pmin(n, c(1L, 128L, 130L)))) {
          expect_as_base(backsolve(r, z, k, transpose = transpose),
            backsolve(plain, z, k, transpose = transpose), info = k)
        }
      }
      expect_equal(backsolve(r, as_gpu(z, device)), backsolve(plain, z), tolerance = 1e-10)
      expect_as_base(forwardsolve(r, z, upper.tri = TRUE, transpose = TRUE),
        forwardsolve(plain, z, upper.tri = TRUE, transpose = TRUE), info = n)
      expect_as_base(solve(r, z), solve(plain, z), info = n)
      expect_as_base(solve(r, 1:n), solve(plain, 1:n), info = n)
      expect_as_base(solve(r), solve(plain), info = n)
      expect_equal(solve(r, as_gpu(z, device)), solve(plain, z), tolerance = 1e-10)
    }
  })
})

test_that("of a diagonal tile only the upper triangle is multiplied, and base R takes the rest", {
  set.seed(4)
  x <- definite_matrix(21)
  r <- spread(x)
  plain <- chol(x)
  tiles <- r$tiles
  for (k in 1:3) {
    at <- tile_place(k, k)
    noise <- as.matrix(tiles[[at]])
    noise[lower.tri(noise)] <- NaN
    tiles[[at]] <- as_gpu(noise, "cpu")
  }
  r <- new_gpu_factor(tiles, r$n, r$tile, NULL)
  z <- random_matrix(21, 4)
  expect_equal(r %*% z, plain %*% z)
  expect_equal(crossprod(r, z), crossprod(plain, z))
  expect_equal(diag(r), diag(plain))
  z[20, 1] <- NaN
  z[3, 2] <- Inf
  z[12, 3] <- -Inf
  for (op in list(`%*%`, crossprod)) {
    expect_identical(is.finite(op(r, z)), is.finite(op(plain, z)))
    expect_equal(op(r, z)[, 4], op(plain, z)[, 4])
  }
  expect_as_base(r %*% matrix(0, 21, 0), plain %*% matrix(0, 21, 0))
  expect_as_base(r %*% 1:20, plain %*% 1:20)
  expect_as_base(crossprod(r, "a"), crossprod(plain, "a"))
  for (wrong in alist(crossprod(r), tcrossprod(r), r %*% r, crossprod(r, r))) {
    expect_error(eval(wrong), "as.matrix", class = "cudafactor_error_argument")
  }
  for (wrong in alist(r %*% (1i * 1:21), chol_solve(r, 1i * 1:21), solve(r, 1i * 1:21),
      backsolve(r, 1i * 1:21))) {
    expect_error(eval(wrong), "as.matrix() of the factor", fixed = TRUE,
      class = "cudafactor_error_type")
  }
  expect_error(forwardsolve(r, 1:21), "backsolve(r, b, transpose = TRUE)", fixed = TRUE,
    class = "cudafactor_error_argument")
  e <- expect_error(solve(plain, r), "'b' must be a vector or a matrix of numbers",
    class = "cudafactor_error_type")
  expect_identical(conditionCall(e), quote(solve(plain, r)))
  expect_error(solve(as_gpu(plain, "cpu"), r), class = "cudafactor_error_type")
  expect_error(solve(r, r), class = "cudafactor_error_type")
  expect_error(forwardsolve(r, 1:21), "upper.tri", class = "cudafactor_error_argument")
  expect_error(backsolve(r, 1:21, k = 22), class = "cudafactor_error_argument")
  expect_error(backsolve(r, 1:20), class = "cudafactor_error_argument")
  expect_error(backsolve(r, 1:21, devise = "cpu"), class = "cudafactor_error_argument")
  expect_error(solve(r, 1:20), class = "cudafactor_error_dimension")
  expect_error(diag(r, 2), class = "cudafactor_error_argument")
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  expect_error(tile_matrix(x, file) %*% r, class = "cudafactor_error_argument")
  if (requireNamespace("Matrix", quietly = TRUE)) {
    expect_equal(r %*% Matrix::Matrix(z[, 4, drop = FALSE]), plain %*% z[, 4])
    expect_equal(crossprod(Matrix::Matrix(z[, 4, drop = FALSE]), r), crossprod(z[, 4], plain))
    for (name in c("%*%", if (is.primitive(crossprod)) c("crossprod", "tcrossprod"))) {
      expect_identical(methods::selectMethod(name, c("gpu_factor", "dgCMatrix"))@defined[[1L]],
        "gpu_factor")
      expect_identical(methods::selectMethod(name, c("dgCMatrix", "gpu_factor"))@defined[[2L]],
        "gpu_factor")
    }
  }
})

test_that("diag() has the names that rows and columns share", {
  x <- diag(4, 3)
  dimnames(x) <- list(letters[1:3], letters[1:3])
  expect_identical(diag(spread(x)), diag(chol(x)))
  expect_identical(diag(spread(x), names = FALSE), diag(chol(x), names = FALSE))
})

test_that("a factor without its values says so, and how to have it again", {
  r <- spread(diag(4, 10))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(r, file)
  elsewhere <- readRDS(file)
  copy <- r
  gpu_free(copy)
  expect_match(format(r), "released by gpu_free()", fixed = TRUE)
  expect_output(print(r), "released by gpu_free()", fixed = TRUE)
  expect_output(str(elsewhere), "not in this session", fixed = TRUE)
  for (gone in list(r, elsewhere)) {
    calls <- alist(
      as.matrix(gone), determinant(gone), gpu_determinant(gone), diag(gone), chol_solve(gone, 1:10),
      chol2inv_diag(gone), solve(gone, 1:10), backsolve(gone, 1:10),
      gone %*% 1:10, crossprod(gone, 1:10), chol2inv(gone), gpu_chol2inv(gone),
      gpu_solve(gone, 1:10), gpu_solve(diag(10), gone), as_gpu(gone), chol(gone), gpu_chol(gone),
      gpu_qr(gone), gpu_lu(gone), chol_gpus(gone)
    )
    for (wrong in calls) {
      e <- expect_error(eval(wrong), "make it again with chol_gpus()", fixed = TRUE,
        class = "cudafactor_error_stale")
      expect_false(grepl("gpu_save|as_gpu", conditionMessage(e)))
    }
  }
})

test_that("a factor is not factored again", {
  r <- spread(diag(4, 10))
  for (wrong in alist(chol(r), gpu_chol(r), chol_gpus(r))) {
    e <- expect_error(eval(wrong), "must be a matrix, not a Cholesky factor made by chol_gpus",
      class = "cudafactor_error_argument")
    expect_identical(e$argument, "x")
  }
  expect_error(chol_gpus(NULL), "'x' must be a numeric matrix", class = "cudafactor_error_type")
  expect_error(chol_gpus(mean), "'x' must be a numeric matrix", class = "cudafactor_error_type")
  expect_error(chol_gpus(list(diag(2))), "'x' must be a numeric matrix",
    class = "cudafactor_error_type")
})

test_that("devices that are none are named", {
  refusal <- function(devices, class = "argument") {
    conditionMessage(expect_error(chol_gpus(diag(2), devices),
      class = paste0("cudafactor_error_", class)))
  }
  expect_match(refusal("0"), "not of type \"character\"", fixed = TRUE)
  expect_match(refusal(TRUE), "not of type \"logical\"", fixed = TRUE)
  expect_match(refusal(NA), "not of type \"logical\"", fixed = TRUE)
  expect_match(refusal(list(0)), "not of type \"list\"", fixed = TRUE)
  expect_match(refusal(integer()), "at least one GPU", fixed = TRUE)
  expect_match(refusal(-1), "not -1", fixed = TRUE)
  expect_match(refusal(c(0, 0.5)), "not 0.5", fixed = TRUE)
  expect_match(refusal(NA_real_), "not NA", fixed = TRUE)
  expect_match(refusal(c(1, 0, 0)), "names GPU 0 twice", fixed = TRUE)
  expect_match(refusal(99, "device_unavailable"), "there is no GPU 99: [0-9]+ found")
})
