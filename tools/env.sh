#!/bin/sh
# Sourced by the other scripts in this folder, from the repository's root: paths by which cargo and
# R find each other.

# rustup's cargo before an older one from the distribution.
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$(pwd)/build/target}
LC_ALL=C.UTF-8
export PATH CARGO_TARGET_DIR LC_ALL

if command -v R >/dev/null 2>&1; then
  # As R CMD INSTALL sets them: cargo compiles extendr anew whenever they change.
  R_HOME=$(R RHOME)
  R_INCLUDE_DIR=$(Rscript -e 'cat(R.home("include"))')
  LD_LIBRARY_PATH=$R_HOME/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export R_HOME R_INCLUDE_DIR LD_LIBRARY_PATH
fi
