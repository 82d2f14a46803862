#!/bin/sh
# Writes bench/results/size.md, what the package costs to carry and to install, and the sizes in
# cran-comments.md. Run it at each release, from the repository's root, after `make build`, on an
# idle machine:
#   sh bench/package/size.sh [OUTPUT [COMMENTS]]

set -e
output=${1:-bench/results/size.md}
comments=${2:-cran-comments.md}
tarball=$(ls build/cudafactor_*.tar.gz)
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT

# No cached crates, no cached objects, no network where that can be switched off.
unset CARGO_TARGET_DIR CUDAFACTOR_TARGET_DIR DEBUG
offline=
network=possible
if unshare -n true 2>/dev/null; then
  offline="unshare -n"
  network="switched off"
fi

started=$(date +%s)
$offline R CMD INSTALL --no-test-load -l "$library" "$tarball" >"$library/log" 2>&1 || {
  tail -n 30 "$library/log"
  exit 1
}
seconds=$(($(date +%s) - started))
# The second line of `times` is what the children took: user and system, as 1m2.34s.
times >"$library/times"
processor=$(sed -n 2p "$library/times" |
  awk -F'[ms ]+' '{ printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }')
load=$(cut -d ' ' -f 1 /proc/loadavg)

bytes() { du -sb "$1" | cut -f 1; }
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.2f MB", bytes / 1e6 }'; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)

# Without the PTX that only a package without machine code contains.
folder=src/rust/kernels
ptx=$(cd $folder && sed -n '/OLDER_PTX/q; s/.*"\(ptx[^"]*\)".*/\1/p' images.rs | xargs cat | wc -c)
cubins=$(cat src/rust/kernels/cubin/*.lzma | wc -c)
mkdir -p "$(dirname "$output")"
cat >"$output" <<END
# Size and installation

| what | measured |
|:---|---:|
| source package with its crates | $(megabytes "$(bytes "$tarball")") |
| of which the crates (vendor.tar.xz) | $(megabytes "$(bytes build/vendor.tar.xz)") |
| installing it, nothing cached, network $network | $seconds s |
| processor time of that, user and system | $processor s |
| installed package | $(megabytes "$(bytes "$library/cudafactor")") |
| of which the shared library | $(megabytes "$(bytes "$library/cudafactor/libs/cudafactor.so")") |
| of which the kernels' PTX, packed | $(megabytes "$ptx") |
| of which the kernels' machine code, packed | $(megabytes "$cubins") |

$cpu, $(nproc) cores; $(. /etc/os-release && echo "$PRETTY_NAME");
$(R --version | sed -n '1s/ --.*//p'); $(rustc --version).
Load average at the end $load (2 is this installation alone on two cores).
Commit $commit, $(date +%Y-%m-%d).
END

# The table goes between two markers in the notes for CRAN.
if grep -q '^<!-- sizes' "$comments" && grep -q '^<!-- end of sizes' "$comments"; then
  awk -v table="$output" '
    /^<!-- end of sizes/ { between = 0 }
    !between
    /^<!-- sizes/ {
      between = 1
      while ((getline line <table) > 0) if (line !~ /^# /) print line
      print ""
    }' "$comments" >"$library/comments"
  cat "$library/comments" >"$comments"
else
  echo "$comments has no lines <!-- sizes ... --> and <!-- end of sizes -->" >&2
  exit 1
fi
cat "$output"
