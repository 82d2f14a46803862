# Compares lp_ipm() with HiGHS, and with a simplex method in rational arithmetic, on small random
# problems of many families.
#   Rscript bench/lp/lp-highs-random.R SEED COUNT [FILE]
# Needs a python with highspy: CUDAFACTOR_LP_PYTHON (python3). FILE has problems and their answers;
# the script makes it if it does not exist. Writes lp-highs.md and .csv.

suppressPackageStartupMessages(library(cudafactor))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))
source(file.path(here, "..", "..", "tests", "testthat", "lp-highs-problems.R"))
arguments <- commandArgs(TRUE)
seed <- arguments[[1]]
count <- arguments[[2]]
file <- if (length(arguments) > 2) arguments[[3]] else tempfile()
python <- Sys.getenv("CUDAFACTOR_LP_PYTHON", "python3")
script <- file.path(here, "lp_highs_random.py")
answers <- function(...) system2(python, c(script, ...), stdout = TRUE)
if (!file.exists(file)) {
  answers("make", seed, count, file)
}
# A near-tie is exact after bounds and costs change by this share of their size.
near_tie <- 1e-9

# The largest violation of rows and bounds, relative to their size, the problem's, or that of terms.
violation <- function(p, x) {
  a <- p$call[[2]]
  lower <- c(p$rows$lower, p$columns$lower)
  upper <- c(p$rows$upper, p$columns$upper)
  at <- c(a %*% x, x)
  terms <- c(abs(a) %*% abs(x), abs(x))
  unit <- min(1, lp_largest(p))
  off <- pmax(lower - at, at - upper, 0)
  bound <- ifelse(lower > at, abs(lower), ifelse(upper < at, abs(upper), 0))
  max(off / pmax(bound, unit, terms))
}

same <- function(status, objective, is, optimum, size) {
  status == is & (status != 0 | abs(objective - optimum) <= 1e-6 * (abs(optimum) + size))
}

lines <- readLines(file)
began <- proc.time()[[3]]
rows <- lapply(lines, function(line) {
  p <- lp_read_problem(line)
  r <- tryCatch(suppressWarnings(do.call(lp_ipm, p$call)), error = function(e) {
    list(status = 9L, optimum = NA, solution = NA)
  })
  size <- lp_objective_size(p)
  data.frame(
    family = p$family, highs = p$highs, exact = p$exact, status = r$status,
    of_highs = p$of_highs, of_exact = p$of_exact, optimum = r$optimum, size = size,
    as_highs = same(r$status, r$optimum, p$highs, p$of_highs, size),
    as_exact = same(r$status, r$optimum, p$exact, p$of_exact, size),
    outside = if (r$status == 0L) violation(p, r$solution) else NA
  )
})
took <- proc.time()[[3]] - began
d <- do.call(rbind, rows)
d$as_highs <- d$as_highs %in% TRUE
d$as_exact <- d$as_exact %in% TRUE

# What is neither's answer is a near-tie, or a disagreement.
agrees <- 1 + d$as_highs + 2 * d$as_exact
d$kind <- c("neither", "HiGHS alone", "exact alone", "both")[agrees]
open <- which(d$kind == "neither")
if (length(open)) {
  asked <- tempfile()
  writeLines(lines[open], asked)
  far <- utils::read.table(
    text = answers("decide", asked, near_tie), col.names = c("status", "optimum", "bounded")
  )
  o <- d[open, ]
  close <- abs(o$optimum - far$optimum) <= 1e-6 * (abs(far$optimum) + o$size)
  near <- o$status == 2L & far$status == 2L |
    o$status == 0L & far$status != 1L & far$bounded == 1L & (o$exact != 0L | close)
  d$kind[open] <- ifelse(near %in% TRUE, "near-tie", "disagreement")
}

kinds <- c("both", "exact alone", "HiGHS alone", "near-tie", "disagreement")
counts <- as.data.frame.matrix(table(factor(d$family, unique(d$family)), factor(d$kind, kinds)))
counts <- cbind(family = rownames(counts), problems = rowSums(counts), counts)
counts <- rbind(counts, data.frame(family = "all", t(colSums(counts[-1])), check.names = FALSE))
rownames(counts) <- NULL
statuses <- table(HiGHS = d$highs, exact = d$exact, lp_ipm = d$status)
statuses <- as.data.frame(statuses, responseName = "problems", stringsAsFactors = FALSE)
statuses <- statuses[statuses$problems > 0, ]
listed <- d[d$kind %in% c("near-tie", "disagreement", "exact alone"), ]
listed$problem <- sub("^([^;]*;){7}", "", lines[as.integer(rownames(listed))])
listed <- listed[order(match(listed$kind, c("disagreement", "near-tie"))), c(
  "kind", "family", "highs", "exact", "status", "of_highs", "of_exact", "optimum", "problem"
)]
for (name in c("of_highs", "of_exact", "optimum")) listed[[name]] <- sprintf("%.9g", listed[[name]])
as_text <- function(x) {
  x[] <- lapply(x, as.character)
  x
}
print(counts, row.names = FALSE)
outside <- max(d$outside, na.rm = TRUE)
cat(sprintf(
  "largest violation at an optimum: %.1e; %d undecided; %.1f s\n", outside, sum(d$status > 2L), took
))
writeLines(do.call(paste, c(listed, sep = " | ")))
if (Sys.getenv("CUDAFACTOR_BENCH_DIR") != "none") {
  tables <- list(Counts = as_text(counts), Statuses = as_text(statuses))
  tables[["All that differ from HiGHS"]] <- if (nrow(listed)) as_text(listed)
  bench_write("lp-highs", "Small random linear programs and HiGHS", tables, c(
    sprintf("Seed %s, %d problems of `bench/lp/lp_highs_random.py`. HiGHS: the simplex method",
      seed, nrow(d)),
    "without presolve, tolerances of 1e-9. Exact: a simplex method in rational arithmetic.", "",
    paste0(
      "Statuses: 0 optimal, 1 infeasible, 2 unbounded, from 3 on undecided (HiGHS: 9). ",
      "Objectives agree"
    ),
    paste0(
      "to 1e-6 of their size. The columns count which answers `lp_ipm()` agrees with. A near-tie ",
      "agrees"
    ),
    sprintf("with neither, but is exact after all bounds and costs change by %g of their size.",
      near_tie), "",
    sprintf("The largest violation of a row or bound at an optimum, relative to its size: %.1e.",
      outside),
    "A problem is listed as obj; mat by rows; dir; rhs; range; lower; upper."
  ), all = as_text(counts))
}
