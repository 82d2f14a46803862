# Our kernels and NVIDIA's libraries as a graph: rates by order, data on the device, double
# precision.
#
#   Rscript bench/dense/plot-peers.R [OUTPUT.svg]
#     draws what the folder bench/results has (man/figures/gpu-peers.svg)
#   source("plot-peers.R")
#     only defines read_peers(), about_peers() and plot_peers()

# The results: products and Cholesky, LU and QR.
peer_results <- c("gpu-peers", "gpu-peers-lu-qr")

read_peers <- function(folder) {
  files <- file.path(folder, paste0(peer_results, ".csv"))
  do.call(rbind, lapply(files, utils::read.csv, stringsAsFactors = FALSE))
}

# Where, when and of which commits the results are: a sentence from the reports that were written
# with them.
about_peers <- function(folder) {
  reports <- lapply(file.path(folder, paste0(peer_results, ".md")), readLines)
  field <- function(name) {
    of <- function(lines) sub(sprintf("^- %s: ", name), "",
      grep(sprintf("^- %s: ", name), lines, value = TRUE)[1])
    unique(vapply(reports, of, ""))
  }
  all <- function(x) paste(unique(x), collapse = " and ")
  commits <- field("commit")
  of <- if (length(commits) > 1) "commits %s (LU and QR the last)" else "commit %s"
  sprintf("%s; %s; %s, %s", all(sub(",.*", "", field("gpu"))),
    all(gsub(" \\([^)]*\\)", "", sub(", default.*", "", field("peers")))),
          sprintf(of, all(commits)), all(field("date")))
}

# Rows of the result by what is drawn together. Those that a result lacks are left out.
peer_panels <- c(
  "Product" = "product NN", "Cholesky" = "Cholesky, upper", "LU" = "LU", "QR" = "QR"
)

# One graph for each operation: our rate, the peer's, and next to our points how many times as fast
# as the peer's they are.
plot_peers <- function(times, about = NULL, panels = peer_panels[peer_panels %in% times$ours]) {
  rows <- ceiling(length(panels) / 2)
  old <- graphics::par(
    mfrow = c(rows, min(2L, length(panels))), mar = c(3.2, 3.4, 2.2, 0.8), mgp = c(2, 0.6, 0),
    las = 1,
    oma = c(if (is.null(about)) 0 else 1.4, 0, 0, 0), cex = 0.85, tcl = -0.3
  )
  on.exit(graphics::par(old))
  shown <- times[times$ours %in% panels, ]
  # The same axes everywhere, so that an operation can be compared with the product.
  orders <- range(shown$n)
  top <- 1.12 * max(shown$ours_tflops, shown$peer_tflops)
  for (name in names(panels)) {
    d <- shown[shown$ours == panels[[name]], ]
    d <- d[order(d$n), ]
    graphics::plot(NA, xlim = orders * c(0.85, 1.18), ylim = c(0, top), log = "x", xaxt = "n",
      yaxs = "i",
                   xlab = "order n", ylab = "TFLOP/s", main = name, font.main = 1, bty = "l")
    ticks <- 2^seq(ceiling(log2(orders[1])), floor(log2(orders[2])))
    graphics::axis(1, ticks, ticks, cex.axis = 0.75, gap.axis = 0)
    graphics::abline(h = pretty(c(0, top)), col = "grey90")
    graphics::lines(d$n, d$peer_tflops, type = "b", pch = 1, lty = 2, col = "grey35", xpd = NA)
    graphics::lines(d$n, d$ours_tflops, type = "b", pch = 19, lwd = 1.5, col = "#0b6e4f", xpd = NA)
    graphics::text(d$n, pmax(d$ours_tflops, d$peer_tflops), sprintf("%.2f", d$peer_over_ours),
      pos = 3, offset = 0.45, cex = 0.8,
                   col = "#0b6e4f", xpd = NA)
    peer <- sub(",.*", "", d$peer[1])
    # Where the small orders leave room, or below a curve that is high at once.
    corner <- if (all(d$ours_tflops[d$n <= 2048] < top / 3)) "topleft" else "bottomright"
    graphics::legend(corner, c("cudafactor", peer), pch = c(19, 1), lty = 1:2, lwd = c(1.5, 1),
      inset = 0.02,
                     col = c("#0b6e4f", "grey35"), box.col = "white", bg = "white", cex = 0.9)
  }
  if (!is.null(about)) graphics::mtext(about, side = 1, outer = TRUE, cex = 0.7, col = "grey35",
    line = 0.2)
  invisible(panels)
}

# The height that goes with a width of 8, and fits the number of graphs.
peers_height <- function(times) {
  if (sum(peer_panels %in% times$ours) > 2) 6.4 else 3.5
}

if (sys.nframe() == 0L) {
  args <- commandArgs(TRUE)
  results <- file.path("bench", "results")
  output <- if (length(args)) args[[1]] else file.path("man", "figures", "gpu-peers.svg")
  dir.create(dirname(output), recursive = TRUE, showWarnings = FALSE)
  times <- read_peers(results)
  grDevices::svg(output, 8, peers_height(times))
  plot_peers(times, about_peers(results))
  invisible(grDevices::dev.off())
}
