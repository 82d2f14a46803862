# The systems of a segmentation as dense matrices on disk, factored by chol_file(), as a paper did
# (Cheng, Cho, Yoon, Zhao: "An efficient out-of-core implementation of block Cholesky decomposition
# on a multi-GPU system"), compared with the sparse factorization of random_walker().
#   Rscript bench/segmentation/random-walker-dense.R FOLDER
#   [IMAGE[,SEEDS[,HOST_MEMORY,GPU_MEMORY[,EDGE]]]]...
#   Rscript bench/segmentation/random-walker-dense.R write DATA
# FOLDER is where the file of the matrix goes: 8 / 2 bytes for each pair of unknowns, and some more.
# IMAGE is one of those below, SEEDS how many of its seed pixels are kept: 0 for all, which the
# stored reference is for; with 2 of ct192 and 101 of cat341x256 the orders are the paper's, 36862
# and 87195. Memory is of tiles ("8GiB", "4GiB"). EDGE takes a corner of so many rows and columns.
# Images are read from the folder CUDAFACTOR_DATA/segmentation by package png; `write` makes
# DATA/segmentation/dense.rds of them, for a machine without that package, where CUDAFACTOR_DATA is
# then DATA. Writes random-walker-dense.md and .csv, of CUDAFACTOR_BENCH_DEVICE (auto).

suppressPackageStartupMessages({
  library(cudafactor)
  library(Matrix)
})
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
given <- commandArgs(trailingOnly = TRUE)
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "auto")
data <- file.path(Sys.getenv("CUDAFACTOR_DATA", "../shared/data"), "segmentation")
beta <- 130
images <- c("phantom192", "phantom192_masked", "ct192", "cat341x256")

read_image <- function(name) {
  file <- function(...) file.path(data, paste0(name, ...))
  whole <- function(path) round(255 * png::readPNG(path))
  seeds <- whole(file("_seeds.png"))
  seeds[seeds == 255] <- -1
  con <- gzfile(file("_seeds_b", beta, "_prob.f32.gz"), "rb")
  on.exit(close(con))
  labels <- max(seeds)
  p <- readBin(con, "double", labels * length(seeds), size = 4L, endian = "little")
  list(
    image = png::readPNG(file.path(data, paste0(sub("_masked", "", name), ".png"))), seeds = seeds,
    labels = whole(file("_seeds_b", beta, "_labels.png")),
    probabilities = matrix(aperm(array(p, c(rev(dim(seeds)), labels)), c(2, 1, 3)), length(seeds))
  )
}
if (identical(given[1L], "write")) {
  to <- file.path(given[[2L]], "segmentation")
  dir.create(to, recursive = TRUE, showWarnings = FALSE)
  saveRDS(sapply(images, read_image, simplify = FALSE), file.path(to, "dense.rds"))
  quit()
}
stored <- if (file.exists(file.path(data, "dense.rds"))) readRDS(file.path(data, "dense.rds"))

# So many seed pixels, of the labels in turn, from the middle of each label's.
keep_seeds <- function(seeds, count) {
  of <- split(which(seeds > 0), seeds[seeds > 0])
  of <- lapply(of, function(at) at[order(abs(seq_along(at) - (length(at) + 1) / 2))])
  turn <- order(unlist(lapply(of, seq_along)), rep(seq_along(of), lengths(of)))
  replace(seeds, unlist(of)[turn][-seq_len(count)], 0)
}

# Tiles of a sparse matrix that has both triangles.
tiles_of <- function(a) {
  function(i, j) {
    at <- seq.int(a@p[[j[[1L]]]] + 1, length.out = a@p[[j[[length(j)]] + 1L]] - a@p[[j[[1L]]]])
    row <- a@i[at] + 2L - i[[1L]]
    column <- rep(seq_along(j), diff(a@p[c(j, j[[length(j)]] + 1L)]))
    inside <- row >= 1L & row <= length(i)
    block <- matrix(0, length(i), length(j))
    block[cbind(row, column)[inside, , drop = FALSE]] <- a@x[at][inside]
    block
  }
}

now <- function() as.double(Sys.time())
gib <- function(bytes) bytes / 2^30
# The most memory of the process since `reset`, which Linux has to allow, in bytes.
peak <- function(reset = FALSE) {
  status <- "/proc/self/status"
  if (!file.exists(status)) {
    return(NA_real_)
  }
  if (reset) try(writeLines("5", "/proc/self/clear_refs"), silent = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", grep("^VmHWM", readLines(status), value = TRUE)))
}
# The most memory in use on the first GPU while `f` runs, by all processes, as nvidia-smi has it
# five times a second; NA without one.
watched <- function(f) {
  log <- tempfile()
  id <- if (device != "cpu" && nzchar(Sys.which("nvidia-smi"))) {
    query <- "nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader,nounits -lms 200"
    system(sprintf("%s >%s 2>/dev/null & echo $!", query, log), intern = TRUE)
  }
  value <- f()
  most <- NA_real_
  if (!is.null(id)) {
    tools::pskill(as.integer(id))
    most <- max(suppressWarnings(as.numeric(readLines(log, warn = FALSE))), -Inf, na.rm = TRUE) *
      2^20
  }
  list(value = value, gpu = if (is.finite(most)) most else NA_real_)
}

folder <- if (length(given)) given[[1L]] else tempdir()
cases <- strsplit(if (length(given) > 1L) given[-1L] else "phantom192,0,64MiB,1GiB,60", ",",
  fixed = TRUE)
rows <- lapply(cases, function(case) {
  field <- function(k, otherwise) if (length(case) >= k && nzchar(case[[k]])) case[[k]] else
    otherwise
  name <- case[[1L]]
  of <- if (is.null(stored)) read_image(name) else stored[[name]]
  count <- as.integer(field(2L, "0"))
  edge <- as.integer(field(5L, "0"))
  seeds <- of$seeds
  image <- of$image
  if (edge > 0L) {
    seeds <- seeds[seq_len(min(edge, nrow(seeds))), seq_len(min(edge, ncol(seeds)))]
    image <- if (length(dim(image)) == 3L) image[seq_len(nrow(seeds)), seq_len(ncol(seeds)), ] else
      image[seq_len(nrow(seeds)), seq_len(ncol(seeds))]
  }
  if (count > 0L) seeds <- keep_seeds(seeds, count)
  known <- edge == 0L && count == 0L

  peak(reset = TRUE)
  start <- now()
  system <- random_walker_system(image, seeds, beta)
  n <- nrow(system$A)
  system_s <- now() - start
  path <- file.path(folder, "random-walker-dense.tiles")
  unlink(path)
  on.exit(unlink(path))
  start <- now()
  a <- tile_matrix(tiles_of(as(system$A, "generalMatrix")), path, dim = n, triangle = TRUE)
  making_s <- now() - start
  size <- file.size(path)
  done <- watched(function() {
    factor <- chol_file(a, host_memory = field(3L, "8GiB"), gpu_memory = field(4L, "4GiB"),
      device = device, verbose = TRUE)
    start <- now()
    p <- chol_solve(factor, system$b, host_memory = field(3L, "8GiB"),
      gpu_memory = field(4L, "4GiB"), device = device)
    list(report = attr(factor, "report"), p = p, solving_s = now() - start)
  })
  report <- done$value$report
  p <- unname(done$value$p)
  host <- peak()

  start <- now()
  sparse <- random_walker(image, seeds, beta, "direct", prob = TRUE, device = "cpu")
  sparse_s <- now() - start
  off <- function(other) max(abs(matrix(other, length(seeds))[system$pixels, , drop = FALSE] - p))
  labels <- replace(seeds, system$pixels, system$label_values[max.col(p, "first")])
  wrong <- function(other) sum(labels[system$pixels] != other[system$pixels])
  row <- data.frame(
    image = name, pixels = paste(dim(seeds), collapse = " x "), seeds = sum(seeds > 0),
    unknowns = n, file_GiB = gib(size), host_memory = field(3L, "8GiB"),
    gpu_memory = if (report$device[[1L]] == "cpu") "" else field(4L, "4GiB"),
    device = report$device[[1L]],
    system_s = system_s, making_s = making_s, factoring_s = report$seconds, gflops = report$gflops,
    solving_s = done$value$solving_s, sparse_s = sparse_s,
    host_peak_GiB = gib(host), gpu_peak_GiB = gib(done$gpu), read_GiB = gib(report$read),
    written_GiB = gib(report$written),
    off_sparse = off(sparse$probabilities), labels_off_sparse = wrong(sparse$labels),
    off_reference = if (known) off(of$probabilities) else NA,
    labels_off_reference = if (known) wrong(of$labels) else NA
  )
  print(t(row), quote = FALSE)
  row
})
all <- do.call(rbind, rows)
paper <- data.frame(
  figure = c("8: axial CT scan", "9: crow"), pixels = c("192 x 192", "341 x 256"),
  unknowns = c(36862, 87195), memory = c("10.1 GB", "31.6 GB")
)
paper$unknowns <- as.integer(paper$unknowns)
times <- all[c("image", "pixels", "seeds", "unknowns", "device", "system_s", "making_s",
  "factoring_s", "gflops", "solving_s", "sparse_s")]
memory <- all[c("image", "unknowns", "file_GiB", "host_memory", "gpu_memory", "host_peak_GiB",
  "gpu_peak_GiB", "read_GiB", "written_GiB")]
answers <- all[c("image", "unknowns", "off_sparse", "labels_off_sparse", "off_reference",
  "labels_off_reference")]
tables <- list("Seconds" = times, "Memory" = memory,
  "Largest difference of probabilities, and number of labels that differ" = answers,
  "The paper's" = paper)
bench_write("random-walker-dense", "Segmentations as dense systems on disk", tables, c(
  sprintf(
    paste0(
      "- beta = %g, one run each: the matrix of `random_walker_system()` is written to a file of ",
      "tiles, its upper triangle, dense (`making_s`), factored there (`chol_file()`, ",
      "`factoring_s`), and solved with for all labels (`chol_solve()`, `solving_s`)"
    ),
    beta),
  "- `sparse_s`: all of `random_walker()`, `method = \"direct\"`, on the CPU",
  paste0(
    "- `host_peak_GiB` is of the process, with R and the block that is being made; ",
    "`gpu_peak_GiB` of all processes on the GPU, by nvidia-smi; what is read and written is ",
    "`chol_file()`'s"
  ),
  paste0(
    "- probabilities and labels compared with those of `random_walker()`, and of scikit-image's ",
    "exact mode (stored in single precision), which is there for all seeds"
  ),
  paste0(
    "- the paper's are of its text, which has no times of these; for 65536 unknowns it has 886 ",
    "seconds, on four Tesla C2050. The photographs are others, of the same dimensions"
  )
), all = all)
