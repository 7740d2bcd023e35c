# On a machine with nothing but Python 3.11 or later (with its venv module), `make demo` and `make test` do all set-up
# themselves, in an environment of their own.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2
NATIVE ?= build/native
# The newest MLIR of LLVM's own packages.
MLIR_DIR ?= $(lastword $(sort $(wildcard /usr/lib/llvm-*/lib/cmake/mlir)))

PACKAGE = $(VENV)/.package-installed
TOOLS = $(VENV)/.tools-installed

.PHONY: help demo test quick lint types lit native docs dev clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	  printf '%-6s  %s\n' "$$name" "$$text"; done

demo: $(PACKAGE)  ## prove a real tensor-parallel program, then refute its twin that lacks an all-reduce
	$(BIN)/validate-hlo examples/tp_mlp/before.hlo.txt examples/tp_mlp/after.hlo.txt
	@echo
	$(BIN)/validate-hlo examples/tp_mlp/before.hlo.txt examples/tp_mlp/broken.hlo.txt; test $$? -eq 1

test: $(TOOLS)  ## run all tests
	@$(BIN)/python -m pytest -n $(JOBS) $(OPTIONS)

quick: $(TOOLS)  ## run the tests that are not marked slow
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

lint: $(TOOLS)  ## run ruff
	$(BIN)/ruff check .

types: $(TOOLS)  ## run pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

lit: $(TOOLS)  ## run the tests of the command line
	$(BIN)/lit -v lit

native:  ## build the dialect for plain MLIR 22, where that is installed (see docs/dialect.md)
	cmake -G Ninja -S cmake -B $(NATIVE) -DMLIR_DIR=$(MLIR_DIR)
	cmake --build $(NATIVE)

docs: $(TOOLS)  ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

dev: $(TOOLS)  ## install everything that the other targets need

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: '$(PYTHON)' is not Python 3.11 or later; name one with 'make PYTHON=...'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(PACKAGE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(TOOLS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[z3]' || \
	  echo "note: no z3 for this machine: the proofs of rules by SMT are skipped"
	@touch $(PACKAGE) $@
