# The memory that chol_file() takes for tiles is what it was allowed to take, and how much that is
# changes nothing but the reading.

test_that("host memory is what was asked for; little of it means more reading, the same factor", {
  skip_if_not(
    file.exists("/proc/self/status"),
    "the system does not tell the most memory that a process has had"
  )
  n <- 2900L
  tile <- 256L
  k <- tile_matrix(
    lazy_covariance(seq(0, 1, length.out = n), range = 0.1, nugget = 1),
    file <- tempfile(fileext = ".tiles"), tile = tile, device = "cpu"
  )
  on.exit(unlink(file))
  asked <- c(3 * 8 * tile^2, 3 * 8 * tile^2, 8 * 2^20, 32 * 2^20)
  # The first two calls need what is needed only once: code and R's compiler, threads, workspace
  # of products. After them the most memory that the process has had grows by what tiles take.
  out <- run_child(c(
    "library(cudafactor)", sprintf("k <- open_tile_matrix('%s')", file),
    paste(
      "most <- function() as.numeric(gsub('[^0-9]', '', grep('^VmHWM:',",
      "readLines('/proc/self/status'), value = TRUE))) * 1024"
    ),
    sprintf("results <- lapply(c(%s), function(memory) {", paste(asked, collapse = ", ")),
    "  r <- chol_file(k, tempfile(), host_memory = memory, device = 'cpu')",
    "  gc()",
    paste(
      "  list(r = r, most = most(), read = attr(r, 'report')$read, tiles = attr(r,",
      "'report')$host_memory)"
    ),
    "})",
    "numbers <- vapply(results, function(x) c(x$most, x$tiles, x$read), numeric(3))",
    # The last columns are made of all others.
    "last <- lapply(results, function(x) x$r[, 2501:2900])",
    "unlink(vapply(results, function(x) x$r$path, ''))",
    "cat(sprintf('%.0f', numbers), length(unique(last)), sep = '\\n')"
  ))
  expect_identical(out$status, 0L)
  numbers <- as.numeric(out$output)
  expect_length(numbers, 13L)
  expect_identical(numbers[[13L]], 1)
  numbers <- matrix(numbers[-13L], 3L, dimnames = list(c("most", "tiles", "read"), NULL))
  expect_true(all(numbers["tiles", ] <= asked & numbers["tiles", ] > asked - 8 * tile^2))
  grown <- diff(numbers["most", ])
  expect_lte(grown[[2L]], 1.05 * asked[[3L]])
  expect_lte(abs(grown[[3L]] - (asked[[4L]] - asked[[3L]])), 0.05 * asked[[4L]])
  # Three tiles mean many passes.
  rows <- ceiling(n / tile)
  expect_gt(numbers[["read", 1L]], 5 * rows * (rows + 1) / 2 * 8 * tile^2)
  expect_true(all(diff(numbers["read", -1L]) < 0))
})
