#!/bin/sh
# Time of a Cholesky factorization by order, as in Figure 7 of "An efficient out-of-core
# implementation of block Cholesky decomposition on a multi-GPU system": this package on one GPU, on
# all GPUs and on the CPU, base R on its BLAS, cuSOLVER on one GPU, cuSOLVERMg on all.
#   sh bench/cholesky/chol-orders.sh [ORDER]...
# Needs what beside-peers.sh says, and R with the package. Orders of 32768 need 40 GB of host
# memory. Writes chol-orders.md and .csv, which plot-orders.R draws.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 2048 4096 8192 16384 32768
. "$here/../beside-peers.sh"
beside_peers chol_orders_peers.py chol-orders.R "$@"
