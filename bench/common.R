# Shared by the benchmark scripts: what ran, where, when; and how results are written.

bench_machine <- function() {
  cpu <- tryCatch(
    sub(".*: *", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1]),
    error = function(e) "unknown processor"
  )
  gpu <- if (cudafactor::gpu_available()) paste(cudafactor::gpu_info()$name, collapse = ", ") else
    "none"
  commit <- Sys.getenv("CUDAFACTOR_COMMIT", "")
  if (!nzchar(commit)) {
    commit <- tryCatch(
      suppressWarnings(system2("git", c("rev-parse", "--short", "HEAD"), stdout = TRUE,
        stderr = FALSE)),
      error = function(e) "unknown"
    )
  }
  c(
    machine = sprintf("%s, %d cores", cpu, parallel::detectCores()),
    gpu = gpu,
    R = R.version.string,
    BLAS = normalizePath(extSoftVersion()[["BLAS"]], mustWork = FALSE),
    package = as.character(utils::packageVersion("cudafactor")),
    commit = paste(commit, collapse = ""),
    date = format(Sys.Date())
  )
}

# Three digits of numbers, all of whole ones, and nothing for NA.
bench_cells <- function(v) {
  if (is.logical(v) || !is.numeric(v)) return(ifelse(is.na(v), "", as.character(v)))
  whole <- all(is.na(v) | (v == round(v) & abs(v) < 1e15))
  cells <- if (whole) {
    format(v, scientific = FALSE, trim = TRUE)
  } else {
    small <- !is.na(v) & v != 0 & (abs(v) < 1e-4 | abs(v) >= 1e9)
    ifelse(small, formatC(v, digits = 3, format = "g"), formatC(v, digits = 3, format = "fg"))
  }
  ifelse(is.na(v), "", trimws(cells))
}

# A data frame as a Markdown table.
bench_markdown <- function(d) {
  cells <- vapply(d, bench_cells, character(nrow(d)))
  if (nrow(d) == 1) cells <- matrix(cells, 1)
  c(
    paste0("| ", paste(names(d), collapse = " | "), " |"),
    paste0("|", strrep("---|", length(d))),
    apply(cells, 1, function(r) paste0("| ", paste(r, collapse = " | "), " |"))
  )
}

# The program that runs, from the repository's root, for its results to name it. Where another one
# starts it that one is named instead, in `by` of bench_write().
bench_program <- function() {
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  if (length(file)) {
    path <- normalizePath(file[[1]])
    file.path("bench", basename(dirname(path)), basename(path))
  }
}

# Writes <stem>.csv and <stem>.md under the folder in CUDAFACTOR_BENCH_DIR: what ran, where and
# when, notes, and tables under their names. The .csv has `all`, or the tables one below another,
# which then have the same columns.
bench_write <- function(stem, title, tables, notes = character(), by = bench_program(),
    all = NULL) {
  dir <- Sys.getenv("CUDAFACTOR_BENCH_DIR", file.path("bench", "results"))
  dir.create(dir, recursive = TRUE, showWarnings = FALSE)
  about <- c(bench_machine(), by = if (!is.null(by)) sprintf("`%s`", by))
  lines <- c(paste("#", title), "", paste0("- ", names(about), ": ", about), "", notes)
  for (name in names(tables)) {
    lines <- c(lines, "", paste("##", name), "", bench_markdown(tables[[name]]))
  }
  writeLines(lines, file.path(dir, paste0(stem, ".md")))
  if (is.null(all)) {
    all <- do.call(rbind, lapply(names(tables), function(n) cbind(table = n, tables[[n]])))
  }
  commas <- any(vapply(all, function(v) any(grepl(",", v, fixed = TRUE)), NA))
  utils::write.csv(all, file.path(dir, paste0(stem, ".csv")), row.names = FALSE, quote = commas)
  invisible(lines)
}

# What `f` gives, and the seconds it takes.
value_and_seconds <- function(f) {
  start <- as.double(Sys.time())
  value <- f()
  list(value = value, s = as.double(Sys.time()) - start)
}

# The largest relative residual of the columns of `x`.
relative_residual <- function(a, x, b)
  max(sqrt(colSums(as.matrix(b - a %*% x)^2) / colSums(as.matrix(b)^2)))

median_ms <- function(f, times) {
  f()
  t <- vapply(seq_len(times), function(i) {
    start <- proc.time()[["elapsed"]]
    k <- 0L
    repeat {
      f()
      k <- k + 1L
      took <- proc.time()[["elapsed"]] - start
      if (took > 0.02) break
    }
    took / k
  }, 0)
  1e3 * stats::median(t)
}

# The peers' times from lines NAME,N,MS, among which may be remarks: a function of name and n that
# answers milliseconds, or NA.
bench_peers <- function(path) {
  lines <- grep("^#", readLines(path), value = TRUE, invert = TRUE)
  parts <- regmatches(lines, regexec("^(.*),([0-9]+),([0-9.]+)$", lines))
  peers <- data.frame(name = vapply(parts, `[[`, "", 2L),
    n = as.integer(vapply(parts, `[[`, "", 3L)), ms = as.double(vapply(parts, `[[`, "", 4L)))
  function(name, n) {
    ms <- peers$ms[peers$name == name & peers$n == n]
    if (length(ms)) ms[[1L]] else NA_real_
  }
}

# The median of some calls in milliseconds, after one that does not count.
bench_median_ms <- function(call, repeats) {
  times <- vapply(seq_len(repeats + 1L), function(i) {
    start <- as.double(Sys.time())
    call()
    1e3 * (as.double(Sys.time()) - start)
  }, 0)
  median(times[-1L])
}
