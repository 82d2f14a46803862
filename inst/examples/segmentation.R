# A scan segmented from four marks: random_walker(), and its linear system by pcg().
#
#   Rscript segmentation.R [OUTPUT FOLDER]
#   source(system.file("examples", "segmentation.R", package = "cudafactor"))

library(cudafactor)

arguments <- commandArgs(trailingOnly = TRUE)
output <- if (length(arguments)) arguments[[1L]] else file.path(tempdir(), "demo-output")
dir.create(output, showWarnings = FALSE, recursive = TRUE)
seconds <- function(expr) system.time(expr, gcFirst = FALSE)[["elapsed"]]

set.seed(1)
at <- expand.grid(row = 1:240, col = 1:320)
organ <- with(at, ((row - 124) / 76)^2 + ((col - 120) / 84)^2 < 1)
bone <- with(at, ((row - 120) / 90)^2 + ((col - 264) / 28)^2 < 1)
truth <- matrix(ifelse(bone, 3, 1 + organ), 240)
scan <- matrix(c(0.1, 0.55, 0.9)[truth], 240) + rnorm(length(truth), sd = 0.08)
seeds <- matrix(0, 240, 320)
seeds[10:12, 20:300] <- 1
seeds[228:230, 20:300] <- 1
seeds[90:160, 118:122] <- 2
seeds[80:160, 263:265] <- 3

elapsed <- seconds(parts <- random_walker(scan, seeds, prob = TRUE))
cat(sprintf(
  paste(
    "random_walker(): %s pixels from %d marked ones in %.2f s, method \"%s\" on %s;",
    "%.1f %% of the labels are right.\n"
  ),
  paste(dim(scan), collapse = " x "), sum(seeds > 0), elapsed, parts$method, parts$device,
  100 * mean(parts$labels == truth)))

if (requireNamespace("Matrix", quietly = TRUE)) {
  system <- random_walker_system(scan, seeds)
  for (droptol in c(0, 0.01)) {
    elapsed <- seconds(solved <- pcg(system$A, system$b, ichol(system$A, droptol)))
    off <- max(abs(matrix(parts$probabilities, length(scan))[system$pixels, ] -
      as.matrix(solved$x)))
    cat(sprintf(
      paste(
        "pcg() with ichol(droptol = %g): %d unknowns, at most %d iterations, %.2f s;",
        "probabilities differ by at most %.0e.\n"
      ),
      droptol, nrow(system$A), max(solved$iterations), elapsed, off))
  }
}

picture <- file.path(output, "segmentation.png")
type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
drawn <- tryCatch({
  png(picture, width = 1800, height = 520, res = 110, type = type)
  par(mfrow = c(1, 3), mar = c(1, 1, 3, 1))
  grey <- function(x, main) {
    image(t(x[nrow(x):1, ]), col = gray.colors(64, 0, 1), axes = FALSE, asp = nrow(x) / ncol(x),
      main = main)
  }
  grey(scan, "The scan, and the marks")
  colours <- hcl.colors(3, "Dark 3")
  where <- which(seeds > 0, arr.ind = TRUE)
  points((where[, 2] - 1) / (ncol(scan) - 1), 1 - (where[, 1] - 1) / (nrow(scan) - 1), pch = 15,
    cex = 0.4, col = colours[seeds[where]])
  plot(parts, main = "Three labels", axes = FALSE, xlab = "", ylab = "", legend = FALSE)
  grey(apply(parts$probabilities, 1:2, max), "How sure it is: the largest probability")
  invisible(dev.off())
  TRUE
}, error = function(e) {
  cat("This R cannot draw a PNG here:", conditionMessage(e), "\n")
  FALSE
})
if (drawn && file.exists(picture)) cat("The picture is", normalizePath(picture), "\n")
