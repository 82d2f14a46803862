# Matrices of a device around forks, interrupts, a GPU that fails, and finalizers.

forks <- function() .Platform$OS.type == "unix" && requireNamespace("parallel", quietly = TRUE)

# What a child forked here makes of `work`, a function without arguments; NULL if it dies or hangs.
in_child <- function(work) {
  job <- parallel::mcparallel(work())
  answer <- parallel::mccollect(job, wait = FALSE, timeout = 60)[[1]]
  tools::pskill(job$pid, tools::SIGKILL)
  suppressWarnings(parallel::mccollect(job))
  answer
}

error_class <- function(expr) tryCatch({expr; "none"}, error = function(e) class(e)[[1]])

test_that("a forked child uses matrices of the host, not of a GPU, and leaves its parent alone", {
  skip_unless(forks(), "this system does not fork")
  set.seed(2)
  x <- random_matrix(300, 300)
  host <- as_gpu(x, "cpu")
  there <- as_gpu(x)
  on_gpu <- gpu_available()
  old <- options(cudafactor.min_flops = 0)
  on.exit(options(old))
  expected <- gpu_matmult(x, x)
  gc()
  before <- gpu_mem()[c("device", "held", "objects")]
  for (i in 1:2) {
    answer <- in_child(function() {
      garbage <- as_gpu(x)
      out <- list(
        host = as.matrix(host), product = as.matrix(host %*% host), auto = gpu_matmult(x, x),
        device = gpu_last_device(),
        cuda = tryCatch(gpu_matmult(x, x, device = "cuda"), error = identity),
        resident = garbage@device,
        there = tryCatch(as.matrix(there), error = identity), used = error_class(there %*% there),
        available = gpu_available(), rows = gpu_mem()$device, most = gpu_max_n("chol")
      )
      rm(garbage, host, there, inherits = TRUE)
      gpu_free()
      out
    })
    expect_identical(answer$host, x)
    expect_equal(answer$product, x %*% x)
    expect_equal(answer$auto, expected, tolerance = 1e-12)
    expect_identical(answer$device, "cpu")
    expect_identical(answer$resident, "cpu")
    expect_s3_class(answer$cuda, "cudafactor_error_device_unavailable")
    expect_false(answer$available)
    expect_identical(answer$rows, "cpu")
    if (on_gpu) {
      expect_match(conditionMessage(answer$cuda), "PSOCK", fixed = TRUE)
      expect_match(conditionMessage(answer$cuda), "mirai", fixed = TRUE)
      expect_s3_class(answer$there, "cudafactor_error_device_unavailable")
      expect_identical(answer$used, "cudafactor_error_device_unavailable")
    } else {
      expect_identical(answer$there, x)
      expect_identical(answer$used, "none")
    }
  }
  # Here nothing has changed.
  gc()
  expect_identical(gpu_mem()[c("device", "held", "objects")], before)
  expect_identical(as.matrix(there), x)
  expect_equal(as.matrix(there %*% there), expected, tolerance = 1e-12)
  expect_identical(gpu_matmult(x, x), expected)
})

test_that("parallel::mclapply over matrices of the host", {
  skip_unless(forks(), "this system does not fork")
  all <- lapply(1:4, function(i) as_gpu(diag(i, 50), "cpu"))
  sums <- parallel::mclapply(all, function(g) sum(as.matrix(g %*% g)), mc.cores = 2)
  expect_identical(sums, as.list(50 * (1:4)^2))
})

test_that("an interrupt gives back what the computation held", {
  skip_unless_interruptible()
  for_each_device(function(device) {
    folder <- tempfile()
    dir.create(folder)
    log <- file.path(folder, "log")
    child <- start_child(c(
      "library(cudafactor)",
      sprintf("setwd('%s'); device <- '%s'", folder, device),
      "x <- matrix(rnorm(3000^2), 3000)",
      "g <- as_gpu(x, device)",
      "small <- as_gpu(x[1:200, 1:200], device)",
      "work <- function(g, x) { y <- g %*% g; gpu_qr(x, device = device); y %*% g }",
      "invisible(work(small, x[1:200, 1:200]))",
      "use <- function() gpu_free()[, c('device', 'held', 'objects', 'allocated')]",
      "before <- use()",
      "writeLines(as.character(Sys.getpid()), 'started')",
      paste(
        "outcome <- tryCatch({ for (i in 1:10000) work(g, x); 'finished' }, interrupt =",
        "function(i) 'interrupted')"
      ),
      paste(
        "saveRDS(list(outcome = outcome, before = before, after = use(), intact =",
        "identical(as.matrix(g), x)), 'partial')"
      ),
      "invisible(file.rename('partial', 'answer'))"
    ), log)
    on.exit({
      close(child)
      unlink(folder, recursive = TRUE)
    })
    await <- function(name) {
      until <- Sys.time() + 120
      while (!file.exists(file.path(folder, name)) && Sys.time() < until) Sys.sleep(0.1)
      file.exists(file.path(folder, name))
    }
    expect_true(await("started"))
    Sys.sleep(0.5)
    pid <- as.integer(readLines(file.path(folder, "started")))
    tools::pskill(pid, tools::SIGINT)
    ended <- await("answer")
    tools::pskill(pid, tools::SIGKILL)
    expect_true(ended, info = paste(readLines(log), collapse = "\n"))
    answer <- readRDS(file.path(folder, "answer"))
    expect_identical(answer$outcome, "interrupted")
    expect_identical(answer$after, answer$before)
    expect_true(answer$intact)
  })
})

test_that("a GPU that fails is told of once, and the session goes on with the CPU", {
  skip_unless(gpu_available(), "there is no GPU")
  child <- run_child(c(
    "library(cudafactor)",
    "options(cudafactor.min_flops = 0)",
    "x <- matrix(rnorm(300^2), 300)",
    "g <- as_gpu(x, 'cuda'); h <- as_gpu(x, 'cpu')",
    "invisible(gpu_matmult(x, x))",
    "stopifnot(gpu_last_device() == 'cuda:0')",
    "others <- sum(gpu_info()$device != 'cuda:0')",
    "stopifnot(is.null(cudafactor:::native_gpu_fault(0)))",
    "told <- list()",
    "y <- withCallingHandlers({ gpu_matmult(x, x); gpu_chol(crossprod(x)); gpu_matmult(x, x) },",
    "  warning = function(w) { told[[length(told) + 1L]] <<- w; invokeRestart('muffleWarning') })",
    "stopifnot(isTRUE(all.equal(y, x %*% x)), gpu_last_device() == 'cpu')",
    "stopifnot(length(told) == 1L, inherits(told[[1]], 'cudafactor_warning_device_failed'))",
    paste(
      "failed <- function(expr) inherits(tryCatch(expr, error = identity),",
      "'cudafactor_error_device_failed')"
    ),
    paste(
      "stopifnot(failed(gpu_matmult(x, x, device = 'cuda')), failed(as.matrix(g)), failed(g %*%",
      "g), failed(as_gpu(x, 'cuda')))"
    ),
    "stopifnot(any(grepl('its values cannot be shown', capture.output(print(g)))))",
    "stopifnot(isTRUE(all.equal(as.matrix(h %*% h), x %*% x)))",
    # The driver may take the others with it.
    "left <- sum(gpu_info()$device != 'cuda:0')",
    "stopifnot(left %in% c(0, others), gpu_available() == (left > 0))",
    "stopifnot(!'cuda:0' %in% gpu_mem()$device)",
    "rm(g); gpu_free(); invisible(print(gpu_sitrep()))",
    "cat('fine')"
  ))
  expect_identical(child$status, 0L, info = child$output)
  expect_identical(tail(child$output, 1), "fine", info = child$output)
})

test_that("a failed GPU without one: a reply with a warning gives the warning and the value", {
  reply <- list(ok = list(rank = 2L), warning = "GPU 0 failed")
  w <- expect_warning(
    value <- cudafactor:::unwrap(reply, quote(f(x))), class = "cudafactor_warning_device_failed"
  )
  expect_match(conditionMessage(w), "now uses the CPU", fixed = TRUE)
  expect_identical(conditionCall(w), quote(f(x)))
  expect_identical(value, list(rank = 2L))
  expect_warning(
    value <- cudafactor:::unwrap(list(warning = "failed"), NULL, out = diag(2)),
    class = "cudafactor_warning"
  )
  expect_identical(value, diag(2))
})

test_that("a finalizer in the middle of a call computes on the CPU and takes nothing away", {
  m <- matrix(1, 4096, 2048)
  g <- as_gpu(diag(3), device = "cpu")
  seen <- NULL
  # Garbage is looked for after every GiB of host memory, within the call that gets it.
  watch <- function() {
    reg.finalizer(new.env(), function(e) {
      if (any(vapply(
        sys.calls(), function(call) identical(call[[1L]], quote(native_resident_new)), NA
      ))) {
        seen <<- list(
          freed = cudafactor:::native_resident_free(g@pointer)$ok$freed, value = as.matrix(g %*% g),
          plain = gpu_crossprod(m[1:300, ]),
          cuda = tryCatch(gpu_crossprod(m, device = "cuda"), error = identity)
        )
      } else {
        watch()
      }
    })
  }
  watch()
  for (i in 1:20) large <- as_gpu(m, device = "cpu")
  expect_identical(seen[c("freed", "value")], list(freed = FALSE, value = diag(3)))
  expect_identical(seen$plain, matrix(300, 2048, 2048))
  expect_s3_class(seen$cuda, "cudafactor_error_device_unavailable")
  expect_match(conditionMessage(seen$cuda), "finalizer")
  expect_identical(as.matrix(g), diag(3))
  expect_identical(nrow(gpu_free(g)) > 0L, TRUE)
  expect_error(as.matrix(g), class = "cudafactor_error_stale")
})
