#!/bin/sh
# The site in build/site, by pkgdown: home, reference, articles and news. Uses an installed package.
#   sh tools/site.sh [LIBRARY]     the library that cudafactor is installed in

cd "$(dirname "$0")/.." || exit 1
. tools/env.sh

if ! Rscript -e 'quit(status = !requireNamespace("pkgdown", quietly = TRUE))' 2>/dev/null; then
  echo "site: skipped: R package pkgdown is not installed (Debian: apt-get install r-cran-pkgdown)"
  exit 0
fi
if [ -n "$1" ]; then
  R_LIBS=$(cd "$1" && pwd)${R_LIBS:+:$R_LIBS}
  export R_LIBS
fi
rm -rf build/site
mkdir -p build
Rscript tools/site.R
