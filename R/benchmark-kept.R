# Measured orders for later sessions: gpu_benchmark(keep = TRUE) writes them, and .onLoad() sets
# option cudafactor.breakeven to them, unless it is set.

# In tools::R_user_dir("cudafactor", "config"). Package tools takes longer to load than the rest of
# .onLoad(). A home folder may serve several machines.
kept_orders_file <- function() {
  set <- Filter(nzchar, Sys.getenv(c("R_USER_CONFIG_DIR", "XDG_CONFIG_HOME"), names = FALSE))
  base <- if (length(set)) set[[1L]] else path.expand("~/.config")
  file.path(base, "R", "cudafactor", sprintf("breakeven-%s.rds", Sys.info()[["nodename"]]))
}

# The driver's version, "" where it is not known: orders that another driver reached do not count.
driver_stamp <- function() {
  read <- function() readLines("/sys/module/nvidia/version", n = 1L)
  tryCatch(suppressWarnings(read()), error = function(e) "")
}

# Writes the orders, and returns the file's path. The file appears whole or not at all.
keep_orders <- function(breakeven, call) {
  file <- kept_orders_file()
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
  file
}

# Sets option cudafactor.breakeven. A file that is damaged or of another driver counts for nothing.
restore_orders <- function() {
  file <- kept_orders_file()
  if (!is.null(getOption("cudafactor.breakeven")) || !file.exists(file)) {
    return(invisible())
  }
  kept <- tryCatch(suppressWarnings(readRDS(file)), error = function(e) NULL)
  orders <- if (is.list(kept) && identical(kept$driver, driver_stamp())) kept$breakeven
  if (!is.null(orders) && isTRUE(option_fits$cudafactor.breakeven(orders))) {
    options(cudafactor.breakeven = orders)
  }
  invisible()
}
