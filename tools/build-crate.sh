#!/bin/sh
# Compiles the Rust library; src/Makevars calls it in src/ with the settings that configure chose.
# `cargo rustc --crate-type staticlib` rather than `cargo build`: cargo skips link-time optimisation
# for a crate that is also an rlib, and the archive would be twice the size. A debug build has no
# such optimisation: `cargo build`, with feature testing, makes the library that `cargo test` uses.

set -e
manifest=rust/Cargo.toml
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:$HOME/.cargo/bin"
export PATH

target_dir=$1 profile=$2 features=$3 source=$4
shift 4

# With the archive, everything cargo needs comes from the tree, and all it writes stays in the
# target folder. A kept target folder keeps the unpacked crates and a copy of our own too, because
# cargo compiles again what it finds at another path, or with other times: R unpacks a source
# package somewhere else each time.
if [ "$source" = vendor ]; then
  mkdir -p "$target_dir"
  target_dir=$(cd "$target_dir" && pwd)
  sum=$(cksum <rust/vendor.tar.xz)
  if [ "$(cat "$target_dir/vendor.sum" 2>/dev/null)" != "$sum" ]; then
    rm -rf "$target_dir/vendor"
    xz -dc rust/vendor.tar.xz | (cd "$target_dir" && tar xf -)
    echo "$sum" >"$target_dir/vendor.sum"
  fi
  own() { find rust -path rust/target -prune -o -type f ! -name 'vendor.tar.xz' ! -name '.*' "$@"; }
  sum=$(own -exec cksum {} + | LC_ALL=C sort -k 3 | cksum)
  if [ "$(cat "$target_dir/crate.sum" 2>/dev/null)" != "$sum" ]; then
    rm -rf "$target_dir/crate"
    mkdir "$target_dir/crate"
    own -print | tar cf - -T - | (cd "$target_dir/crate" && tar xmf -)
    echo "$sum" >"$target_dir/crate.sum"
  fi
  manifest=$target_dir/crate/rust/Cargo.toml
  CARGO_HOME=$target_dir/cargo-home
  export CARGO_HOME
  set -- "$@" --offline \
    --config 'source.crates-io.replace-with="vendor"' \
    --config "source.vendor.directory=\"$target_dir/vendor\""
fi

# configure has compared rustc with what this package needs. Some locked crates (libloading) name a
# later release than they need.
build="rustc --crate-type staticlib"
if [ "$profile" = dev ]; then
  build=build
  features=$features,testing
fi
# shellcheck disable=SC2086
exec cargo $build --lib --locked --ignore-rust-version -j 2 --profile "$profile" \
  --no-default-features --features "$features" \
  --manifest-path "$manifest" --target-dir "$target_dir" "$@"
