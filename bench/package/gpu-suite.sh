#!/bin/sh
# The whole test suite on a machine with a GPU, where skipping is failing, and NVIDIA's memory and
# race checkers over the Rust tests of the GPU, at the same time as the others. Needs R with the
# package and testthat, and the Rust test programs; no compiler.
#   sh bench/package/gpu-suite.sh PROGRAMS TESTTHAT RESULT.md [PART]...
# PROGRAMS: a folder of test programs (`cargo test --no-run --no-default-features --features cuda`);
# TESTTHAT: the folder tests/testthat of the sources. CUDAFACTOR_COMMIT names the commit they were
# built from. PART: rust (with the checkers), r, documents (the R blocks of README.md and the
# examples of help pages, with the options of a new session); all where none is given, which takes
# ten minutes or so. A part is added to RESULT.md where that is there.

# begin RESULT: its head, where it has none.
begin() {
  [ -s "$1" ] && return
  {
    echo "# The test suite on a GPU, with skipping forbidden"
    echo
    echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
    if [ -n "$CUDAFACTOR_BELIEVE" ]; then
      echo "- the library pretends to have the compute capability, multiprocessors and GiB of" \
        "memory $CUDAFACTOR_BELIEVE, and runs portable PTX"
    fi
    echo "- commit: ${CUDAFACTOR_COMMIT:-unknown}"
    echo "- date: $(date +%F)"
    echo "- environment: CUDAFACTOR_REQUIRE_GPU=1," \
      "so that a skipped test or a missing GPU is a failure"
    echo
    echo "| part | passed | failed | seconds |"
    echo "|---|---|---|---|"
  } >"$1"
}

# count WORD LOG: adds up the numbers before WORD in the lines "test result:".
count() {
  grep '^test result:' "$2" | grep -o "[0-9]* $1" | awk '{ n += $1 } END { print n + 0 }'
}

# row NAME LOG STARTED
row() {
  echo "| $1 | $(count passed "$2") | $(count failed "$2") | $(($(date +%s) - $3)) |"
}

# rust PROGRAM: runs a program of tests and leaves its row; where it fails, its log, too.
rust() {
  began=$(date +%s)
  name=$(basename "$1")
  "$1" --test-threads 8 >"$folder/$name.rust" 2>&1 || cat "$folder/$name.rust" >>"$folder/failed"
  row "Rust: $name" "$folder/$name.rust" "$began" >"$folder/$name.row"
}

# Whether a program looks at all of the GPU's memory, or fills it, so that nothing else may run.
alone() {
  case $(basename "$1") in
    cudafactor | cuda) return 0 ;;
    *) return 1 ;;
  esac
}

# sanitize TOOL SHAPES
sanitize() {
  began=$(date +%s)
  CUDAFACTOR_TEST_SHAPES=$2 compute-sanitizer --tool "$1" --error-exitcode 9 \
    "$programs/cuda_agreement" --test-threads 1 >"$folder/$1" 2>&1 ||
    tail -n 60 "$folder/$1" >>"$folder/failed"
  summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$folder/$1" | sed 's/^=* *//')
  row "compute-sanitizer $1 over cuda_agreement: $summary" "$folder/$1" "$began"
}

# The checkers slow one program down that leaves most of the GPU and of the processor to others.
checkers() {
  if command -v compute-sanitizer >/dev/null 2>&1; then
    sanitize memcheck all
    sanitize racecheck few
  else
    echo "compute-sanitizer: not found" >>"$folder/failed"
    echo "| compute-sanitizer: not found | 0 | 1 | 0 |"
  fi
}

rust_part() {
  checkers >"$folder/checked" &
  # Four at a time, while the checkers run. Each begins as soon as another one ends.
  for program in "$programs"/*; do
    if [ -x "$program" ] && ! alone "$program"; then echo "$program"; fi
  done | xargs -P 4 -n 1 sh "$0" --program "$folder" "$tests"
  wait
  for program in "$programs"/*; do
    [ -x "$program" ] && alone "$program" && rust "$program"
  done
  cat "$folder"/*.row "$folder/checked" >>"$result"
}

# Whether a file of R tests looks at all of the GPU's memory, or fills it.
fills() {
  grep -Eq 'fill_gpu|gpu_mem\(|gpu_info\(|memory-limits' "$1"
}

# Whether it waits for something that takes some time, or interrupts it.
waits() {
  grep -Eq 'interrupt|Sys.sleep|kill' "$1"
}

# r FILE: runs a file of R tests in a separate process, and keeps its log.
r() {
  name=$(basename "$1" .R)
  TESTTHAT_DIR=$tests TESTTHAT_FILE=^${name#test-}\$ Rscript -e '
    tests <- testthat::test_dir(
      Sys.getenv("TESTTHAT_DIR"), filter = Sys.getenv("TESTTHAT_FILE"), package = "cudafactor",
      load_package = "installed", reporter = "check", stop_on_failure = FALSE
    )
    r <- as.data.frame(tests)
    # Tests of other packages, or of NumPy, say so where these are not there; skipping for want of a
    # GPU is an error of theirs.
    bad <- sum(r$failed) + sum(r$error)
    cat(sprintf("test result: %d passed; %d failed\n", sum(r$passed), bad))
    for (test in tests) for (result in test$results) {
      if (inherits(result, "expectation_skip"))
        cat("skipped:", sub("^Reason: ", "", result$message[1]), "\n")
    }
    quit(status = bad > 0)' >"$folder/$name.r" 2>&1 && return
  grep -q '^test result:' "$folder/$name.r" ||
    echo "test result: 0 passed; 1 failed" >>"$folder/$name.r"
  echo "$name" >>"$folder/r-failed"
}

r_part() {
  begun=$(date +%s)
  for kind in many few alone; do : >"$folder/$kind"; done
  for file in "$tests"/test-*.R; do
    if fills "$file"; then kind=alone; elif waits "$file"; then kind=few; else kind=many; fi
    echo "$file" >>"$folder/$kind"
  done
  # Many at a time: starting R and loading the GPU's code takes seconds.
  for kind in many few alone; do
    case $kind in many) n=$jobs ;; few) n=4 ;; alone) n=1 ;; esac
    xargs -P "$n" -n 1 sh "$0" --file "$folder" "$tests" <"$folder/$kind"
  done
  cat "$folder"/*.r >"$log"
  [ -f "$folder/r-failed" ] &&
    while read -r name; do tail -n 60 "$folder/$name.r"; done <"$folder/r-failed" >>"$folder/failed"
  row "R: testthat, expectations (tests skipped: $(grep -c '^skipped: ' "$log"))" \
    "$log" "$begun" >>"$result"
  {
    echo
    echo "Tests of R that were skipped, none of them for want of a GPU:"
    echo
    sed -n 's/^skipped: *//p' "$log" | sort | uniq -c |
      awk '{ n = $1; $1 = ""; sub(/^ */, ""); print "- " $0 ": " n }'
  } >"$folder/skipped"
  grep -q '^skipped: ' "$log" && cat "$folder/skipped" >>"$result"
}

# example FILE.Rd: runs the examples of a help page.
example() {
  name=$(basename "$1" .Rd)
  echo 'library(cudafactor)' >"$folder/$name.example.R"
  Rscript -e 'tools::Rd2ex(commandArgs(TRUE)[[1]], commentDontrun = TRUE)' "$1" \
    >>"$folder/$name.example.R"
  # Examples that write do so where they run.
  if (mkdir "$folder/$name.in" && cd "$folder/$name.in" &&
    R_DEFAULT_DEVICE=pdf Rscript "$folder/$name.example.R") >"$folder/$name.example" 2>&1; then
    echo "test result: 1 passed; 0 failed" >>"$folder/$name.example"
  else
    echo "test result: 0 passed; 1 failed" >>"$folder/$name.example"
    echo "$name" >>"$folder/examples-failed"
  fi
}

documents_part() {
  begun=$(date +%s)
  sources=$tests/../..
  find "$sources/man" -name '*.Rd' | xargs -P "$jobs" -n 1 sh "$0" --example "$folder" "$tests"
  cat "$folder"/*.example >"$folder/examples"
  [ -f "$folder/examples-failed" ] &&
    while read -r name; do
      tail -n 30 "$folder/$name.example"
    done <"$folder/examples-failed" >>"$folder/failed"
  row "R: examples of help pages, options of a new session" "$folder/examples" "$begun" >>"$result"
  begun=$(date +%s)
  (cd "$sources" && Rscript tools/readme.R) >"$folder/readme" 2>&1 || {
    echo "test result: 0 passed; 1 failed" >>"$folder/readme"
    tail -n 30 "$folder/readme" >>"$folder/failed"
  }
  row "R: blocks of README.md, options of a new session" "$folder/readme" "$begun" >>"$result"
}

CUDAFACTOR_REQUIRE_GPU=1 NOT_CRAN=true
export CUDAFACTOR_REQUIRE_GPU NOT_CRAN
if [ "$1" = --file ]; then
  # One file of R tests, for xargs.
  folder=$2 tests=$3
  r "$4"
  exit 0
elif [ "$1" = --program ]; then
  # One program of Rust tests.
  folder=$2 tests=$3
  rust "$4"
  exit 0
elif [ "$1" = --example ]; then
  folder=$2 tests=$3
  example "$4"
  exit 0
fi
programs=$1 tests=$(cd "$2" && pwd) result=$3
shift 3
parts=" ${*:-rust r documents} "
folder=$(mktemp -d)
log=$folder/log
jobs=$(($(nproc) / 2))
[ "$jobs" -ge 8 ] || jobs=8
begin "$result"
case $parts in *" rust "*) rust_part ;; esac
case $parts in *" r "*) r_part ;; esac
case $parts in *" documents "*) documents_part ;; esac
[ -f "$folder/failed" ] && cat "$folder/failed"
cat "$result"
[ ! -f "$folder/failed" ]
