#!/bin/sh
# Rates of 8-bit products and of double products made of them, on a GPU of compute capability 9.0,
# beside cuBLAS in the same process. A prototype: the package does not use these kernels.
#   sh bench/emulated/run.sh
# Needs nvcc and cuBLAS. Writes emulated-prototype.md to CUDAFACTOR_BENCH_DIR, or to bench/results.

set -e
cd "$(dirname "$0")"
results=${CUDAFACTOR_BENCH_DIR:-../results}
program=$(mktemp)
trap 'rm -f "$program"' EXIT
nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a prototype.cu -o "$program" -lcublas
{
  echo "# Double products from 8-bit integers: a prototype"
  echo
  echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "- cuda: $(nvcc --version | sed -n 's/.*release \([^,]*\).*/\1/p')"
  echo "- commit: ${CUDAFACTOR_COMMIT:-$(git rev-parse --short HEAD)}"
  echo "- date: $(date +%Y-%m-%d)"
  echo "- by: \`bench/emulated/run.sh\`"
  "$program"
} >"$results/emulated-prototype.md"
