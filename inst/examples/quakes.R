# A first look at cudafactor: 1000 earthquakes near Fiji, through every factorization the package
# has.
#
#   Rscript quakes.R [OUTPUT FOLDER]
#   source(system.file("examples", "quakes.R", package = "cudafactor"))

library(cudafactor)

arguments <- commandArgs(trailingOnly = TRUE)
output <- if (length(arguments)) arguments[[1L]] else file.path(tempdir(), "demo-output")
dir.create(output, showWarnings = FALSE, recursive = TRUE)

say <- function(...) cat(strwrap(sprintf(...), width = 96), sep = "\n")
head_line <- function(...) cat("\n", sprintf(...), "\n\n", sep = "")
seconds <- function(expr) system.time(expr, gcFirst = FALSE)[["elapsed"]]

say("cudafactor %s on %s.", packageVersion("cudafactor"), R.version.string)
blas <- extSoftVersion()[["BLAS"]]
say("Base R's own linear algebra is %s.", if (nzchar(blas)) blas else "the one it was built with")
say(if (gpu_available()) {
  "A GPU is here: matrices large enough to gain from it go there, the others stay on the CPU."
} else {
  "No usable GPU here: everything below runs on the CPU. gpu_sitrep() says what a GPU would need."
})

# ---- 1. Gaussian process -------------------------------------------------------------------------

head_line("1. Where are the sinking plates? A Gaussian process, by gpu_chol()")
say("Around Fiji two plates sink into the mantle, the Pacific one under Tonga and the Australian one
under Vanuatu, and earthquakes happen along them. R's data set 'quakes' has 1000 with their
position and depth. We take the depth to be a smooth surface over the map plus noise (quakes
off the plate, errors of location), and learn from 800 quakes how smooth and how noisy.")

# Great-circle distances in km between two sets of points given as columns long, lat.
distances <- function(a, b) {
  rad <- pi / 180
  dlat <- outer(a[, 2L], b[, 2L], "-") * rad
  dlon <- outer(a[, 1L], b[, 1L], "-") * rad
  h <- sin(dlat / 2)^2 + outer(cos(a[, 2L] * rad), cos(b[, 2L] * rad)) * sin(dlon / 2)^2
  2 * 6371 * asin(pmin(sqrt(h), 1))
}

# Matern correlation of smoothness 3/2.
matern <- function(d, range) {
  d <- sqrt(3) * d / range
  (1 + d) * exp(-d)
}

# The process with unknown mean: everything that prediction needs, for range and noise-to-signal
# ratio. With K = U'U, every quadratic form in K^-1 is a sum of squares after one triangular solve.
fit_process <- function(where, depth, range, noise) {
  k <- matern(distances(where, where), range)
  diag(k) <- 1 + noise
  u <- gpu_chol(k)
  z <- gpu_backsolve(u, cbind(depth, 1), transpose = TRUE)
  mean <- sum(z[, 1L] * z[, 2L]) / sum(z[, 2L]^2)
  residual <- z[, 1L] - mean * z[, 2L]
  n <- length(depth)
  variance <- sum(residual^2) / n
  list(
    where = where, u = u, residual = residual, mean = mean, variance = variance,
    range = range, noise = noise,
    log_likelihood = -n / 2 * (log(2 * pi * variance) + 1) - sum(log(diag(u)))
  )
}

# The surface at new points and the standard error of a new quake's depth there.
predict_depth <- function(fit, at) {
  z <- gpu_backsolve(fit$u, matern(distances(fit$where, at), fit$range), transpose = TRUE)
  list(
    depth = drop(fit$mean + gpu_crossprod(z, fit$residual)),
    surface_error = sqrt(fit$variance * pmax(0, 1 - colSums(z^2))),
    quake_error = sqrt(fit$variance * pmax(0, 1 + fit$noise - colSums(z^2)))
  )
}

where <- as.matrix(quakes[, c("long", "lat")])
# Some quakes share a position to the last digit given; the noise keeps the matrix positive
# definite.
set.seed(1)
held_out <- sample(nrow(quakes), 200)
evaluations <- 0
elapsed <- seconds(search <- optim(log(c(range = 300, noise = 0.1)), function(p) {
  evaluations <<- evaluations + 1
  p <- exp(p)
  -fit_process(where[-held_out, ], quakes$depth[-held_out], p[[1L]], p[[2L]])$log_likelihood
}, control = list(reltol = 1e-6)))
best <- exp(search$par)

fit <- fit_process(where[-held_out, ], quakes$depth[-held_out], best[["range"]], best[["noise"]])
guess <- predict_depth(fit, where[held_out, ])
truth <- quakes$depth[held_out]
inside <- mean(abs(truth - guess$depth) < qnorm(0.975) * guess$quake_error)
rms <- function(x) sqrt(mean(x^2))

cat("\n")
say(
  paste0(
    "Maximum likelihood took %d Cholesky factorizations of an 800 x 800 matrix, %.1f s in all, ",
    "on %s:"
  ),
  evaluations, elapsed, gpu_last_device())
cat(sprintf("
  log-likelihood               %10.2f
  range of the correlation     %10.0f km
  spread of the surface        %10.0f km
  noise around the surface     %10.0f km

On the 200 quakes it has not seen
  typical error, always guessing the mean depth   %4.0f km
  typical error of the process                    %4.0f km
  inside its 95 %% interval                        %4.0f %%
",
  fit$log_likelihood, fit$range, sqrt(fit$variance), sqrt(fit$variance * fit$noise),
  rms(truth - mean(quakes$depth[-held_out])), rms(truth - guess$depth), 100 * inside
))

# The map uses all 1000 quakes.
all_quakes <- fit_process(where, quakes$depth, best[["range"]], best[["noise"]])
long <- seq(164.5, 189, length.out = 220)
lat <- seq(-39.5, -9.8, length.out = 270)
grid <- as.matrix(expand.grid(long, lat))
nearest <- do.call(pmin, as.data.frame(t(distances(where, grid))))
near <- nearest < 130
elapsed <- seconds(map <- predict_depth(all_quakes, grid[near, ]))
on_grid <- function(values) {
  z <- rep(NA_real_, nrow(grid))
  z[near] <- values
  matrix(z, length(long))
}
surface <- on_grid(pmax(map$depth, 0))
doubt <- on_grid(map$surface_error)

cat("\n")
say("The map is predicted, with standard errors, at %s points from all 1000 quakes in %.2f s.",
  format(sum(near), big.mark = " "), elapsed)

# ---- the picture ---------------------------------------------------------------------------------

ink <- "#22303c"
pale <- "#8795a1"

frame_map <- function(title, subtitle) {
  plot(NA, xlim = range(long), ylim = range(lat), asp = 1 / cos(25 * pi / 180), axes = FALSE,
    xlab = "", ylab = "")
  axis(1, c(165, 170, 175, 180, 185), c("165°E", "170°E", "175°E", "180°", "175°W"),
    tick = FALSE, line = -0.6, col.axis = pale, cex.axis = 0.95)
  axis(2, seq(-35, -10, 5), paste0(seq(35, 10, -5), "°S"), tick = FALSE, line = -0.6, las = 1,
    col.axis = pale, cex.axis = 0.95)
  abline(v = seq(165, 185, 5), h = seq(-35, -10, 5), col = "#eef1f4")
  mtext(title, 3, 1.5, adj = 0, font = 2, cex = 1.15, col = ink)
  mtext(subtitle, 3, 0.3, adj = 0, cex = 0.85, col = pale)
}

# A colour bar inside the map, in the corner that has no quakes.
colour_bar <- function(colours, limits, title) {
  x <- c(165.2, 166.0)
  y <- seq(-37.8, -27, length.out = length(colours) + 1)
  rect(x[1], y[-length(y)], x[2], y[-1], col = colours, border = NA)
  ticks <- pretty(limits, 4)
  ticks <- ticks[ticks >= limits[1] & ticks <= limits[2]]
  at <- y[1] + (ticks - limits[1]) / diff(limits) * (y[length(y)] - y[1])
  text(x[2] + 0.3, at, ticks, adj = 0, cex = 0.9, col = ink)
  text(x[1], -26.2, title, adj = 0, cex = 0.9, col = ink)
}

draw <- function() {
  layout(t(1:3), widths = c(1, 1, 1))
  par(mar = c(3, 4, 4, 1), family = "sans", bg = "white")

  colours <- hcl.colors(100, "YlGnBu", rev = TRUE)
  limits <- c(0, 700)
  frame_map("Sinking plates around Fiji", "depth of their earthquakes, learnt from 1000 of them")
  image(long, lat, surface, col = colours, zlim = limits, useRaster = TRUE, add = TRUE)
  contour(long, lat, surface, levels = seq(100, 600, 100), col = "#ffffffb0", lwd = 1.2,
    labcex = 0.8, add = TRUE)
  points(where, pch = 21, cex = 0.75, lwd = 0.5, col = "#00000060",
    bg = colours[pmax(1, ceiling(quakes$depth / 7))])
  colour_bar(colours, limits, "depth, km")

  colours <- hcl.colors(100, "Lajolla", rev = TRUE)[5:85]
  limits <- c(0, max(doubt, na.rm = TRUE))
  frame_map("How sure the process is", "standard error of the surface; quakes as dots")
  image(long, lat, doubt, col = colours, zlim = limits, useRaster = TRUE, add = TRUE)
  points(where, pch = 16, cex = 0.35, col = "#22303c90")
  colour_bar(colours, limits, "error, km")

  plot(NA, xlim = c(0, 720), ylim = c(-120, 820), xaxs = "i", yaxs = "i", axes = FALSE, xlab = "",
    ylab = "")
  abline(h = seq(0, 800, 200), v = seq(0, 600, 200), col = "#eef1f4")
  abline(0, 1, col = pale, lty = 3)
  half <- qnorm(0.975) * guess$quake_error
  hit <- abs(truth - guess$depth) < half
  colour <- ifelse(hit, "#2a788e", "#d1495b")
  segments(truth, guess$depth - half, truth, guess$depth + half, col = paste0(colour, "50"))
  points(truth, guess$depth, pch = 16, cex = 0.8, col = colour)
  axis(1, seq(0, 600, 200), tick = FALSE, line = -0.6, col.axis = pale)
  axis(2, seq(0, 800, 200), tick = FALSE, line = -0.6, las = 1, col.axis = pale)
  mtext("true depth, km", 1, 1.6, cex = 0.75, col = ink)
  mtext("predicted depth, km", 2, 2.6, cex = 0.75, col = ink)
  mtext("200 quakes it has not seen", 3, 1.5, adj = 0, font = 2, cex = 1.15, col = ink)
  mtext(sprintf("with 95%% intervals; %.0f%% of the quakes are inside", 100 * inside), 3, 0.3,
    adj = 0, cex = 0.85, col = pale)
}

picture <- file.path(output, "quakes.png")
type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
drawn <- tryCatch({
  png(picture, width = 2100, height = 900, res = 130, type = type)
  draw()
  invisible(dev.off())
  TRUE
}, error = function(e) {
  say("This R cannot draw a PNG here: %s", conditionMessage(e))
  FALSE
})

# ---- 2. A linear system --------------------------------------------------------------------------

head_line("2. The same mean by another road: a linear system, by gpu_solve()")
say("The mean depth m came out of the Cholesky factor. It also solves
[K 1; 1' 0] [w; m] = [depth; 0]: a symmetric matrix that is not positive definite, so that
Cholesky cannot factor it and LU must.")

k <- matern(distances(where, where), best[["range"]])
diag(k) <- 1 + best[["noise"]]
saddle <- rbind(cbind(k, 1), c(rep(1, nrow(k)), 0))
solution <- gpu_solve(saddle, c(quakes$depth, 0))
kriging_mean <- solution[[length(solution)]]
cat(sprintf("
  mean depth by Cholesky       %.10f km
  mean depth by LU             %.10f km
  scaled residual of LU        %.1e  (|Ax - b| / (n eps |A| |x|); below 1: exact to rounding)
",
  all_quakes$mean, kriging_mean,
  max(abs(saddle %*% solution - c(quakes$depth, 0))) /
    (nrow(saddle) * .Machine$double.eps * norm(saddle, "I") * max(abs(solution)))
))

# ---- 3. Least squares ----------------------------------------------------------------------------

head_line("3. A plain regression: gpu_qr() beside lm()")
say("Number of reporting stations on magnitude, depth and position. gpu_qr() returns an ordinary
'qr' object, so base R's qr.coef() takes it without a conversion.")

x <- model.matrix(stations ~ mag + depth + long + lat, quakes)
ours <- qr.coef(gpu_qr(x), quakes$stations)
base <- coef(lm(stations ~ mag + depth + long + lat, quakes))
cat("\n")
print(cbind("gpu_qr()" = ours, "lm()" = base, "difference" = ours - base), digits = 7)

# ---- 4. Times ------------------------------------------------------------------------------------

head_line("4. What it costs: cudafactor beside base R on this machine")
source(system.file("examples", "compare.R", package = "cudafactor"), local = TRUE)
times <- compare_with_base(c(256, 512, 1024, 2048))
print_comparison(times)
cat("\n")
if (!is.null(busy())) say(busy())
say("Each time is the fastest of at least five, from R matrix to R matrix; a ratio above 1 means
that cudafactor was so many times faster. A residual below 1 is as exact as double precision
allows. 'qr' is gpu_qr(x) beside qr(x), the same object from LINPACK, which works a column at a
time. 'lu' is gpu_lu(x) beside determinant(x), base R's only door to an LU.")
utils::write.csv(times, file.path(output, "times.csv"), row.names = FALSE)
cat("\n")
if (drawn && file.exists(picture)) {
  say("The picture is %s", normalizePath(picture))
} else if (drawn) {
  say("There is no picture: this R has no PNG device that works without a display.")
}
say("The times are in %s", normalizePath(file.path(output, "times.csv")))
