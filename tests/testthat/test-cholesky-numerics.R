# Matrices on which a factorization shows what it is made of: the residuals are measured against
# those of chol().

# r'r - x, every entry one sum in extended precision where the machine has it.
exact_residual <- function(r, x) {
  old <- options(matprod = "internal")
  on.exit(options(old))
  crossprod(rbind(r, -x), rbind(r, diag(nrow(x))))
}

# In units of what rounding does: the norm in n eps, and the worst entry, which scaling does not
# change, in (n + 1) eps.
two_residuals <- function(r, x) {
  n <- nrow(x)
  e <- exact_residual(r, x)
  d <- sqrt(diag(x))
  c(
    norm = norm_one(e) / (n * unit[["double"]] * norm_one(x)),
    entries = max(abs(e / d) / rep(d, each = n)) / ((n + 1) * unit[["double"]])
  )
}

# Half as much again as chol() has, or what n roundings of random sign add up to, which may be more
# than one lucky chol() has.
allowed <- function(x) {
  pmax(1.5 * two_residuals(chol(x), x), 1 / sqrt(nrow(x)))
}

symmetric <- function(x) (x + t(x)) / 2

with_spectrum <- function(n, values) {
  q <- qr.Q(qr(random_matrix(n, n)))
  symmetric(q %*% (values * t(q)))
}

# A triangle with one tiny entry on its diagonal, and entries of order one above it and to its
# right.
tiny_pivot <- function(n, at, gap) {
  r <- diag(n)
  above <- upper.tri(r)
  r[above] <- rnorm(sum(above)) / (2 * sqrt(n))
  r[seq_len(at - 1), at] <- 0.5 * sign(rnorm(at - 1))
  r[at, -seq_len(at)] <- 0.5 * sign(rnorm(n - at))
  r[at, at] <- gap
  crossprod(r)
}

# Column `at` is, up to `gap`, a combination of those before it.
nearly_dependent <- function(n, at, gap) {
  z <- random_matrix(2 * n, n) / sqrt(2 * n)
  before <- seq_len(at - 1)
  z[, at] <- z[, before] %*% rnorm(at - 1) / sqrt(at - 1) + gap * z[, at]
  crossprod(z)
}

hard_matrices <- function(n) {
  steps <- (seq_len(n) - 1) / (n - 1)
  grade <- 2^round(400 * steps - 200)
  base <- with_spectrum(n, 1e4^-steps)
  shuffled <- sample(grade)
  wide <- 10^runif(n, -100, 100)
  list(
    "geometric 1e8" = with_spectrum(n, 1e8^-steps),
    "geometric 1e14" = with_spectrum(n, 1e14^-steps),
    "one tiny" = with_spectrum(n, c(rep(1, n - 1), 1e-12)),
    "half tiny" = with_spectrum(n, rep(c(1, 1e-10), c(n - n %/% 2, n %/% 2))),
    "rising" = base * outer(grade, grade),
    "falling" = base * outer(rev(grade), rev(grade)),
    "shuffled" = base * outer(shuffled, shuffled),
    "badly scaled" = symmetric(base * outer(wide, wide)),
    "tiny pivot" = tiny_pivot(n, 22, 1e-6),
    "tiny pivot, later" = tiny_pivot(n, n - 20, 1e-6),
    "dependent" = nearly_dependent(n, 30, 1e-6),
    "dependent at an edge" = nearly_dependent(n, 64, 1e-6),
    "dependent in the end" = nearly_dependent(n, n, 1e-5),
    "Lehmer" = outer(seq_len(n), seq_len(n), pmin) / outer(seq_len(n), seq_len(n), pmax),
    "Moler" = outer(seq_len(n), seq_len(n), pmin) - 2 + diag(2, n)
  )
}

test_that("residuals are those of chol() on hard matrices", {
  set.seed(7)
  for (n in c(65L, 129L, 200L)) {
    all <- hard_matrices(n)
    limits <- lapply(all, allowed)
    for_each_device(function(device) {
      for (kind in names(all)) {
        found <- two_residuals(gpu_chol(all[[kind]], device = device), all[[kind]])
        expect(
          isTRUE(all(found <= limits[[kind]])),
          sprintf("%s, %d: %s, allowed %s", kind, n, toString(signif(found, 3)),
            toString(signif(limits[[kind]], 3)))
        )
      }
    })
  }
})

test_that("the inverse of a block of 64 would be found out", {
  set.seed(8)
  block <- 1:64
  for (x in list(tiny_pivot(129, 22, 1e-6), nearly_dependent(129, 30, 1e-6))) {
    corner <- chol(x[block, block])
    side <- crossprod(backsolve(corner, diag(64)), x[block, -block])
    rest <- chol(x[-block, -block] - crossprod(side))
    r <- rbind(cbind(corner, side), cbind(matrix(0, nrow(rest), 64), rest))
    expect_true(any(two_residuals(r, x) > 10 * allowed(x)))
  }
})

test_that("a minor that is indefinite beyond doubt is the one chol() names", {
  set.seed(9)
  x <- with_spectrum(257, 100^-(0:256 / 256))
  r <- chol(x)
  for (at in c(2L, 40L, 63L, 64L, 65L, 128L, 129L, 200L, 256L, 257L)) {
    for (lack in c(0.5, 1e-6)) {
      y <- x
      # The diagonal entry stays positive where what is taken from it is more than this.
      y[at, at] <- sum(r[seq_len(at - 1), at]^2) - lack * x[at, at]
      message <- outcome(chol(y))$error
      order <- as.integer(regmatches(message, regexpr("[0-9]+", message)))
      expect_identical(order, at)
      for_each_device(function(device) {
        e <- expect_error(gpu_chol(y, device = device),
          class = "cudafactor_error_not_positive_definite")
        expect_identical(e$order, order)
        expect_identical(conditionMessage(e), message)
      })
    }
  }
})
