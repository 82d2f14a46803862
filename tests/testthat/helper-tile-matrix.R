# Files of tiles for tests.

new_file <- function() tempfile(fileext = ".tiles")

interrupt_myself <- function() {
  tools::pskill(Sys.getpid(), tools::SIGINT)
  Sys.sleep(1)
}

# Sizes around those of tiles.
tile <- 7L

sizes <- c(0L, 1L, tile - 1L, tile, tile + 1L, 3L * tile + 2L)

# Subscripts of all kinds for `n` rows.
subscripts <- function(n) list(
  integer(), 0L, seq_len(n), rev(seq_len(n)), n, sample.int(n, 4, TRUE), c(0, sample.int(n, 3)), -1,
  -sample.int(n, n - 1L), -seq_len(n),
  c(TRUE, FALSE), sample(c(TRUE, FALSE), n, TRUE), FALSE, TRUE, c(1.9, 2), c(2L, NA, 1L), NA,
  NA_integer_, factor(c("b", "a"))
)
