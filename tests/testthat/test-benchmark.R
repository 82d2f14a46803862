quick <- function(..., n = c(8, 16, 32), seconds = 0.1) gpu_benchmark(..., n = n, seconds = seconds)

test_that("every operation is timed on every device there is", {
  b <- quick()
  verbs <- c("product", "crossprod", "chol", "lu", "qr", "solve", "eigen", "svd")
  expect_s3_class(b, c("gpu_benchmark", "data.frame"), exact = TRUE)
  expect_named(b, c("what", "n", "cpu", "base", "gpu", "auto"))
  expect_identical(b$what, rep(verbs, each = 3))
  expect_identical(b$n, rep(c(8L, 16L, 32L), 8))
  # Small enough for the least budget: the first order is always timed.
  first <- b[b$n == 8, ]
  expect_true(all(first$cpu > 0 & first$base > 0))
  expect_identical(is.na(first$gpu), rep(!gpu_available(), 8))
  expect_true(all(b$auto == "cpu"))
  expect_named(attr(b, "breakeven"), verbs)
  expect_identical(is.na(attr(b, "breakeven")), setNames(rep(!gpu_available(), 8), verbs))
})

test_that("orders come sorted, once, and one is enough", {
  b <- quick("qr", n = c(4, 1, 4, 2))
  expect_identical(b$n, c(1L, 2L, 4L))
  expect_identical(nrow(quick("chol", n = 1)), 1L)
  expect_identical(unique(quick(c("lu", "chol"))$what), c("lu", "chol"))
})

test_that("only what is asked for is compared with", {
  b <- quick("product", against = "cpu")
  expect_true(all(is.na(b$base)) && !anyNA(b$cpu[1]))
  b <- quick("product", against = "base")
  expect_true(all(is.na(b$cpu)) && !anyNA(b$base[1]))
})

test_that("who is too slow is not waited for", {
  # At this order no CPU is done within its share, as the order before tells.
  b <- quick("qr", n = c(200, 20000), seconds = 0.5, against = "base")
  expect_false(is.na(b$base[1]))
  expect_true(is.na(b$base[2]))
})

test_that("each order is timed twice at least, and the first one without any time", {
  calls <- 0
  cudafactor:::median_time(function(x) calls <<- calls + 1, NULL, 0)
  expect_gte(calls, 3)
  b <- quick("product", n = c(4, 8), seconds = 0, against = "cpu")
  expect_identical(is.na(b$cpu), c(FALSE, TRUE))
})

test_that("the calls of a benchmark show no plan and no progress", {
  old <- options(cudafactor.verbose = TRUE, cudafactor.progress = 0)
  on.exit(options(old))
  expect_silent(quick("product"))
  expect_true(getOption("cudafactor.verbose"))
  expect_identical(getOption("cudafactor.progress"), 0)
})

test_that("without a limit every order is timed", {
  b <- quick("product", n = c(4, 8), seconds = Inf, against = "cpu")
  expect_false(anyNA(b$cpu))
})

test_that("the session's random numbers and results are left alone", {
  set.seed(7)
  before <- .Random.seed
  quick("chol", precision = "single")
  expect_identical(.Random.seed, before)
})

test_that("the matrices are what the operations need", {
  for (n in c(1, 2, 65, 300)) {
    expect_silent(chol(cudafactor:::benchmark_matrix("chol", n)))
    expect_lt(kappa(cudafactor:::benchmark_matrix("solve", n)), 1e4)
  }
})

test_that("the break-even is where the lines cross", {
  from <- function(cpu, gpu, base = NA, n = 2^seq_along(gpu)) {
    cudafactor:::breakeven(data.frame(n = n, cpu = cpu, base = base, gpu = gpu))
  }
  # Cubes against a constant: equal at n = 100.
  n <- c(10, 50, 200, 1000)
  expect_equal(from(n^3, rep(100^3, 4), n = n), 100)
  expect_identical(from(c(1, 2), c(2, 3)), Inf)
  expect_identical(from(c(2, 3), c(1, 2)), 0)
  # A tie is not won; a win among losses does not count.
  expect_identical(from(c(1, 1), c(1, 1)), Inf)
  expect_equal(from(c(4, 1, 4), c(1, 4, 1)), round(sqrt(4 * 8)))
  expect_identical(from(c(1, NA), c(2, 2)), 4)
  expect_identical(from(c(1, 2), c(NA_real_, NA)), NA_real_)
  expect_identical(from(NA_real_, c(1, 2), base = c(2, 3)), 0)
  # The CPU backend goes before base R, since "auto" chooses between it and the GPU.
  expect_identical(from(c(1, 1), c(2, 2), base = c(9, 9)), Inf)
})

test_that("kept orders say no more than was measured", {
  keep <- function(breakeven, n, gpu = 1) {
    rows <- data.frame(what = "qr", n = n, gpu = gpu)
    cudafactor:::orders_to_keep(rows, c(qr = breakeven))
  }
  expect_identical(keep(Inf, c(512, 1024)), c(qr = NA_real_))
  expect_identical(keep(Inf, c(512, 2048)), c(qr = Inf))
  # The GPU was not timed at 2048.
  expect_identical(keep(Inf, c(512, 2048), c(1, NA)), c(qr = NA_real_))
  expect_identical(keep(0, c(128, 256)), c(qr = 128))
  expect_identical(keep(0, c(128, 256), c(NA, 1)), c(qr = 256))
  expect_identical(keep(300, c(128, 256, 512)), c(qr = 300))
  expect_identical(keep(NA_real_, 128, NA), c(qr = NA_real_))
  rows <- data.frame(what = rep(c("qr", "lu"), each = 2), n = c(8, 4096, 16, 32), gpu = 1)
  expect_identical(
    cudafactor:::orders_to_keep(rows, c(qr = Inf, lu = 0)), c(qr = Inf, lu = 16)
  )
})

test_that("what was measured can be used", {
  b <- quick(c("product", "qr"))
  old <- options(cudafactor.breakeven = attr(b, "breakeven"))
  on.exit(options(old))
  expect_identical(gpu_chol(diag(2)), diag(2))
})

test_that("a benchmark prints and plots, with a GPU and without", {
  b <- quick(c("product", "qr"))
  without <- structure(b, gpu = NA_character_, breakeven = c(product = NA_real_, qr = NA_real_))
  expect_output(print(without), "No GPU to compare with: see gpu_sitrep().", fixed = TRUE)
  with <- b
  with$gpu <- b$cpu / 2
  with <- structure(with, gpu = "cuda", breakeven = c(product = 12, qr = Inf))
  expect_output(print(with), "product    from n = 12", fixed = TRUE)
  expect_output(print(with), "qr         at no measured order", fixed = TRUE)
  expect_output(print(with), "The GPU is faster than the CPU backend:", fixed = TRUE)
  with_base <- with
  with_base$cpu <- NA_real_
  attr(with_base, "breakeven") <- c(product = 0)
  expect_output(print(with_base), "The GPU is faster than base R:", fixed = TRUE)
  expect_output(print(with_base), "product    at every measured order", fixed = TRUE)
  expect_output(print(with), "gpu, ms", fixed = TRUE)
  expect_output(print(b[1:2, ]), "product")
  # A subset that has lost the attributes tells nothing about a GPU.
  lost <- structure(b, gpu = NULL, breakeven = NULL)
  expect_false(any(grepl("GPU", capture.output(print(lost)))))
  e <- expect_error(plot(b[0, ]), "at least one row", class = "cudafactor_error_argument")
  expect_identical(e$argument, "x")
  untimed <- b[1, ]
  untimed[c("cpu", "base", "gpu")] <- NA_real_
  expect_error(plot(untimed), "row with a time", class = "cudafactor_error_argument")
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(unlink(file))
  before <- graphics::par("mfrow")
  expect_silent(plot(without))
  expect_silent(plot(with))
  expect_silent(plot(with, main = "here", log = "y", xlab = "order"))
  expect_identical(graphics::par("mfrow"), before)
  grDevices::dev.off()
  expect_gt(file.size(file), 0)
})

test_that("arguments that make no sense are refused", {
  for (wrong in list(
    list(what = "ginv"), list(what = character()), list(what = 1), list(n = 0), list(n = "a"),
    list(n = NA), list(n = 1.5),
    list(n = 1e6), list(n = numeric()), list(against = "gpu"), list(seconds = "1"),
    list(seconds = NA), list(seconds = -1), list(seconds = -Inf), list(device = "cpu"),
    list(device = "gpu"), list(device = 1), list(device = "cuda:"), list(device = NA_character_),
    list(device = c("cuda", "cuda")), list(precision = "half")
  )) {
    expect_error(
      do.call(gpu_benchmark, wrong), class = "cudafactor_error_argument", info = deparse(wrong)
    )
  }
  e <- expect_error(
    gpu_benchmark(device = "cuda:999"), class = "cudafactor_error_device_unavailable"
  )
  expect_identical(conditionCall(e), quote(gpu_benchmark(device = "cuda:999")))
  expect_match(conditionMessage(e), "; see gpu_sitrep(), or leave 'device' out", fixed = TRUE)
  said <- function(...) conditionMessage(tryCatch(gpu_benchmark(...), error = identity))
  expect_identical(
    said(device = "gpu"), "'device' must be NULL, \"cuda\" or \"cuda:<number>\", not \"gpu\""
  )
  expect_identical(said(n = 46341), "'n' must be whole numbers from 1 to 46340, not 46341")
  expect_identical(said(keep = "yes"), "'keep' must be TRUE or FALSE, not \"yes\"")
  expect_match(said(what = "ginv"), ", not \"ginv\"", fixed = TRUE)
  expect_match(said(against = "gpu"), ", not \"gpu\"", fixed = TRUE)
})

test_that("a benchmark can be stopped", {
  stopped <- function() {
    setTimeLimit(elapsed = 0.5, transient = TRUE)
    on.exit(setTimeLimit())
    gpu_benchmark(c("product", "solve"), n = 256 + seq_len(500), seconds = 1e4)
  }
  expect_error(stopped(), "time limit")
})

# Runs code with another value of option cudafactor.breakeven, and with kept orders in a new path.
with_kept <- function(breakeven, path, code) {
  old <- options(cudafactor.breakeven = breakeven)
  before <- Sys.getenv("R_USER_CONFIG_DIR", NA)
  Sys.setenv(R_USER_CONFIG_DIR = path)
  on.exit({
    options(old)
    if (is.na(before)) Sys.unsetenv("R_USER_CONFIG_DIR") else Sys.setenv(R_USER_CONFIG_DIR = before)
    unlink(path, recursive = TRUE)
  })
  code
}

test_that("orders are kept for later sessions", {
  orders <- c(product = 700, chol = Inf, qr = NA)
  option <- function() {
    child <- run_child(c(
      "library(cudafactor)", "dput(getOption('cudafactor.breakeven'))",
      "cat(gpu_sitrep()$options$measured)"
    ))
    expect_identical(child$status, 0L)
    child$output
  }
  with_kept(NULL, folder <- tempfile("config"), {
    expect_identical(
      dirname(cudafactor:::kept_orders_file()), tools::R_user_dir("cudafactor", "config")
    )
    expect_identical(option(), c("NULL", "FALSE"))
    file <- cudafactor:::kept_orders_file()
    cudafactor:::keep_orders(c(product = 5, qr = NA), NULL)
    # Orders of other operations stay.
    kept <- cudafactor:::keep_orders(c(product = 700, chol = Inf), NULL)
    expect_identical(kept, orders)
    expect_identical(list.files(folder, recursive = TRUE, full.names = TRUE), file)
    expect_identical(option(), c(capture.output(dput(orders)), "TRUE"))
    # What the user has set counts.
    options(cudafactor.breakeven = c(qr = 3))
    cudafactor:::restore_orders()
    expect_identical(getOption("cudafactor.breakeven"), c(qr = 3))
    # Another driver, nonsense and a damaged file count for nothing.
    options(cudafactor.breakeven = NULL)
    for (kept in list(list(breakeven = orders, driver = "1"), list(breakeven = -1), "a", 1:3)) {
      saveRDS(kept, file)
      cudafactor:::restore_orders()
      expect_null(getOption("cudafactor.breakeven"))
    }
    writeLines("damaged", file)
    expect_identical(option(), c("NULL", "FALSE"))
  })
})

test_that("orders that cannot be kept are an error", {
  writeLines("", file <- tempfile("config"))
  with_kept(NULL, file, for (check in list(
    cudafactor:::check_kept_folder, function(call) cudafactor:::keep_orders(c(qr = 1), call)
  )) {
    expect_error(check(NULL), "'keep = TRUE' needs a folder that can be written: ",
      fixed = TRUE, class = "cudafactor_error_argument")
  })
  with_kept(NULL, folder <- tempfile("config"), {
    expect_silent(cudafactor:::check_kept_folder(NULL))
    expect_identical(list.files(folder, recursive = TRUE), character())
  })
  expect_error(quick("qr", keep = NA), class = "cudafactor_error_argument")
  expect_error(
    quick("qr", keep = TRUE, precision = "single"), "measured in double precision",
    class = "cudafactor_error_argument"
  )
  if (!gpu_available()) {
    expect_error(quick("qr", keep = TRUE), "without a GPU", class = "cudafactor_error_argument")
  }
})

test_that("orders are kept of the GPU that auto takes", {
  devices <- function(value) {
    old <- options(cudafactor.devices = value)
    on.exit(options(old))
    cudafactor:::auto_gpu()
  }
  expect_identical(devices(NULL), "cuda")
  expect_identical(devices(c(2, 0)), "cuda")
  expect_identical(devices(c(3L, 1L)), "cuda:1")
  expect_error(
    quick("qr", device = "cuda:1", keep = TRUE), "because \"auto\" takes \"cuda\"",
    class = "cudafactor_error_argument"
  )
  expect_silent(cudafactor:::check_auto_gpu("cuda:0", NULL))
})

test_that("a GPU's orders are kept", {
  skip_unless(gpu_available(), "there is no GPU")
  with_kept(NULL, tempfile("config"), {
    b <- quick("product", keep = TRUE)
    kept <- cudafactor:::orders_to_keep(b, attr(b, "breakeven"))
    expect_identical(getOption("cudafactor.breakeven"), kept)
    options(cudafactor.breakeven = NULL)
    cudafactor:::restore_orders()
    expect_identical(getOption("cudafactor.breakeven"), kept)
  })
})

test_that("columns and rows of a table print", {
  b <- quick("product")
  expect_output(print(b["cpu"]), "cpu, ms")
  expect_output(print(b[c("what", "n")]), "product")
  expect_output(print(b["what"]), "product")
  expect_error(plot(b["n"]), "at least one row", class = "cudafactor_error_argument")
})
