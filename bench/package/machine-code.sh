#!/bin/sh
# Dense verbs by machine code of the package and by machine code that the driver makes of its PTX,
# in turn on one GPU: writes machine-code.md to CUDAFACTOR_BENCH_DIR (bench/results when not set).
#   sh bench/package/machine-code.sh PROGRAM PTX-PROGRAM [ROUNDS]
# Both programs are the benchmark `gpu_peers`, built with the features `cuda` and `cuda,ptx-only`:
#   cargo bench --no-default-features --features cuda,ptx-only --bench gpu_peers --no-run
# CUDAFACTOR_COMMIT names their commit. For CUDAFACTOR_PEERS_PYTHON see bench/dense/gpu-peers.sh.

code=$1 ptx=$2 rounds=${3:-3}
dir=${CUDAFACTOR_BENCH_DIR:-bench/results}
mkdir -p "$dir"
work=$(mktemp -d)
for round in $(seq "$rounds"); do
  for each in code ptx; do
    eval "program=\$$each"
    CUDAFACTOR_BENCH_DIR=$work sh bench/dense/gpu-peers.sh -p "$program" -o "$each-$round" \
      --routines gemm,syrk,trsm,potrf,getrf,geqrf,spotrf,sgetrf,sgeqrf 512 2048 8192 \
      >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  done
done

{
  echo "# Machine code of the package, and of the driver from the package's PTX"
  echo
  echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "- commit: ${CUDAFACTOR_COMMIT:-unknown}"
  echo "- date: $(date +%F)"
  echo "- by: \`bench/package/machine-code.sh\`: the benchmark \`gpu_peers\`, data on the GPU, in"
  echo "  processes in turn, $rounds rounds. Each number is the least of the rounds' medians,"
  echo "  in ms. A ratio above 1 means that the package's machine code is faster."
  echo
  echo "| verb | n | package | driver | ratio |"
  echo "|:---|---:|---:|---:|---:|"
  # Our routine, n, and the median: the second field between quotes, and the first two numbers after
  # the fourth quote.
  awk -F'"' '
    FNR == 1 { next }
    {
      way = FILENAME ~ /code-[0-9]+\.csv$/ ? "code" : "ptx"
      split($5, number, ",")
      key = $2 "|" number[2]
      ms = number[3] + 0
      if (!(key in seen)) { seen[key] = 1; order[++n] = key }
      if (!((key, way) in least) || ms < least[key, way]) least[key, way] = ms
    }
    END {
      for (i = 1; i <= n; i++) {
        split(order[i], of, "|")
        x = least[order[i], "code"]; y = least[order[i], "ptx"]
        printf "| %s | %s | %.4f | %.4f | %.3f |\n", of[1], of[2], x, y, y / x
      }
    }' "$work"/*.csv
} >"$dir/machine-code.md"
