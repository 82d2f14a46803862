# What becomes of a factorization of a file whose process is killed (SIGKILL) at a random moment:
# each is gone on with, with other memory, and may be killed again; its factor is compared bit for
# bit with that of an uninterrupted run. Writes kills.md and kills.csv.
#   Rscript bench/cholesky/kills.R [KILLS [ORDER [cpu|cuda]]]
# Needs a Unix system.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

given <- commandArgs(trailingOnly = TRUE)
kills <- if (length(given)) as.integer(given[[1L]]) else 50L
n <- if (length(given) > 1L) as.integer(given[[2L]]) else 4096L
device <- if (length(given) > 2L) given[[3L]] else if (gpu_available()) "cuda" else "cpu"
tile <- 128L

folder <- tempfile()
dir.create(folder)
at <- function(name) file.path(folder, name)
set.seed(1)
x <- matrix(rnorm(n * 64), n)
covariance <- function(i, j) tcrossprod(x[i, , drop = FALSE], x[j, , drop = FALSE]) +
  64 * outer(i, j, "==")
matrix_file <- tile_matrix(covariance, at("matrix"), dim = c(n, n), triangle = TRUE, tile = tile)
seconds <- system.time(whole <- chol_file(matrix_file, at("whole"), device = device))[["elapsed"]]
all_operations <- attr(whole, "report")$operations
whole <- as.matrix(whole)

writeLines(c(
  "library(cudafactor)",
  "given <- commandArgs(TRUE)",
  "x <- open_tile_matrix(given[[1L]])",
  "writeLines(as.character(Sys.getpid()), given[[3L]])",
  "r <- chol_file(x, if (nzchar(given[[2L]])) given[[2L]], resume = TRUE,",
  "  host_memory = as.numeric(given[[4L]]),",
  "  gpu_memory = as.numeric(given[[5L]]), device = given[[6L]])",
  "writeLines(as.character(attr(r, \"report\")$operations), given[[7L]])"
), at("child.R"))

# Starts the child and kills it so long after it began, or lets it end where that is NA; whether it
# was done by then.
killed <- function(from, to, delay) {
  began <- at("began")
  done <- at("done")
  unlink(c(began, done))
  tiles <- sample(c(8, 20, 100, 600), 2L)
  system2(file.path(R.home("bin"), "Rscript"), c(
    "--vanilla", shQuote(at("child.R")), shQuote(from), shQuote(to), shQuote(began),
    tiles[[1L]] * tile^2 * 8,
    (tiles[[2L]] + 2) * tile^2 * 8, device, shQuote(done)
  ), wait = FALSE, stdout = at("log"), stderr = at("log"))
  until <- Sys.time() + 60
  while ((!file.exists(began) || file.size(began) < 2) && Sys.time() < until) Sys.sleep(0.002)
  pid <- as.integer(readLines(began))
  if (!is.na(delay)) {
    Sys.sleep(delay)
    tools::pskill(pid, tools::SIGKILL)
  }
  while (isTRUE(tools::pskill(pid, 0L))) Sys.sleep(0.002)
  file.exists(done)
}

counts <- c(runs = 0L, kills = 0L, after_it_began = 0L, work_kept = 0L, different = 0L)
while (counts[["kills"]] < kills) {
  counts[["runs"]] <- counts[["runs"]] + 1L
  in_place <- counts[["runs"]] %% 2L == 0L
  from <- at("from")
  to <- if (in_place) "" else at("to")
  unlink(c(from, at("to")))
  stopifnot(file.copy(at("matrix"), from))
  before <- tools::md5sum(from)[[1L]]
  repeat {
    delay <- if (runif(1L) < 0.25) NA else runif(1L, 0, seconds)
    if (killed(from, to, delay)) break
    if (is.na(delay)) stop(paste(readLines(at("log")), collapse = "\n"))
    counts[["kills"]] <- counts[["kills"]] + 1L
    if (!in_place) stopifnot(tools::md5sum(from)[[1L]] == before)
    halfway <- if (in_place) from else to
    # A second file with nothing in it yet cannot be opened.
    state <- tryCatch(paste(format(open_tile_matrix(halfway)), collapse = " "),
      cudafactor_error_file = function(e) "")
    if (grepl("interrupted", state)) {
      counts[["after_it_began"]] <- counts[["after_it_began"]] + 1L
    }
  }
  x_file <- open_tile_matrix(from)
  factor <- if (in_place) x_file else open_tile_matrix(to)
  same <- identical(as.matrix(factor), whole)
  counts[["work_kept"]] <- counts[["work_kept"]] +
    (as.numeric(readLines(at("done"))) < 0.999 * all_operations)
  counts[["different"]] <- counts[["different"]] + !same
  cat(counts, if (in_place) "in place" else "second file", same, "\n")
}
table <- data.frame(device = device, n = n, tile = tile, seconds_uninterrupted = seconds, t(counts))
print(table)
bench_write("kills", "Factorizations of files, killed and gone on with", list(Kills = table), c(
  paste0(
    "- half of the runs in place, half into a second file; each with memory for 8 to 600 tiles, ",
    "other at each attempt"
  ),
  paste0(
    "- `after_it_began`: kills that left a file with a factorization under way; the others came ",
    "before or were too late"
  ),
  "- `work_kept`: runs whose last attempt had less to do than all",
  "- `different`: factors that are not those of the uninterrupted run, bit for bit"
))
unlink(folder, recursive = TRUE)
