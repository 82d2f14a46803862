# Segmentation of large images by random walks: see random-walker-large.sh, which runs this.
#   random-walker-large.R ours WORK           times our cases
#   random-walker-large.R matrix WORK CASE    prints the seconds of the route by package Matrix,
#                                             and writes its labels
#   random-walker-large.R table WORK          writes the tables

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
arguments <- commandArgs(trailingOnly = TRUE)
work <- arguments[[2]]
cases <- read.csv(file.path(work, "cases.csv"), header = FALSE,
  col.names = c("name", "rows", "columns", "slices"),
  colClasses = c("character", rep("integer", 3)))
dimensions_of <- function(case) c(case$rows, case$columns, if (case$slices > 1) case$slices)
path <- function(name, end) file.path(work, paste0(name, ".", end))
numbers <- function(case, end, what)
  array(readBin(path(case$name, end), what, prod(dimensions_of(case))), dimensions_of(case))

ours <- function() {
  suppressPackageStartupMessages(library(cudafactor))
  device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cuda")
  rows <- lapply(seq_len(nrow(cases)), function(k) {
    case <- cases[k, ]
    image <- numbers(case, "image", "double")
    seeds <- numbers(case, "seeds", "integer")
    runs <- vapply(1:4, function(i) {
      gc()
      system.time(random_walker(image, seeds, method = "cg", device = device))[["elapsed"]]
    }, 0)
    r <- random_walker(image, seeds, method = "cg", device = device)
    writeBin(as.integer(r$labels), path(case$name, "ours"))
    data.frame(
      name = case$name, unknowns = as.integer(r$unknowns), labels = length(r$label_values),
      first_s = runs[[1]], s = min(runs[-1]), iterations = r$iterations,
      error = r$error, device = r$device
    )
  })
  saveRDS(do.call(rbind, rows), file.path(work, "ours.rds"))
}

by_matrix_of <- function(name) {
  source(file.path(here, "random-walker-matrix.R"))
  case <- cases[cases$name == name, ]
  image <- numbers(case, "image", "double")
  seeds <- numbers(case, "seeds", "integer")
  took <- system.time(found <- by_matrix(image, seeds, 130))[["elapsed"]]
  writeBin(as.integer(found$labels), path(name, "matrix"))
  cat(took, "\n")
}

table_of <- function() {
  suppressPackageStartupMessages(library(cudafactor))
  source(file.path(here, "..", "common.R"))
  lines <- readLines(file.path(work, "peers.csv"))
  version <- sub("^# *", "", lines[startsWith(lines, "#")][[1]])
  peers <- read.csv(text = lines[!startsWith(lines, "#")], header = FALSE,
    col.names = c("name", "method", "s"), colClasses = "character")
  all <- readRDS(file.path(work, "ours.rds"))
  methods <- c("matrix", "bf", "cg_j", "cg")
  cell <- function(value) if (grepl("^[0-9.]+(e[-+]?[0-9]+)?$", value))
    trimws(formatC(as.double(value), digits = 3, format = "g")) else value
  times <- vapply(methods, function(m) vapply(all$name, function(n) {
    value <- peers$s[peers$name == n & peers$method == m]
    if (length(value)) cell(value[[1]]) else ""
  }, ""), character(nrow(all)))
  off <- vapply(methods, function(m) vapply(all$name, function(n) {
    if (!file.exists(path(n, m))) return("")
    case <- cases[cases$name == n, ]
    sprintf("%d", sum(numbers(case, m, "integer") != numbers(case, "ours", "integer")))
  }, ""), character(nrow(all)))
  shaped <- function(x, ends) {
    x <- as.data.frame(matrix(x, nrow(all)))
    names(x) <- paste0(methods, ends)
    x
  }
  tables <- list(
    cbind(all[c("name", "unknowns", "labels", "first_s", "s")], shaped(times, "_s")),
    cbind(all[c("name", "iterations", "error")], shaped(off, "_off"))
  )
  names(tables) <- c("Seconds", paste(
    "Iterations, the estimate of the largest error of a probability,",
    "and labels that differ from a peer's"
  ))
  stem <- paste0("random-walker-", sub(":.*", "", all$device[[1]]))
  # The GPU machine's cpu results have a file of their own: random-walker.sh writes that.
  if (endsWith(stem, "-cpu")) stem <- paste0(stem, "-large")
  bench_write(stem,
      "Segmentation of large images by random walks compared with scikit-image and package Matrix",
      tables, c(
    sprintf(
      paste0(
        "Ours: `random_walker(image, seeds, method = \"cg\")` on %s, with the default `tol`, ",
        "from R call to R result, with all cores for what is done on the host: `s` is the least ",
        "of three calls, `first_s` the one before, which compiles kernels."
      ),
      all$device[[1]]),
    sprintf(
      paste0(
        "Then the peers, once, all at the same time, each on a separate core and stopped after ",
        "%s s from its start: the route by package Matrix (`Cholesky(super = TRUE)`), and %s, ",
        "modes `bf`, which is exact, `cg_j` and `cg` with a tolerance of 1e-6. Their memory ",
        "bandwidth is shared."
      ),
      Sys.getenv("CUDAFACTOR_RW_SECONDS", "180"), version),
    "`matrix` and `bf` were given planes of at most 5 million pixels."
  ), by = "bench/segmentation/random-walker-large.sh", all = cbind(tables[[1]], tables[[2]][-1]))
}

switch(arguments[[1]], ours = ours(), matrix = by_matrix_of(arguments[[3]]), table = table_of())
