#!/bin/sh
# Eigenvalues of many small symmetric matrices: this package from R array to R arrays, PyTorch,
# CuPy and cuSOLVER from device to device. `gpu_peers --routines syev_batched` has ours there.
#   sh bench/dense/eigen-batch.sh [ORDER...]
# Needs what beside-peers.sh says, and R with the package.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 16 32 64 128
. "$here/../beside-peers.sh"
beside_peers eigen_batch_peer.py eigen-batch.R "$@"
