#!/bin/sh
# The Rust tests of kernels and limits on GPUs that the library pretends to have, in PTX that the
# driver compiles for the GPU that is there. On an H100, 9.0 is that GPU without machine code.
#   sh bench/package/believed-cards.sh PROGRAMS RESULT.md LOGS [CARD]...
# PROGRAMS: a folder of test programs (`cargo test --no-run --no-default-features --features cuda`).
# The head of RESULT.md names those of them that ran.
# LOGS: a folder for what those that fail print. CARD: compute capability[,multiprocessors,GiB].
# CUDAFACTOR_COMMIT names the commit of the programs. A card takes two minutes, and its row is added
# to RESULT.md where that is there.

programs=$1 result=$2 logs=$3
shift 3
[ $# -gt 0 ] || set -- 7.5 8.6 8.9 12.0 8.9,16,6 9.0
folder=$(mktemp -d)
mkdir -p "$logs"
# Those last look at all of the GPU's memory, or fill it, so that nothing else may run.
shared="cuda_agreement elementwise systems update dense numerics spectral"
alone="cuda cudafactor"
# present NAMES: those that the folder has.
present() {
  for name; do [ -x "$programs/$name" ] && printf '%s ' "$name"; done
}
shared=$(present $shared)
alone=$(present $alone)
CUDAFACTOR_REQUIRE_GPU=1
# The driver keeps what it compiled for one card, and loads it for the next.
CUDA_CACHE_MAXSIZE=4294967296
export CUDAFACTOR_REQUIRE_GPU CUDA_CACHE_MAXSIZE

# run CARD PROGRAM: of the unit tests, those of the GPU.
run() {
  filter=
  [ "$2" = cudafactor ] && filter=backend::cuda
  CUDAFACTOR_BELIEVE=$1 timeout 240 "$programs/$2" $filter --test-threads 8 \
    >"$folder/$1.$2" 2>&1 || cp "$folder/$1.$2" "$logs"
  grep -q '^test result:' "$folder/$1.$2" ||
    echo "test whole program ... FAILED
test result: FAILED. 0 passed; 1 failed" >>"$folder/$1.$2"
}

# count CARD WORD: adds up the numbers before WORD in the lines "test result:".
count() {
  cat "$folder/$1".* | grep '^test result:' | grep -o "[0-9]* $2" |
    awk '{ n += $1 } END { print n + 0 }'
}

# failures CARD
failures() {
  for program in $shared $alone; do
    sed -n "s/^test \(.*\) \.\.\. FAILED\$/$program \1/p" "$folder/$1.$program"
  done | sort -u | paste -s -d ';' | sed 's/;/; /g'
}

if [ ! -s "$result" ]; then
  {
    echo "# Tests on cards that the library pretends to have"
    echo
    echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1);" \
      "$(nproc) CPU cores"
    echo "- commit: ${CUDAFACTOR_COMMIT:-unknown}"
    echo "- date: $(date +%F)"
    echo "- by: \`bench/package/believed-cards.sh\`. A card is a value of \`CUDAFACTOR_BELIEVE\`:"
    echo "  compute capability, and if given multiprocessors and GiB. The driver compiled PTX."
    echo "  A test skipped for want of a GPU is a failure."
    echo "- programs: $shared$alone(of cudafactor, the tests of the GPU)"
    echo
    echo "| card | passed | failed | seconds | tests that failed |"
    echo "|---|---|---|---|---|"
  } >"$result"
fi

for card; do
  began=$(date +%s)
  for program in $shared; do run "$card" "$program" & done
  wait
  for program in $alone; do run "$card" "$program"; done
  echo "| $card | $(count "$card" passed) | $(count "$card" failed) | $(($(date +%s) - began)) |" \
    "$(failures "$card") |" >>"$result"
done
