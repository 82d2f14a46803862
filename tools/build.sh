#!/bin/sh
# Makes build/cudafactor_VERSION.tar.gz from this folder and the vendored crates.

set -e
cd "$(dirname "$0")/.."
. tools/env.sh

python3 tools/vendor.py

# R CMD build runs cleanup in the folder it is given: it gets a copy.
stage=build/stage/cudafactor
rm -rf build/stage
mkdir -p "$stage"
tar -cf - --exclude=./build --exclude=./demo-output --exclude=./.git --exclude=./src/rust/target . |
  tar -xf - -C "$stage"
cp build/vendor.tar.xz "$stage/src/rust/"

cd build
rm -f cudafactor_*.tar.gz
R CMD build stage/cudafactor
ls -l cudafactor_*.tar.gz
