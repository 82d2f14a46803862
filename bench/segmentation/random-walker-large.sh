#!/bin/sh
# Segmentation of large synthetic images and of a volume by random walks, on a GPU or on the CPU,
# compared with scikit-image and a route by package Matrix, all in one run.
#   sh bench/segmentation/random-walker-large.sh [CASE...]
# CASEs are SIDE for an image of SIDE x SIDE pixels and SIDE^3 for a volume; 2048, 4096 and 160^3 if
# none is given. Ours is timed first, on all cores and on the device in CUDAFACTOR_BENCH_DEVICE
# (cuda). Then all peers run at the same time, each on a separate core, and each is stopped after
# CUDAFACTOR_RW_SECONDS (180): with as many cores as peers (8) the whole takes little more than
# that. The route by Matrix and scikit-image's mode bf take cases of at most 5 million pixels in a
# plane. Needs R with the package, and with Matrix for that route, and a python with scikit-image:
# CUDAFACTOR_RW_PYTHON (python3). Writes random-walker-DEVICE.md and .csv.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 2048 4096 '160^3'
python=${CUDAFACTOR_RW_PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$here/random_walker_large.py" make "$work" "$@" >"$work/cases.csv"
Rscript "$here/random-walker-large.R" ours "$work"
"$python" "$here/random_walker_large.py" peers "$work" "${CUDAFACTOR_RW_SECONDS:-180}" \
  >"$work/peers.csv"
Rscript "$here/random-walker-large.R" table "$work"
