#!/bin/sh
# Stages of double products from 8-bit integers by the package's kernels, and the rate of bare loops
# of the instructions, on a GPU of compute capability 9.0:
#   sh bench/emulated/run.sh
# Needs nvcc and cuBLAS. Writes emulated-stages.md to CUDAFACTOR_BENCH_DIR, or to bench/results.

cd "$(dirname "$0")/../.." || exit 1
kernels=src/rust/kernels
program=$(mktemp) || exit 1
trap 'rm -f "$program"' EXIT
nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -I$kernels/common -I$kernels/emulated \
  -I$kernels/lu -o "$program" bench/emulated/stages.cu $kernels/emulated/emulated.cu \
  $kernels/emulated/planes_hopper.cu $kernels/emulated/planes_tensor.cu -lcublas || exit 1
out=${CUDAFACTOR_BENCH_DIR:-bench/results}/emulated-stages.md
{
  echo "# Stages of double products from 8-bit integers"
  echo
  echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "- cuda: $(nvcc --version | sed -n 's/.*release \([^,]*\).*/\1/p')"
  echo "- commit: ${CUDAFACTOR_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}"
  echo "- date: $(date +%F)"
  echo "- by: \`bench/emulated/run.sh\`; medians of 3 to 7 runs after one"
  "$program"
} >"$out" || exit 1
