# How long an R user waits after Ctrl-C: the time from SIGINT to the handler of the interrupt, for
# calls that are interrupted at a random moment, and the bytes that are held afterwards and were not
# before. Writes interrupt.md and interrupt.csv, or interrupt-cpu.
#   Rscript bench/package/interrupt.R [ORDER [TRIALS]]
# Needs a Unix shell. On the GPU where there is one; ORDER is 16384 there and 3000 on the CPU.

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

given <- as.integer(commandArgs(trailingOnly = TRUE))
gpu <- gpu_available()
device <- if (gpu) "cuda" else "cpu"
n <- if (length(given)) given[[1L]] else if (gpu) 16384L else 3000L
trials <- if (length(given) > 1L) given[[2L]] else 10L

now <- function() as.double(Sys.time())

# Seconds from the signal to the handler; NA where the call had its say first.
wait_after_signal <- function(call, longest) {
  stamp <- tempfile()
  on.exit(unlink(stamp))
  delay <- runif(1L, 0.3, longest)
  system(sprintf("(sleep %.3f; date +%%s.%%N > '%s'; kill -INT %d)", delay, stamp, Sys.getpid()),
    wait = FALSE)
  until <- now() + 30
  noticed <- tryCatch(
    {
      while (now() < until) call()
      NA_real_
    },
    interrupt = function(i) now()
  )
  noticed - as.double(readLines(stamp))
}

set.seed(1)
# Random numbers for all of a large matrix take longer than what is measured.
column <- runif(1e6 + 3)
x <- matrix(rep_len(column, as.double(n) * n), n)
s <- gpu_crossprod(x, device = device)
diag(s) <- diag(s) + n
tall <- matrix(rep_len(column, 64 * as.double(n)^2 / 16), ncol = 64L)
y <- tall[, 1L]
g <- as_gpu(x, device = device)
h <- as_gpu(s, device = device)
# As large as a GPU has room for three of: a product takes longer than half a second there.
large <- if (gpu) rbind(cbind(g, g), cbind(g, g)) else g
# The Laplacian of a grid of 45 x 45 x 45 points, whose factorization takes seconds.
line <- Matrix::bandSparse(45L, k = 0:1, diagonals = list(rep(2, 45), rep(-1, 44)),
  symmetric = TRUE)
eye <- Matrix::Diagonal(45L)
grid <- kronecker(kronecker(line, eye), eye) + kronecker(kronecker(eye, line), eye) +
  kronecker(kronecker(eye, eye), line)
grid <- Matrix::forceSymmetric(grid)
ones <- rep(1, nrow(grid))

calls <- list(
  "gpu_matmult(x, x)" = function() gpu_matmult(x, x, device = device),
  "gpu_crossprod(x)" = function() gpu_crossprod(x, device = device),
  "gpu_chol(s)" = function() gpu_chol(s, device = device),
  "gpu_lu(x)" = function() gpu_lu(x, device = device),
  "gpu_qr(x)" = function() gpu_qr(x, device = device),
  "gpu_solve(s, x)" = function() gpu_solve(s, x, device = device),
  "gpu_lm_fit(tall, y)" = function() gpu_lm_fit(tall, y, device = device),
  "gpu_chol(s, pivot = TRUE)" = function() gpu_chol(s, pivot = TRUE, device = device),
  "g %*% g, twice the order" = function() large %*% large,
  "chol(h)" = function() chol(h),
  "qr(g)" = function() qr(g),
  "solve(g)" = function() solve(g),
  "exp(g)" = function() exp(g),
  "as.matrix(g)" = function() as.matrix(g),
  "pcg(grid, ones, method = \"direct\")" = function()
    pcg(grid, ones, method = "direct", device = device),
  "pcg(grid, ones, M = \"ic0\")" = function() pcg(grid, ones, M = "ic0", device = device)
)

bytes <- function() {
  gc(FALSE)
  sum(gpu_mem()$held)
}
rows <- lapply(names(calls), function(name) {
  call <- calls[[name]]
  before <- bytes()
  longest <- if (grepl("direct", name)) 5 else 1.5
  seconds <- vapply(seq_len(trials), function(i) wait_after_signal(call, longest), 0)
  row <- data.frame(
    call = name, trials = trials, interrupted = sum(!is.na(seconds)),
    median_s = median(seconds, na.rm = TRUE),
    longest_s = max(seconds, na.rm = TRUE), bytes_more = bytes() - before
  )
  print(row, digits = 3, row.names = FALSE)
  row
})
table <- do.call(rbind, rows)
bench_write(if (gpu) "interrupt" else "interrupt-cpu", "From Ctrl-C to the prompt",
    list(Waits = table), c(
  sprintf(
    paste0(
      "- x, s, g, h of order %d, tall %d x %d; grid: a Laplacian of 45 x 45 x 45 points; each ",
      "call repeated until a signal came at a random moment"
    ),
    n, nrow(tall), ncol(tall)),
  paste0(
    "- seconds from the signal to the handler of the interrupt; bytes that the device holds for ",
    "R more than before"
  )
))
