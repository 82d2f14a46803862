#!/bin/sh
# Formatting, and clippy for the three feature sets. With an argument, one of them:
# format, core (no R, no CUDA), cuda (no R), default.

set -e
cd "$(dirname "$0")/.."
. tools/env.sh
cd src/rust

clippy() {
  cargo clippy -j 2 --locked --all-targets "$@" -- -D warnings
}

what=${1:-all}
case $what in all | format) cargo fmt --check ;; esac
case $what in all | core) clippy --no-default-features ;; esac
case $what in all | cuda) clippy --no-default-features --features cuda ;; esac
case $what in all | default) clippy ;; esac
