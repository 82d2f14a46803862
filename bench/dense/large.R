# Matrices of more than 2^31 - 1 elements (17 GB each), on the GPU and for the products on the CPU.
# Entries are small integers where the answer can be exact; factorizations are checked at sampled
# entries. Needs about 80 GB of memory and a GPU with 60.
#   Rscript bench/dense/large.R

library(cudafactor)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[[1]]))
source(file.path(here, "..", "common.R"))

rows <- list()
note <- function(what, m, n, device, seconds, check) {
  rows[[length(rows) + 1L]] <<- data.frame(
    call = what, m = as.integer(m), n = as.integer(n), elements = sprintf("%.0f", m * n),
    device = device,
    seconds = round(seconds, 1), check = check
  )
  cat(what, device, round(seconds, 1), "s", check, "\n")
}
timed <- function(f) {
  start <- proc.time()[["elapsed"]]
  value <- f()
  list(value = value, seconds = proc.time()[["elapsed"]] - start)
}
devices <- c("cpu", if (gpu_available()) "cuda")
eps <- .Machine$double.eps

m <- 2^21
n <- 1025
x <- rep_len(c(-3, 1, 0, 2, -1, 3, -2, 1, 2, -3, 1), m * n)
dim(x) <- c(m, n)
stopifnot(length(x) > .Machine$integer.max)
for (device in devices) {
  r <- timed(function() gpu_crossprod(x, device = device))
  at <- cbind(c(1, 1025, 700, 3), c(1, 1025, 41, 1024))
  want <- apply(at, 1, function(i) sum(x[, i[1]] * x[, i[2]]))
  note("gpu_crossprod(x)", m, n, device, r$seconds,
    if (identical(r$value[at], want)) "exact" else "WRONG")
}
if ("cuda" %in% devices) {
  # Columns of period 11 depend on each other; one large entry each makes them independent.
  for (j in seq_len(n)) x[j, j] <- x[j, j] + 1e4 + j
  r <- timed(function() gpu_qr(x, device = "cuda"))
  f <- r$value
  k <- c(1, 2, 500, 1025)
  gram <- crossprod(f$qr[seq_len(n), ] *
    upper.tri(f$qr[seq_len(n), ], diag = TRUE))[cbind(k, rev(k))]
  want <- vapply(seq_along(k), function(i) sum(x[, f$pivot[k[i]]] * x[, f$pivot[rev(k)[i]]]), 0)
  error <- max(abs(gram - want)) / max(abs(want)) / eps
  note("gpu_qr(x)", m, n, "cuda", r$seconds, sprintf("rank %d, R'R off by %.2g eps", f$rank, error))
  rm(f, r)
}
rm(x)
invisible(gc())

n <- 46400
u <- matrix(rep_len(c(1, -2, 3, 0, 2), 2 * n), n)
for (device in devices) {
  r <- timed(function() gpu_tcrossprod(u, device = device))
  at <- cbind(c(1, n, n, 30000), c(n, n, 1, 46399))
  want <- rowSums(u[at[, 1], ] * u[at[, 2], ])
  note("gpu_tcrossprod(u)", n, n, device, r$seconds,
    if (identical(r$value[at], want)) "exact" else "WRONG")
}
a <- r$value
rm(r)
invisible(gc())
if ("cuda" %in% devices) {
  d <- seq.int(1, length(a), by = n + 1)
  a[d] <- a[d] + n
  r <- timed(function() gpu_chol(a, device = "cuda"))
  at <- cbind(c(1, 20000, 46400, 31), c(46400, 20000, 46400, 33000))
  got <- apply(at, 1, function(i) {
    k <- seq_len(min(i))
    sum(r$value[k, i[1]] * r$value[k, i[2]])
  })
  error <- max(abs(got - a[at])) / n / eps
  below <- r$value[n, 1] == 0 && r$value[46400, 46399] == 0
  note("gpu_chol(a)", n, n, "cuda", r$seconds,
    sprintf("R'R off by %.2g eps max(a), zero below: %s", error, below))
  rm(r)
  invisible(gc())
  r <- timed(function() gpu_lu(a, device = "cuda"))
  f <- r$value
  got <- apply(at, 1, function(i) {
    k <- seq_len(min(i))
    l <- f$lu[i[1], k]
    if (i[1] <= i[2]) l[i[1]] <- 1
    sum(l * f$lu[k, i[2]])
  })
  unmoved <- all(f$ipiv == seq_len(n))
  error <- max(abs(got - a[at])) / n / eps
  note("gpu_lu(a)", n, n, "cuda", r$seconds,
    sprintf("LU off by %.2g eps max(a), no exchange: %s", error, unmoved))
}
cat(bench_write("large", "Matrices of more than 2^31 - 1 elements",
  list(calls = do.call(rbind, rows))), sep = "\n")
