# A result that stays on its device, as base R would give it: what `fetched` makes of a gpu_matrix
# compares with base R's answer.

fetched <- function(x) if (is_resident(x)) as.matrix(x) else x

# `ours` stays on the device (`there`) and is what base R gives, in value, dimnames, warnings and
# errors.
expect_resident <- function(ours, base, there, tolerance = 1e-10, info = NULL) {
  ours <- outcome(ours)
  expect_null(ours$error, info = info)
  expect_true(is_resident(ours$value), info = info)
  if (is_resident(ours$value)) {
    expect_identical(ours$value@device, there@device, info = info)
    expect_identical(ours$value@precision, there@precision, info = info)
    expect_identical(dim(ours$value), dim(base), info = info)
    expect_identical(dimnames(ours$value), dimnames(base), info = info)
    expect_equal(as.matrix(ours$value), base, tolerance = tolerance, info = info)
  }
  invisible(ours$value)
}

tolerance_for <- function(precision) if (precision == "single") 1e-4 else 1e-10

# Matrices whose factorizations differ in kind: rank, shape, columns that need no reflector.
designs <- function() list(
  square = named(random_matrix(6, 6)), tall = named(random_matrix(9, 4)),
  wide = random_matrix(3, 5), identity = diag(5),
  upper = named(random_matrix(4, 4)) * upper.tri(diag(4), TRUE),
  deficient = named(random_matrix(8, 4))[, c(1, 2, 1, 3)],
  wide_deficient = matrix(1, 2, 4), zero = matrix(0, 4, 3), column = matrix(1:3 + 0, 3),
  row = matrix(1:3 + 0, 1), one = matrix(-2, 1, 1)
)
