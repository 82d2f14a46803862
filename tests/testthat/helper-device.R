# Tests of numbers run on every device there is. With CUDAFACTOR_REQUIRE_GPU=1 a machine without a
# usable GPU fails (test-device.R), and so does every test that would be skipped for want of one;
# bench/package/gpu-suite.sh counts all others as failed.

gpu_required <- function() identical(Sys.getenv("CUDAFACTOR_REQUIRE_GPU"), "1")

for_each_device <- function(body) {
  for (device in c("cpu", if (gpu_available()) "cuda")) {
    withCallingHandlers(
      body(device),
      expectation_failure = function(e) message("the next failure is on device \"", device, "\"")
    )
  }
}

for_each_setting <- function(body) {
  for_each_device(function(device) {
    for (precision in c("double", "single")) {
      body(device, precision)
    }
  })
}

skip_unless <- function(possible, why) {
  if (possible) {
    return(invisible())
  }
  if (gpu_required()) {
    stop("a test would be skipped: ", why)
  }
  skip(why)
}

# The memory of the GPU, taken down to pieces of 2 MiB by products that are made there.
fill_gpu <- function() {
  make <- function(n) {
    tryCatch(tcrossprod(as_gpu(matrix(1, n, 1), "cuda")),
      cudafactor_error_device_memory = function(e) NULL)
  }
  orders <- 2^(15:9)
  # Code is loaded while there is room.
  for (n in rev(orders)) make(n)
  kept <- list()
  for (n in orders) {
    while (!is.null(more <- make(n))) kept[[length(kept) + 1L]] <- more
  }
  kept
}

# Runs R code in a fresh process that sees the package under test; returns its exit status and
# output.
run_child <- function(code, env = character()) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(code, script)
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
    stdout = TRUE, stderr = TRUE, env = c(child_library(), env)
  ))
  list(status = attr(out, "status") %||% 0L, output = as.character(out))
}

# Starts R code in a fresh process, whose output goes to the file `log`, and does not wait: close()
# of the answer does. It is a pipe because a shell makes what it starts in its background ignore
# interrupts, and R 4.5 leaves it at that.
start_child <- function(code, log) {
  script <- tempfile(fileext = ".R")
  writeLines(code, script)
  r <- shQuote(file.path(R.home("bin"), "Rscript"))
  pipe(paste("env", shQuote(child_library()), r, "--vanilla", shQuote(script), ">", shQuote(log),
    "2>&1"), "r")
}

# Ignored interrupts are inherited: a session in the background of a shell has them, and so have its
# children.
skip_unless_interruptible <- function() {
  skip_unless(.Platform$OS.type == "unix", "there are no signals here")
  status <- if (file.exists("/proc/self/status")) readLines("/proc/self/status")
  ignored <- sub(".*(.)$", "\\1", grep("^SigIgn:", status, value = TRUE))
  heard <- !any(bitwAnd(strtoi(ignored, 16L), 2^(tools::SIGINT - 1)) > 0)
  skip_unless(heard,
    "interrupts are ignored here: run the tests in the foreground, or by env --default-signal=INT")
}

child_library <- function() {
  paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
}

`%||%` <- function(x, y) if (is.null(x)) y else x

with_options <- function(..., code) {
  old <- options(...)
  on.exit(options(old))
  code
}
