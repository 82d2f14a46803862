# Measured orders for later sessions: gpu_benchmark(keep = TRUE) writes them, and .onLoad() sets
# option cudafactor.breakeven to them, unless it is set.

# In tools::R_user_dir("cudafactor", "config"). Package tools takes longer to load than the rest of
# .onLoad(). A home folder may serve several machines.
kept_orders_file <- function() {
  set <- Filter(nzchar, Sys.getenv(c("R_USER_CONFIG_DIR", "XDG_CONFIG_HOME"), names = FALSE))
  base <- if (length(set)) set[[1L]] else path.expand("~/.config")
  file.path(base, "R", "cudafactor", sprintf("breakeven-%s.rds", Sys.info()[["nodename"]]))
}

# The driver's version and the GPUs' names, "" where they are not known: orders that another driver
# or GPU reached do not count.
driver_stamp <- function() {
  first <- function(file) {
    tryCatch(suppressWarnings(readLines(file, n = 1L)), error = function(e) character())
  }
  gpus <- Sys.glob("/proc/driver/nvidia/gpus/*/information")
  paste(c(first("/sys/module/nvidia/version"), unlist(lapply(gpus, first))), collapse = "; ")
}

# The kept orders; NULL where the file is not there, damaged, or of another driver or GPU.
kept_orders <- function() {
  file <- kept_orders_file()
  kept <- if (file.exists(file)) {
    tryCatch(suppressWarnings(readRDS(file)), error = function(e) NULL)
  }
  orders <- if (is.list(kept) && identical(kept$driver, driver_stamp())) kept$breakeven
  if (!is.null(orders) && isTRUE(option_fits$cudafactor.breakeven(orders))) orders
}

# Writes the orders, with those kept before of other operations, and returns all of them. The file
# appears whole or not at all.
keep_orders <- function(breakeven, call) {
  file <- kept_orders_file()
  before <- kept_orders()
  breakeven <- c(breakeven, before[setdiff(names(before), names(breakeven))])
  new <- paste0(file, ".", Sys.getpid())
  on.exit(unlink(new))
  dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)
  kept <- list(breakeven = breakeven, driver = driver_stamp())
  written <- tryCatch(suppressWarnings({
    saveRDS(kept, new)
    file.rename(new, file)
  }), error = function(e) FALSE)
  if (!isTRUE(written)) {
    abort_argument("keep", sprintf(
      paste(
        "the measured orders must go to %s, which cannot be written:",
        "set environment variable R_USER_CONFIG_DIR to a folder of yours"
      ), file
    ), call)
  }
  breakeven
}

# Sets option cudafactor.breakeven to the kept orders, if the user has not set it.
restore_orders <- function() {
  if (is.null(getOption("cudafactor.breakeven"))) {
    options(cudafactor.breakeven = kept_orders())
  }
  invisible()
}
