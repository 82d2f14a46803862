#!/bin/sh
# Compiles the Rust library; src/Makevars calls it in src/ with the settings that configure chose.
# `cargo rustc --crate-type staticlib` rather than `cargo build`: cargo skips link-time optimisation
# for a crate that is also an rlib, and the archive would be twice the size.

set -e
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:$HOME/.cargo/bin"
export PATH

target_dir=$1 profile=$2 features=$3 source=$4
shift 4

# With the archive, everything cargo needs is in the tree, and all it writes stays there.
if [ "$source" = vendor ]; then
  rm -rf rust/vendor
  xz -dc rust/vendor.tar.xz | (cd rust && tar xf -)
  CARGO_HOME=$(pwd)/rust/.cargo
  export CARGO_HOME
  set -- "$@" --offline \
    --config 'source.crates-io.replace-with="vendor"' \
    --config "source.vendor.directory=\"$(pwd)/rust/vendor\""
fi

exec cargo rustc --lib --crate-type staticlib --locked -j 2 --profile "$profile" \
  --no-default-features --features "$features" \
  --manifest-path rust/Cargo.toml --target-dir "$target_dir" "$@"
