# gpu_sitrep(): the report on drivers, GPUs and options.

test_that("the situation report tells every probe and the fix", {
  report <- gpu_sitrep()
  expect_s3_class(report, "gpu_sitrep")
  expect_named(report, c("probes", "gpus", "options", "versions"))
  expect_named(report$probes, c("step", "ok", "detail", "fix"))
  expect_gt(nrow(report$probes), 0)
  expect_identical(all(report$probes$ok), gpu_available())
  expect_true(all(nzchar(report$probes$fix[!report$probes$ok])))
  expect_output(print(report), report$probes$step[[1]], fixed = TRUE)
  expect_output(print(report), "device = \"auto\"", fixed = TRUE)
  expect_output(print(report), "\"auto\" takes a GPU where it should be faster", fixed = TRUE)
  expect_identical(report$options$min_flops, NA_real_)
  expect_identical(report$options$emulation, "auto")
  with_options(cudafactor.min_flops = 5e8, cudafactor.emulation = "never", code = {
    expect_output(print(gpu_sitrep()), "from 5e+08 operations on", fixed = TRUE)
    expect_identical(gpu_sitrep()$options$min_flops, 5e8)
    expect_identical(gpu_sitrep()$options$emulation, "never")
  })
  with_options(cudafactor.device = "cuda", code = {
    report$options <- gpu_sitrep()$options
    report$gpus <- report$gpus[0, ]
    expect_output(print(report), "every computation stops with an error", fixed = TRUE)
  })
  report$probes <- data.frame(step = "driver", ok = FALSE, detail = "not found", fix = "install it")
  expect_output(print(report), "fix: install it", fixed = TRUE)
})

test_that("the situation report tells from which orders auto takes a GPU", {
  auto <- gpu_sitrep()$options$auto
  expect_identical(dimnames(auto), list(
    c("product", "crossprod", "chol", "lu", "qr", "solve", "eigen", "svd"), c("double", "single")
  ))
  if (!gpu_available()) {
    expect_true(all(auto == Inf))
  } else {
    n <- auto[["product", "single"]]
    x <- matrix(1, n, n)
    gpu_matmult(x, x, precision = "single")
    expect_identical(gpu_last_device(), "cuda:0")
  }
  # On a graphics card.
  report <- gpu_sitrep()
  report$options$auto[] <- rep(c(Inf, 724), each = 8)
  report$gpus <- cudafactor:::gpu_table(list(
    device = "cuda:0", name = "A", compute_capability = "8.9", memory_total = 2, memory_free = 1,
    driver = "12.4", multiprocessors = 16L, single_per_double = 64, integers_from = 640
  ))
  expect_output(print(report), "64 times as fast in single as in double precision", fixed = TRUE)
  # What holds is the option at the time of the report.
  integers <- function(wanted) {
    report$options <- with_options(cudafactor.emulation = wanted, code = gpu_sitrep()$options)
    grep("8-bit integers", utils::capture.output(print(report)), value = TRUE)
  }
  expect_match(integers(NULL), "from 8-bit integers: from n = 640 on, if the entries allow it$")
  expect_match(integers("never"), "integers: never, by option cudafactor.emulation$")
  expect_match(integers("always"), "integers: wherever the bound on errors allows it, by option")
  report$gpus$integers_from <- Inf
  expect_match(integers("auto"), "integers: never, since there are no kernels for this GPU")
  expect_output(
    print(report), "\"auto\" takes a GPU in double precision for product at no n,", fixed = TRUE
  )
  expect_output(
    print(report), "\"auto\" takes a GPU in single precision for product from n = 724,",
    fixed = TRUE
  )
})

test_that("the situation report names options that make no sense", {
  for (wrong in list(
    list(cudafactor.device = "nowhere"), list(cudafactor.device = 1),
    list(cudafactor.threads = -1), list(cudafactor.emulation = c("never", "always"))
  )) {
    old <- options(wrong)
    report <- gpu_sitrep()
    expect_output(
      print(report), "reads these options stops with an error until they are corrected",
      fixed = TRUE
    )
    options(old)
    expect_identical(report$probes$step[[1]], "options")
    expect_false(report$probes$ok[[1]])
    expect_true(is.na(report$options$threads))
    expect_identical(report$options$emulation, NA_character_)
  }
})

test_that("the situation report names GPUs that are not there", {
  absent <- function() {
    probes <- gpu_sitrep()$probes
    probes[probes$step == "options", ]
  }
  expect_identical(nrow(absent()), 0L)
  with_options(cudafactor.devices = c(50, 51), cudafactor.device = "cuda:49", code = {
    rows <- absent()
    expect_identical(rows$ok, c(FALSE, FALSE))
    expect_identical(rows$detail, c(
      "the option \"cudafactor.device\" is \"cuda:49\", and there is no GPU 49 that can be opened",
      paste(
        "the option \"cudafactor.devices\" is c(50, 51),",
        "and there is no GPU 50 or 51 that can be opened"
      )
    ))
    expect_identical(rows$fix, sprintf(
      "options(%s = NULL) restores the default", c("cudafactor.device", "cudafactor.devices")
    ))
    expect_output(print(gpu_sitrep()), "[--] options: the option", fixed = TRUE)
  })
  with_options(
    cudafactor.device = "cuda",
    code = expect_identical(nrow(absent()), if (gpu_available()) 0L else 1L)
  )
})
