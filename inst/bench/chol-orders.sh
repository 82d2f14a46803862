#!/bin/sh
# Time of a Cholesky factorization by order, as in Figure 7 of "An efficient out-of-core implementation of block Cholesky decomposition on a multi-GPU system":
# this package on one GPU, on all GPUs and on the CPU, base R on its BLAS, cuSOLVER on one GPU, cuSOLVERMg on all.
#   sh inst/bench/chol-orders.sh [ORDER]...
# Needs R with the package, a python with torch (CUDAFACTOR_PEERS_PYTHON, default python3). R_RUN may name a command that runs
# Rscript in the environment it needs. Orders of 32768 need 40 GB of host memory. Writes chol-orders.md and .csv, which plot-orders.R draws.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 2048 4096 8192 16384 32768
CUDAFACTOR_BENCH_SCRIPTS=$here
export CUDAFACTOR_BENCH_SCRIPTS
# What some shells preset slows OpenBLAS.
unset OPENBLAS_CORETYPE
peers=$(mktemp)
"${CUDAFACTOR_PEERS_PYTHON:-python3}" "$here/chol_orders_peers.py" "$@" >"$peers"
cat "$peers"
${R_RUN:-} Rscript "$here/chol-orders.R" "$peers" "$@"
