#!/bin/sh
# Eigenvalues, singular values and principal components, host to host: this package, PyTorch and
# base R on one machine in one run.
#   sh bench/dense/eigen-host.sh [SIZE...]
# Needs what beside-peers.sh says, and R with the package.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 512 1024 2048 4096 8192
. "$here/../beside-peers.sh"
beside_peers eigen_host_torch.py eigen-host.R "$@"
