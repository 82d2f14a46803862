# Who holds how much memory, and how it is given back.

held <- function(device) {
  table <- gpu_mem()
  row <- table[table$device == if (device == "cuda") "cuda:0" else device, ]
  list(held = row$held, objects = row$objects, allocated = row$allocated)
}

test_that("there is a row for each device, and it adds up", {
  table <- gpu_mem()
  expect_s3_class(table, "data.frame")
  expect_named(table,
    c("device", "total", "free", "held", "objects", "allocated", "pooled", "staging"))
  expect_identical(table$device[[1]], "cpu")
  expect_identical("cuda:0" %in% table$device, gpu_available())
  gpus <- table[table$device != "cpu", ]
  expect_true(all(gpus$free > 0 & gpus$free <= gpus$total))
  expect_true(all(table$held >= 0 & table$objects >= 0L & table$allocated >= table$held))
  if (file.exists("/proc/meminfo")) {
    expect_true(table$free[[1]] > 0 && table$free[[1]] <= table$total[[1]])
  }
})

test_that("held bytes are those of the matrices", {
  for_each_setting(function(device, precision) {
    gc()
    before <- held(device)
    g <- as_gpu(matrix(1, 40, 25), device, precision)
    also <- g
    size <- 40 * 25 * if (precision == "single") 4 else 8
    expect_identical(held(device)$held, before$held + size)
    expect_identical(held(device)$objects, before$objects + 1L)
    empty <- as_gpu(matrix(0, 0, 5), device, precision)
    expect_identical(held(device)$held, before$held + size)
    expect_identical(held(device)$objects, before$objects + 2L)
    rm(g, empty)
    gc()
    expect_identical(held(device)$objects, before$objects + 1L)
    rm(also)
    gc()
    expect_identical(held(device), before)
  })
})

test_that("a matrix that is freed says so, under each of its names", {
  for_each_setting(function(device, precision) {
    gc()
    before <- held(device)
    g <- as_gpu(diag(3), device, precision)
    also <- g
    expect_identical(withVisible(gpu_free(g))$visible, FALSE)
    expect_identical(held(device), before)
    for (x in list(g, also)) {
      e <- expect_error(as.matrix(x), class = "cudafactor_error_stale")
      expect_identical(e$reason, "freed")
      expect_match(conditionMessage(e), "gpu_free()", fixed = TRUE)
      expect_output(print(x), "<gpu_matrix 3 x 3", fixed = TRUE)
      expect_identical(dim(x), c(3L, 3L))
    }
    # Once is enough, and again does no harm.
    gpu_free(also)
    rm(g, also)
    gc()
    expect_identical(held(device), before)
  })
  for (x in list(1, NULL, diag(2), "g")) {
    expect_error(gpu_free(x), class = "cudafactor_error_type")
  }
})

test_that("what is kept for later calls is given back", {
  for_each_setting(function(device, precision) {
    x <- crossprod(random_matrix(300, 200))
    g <- as_gpu(x, device, precision)
    expected <- gpu_chol(x, device = device, precision = precision)
    table <- gpu_free()
    expect_named(table, names(gpu_mem()))
    expect_true(all(table$staging == 0))
    # A piece of the pool stays as a whole while a matrix is in it.
    expect_true(all(table$pooled < 2^27))
    expect_identical(gpu_chol(x, device = device, precision = precision), expected)
    expect_equal(as.matrix(g), x, tolerance = 1e-6)
  })
})

test_that("ten thousand matrices leave memory where it was", {
  for_each_device(function(device) {
    x <- matrix(1, 20, 20)
    run <- function(times) for (i in seq_len(times)) as_gpu(x, device)
    run(20)
    gpu_free()
    before <- held(device)
    free <- function() gpu_free()$free[[if (device == "cpu") 1L else 2L]]
    room <- free()
    run(10000)
    gc()
    expect_identical(held(device), before)
    if (device != "cpu") {
      expect_identical(free(), room)
    }
  })
})

test_that("garbage is looked for as host memory is handed out", {
  if (isTRUE(gpu_mem()$free[[1]] < 6 * 2^30)) {
    skip("this machine has little memory")
  }
  gc()
  before <- held("cpu")$held
  # 32 MiB each, 2 GiB in all, which R sees nothing of.
  x <- matrix(1, 2048, 2048)
  most <- 0
  for (i in 1:64) {
    as_gpu(x, "cpu")
    most <- max(most, held("cpu")$held - before)
  }
  expect_lte(most, 1.5 * 2^30)
  rm(x)
  gc()
  expect_identical(held("cpu")$held, before)
})

test_that("a full GPU has R look for garbage, and says who holds its memory", {
  skip_unless(gpu_available(), "there is no GPU")
  gpu_free()
  table <- gpu_mem()
  # A dozenth of the memory each, made on the GPU.
  n <- floor(sqrt(table$total[[2]] / 12 / 8))
  x <- as_gpu(matrix(1, n, 1), "cuda")
  for (i in 1:30) {
    tcrossprod(x)
  }
  gc()
  kept <- list()
  e <- tryCatch(for (i in 1:13) kept[[i]] <- tcrossprod(x), error = identity)
  expect_s3_class(e, "cudafactor_error_device_memory")
  expect_identical(e$needed, 8 * n^2)
  expect_identical(e$objects, length(kept) + 1L)
  expect_identical(e$held, length(kept) * 8 * n^2 + 8 * n)
  expect_match(conditionMessage(e), sprintf("held by %d gpu_matrix objects", length(kept) + 1L),
    fixed = TRUE)
  expect_gte(length(kept), 9)
  kept <- NULL
  y <- tcrossprod(x)
  expect_identical(dim(y), c(as.integer(n), as.integer(n)))
  rm(x, y)
  gpu_free()
  expect_identical(gpu_mem()$allocated[[2]], 0)
})

test_that("a matrix without room on a GPU: an error under \"cuda\", the CPU's under \"auto\"", {
  skip_unless(gpu_available(), "there is no GPU")
  n <- 4000
  bytes <- 8 * n^2
  operand <- function() matrix(1, n, n) + diag(n + seq_len(n))
  x <- operand()
  verbs <- list(chol = gpu_chol, crossprod = gpu_crossprod, lu = gpu_lu,
    product = function(x, ...) gpu_matmult(x, x, ...))
  old <- options(cudafactor.min_flops = 0)
  on.exit({
    options(old)
    rm(kept)
    gpu_free()
  })
  kept <- NULL
  gpu_free()
  # There is nothing else about it.
  there <- gpu_chol(x, device = "auto")
  expect_identical(gpu_last_device(), "cuda:0")
  for (verb in verbs) verb(x[1:50, 1:50], device = "cuda")
  kept <- fill_gpu()
  for (name in names(verbs)) {
    e <- expect_error(verbs[[name]](x, device = "cuda"), class = "cudafactor_error_device_memory",
      info = name)
    expect_s3_class(e, "cudafactor_error_device")
    # Products take what is free for a part of them.
    if (name %in% c("crossprod", "product"))
      expect_true(e$needed > 0 && e$needed <= bytes, info = name) else
      expect_identical(e$needed, bytes, info = name)
    expect_true(e$free < bytes && e$total > bytes, info = name)
    expect_identical(c(e$device, e$objects), c(0, length(kept)), info = name)
    sizes <- vapply(list(e$needed, e$free, e$total, e$held), cudafactor:::format_bytes, "")
    said <- sprintf("cannot allocate %s on GPU 0 (%s of %s free; %s held by %d gpu_matrix objects)",
      sizes[[1]], sizes[[2]], sizes[[3]], sizes[[4]], length(kept))
    expect_match(conditionMessage(e), said, fixed = TRUE, info = name)
  }
  expect_warning(here <- gpu_chol(x, device = "auto"), NA)
  expect_identical(gpu_last_device(), "cpu")
  expect_equal(here, there, tolerance = 1e-12)
  expect_identical(x, operand())
  kept <- NULL
  gpu_free()
  expect_equal(gpu_chol(x, device = "auto"), there, tolerance = 1e-12)
  expect_identical(gpu_last_device(), "cuda:0")
})

test_that("copies go through as much host memory as there are lanes for, and it is given back", {
  for_each_device(function(device) {
    row <- if (device == "cpu") 1L else 2L
    staging <- function() gpu_mem()$staging[[row]]
    gpu_free()
    expect_identical(staging(), 0)
    # 125 MiB, more than there can be: for each of up to 16 threads three slots of 2 MiB.
    x <- matrix(seq_len(4096 * 4000) + 0.5, 4096)
    used <- vapply(1:3, function(i) {
      g <- as_gpu(x, device)
      expect_true(identical(as.matrix(g), x))
      gpu_free(g)
      staging()
    }, 0)
    expect_identical(length(unique(used)), 1L)
    lane <- 3 * 2^21
    possible <- if (device == "cpu") 0 else lane * 1:16
    expect_true(used[[1]] %in% possible)
    expect_true(all(gpu_free()$staging == 0))
    expect_identical(staging(), 0)
  })
})

test_that("the words of a lack of memory", {
  raised <- function(...) {
    fields <- list(needed = 3.2 * 2^30, free = 1.1 * 2^30, total = 24 * 2^30, device = 0, ...)
    conditionMessage(tryCatch(cudafactor:::raise("device_memory", "", fields, quote(f(x)), NULL),
      error = identity))
  }
  expect_match(raised(held = 18.3 * 2^30, objects = 7),
    paste0(
      "cannot allocate 3.2 GiB on GPU 0 (1.1 GiB of 24.0 GiB free; 18.3 GiB held by 7 gpu_matrix ",
      "objects)"
    ),
    fixed = TRUE)
  expect_match(raised(held = 2^20, objects = 1), "free; 1.0 MiB held by 1 gpu_matrix object)",
    fixed = TRUE)
  expect_match(raised(held = 0, objects = 0), "(1.1 GiB of 24.0 GiB free)", fixed = TRUE)
})

test_that("the largest order goes with the memory that is free", {
  if (!is.na(gpu_mem()$free[[1]])) {
    free <- gpu_mem()$free[[1]]
    squares <- c(chol = 2, lu = 2, qr = 3, solve = 3, product = 3, crossprod = 2)
    for (what in names(squares)) {
      n <- gpu_max_n(what, device = "cpu")
      expect_lt(abs(squares[[what]] * 8 * n^2 / free - 1), 0.2)
      # R's doubles, and copies of half their size: fewer bytes are never needed.
      expect_lte(gpu_max_n(what, device = "cpu", precision = "single"), 1.05 * n)
    }
    expect_identical(gpu_max_n(device = "cpu"), gpu_max_n("chol", device = "cpu"))
  } else {
    expect_identical(gpu_max_n("chol", device = "cpu"), NA_real_)
  }
  if (gpu_available()) {
    gpu_free()
    free <- gpu_mem()$free[[2]]
    squares <- c(chol = 1, lu = 1, qr = 1, solve = 2, product = 3, crossprod = 2)
    for (what in names(squares)) {
      n <- gpu_max_n(what, device = "cuda")
      expect_gt(squares[[what]] * 8 * n^2 / free, 0.8)
      expect_lt(squares[[what]] * 8 * n^2 / free, 1)
      expect_gt(gpu_max_n(what, device = "cuda", precision = "single"), 1.3 * n)
    }
    # What a matrix holds is not there for another.
    before <- gpu_max_n("product", device = "cuda")
    g <- as_gpu(matrix(0, 8000, 8000), "cuda")
    expect_lt(gpu_max_n("product", device = "cuda"), before)
    gpu_free(g)
  } else {
    expect_error(gpu_max_n("chol", device = "cuda"), class = "cudafactor_error_device_unavailable")
  }
  for (what in list("svd", NA_character_, 1, character(), c("chol", "lu"), NULL)) {
    e <- expect_error(gpu_max_n(what), class = "cudafactor_error_argument")
    expect_identical(e$argument, "what")
  }
  expect_error(gpu_max_n("chol", device = "tpu"), class = "cudafactor_error_argument")
  expect_error(gpu_max_n("chol", precision = "half"), class = "cudafactor_error_argument")
})

test_that("unloading gives memory back and matrices that outlive the namespace do no harm", {
  child <- run_child(c(
    "g <- cudafactor::as_gpu(matrix(as.double(1:6), 2))",
    "h <- cudafactor::as_gpu(diag(300))",
    "r <- cudafactor::gpu_chol(diag(600))",
    "rm(r)",
    "invisible(gc())",
    "kept <- function() {",
    "  m <- cudafactor::gpu_mem()",
    "  sum(m$staging) + m$pooled[m$device == 'cpu']",
    "}",
    "before <- kept()",
    "unloadNamespace('cudafactor')",
    "after <- kept()",
    "rm(h)",
    "invisible(gc())",
    "cat(sum(cudafactor::as_gpu(g)@Dim), sum(as.matrix(g)),",
    "  before > 0 || !file.exists('/proc/self'), after)"
  ))
  expect_identical(child$status, 0L, info = child$output)
  expect_identical(child$output[length(child$output)], "5 21 TRUE 0")
})

test_that("the table is printed in units of memory, and is a table of bytes", {
  table <- gpu_mem()
  table[1, c("total", "free", "held")] <- list(3 * 2^30, NA, 512)
  shown <- capture.output(print(table[1, ]))
  expect_match(shown[[1]], "device +total +free +held")
  expect_match(shown[[2]], "cpu +3.0 GiB +<?NA>? +512 bytes")
  expect_match(capture.output(print(table[1, c("device", "objects")]))[[2]], "^ *cpu +[0-9]+$")
  expect_type(table$held, "double")
})
