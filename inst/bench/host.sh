#!/bin/sh
# Host to host: this package beside PyTorch and base R on one machine in one run.
#   sh inst/bench/host.sh [SIZE...]
# Needs R with the package, a python with torch (CUDAFACTOR_PEERS_PYTHON, default python3). R_RUN may name a command that runs
# Rscript in the environment it needs.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 1024 2048 4096 8192 16384
CUDAFACTOR_BENCH_SCRIPTS=$here
export CUDAFACTOR_BENCH_SCRIPTS
# What some shells preset slows OpenBLAS.
unset OPENBLAS_CORETYPE
peers=$(mktemp)
"${CUDAFACTOR_PEERS_PYTHON:-python3}" "$here/host_torch.py" "$@" >"$peers"
cat "$peers"
${R_RUN:-} Rscript "$here/host.R" "$peers" "$@"
