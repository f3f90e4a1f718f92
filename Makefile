# SPDX-License-Identifier: Apache-2.0
# The front door. Each target can be run again at any time; the work is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help setup build demo wheel sdist tarball deb test test-all lint cover fuzz bench trial format reference clean

FUZZ_SECONDS ?= 60

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

setup: ## install what the build needs and this machine lacks
	@scripts/setup.sh build

build: setup ## build the program; it is then at build/footplate
	@scripts/build.sh

demo: ## build, record a small training program twice, show what was recorded
	@scripts/demo.sh

wheel: ## a wheel for pip, pipx and uvx, for every Linux with glibc 2.28, in dist/
	@scripts/package.sh wheel

sdist: ## the sources with the built page, for pip, in dist/
	@scripts/package.sh sdist

tarball: ## program, package and manual for every Linux with glibc 2.28, in dist/
	@scripts/package.sh tarball

deb: ## a Debian package for this release of Debian, in dist/
	@scripts/package.sh deb

test: ## install what it needs, then check and test one build with sanitizers (10 minutes)
	@scripts/test.sh

test-all: ## that, and all compilers, frameworks, browser sizes and soak tests (40 minutes)
	@scripts/test.sh all

lint: ## static checks: C, Python, shell, the page, documentation
	@scripts/test.sh lint

cover: ## which lines of src/ the unit and command line tests run; build/cover/index.txt
	@scripts/cover.sh

fuzz: ## fuzz each parser for FUZZ_SECONDS (60) seconds
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

bench: ## run the benchmarks
	@scripts/setup.sh bench
	@scripts/build.sh
	@python3 bench/run.py

trial: ## planted problems and healthy runs: is the cause found (an hour or more, nothing else may run)
	@scripts/trial.sh

format: ## put all sources into the one format
	@scripts/setup.sh lint
	@tools/sources.py .c .h | xargs clang-format-14 -i
	@.venv/bin/ruff check --quiet --select I --fix .
	@.venv/bin/ruff format --quiet .

reference: build ## write the parts of docs/ that the program prints
	@tools/make_reference.py build/footplate docs

clean: ## remove what was built; recorded runs stay
	rm -rf build dist
