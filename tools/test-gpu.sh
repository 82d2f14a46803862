#!/bin/sh
# The tests on a machine with an NVIDIA GPU: a test that finds none fails instead of being skipped.
# Needs cargo, and R for the second half.

set -e
cd "$(dirname "$0")/.."
. tools/env.sh
CUDAFACTOR_REQUIRE_GPU=1
export CUDAFACTOR_REQUIRE_GPU

(cd src/rust && cargo test --release --locked --no-default-features --features cuda)

if command -v Rscript >/dev/null 2>&1; then
  mkdir -p build/library
  R CMD INSTALL --no-test-load -l build/library .
  Rscript tools/testthat.R build/library
else
  echo "R is not installed: only the Rust half was tested"
fi
