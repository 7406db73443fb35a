# Every target builds what it needs, starting from nothing. `make` lists them.

PYTHON ?= python3
ARGS ?= -n auto --dist worksteal
# Hides progress and warnings, not errors. Use `make PIP_FLAGS= ...` to watch an installation.
PIP_FLAGS ?= -qq

VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported, which is a small part of what is installed.
PIP_INSTALL := $(BIN)/python -m pip install $(PIP_FLAGS) --no-compile -c constraints.txt

# One stamp for each set of packages: a second call installs nothing.
RUNTIME := $(VENV)/.stamp-runtime
DEV := $(VENV)/.stamp-dev
BENCH := $(VENV)/.stamp-bench
DIST := $(VENV)/.stamp-dist
DOCS := $(VENV)/.stamp-docs
# An older torch than the tested one may bring some GB for CUDA, so that one is asked for:
# TORCH=2.6.0 is the oldest. Each has an environment of its own.
TORCH ?= $(shell sed -n 's/^torch==//p' constraints.txt)
LOWEST := .venv-lowest-$(TORCH)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-lowest faults lint style audit format docs pictures dist runs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## train HGCN and a Euclidean GCN on a simulated epidemic; leaves runs/demo
	@rm -rf runs/demo
	@$(BIN)/hgcn train disease --task node --out runs/demo/hgcn
	@$(BIN)/hgcn train disease --task node --model gcn --out runs/demo/gcn
	@$(BIN)/hgcn compare runs/demo/hgcn runs/demo/gcn

# One thread for each worker: several workers with several threads each slow one another down.
test: $(DEV) ## run the tests; choose with ARGS="-k distance -x"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(ARGS)

# In an environment of its own, which holds the lower bounds of pyproject.toml and nothing newer.
test-lowest: $(LOWEST)/.stamp ## run the tests on the oldest versions that pyproject.toml allows; TORCH=2.6.0
	@OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest $(ARGS)

# SEED=17 repeats the tries of a run that said so.
faults: $(DEV) ## attack hgcn with many tries and count what holds (15 minutes)
	@HGCN_FAULTS=full HGCN_FAULTS_SEED=$(or $(SEED),$(shell date +%s)) OMP_NUM_THREADS=1 \
	    $(BIN)/python -m pytest -n auto --dist worksteal tests/faults

lint: style audit ## check format, style, types and security

style: $(DEV) ## check format, style and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python .ci/lint_page.py

audit: $(DEV) ## look for insecure code, and for packages with known faults
	@$(BIN)/bandit -q -c pyproject.toml -r src
	@$(BIN)/python .ci/audit.py

format: $(DEV) ## format the code and fix what can be fixed
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

docs: $(DOCS) ## build the documentation as a site, docs/_build; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -E docs docs/_build
	@echo "docs/_build/index.html"

pictures: $(RUNTIME) ## make the pictures of README and documentation anew (some minutes, a browser)
	@$(BIN)/python .ci/pictures.py

dist: $(DIST) ## build and check the wheel and the source archive
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . >/dev/null
	@$(BIN)/python -m twine check --strict dist/*

runs: $(RUNTIME) ## train the runs of a release and pack them, dist/runs (a quarter of an hour)
	@$(BIN)/python .ci/release_runs.py

bench: $(BENCH) ## measure accuracy and speed against other packages
	@$(BIN)/python benchmarks/geometry_accuracy.py
	@$(BIN)/python benchmarks/geometry_speed.py
	@$(BIN)/python benchmarks/layers.py

clean: ## remove .venv, caches and build results
	@rm -rf $(VENV) .venv-lowest-* build dist docs/_build docs/reference .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "hgcn needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)." \
	         "Name another one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUNTIME): $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo "Installing hgcn into $(VENV); the first time takes a minute or more." >&2
	@$(PIP_INSTALL) -e '.[all]'
	@touch $@

$(DEV): $(RUNTIME)
	@echo "Installing the packages for tests and checks." >&2
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@

$(BENCH): $(RUNTIME)
	@echo "Installing the packages for benchmarks." >&2
	@$(PIP_INSTALL) -e '.[bench]'
	@touch $@

$(DIST): $(RUNTIME)
	@$(PIP_INSTALL) -e '.[dist]'
	@touch $@

$(DOCS): $(RUNTIME)
	@echo "Installing the packages for the documentation." >&2
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $@

$(LOWEST)/.stamp: pyproject.toml .ci/lowest.py
	@echo "Installing the oldest versions into $(LOWEST)." >&2
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(PYTHON) .ci/lowest.py torch==$(TORCH) >$(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install $(PIP_FLAGS) -c $(LOWEST)/constraints.txt -e '.[test]'
	@touch $@
