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

# The GPU that "auto" takes.
auto_gpu <- function() {
  devices <- getOption("cudafactor.devices")
  number <- if (is.null(devices)) 0 else min(devices)
  if (number == 0) "cuda" else sprintf("cuda:%.0f", number)
}

# "auto" goes by the kept orders, so they must be of its own GPU.
check_auto_gpu <- function(device, call) {
  if (!is.null(device) && gpu_number(device) != gpu_number(auto_gpu())) {
    abort_argument("keep", sprintf(
      paste(
        "'keep' must be FALSE with device = \"%s\", because \"auto\" takes \"%s\":",
        "set options(cudafactor.devices = %.0f) first, or leave 'device' out"
      ), device, auto_gpu(), gpu_number(device)
    ), call)
  }
}

# Before anything is measured: is there a GPU, and a folder for the orders?
check_keeping <- function(device, call) {
  if (is.null(device)) {
    abort_argument("keep", paste(
      "'keep' must be FALSE without a GPU, because nothing is measured on one:",
      "see gpu_sitrep()"
    ), call)
  }
  check_kept_folder(call)
}

# Permissions alone do not tell, as on a disk that is mounted read-only.
check_kept_folder <- function(call) {
  folder <- dirname(kept_orders_file())
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  probe <- tempfile("probe-", folder)
  if (!suppressWarnings(file.create(probe))) {
    abort_unkept(call)
  }
  unlink(probe)
  invisible()
}

abort_unkept <- function(call) {
  abort_argument("keep", sprintf(
    paste(
      "'keep = TRUE' needs a folder that can be written: %s cannot.",
      "Set R_USER_CONFIG_DIR to another folder, or use keep = FALSE"
    ), dirname(kept_orders_file())
  ), call)
}

# An order from which "auto" would never take the GPU must have been seen to lose: large matrices
# are where a GPU wins.
large_order <- 2048

# The orders to keep, which say no more than the rows of a benchmark do.
orders_to_keep <- function(rows, breakeven) {
  rows <- rows[!is.na(rows$gpu), ]
  for (verb in names(breakeven)) {
    n <- rows$n[rows$what == verb]
    if (breakeven[[verb]] %in% 0) {
      breakeven[[verb]] <- min(n)
    } else if (breakeven[[verb]] %in% Inf && max(n) < large_order) {
      breakeven[[verb]] <- NA_real_
    }
  }
  breakeven
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
    abort_unkept(call)
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
