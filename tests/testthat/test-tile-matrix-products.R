# Products with a matrix in a file are what base R gives for the matrix in memory.

new_file <- function() tempfile(fileext = ".tiles")

tile_bytes <- function(tile, precision = "double")
  ceiling(tile^2 * (if (precision == "single") 4 else 8) / 4096) * 4096

# A whole matrix, a symmetric one of which the triangle is stored, or a factor; and the same in
# memory.
matrix_on_disk <- function(kind, rows, cols, tile, precision = "double") {
  triangle <- kind != "whole"
  x <- if (triangle) definite_matrix(rows) else random_matrix(rows, cols)
  k <- tile_matrix(x, file <- new_file(), triangle = triangle, tile = tile, precision = precision)
  if (kind == "factor") k <- chol_file(k, device = "cpu")
  list(x = k, plain = as.matrix(k), file = file)
}

kinds <- c("whole", "symmetric", "factor")

# |xy - z| <= 4 n eps |x||y|, entry by entry.
expect_product <- function(z, x, y, precision, info = NULL) {
  eps <- if (precision == "single") 2^-23 else 2^-52
  expect_identical(dim(z), c(nrow(x), ncol(y)), info = info)
  expect_true(all(abs(z - x %*% y) <= 4 * ncol(x) * eps * (abs(x) %*% abs(y))), info = info)
}

test_that("products are base R's, of every size and in little memory and much", {
  for_each_setting(function(device, precision) {
    set.seed(1)
    tile <- 16L
    square <- lapply(c(1L, tile, tile + 1L, 5L * tile + 3L), function(n) c(n, n))
    for (kind in kinds) {
      for (sizes in c(square, if (kind == "whole") list(c(3L, 70L), c(70L, 3L), c(33L, 48L)))) {
        m <- matrix_on_disk(kind, sizes[[1L]], sizes[[2L]], tile, precision)
        x <- m$plain
        right <- random_matrix(ncol(x), 5)
        left <- random_matrix(nrow(x), 5)
        if (precision == "single") {
          right <- as_single(right)
          left <- as_single(left)
        }
        for (tiles in c(3, if (min(sizes) > 3 * tile) 1000)) {
          size <- tile_bytes(m$x$tile, precision)
          # On a GPU the parts of tiles at the edges, what is computed with, and two columns.
          args <- list(host_memory = tiles * size,
            gpu_memory = (tiles + 5) * size + 2 * sum(sizes) * 8, device = device)
          with_memory <- function(f, ...) do.call(f, c(list(...), args))
          info <- paste(kind, paste(sizes, collapse = " x "), tiles)
          expect_product(with_memory(gpu_matmult, m$x, right), x, right, precision, info)
          expect_product(with_memory(gpu_crossprod, m$x, left), t(x), left, precision, info)
          expect_product(with_memory(gpu_tcrossprod, m$x, t(right)), x, right, precision, info)
          expect_product(with_memory(gpu_matmult, t(left), m$x), t(left), x, precision, info)
          expect_product(with_memory(gpu_crossprod, left, m$x), t(left), x, precision, info)
          expect_product(with_memory(gpu_tcrossprod, t(right), m$x), t(right), t(x), precision,
            info)
        }
        unlink(m$file)
      }
    }
  })
})

test_that("operators take what base R's take, and name and shape the product as these do", {
  for_each_device(function(device) {
    set.seed(2)
    old <- options(cudafactor.device = device)
    on.exit(options(old))
    others <- list(
      vector = 1:20 + 0, named = setNames(1:20, letters[1:20]),
      matrix = named(random_matrix(20, 3)), rows = named(random_matrix(3, 20)),
      logical = matrix(c(TRUE, NA), 20), thirteen = 1:13, wide = random_matrix(2, 13), one = 2,
      array = array(1:20, 20, list(letters[1:20])),
      short = 1:19, text = rep("a", 20), factor = factor(1:20), null = NULL,
      nothing = matrix(0, 20, 0), data = data.frame(a = 1:20)
    )
    on_disk <- list(
      matrix_on_disk("whole", 20, 13, 8), matrix_on_disk("factor", 20, 20, 8),
      matrix_on_disk("whole", 0, 20, 8)
    )
    for (m in on_disk) {
      x <- m$plain
      for (name in names(others)) {
        y <- others[[name]]
        expect_as_base(m$x %*% y, x %*% y, info = name)
        expect_as_base(y %*% m$x, y %*% x, info = name)
        if (!is.null(y)) {
          expect_as_base(crossprod(m$x, y), base::crossprod(x, y), info = name)
          expect_as_base(tcrossprod(m$x, y), base::tcrossprod(x, y), info = name)
        }
        expect_as_base(crossprod(y, m$x), base::crossprod(y, x), info = name)
        expect_as_base(tcrossprod(y, m$x), base::tcrossprod(y, x), info = name)
      }
      unlink(m$file)
    }
  })
})

test_that("a product with a gpu_matrix, or a matrix of package Matrix, is an ordinary matrix", {
  set.seed(3)
  m <- matrix_on_disk("symmetric", 20, 20, 8)
  on.exit(unlink(m$file))
  y <- named(random_matrix(20, 3))
  # Each with its transpose, since t() of package Matrix is seen where that is attached.
  others <- list(list(as_gpu(y), as_gpu(t(y))))
  if (requireNamespace("Matrix", quietly = TRUE)) {
    y[y < 0] <- 0
    sparse <- function(x, class) methods::as(Matrix::Matrix(x, sparse = TRUE), class)
    others <- c(others,
      lapply(c("CsparseMatrix", "TsparseMatrix", "RsparseMatrix"),
        function(class) list(sparse(y, class), sparse(t(y), class))))
    symmetric <- Matrix::Matrix(crossprod(matrix(rnorm(400), 20)))
    others <- c(others,
      list(list(Matrix::Matrix(y), Matrix::Matrix(t(y))), list(symmetric, symmetric)))
    # Methods of Matrix for any class might bring all of the file to memory.
    for (name in c("%*%", "crossprod", "tcrossprod")) {
      expect_identical(methods::selectMethod(name, c("tile_matrix", "dgCMatrix"))@defined[[1L]],
        "tile_matrix")
      expect_identical(methods::selectMethod(name, c("dgCMatrix", "tile_matrix"))@defined[[2L]],
        "tile_matrix")
    }
  }
  for (pair in others) {
    z <- pair[[1L]]
    turned <- pair[[2L]]
    plain <- as.matrix(z)
    expect_as_base(m$x %*% z, m$plain %*% plain)
    expect_as_base(turned %*% m$x, t(plain) %*% m$plain)
    expect_as_base(crossprod(m$x, z), crossprod(m$plain, plain))
    expect_as_base(crossprod(z, m$x), crossprod(plain, m$plain))
    expect_as_base(tcrossprod(m$x, turned), m$plain %*% plain)
    expect_as_base(tcrossprod(turned, m$x), t(plain) %*% m$plain)
    expect_as_base(gpu_matmult(m$x, z), m$plain %*% plain)
  }
})

test_that("NaN and infinite entries propagate, and a damaged tile is named", {
  for_each_setting(function(device, precision) {
    set.seed(4)
    for (kind in kinds) {
      m <- matrix_on_disk(kind, 40, 40, 16, precision)
      for (bad in c(NaN, NA, Inf, -Inf)) {
        y <- random_matrix(40, 2)
        y[20, 2] <- bad
        expect_identical(is.na(gpu_matmult(m$x, y, device = device)), is.na(m$plain %*% y))
        expect_identical(is.na(gpu_crossprod(m$x, y, device = device)),
          is.na(crossprod(m$plain, y)))
      }
      con <- file(m$file, "r+b")
      each <- tile_bytes(16, precision)
      for (slot in seq_len((file.size(m$file) - 3 * 4096) %/% each) - 1) {
        seek(con, 3 * 4096 + slot * each + 100, rw = "write")
        writeBin(as.raw(77L), con)
      }
      close(con)
      e <- expect_error(gpu_matmult(m$x, 1:40, device = device),
        class = "cudafactor_error_file_corrupt")
      expect_true(e$row <= 3L && e$col <= 3L)
      unlink(m$file)
    }
  })
})

test_that("what cannot be multiplied is told", {
  x <- diag(40)
  k <- tile_matrix(x, file <- new_file(), triangle = TRUE, tile = 16)
  x[20, 20] <- -1
  bad <- tile_matrix(x, second <- new_file(), triangle = TRUE, tile = 16)
  expect_error(chol_file(bad, device = "cpu"), class = "cudafactor_error_not_positive_definite")
  on.exit(unlink(c(file, second)))
  calls <- list(
    x = function() bad %*% 1:40, x = function() crossprod(bad, 1:40), y = function() 1:40 %*% bad,
    y = function() tcrossprod(1:40, bad),
    x = function() gpu_matmult(bad, 1:40), y = function() gpu_crossprod(1:40, bad)
  )
  for (i in seq_along(calls)) {
    e <- expect_error(calls[[i]](), "order 20 is not positive", class = "cudafactor_error_argument")
    expect_identical(e$argument, names(calls)[[i]])
  }
  for (f in list(function(x, y) x %*% y, crossprod, tcrossprod, gpu_matmult, gpu_crossprod,
      gpu_tcrossprod)) {
    expect_error(f(k, k), "on disk", class = "cudafactor_error_argument")
    expect_error(f(k, 1:40 + 1i), "complex", class = "cudafactor_error_type")
    expect_error(f(1:39, k), "non-conformable", class = "cudafactor_error_dimension")
  }
  expect_error(crossprod(k), "on disk", class = "cudafactor_error_argument")
  expect_error(gpu_tcrossprod(k), "on disk", class = "cudafactor_error_argument")
  for (device in c("cpu", if (gpu_available()) "cuda")) {
    few <- 2 * tile_bytes(16)
    memory <- if (device == "cpu") list(host_memory = few) else list(gpu_memory = few)
    expect_error(do.call(gpu_matmult, c(list(k, 1:40, device = device), memory)),
      "must be at least",
      class = "cudafactor_error_argument")
  }
  expect_error(gpu_matmult(k, 1:40, host_memory = "much"), class = "cudafactor_error_argument")
  expect_error(gpu_matmult(k, 1:40, device = "abacus"),
    class = "cudafactor_error_argument")
  for (f in list(gpu_matmult, gpu_crossprod, gpu_tcrossprod)) {
    e <- expect_error(f(x, x, gpu_memory = "8GB"), "matrix on disk",
      class = "cudafactor_error_argument")
    expect_identical(e$argument, "gpu_memory")
    expect_error(f(x, x, host_memory = 1e9), "matrix on disk", class = "cudafactor_error_argument")
  }
  expect_identical(
    conditionCall(expect_error(gpu_matmult(k, 1:39), class = "cudafactor_error"))[[1L]],
    quote(gpu_matmult))
  unlink(file)
  expect_error(k %*% 1:40, class = "cudafactor_error_file")
  tile_matrix(diag(7), file)
  expect_error(k %*% 1:40, "another matrix", class = "cudafactor_error_file_format")
})

test_that("the factor makes samples of the matrix's distribution", {
  set.seed(5)
  place <- seq(0, 1, length.out = 90)
  k <- tile_matrix(lazy_covariance(place, "matern32", range = 0.3, nugget = 0.1),
    file <- new_file(), tile = 32)
  on.exit(unlink(file))
  a <- as.matrix(k)
  y <- sin(9 * place)
  expect_equal(drop(y %*% k %*% y), drop(y %*% a %*% y))
  r <- chol_file(k)
  z <- random_matrix(90, 4)
  expect_equal(crossprod(r, z), crossprod(chol(a), z))
  expect_equal(crossprod(r, r %*% y), a %*% y)
  expect_equal(backsolve(r, crossprod(r, z), transpose = TRUE), z)
})

test_that("the object is an ordinary one", {
  m <- matrix_on_disk("whole", 5, 4, 4)
  on.exit(unlink(m$file))
  k <- m$x
  saveRDS(k, again <- tempfile())
  on.exit(unlink(again), add = TRUE)
  expect_identical(readRDS(again), k)
  expect_equal(readRDS(again) %*% 1:4, m$plain %*% 1:4)
  expect_output(print(k), "<tile_matrix: 5 x 4")
  expect_output(show(k), "<tile_matrix: 5 x 4")
  expect_output(str(k), "List of 5")
  expect_identical(names(k), c("path", "dim", "tile", "triangle", "precision"))
  expect_identical(k$tile, 4L)
  expect_identical(head(k, 2), head(m$plain, 2))
  expect_identical(k[2, ], m$plain[2, ])
  expect_identical(k[-1, 3:4], m$plain[-1, 3:4])
})

test_that("what base R's functions cannot do with a matrix on disk they say", {
  m <- matrix_on_disk("symmetric", 5, 5, 3)
  on.exit(unlink(m$file))
  k <- m$x
  g <- as_gpu(m$plain, "cpu")
  calls <- alist(
    c(k, k), rep(k, 2), rev(k), sort(k), unique(k), duplicated(k), anyDuplicated(k), cbind(k, 1),
    cbind(1, k), rbind(k, k), is.na(k), anyNA(k), mean(k), summary(k),
    isSymmetric(k), as.vector(k), as.numeric(k), as.integer(k), as.logical(k), as.complex(k),
    as.data.frame(k), data.frame(k), k + 1, 1 - k, -k, k == k, !k, k + g, g + k,
    log(k), round(k, 2), cumsum(k), Re(k), sum(k), max(k), range(k), norm(k), norm(k, "F"),
    rcond(k), colSums(k), rowSums(k), colMeans(k), rowMeans(k), outer(k, 1), t(k)
  )
  for (wrong in calls) {
    e <- expect_error(eval(wrong), "as.matrix(", fixed = TRUE, class = "cudafactor_error_type",
      info = deparse(wrong))
    expect_match(conditionMessage(e), "x[i, j]", fixed = TRUE)
  }
  e <- expect_error(mean(k), "there is no 'mean' for a matrix on disk", class = "cudafactor_error")
  expect_identical(conditionCall(e), quote(mean(k)))
  expect_identical(conditionCall(expect_error(k + 1)), quote(k + 1))
  r <- chol_gpus(diag(5), device = "cpu")
  expect_error(cbind(k, g), "a matrix on disk", class = "cudafactor_error_type")
  expect_error(k + r, "a factor of chol_gpus()", fixed = TRUE, class = "cudafactor_error_type")
  # The list that it is
  expect_identical(length(k), 5L)
  expect_identical(k[["tile"]], 3L)
  expect_identical(unlist(k)[["tile"]], "3")
  expect_identical(names(as.list(k)), names(k))
})

test_that("a matrix on disk cannot be changed in part", {
  m <- matrix_on_disk("symmetric", 5, 5, 3)
  on.exit(unlink(m$file))
  changes <- list(
    function(k) k[1] <- 1, function(k) k[1, 1] <- 1, function(k) k[[1]] <- 1,
    function(k) k[["path"]] <- "a", function(k) k$path <- "a", function(k) k$other <- 1,
    function(k) names(k) <- letters[1:5], function(k) dim(k) <- c(1, 25),
    function(k) dimnames(k) <- NULL, function(k) rownames(k) <- letters[1:5],
    function(k) length(k) <- 2, function(k) levels(k) <- "a", function(k) is.na(k) <- 1,
    function(k) diag(k) <- 1, function(k) base::diag(k) <- 1
  )
  for (change in changes) {
    expect_error(change(m$x), "cannot be changed in part", class = "cudafactor_error_argument",
      info = deparse(change))
  }
  expect_equal(as.matrix(m$x), m$plain)
})

test_that("matrices in tiles are no lists with Matrix, in either order", {
  skip_unless(requireNamespace("Matrix", quietly = TRUE), "Matrix is not installed")
  check <- c(
    "k <- tile_matrix(diag(5), tempfile(), triangle = TRUE, tile = 3)",
    "r <- chol_gpus(diag(5), device = 'cpu')",
    "M <- Matrix::Matrix(diag(5))",
    "calls <- alist(c(x, x), cbind(x, 1), cbind(1, x), rbind(x, M), cbind(M, x), mean(x),",
    "  is.na(x), anyNA(x), summary(x), as.vector(x), as.numeric(x), x + 1, 1 == x, !x,",
    "  log(x), sum(x), range(x), rowSums(x), colMeans(x), norm(x), norm(x, 'F'), rcond(x),",
    "  isSymmetric(x), unique(x), as.data.frame(x), t(x))",
    "said <- function(call, x) tryCatch({ eval(call); FALSE },",
    "  cudafactor_error_type = function(e) TRUE, error = function(e) FALSE)",
    "cat(all(vapply(calls, said, NA, k), vapply(calls, said, NA, r)))"
  )
  for (order in list(c("Matrix", "cudafactor"), c("cudafactor", "Matrix"))) {
    child <- run_child(c(sprintf("suppressMessages(library(%s))", order), check))
    expect_identical(child$output[length(child$output)], "TRUE", info = child$output)
  }
})
