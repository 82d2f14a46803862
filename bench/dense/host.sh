#!/bin/sh
# Host to host: this package, PyTorch and base R on one machine in one run.
#   sh bench/dense/host.sh [SIZE...]
# Needs what beside-peers.sh says, and R with the package.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 1024 2048 4096 8192 16384
. "$here/../beside-peers.sh"
beside_peers host_torch.py host.R "$@"
