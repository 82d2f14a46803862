# The paper's Figures 2 and 3: times and errors of updates and downdates by order, as a graph, from
# what the part `paper` of chol-update.sh has written.
#   Rscript bench/updates/plot-updates.R [OUTPUT.png]
# draws what the folder bench/results has (man/figures/chol-update.png).

output <- c(commandArgs(trailingOnly = TRUE), file.path("man", "figures", "chol-update.png"))[[1L]]
results <- file.path("bench", "results", "chol-update.csv")
if (!file.exists(results)) {
  message("nothing drawn: ", results, " is not there")
  quit(status = 0)
}
table <- utils::read.csv(results)
table <- table[table$part == "paper", ]
if (nrow(table) == 0L) {
  message("nothing drawn: ", results, " does not have the part paper")
  quit(status = 0)
}
shown <- c(
  gpu = "cudafactor, factor on the GPU", gpu_host = "cudafactor, R matrix to R matrix",
  cpu = "cudafactor, CPU", faer = "faer, one thread", qrupdate = "qrupdate, column after column",
  cusolver = "cuSOLVER, factored again on the GPU"
)
colours <- c(gpu = "#0b6e4f", gpu_host = "#0b6e4f", cpu = "#0b6e4f", faer = "grey60",
  qrupdate = "grey35", cusolver = "#b3541e")
points <- c(gpu = 19, gpu_host = 17, cpu = 1, faer = 5, qrupdate = 4, cusolver = 15)
ways <- intersect(names(shown), table$way)
changes <- c(up = "Update", down = "Downdate")
ranks <- sort(unique(table$k), decreasing = TRUE)

# A column for each way, a row for each order.
curves <- function(change, k, value) {
  d <- table[table$change == change & table$k == k, ]
  n <- sort(unique(d$n))
  list(n = n, y = vapply(ways, function(way) {
    own <- d[d$way == way, ]
    own[[value]][match(n, own$n)]
  }, n + 0))
}
panel <- function(change, k, value, factor, label) {
  d <- curves(change, k, value)
  there <- colSums(is.finite(d$y)) > 0
  range <- range(factor * table[[value]], na.rm = TRUE)
  graphics::matplot(
    d$n, factor * d$y[, there], type = "b", lty = 1, pch = points[ways][there],
    col = colours[ways][there], log = "xy", ylim = range, xlab = "order n", ylab = "",
    bty = "l", yaxt = "n", main = sprintf("%s, k = %d", changes[[change]], k), font.main = 1
  )
  graphics::title(ylab = label, line = 3.4)
  at <- grDevices::axisTicks(log10(range), TRUE, nint = 4)
  graphics::axis(2, at,
    format(at, digits = 1, scientific = max(at) < 1e-3, drop0trailing = TRUE, trim = TRUE))
}

grDevices::png(output, 1800, 450 * length(ranks) * 2 + 150, res = 150)
graphics::layout(rbind(matrix(seq_len(4 * length(ranks)), 2 * length(ranks), 2, byrow = TRUE),
  4 * length(ranks) + 1L), heights = c(rep(3, 2 * length(ranks)), 1))
graphics::par(mar = c(3.2, 5, 2, 1), mgp = c(2.2, 0.6, 0), las = 1, tcl = -0.3)
for (k in ranks) {
  for (change in names(changes)) panel(change, k, "median_s", 1e3, "milliseconds")
  for (change in names(changes)) panel(change, k, "error", 1, "largest error")
}
graphics::par(mar = rep(0, 4))
graphics::plot.new()
graphics::legend("center", shown[ways], pch = points[ways], col = colours[ways], bty = "n",
  ncol = 3)
invisible(grDevices::dev.off())
