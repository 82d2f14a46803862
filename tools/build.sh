#!/bin/sh
# Makes build/cudafactor_VERSION.tar.gz from this folder and the vendored crates. Fails if it is
# larger than CRAN takes.
#   sh tools/build.sh            with the kernels' machine code, and the PTX for newer GPUs
#   sh tools/build.sh ptx-only   without machine code, with all PTX

set -e
cd "$(dirname "$0")/.."
. tools/env.sh

python3 tools/crates/vendor.py

# R CMD build runs cleanup in the folder it is given: it gets a copy. Without what .Rbuildignore
# leaves out of the crate: R CMD build compiles before it looks there, and the package that it makes
# would be another crate to a kept target folder.
stage=build/stage/cudafactor
rm -rf build/stage
mkdir -p "$stage"
tar -cf - --exclude=./build --exclude=./demo-output --exclude=./.git \
  --exclude=./src/rust/target --exclude=./src/rust/tests --exclude=./src/rust/benches \
  --exclude='./src/rust/src/*/tests.rs' --exclude='./src/rust/src/*_tests.rs' . |
  tar -xf - -C "$stage"
cp build/vendor.tar.xz "$stage/src/rust/"
kernels=$stage/src/rust/kernels
if [ "$1" = ptx-only ]; then
  rm -r "$kernels/cubin"
else
  # The library does not contain the PTX of this list.
  older=$(sed -n '/OLDER_PTX.*= &\[$/,/^\]/s/.*"\(ptx[^"]*\)".*/\1/p' "$kernels/images.rs")
  (cd "$kernels" && rm $older)
fi

cd build
rm -f cudafactor_*.tar.gz
R CMD build stage/cudafactor
ls -l cudafactor_*.tar.gz
python3 ../tools/crates/shares.py cudafactor_*.tar.gz
