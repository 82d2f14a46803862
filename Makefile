# For people who work on cudafactor. `make help` lists what there is.

export CARGO_TARGET_DIR ?= $(CURDIR)/build/target
LIBRARY = build/library

.PHONY: help demo quick test test-next check-kernels build install wrappers kernels docs lint \
  vendor authors check test-gpu size bench bench-peers figures results site clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | \
	  awk -F'|' '{ printf "%-19s %s\n", $$1, $$2 }'

demo: ## a first look: builds the package, runs two of inst/examples, writes demo-output/
	sh tools/demo.sh

quick: ## AREA=pcg: formatting, clippy, and the tests of one area, on a debug build
	@sh tools/quick.sh "$(AREA)"

test: ## lints, tests, R CMD check on this machine's R; ends with "N passed, N failed"
	sh tools/test.sh

test-next: ## R CMD check on the R of Debian's next release, in a chroot, where that can run
	sh tools/test-next.sh

build: vendor ## the source package, with its crates inside, in build/
	sh tools/build.sh

install: ## installs from this folder into R's default library; DEBUG=1 for a quick, slow build
	R CMD INSTALL .

wrappers: ## R/extendr-wrappers.R from the Rust library
	mkdir -p $(LIBRARY)
	DEBUG=1 R CMD INSTALL --libs-only --no-test-load -l $(LIBRARY) .
	Rscript tools/wrappers.R $(LIBRARY)/cudafactor/libs/cudafactor.so

kernels: ## PTX and machine code from the CUDA sources; needs no GPU
	python3 tools/kernels.py

docs: ## NAMESPACE and man/ from the comments in R/
	Rscript -e 'roxygen2::roxygenise(load_code = "source")'

check-kernels: ## makes PTX and machine code again and compares; `make test` does so for PTX alone
	python3 tools/kernels.py --check

lint: ## formatting, imports, length of lines, clippy for the four feature sets, rustdoc
	sh tools/lint.sh

vendor: ## build/vendor.tar.xz, the crates for a build without network
	python3 tools/crates/vendor.py

authors: ## inst/AUTHORS and LICENSE.note from the locked crates
	python3 tools/crates/authors.py

check: build ## R CMD check --as-cran of the source package
	sh tools/check.sh

test-gpu: ## the tests of the CUDA backend; fails where there is no GPU
	sh tools/test-gpu.sh

size: ## bench/results/size.md: size of the package, time to install it
	sh bench/package/size.sh

bench: ## times of the installed package beside base R's, in build/bench.md
	Rscript inst/examples/compare.R build/bench.md

bench-peers: ## our kernels beside cuBLAS and cuSOLVER, on a machine with a GPU and those libraries
	sh bench/dense/gpu-peers.sh \
	  --routines gemm,syrk,trsm,potrf,potrf_batched,sgemm,strsm,spotrf,spotrf_batched
	sh bench/dense/gpu-peers.sh -o gpu-peers-lu-qr \
	  --routines getrf,geqrf,geqrf_tall,orgqr,chol_lu,sgetrf,sgeqrf,sgeqrf_tall

figures: ## man/figures from the results of bench-peers, chol-orders.sh and chol-update.sh
	Rscript bench/dense/plot-peers.R
	Rscript bench/cholesky/plot-orders.R
	Rscript bench/updates/plot-updates.R

results: ## bench/RESULTS.md, and tables in README.md and vignettes/, from bench/results
	Rscript bench/report.R

site: ## build/site, by pkgdown, with the installed package; SITE_LIBRARY=folder is its library
	sh tools/site.sh $(SITE_LIBRARY)

clean: ## removes what the other targets built
	./cleanup
	rm -rf build demo-output
