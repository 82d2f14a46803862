# The plans that a computation shows under options(cudafactor.verbose = TRUE).

# The conditions of class cudafactor_plan that some code signals, with the option set.
plans <- function(code, verbose = TRUE) {
  old <- options(cudafactor.verbose = verbose)
  on.exit(options(old))
  found <- list()
  withCallingHandlers(code, cudafactor_plan = function(plan) {
    found[[length(found) + 1L]] <<- plan
    invokeRestart("muffleMessage")
  })
  found
}

texts <- function(found) vapply(found, conditionMessage, "")

expect_plan <- function(code, pattern) {
  found <- plans(code)
  expect_length(found, 1L)
  expect_match(texts(found), paste0("^", pattern, ".*\\)\n$"))
}

positive <- function(n) diag(n) + 1 / n

test_that("nothing is shown by default", {
  x <- positive(5)
  expect_null(getOption("cudafactor.verbose"))
  expect_silent(gpu_chol(x))
  for (verbose in list(NULL, FALSE)) {
    expect_length(plans(list(gpu_chol(x), gpu_matmult(x, x), gpu_solve(x)), verbose), 0L)
  }
})

test_that("a plan on the CPU names the function, the operands, the CPU and the reason", {
  old <- options(cudafactor.threads = 2)
  on.exit(options(old))
  plan <- plans(gpu_chol(positive(5), device = "cpu"))[[1L]]
  expect_identical(conditionMessage(plan),
    "gpu_chol(): 5 x 5, double: on the CPU with 2 threads (as 'device' says)\n")
  expect_s3_class(plan, c("cudafactor_plan", "message", "condition"), exact = TRUE)
  expect_identical(conditionCall(plan), quote(gpu_chol(positive(5), device = "cpu")))
  expect_identical(plan[c("device", "way")], list(device = "cpu", way = "whole"))
  expect_identical(
    unlist(plan[c("cpu_seconds", "gpu_seconds", "free_bytes")], use.names = FALSE),
    rep(NA_real_, 3)
  )
  single <- texts(plans(cudafactor::gpu_chol(positive(5), device = "cpu", precision = "single")))
  expect_match(single, "^gpu_chol\\(\\): 5 x 5, single: on the CPU")
  expect_plan(gpu_chol(positive(5)), paste0(
    "gpu_chol\\(\\): 5 x 5, double: on the CPU with 2 threads \\(too little work for a GPU"
  ))
})

test_that("each kind of computation shows its plan", {
  x <- positive(6)
  y <- matrix(1, 6, 2)
  r <- chol(x)
  cpu <- "double: on the CPU with [0-9]+ threads? "
  expect_plan(gpu_matmult(x, y), paste0("gpu_matmult\\(\\): 6 x 6 by 6 x 2, ", cpu))
  expect_plan(gpu_crossprod(y), paste0("gpu_crossprod\\(\\): 6 x 2, ", cpu))
  expect_plan(gpu_qr(x), paste0("gpu_qr\\(\\): 6 x 6, ", cpu))
  expect_plan(gpu_lu(x), paste0("gpu_lu\\(\\): 6 x 6, ", cpu))
  expect_plan(gpu_solve(x, y), paste0("gpu_solve\\(\\): 6 x 6, 2 right-hand sides, ", cpu))
  expect_plan(chol_update(r, y), paste0("chol_update\\(\\): 6 x 6, ", cpu))
  expect_plan(gpu_chol(array(x, c(6, 6, 3))), paste0("gpu_chol\\(\\): 3 of 6 x 6, ", cpu))
  expect_plan(gpu_lm_fit(y, 1:6), paste0("gpu_lm_fit\\(\\): 6 x 2, ", cpu))
  expect_match(
    texts(plans(pcg(x, y, device = "cpu"))), "^pcg\\(\\): 6 x 6, double: on the CPU"
  )
  lp <- quote(lp_ipm(c(1, 1), matrix(1, 1, 2), ">=", 1, device = "cpu"))
  expect_match(texts(plans(eval(lp))), "^lp_ipm\\(\\): 1 x 2, double: on the CPU")
  image <- matrix(c(0, 0, 1, 1), 4, 4)
  seeds <- matrix(c(1L, rep(0L, 14), 2L), 4, 4)
  expect_match(
    texts(plans(random_walker(image, seeds, device = "cpu"))),
    "^random_walker\\(\\): 16 pixels, double: on the CPU"
  )
})

test_that("matrices in files say their tiles", {
  file <- tempfile()
  on.exit(unlink(file))
  x <- tile_matrix(positive(40), file, tile = 16)
  found <- plans(r <- chol_file(x, device = "cpu"))
  expect_match(texts(found), paste0(
    "^chol_file\\(\\): 40 x 40, double: on the CPU with [0-9]+ threads? ",
    "\\(as 'device' says\\), by tiles of 16 x 16\n$"
  ))
  expect_identical(found[[1L]]$way, "tiled")
  found <- plans(chol_solve(r, rep(1, 40), device = "cpu"))
  expect_match(texts(found), "^chol_solve\\(\\): 40 x 40, 1 right-hand side, .*by tiles of 16 x 16")
})

test_that("a resident matrix is computed with where it is", {
  a <- as_gpu(positive(5), "cpu")
  expect_match(texts(plans(chol(a))),
    "^chol.*\\(\\): 5 x 5, double: on the CPU .*\\(where the operand is\\)\n$")
  expect_identical(plans(a %*% a)[[1L]]$way, "resident")
})

test_that("the plan is told before an error", {
  batch <- list(diag(2), -diag(3))
  seen <- plans(tryCatch(gpu_chol(batch), cudafactor_error_not_positive_definite = identity))
  expect_match(texts(seen), "^gpu_chol\\(\\): ")
  expect_length(seen, 2L)
  seen <- plans(tryCatch(gpu_chol(-diag(3)), cudafactor_error_not_positive_definite = identity))
  expect_match(texts(seen), "^gpu_chol\\(\\): 3 x 3")
})

test_that("functions that pcg() calls show their plans before its own", {
  solve_with <- function(r) gpu_matmult(diag(6), r)
  told <- texts(plans(pcg(positive(6), matrix(1:6, 6, 1), solve_with, device = "cpu")))
  expect_gt(length(told), 1L)
  expect_match(told[[length(told)]], "^pcg\\(\\): 6 x 6, .* \\(as 'device' says\\)\n$")
  expect_match(told[-length(told)], "^gpu_matmult\\(\\): 6 x 6 by 6 x 1, ")
})

test_that("decompositions tell the threads that compute", {
  old <- options(cudafactor.threads = 2)
  on.exit(options(old))
  for (call in expression(
    gpu_eigen(positive(5)), gpu_eigen(positive(5), FALSE), gpu_svd(positive(5)),
    gpu_norm(positive(5), "2"), gpu_svd(matrix(1, 500, 3), device = "cpu")
  )) {
    expect_match(texts(plans(eval(call))), "on the CPU with 1 thread \\(")
  }
  expect_match(texts(plans(gpu_eigen(positive(400)))), "on the CPU with 2 threads|GPU")
})

test_that("the device of an operand is not one that the user named", {
  g <- as_gpu(positive(5), "cpu")
  for (call in expression(prcomp(g), gpu_prcomp(g), gpu_ginv(g))) {
    told <- texts(plans(eval(call)))
    expect_gt(length(told), 1L)
    expect_false(any(grepl("as 'device' says", told)))
    expect_match(told, "where the operand is", all = FALSE)
  }
  expect_match(texts(plans(gpu_ginv(positive(5), device = "cpu"))), "as 'device' says")
})

test_that("a device that does not exist has no plan", {
  device <- if (gpu_available()) "cuda:99" else "cuda"
  for (f in list(gpu_chol, gpu_eigen, gpu_svd)) {
    seen <- plans(tryCatch(f(positive(5), device = device), error = identity))
    expect_length(seen, 0L)
  }
})

test_that("auto says what it found, and a device that is not there is the same error", {
  if (!gpu_available()) {
    n <- 600
    plan <- plans(gpu_matmult(matrix(1, n, n), matrix(1, n, n)))[[1L]]
    expect_match(conditionMessage(plan), "\\((no GPU was found|predicted .*)\\)\n$")
  }
  old <- options(cudafactor.min_flops = 1)
  on.exit(options(old))
  found <- if (gpu_available()) "GPU 0 \\(by option" else "the CPU .* \\(no GPU was found"
  expect_match(texts(plans(gpu_chol(positive(9)))), paste("9 x 9, double: on", found))
  error <- function(verbose) {
    old <- options(cudafactor.verbose = verbose)
    on.exit(options(old))
    suppressMessages(tryCatch(gpu_chol(positive(5), device = "cuda:99"), error = identity))
  }
  expect_s3_class(error(TRUE), "cudafactor_error_device_unavailable")
  expect_identical(conditionMessage(error(TRUE)), conditionMessage(error(FALSE)))
})

test_that("a plan on a GPU names it, the way and the memory", {
  skip_unless(gpu_available(), "there is no GPU")
  found <- plans(gpu_chol(positive(200), device = "cuda"))
  expect_match(texts(found), paste0(
    "^gpu_chol\\(\\): 200 x 200, double: on GPU 0 \\(as 'device' says\\), loaded whole; ",
    "480.0 kB of operands and result, [0-9.]+ GB free\n$"
  ))
  expect_identical(found[[1L]]$device, "cuda:0")
  # 2944 x 2944 doubles are more than 64 MiB.
  found <- plans(gpu_chol(positive(2944), device = "cuda"))
  expect_match(texts(found), "on GPU 0 .*, streamed in 4 blocks of 768 columns; ")
  old <- options(cudafactor.gpu_memory = 5e6)
  on.exit(options(old))
  found <- plans(gpu_chol(positive(600), device = "cuda"))
  expect_match(texts(found), "on GPU 0 .*, by tiles of [0-9]+ x [0-9]+; ")
  found <- plans(gpu_matmult(positive(600), positive(600), device = "cuda"))
  expect_identical(found[[1L]]$way, "parts")
})
