# PYTHON=python3.12 make build    uses another Python than python3

python := .venv/bin/python
setup := build/tools/bin/python setup.py --quiet build_stubs build_ext --inplace
# cython-lint starts pycodestyle from the PATH.
with_venv := PATH="$(CURDIR)/.venv/bin:$$PATH"
# The tests of a file share a server or a Ray, so they run in one process.
parallel := --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: help build test test-slow test-browser test-all test-timing serve bench client examples lint ruff mypy cython-lint contract web sanitize threads gates signature lock clean

help:  ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

build:  ## Make or refresh .venv with everything, the extensions and the protobuf stubs
	@.ci/venv dev
	@$(setup)

test: build  ## Build, then run the quick tests: some of everything, in 3 to 4 minutes on 2 cores
	@$(python) -m pytest $(parallel) -m "not slow and not browser and not timing"

test-slow: build  ## Build, then run the slow tests, which `make test` leaves out
	@$(python) -m pytest $(parallel) -m "slow and not browser and not timing"

# Playwright keeps an event loop running in its process, so these tests have processes of their own.
test-browser: build  ## Build, then run the tests of the page in Chromium; skipped where there is none
	@$(python) -m pytest $(parallel) tests/browser

test-all: test test-slow test-browser  ## Build, then run all tests but those of timings; the machine may be busy

test-timing: build  ## Build, then run the tests of timings, which need a quiet machine
	@$(python) -m pytest -m timing

serve:  ## Build with the packages that serving needs, and serve gRPC on 127.0.0.1:50051, HTTP on 127.0.0.1:8080; FLAGS="--backend ray" adds Ray
	@.ci/venv $(if $(findstring ray,$(FLAGS)),ray,server)
	@$(setup)
	@exec $(python) -m server $(FLAGS)

bench: build  ## Build, then run the benchmarks
	@$(python) -m benchmarks

client: build  ## Build the Python client alone, as a wheel in dist/
	@.ci/client

examples: build  ## Install the toolchains of the examples in other languages, so that their tests run
	@.ci/examples

lint: ruff mypy cython-lint contract  ## Check style and types

ruff: build
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check

mypy: build
	@.venv/bin/mypy --strict

cython-lint: build
	@$(with_venv) cython-lint engine_cy solver benchmarks tests examples

contract: build  ## Check the style of proto/, and its compatibility with clients of the last release
	@.ci/contract

web: build  ## Rebuild the page of the server from its sources, after a change to server/web/board; needs npm
	@.ci/web write

sanitize: build  ## Play random games under the address and undefined-behaviour sanitizers
	@.ci/sanitize

threads: build  ## Search on several threads under the thread sanitizer
	@.ci/threads

gates: build threads  ## Run both sanitizers before a release, with ten times as many games
	@.ci/sanitize full

signature: build  ## Check that equal seeds still give equal answers, at -O1 and -O3
	@.ci/signature

lock:  ## Write the lock files after a change of pyproject.toml
	@.ci/lock

clean:  ## Remove .venv and everything built
	@rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@rm -rf examples/*/build examples/games/*/build examples/typescript/node_modules examples/typescript/generated
	@find engine_cy solver benchmarks tests examples -name '*.so' -delete
	@find proto \( -name '*_pb2*.py' -o -name '*_pb2*.pyi' \) -delete
	@rm -f engine_cy/*/words.pyi
