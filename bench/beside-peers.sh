# Sourced by host.sh and chol-orders.sh. beside_peers PEERS.py SCRIPT.R SIZE...: the peers' times by
# a python with torch (CUDAFACTOR_PEERS_PYTHON, default python3), then ours by R. R_RUN may name a
# command that runs Rscript in the environment it needs.
beside_peers() {
  python=$here/$1 script=$here/$2
  shift 2
  # What some shells preset slows OpenBLAS.
  unset OPENBLAS_CORETYPE
  peers=$(mktemp)
  "${CUDAFACTOR_PEERS_PYTHON:-python3}" "$python" "$@" >"$peers"
  cat "$peers"
  ${R_RUN:-} Rscript "$script" "$peers" "$@"
}
