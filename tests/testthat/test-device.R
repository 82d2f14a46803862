test_that("a required GPU is there", {
  skip_unless(gpu_required() || gpu_available(), "there is no GPU, and none is required")
  expect_true(gpu_available())
})

test_that("a GPU that is there computes", {
  skip_unless(gpu_available(), "there is no GPU")
  x <- diag(3)
  expect_identical(gpu_matmult(x, x, device = "cuda"), x)
  expect_identical(gpu_last_device(), "cuda:0")
  info <- gpu_info()
  expect_gt(nrow(info), 0)
  expect_true(all(info$memory_free > 0 & info$memory_free <= info$memory_total))
  expect_error(
    gpu_matmult(x, x, device = "cuda:999"), class = "cudafactor_error_device_unavailable"
  )
})

test_that("auto is the GPU there is, or the CPU", {
  with_options(cudafactor.min_flops = 0, code = {
    expect_identical(gpu_chol(diag(2)), diag(2))
    expect_identical(gpu_last_device(), if (gpu_available()) "cuda:0" else "cpu")
  })
})

# A session that has no GPU: it computes, says why, and refuses device = "cuda". `because` is part
# of the reason.
expect_works_without_gpu <- function(env, because) {
  child <- run_child(c(
    "library(cudafactor)",
    "stopifnot(!gpu_available(), nrow(gpu_info()) == 0L)",
    "e <- tryCatch(gpu_chol(diag(2), device = 'cuda'), error = identity)",
    paste(
      "stopifnot(inherits(e, 'cudafactor_error_device_unavailable'), inherits(e,",
      "'cudafactor_error_device'))"
    ),
    "options(cudafactor.min_flops = 0)",
    "stopifnot(identical(gpu_chol(diag(2)), diag(2)), gpu_last_device() == 'cpu')",
    "probes <- gpu_sitrep()$probes",
    "stopifnot(!all(probes$ok), nzchar(probes$fix[!probes$ok]))",
    "cat(e$reason)"
  ), env = env)
  expect_identical(child$status, 0L, info = paste(child$output, collapse = "\n"))
  expect_match(paste(child$output, collapse = "\n"), because)
}

test_that("a session that may see no GPU works without", {
  expect_works_without_gpu("CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES|libcuda|driver|GPU")
})

# A driver library with the given C source, for a child's LD_LIBRARY_PATH.
fake_driver <- function(source) {
  dir <- tempfile("driver")
  dir.create(dir)
  writeLines(source, file.path(dir, "cuda.c"))
  cc <- strsplit(
    system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CC"), stdout = TRUE), " "
  )[[1]]
  out <- file.path(dir, "libcuda.so.1")
  system2(cc[[1]], c(cc[-1], "-shared", "-fPIC", "-o", out, file.path(dir, "cuda.c")))
  file.symlink(out, file.path(dir, "libcuda.so"))
  paste0("LD_LIBRARY_PATH=", dir, ":", Sys.getenv("LD_LIBRARY_PATH"))
}

test_that("a driver that is too old, broken, or fails to start is a reason, not a crash", {
  skip_unless(nzchar(Sys.which("cc")) || gpu_required(), "there is no C compiler")
  if (!nzchar(Sys.which("cc"))) {
    return(expect_true(gpu_available()))
  }
  expect_works_without_gpu(fake_driver("int nothing;"), "driver|libcuda")
  expect_works_without_gpu(
    fake_driver(
      paste(
        "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 11040; return",
        "0; }"
      )
    ),
    "11[.]4"
  )
  expect_works_without_gpu(
    fake_driver(
      paste(
        "int cuInit(unsigned f) { return 100; } int cuDriverGetVersion(int *v) { *v = 12040;",
        "return 0; }"
      )
    ),
    "driver|GPU|device"
  )
})

test_that("a benchmark goes without a GPU that cannot be opened", {
  skip_unless(nzchar(Sys.which("cc")) || gpu_required(), "there is no C compiler")
  if (!nzchar(Sys.which("cc"))) {
    return(expect_true(gpu_available()))
  }
  driver <- fake_driver(paste(
    "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 12040; return 0; }",
    "int cuDeviceGetCount(int *n) { *n = 1; return 0; }",
    "int cuDeviceGet(int *d, int i) { return 101; }",
    "int cuGetErrorName(int e, const char **name) { *name = \"BROKEN\"; return 0; }"
  ))
  child <- run_child(c(
    "library(cudafactor)",
    "b <- gpu_benchmark('product', n = 4, seconds = 0.1)",
    "e <- tryCatch(gpu_benchmark('product', n = 4, keep = TRUE), error = identity)",
    "cat(gpu_available(), is.na(attr(b, 'gpu')), is.na(attr(b, 'breakeven')), class(e)[[1]])",
    "e <- tryCatch(gpu_benchmark('product', device = 'cuda'), error = identity)",
    "cat('', class(e)[[2]])"
  ), env = driver)
  expect_identical(
    child$output, "TRUE TRUE TRUE cudafactor_error_argument cudafactor_error_device"
  )
})

test_that("the table of GPUs has its columns, with or without rows", {
  expect_named(gpu_info(), c(
    "device", "name", "compute_capability", "memory_total", "memory_free", "driver",
    "multiprocessors", "single_per_double", "integers_from"
  ))
  types <- c(
    device = "character", name = "character", compute_capability = "character",
    memory_total = "double", memory_free = "double", driver = "character",
    multiprocessors = "integer", single_per_double = "double", integers_from = "double"
  )
  expect_identical(vapply(gpu_info(), typeof, ""), types)
  two <- cudafactor:::gpu_table(list(
    device = c("cuda:0", "cuda:2"), name = c("A", "B"), compute_capability = c("9.0", "8.0"),
    memory_total = c(2, 3), memory_free = c(1, 2),
    driver = c("12.4", "12.4"), multiprocessors = c(132L, 108L), single_per_double = c(1, 1),
    integers_from = c(3200, Inf)
  ))
  expect_identical(two$device, c("cuda:0", "cuda:2"))
})

test_that("the options are the defaults of the arguments", {
  x <- diag(2)
  with_options(cudafactor.device = "nowhere", code = {
    expect_error(gpu_chol(x), class = "cudafactor_error_argument")
    expect_identical(gpu_chol(x, device = "cpu"), x)
  })
  with_options(cudafactor.threads = 1L, code = {
    expect_identical(gpu_chol(x), x)
    expect_identical(gpu_sitrep()$options$threads, 1L)
  })
  for (wrong in list(0.5, 1.5)) {
    with_options(cudafactor.threads = wrong, code = {
      expect_error(gpu_chol(x), "a whole number of threads", class = "cudafactor_error_argument")
    })
  }
  for (wrong in list("a", -1, NA_real_, c(1, 2))) {
    with_options(
      cudafactor.threads = wrong,
      code = expect_error(gpu_chol(x), class = "cudafactor_error_argument")
    )
    with_options(
      cudafactor.min_flops = wrong,
      code = expect_error(gpu_chol(x), class = "cudafactor_error_argument")
    )
    with_options(
      cudafactor.progress = wrong,
      code = expect_error(gpu_chol(x), class = "cudafactor_error_argument")
    )
  }
  for (many in c(1e300, Inf)) {
    with_options(cudafactor.threads = many, code = {
      expect_identical(gpu_chol(x), x)
      expect_identical(gpu_sitrep()$options$threads, 4096L)
    })
  }
  for (wrong in list(
    "a", 1, c(other = 1), c(qr = -1), c(qr = -1L), list(qr = 1), c(qr = "1"), factor(c(qr = 1))
  )) {
    with_options(
      cudafactor.breakeven = wrong,
      code = expect_error(gpu_chol(x), class = "cudafactor_error_argument")
    )
  }
})

device_for <- function(verb, n, device = "auto", precision = "double") {
  cudafactor:::native_device_for(verb, n, cudafactor:::how(device, precision, NULL))$ok$device
}
gpu_or_cpu <- function() if (gpu_available()) "cuda:0" else "cpu"

test_that("auto goes by the number of operations where one is set", {
  with_options(cudafactor.min_flops = 2e9, code = {
    expect_identical(device_for("product", 999), "cpu")
    expect_identical(device_for("product", 1000), gpu_or_cpu())
    # Half of the operations.
    expect_identical(device_for("crossprod", 1000), "cpu")
  })
  with_options(cudafactor.min_flops = 0, code = expect_identical(device_for("qr", 1), gpu_or_cpu()))
  with_options(cudafactor.min_flops = Inf, code = expect_identical(device_for("lu", 1e4), "cpu"))
  expect_identical(device_for("product", 1e4, "cpu"), "cpu")
  expect_identical(device_for("product", 1, "cuda:1"), "cuda:1")
})

test_that("auto goes by the model where nothing is set", {
  for (verb in c("product", "crossprod", "chol", "lu", "qr", "solve", "eigen", "svd")) {
    expect_identical(device_for(verb, 100), "cpu")
    for (precision in c("double", "single")) {
      choices <- vapply(2^(5:14), device_for, "", verb = verb, precision = precision)
      expect_false(is.unsorted(choices == "cuda:0"), info = verb)
      if (!gpu_available()) expect_identical(unique(choices), "cpu")
    }
  }
  # In single precision every GPU beats one thread.
  with_options(cudafactor.threads = 1, code = {
    expect_identical(device_for("product", 8192, precision = "single"), gpu_or_cpu())
  })
})

test_that("auto goes by the measured break-even", {
  with_options(cudafactor.breakeven = c(qr = 500, chol = Inf, lu = NA), code = {
    expect_identical(device_for("qr", 480), "cpu")
    expect_identical(device_for("qr", 520), gpu_or_cpu())
    expect_identical(device_for("chol", 20000), "cpu")
  })
  with_options(cudafactor.breakeven = c(qr = 500L, lu = NA), code = {
    expect_identical(device_for("qr", 480), "cpu")
    expect_identical(device_for("qr", 520), gpu_or_cpu())
  })
  model <- device_for("lu", 3000)
  with_options(
    cudafactor.breakeven = c(lu = NA, qr = 1),
    code = expect_identical(device_for("lu", 3000), model)
  )
  # A logical vector.
  with_options(
    cudafactor.breakeven = c(lu = NA), code = expect_identical(device_for("lu", 3000), model)
  )
})

test_that("the last device is told", {
  gpu_matmult(diag(2), diag(2), device = "cpu")
  expect_identical(gpu_last_device(), "cpu")
  child <- run_child("cat(is.na(cudafactor::gpu_last_device()))")
  expect_identical(child$output, "TRUE")
})

test_that("loading the package and small work open no driver", {
  skip_unless(file.exists("/proc/self/maps"), "this system does not list a process's libraries")
  child <- run_child(c(
    "loaded <- function() sum(grepl('libcuda[.]so', readLines('/proc/self/maps')))",
    "library(cudafactor)",
    "after_library <- loaded()",
    "x <- crossprod(matrix(rnorm(100), 10))",
    "invisible(list(gpu_matmult(x, x), gpu_chol(x), gpu_qr(x), gpu_solve(x), gpu_lm_fit(x, 1:10)))",
    "after_work <- loaded()",
    "invisible(gpu_chol(x, device = 'cpu'))",
    "cat(after_library, after_work, loaded())"
  ))
  expect_identical(child$output, "0 0 0")
})

test_that("attaching is silent and masks nothing", {
  # Names of base R's are generics that R derives from its functions, which take everything else
  # there.
  child <- run_child(c(
    "library(cudafactor)",
    "derived <- function(name) isGeneric(name) && getGeneric(name)@package == 'base'",
    "cat(Filter(Negate(derived), intersect(ls('package:cudafactor'), ls(baseenv()))))"
  ))
  expect_identical(child$status, 0L)
  expect_identical(child$output, character())
})

test_that("the number of threads is taken from the environment", {
  child <- run_child(
    "cat(cudafactor::gpu_sitrep()$options$threads)", env = "CUDAFACTOR_NUM_THREADS=1"
  )
  expect_identical(child$output, "1")
})
