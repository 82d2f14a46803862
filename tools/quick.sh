#!/bin/sh
# Formatting, clippy, rustdoc, and the tests of one area in Rust and in R, on a debug build.
# Usage: tools/quick.sh AREA, or `make quick AREA=pcg`. Stops at the first step that fails.

set -e
cd "$(dirname "$0")/.."

# area; program of src/rust/tests; parts of its tests' names; parts of unit tests' names; files of
# tests/testthat. An empty part stands for all tests of a program, and for no unit test.
areas='
cholesky; dense; cholesky; algo::dense::symmetry; cholesky(-batch|-operands|-solve)?
contract; dense; contract::; base::; conditions|messages|plain
covariance; elementwise; covariance::; device::covariance; covariance
cuda; cuda; ; backend::cuda; device|gpu-(factor|limits|memory)
elementwise; elementwise; ; device::elementwise; gpu-matrix-(arith|index|sums)
files; tile_file; ; tiles::; (damaged|irregular)-files|matrix-file(-refused)?
foreign; tiled; foreign::; foreign::; matrix-file-packages
lp; models; lp_ipm::; ; lp-(ipm|mps.*|scale)
lu; dense; lu:: norms::; algo::dense::condition; lu|solve|determinant
matmult; dense; gemm:: matmult_parts::; algo::dense::matmult; matmult
multigrid; systems; multigrid::; device::stencil; pcg-amg
numerics; numerics; ; ; cholesky-numerics
pcg; systems; pcg::; algo::krylov algo::sparse algo::systems; pcg(-[^a].*)?|ichol
plan; tiled; cholesky_host:: solve_definite::; cost::; device|verbose
progress; tiled; progress::; progress::; progress
qr; dense; qr:: qr_; algo::dense::qr_apply; qr(-apply)?|lm(-batch.*)?
random_walker; models; random_walker::; algo::segmentation; random-walker(-cg|-refused|-system)?
spectral; spectral; ; spectral:: cpu::few lanczos dense::; eigen(-batch)?|svd|prcomp|ginv|lanczos.*
resident; dense; resident:: blocks::; ; gpu-matrix(-base|-coerce|-products|-solve|-spectral)?
tiled; tiled; cholesky_ solve_definite:: tile_solve::; algo::tiled; tile-matrix(-[^u].*)?
triangular; dense; triangular::; ; triangular
update; update; ; ; cholesky-(rows|update)
'
row=$(echo "$areas" | awk -F ';' -v area="$1" 'NF > 1 && $1 == area')
if [ -z "$row" ]; then
  known=$(echo "$areas" | sed -n 's/;.*//p' | tr '\n' ' ')
  echo "AREA must be one of: ${known% }. Found \"$1\"." >&2
  exit 2
fi
column() { echo "$row" | cut -d ';' -f "$1" | sed 's/^ *//'; }
program=$(column 2) tests=$(column 3) units=$(column 4) files=$(column 5)

. tools/env.sh
library=build/quick
mkdir -p "$library"

# step NAME COMMAND...: shows what a command said where it fails.
step() {
  name=$1
  shift
  started=$(date +%s)
  if ! "$@" >build/quick.log 2>&1; then
    grep -A 12 -E '^(── (Failure|Error) |test .* FAILED|thread .* panicked)' build/quick.log |
      head -n 60
    tail -n 40 build/quick.log
    echo "FAIL  $name"
    exit 1
  fi
  printf 'ok    %-44s %4d s\n' "$name" $(($(date +%s) - started))
}

# Fails where no test ran: the table has a name that nothing has.
counted() {
  "$@" && grep -q '^test result: [^0-9]*[1-9]' build/quick.log
}

# With the features of R CMD INSTALL, so that both use one build of the library.
rust_tests() {
  (cd src/rust && cargo test -j 2 --locked --no-default-features --features cuda,r,avx512 "$@")
}

step formatting sh tools/lint.sh format
step clippy sh tools/lint.sh default
step documentation sh tools/lint.sh documentation
# shellcheck disable=SC2086
step "Rust: tests $program $tests" counted rust_tests --test "$program" -- $tests
# shellcheck disable=SC2086
[ -z "$units" ] || step "Rust: unit tests $units" counted rust_tests --lib -- $units
step "R: install" env DEBUG=1 R CMD INSTALL --no-docs --no-test-load --library="$library" .
step "R: tests $files" counted Rscript tools/testthat.R "$library" "^($files)\$"
