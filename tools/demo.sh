#!/bin/sh
# `make demo`: builds the package into build/library and runs inst/examples/quakes.R and
# segmentation.R.

set -e
cd "$(dirname "$0")/.."
sh tools/setup.sh demo
. tools/env.sh

mkdir -p build/library demo-output
log=build/demo-install.log
echo "Building cudafactor: about two minutes the first time, on two cores ($log tells more)."
if ! R CMD INSTALL --no-docs --no-test-load -l build/library . >"$log" 2>&1; then
  tail -n 40 "$log"
  exit 1
fi

R_LIBS=build/library Rscript inst/examples/quakes.R demo-output
echo
R_LIBS=build/library Rscript inst/examples/segmentation.R demo-output
