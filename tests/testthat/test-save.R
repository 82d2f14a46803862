# Files of gpu_save(): every damage is an error, and files of earlier versions are read with a
# warning.

saved_kinds <- function() {
  x <- matrix(c(1, NA, NaN, Inf, -0.5, pi), 2, dimnames = list(c("\u00e4", "b"), NULL))
  set.seed(11)
  square <- matrix(rnorm(25), 5, dimnames = list(NULL, letters[1:5]))
  list(
    double = as_gpu(x, "cpu"), single = as_gpu(x, "cpu", "single"),
    empty = as_gpu(matrix(0, 0, 3), "cpu"),
    named = as_gpu(matrix(1:4, 2, dimnames = list(r = c("a", NA), c = NULL)), "cpu"),
    qr = qr(as_gpu(square, "cpu")), lu = gpu_lu(as_gpu(square, "cpu"))
  )
}

values_of <- function(x) {
  if (is(x, "gpu_matrix")) list(as.matrix(x), x@Dimnames, x@precision) else list(
    class(x), solve(x), determinant_or_rank(x)
  )
}
determinant_or_rank <- function(x) {
  if (is(x, "gpu_qr_factor")) list(x@rank, x@pivot, x@tau) else unclass(determinant(x))
}

# What gpu_restore() of these bytes is: the class of an error, or values.
restored <- function(bytes, file) {
  writeBin(bytes, file)
  tryCatch(
    values_of(gpu_restore(file, "cpu")), error = function(e) class(e)[[1]],
    cudafactor_warning_no_checksum = function(w) "warning"
  )
}

test_that("what is saved comes back bit for bit", {
  file <- tempfile()
  on.exit(unlink(file))
  for (x in saved_kinds()) {
    gpu_save(x, file)
    expect_silent(back <- gpu_restore(file, "cpu"))
    expect_identical(values_of(back), values_of(x))
  }
  payload <- readBin(as.raw(c(0xef, 0xbe, 0, 0, 1, 0, 0xf8, 0x7f)), "double", endian = "little")
  gpu_save(as_gpu(matrix(c(payload, NA, 1)), "cpu"), file)
  expect_identical(
    writeBin(as.vector(gpu_restore(file, "cpu")), raw()), writeBin(c(payload, NA, 1), raw())
  )
  expect_warning(gpu_save(as_gpu(1), file, compress = TRUE), class = "cudafactor_warning_argument")
  expect_identical(as.matrix(gpu_restore(file)), matrix(1))
})

test_that("every cut and every changed bit is an error", {
  file <- tempfile()
  on.exit(unlink(file))
  set.seed(33)
  for (x in saved_kinds()) {
    gpu_save(x, file)
    good <- readBin(file, "raw", 1e5)
    damaged <- function(bits) {
      bad <- good
      bad[bits %/% 8L + 1L] <- xor(bad[bits %/% 8L + 1L], as.raw(bitwShiftL(1L, bits %% 8L)))
      bad
    }
    bits <- c(
      (seq_along(good) - 1L) * 8L + sample(0:7, length(good), TRUE),
      sample(8L * length(good), 100L) - 1L
    )
    seen <- vapply(bits, function(bit) format(restored(damaged(bit), file)[[1]]), "")
    expect_true(
      all(seen == "cudafactor_error_file_format"), info = paste(unique(seen), collapse = " ")
    )
    cuts <- vapply(
      seq_along(good) - 1L, function(n) format(restored(good[seq_len(n)], file)[[1]]), ""
    )
    expect_true(
      all(cuts == "cudafactor_error_file_format"), info = paste(unique(cuts), collapse = " ")
    )
    expect_identical(restored(c(good, as.raw(0)), file), "cudafactor_error_file_format")
    expect_identical(restored(good, file), values_of(x))
  }
})

# As an earlier version wrote it.
old_file <- function(x, file, compress) {
  part <- if (is(x, "gpu_matrix")) x else if (is(x, "gpu_qr_factor")) x@factor else unclass(x)$lu
  rest <- if (is(x, "gpu_qr_factor")) {
    list(tau = x@tau, turned = x@turned, rank = x@rank, pivot = x@pivot)
  } else if (!is(x, "gpu_matrix")) {
    unclass(x)[c("ipiv", "perm", "singular", "norm1", "dimnames", "precision", "diagonal")]
  }
  saveRDS(list(
    format = "cudafactor 1", class = class(x)[[1]], Dim = part@Dim, Dimnames = part@Dimnames,
    precision = part@precision,
    values = as.double(as.matrix(part)), rest = rest
  ), file, compress = compress)
}

test_that("files of earlier versions are read with a warning, damaged ones are errors", {
  file <- tempfile()
  on.exit(unlink(file))
  for (compress in c("no", "gzip", "bzip2", "xz")) {
    for (x in saved_kinds()) {
      old_file(x, file, if (compress == "no") FALSE else compress)
      expect_warning(
        back <- gpu_restore(file, "cpu"), "no checksum", class = "cudafactor_warning_no_checksum"
      )
      expect_identical(values_of(back), values_of(x))
      gpu_save(back, file)
      expect_silent(gpu_restore(file, "cpu"))
    }
  }
  # Vectors that R keeps as what they are computed from.
  x <- as_gpu(matrix(0, 3, 40), "cpu")
  dimnames(x) <- list(NULL, 1:40)
  old_file(x, file, FALSE)
  expect_warning(back <- gpu_restore(file, "cpu"), class = "cudafactor_warning_no_checksum")
  expect_identical(colnames(back), as.character(1:40))
})

test_that("damaged files of earlier versions never end R, or give other numbers if compressed", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  set.seed(34)
  for (compress in c("no", "gzip")) {
    for (x in saved_kinds()[c("double", "qr", "lu")]) {
      old_file(x, file, if (compress == "no") FALSE else compress)
      script <- c(
        "library(cudafactor); set.seed(35)", sprintf(
          "file <- '%s'; good <- readBin(file, 'raw', 1e5)", file
        ),
        sprintf(
          "truth <- suppressWarnings(as.matrix(gpu_restore(file, 'cpu')%s))",
          if (is(x, "gpu_matrix")) "" else if (is(x, "gpu_qr_factor")) "@factor" else "$lu"
        ),
        "seen <- character()",
        "for (k in 1:300) {",
        "  bad <- good; at <- sample(length(good), 1);",
        "  bad[at] <- xor(bad[at], as.raw(2^sample(0:7, 1)))",
        "  if (k %% 10 == 0) bad <- good[seq_len(sample(length(good), 1) - 1)]",
        "  writeBin(bad, file)",
        "  seen <- c(seen, tryCatch({",
        "    y <- suppressWarnings(gpu_restore(file, 'cpu'))",
        "    y <- if (is(y, 'gpu_qr_factor')) y@factor else if (is(y, 'gpu_lu')) y$lu else y",
        "    if (identical(as.matrix(y), truth)) 'same' else 'other'",
        "  }, cudafactor_error = function(e) 'error',",
        "  error = function(e) paste('unclassed', conditionMessage(e))))",
        "}",
        "cat(length(seen), sort(unique(seen)))"
      )
      child <- run_child(paste(script, collapse = "\n"))
      other <- if (compress == "no") "( other)?" else ""
      allowed <- sprintf("^300( error)?%s( same)?$", other)
      expect_match(child$output, allowed, info = paste(compress, class(x)[[1]]))
    }
  }
})
