# The blocks of measurements that report.R writes into README.md and the vignettes: a function for
# each, of lines of Markdown. Sourced by report.R.

source(file.path(here, "updates", "chol-update-tables.R"))

read_result <- function(stem) {
  utils::read.csv(file.path(results, paste0(stem, ".csv")), check.names = FALSE)
}

# The table under a heading of a result that has it in Markdown only. All columns are text.
md_table <- function(stem, heading) {
  lines <- readLines(file.path(results, paste0(stem, ".md")), encoding = "UTF-8")
  at <- which(lines == paste("##", heading))
  rows <- lines[-seq_len(at)]
  rows <- rows[startsWith(rows, "|") & cumsum(startsWith(rows, "## ")) == 0]
  cells <- lapply(strsplit(sub("^[|] *", "", rows[-2L]), " *[|] *"), trimws)
  stats::setNames(as.data.frame(do.call(rbind, cells[-1L])), cells[[1L]])
}

# What a result says about the machine, the commit and the date, by name; of one of its sections
# where each has its own.
about <- function(stem, section = NULL) {
  lines <- readLines(file.path(results, paste0(stem, ".md")), encoding = "UTF-8")
  if (!is.null(section)) lines <- lines[-seq_len(which(lines == paste("##", section)))]
  lines <- grep("^- [a-zA-Z]+: ", lines, value = TRUE)
  lines <- lines[!duplicated(sub(":.*", "", lines))]
  stats::setNames(sub("^- [a-zA-Z]+: ", "", lines), sub("^- ([a-zA-Z]+): .*", "\\1", lines))
}

# Where a result was measured, in words; several only where they share the machine.
machine <- function(stems, section = NULL) {
  where <- unique(vapply(stems, function(stem) {
    of <- about(stem, section)
    processor <- sub("^Intel.*Xeon.*Processor, ", "Intel Xeon, ", of[["machine"]])
    if (of[["gpu"]] == "none") processor else sprintf("%s; %s", of[["gpu"]], processor)
  }, ""))
  if (length(where) != 1L) {
    stop("a block shows results of one machine, these are of several: ", toString(stems))
  }
  where
}

dated <- function(stem, section = NULL) {
  of <- about(stem, section)
  sprintf("%s, commit %s", of[["date"]], sub(" .*", "", of[["commit"]]))
}

# A sentence below a table.
from <- function(stem, what, section = NULL) {
  strwrap(sprintf("%s (%s; %s).", what, machine(stem, section), dated(stem, section)), 100)
}

# Numbers to the right, names to the left.
kable <- function(d, names = base::names(d)) {
  right <- vapply(d, function(v) {
    all(grepl("^[<>]? ?[0-9.,]*( %)?$", gsub(" [(].*", "", bench_cells(v))))
  }, NA)
  lines <- bench_markdown(stats::setNames(d, names))
  lines[[2L]] <- paste0("|", paste(ifelse(right, "---:", ":---"), collapse = "|"), "|")
  gsub("|  |", "| |", gsub("|  |", "| |", lines, fixed = TRUE), fixed = TRUE)
}

# Two digits.
two <- function(x) {
  text <- formatC(as.numeric(x), digits = 2, format = "fg", flag = "#")
  ifelse(is.na(x), "", sub("[.]$", "", trimws(text)))
}

of_host <- function(verb, n) {
  d <- read_result("host")
  d <- d[d$verb == verb & d$n == n, ]
  list(ours = two(d$ours_ms / 1e3), base = two(d$base_ms / 1e3), torch = two(d$torch_ms / 1e3))
}

# One column for each n, of `value`; a row for each name.
by_order <- function(d, name, value, rows = unique(d[[name]])) {
  orders <- sort(unique(d$n))
  cells <- lapply(orders, function(n) two(d[[value]][d$n == n][match(rows, d[[name]][d$n == n])]))
  stats::setNames(data.frame(rows, cells, check.names = FALSE), c(" ", orders))
}

verbs <- c(
  matmult = "`gpu_matmult()` / `%*%`", chol = "`gpu_chol()` / `chol()`",
  qr = "`gpu_qr()` / `qr()`", solve = "`gpu_solve(a, b)` / `solve(a, b)`"
)
cpu_speedups <- function(threads) {
  d <- read_result("cpu-openblas")
  d <- d[d$threads == threads & d$peer %in% c("%*%", "chol()", "qr()", "solve()"), ]
  d$verb <- verbs[d$operation]
  by_order(d, "verb", "speedup", unname(verbs))
}

with_brackets <- function(one, two) {
  ifelse(nzchar(one) & nzchar(two), sprintf("%s (%s)", one, two), one)
}

update_times <- function(stem, part, columns) {
  d <- part_tables[[part]](read_updates(file.path(results, paste0(stem, ".csv")), part))[[1L]]
  d <- d[d$change == "up" & d$k %in% c(1, 16, 64), ]
  d <- d[order(d$n, d$k), ]
  d[columns] <- lapply(d[columns], two)
  d[c("n", "k", columns)]
}

blocks <- list(
  # README.md: six rows.
  gains = function() {
    product <- of_host("product", 8192)
    chol <- of_host("chol", 8192)
    gp <- read_result("gp-loop")
    gp <- gp[gp$n == 4096, ]
    poisson <- read_result("pcg-cuda")
    cupy <- min(poisson$s[startsWith(poisson$way, "cupy")])
    walker <- read_result("random-walker-cuda")
    walker <- walker[walker$name == "2048", ]
    lp <- md_table("lp-netlib-cuda", "Random dense problems")
    lp <- lp[lp$m == "1000", ]
    highs <- min(as.numeric(unlist(lp[c("simplex_s", "ipx_s", "hipo_s")])))
    d <- data.frame(
      call = c(
        "`gpu_matmult(x, x)`", "`gpu_chol(x)`", "a step of a Gaussian process's fit",
        "`pcg()`, Poisson's equation", "`random_walker()`", "`lp_ipm()`, a dense program"
      ),
      size = c(
        "8192 x 8192", "8192 x 8192", "4096 x 4096", "1000 x 1000 points", "2048 x 2048 pixels",
        "1000 x 2000"
      ),
      gpu = c(
        product$ours, chol$ours, two(gp$ms_a_step / 1e3), two(poisson$s[poisson$way == "pcg"]),
        two(walker$s), two(lp$s)
      ),
      r = c(
        product$base, chol$base, two(gp$ms_base_r / 1e3), "",
        paste(two(walker$matrix_s), "(Matrix)"), ""
      ),
      peer = c(
        paste(product$torch, "(PyTorch)"), paste(chol$torch, "(PyTorch)"), "",
        paste(two(cupy), "(CuPy)"), paste(walker$bf_s, "(scikit-image)"),
        paste(two(highs), "(HiGHS)")
      )
    )
    stems <- c("host", "gp-loop", "pcg-cuda", "random-walker-cuda", "lp-netlib-cuda")
    c(
      kable(d, c("seconds", "size", "cudafactor", "base R", "others")), "",
      strwrap(sprintf(
        paste(
          "From R call to R result, transfers included (%s). Base R's OpenBLAS had all cores,",
          "Matrix and scikit-image one, HiGHS six. PyTorch: NumPy array to NumPy array.",
          "CuPy's matrix was on the GPU before. Empty cells were not measured."
        ),
        machine(stems)
      ), 100)
    )
  },
  # README.md: the times of its example.
  example = function() {
    chol <- of_host("chol", 8192)
    strwrap(sprintf(
      "With `n = 8192` base R's `chol(x)` takes %s s and `gpu_chol(x)` %s s (%s).",
      chol$base, chol$ours, machine("host")
    ), 100)
  },
  cpu1 = function() kable(cpu_speedups(1)),
  cpu2 = function() {
    c(kable(cpu_speedups(2)), "", from("cpu-openblas", "Times as fast as base R on OpenBLAS"))
  },
  host = function() {
    d <- read_result("host")
    d$name <- sprintf("`gpu_%s()`", sub("product", "matmult", d$verb))
    base <- by_order(d, "name", "base_over_ours")
    torch <- by_order(d, "name", "torch_over_ours")
    torch[-1] <- Map(with_brackets, torch[-1], base[-1])
    c(kable(torch), "", from("host", "Times as fast as PyTorch, and in brackets as base R"))
  },
  `host-eigen` = function() {
    d <- read_result("eigen-host")
    d <- d[d$task %in% d$task[!is.na(d$torch_ms)], ]
    components <- startsWith(d$task, "prcomp")
    base <- by_order(d[!components, ], "task", "base_over_ours")
    torch <- by_order(d[!components, ], "task", "torch_over_ours")
    torch[-1] <- Map(with_brackets, torch[-1], base[-1])
    d <- d[components, ]
    seconds <- lapply(d[c("ours_ms", "torch_ms", "base_ms")], function(ms) two(ms / 1e3))
    c(kable(torch), "", from("eigen-host", "Times as fast as PyTorch, and in brackets as base R"),
      "", kable(data.frame(d[c("task", "n")], seconds),
        c("seconds", "columns", "`gpu_prcomp()`", "PyTorch's `svd_lowrank`", "`prcomp()`")))
  },
  `peers-eigen` = function() {
    d <- read_result("gpu-peers-eigen")
    d$pair <- paste(d$ours, "/", sub(", .*", "", d$peer))
    c(kable(by_order(d, "pair", "peer_over_ours")), "",
      sprintf("%s; %s.", about("gpu-peers-eigen")[["gpu"]], dated("gpu-peers-eigen")))
  },
  peers = function() {
    d <- rbind(read_result("gpu-peers"), read_result("gpu-peers-lu-qr"))
    d <- d[!grepl("tall|1000 times|beside|transposed|NT|TN", d$ours), ]
    d$pair <- paste(sub(" NN", "", d$ours), "/", sub(", (upper|lower).*", "", d$peer))
    c(kable(by_order(d, "pair", "peer_over_ours")), "",
      strwrap(sprintf("%s; %s; LU and QR %s.", about("gpu-peers")[["gpu"]], dated("gpu-peers"),
        dated("gpu-peers-lu-qr")), 100))
  },
  `updates-cpu` = function() {
    d <- update_times("chol-update-cpu", "cpu", c("cpu", "faer", "qrupdate", "chol"))
    c(kable(d, c("n", "k", "`chol_update()`", "faer", "qrupdate", "`chol()`")), "",
      from("chol-update-cpu", "Milliseconds", "cpu"))
  },
  `updates-gpu` = function() {
    d <- update_times("chol-update", "device", c("in_place", "new", "cusolver"))
    c(kable(d, c("n", "k", "`in_place = TRUE`", "a new factor", "cuSOLVER")), "",
      from("chol-update", "Milliseconds", "device"))
  },
  gpus = function() {
    d <- read_result("chol-host")
    d[c("one_s", "several_s", "stays_s")] <- lapply(d[c("one_s", "several_s", "stays_s")], two)
    c(kable(d[c("n", "memory", "one_s", "several_s", "stays_s")],
      c("n", "memory of results", "one GPU", "four GPUs", "`chol_gpus()`")), "",
      from("chol-host", "Seconds from R matrix to R matrix"))
  },
  `files-gpu` = function() files_table("chol-file", "gpu_memory"),
  `files-cpu` = function() files_table("chol-file-cpu", NULL),
  kills = function() {
    d <- read_result("kills")
    c(kable(d[c("device", "n", "runs", "kills", "after_it_began", "different")],
      c("device", "n", "runs", "kills", "during the factorization", "factors that differ")), "",
      from("kills", "Processes killed at random moments, and resumed"))
  },
  `walker-gpu` = function() walker_table("random-walker-cuda", "name"),
  `walker-cpu` = function() walker_table("random-walker-cpu", "case"),
  `walker-dense` = function() {
    d <- read_result("random-walker-dense")
    d <- d[c("image", "unknowns", "device", "making_s", "factoring_s", "solving_s", "sparse_s")]
    heads <- c(
      "image", "unknowns", "device", "writing", "factoring", "solving", "`random_walker()`"
    )
    c(kable(d, heads), "", from("random-walker-dense", "Seconds"))
  },
  `lp-ten` = function() {
    d <- md_table("lp-netlib-cpu", "The paper's ten")
    d$size <- paste(d$m, "x", d$n)
    d <- d[c("problem", "size", "iterations", "ms", "ipx_iterations", "ipx_ms", "paper_iterations",
      "paper_gpu_s", "matlab_s")]
    heads <- c(
      "problem", "size", "iterations", "ms", "IPX: iterations", "ms", "paper: iterations",
      "GPU, s", "MATLAB, s"
    )
    c(kable(d, heads), "", from("lp-netlib-cpu", "Measured"))
  },
  `lp-dense` = function() {
    d <- md_table("lp-netlib-cuda", "Random dense problems")
    times <- data.matrix(utils::type.convert(d[c("simplex_s", "ipx_s", "hipo_s")], as.is = TRUE))
    optimal <- d[c("simplex", "ipx", "hipo")] == "Optimal"
    fastest <- suppressWarnings(apply(ifelse(optimal, times, NA), 1, min, na.rm = TRUE))
    limit <- rowSums(!is.na(times)) > 0 & !is.finite(fastest)
    d$highs <- ifelse(limit, "> 120", two(ifelse(is.finite(fastest), fastest, NA)))
    d$size <- paste(d$m, "x", d$n)
    d <- d[c("size", "iterations", "s", "highs")]
    c(kable(d, c("size", "iterations", "`lp_ipm()`, s", "HiGHS, s")), "",
      from("lp-netlib-cuda", "Measured"))
  },
  `lp-split` = function() {
    d <- md_table("lp-netlib-cuda", "How an iteration's time splits (the paper's Figure 10)")
    share <- function(x) sprintf("%.0f %%", 100 * as.numeric(x))
    columns <- data.frame(
      paste(d$m, "x", d$n), d$iteration_ms, share(d$forming), share(d$factoring), share(d$rest)
    )
    kable(columns, c("size", "an iteration, ms", "forming A D^2^ A'", "factoring it", "the rest"))
  },
  `lp-netlib` = function() {
    d <- read_result("lp-netlib-cpu")
    d$size <- paste(d$m, "x", d$n)
    d <- d[c("problem", "size", "iterations", "ms", "simplex_ms", "ipx_ms", "hipo_ms")]
    heads <- c("problem", "size", "iterations", "`lp_ipm()`", "simplex", "IPX", "HiPO")
    c(kable(d, heads), "", from("lp-netlib-cpu", "Milliseconds"))
  },
  `pcg-gpu` = function() pcg_table("pcg-cuda"),
  `pcg-cpu` = function() pcg_table("pcg-cpu"),
  `lp-l1` = function() {
    d <- read_result("lp-l1-cuda")
    c(kable(d[c("way", "iterations", "s")]), "", from("lp-l1-cuda", "Seconds"))
  }
)

pcg_table <- function(stem) {
  d <- read_result(stem)
  c(kable(d[c("way", "iterations", "s")]), "", from(stem, "Seconds"))
}

walker_table <- function(stem, name) {
  d <- read_result(stem)[c(name, "unknowns", "labels", "s", "matrix_s", "bf_s", "cg_j_s")]
  heads <- c("image", "unknowns", "labels", "`random_walker()`", "Matrix", "`bf`", "`cg_j`")
  c(kable(d, heads), "", from(stem, "Seconds"))
}

files_table <- function(stem, gpu) {
  d <- read_result(stem)
  d <- d[c("n", "tile", "host_memory", gpu, "seconds", "gflops", "over_floor", "in_memory_s")]
  c(kable(d), "", from(stem, "Measured"))
}
