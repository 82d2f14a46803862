# What chol-update.R has measured, as files: rows of all parts in a CSV, and a section of tables for
# each part. A part that is measured again replaces its own.

# The rows of a part that such a CSV has.
read_updates <- function(csv, part) {
  rows <- utils::read.csv(csv, colClasses = rep(c("character", "numeric"), c(3, 6)))
  rows[rows$part == part, ]
}

# The rows' `value` with a column for each way there is, a line for each change, rank and order.
# Ways without a change hold for all of an order.
wide <- function(rows, value, ways, scale = 1) {
  ways <- ways[ways %in% rows$way[is.finite(rows[[value]])]]
  lines <- unique(rows[rows$change != "" & !is.na(rows$change), c("change", "k", "n")])
  lines <- lines[order(match(lines$change, c("up", "down")), lines$k, lines$n), ]
  cells <- lapply(ways, function(way) {
    own <- rows[rows$way == way, ]
    at <- match(paste(lines$change, lines$k, lines$n), paste(own$change, own$k, own$n))
    apart <- match(lines$n, ifelse(own$change == "", own$n, NA))
    scale * own[[value]][ifelse(is.na(at), apart, at)]
  })
  names(cells) <- ways
  data.frame(change = lines$change, k = as.integer(lines$k), n = as.integer(lines$n), cells,
    check.names = FALSE)
}
# Columns of how many times as long the others take.
ratios <- function(d, ours, others) {
  for (other in intersect(others, names(d))) d[[paste0(other, "_over_", ours)]] <- d[[other]] /
    d[[ours]]
  d
}

part_tables <- list(
  paper = function(rows) {
    ways <- c("gpu", "gpu_host", "cpu", "faer", "qrupdate", "cusolver")
    list(
      `Milliseconds` = ratios(wide(rows, "median_s", ways, 1e3), "gpu",
        c("cpu", "faer", "qrupdate", "cusolver")),
      `Largest error` = wide(rows, "error", ways),
      `Largest error in eps of the largest entry` = wide(rows, "error_eps", ways)
    )
  },
  device = function(rows) {
    d <- wide(rows, "median_s", c("new", "in_place", "cpu", "cusolver"), 1e3)
    copy <- rows$median_s[rows$way == "copy"]
    for (way in c("new", "in_place")) {
      rate <- 8 * d$n^2 / d[[way]] / 1e6
      d[[paste0(way, "_GB_per_s")]] <- rate
      if (length(copy)) d[[paste0(way, "_of_copy")]] <- rate * 1e9 / copy
    }
    list(`Milliseconds` = ratios(d, "in_place", c("cpu", "cusolver")))
  },
  host = function(rows) {
    d <- wide(rows, "median_s", c("gpu_host", "pass", "no_columns"), 1e3)
    for (least in intersect(c("pass", "no_columns"), names(d)))
      d[[paste0("over_", least)]] <- d$gpu_host / d[[least]]
    list(`Milliseconds` = d)
  },
  cpu = function(rows) {
    ways <- c("cpu", "cpu_there", "faer", "qrupdate", "chol")
    d <- ratios(wide(rows, "least_s", ways, 1e3), "cpu", c("faer", "qrupdate", "chol"))
    list(
      `Milliseconds` = ratios(d, "cpu_there", "faer"),
      `Largest error in eps of the largest entry` = wide(rows, "error_eps", ways)
    )
  }
)

part_notes <- list(
  paper = c(
    paste0(
      "The experiment of \"Rank k Cholesky Up/Down-dating on the GPU: gpucholmod V0.2\": B and V ",
      "uniform on [0, 1], k columns in V; `up` is the update of B'B + I, `down` the downdate of"
    ),
    paste0(
      "B'B + I + VV'. Medians of 5 runs after 2. Largest error: max |A - R'R| of the matrix A ",
      "that is to have the factor R, computed in double precision."
    ),
    "",
    paste0(
      "- `gpu`: factor and V are on the GPU, and so is the new factor; `gpu_host`: from R matrix ",
      "to R matrix; `cpu`: `device = \"cpu\"`"
    ),
    paste0(
      "- `faer`: its own routine, one thread, where the factor is, of other matrices; ",
      "`qrupdate`: `dch1up`, `dch1dn` column after column, where the factor is, on R's BLAS"
    ),
    "- `cusolver`: another factorization of A, which is on the GPU and formed already, by PyTorch"
  ),
  device = c(
    paste0(
      "The factor of a covariance matrix (0.1 range and nugget) on the GPU; V is there too. ",
      "Medians of 5 runs of 20 ms and more, after 2."
    ),
    "",
    paste0(
      "- `new`: makes a new factor; `in_place`: `in_place = TRUE`; `cpu`: R matrix to R matrix ",
      "on the CPU; `cusolver`: another factorization on the GPU, by PyTorch"
    ),
    paste0(
      "- GB/s: 8 n^2 bytes, the triangle read and written, over the time; `of_copy`: as a share ",
      "of what a copy on the device reads and writes"
    )
  ),
  host = c(
    "From R matrix to R matrix. Medians of 5 runs after 2, results in memory used again.", "",
    paste0(
      "- `pass`: the upper triangle of a matrix to the GPU and back to another by the package's ",
      "own way, without arithmetic; `no_columns`: the same from R, as the update by no columns, ",
      "checks included"
    )
  ),
  cpu = c(
    paste0(
      "The paper's matrices on the CPU alone. The least of 11 runs after 2, of 7 by Rust, of 3 ",
      "of base R's, and of qrupdate's of 5, 3 or one, by how long one takes."
    ),
    "",
    paste0(
      "- `cpu`: R matrix to R matrix, all cores; `cpu_there`: its reflections alone, called from ",
      "Rust where the factor is, so that nothing is copied or checked"
    ),
    "- `faer`: its own routine, called likewise, of a lower factor, one thread",
    paste0(
      "- `qrupdate`: `dch1up`, `dch1dn` column after column, where the factor is, on R's BLAS; ",
      "`chol`: base R's factorization of a matrix that is formed already"
    )
  )
)

save_part <- function(stem, part, rows, remarks) {
  dir <- Sys.getenv("CUDAFACTOR_BENCH_DIR", file.path("bench", "results"))
  dir.create(dir, recursive = TRUE, showWarnings = FALSE)
  csv <- file.path(dir, paste0(stem, ".csv"))
  rows <- cbind(part = part, rows)
  if (file.exists(csv)) {
    before <- utils::read.csv(csv, colClasses = rep(c("character", "numeric"), c(3, 6)))
    rows <- rbind(before[before$part != part, ], rows)
  }
  rows <- rows[order(match(rows$part, names(part_tables))), ]
  utils::write.csv(rows, csv, row.names = FALSE, quote = FALSE, na = "")

  md <- file.path(dir, paste0(stem, ".md"))
  sections <- if (file.exists(md)) sections_of(readLines(md)) else list()
  about <- bench_machine()
  tables <- part_tables[[part]](rows[rows$part == part, ])
  copy <- rows$median_s[rows$part == part & rows$way == "copy"]
  sections[[part]] <- c(
    paste0("- ", names(about), ": ", about),
    sprintf("- a copy on the device: %.0f GB/s, read and written", copy / 1e9),
    if (length(remarks)) paste("-", remarks), "",
    part_notes[[part]],
    unlist(lapply(names(tables),
      function(name) c("", paste("###", name), "", bench_markdown(tables[[name]]))))
  )
  sections <- sections[intersect(names(part_tables), names(sections))]
  writeLines(c(
    "# Updates and downdates of Cholesky factors", "",
    paste0(
      "By `bench/updates/chol-update.sh`; a section for each of its parts, with the machine and ",
      "the commit that it was measured on."
    ),
    unlist(lapply(names(sections), function(name) c("", paste("##", name), "", sections[[name]])))
  ), md)
}

# The sections of such a file, by their names.
sections_of <- function(lines) {
  starts <- grep("^## ", lines)
  ends <- c(starts[-1L] - 1L, length(lines))
  out <- Map(function(from, to) {
    body <- lines[seq.int(from + 2L, to)]
    if (nzchar(body[[length(body)]])) body else body[-length(body)]
  }, starts, ends)
  stats::setNames(out, sub("^## ", "", lines[starts]))
}
