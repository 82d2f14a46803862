#!/bin/sh
# Our kernels, cuBLAS and cuSOLVER, data on the device: writes NAME.md and NAME.csv (gpu-peers when
# not named) to the folder CUDAFACTOR_BENCH_DIR (bench/results when not set). Run from the
# repository's root on a machine with a GPU:
#   sh bench/dense/gpu-peers.sh [-p PROGRAM] [-o NAME] [--routines gemm,syrk,...] [--repeats 10]
#     [--doubles] [n ...]
# What is kept: gpu-peers has products, triangular systems and Cholesky, gpu-peers-lu-qr has
#   -o gpu-peers-lu-qr --routines getrf,geqrf,geqrf_tall,orgqr,chol_lu,sgetrf,sgeqrf,sgeqrf_tall
# and gpu-peers-vectors has -o gpu-peers-vectors --routines gemv,trsv,sgemv,strsv
# and gpu-peers-eigen has -o gpu-peers-eigen --repeats 5 --routines syevd,syevd_values,gesvdp
#   1024 2048 4096 8192
# and gpu-peers-eigen-large has --repeats 1, the same routines and 16384
# and gpu-peers-eigen-batch has --repeats 5 --routines svd_tall,syev_batched,syev_batched_values
# Routines: gemm, syrk, trsm, gemv, trsv (one, two and four right-hand sides), potrf, getrf, geqrf,
# geqrf_tall (m much larger than n), orgqr, chol_lu (our Cholesky and our LU), potrf_batched;
# sgemm, strsm, sgemv, strsv, spotrf, sgetrf, sgeqrf, sgeqrf_tall and spotrf_batched in single
# precision. All of them when not named. PROGRAM: the benchmark where there is no cargo to build it,
# as `cargo bench --no-default-features --features cuda --bench gpu_peers --no-run` leaves it. The
# peers' libraries are looked for in LD_LIBRARY_PATH and the system's folders, or, with
# CUDAFACTOR_PEERS_PYTHON set to a Python, among the NVIDIA packages installed for it.

set -e
program=
name=gpu-peers
while :; do
  case $1 in
    -p) program=${2:?a program} ;;
    -o) name=${2:?a name} ;;
    *) break ;;
  esac
  shift 2
done

dir=${CUDAFACTOR_BENCH_DIR:-bench/results}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
CUDAFACTOR_BENCH_MD=$dir/$name.md
CUDAFACTOR_BENCH_OUT=$dir/$name.csv
CUDAFACTOR_COMMIT=${CUDAFACTOR_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
export CUDAFACTOR_BENCH_MD CUDAFACTOR_BENCH_OUT CUDAFACTOR_COMMIT

if [ -n "$CUDAFACTOR_PEERS_PYTHON" ]; then
  libraries=$("$CUDAFACTOR_PEERS_PYTHON" -c '
import glob, sys
print(":".join(d for p in sys.path if p for d in sorted(glob.glob(p + "/nvidia/*/lib"))))')
  LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi

if [ -n "$program" ]; then
  exec "$program" "$@"
fi
cd src/rust
exec cargo bench --locked --no-default-features --features cuda --bench gpu_peers -- "$@"
