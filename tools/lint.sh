#!/bin/sh
# Formatting, the direction of imports, the length of lines, clippy for the four feature sets, and
# the links of the documentation. With an argument, one of them: format (with imports and lines),
# core (no R, no CUDA), r (no CUDA, as on macOS and Windows), cuda (no R), default, documentation.

set -e
cd "$(dirname "$0")/.."
. tools/env.sh
cd src/rust

# Each release of clippy knows new lints. What this one says is fatal; what only a later one says is
# shown.
reference=1.95
level="-D warnings"
if rustc --version | awk -v reference="$reference" '
  { split($2, have, "."); split(reference, known, ".")
    exit !(have[1] > known[1] || have[2] > known[2]) }'; then
  echo "this clippy is newer than $reference: its warnings do not count as failures"
  level="-W warnings"
fi

clippy() {
  # shellcheck disable=SC2086
  cargo clippy -j 2 --locked "$@" -- $level
}

what=${1:-all}
case $what in
  all | format)
    cargo fmt --check && python3 ../../tools/imports.py && python3 ../../tools/lines.py
    ;;
esac
case $what in all | core) clippy --all-targets --no-default-features ;; esac
# No test asks whether R is there.
case $what in all | r) clippy --lib --no-default-features --features r ;; esac
case $what in all | cuda) clippy --lib --no-default-features --features cuda ;; esac
case $what in all | default) clippy --all-targets ;; esac
case $what in
  all | documentation)
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
      cargo doc -j 2 --locked --no-deps --document-private-items
    ;;
esac
