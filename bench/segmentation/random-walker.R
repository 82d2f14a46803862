# Segmentation by random walks, compared with scikit-image and a route by package Matrix: see
# random-walker.sh, which runs this.

suppressPackageStartupMessages(library(cudafactor))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
source(file.path(here, "random-walker-matrix.R"))
work <- commandArgs(trailingOnly = TRUE)[[1]]

least <- function(f, times) {
  runs <- vapply(seq_len(times), function(i) {
    t <- system.time(f())
    c(t[["elapsed"]], t[["user.self"]] + t[["sys.self"]])
  }, c(0, 0))
  apply(runs, 1, min)
}

lines <- readLines(file.path(work, "skimage.csv"))
version <- sub("^# *", "", lines[startsWith(lines, "#")][[1]])
peers <- read.csv(text = lines[!startsWith(lines, "#")], header = FALSE,
  col.names = c("name", "method", "s", "cpu_s"))
of_peer <- function(name, method, what) {
  value <- peers[[what]][peers$name == name & peers$method == method]
  if (length(value)) value[[1]] else NA
}
cases <- read.csv(file.path(work, "cases.csv"), header = FALSE,
  col.names = c("name", "rows", "columns", "channels", "beta"))
all <- do.call(rbind, lapply(seq_len(nrow(cases)), function(k) {
  case <- cases[k, ]
  pixels <- case$rows * case$columns
  path <- function(end) file.path(work, paste0(case$name, end))
  image <- array(readBin(path(".image"), "double", pixels * case$channels),
    c(case$rows, case$columns, if (case$channels > 1) case$channels))
  seeds <- matrix(readBin(path(".seeds"), "integer", pixels), case$rows)
  times <- if (pixels < 3e5) 5 else if (pixels < 3e6) 3 else 1
  r <- random_walker(image, seeds, case$beta, prob = TRUE, device = "cpu")
  ours <- least(function() random_walker(image, seeds, case$beta, device = "cpu"), times)
  gc()
  other <- by_matrix(image, seeds, case$beta)
  theirs <- least(function() by_matrix(image, seeds, case$beta), min(times, 3))
  exact <- if (file.exists(path(".prob")))
    matrix(readBin(path(".prob"), "double", pixels * length(r$label_values)), pixels)
  of <- function(p) if (is.null(exact)) NA else max(abs(exact[other$unknown, ] - p))
  data.frame(
    case = case$name, unknowns = as.integer(r$unknowns), labels = length(r$label_values),
    s = ours[[1]], matrix_s = theirs[[1]],
    bf_s = of_peer(case$name, "bf", "s"), cg_j_s = of_peer(case$name, "cg_j", "s"),
    cpu_s = ours[[2]], matrix_cpu_s = theirs[[2]],
    bf_cpu_s = of_peer(case$name, "bf", "cpu_s"), cg_j_cpu_s = of_peer(case$name, "cg_j", "cpu_s"),
    off_bf = of(matrix(r$probabilities, pixels)[other$unknown, ]),
    matrix_off_bf = of(other$probabilities),
    labels_off_matrix = sum(r$labels != other$labels)
  )
}))
times <- all[c("case", "unknowns", "labels", "s", "matrix_s", "bf_s", "cg_j_s")]
times$matrix_over_ours <- all$matrix_s / all$s
times$bf_over_ours <- all$bf_s / all$s
times$cg_j_over_ours <- all$cg_j_s / all$s
tables <- list(
  "Seconds" = times,
  "Seconds of all cores" = all[c("case", "cpu_s", "matrix_cpu_s", "bf_cpu_s", "cg_j_cpu_s")],
  "Largest difference of probabilities from bf, and labels that differ from the route by Matrix" =
    all[c("case", "off_bf", "matrix_off_bf", "labels_off_matrix")]
)
bench_write("random-walker-cpu",
    "Segmentation by random walks compared with scikit-image and package Matrix", tables, c(
  sprintf(
    paste0(
      "All in one run, with %s threads each: ours from R call to R result; the route by package ",
      "Matrix %s (`Cholesky(super = TRUE)`); %s, modes `bf`, which is exact, and `cg_j` with a ",
      "tolerance of 1e-6."
    ),
    Sys.getenv("CUDAFACTOR_NUM_THREADS", "all"), utils::packageVersion("Matrix"), version),
  paste0(
    "The least of five runs of ours, three of the others, fewer of large images. What is missing ",
    "did not end in its time."
  )
), by = "bench/segmentation/random-walker.sh", all = all)
