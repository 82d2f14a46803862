#!/bin/sh
# Linear programs, compared with HiGHS (simplex, IPX, HiPO) in the same run: NETLIB's problems, and
# random dense ones.
#   sh bench/lp/lp-netlib.sh FOLDER [ORDER...]
# FOLDER has the MPS files and optima.csv; ORDERs are rows of dense problems m x 2m (500 1000), of
# which each method of HiGHS is stopped after CUDAFACTOR_LP_SECONDS (120). CUDAFACTOR_LP_WORK is a
# folder for what is made on the way; what HiGHS did to dense problems is taken from its dense.csv
# where it has one, and problems that are not in it have no peer. Its lines with # after the first
# one are notes for the result. Needs R with the package, with slam for a GPU, and a python with
# highspy and numpy: CUDAFACTOR_LP_PYTHON (python3). Writes lp-netlib-DEVICE.md and .csv, of
# CUDAFACTOR_BENCH_DEVICE (cpu).
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
[ $# -gt 0 ] || set -- 500 1000
python=${CUDAFACTOR_LP_PYTHON:-python3}
work=${CUDAFACTOR_LP_WORK:-}
[ -n "$work" ] || {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}
names=$(awk -F, 'NR > 1 && $4 == "optimal" { print $1 }' "$folder/optima.csv")
# shellcheck disable=SC2086
"$python" "$here/lp_highs.py" netlib "$folder" 5 $names >"$work/netlib.csv"
if [ -s "$work/dense.csv" ]; then
  CUDAFACTOR_LP_METHODS='' "$python" "$here/lp_highs.py" dense "$work" 0 "$@" >/dev/null
else
  "$python" "$here/lp_highs.py" dense "$work" "${CUDAFACTOR_LP_SECONDS:-120}" "$@" \
    >"$work/dense.csv"
  echo "# HiGHS's methods for dense problems one after the other, on all cores." >>"$work/dense.csv"
fi
Rscript "$here/lp-netlib.R" "$folder" "$work" "$@"
