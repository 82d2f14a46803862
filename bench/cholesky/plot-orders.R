# Time of a Cholesky factorization by order, as a graph, from what chol-orders.sh has written.
#   Rscript bench/cholesky/plot-orders.R [OUTPUT.png]
# draws what the folder bench/results has (man/figures/chol-orders.png).

table <- utils::read.csv(file.path("bench", "results", "chol-orders.csv"))
gpus <- table$gpus[[1L]]
output <- c(commandArgs(trailingOnly = TRUE), file.path("man", "figures", "chol-orders.png"))[[1L]]
shown <- c(
  one_gpu = "cudafactor, one GPU", all_gpus = sprintf("cudafactor, %d GPUs", gpus),
  cpu = "cudafactor, CPU", base_r = "chol() of base R",
  cusolver = "cuSOLVER by PyTorch",
  cusolvermg_on_gpus = sprintf("cuSOLVERMg, data on %d GPUs", gpus),
  paper = "the paper, four Tesla C2050"
)
shown <- shown[vapply(names(shown), function(name) any(is.finite(table[[name]])), NA)]
colours <- c(
  one_gpu = "#0b6e4f", all_gpus = "#0b6e4f", cpu = "#0b6e4f", base_r = "grey35",
  cusolver = "#b3541e", cusolvermg_on_gpus = "#b3541e", paper = "black"
)[names(shown)]
points <- c(one_gpu = 19, all_gpus = 17, cpu = 1, base_r = 4, cusolver = 15, cusolvermg_on_gpus = 0,
  paper = 8)[names(shown)]
grDevices::png(output, 1200, 900, res = 150)
graphics::par(mar = c(3.2, 4.8, 1, 1), mgp = c(2.2, 0.6, 0), las = 1, tcl = -0.3)
graphics::matplot(
  table$n, as.matrix(table[names(shown)]), type = "b", lty = 1, pch = points, col = colours,
  log = "xy", xlab = "order n", ylab = "", bty = "l", xaxt = "n", yaxt = "n"
)
graphics::title(ylab = "seconds", line = 3.6)
graphics::axis(1, table$n, table$n)
ticks <- 10^(-3:2)
graphics::axis(2, ticks, format(ticks, drop0trailing = TRUE, scientific = FALSE, trim = TRUE))
graphics::legend("topleft", shown, pch = points, col = colours, bty = "n", cex = 0.85)
invisible(grDevices::dev.off())
