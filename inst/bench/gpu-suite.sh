#!/bin/sh
# The whole test suite on a machine with a GPU, where skipping is failing, and NVIDIA's memory and race checkers over the
# Rust tests of the GPU. Needs R with the package and testthat, and the Rust test programs; no compiler.
#   sh inst/bench/gpu-suite.sh PROGRAMS TESTTHAT RESULT.md
# PROGRAMS: a folder of test programs (`cargo test --no-run --no-default-features --features cuda`);
# TESTTHAT: the folder tests/testthat. CUDAFACTOR_COMMIT names the commit they were built from.

programs=$1 tests=$2 result=$3
CUDAFACTOR_REQUIRE_GPU=1
export CUDAFACTOR_REQUIRE_GPU
log=$(mktemp)
status=0

{
  echo "# The test suite on a GPU, with skipping forbidden"
  echo
  echo "- gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "- commit: ${CUDAFACTOR_COMMIT:-unknown}"
  echo "- date: $(date +%F)"
  echo "- environment: CUDAFACTOR_REQUIRE_GPU=1, so that a skipped test or a missing GPU is a failure"
  echo
  echo "| part | passed | failed | seconds |"
  echo "|---|---|---|---|"
} >"$result"

# count WORD: adds up the numbers before WORD in the lines "test result:".
count() {
  grep '^test result:' "$log" | grep -o "[0-9]* $1" | awk '{ n += $1 } END { print n + 0 }'
}

for program in "$programs"/*; do
  [ -x "$program" ] || continue
  started=$(date +%s)
  "$program" --test-threads 8 >"$log" 2>&1 || { status=1; cat "$log"; }
  echo "| Rust: $(basename "$program") | $(count passed) | $(count failed) | $(($(date +%s) - started)) |" >>"$result"
done

started=$(date +%s)
TESTTHAT_DIR=$tests Rscript -e '
  r <- as.data.frame(testthat::test_dir(
    Sys.getenv("TESTTHAT_DIR"), package = "cudafactor", load_package = "installed", reporter = "check", stop_on_failure = FALSE
  ))
  bad <- sum(r$failed) + sum(r$error) + sum(r$skipped)
  cat(sprintf("test result: %d passed; %d failed\n", sum(r$nb) - sum(r$failed) - sum(r$skipped), bad))
  cat("skipped:", sum(r$skipped), "\n")
  quit(status = bad > 0)' >"$log" 2>&1 || { status=1; tail -n 120 "$log"; }
echo "| R: testthat, expectations (skipped: $(sed -n 's/^skipped: *//p' "$log")) | $(count passed) | $(count failed) | $(($(date +%s) - started)) |" >>"$result"

if command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    started=$(date +%s)
    shapes=all
    [ $tool = racecheck ] && shapes=few
    CUDAFACTOR_TEST_SHAPES=$shapes compute-sanitizer --tool $tool --error-exitcode 9 "$programs/cuda_agreement" \
      --test-threads 1 >"$log" 2>&1 || { status=1; tail -n 60 "$log"; }
    summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/^=* *//')
    echo "| compute-sanitizer $tool over cuda_agreement: $summary | $(count passed) | $(count failed) | $(($(date +%s) - started)) |" >>"$result"
  done
else
  status=1
  echo "| compute-sanitizer: not found | 0 | 1 | 0 |" >>"$result"
fi

cat "$result"
exit $status
