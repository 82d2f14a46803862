# Writes the pages that show measurements, from the files in bench/results. No number on them is
# typed by hand.
#   Rscript bench/report.R            writes bench/RESULTS.md, and the blocks of other pages
#   Rscript bench/report.R --check    fails where a page differs from what would be written
# A block is what lies between `<!-- results: NAME -->` and `<!-- results: end -->` in README.md or
# a vignette. report-blocks.R has a function for each NAME. Needs base R only.

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "common.R"))
source(file.path(here, "report-blocks.R"))
root <- normalizePath(file.path(here, ".."))
results <- file.path(here, "results")

# The result files of each subject, in the order of the page.
subjects <- list(
  "From R matrix to R matrix" = c(
    "host", "auto", "gp-loop", "transfers", "cpu-openblas", "cpu-scipy"
  ),
  "Kernels and NVIDIA's libraries" = c(
    "gpu-peers", "gpu-peers-lu-qr", "gpu-peers-vectors", "gpu-peers-traits", "gpu-peers-joins",
    "gpu-families", "emulated-stages", "gpu-peers-integers", "gpu-peers-integers-large",
    "gpu-peers-integers-eager", "gpu-peers-integers-factors", "gpu-peers-doubles",
    "gpu-peers-doubles-large", "card-integers", "card-doubles", "emulated-zeros"
  ),
  "Eigenvalues and singular values" = c(
    "gpu-peers-eigen", "gpu-peers-eigen-large", "gpu-peers-eigen-batch", "eigen-host", "eigen-cpu",
    "eigen-cpu-2", "eigen-cpu-reference", "eigen-few"
  ),
  "Large Cholesky factorizations" = c(
    "chol-file", "chol-file-cpu", "kills", "chol-host", "chol-orders", "gpus-default", "large"
  ),
  "Updates of Cholesky factors" = c("chol-update", "chol-update-cpu", "chol-update-large"),
  "Linear programs" = c(
    "lp-netlib-cuda", "lp-netlib-cpu", "lp-l1-cuda", "lp-l1-cpu", "lp-highs"
  ),
  "Sparse systems and preconditioners" = c(
    "pcg-cuda", "pcg-cpu", "pcg-orderings", "sparse-cuda", "pcg-nearby-resident-cuda",
    "pcg-nearby-cuda", "pcg-nearby-disk-cuda", "pcg-nearby-cpu", "pcg-nearby-disk-cpu"
  ),
  "Segmentation" = c("random-walker-cuda", "random-walker-cpu", "random-walker-dense"),
  "Accuracy, interrupts and memory" = c(
    "agreement-gpu", "cholesky-deviation-gpu", "interrupt", "interrupt-cpu", "memory-limits",
    "memory-limits-auto", "memory-limits-eigen"
  ),
  "The package" = c(
    "first-calls", "first-calls-h200", "first-calls-staging", "first-calls-ptx", "calls-cpu",
    "gpu-suite", "believed-cards", "machine-code", "size", "libraries"
  )
)

# Lines of Markdown of at most 100 characters, tables and headings aside. A paragraph ends at an
# empty line, a heading, a table or the next item of a list.
wrap <- function(lines) {
  fixed <- grepl("^(\\||#|<)", lines) | !nzchar(trimws(lines))
  item <- grepl("^- ", lines)
  group <- cumsum(fixed | item | c(TRUE, utils::head(fixed, -1L)))
  wrapped <- lapply(split(seq_along(lines), group), function(i) {
    if (fixed[[i[[1]]]]) return(lines[i])
    strwrap(paste(trimws(lines[i]), collapse = " "), 100, exdent = if (item[[i[[1]]]]) 2 else 0)
  })
  unlist(wrapped, use.names = FALSE)
}

# What ran, where and when, as one item of the list instead of eight.
join_about <- function(lines) {
  about <- grepl("^- (machine|gpu|R|BLAS|package|commit|date|by): ", lines)
  runs <- rle(about)
  ends <- cumsum(runs$lengths)
  for (k in rev(which(runs$values))) {
    i <- seq(ends[[k]] - runs$lengths[[k]] + 1L, ends[[k]])
    joined <- paste0("- ", paste(sub("^- ", "", lines[i]), collapse = "; "))
    lines <- append(lines[-i], joined, i[[1]] - 1L)
  }
  lines
}

# Tables of the Markdown file that the CSV file has, too, with the numbers of the CSV file.
tables_from_csv <- function(lines, csv) {
  if (!file.exists(csv)) return(lines)
  all <- utils::read.csv(csv, check.names = FALSE)
  for (name in unique(all[["table"]])) {
    at <- which(lines == paste("##", name))
    if (length(at) != 1L) next
    begin <- at + which(startsWith(lines[-seq_len(at)], "|"))[1L]
    end <- begin + which(!startsWith(c(lines[-seq_len(begin)], ""), "|"))[1L] - 1L
    table <- all[all$table == name, names(all) != "table", drop = FALSE]
    header <- paste0("| ", paste(names(table), collapse = " | "), " |")
    if (is.na(begin) || lines[[begin]] != header || end - begin - 1L != nrow(table)) next
    lines <- c(lines[seq_len(begin - 1L)], bench_markdown(table), lines[-seq_len(end)])
  }
  lines
}

section <- function(stem) {
  md <- file.path(results, paste0(stem, ".md"))
  csv <- file.path(results, paste0(stem, ".csv"))
  if (file.exists(md)) {
    lines <- tables_from_csv(join_about(readLines(md, encoding = "UTF-8")), csv)
    title <- sub("^# ", "", lines[[1]])
    body <- sub("^##", "####", lines[-1])
  } else {
    title <- "The routines of cpu-openblas by scipy (`bench/dense/cpu_scipy.py`)"
    about <- strwrap(paste(
      "The script records neither machine nor date. The file was committed on 2026-11-21,",
      "together with [cpu-openblas](#cpu-openblas) of that day, whose tables quote it. Whether",
      "both were made on one machine is not known."
    ), 100)
    body <- c("", about, "", bench_markdown(utils::read.csv(csv, check.names = FALSE)))
  }
  files <- basename(Filter(file.exists, c(md, csv)))
  links <- paste0("[`", files, "`](results/", files, ")", collapse = ", ")
  anchor <- sprintf("<a id=\"%s\"></a>", stem)
  c(anchor, "", paste("###", title), "", paste0("From ", links, "."), body, "")
}

page <- function() {
  stems <- unlist(subjects, use.names = FALSE)
  there <- unique(sub("[.](md|csv)$", "", dir(results)))
  if (!setequal(stems, there)) {
    stop(
      "bench/report.R must list every file of bench/results once; it differs in ",
      paste(c(setdiff(stems, there), setdiff(there, stems)), collapse = ", ")
    )
  }
  titles <- vapply(stems, function(stem) {
    sub("^### ", "", grep("^### ", section(stem), value = TRUE)[[1]])
  }, "")
  contents <- unlist(lapply(names(subjects), function(subject) {
    of <- subjects[[subject]]
    items <- sprintf("  - [%s](#%s): %s", of, of, titles[of])
    c(paste0("- ", subject), strwrap(items, 100, indent = 2, exdent = 4))
  }))
  body <- unlist(lapply(names(subjects), function(subject) {
    c(paste("##", subject), "", unlist(lapply(subjects[[subject]], section)))
  }))
  lines <- c(
    "# Measurements", "",
    wrap(c(
      "`make results` writes this page from the files in `bench/results`. `make test` checks that",
      "it is current. Each section names what was measured, the machine, the date and the commit."
    )), "",
    contents, "", wrap(body)
  )
  # One empty line between paragraphs, none at the end.
  empty <- !nzchar(lines)
  lines <- lines[!(empty & c(FALSE, utils::head(empty, -1L)))]
  lines[seq_len(max(which(nzchar(lines))))]
}

# A page with its blocks written anew.
with_blocks <- function(lines, file) {
  begins <- grep("^<!-- results: (?!end)", lines, perl = TRUE)
  ends <- which(lines == "<!-- results: end -->")
  if (length(begins) != length(ends) || any(ends < begins)) {
    stop(file, ": each line <!-- results: NAME --> needs a line <!-- results: end --> after it")
  }
  for (k in rev(seq_along(begins))) {
    name <- sub("^<!-- results: (.*) -->$", "\\1", lines[[begins[[k]]]])
    if (!is.function(blocks[[name]])) {
      stop(file, ": bench/report-blocks.R has no block named ", name)
    }
    block <- c("", blocks[[name]](), "")
    lines <- c(lines[seq_len(begins[[k]])], block, lines[seq(ends[[k]], length(lines))])
  }
  lines
}

pages <- function() {
  vignettes <- dir(file.path(root, "vignettes"), "[.]Rmd$", recursive = TRUE)
  files <- c("README.md", file.path("vignettes", vignettes))
  old <- lapply(file.path(root, files), readLines, encoding = "UTF-8")
  names(old) <- files
  c(list("bench/RESULTS.md" = page()), Map(with_blocks, old, files))
}

new <- pages()
same <- vapply(names(new), function(file) {
  path <- file.path(root, file)
  if (!file.exists(path)) return(FALSE)
  identical(enc2utf8(readLines(path, encoding = "UTF-8")), enc2utf8(new[[file]]))
}, NA)
if ("--check" %in% commandArgs(trailingOnly = TRUE)) {
  if (!all(same)) {
    cat("not current, run `make results`:", names(new)[!same], sep = "\n  ")
    quit(status = 1)
  }
} else {
  for (file in names(new)[!same]) {
    writeLines(enc2utf8(new[[file]]), file.path(root, file), useBytes = TRUE)
  }
}
