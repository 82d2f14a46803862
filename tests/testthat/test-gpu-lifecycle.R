# Matrices of a device around what happens to an R session: files, other processes, forks, interrupts, a GPU that fails.

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

test_that("a saved matrix is restored, on any device and in its precision", {
  set.seed(1)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  for_each_setting(function(device, precision) {
    for (x in list(random_matrix(7, 5), matrix(0, 0, 3), matrix(c(NA, NaN, Inf, -Inf), 2), named(random_matrix(3, 3)))) {
      g <- as_gpu(x, device, precision)
      expect_identical(withVisible(gpu_save(g, file))$visible, FALSE)
      for (to in c("cpu", if (gpu_available()) "cuda")) {
        back <- gpu_restore(file, device = to)
        expect_identical(as.matrix(back), as.matrix(g))
        expect_identical(is.na(as.matrix(back)), is.na(x))
        expect_identical(dimnames(back), dimnames(g))
        expect_identical(back@precision, precision)
        expect_identical(back@device, if (to == "cuda") "cuda:0" else to)
      }
    }
  })
  child <- run_child(sprintf("cat(dim(cudafactor::gpu_restore('%s')))", file))
  expect_identical(child$output, "3 3")
})

test_that("a saved factor is restored", {
  set.seed(5)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  x <- named(random_matrix(6, 6))
  y <- c(1, 2, 3, 5, 8, 13)
  for_each_setting(function(device, precision) {
    g <- as_gpu(x, device, precision)
    for (f in list(qr(g), gpu_lu(g))) {
      gpu_save(f, file)
      back <- gpu_restore(file, device = device)
      expect_identical(class(back), class(f))
      expect_identical(solve(back, y), solve(f, y))
      e <- expect_error(solve(unserialize(serialize(f, NULL)), y), class = "cudafactor_error_stale")
      expect_identical(e$reason, "elsewhere")
      gpu_free(f)
      e <- expect_error(solve(f, y), class = "cudafactor_error_stale")
      expect_identical(e$reason, "freed")
      expect_equal(solve(back, y), solve(gpu_restore(file, device = "cpu"), y), tolerance = 1e-4)
    }
    expect_identical(determinant(back), determinant(gpu_lu(g)))
  })
  expect_error(gpu_save(gpu_lu(x), file), class = "cudafactor_error_type")
  expect_error(gpu_save(qr(x), file), class = "cudafactor_error_type")
  expect_error(gpu_free(gpu_lu(x)), class = "cudafactor_error_type")
})

test_that("files that are not there, cannot be written or are something else", {
  g <- as_gpu(diag(2))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  nowhere <- file.path(tempdir(), "no", "such", "folder.rds")
  expect_error(gpu_save(g, nowhere), class = "cudafactor_error_file")
  expect_error(gpu_restore(file), class = "cudafactor_error_file")
  for (name in list("", NA_character_, 1, NULL, c("a", "b"), file(nowhere))) {
    expect_error(gpu_save(g, name), class = "cudafactor_error_argument")
    expect_error(gpu_restore(name), class = "cudafactor_error_argument")
    if (inherits(name, "connection")) close(name)
  }
  expect_error(gpu_save(diag(2), file), class = "cudafactor_error_type")
  writeLines("text", file)
  expect_error(gpu_restore(file), class = "cudafactor_error_file_format")
  # As an earlier version wrote it.
  saved <- list(
    format = "cudafactor 1", class = "gpu_matrix", Dim = c(2L, 2L), Dimnames = list(NULL, NULL), precision = "double",
    values = c(1, 0, 0, 1), rest = NULL
  )
  saveRDS(saved, file)
  expect_warning(gpu_restore(file), class = "cudafactor_warning_no_checksum")
  wrong <- list(
    values = 1:4, values = c(1, 2), Dim = c(2L, 3L), Dim = c(2, 2), Dim = c(-2L, -2L), Dim = c(NA, 2L), Dimnames = list("a", NULL),
    Dimnames = NULL, precision = "half", precision = NULL, format = "other", class = "lm",
    class = c("gpu_matrix", "a"), class = NULL, class = "gpu_lu", class = "gpu_qr_factor", rest = list(1)
  )
  for (i in seq_along(wrong)) {
    broken <- saved
    broken[names(wrong)[[i]]] <- wrong[i]
    saveRDS(broken, file)
    e <- expect_error(gpu_restore(file), class = "cudafactor_error_file_format", info = names(wrong)[[i]])
    expect_match(conditionMessage(e), "gpu_save()", fixed = TRUE)
  }
  for (other in list(1, diag(2), g, list(), NULL)) {
    saveRDS(other, file)
    expect_error(gpu_restore(file), class = "cudafactor_error_file_format")
  }
})

test_that("an object of a class that extends gpu_matrix comes back as one", {
  methods::setClass("labelled_gpu_matrix", contains = "gpu_matrix", slots = c(label = "character"))
  file <- tempfile(fileext = ".rds")
  on.exit({
    unlink(file)
    methods::removeClass("labelled_gpu_matrix")
  })
  gpu_save(methods::new("labelled_gpu_matrix", as_gpu(diag(2)), label = "a"), file)
  back <- gpu_restore(file)
  expect_identical(class(back)[[1]], "gpu_matrix")
  expect_identical(as.matrix(back), diag(2))
})

test_that("a failing save leaves the file that was there", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  gpu_save(as_gpu(diag(2)), file)
  g <- unserialize(serialize(as_gpu(diag(3)), NULL))
  expect_error(gpu_save(g, file), class = "cudafactor_error_stale")
  expect_identical(as.matrix(gpu_restore(file)), diag(2))
  expect_identical(list.files(dirname(file), sub(".rds", "", basename(file), fixed = TRUE)), basename(file))
})

# Code for a process that has got `g`, an object whose values were left behind; its output is "fine".
use_stale <- c(
  "shown <- utils::capture.output(print(g), str(g))",
  "classes <- vapply(list(as.matrix, function(x) x %*% x, crossprod, as.vector,",
  "  function(x) gpu_save(x, tempfile())), function(f) tryCatch(class(f(g))[[1]], error = function(e) class(e)[[1]]), '')",
  "said <- tryCatch(as.matrix(g), error = conditionMessage)",
  "invisible(cudafactor::gpu_free(g)); invisible(gc())",
  "good <- all(classes == 'cudafactor_error_stale') && any(grepl('<gpu_matrix 4 x 4', shown)) &&",
  "  grepl('not in this R session', said) && grepl('gpu_save()', said, fixed = TRUE) && identical(dim(g), c(4L, 4L))",
  "cat(if (good) 'fine' else c(classes, shown, said))"
)

test_that("what saveRDS() and a workspace keep of a matrix says what to do", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  for_each_setting(function(device, precision) {
    g <- as_gpu(diag(4), device, precision)
    saveRDS(g, file)
    child <- run_child(c("library(cudafactor)", sprintf("g <- readRDS('%s')", file), use_stale))
    expect_identical(c(child$status, tail(child$output, 1)), c("0", "fine"), info = child$output)
    save(g, file = file)
    child <- run_child(c(sprintf("load('%s')", file), "library(cudafactor)", use_stale))
    expect_identical(c(child$status, tail(child$output, 1)), c("0", "fine"), info = child$output)
    # Here, too: the values are behind the object that was saved, not behind what was read.
    load(file, envir = where <- new.env())
    e <- expect_error(as.matrix(where$g), class = "cudafactor_error_stale")
    expect_identical(e$reason, "elsewhere")
    expect_identical(as.matrix(g), diag(4))
  })
})

test_that("a restored session says what to do", {
  image <- tempfile(fileext = ".RData")
  on.exit(unlink(image))
  child <- run_child(c("g <- cudafactor::as_gpu(diag(4))", sprintf("save.image('%s')", image)))
  expect_identical(child$status, 0L, info = child$output)
  child <- run_child(c(sprintf("load('%s')", image), "library(cudafactor)", use_stale))
  expect_identical(c(child$status, tail(child$output, 1)), c("0", "fine"), info = child$output)
})

test_that("a worker gets the description, and values from a file", {
  skip_unless(requireNamespace("parallel", quietly = TRUE), "parallel is not installed")
  file <- tempfile(fileext = ".rds")
  cluster <- parallel::makeCluster(1)
  on.exit({
    parallel::stopCluster(cluster)
    unlink(file)
  })
  # By its name: the function itself would take its own copy of the paths along.
  parallel::clusterCall(cluster, ".libPaths", .libPaths())
  for_each_device(function(device) {
    g <- as_gpu(matrix(1:4, 2), device)
    at_work <- function(g, file) {
      list(
        stale = tryCatch(as.matrix(g), error = function(e) class(e)),
        shown = utils::capture.output(print(g))[[1]],
        value = sum(as.matrix(cudafactor::gpu_restore(file))),
        back = g
      )
    }
    environment(at_work) <- globalenv()
    gpu_save(g, file)
    answer <- parallel::clusterCall(cluster, at_work, g, file)[[1]]
    expect_true("cudafactor_error_stale" %in% answer$stale)
    expect_match(answer$shown, "<gpu_matrix 2 x 2", fixed = TRUE)
    expect_identical(answer$value, 10)
    expect_error(as.matrix(answer$back), class = "cudafactor_error_stale")
  })
})

test_that("a forked child uses matrices of the host, is refused those of a GPU, and leaves its parent alone", {
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
        host = as.matrix(host), product = as.matrix(host %*% host), auto = gpu_matmult(x, x), device = gpu_last_device(),
        cuda = tryCatch(gpu_matmult(x, x, device = "cuda"), error = identity), resident = garbage@device,
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
      "outcome <- tryCatch({ for (i in 1:10000) work(g, x); 'finished' }, interrupt = function(i) 'interrupted')",
      "saveRDS(list(outcome = outcome, before = before, after = use(), intact = identical(as.matrix(g), x)), 'partial')",
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
    "failed <- function(expr) inherits(tryCatch(expr, error = identity), 'cudafactor_error_device_failed')",
    "stopifnot(failed(gpu_matmult(x, x, device = 'cuda')), failed(as.matrix(g)), failed(g %*% g), failed(as_gpu(x, 'cuda')))",
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

test_that("a failed GPU without one: the warning of a reply is signalled beside its value", {
  reply <- list(ok = list(rank = 2L), warning = "GPU 0 failed")
  w <- expect_warning(value <- cudafactor:::unwrap(reply, quote(f(x))), class = "cudafactor_warning_device_failed")
  expect_match(conditionMessage(w), "now uses the CPU", fixed = TRUE)
  expect_identical(conditionCall(w), quote(f(x)))
  expect_identical(value, list(rank = 2L))
  expect_warning(value <- cudafactor:::unwrap(list(warning = "failed"), NULL, out = diag(2)), class = "cudafactor_warning")
  expect_identical(value, diag(2))
})

test_that("a finalizer that R runs in the middle of a call computes on the CPU and takes nothing away", {
  m <- matrix(1, 4096, 2048)
  g <- as_gpu(diag(3), device = "cpu")
  seen <- NULL
  # Garbage is looked for after every GiB of host memory, within the call that gets it.
  watch <- function() {
    reg.finalizer(new.env(), function(e) {
      if (any(vapply(sys.calls(), function(call) identical(call[[1L]], quote(native_held_new)), NA))) {
        seen <<- list(
          freed = cudafactor:::native_held_free(g@pointer)$ok$freed, value = as.matrix(g %*% g),
          plain = gpu_crossprod(m[1:300, ]), cuda = tryCatch(gpu_crossprod(m, device = "cuda"), error = identity)
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
