# Linear programs, compared with HiGHS: see lp-netlib.sh, which runs this.

suppressPackageStartupMessages(library(cudafactor))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[[1]]
work <- arguments[[2]]
orders <- as.integer(arguments[-(1:2)])
device <- Sys.getenv("CUDAFACTOR_BENCH_DEVICE", "cpu")

# Table 3 of Jung and O'Leary: iterations and seconds of the better of its two factorizations on the
# GPU, and of MATLAB.
paper <- read.table(header = TRUE, text = "
name iterations gpu_s matlab_iterations matlab_s
adlittle 12 0.60 9 0.10
afiro 7 0.20 7 0.03
agg2 18 17.14 17 5.02
agg3 20 19.02 17 5.05
bandm 12 4.45 12 1.12
beaconfd 7 1.18 6 0.21
blend 11 0.70 8 0.08
e226 18 4.39 16 1.19
sc50b 6 0.28 6 0.04
sctap1 15 6.02 13 1.88")

least_ms <- function(f, times = 7) {
  min(vapply(seq_len(times), function(i) {
    start <- Sys.time()
    f()
    as.double(Sys.time() - start, units = "secs")
  }, 0)) * 1e3
}

highs <- function(file) {
  lines <- readLines(file.path(work, file))
  d <- read.csv(text = lines[!startsWith(lines, "#")], header = FALSE,
    col.names = c("name", "method", "ms", "iterations", "status", "objective"),
    colClasses = c(name = "character"))
  said <- unique(sub("^# *", "", lines[startsWith(lines, "#")]))
  attr(d, "version") <- said[[1]]
  attr(d, "notes") <- said[-1]
  d
}
peers <- highs("netlib.csv")
of_peer <- function(d, name, method, what) {
  value <- d[[what]][d$name == name & d$method == method]
  if (length(value)) value else NA
}

known <- read.csv(file.path(folder, "optima.csv"))
known <- known[known$status == "optimal", ]
rows <- lapply(seq_len(nrow(known)), function(k) {
  name <- known$name[[k]]
  p <- lp_read_mps(Find(file.exists, file.path(folder, paste0(name, c(".mps", ".mps.gz")))))
  solve <- function(mat, on = device) {
    p["mat"] <- list(mat)
    do.call(lp_ipm, c(p, list(device = on)))
  }
  mat <- if (device == "cpu") p$mat else as.matrix(p$mat)
  r <- solve(mat)
  optimum <- known$reference_optimum[[k]]
  row <- data.frame(
    problem = name, m = known$m[[k]], n = known$n[[k]],
    status = names(cudafactor:::lp_statuses)[r$status + 1L], iterations = r$iterations,
    ms = least_ms(function() solve(mat)), relative_error = abs(r$optimum - optimum) / abs(optimum),
    worst_residual = max(r$residuals),
    simplex_ms = of_peer(peers, name, "simplex", "ms"), ipx_ms = of_peer(peers, name, "ipx", "ms"),
    ipx_iterations = of_peer(peers, name, "ipx", "iterations"),
    hipo_ms = of_peer(peers, name, "hipo", "ms"),
    hipo_iterations = of_peer(peers, name, "hipo", "iterations")
  )
  if (device != "cpu") row$cpu_ms <- least_ms(function() solve(p$mat, "cpu"))
  row
})
all <- do.call(rbind, rows)
ten <- all[match(paper$name, all$problem), ]
beside <-
  cbind(ten[c("problem", "m", "n", "iterations", "ms", if (device != "cpu") "cpu_ms", "simplex_ms",
    "ipx_ms", "ipx_iterations", "hipo_ms", "hipo_iterations")],
  paper_iterations = paper$iterations, paper_gpu_s = paper$gpu_s,
  matlab_iterations = paper$matlab_iterations, matlab_s = paper$matlab_s)

dense <- highs("dense.csv")
random <- do.call(rbind, lapply(orders, function(m) {
  values <- readBin(file.path(work, sprintf("dense-%d.bin", m)), "double", m * 2 * m + 3 * m)
  a <- matrix(values[seq_len(m * 2 * m)], m)
  b <- values[m * 2 * m + seq_len(m)]
  c <- values[m * 2 * m + m + seq_len(2 * m)]
  solve <- function() lp_ipm(c, a, rep("==", m), b, device = device)
  r <- solve()
  again <- solve()$seconds
  of <- function(method, what) of_peer(dense, as.character(m), method, what)
  data.frame(
    m = m, n = 2L * m, status = r$status, iterations = r$iterations, s = least_ms(solve, 3) / 1e3,
    t(again), worst_residual = max(r$residuals),
    simplex_s = of("simplex", "ms") / 1e3, simplex = of("simplex", "status"),
    ipx_s = of("ipx", "ms") / 1e3, ipx = of("ipx", "status"),
    hipo_s = of("hipo", "ms") / 1e3, hipo = of("hipo", "status")
  )
}))
# Figure 10 of the paper, of one run: an iteration, its parts, and how much of it M's operations,
# m^2 n, and those of its factor, m^3 / 3, are at the rate at which M is formed.
factors <- random$iterations + 1
split <- data.frame(
  m = random$m, n = random$n, iteration_ms = 1e3 * random$iterating / factors,
  forming_ms = 1e3 * random$forming / factors,
  factoring_ms = 1e3 * random$factoring / factors, forming = random$forming / random$iterating,
  factoring = random$factoring / random$iterating,
  rest = 1 - (random$forming + random$factoring) / random$iterating,
  forming_gflops = factors * random$m^2 * random$n / random$forming / 1e9,
  at_forming_rate = random$forming * (1 + random$m / (3 * random$n)) / random$iterating
)
random <- random[setdiff(names(random), c("iterating", "forming", "factoring"))]
random$fastest_over_ours <- pmin(random$simplex_s, random$ipx_s, random$hipo_s, na.rm = TRUE) /
  random$s

sums <- data.frame(
  what = c("iterations, all", "iterations of IPX, all", "most iterations of the ten", "ms, the ten",
    "ms of IPX, the ten", "ms over IPX's, the ten"),
  value = c(sum(all$iterations), sum(all$ipx_iterations), max(ten$iterations), sum(ten$ms),
    sum(ten$ipx_ms), sum(ten$ms) / sum(ten$ipx_ms))
)
tables <- list("The paper's ten" = beside, "All that have an optimum" = all, "Sums" = sums,
  "Random dense problems" = random,
  "How an iteration's time splits (the paper's Figure 10)" = split)
bench_write(paste0("lp-netlib-", device), "Linear programs compared with HiGHS", tables, c(
  sprintf(
    paste0(
      "Ours on the %s, from R call to R result, NETLIB's as sparse problems on the CPU, and as ",
      "dense ones on a GPU; %s without presolve and crossover, all in one run. Milliseconds of"
    ),
    device, attr(peers, "version")),
  paste0(
    "NETLIB's problems are the least of 7 runs, of HiGHS 5, without reading the file; those of ",
    "dense ones the least of 3, of HiGHS one. A method that is missing is not in that build of ",
    "HiGHS."
  ),
  attr(dense, "notes"),
  paste0(
    "The paper's times are of its Table 3, on a GPU of 2006 in single precision, with tolerances ",
    "of 3e-5 to 2e-3; ours go to 1e-8."
  )
), by = "bench/lp/lp-netlib.sh", all = all)
