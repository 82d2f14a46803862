# Matrices of a device in files and in other R sessions.

test_that("a saved matrix is restored, on any device and in its precision", {
  set.seed(1)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  for_each_setting(function(device, precision) {
    for (x in list(
      random_matrix(7, 5), matrix(0, 0, 3), matrix(c(NA, NaN, Inf, -Inf), 2),
      named(random_matrix(3, 3))
    )) {
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
    format = "cudafactor 1", class = "gpu_matrix", Dim = c(2L, 2L), Dimnames = list(NULL, NULL),
    precision = "double",
    values = c(1, 0, 0, 1), rest = NULL
  )
  saveRDS(saved, file)
  expect_warning(gpu_restore(file), class = "cudafactor_warning_no_checksum")
  wrong <- list(
    values = 1:4, values = c(1, 2), Dim = c(2L, 3L), Dim = c(2, 2), Dim = c(-2L, -2L),
    Dim = c(NA, 2L), Dimnames = list("a", NULL),
    Dimnames = NULL, precision = "half", precision = NULL, format = "other", class = "lm",
    class = c("gpu_matrix", "a"), class = NULL, class = "gpu_lu", class = "gpu_qr_factor",
    rest = list(1)
  )
  for (i in seq_along(wrong)) {
    broken <- saved
    broken[names(wrong)[[i]]] <- wrong[i]
    saveRDS(broken, file)
    e <- expect_error(
      gpu_restore(file), class = "cudafactor_error_file_format", info = names(wrong)[[i]]
    )
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
  expect_identical(
    list.files(dirname(file), sub(".rds", "", basename(file), fixed = TRUE)), basename(file)
  )
})

# Code for a process that has got `g`, an object whose values were left behind; its output is
# "fine".
use_stale <- c(
  "shown <- utils::capture.output(print(g), str(g))",
  "classes <- vapply(list(as.matrix, function(x) x %*% x, crossprod, as.vector,",
  paste(
    "  function(x) gpu_save(x, tempfile())), function(f) tryCatch(class(f(g))[[1]], error =",
    "function(e) class(e)[[1]]), '')"
  ),
  "said <- tryCatch(as.matrix(g), error = conditionMessage)",
  "invisible(cudafactor::gpu_free(g)); invisible(gc())",
  "good <- all(classes == 'cudafactor_error_stale') && any(grepl('<gpu_matrix 4 x 4', shown)) &&",
  paste(
    "  grepl('not in this R session', said) && grepl('gpu_save()', said, fixed = TRUE) &&",
    "identical(dim(g), c(4L, 4L))"
  ),
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
