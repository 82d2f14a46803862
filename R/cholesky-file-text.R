# Messages of chol_file(): about an existing file, and its report.

# What an existing file at the factor's path holds, and what the user can do. `bytes` is the size
# of the factor's file.
exists_text <- function(file, bytes) {
  facts <- tryCatch(unwrap(native_tiles_info(file, TRUE), NULL), cudafactor_error = identity)
  if (inherits(facts, "cudafactor_error_file_in_use")) {
    return(", and is in use by another call")
  }
  if (inherits(facts, "cudafactor_error_file_format") && !is_begun(file, bytes)) {
    return(paste0(", and holds no factorization to resume: ", fault_text(facts)))
  }
  if (inherits(facts, "condition") && !inherits(facts, "cudafactor_error_file_format")) {
    return(paste0(": ", fault_text(facts)))
  }
  unfinished <- inherits(facts, "condition") || facts$holds == "matrix" && facts$absent > 0
  holds <- if (unfinished) "factoring" else facts$holds
  switch(holds,
    factoring = "; use resume = TRUE to continue the interrupted factorization in it",
    factor = paste(
      ", and holds a Cholesky factor: use resume = TRUE if it is the factor of this matrix,",
      "else choose another name, or unlink() it first"
    ),
    ", and holds no factorization to resume: choose another name, or unlink() it first"
  )
}

# Was the file begun by a process that ended before it wrote anything? Then at most room has been
# reserved.
is_begun <- function(file, whole) {
  size <- file.size(file)
  # Room is reserved in parts of 2^34 bytes.
  if (is.na(size) || !(size == whole || size < whole && size %% 2^34 == 0)) {
    return(FALSE)
  }
  all(readBin(file, "raw", 4096L) == as.raw(0L))
}

report_text <- function(n, report) {
  if (report$operations == 0) {
    return(sprintf("chol_file: the factor of order %s was complete: nothing to do", format(n)))
  }
  # Tiles at the edges are padded, so a whole factorization counts slightly more operations.
  share <- report$operations / (n^3 / 3)
  part <- if (share < 0.99) sprintf(" (%.0f %% of the operations were left)", 100 * share) else ""
  moved <- function(what) sprintf("%s %s", what, format_bytes(report[[what]]))
  on_gpu <- report$device[[1L]] != "cpu"
  waited <- if (on_gpu && report$copying > max(report$reading, report$writing)) {
    "copies between host and GPU"
  } else {
    "the disk"
  }
  bound <- if (report$idle > report$seconds / 2) waited else if (on_gpu) "the GPU" else "the CPU"
  moves <- c("read", "written", if (on_gpu) c("sent", "fetched"), if (report$passed > 0) "passed")
  sprintf(
    paste(
      "chol_file: order %s%s on %s in %.2f s, %.1f GFLOP/s; %s; reading for %.2f s,",
      "writing for %.2f s, %sidle for %.2f s: bound by %s; tiles in %s of host memory%s"
    ),
    format(n), part, paste(report$device, collapse = ", "), report$seconds, report$gflops,
    paste(vapply(moves, moved, ""), collapse = ", "), report$reading, report$writing,
    if (on_gpu) sprintf("copying for %.2f s, ", report$copying) else "", report$idle, bound,
    format_bytes(report$host_memory),
    if (on_gpu) paste(" and", format_bytes(report$gpu_memory), "of GPU memory") else ""
  )
}
