# A result that stays on its device, as base R would give it: what `fetched` makes of a gpu_matrix compares with base R's answer.

fetched <- function(x) if (is_resident(x)) as.matrix(x) else x

# `ours` stays on the device (`there`) and is what base R gives, in value, dimnames, warnings and errors.
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
