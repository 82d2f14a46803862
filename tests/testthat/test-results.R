# Memory of large results, which is kept for the next ones.

kept <- function() .External(cudafactor:::kept_results)
skip_unless_kept <- function() skip_if(!identical(Sys.info()[["sysname"]], "Linux"),
  "memory of results is kept on Linux alone")

# In a separate session, where no other results are collected in the meantime.
test_that("memory of collected results is kept, used again and given back", {
  skip_unless_kept()
  out <- run_child(c(
    "suppressMessages(library(cudafactor))",
    "kept <- function() .External(cudafactor:::kept_results)",
    "set.seed(1)", "x <- matrix(runif(800 * 800), 800)", "want <- x %*% x",
    "stopifnot(kept() == 0)",
    "y <- gpu_matmult(x, x, device = 'cpu')", "rm(y)", "invisible(gc())", "before <- kept()",
    "mem <- gpu_mem()", "stopifnot(before >= 8 * 800^2, mem$pooled[mem$device == 'cpu'] == before)",
    "y <- gpu_matmult(x, x, device = 'cpu')", "stopifnot(kept() == 0, all.equal(y, want))",
    "z <- gpu_matmult(x, x, device = 'cpu')", "rm(z)", "invisible(gc())",
    "stopifnot(kept() == before)",
    "gpu_free()", "stopifnot(kept() == 0)",
    # What is in use is nobody else's.
    "z <- gpu_matmult(x, 2 * x, device = 'cpu')",
    "stopifnot(all.equal(y, want), all.equal(z, 2 * want))", "cat('fine')"
  ))
  expect_identical(out$output, "fine")
  expect_identical(out$status, 0L)
})

test_that("such results are ordinary matrices", {
  x <- matrix(as.double(1:640000), 800)
  y <- gpu_tcrossprod(x, diag(800), device = "cpu")
  expect_equal(y, x)
  z <- y
  z[1, 1] <- -1
  expect_identical(y[1, 1], 1)
  dimnames(z) <- list(NULL, paste0("c", 1:800))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(z, file)
  expect_identical(readRDS(file), z)
  expect_identical(identical(unserialize(serialize(y, NULL)), y), TRUE)
  expect_equal(rbind(y, y)[801:1600, ], y)
})

test_that("what is kept is bounded", {
  skip_unless_kept()
  total <- gpu_mem()$total[[1L]]
  skip_if(is.na(total), "the system does not tell its memory")
  bound <- total / 4
  # A hundred or so, hardly any of which is written.
  columns <- ceiling(bound / 64 / (8 * 4096))
  results <- lapply(1:96, function(i) .External(cudafactor:::alloc_matrix, 4096, columns))
  rm(results)
  gc()
  expect_lte(kept(), bound)
  expect_gt(kept(), bound / 2)
  gpu_free()
})

test_that("results nobody refers to are collected, though R does not count them", {
  skip_unless_kept()
  total <- gpu_mem()$total[[1L]]
  skip_if(is.na(total), "the system does not tell its memory")
  live <- function() {
    status <- readLines("/proc/self/status")
    1024 * as.numeric(gsub("[^0-9]", "", grep("^VmSize", status, value = TRUE)))
  }
  gc()
  gpu_free()
  before <- live()
  span <- min(total / 32, 2^30)
  each <- 1e6
  for (i in seq_len(ceiling(8 * span / (8 * each))))
    x <- .External(cudafactor:::alloc_matrix, 1000, each / 1000)
  expect_lt(live() - before, 4 * span)
})

test_that("a result that does not fit is base R's error", {
  expect_error(.External(cudafactor:::alloc_matrix, 2^23, 2^23), "cannot allocate vector of size")
})

test_that("names are put on a result without a copy of it", {
  skip_if_not(capabilities("profmem"), "this R does not tell of memory")
  n <- 400L
  set.seed(1)
  x <- matrix(rnorm(n * n), n, dimnames = list(paste0("r", 1:n), paste0("c", 1:n)))
  s <- crossprod(x)
  s <- s[order(diag(s)), order(diag(s))]
  log <- tempfile()
  on.exit(unlink(log))
  large <- function(call) {
    utils::Rprofmem(log, threshold = 8 * n * n - 1)
    force(call)
    utils::Rprofmem(NULL)
    sum(grepl("^[0-9]", readLines(log)))
  }
  for_each_device(function(device) {
    f <- gpu_lu(x, device = device)
    expect_identical(large(gpu_solve(x, device = device)), 1L)
    expect_identical(large(gpu_solve(x, x, device = device)), 1L)
    expect_identical(large(solve(f, device = device)), 1L)
    expect_identical(large(gpu_chol(s, pivot = TRUE, device = device)), 1L)
    expect_identical(large(gpu_qr(x, device = device)), 1L)
    expect_identical(large(gpu_qr(x, LAPACK = TRUE, device = device)), 1L)
  })
})

test_that("nothing is kept where a process may have so much address space only", {
  skip_unless_kept()
  code <- c(
    "suppressMessages(library(cudafactor))", "x <- matrix(1, 800, 800)",
    "y <- gpu_matmult(x, x, device = 'cpu')", "rm(y)", "invisible(gc())",
    "cat(.External(cudafactor:::kept_results))"
  )
  file <- tempfile(fileext = ".R")
  writeLines(code, file)
  on.exit(unlink(file))
  limited <- sprintf("ulimit -v 67108864 && exec %s --vanilla %s",
    shQuote(file.path(R.home("bin"), "Rscript")), shQuote(file))
  out <- suppressWarnings(system2("sh", c("-c", shQuote(limited)), stdout = TRUE, stderr = FALSE,
    env = child_library()))
  expect_identical(utils::tail(out, 1L), "0")
})
