#!/bin/sh
# Updates and downdates of Cholesky factors, compared with qrupdate, faer, and another factorization
# by cuSOLVER.
#   sh bench/updates/chol-update.sh [-p PROGRAM] PART[=ORDER,...[:RANK,...]]...
# Parts, each of less than three minutes on an H200; orders and ranks are those below where none are
# given:
#   paper   Figures 2 and 3 of "Rank k Cholesky Up/Down-dating on the GPU: gpucholmod V0.2": times
#           and errors of every way
#   device  the factor stays on the GPU; peers: copies there, cuSOLVER and, for small orders, our
#           CPU
#   host    from R matrix to R matrix; peer: copies of the same triangle to the GPU and back
#   cpu     the CPU alone; peers: faer's routine and qrupdate
# Needs R with the package (R_RUN may name a command that runs Rscript in the environment it needs),
# and where these are there uses
#   PROGRAM  the benchmark update_peers as `cargo bench --no-default-features --features cuda
#            --bench update_peers --no-run` leaves it; without -p cargo builds it
#   CUDAFACTOR_QRUPDATE  the library that chol-update-qrupdate.c says how to build; without it R
#                        tries to
#   CUDAFACTOR_PEERS_PYTHON  a python with torch (default python3)
# CUDAFACTOR_BENCH_DEVICE=cpu puts the CPU in the place of the GPU. Writes chol-update.md and .csv,
# of the CPU alone chol-update-cpu.md and .csv, where a part replaces what an earlier run has of it.
# plot-updates.R draws the paper's figures.
set -e
here=$(cd "$(dirname "$0")" && pwd)
program=
if [ "$1" = -p ]; then
  program=$2
  shift 2
fi

# part=orders:ranks of an argument.
whole() {
  case $1 in
    paper*) orders=1000,2000,3000,4000,5000,6000,7000,8000,9000,10000 ranks=16,1 ;;
    device*) orders=500,1000,2000,5000,10000,32768 ranks=1,4,16,32,64 ;;
    host*) orders=8192,16384 ranks=1,16,64 ;;
    cpu*) orders=500,1000,2000,5000 ranks=1,4,16,64 ;;
    *) echo "no part $1: paper, device, host, cpu" >&2; return 1 ;;
  esac
  case $1 in
    *=*:*) echo "$1" ;;
    *=*) echo "$1:$ranks" ;;
    *) echo "$1=$orders:$ranks" ;;
  esac
}
[ $# -gt 0 ] || { echo "which parts? paper, device, host, cpu" >&2; exit 2; }
parts=
for part in "$@"; do
  part=$(whole "$part") || exit 2
  parts="$parts $part"
done

# What some shells preset slows OpenBLAS.
unset OPENBLAS_CORETYPE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$CUDAFACTOR_QRUPDATE" ]; then
  cp "$here/chol-update-qrupdate.c" "$work/qrupdate.c"
  if (cd "$work" && R CMD SHLIB -o qrupdate.so qrupdate.c -lqrupdate) >"$work/log" 2>&1; then
    CUDAFACTOR_QRUPDATE=$work/qrupdate.so
  fi
fi
export CUDAFACTOR_QRUPDATE

if [ -n "$program" ]; then
  # shellcheck disable=SC2086
  "$program" $parts >"$work/peers"
elif command -v cargo >/dev/null 2>&1; then
  # shellcheck disable=SC2086
  cargo bench --manifest-path "$here/../../src/rust/Cargo.toml" --locked --no-default-features \
    --features cuda --bench update_peers -- $parts >"$work/peers"
else
  echo "# no update_peers: neither -p nor cargo" >"$work/peers"
fi
case $parts in
  *paper=* | *device=*)
    # shellcheck disable=SC2086
    "${CUDAFACTOR_PEERS_PYTHON:-python3}" "$here/chol_update_peers.py" $parts \
      >>"$work/peers" 2>"$work/log" ||
      echo "# no cuSOLVER: $(tail -n 1 "$work/log")" >>"$work/peers"
    ;;
esac
cat "$work/peers"
# shellcheck disable=SC2086
${R_RUN:-} Rscript "$here/chol-update.R" "$work/peers" $parts
