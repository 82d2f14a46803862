#!/bin/sh
# Segmentation by random walks, compared with scikit-image and a route by package Matrix, in the
# same run: the images of a folder, and synthetic ones of SIDE x SIDE pixels.
#   sh bench/segmentation/random-walker.sh FOLDER [SIDE...]
# FOLDER has the images with their seeds; SIDEs are 512 and 1024 if none is given; a method of
# scikit-image is stopped after CUDAFACTOR_RW_SECONDS (180) for an image. All on so many threads as
# CUDAFACTOR_RW_THREADS says (2). Needs R with the package and Matrix, and a python with
# scikit-image: CUDAFACTOR_RW_PYTHON (python3). Writes random-walker-cpu.md and .csv.
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
[ $# -gt 0 ] || set -- 512 1024
python=${CUDAFACTOR_RW_PYTHON:-python3}
threads=${CUDAFACTOR_RW_THREADS:-2}
OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads CUDAFACTOR_NUM_THREADS=$threads
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS CUDAFACTOR_NUM_THREADS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$here/random_walker_skimage.py" make "$folder" "$work" "$@" >"$work/cases.csv"
"$python" "$here/random_walker_skimage.py" time "$work" "${CUDAFACTOR_RW_SECONDS:-180}" \
  >"$work/skimage.csv"
Rscript "$here/random-walker.R" "$work"
