#!/bin/sh
# R CMD check, with all tests, of the source package on the R of Debian's next release: in a
# chroot, without network. The chroot stays in build/next-root, and the compiled crates in it, so
# that the next run is quick. The first takes the crates that `make test` compiled. Needs Linux,
# root, debootstrap and a Debian mirror. Where one is missing it prints a line that begins with
# "test-next: left out:", and exits with 0, or with 1 where CUDAFACTOR_REQUIRE_NEXT=1.
# CUDAFACTOR_DEBIAN_MIRROR names another mirror. With the argument `chroot` it makes the chroot
# only.

cd "$(dirname "$0")/.." || exit 1
. tools/env.sh
case $CARGO_TARGET_DIR in
  /*) ;;
  *) CARGO_TARGET_DIR=$(pwd)/$CARGO_TARGET_DIR ;;
esac

suite=trixie
mirror=${CUDAFACTOR_DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=$(pwd)/build/next-root
log=$(pwd)/build/test-next.log
# A compiler, what R CMD check calls, and the R packages with which this one works.
packages="ca-certificates devscripts gcc iproute2 libc6-dev libopenblas0-pthread make pandoc qpdf \
r-base-core xz-utils"
for package in bigmemory digest hdf5r knitr lme4 matrix png rlang rmarkdown slam testthat; do
  packages="$packages r-cran-$package"
done
packages="$packages r-bioc-delayedarray"
# Not in every release.
wanted="r-cran-float"

left_out() {
  echo "test-next: left out: $1"
  [ "${CUDAFACTOR_REQUIRE_NEXT:-0}" != 1 ]
  exit
}

# Mounts and processes of such a command end with it, however it ends, and nobody else sees the
# mounts.
alone() { unshare --mount --propagation private --pid --fork --kill-child "$@"; }

# in_root COMMAND: a shell command in the chroot, without what the environment here says.
# The Rust of this machine is under /opt/rust, and cannot be changed.
in_root() {
  alone "$@" sh -e -c '
    root=$1 rust=$2 command=$3 target=$4
    mkdir -p "$root/opt/rust" "$root/package"
    mount --bind "$rust" "$root/opt/rust"
    mount -o remount,bind,ro "$root/opt/rust"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec env -i PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      TERM=dumb DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
      CUDAFACTOR_PROFILE=r-check CARGO_TARGET_DIR="$target" chroot "$root" sh -e -c "$command"
  ' sh "$root" "$rust" "$command" "$CARGO_TARGET_DIR"
}

make_root() {
  rm -rf "$root"
  alone debootstrap --variant=minbase "$suite" "$root" "$mirror" || return 1
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  command="apt-get update
    for p in $wanted; do if apt-cache show \$p >/dev/null 2>&1; then more=\"\$more \$p\"; fi; done
    apt-get install -y --no-install-recommends $packages \$more
    apt-get clean"
  in_root || return 1
  echo "$suite $packages" >"$root/complete"
}

# What a source package is made of is not newer than it.
is_fresh() {
  [ -n "$1" ] && [ -z "$(find . \
    \( -path ./build -o -path ./.git -o -path ./src/rust/target -o -path ./demo-output \) \
    -prune -o -type f -newer "$1" -print | head -n 1)" ]
}

[ "$(uname -s)" = Linux ] || left_out "this is no Linux"
[ "$(id -u)" -eq 0 ] || left_out "it needs root"
alone --net mount -t proc proc /proc 2>/dev/null ||
  left_out "mounts and namespaces are not allowed here"
rust=$(rustc --print sysroot 2>/dev/null) || left_out "there is no rustc"
[ -x "$rust/bin/cargo" ] && [ "$rust" != /usr ] || left_out "this Rust is not one of rustup's"

mkdir -p build
if [ "$(cat "$root/complete" 2>/dev/null)" != "$suite $packages" ]; then
  command -v debootstrap >/dev/null 2>&1 || {
    apt-get update &&
      env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap
  } >"$log" 2>&1 || left_out "debootstrap is missing, and apt-get does not install it"
  echo "test-next: making a chroot of Debian $suite in build/next-root"
  make_root >"$log" 2>&1 ||
    left_out "no chroot of Debian $suite came about; the end of $log: $(tail -n 1 "$log")"
fi
[ "$1" != chroot ] || exit 0

tarball=$(ls build/cudafactor_*.tar.gz 2>/dev/null)
if ! is_fresh "$tarball"; then
  echo "test-next: making the source package"
  CUDAFACTOR_PROFILE=r-check sh tools/build.sh >"$log" 2>&1 || {
    tail -n 40 "$log"
    echo "0 passed, 1 failed"
    exit 1
  }
fi

# Not while the tests of Rust run in `make test`, of which some measure time.
exec 9>build/tests.lock
flock -s 9

work=$root/package
rm -rf "$work/build" "$work/tools" "$work/target"
mkdir -p "$work/build" "$work/tools"
cp tools/env.sh tools/check.sh "$work/tools/"
cp build/cudafactor_*.tar.gz "$work/build/"

# Cargo takes a compiled crate for the same one if its sources have the same path. What asks R for
# its version is compiled again. A copy that is not complete has another name.
compiled=$CARGO_TARGET_DIR/vendored
copy=$root$compiled
if [ -d "$compiled/r-check" ] && ! [ -d "$copy" ]; then
  rm -rf "$copy.part"
  mkdir -p "$copy.part" &&
    cp -a "$compiled/r-check" "$compiled/vendor" "$compiled/vendor.sum" "$copy.part/" &&
    rm -rf "$copy.part"/r-check/.fingerprint/cudafactor-* \
      "$copy.part"/r-check/.fingerprint/extendr-* &&
    mv "$copy.part" "$copy" || rm -rf "$copy.part"
fi

started=$(date +%s)
# A shell's background ignores interrupts, which tests send.
command="ip link set lo up
  Rscript -e 'cat(R.version.string, \"\\n\")
    for (p in c(\"Matrix\", \"lme4\", \"DelayedArray\")) cat(p, format(packageVersion(p)), \"\\n\")'
  cd /package
  exec env --default-signal=INT sh tools/check.sh"
in_root --net >"$log" 2>&1 9>&-
status=$?

number() { sed -n "s/^test result:.*[^0-9]\([0-9][0-9]*\) $1.*/\1/p" "$log" | tail -n 1; }
passed=$(number "expectations passed")
failed=$(number failed)
passed=${passed:-0} failed=${failed:-0}
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ "$status" -eq 0 ] && [ "$passed" -eq 0 ]; then failed=1; fi

sed -n '/^R version/,/^DelayedArray/p' "$log" | tr '\n' ' '
echo
sed -n '/NOTE$/,/^\* /p' "$work/build/cudafactor.Rcheck/00check.log" 2>/dev/null |
  sed '/^\* .*OK$/d; s/^/      /'
if [ "$failed" -ne 0 ]; then
  { grep -A 12 -E '^(── (Failure|Error) )' "$log" | head -n 80
    tail -n 40 "$log"; } | sed 's/^/      /'
fi
echo "test-next: R CMD check on Debian $suite, $(($(date +%s) - started)) s; $log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
