#!/bin/sh
# Linear programs beside HiGHS (simplex, IPX, HiPO) in the same run: NETLIB's problems, and random dense ones.
#   sh inst/bench/lp-netlib.sh FOLDER [ORDER...]
# FOLDER has the MPS files and optima.csv; ORDERs are rows of dense problems m x 2m (500 1000), of which each method of HiGHS is stopped after CUDAFACTOR_LP_SECONDS (120).
# Needs R with the package and Rglpk, and a python with highspy and numpy: CUDAFACTOR_LP_PYTHON (python3). Writes lp-netlib-DEVICE.md and .csv, of CUDAFACTOR_BENCH_DEVICE (cpu).
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
[ $# -gt 0 ] || set -- 500 1000
python=${CUDAFACTOR_LP_PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=$(awk -F, 'NR > 1 && $4 == "optimal" { print $1 }' "$folder/optima.csv")
# shellcheck disable=SC2086
"$python" "$here/lp_highs.py" netlib "$folder" 5 $names >"$work/netlib.csv"
"$python" "$here/lp_highs.py" dense "$work" "${CUDAFACTOR_LP_SECONDS:-120}" "$@" >"$work/dense.csv"
Rscript "$here/lp-netlib.R" "$folder" "$work" "$@"
