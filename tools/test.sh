#!/bin/sh
# Everything CI runs, as named steps. A failing step does not stop the others.
# The last line counts the tests of every step (a step that counts no tests is one).

cd "$(dirname "$0")/.." || exit 1
sh tools/setup.sh test || exit 1
. tools/env.sh
# What is built once has no use for what builds it faster a second time.
CARGO_INCREMENTAL=0
export CARGO_INCREMENTAL

logs=build/logs
rm -rf "$logs"
mkdir -p "$logs"

# sum WORD LOG: adds up the numbers before WORD in the lines "test result: ...".
sum() {
  grep '^test result:' "$2" | grep -o "[0-9]* \(expectations \)\{0,1\}$1" |
    awk '{ n += $1 } END { print n + 0 }'
}

# step NAME COMMAND...; leaves its seconds and counts in a line of build/logs/steps.
step() {
  name=$1
  shift
  log=$logs/$(echo "$name" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9\n' '-').log
  started=$(date +%s)
  "$@" >"$log" 2>&1
  status=$?
  elapsed=$(($(date +%s) - started))
  good=$(sum passed "$log")
  bad=$(sum failed "$log")
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$status" -eq 0 ] && [ "$((good + bad))" -eq 0 ]; then good=1; fi
  echo "$elapsed $good $bad $name" >>"$logs/steps"
  if [ "$bad" -eq 0 ]; then
    printf 'ok    %-44s %5d passed, %4d s\n' "$name" "$good" "$elapsed"
  else
    printf 'FAIL  %-44s %5d failed, %4d s; %s:\n' "$name" "$bad" "$elapsed" "$log"
    # What failed comes first, since a reader may see no more than the beginning.
    { grep -A 12 -E '^(── (Failure|Error) |test .* FAILED|thread .* panicked)' "$log" | head -n 80
      echo ...
      tail -n 40 "$log"; } | sed 's/^/      /'
  fi
}

# beside MODE COMMAND...: with a lock on tests that is shared (-s) or not (-x). Those of R share it
# with `make test-next`. Those of Rust, of which some measure time, run alone.
beside() {
  mode=$1
  shift
  command -v flock >/dev/null || {
    "$@"
    return
  }
  # The last command of a subshell would take its place, and close the lock's file.
  (flock "$mode" 9 && { "$@" 9>&-; exit "$?"; }) 9>build/tests.lock
}

rust_tests() {
  (cd src/rust && cargo test -j 2 --locked --no-fail-fast "$@")
}

# Of the lowest priority, since the tests of R CMD check run next to it.
compile_rust_tests() {
  nice -n 19 cargo test -j 2 --locked --no-run --manifest-path src/rust/Cargo.toml
}

# The same version and the same oldest compiler in DESCRIPTION and in Cargo.toml.
same_versions() {
  field() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" src/rust/Cargo.toml | head -n 1; }
  grep -qx "Version: $(field version)" DESCRIPTION &&
    grep -q "rustc (>= $(field rust-version))" DESCRIPTION
}

installed=build/cudafactor.Rcheck

wrappers_are_current() {
  Rscript tools/wrappers.R "$installed/cudafactor/libs/cudafactor.so" build/extendr-wrappers.R &&
    diff -u R/extendr-wrappers.R build/extendr-wrappers.R
}

docs_are_current() {
  copy=build/docs/cudafactor
  rm -rf build/docs
  mkdir -p "$copy"
  cp -r DESCRIPTION NAMESPACE R man "$copy/" &&
    (cd "$copy" && Rscript -e 'roxygen2::roxygenise(load_code = "source")') &&
    diff -u NAMESPACE "$copy/NAMESPACE" && diff -ru man "$copy/man" &&
    diff -u DESCRIPTION "$copy/DESCRIPTION"
}

lints() {
  step "rust: formatting" sh tools/lint.sh format
  step "rust: clippy, no R, no CUDA" sh tools/lint.sh core
  step "rust: clippy, R" sh tools/lint.sh r
  step "rust: clippy, CUDA and R" sh tools/lint.sh default
  step "rust: documentation" sh tools/lint.sh documentation
  step "scripts: POSIX shell" checkbashisms .ci/run configure configure.win cleanup \
    cleanup.win tools/*.sh
  step "generated: PTX" python3 tools/kernels.py --check-ptx
  step "generated: AUTHORS and LICENSE.note" python3 tools/crates/authors.py --check
  step "generated: versions agree" same_versions
  step "generated: NAMESPACE and man" docs_are_current
  step "generated: tables of measurements" Rscript bench/report.R --check
}

# What needs the package that R CMD check installed. Of the lowest priority, since the tests of
# `make test-next` may run next to it.
uses_of_package() {
  step "readme: R blocks" nice -n 19 Rscript tools/readme.R "$installed"
  step "generated: wrappers" wrappers_are_current
  step "site: pkgdown" nice -n 19 sh tools/site.sh "$installed"
}

# Each of these leaves a core idle for part of its time, so that two take less together than one
# after the other. Next to tests of R run those of `make test-next`, and a compilation of the lowest
# priority. `make check` builds the package as users do. R CMD check there and in `make test-next`
# builds the vignettes again, which R CMD build has just built from the same sources.
lints &
step "package: R CMD build" env CUDAFACTOR_PROFILE=r-check sh tools/build.sh
wait
rm -rf "$installed"
step "rust: compilation of tests" compile_rust_tests &
step "package: R CMD check --as-cran" beside -s env CUDAFACTOR_PROFILE=r-check \
  CUDAFACTOR_CHECK_OPTIONS=--no-build-vignettes sh tools/check.sh
uses_of_package
wait
step "rust: tests, CUDA and R" beside -x rust_tests
if grep -q '^site: skipped' build/logs/site-pkgdown.log; then cat build/logs/site-pkgdown.log; fi

sed -n '/NOTE$/,/^\* /p' "$installed/00check.log" 2>/dev/null | sed '/^\* .*OK$/d; s/^/      /'
echo
echo "The ten slowest steps:"
sort -rn "$logs/steps" | head -n 10 |
  awk '{ seconds = $1; $1 = $2 = $3 = ""; sub(/^ */, ""); printf "%6d s  %s\n", seconds, $0 }'
echo
awk '{ good += $2; bad += $3 } END { print good " passed, " bad " failed"; exit (bad > 0) }' \
  "$logs/steps"
