#!/bin/sh
# Installs what `make demo` or `make test` needs and this machine lacks: Debian packages by apt,
# Rust by rustup. Usage: tools/setup.sh demo|test      Quick, and silent, where nothing is missing.

set -e
cd "$(dirname "$0")/.."
. tools/env.sh

say() { echo "setup: $*"; }

root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

has_r_package() {
  Rscript -e "quit(status = !requireNamespace('$1', quietly = TRUE))" >/dev/null 2>&1
}

missing=
need() { missing="$missing $*"; }

# need_command COMMAND PACKAGE...
need_command() {
  command=$1
  shift
  command -v "$command" >/dev/null 2>&1 || need "$@"
}

need_command gcc gcc libc6-dev
need_command make make
need_command xz xz-utils
# cargo fetches crates by https.
[ -s /etc/ssl/certs/ca-certificates.crt ] || need ca-certificates
# A fair opponent for the comparison with base R, unless somebody chose its BLAS already.
need_command Rscript r-base-core libopenblas0-pthread

if [ "$1" = test ]; then
  need_command python3 python3
  # The pinned CUDA compiler that checks the PTX comes by pip.
  python3 -m pip --version >/dev/null 2>&1 || need python3-pip
  need_command pandoc pandoc
  need_command checkbashisms devscripts
  need_command qpdf qpdf
  for package in testthat roxygen2 knitr rmarkdown Matrix bigmemory digest hdf5r rlang slam png; do
    has_r_package "$package" || need "r-cran-$(echo "$package" | tr '[:upper:]' '[:lower:]')"
  done
fi

# The release that formatting and lints are checked with (see lint.sh).
toolchain=1.95.0
needed=$(sed -n 's/.*rustc (>= \([0-9.]*\)).*/\1/p' DESCRIPTION)
rust_is_old() {
  rustc --version 2>/dev/null | awk -v needed="$needed" '
    { split($2, have, "."); split(needed, need, "."); seen = 1
      old = have[1] < need[1] || (have[1] == need[1] && have[2] < need[2]) }
    END { exit !(old || !seen) }'
}
rust_is_missing() { ! command -v cargo >/dev/null 2>&1 || rust_is_old; }

if rust_is_missing && ! command -v rustup >/dev/null 2>&1; then
  need_command curl curl
fi

if [ -n "$missing" ]; then
  command -v apt-get >/dev/null 2>&1 || {
    say "needed, and this machine has no apt-get to install them:$missing"
    exit 1
  }
  say "installing by apt:$missing"
  mkdir -p build
  # shellcheck disable=SC2086
  { root apt-get update && root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing; } >build/setup.log 2>&1 || {
    tail -n 30 build/setup.log
    exit 1
  }
fi

if rust_is_missing; then
  if command -v rustup >/dev/null 2>&1; then
    say "rustc is older than $needed: rustup installs $toolchain and makes it the default"
    rustup toolchain install "$toolchain" --profile minimal
    rustup default "$toolchain"
  else
    say "no Rust $needed or later here: installing $toolchain for this user with rustup" \
      "(https://rustup.rs)"
    mkdir -p build
    # What https://sh.rustup.rs serves, from the host that the toolchain comes from.
    curl --proto '=https' --tlsv1.2 -sSf -o build/rustup-init.sh \
      https://static.rust-lang.org/rustup/rustup-init.sh
    sh build/rustup-init.sh -y -q --profile minimal --default-toolchain "$toolchain" \
      --no-modify-path
  fi
  if rust_is_missing; then
    say "cargo is still missing or too old; see https://rustup.rs"
    exit 1
  fi
fi

if [ "$1" = test ] && ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
  say "rustup adds rustfmt and clippy"
  rustup component add rustfmt clippy
fi
