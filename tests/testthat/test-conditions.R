native_kinds <- c(
  "not_positive_definite", "singular", "dimension", "device_unavailable", "device_memory",
  "device_failed",
  "host_memory", "interrupted", "internal", "stale", "file", "file_exists", "file_in_use",
  "file_corrupt", "file_format",
  "disk_space", "indefinite", "not_symmetric"
)

raised <- function(kind, fields = list(), routine = NULL) {
  tryCatch(
    cudafactor:::unwrap(
      list(err = list(kind = kind, message = "a fact", fields = fields)), quote(gpu_verb(x)),
      routine
    ),
    error = identity
  )
}

# The kinds that abort() and warn() are called with anywhere in the package.
kinds_used <- function(signaller) {
  found <- character()
  visit <- function(e) {
    if (is.call(e)) {
      if (identical(e[[1]], as.name(signaller)) && is.character(e[[2]])) {
        found <<- c(found, e[[2]])
      }
      for (part in as.list(e)) {
        if (!missing(part)) visit(part)
      }
    }
  }
  package <- asNamespace("cudafactor")
  for (name in ls(package, all.names = TRUE)) {
    value <- get(name, package)
    if (is.function(value) && !is.primitive(value)) visit(body(value))
  }
  unique(found)
}

test_that("every native error has its class, message, call and fields", {
  for (kind in setdiff(native_kinds, "interrupted")) {
    fields <- switch(kind,
      not_positive_definite = list(order = 3), singular = list(index = 2),
      device_memory = list(needed = 8, free = 4, total = 6, held = 2, objects = 1, device = 0),
      stale = list(reason = "freed"),
      device_failed = list(failed_call = "cuLaunchKernel", code = 700, name = "CUDA_ERROR"),
      device_unavailable = list(reason = "no driver"), host_memory = list(needed = 1e12),
      file = , file_exists = , file_in_use = , file_format = list(path = "a.tiles"),
      file_corrupt = list(path = "a.tiles", row = 2, col = 3),
      disk_space = list(path = "a.tiles", needed = 1e12, free = 1e9),
      list()
    )
    e <- raised(kind, fields)
    expect_s3_class(e,
      c(paste0("cudafactor_error_", kind), "cudafactor_error", "error", "condition"))
    expect_identical(inherits(e, "cudafactor_error_device"), startsWith(kind, "device_"))
    expect_identical(inherits(e, "cudafactor_error_file"),
      startsWith(kind, "file") || kind == "disk_space")
    expect_identical(conditionCall(e), quote(gpu_verb(x)))
    expect_true(nzchar(conditionMessage(e)))
    for (name in names(fields)) {
      expect_equal(e[[name]], fields[[name]])
    }
  }
  expect_identical(raised("not_positive_definite", list(order = 3))$order, 3L)
})

test_that("a message is text, not a format", {
  e <- tryCatch(
    cudafactor:::raise("internal", "50% done %d %s", list(), quote(f()), NULL), error = identity
  )
  expect_match(conditionMessage(e), "50% done %d %s", fixed = TRUE)
})

test_that("values and silence pass through", {
  expect_null(cudafactor:::unwrap(NULL, quote(f())))
  expect_identical(cudafactor:::unwrap(list(ok = list(rank = 2L)), quote(f())), list(rank = 2L))
})

test_that("an interrupt is base R's", {
  seen <- tryCatch(
    cudafactor:::raise("interrupted", "", list(), quote(gpu_verb(x)), NULL),
    interrupt = identity, error = function(e) "an error"
  )
  expect_s3_class(seen, c("cudafactor_interrupted", "interrupt", "condition"), exact = TRUE)
  # Without a handler the computation is abandoned, past every caller.
  reached <- FALSE
  withRestarts(
    {
      cudafactor:::raise("interrupted", "", list(), quote(gpu_verb(x)), NULL)
      reached <- TRUE
    },
    abort = function() NULL
  )
  expect_false(reached)
})

test_that("the help page has a row for every kind", {
  if (!nzchar(system.file("help", package = "cudafactor"))) {
    # Nothing to do with a GPU, so CUDAFACTOR_REQUIRE_GPU does not forbid it.
    skip("the package was installed without its help")
  }
  page <- tools::Rd_db("cudafactor")[["cudafactor_conditions.Rd"]]
  expect_false(is.null(page))
  text <- paste(as.character(page), collapse = "")
  for (kind in union(setdiff(native_kinds, "interrupted"), kinds_used("abort"))) {
    expect_true(grepl(paste0("cudafactor_error_", kind), text, fixed = TRUE), info = kind)
  }
  for (kind in kinds_used("warn")) {
    expect_true(grepl(paste0("cudafactor_warning_", kind), text, fixed = TRUE), info = kind)
  }
  expect_true(grepl("cudafactor_interrupted", text, fixed = TRUE))
  expect_gt(length(kinds_used("abort")), 3)
})

test_that("a broken promise to a native routine is an internal error, and the session lives on", {
  how <- cudafactor:::how("cpu", "double", quote(f()))
  for (reply in list(
    cudafactor:::native_chol("text", 2, matrix(0, 2, 2), how),
    cudafactor:::native_chol(diag(2), 3, matrix(0, 2, 2), how),
    cudafactor:::native_chol(diag(2), 2, matrix(0, 1, 1), how),
    cudafactor:::native_chol(diag(2), 2, matrix(0, 2, 2), list()),
    cudafactor:::native_chol(NULL, NULL, NULL, NULL),
    cudafactor:::native_gemm(FALSE, FALSE, diag(2), c(2, 2), diag(3), c(3, 3), matrix(0, 2, 3),
      how),
    cudafactor:::native_lu_solve(diag(2), 2, c(1L, 7L), diag(2), 2, matrix(0, 2, 2), how)
  )) {
    expect_true(reply$err$kind %in% c("internal", "dimension"))
    e <- tryCatch(cudafactor:::unwrap(reply, quote(f())), error = identity)
    expect_s3_class(e, "cudafactor_error")
  }
  expect_identical(gpu_chol(diag(2)), diag(2))
})

test_that("a panic in Rust is an internal error with its text, and the session lives on", {
  for (i in 1:20) {
    reply <- cudafactor:::native_panic()
    e <- expect_error(cudafactor:::unwrap(reply, quote(f(x))), class = "cudafactor_error_internal")
    expect_match(conditionMessage(e), "50% done %d %s", fixed = TRUE)
    expect_identical(conditionCall(e), quote(f(x)))
  }
  expect_identical(gpu_chol(diag(2)), diag(2))
})

test_that("a failing call leaves nothing behind", {
  x <- matrix(c(1, 2, 2, 1), 2)
  fail <- function(times) for (i in seq_len(times)) tryCatch(gpu_chol(x), error = identity)
  fail(50)
  # What R has for itself grows once in a while, such as its table of strings; what is left behind
  # grows each time.
  grown <- vapply(1:3, function(i) {
    before <- sum(gc()[, 1])
    fail(1000)
    sum(gc()[, 1]) - before
  }, 0)
  expect_lt(min(grown), 1000)
})

test_that("device and precision are checked", {
  for (device in list(NA_character_, 1, c("cpu", "cuda"), NULL, character())) {
    e <- expect_error(gpu_matmult(diag(2), diag(2), device = device),
      class = "cudafactor_error_argument")
    expect_identical(e$argument, "device")
  }
  for (device in c("", "gpu", "cuda:", "cuda:-1", "cuda:x", "CPU")) {
    e <- expect_error(gpu_matmult(diag(2), diag(2), device = device),
      class = "cudafactor_error_argument")
    expect_identical(e$argument, "device")
    # A handler that switches to the CPU would hide the misspelling.
    expect_false(inherits(e, "cudafactor_error_device"))
  }
  for (precision in list("half", NA, 1, c("double", "single"), NULL)) {
    e <- expect_error(gpu_chol(diag(2), precision = precision), class = "cudafactor_error_argument")
    expect_identical(e$argument, "precision")
  }
  expect_identical(conditionCall(expect_error(gpu_chol(diag(2), device = NA)))[[1]],
    quote(gpu_chol))
})

test_that("versions of R are compared as base R compares them", {
  for (version in c("3.6.0", "4.2.3", "4.3.0", "99.0.0", as.character(getRversion()))) {
    for (turn in 1:2) expect_identical(is_r_from(version), getRversion() >= version)
  }
})
