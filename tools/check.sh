#!/bin/sh
# R CMD check --as-cran on build/cudafactor_VERSION.tar.gz. Fails on an ERROR or a WARNING, and
# counts what the tests expected. Leaves the installed package in build/cudafactor.Rcheck.
# CUDAFACTOR_CHECK_OPTIONS has further options.

cd "$(dirname "$0")/.." || exit 1
. tools/env.sh

# CRAN's database and the world clock are on the network, and say nothing about this package.
_R_CHECK_CRAN_INCOMING_REMOTE_=false
_R_CHECK_SYSTEM_CLOCK_=FALSE
# As on CRAN.
OMP_THREAD_LIMIT=2
# All tests, unlike there.
NOT_CRAN=true
export _R_CHECK_CRAN_INCOMING_REMOTE_ _R_CHECK_SYSTEM_CLOCK_ OMP_THREAD_LIMIT NOT_CRAN

# shellcheck disable=SC2086
R CMD check --as-cran --no-manual $CUDAFACTOR_CHECK_OPTIONS -o build build/cudafactor_*.tar.gz
status=$?
# The check shows only the last lines of what failed.
sed -n '/^══ Failed tests/,$p' build/cudafactor.Rcheck/tests/testthat.Rout.fail 2>/dev/null
cat build/cudafactor.Rcheck/tests/testthat.Rout* |
  sed -n 's/^\[ FAIL \([0-9]*\) .* PASS \([0-9]*\) \]$/\2 expectations passed; \1 failed/p' |
  sed 's/^/test result: /' |
  tail -n 1
[ "$status" -eq 0 ] && ! grep -q '^Status:.*\(ERROR\|WARNING\)' build/cudafactor.Rcheck/00check.log
