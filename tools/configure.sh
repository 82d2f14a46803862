#!/bin/sh
# Usage: tools/configure.sh OUTPUT, from the package's root. Called by configure and configure.win.
# Checks cargo and rustc, then fills in OUTPUT.in.

output=$1

stop() {
  echo "configure: $1" >&2
  exit 1
}

# rustup installs here, and a session started from a desktop may not have it on its path.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:$HOME/.cargo/bin"
export PATH

needed=$(sed -n 's/.*rustc (>= \([0-9.]*\)).*/\1/p' DESCRIPTION)
advice="Install Rust $needed or later from https://rustup.rs (or, where it is new enough, \
by 'apt-get install cargo'), then install cudafactor again."

for tool in cargo rustc; do
  command -v "$tool" >/dev/null 2>&1 ||
    stop "$tool was found neither on the PATH nor in ~/.cargo/bin. $advice"
  "$tool" --version >/dev/null 2>&1 ||
    stop "'$tool --version' fails. Run 'rustup default stable', or: $advice"
done

# at_least HAVE NEED: compares major.minor.
at_least() {
  have_major=${1%%.*} have_rest=${1#*.}
  need_major=${2%%.*} need_rest=${2#*.}
  [ "$have_major" -gt "$need_major" ] && return 0
  [ "$have_major" -eq "$need_major" ] && [ "${have_rest%%.*}" -ge "${need_rest%%.*}" ]
}

rustc_version=$(rustc --version | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
at_least "$rustc_version" "$needed" ||
  stop "rustc $rustc_version is older than $needed. $advice \
With rustup installed, 'rustup update stable' does it."

cargo --version
rustc --version

# The archive leaves out what only other platforms read (PLATFORMS in tools/crates/unused.py).
source=registry
case $(uname -s) in
  Linux | Darwin | *BSD | DragonFly) [ -f src/rust/vendor.tar.xz ] && source=vendor ;;
esac

target_dir=${CUDAFACTOR_TARGET_DIR:-${CARGO_TARGET_DIR:-}}
keep=yes
if [ -z "$target_dir" ]; then
  target_dir=./rust/target
  [ -n "$DEBUG" ] && [ "$DEBUG" != 0 ] || keep=no
elif [ "$source" = vendor ]; then
  # The same crates from another place are other crates to cargo.
  target_dir=$target_dir/vendored
fi

profile=${CUDAFACTOR_PROFILE:-release}
profile_dir=$profile
if [ -n "$DEBUG" ] && [ "$DEBUG" != 0 ]; then
  profile=dev
  profile_dir=debug
fi

# The CUDA backend is for Linux. The linker flags leave out the debug sections of Rust's standard
# library and export only what R looks up. The library is never unloaded: its threads and R's
# collector run its code.
case $(uname -s) in
  Linux)
    features=${CUDAFACTOR_FEATURES:-cuda,r}
    link_flags="-lpthread -ldl -lm -Wl,-S,--exclude-libs,ALL,-z,nodelete"
    ;;
  *) features=r link_flags= ;;
esac
# A source package may come without the kernels' machine code.
[ -d src/rust/kernels/cubin ] || features=$features,ptx-only
# Vectors of 512 bits: rustc knows their instructions from this release on.
if at_least "$rustc_version" 1.89; then
  features=$features,avx512
fi

echo "building the Rust library ($profile, features $features) from the $source"

sed -e "s|@TARGET_DIR@|$target_dir|" -e "s|@PROFILE_DIR@|$profile_dir|" -e "s|@PROFILE@|$profile|" \
  -e "s|@FEATURES@|$features|" -e "s|@LINK_FLAGS@|$link_flags|" -e "s|@SOURCE@|$source|" \
  -e "s|@KEEP@|$keep|" "$output.in" >"$output" || stop "cannot write $output"
