# lp_ipm() beside HiGHS, and beside a simplex method in rational arithmetic, for small random problems of many kinds.
#   Rscript inst/bench/lp-highs-random.R SEED COUNT [FILE]
# Needs a python with highspy: CUDAFACTOR_LP_PYTHON (python3). FILE has problems and their answers, and is made where it is not there. Writes lp-highs.md and .csv.

suppressPackageStartupMessages(library(cudafactor))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "common.R"))
arguments <- commandArgs(TRUE)
seed <- arguments[[1]]
count <- arguments[[2]]
file <- if (length(arguments) > 2) arguments[[3]] else tempfile()
python <- Sys.getenv("CUDAFACTOR_LP_PYTHON", "python3")
answers <- function(...) system2(python, c(file.path(here, "lp_highs_random.py"), ...), stdout = TRUE)
if (!file.exists(file)) {
  answers("make", seed, count, file)
}
# A tie is near where bounds, or costs, that differ by this share of their size make the other answer right.
NEAR <- 1e-9

numbers <- function(text) {
  all <- strsplit(text, " ", fixed = TRUE)[[1]]
  all[all == "NA"] <- NA
  as.numeric(all)
}

read_problem <- function(line) {
  f <- strsplit(line, ";", fixed = TRUE)[[1]]
  m <- as.integer(f[[6]])
  n <- as.integer(f[[7]])
  range <- numbers(f[[12]])
  list(
    family = f[[1]], highs = as.integer(f[[2]]), of_highs = numbers(f[[3]]), exact = as.integer(f[[4]]), of_exact = numbers(f[[5]]),
    call = list(numbers(f[[8]]), matrix(numbers(f[[9]]), m, n, byrow = TRUE), strsplit(f[[10]], " ", fixed = TRUE)[[1]], numbers(f[[11]]),
      bounds = list(lower = numbers(f[[13]]), upper = numbers(f[[14]])), range = if (!all(is.na(range))) range)
  )
}

# How far a point is outside rows and bounds, relative to their sizes and to the problem's.
violation <- function(call, x) {
  a <- call[[2]]
  dir <- call[[3]]
  rhs <- call[[4]]
  r <- if (is.null(call$range)) rep(NA, length(rhs)) else call$range
  lower <- ifelse(dir == "<=", -Inf, rhs)
  upper <- ifelse(dir == ">=", Inf, rhs)
  below <- !is.na(r) & (dir == "<=" | dir == "==" & r < 0)
  above <- !is.na(r) & (dir == ">=" | dir == "==" & r >= 0)
  lower[below] <- (rhs - abs(r))[below]
  upper[above] <- (rhs + abs(r))[above]
  lower <- c(lower, call$bounds$lower)
  upper <- c(upper, call$bounds$upper)
  at <- c(a %*% x, x)
  terms <- c(abs(a) %*% abs(x), abs(x))
  unit <- min(1, largest(call))
  off <- pmax(lower - at, at - upper, 0)
  bound <- ifelse(lower > at, abs(lower), ifelse(upper < at, abs(upper), 0))
  max(off / pmax(bound, unit, terms))
}

# The largest of right-hand sides and bounds.
largest <- function(call) {
  sizes <- abs(c(call[[4]], call$range, unlist(call$bounds)))
  sizes <- sizes[is.finite(sizes)]
  if (any(sizes > 0)) max(sizes) else 1
}

same <- function(status, objective, is, optimum, size) {
  status == is & (status != 0 | abs(objective - optimum) <= 1e-6 * (abs(optimum) + size))
}

lines <- readLines(file)
began <- proc.time()[[3]]
rows <- lapply(lines, function(line) {
  p <- read_problem(line)
  r <- tryCatch(suppressWarnings(do.call(lp_ipm, p$call)), error = function(e) list(status = 9L, optimum = NA, solution = NA))
  # What an objective near 0 is compared with.
  size <- min(1, max(abs(p$call[[1]])) * largest(p$call))
  data.frame(
    family = p$family, highs = p$highs, exact = p$exact, status = r$status, of_highs = p$of_highs, of_exact = p$of_exact, optimum = r$optimum,
    as_highs = same(r$status, r$optimum, p$highs, p$of_highs, size), as_exact = same(r$status, r$optimum, p$exact, p$of_exact, size), size = size,
    iterations = if (is.null(r$iterations)) NA else r$iterations, outside = if (r$status == 0L) violation(p$call, r$solution) else NA
  )
})
took <- proc.time()[[3]] - began
d <- do.call(rbind, rows)
d$as_highs <- d$as_highs %in% TRUE
d$as_exact <- d$as_exact %in% TRUE

# What is neither's answer, or not the exact one, is a near-tie, or a disagreement.
d$kind <- ifelse(d$as_highs & d$as_exact, "both", ifelse(d$as_exact, "rational arithmetic, not HiGHS", "open"))
open <- which(!d$as_exact)
if (length(open)) {
  asked <- tempfile()
  writeLines(lines[open], asked)
  far <- utils::read.table(text = answers("decide", asked, NEAR), col.names = c("status", "optimum", "bounded"))
  o <- d[open, ]
  near <- (o$status == 2L & far$status == 2L) | (o$status == 0L & far$status != 1L & far$bounded == 1L &
    (o$exact != 0L | abs(o$optimum - far$optimum) <= 1e-6 * (abs(far$optimum) + o$size)))
  d$kind[open] <- ifelse(near %in% TRUE, ifelse(o$as_highs, "near-tie, as HiGHS", "near-tie, not as HiGHS"), "disagreement")
}

kinds <- c("both", "rational arithmetic, not HiGHS", "near-tie, as HiGHS", "near-tie, not as HiGHS", "disagreement")
counts <- as.data.frame.matrix(table(factor(d$family, unique(d$family)), factor(d$kind, kinds)))
counts <- cbind(family = rownames(counts), problems = rowSums(counts), counts)
counts <- rbind(counts, data.frame(family = "all", t(colSums(counts[-1])), check.names = FALSE))
rownames(counts) <- NULL
statuses <- as.data.frame(table(HiGHS = d$highs, rational = d$exact, lp_ipm = d$status), stringsAsFactors = FALSE)
statuses <- statuses[statuses$Freq > 0, ]
listed <- d[d$kind != "both", c("kind", "family", "highs", "exact", "status", "of_highs", "of_exact", "optimum")]
listed <- cbind(listed, problem = sub("^([^;]*;){7}", "", lines[d$kind != "both"]))
listed <- listed[order(match(listed$kind, kinds), decreasing = TRUE), ]
for (name in c("of_highs", "of_exact", "optimum")) listed[[name]] <- sprintf("%.9g", listed[[name]])
text <- function(x) {
  x[] <- lapply(x, as.character)
  x
}
print(counts, row.names = FALSE)
cat(sprintf("largest violation of an optimum: %.1e; %d without a decision; %.1f s\n", max(d$outside, na.rm = TRUE), sum(d$status > 2L), took))
if (Sys.getenv("CUDAFACTOR_LP_LIST") != "") {
  writeLines(do.call(paste, c(listed[listed$kind %in% c("disagreement", "near-tie, not as HiGHS"), ], sep = " | ")))
}
if (Sys.getenv("CUDAFACTOR_BENCH_DIR") != "none") {
  bench_write("lp-highs", "Small random linear programs beside HiGHS", list(Counts = text(counts), Statuses = text(statuses),
    `All that differ` = text(listed)), c(
    sprintf("Seed %s, %d problems, `inst/bench/lp_highs_random.py`; %s.", seed, nrow(d), "HiGHS's simplex method without presolve, tolerances 1e-9"),
    "", "Statuses: 0 optimal, 1 infeasible, 2 unbounded, from 3 on no decision (HiGHS: 9). Rational arithmetic: a simplex method over exact fractions, for each problem.",
    sprintf("A near-tie: bounds, or costs, moved by %g of their size make lp_ipm()'s answer the exact one.", NEAR),
    "Objectives agree to 1e-6 of their size.", "",
    sprintf("The largest violation of a row or bound at an optimum, relative to sizes of bounds and terms: %.1e.", max(d$outside, na.rm = TRUE)),
    "A problem is listed as: obj; mat by rows; dir; rhs; range; lower; upper."
  ), all = text(counts))
}
