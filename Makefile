SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
PY := .venv/bin/python
EXTRAS := plots,test

# Constraints reach the isolated build as well; pip before 25.3 reads the first name there, later ones the second.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(PY) -m pip install -qq -c constraints.txt
PEERS := skglm celer adelie snapml abess lightgbm catboost
BENCH_CONSTRAINTS := PIP_CONSTRAINT=benchmarks/constraints.txt PIP_BUILD_CONSTRAINT=benchmarks/constraints.txt
OLDEST_CONSTRAINTS := PIP_CONSTRAINT=.venv-oldest/constraints.txt PIP_BUILD_CONSTRAINT=.venv-oldest/constraints.txt
BENCH_INSTALL := $(BENCH_CONSTRAINTS) .venv-bench/bin/python -m pip install -qq -c benchmarks/constraints.txt

# Runs every module of a folder whose name has no leading underscore.
define run_folder
	@found=; \
	for file in $(1)/[!_]*.py; do \
	  [ -e "$$file" ] || continue; \
	  found=yes; module=$${file%.py}; \
	  $(PY) -m "$${module//\//.}"; \
	done; \
	[ -n "$$found" ] || echo "There is nothing in $(1)/ to run yet."
endef

.PHONY: help demo test test-slow test-oldest lint bench papers docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/.installed: pyproject.toml constraints.txt
	@echo "Installing skgraft and its tools into .venv (done once) ..."
	@[ -x $(PY) ] || $(PYTHON) -m venv .venv
	@$(INSTALL) -e ".[$(EXTRAS)]"
	@touch $@

.venv/.docs: .venv/.installed
	@$(INSTALL) -e ".[docs]"
	@touch $@

demo: .venv/.installed ## find the features that matter in two data sets, with certificates
	@$(PY) -m skgraft.demo

test: lint ## lint, types, tests and doctests: all that must pass before a commit
	$(PY) -m pytest -n 2

test-slow: .venv/.installed ## the tests that take long or read real data sets
	$(PY) -m pytest -n 2 -m "slow or data"

# The lower bounds of pyproject.toml, which must not be lower than what works. Versions this old have no wheels for
# Python 3.13, so PYTHON must be 3.11 or 3.12. A .venv-oldest that is there keeps its Python: remove it to try another.
.venv-oldest/.installed: pyproject.toml tests/lower_bounds.py
	@echo "Installing skgraft with the oldest versions it allows into .venv-oldest (done once) ..."
	@[ -x .venv-oldest/bin/python ] || $(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python tests/lower_bounds.py $(EXTRAS) > .venv-oldest/constraints.txt
	@$(OLDEST_CONSTRAINTS) .venv-oldest/bin/python -m pip install -qq -e ".[$(EXTRAS)]"
	@touch $@

test-oldest: .venv-oldest/.installed ## the tests with the oldest versions that pyproject.toml allows
	.venv-oldest/bin/python -m pytest -n 2

lint: .venv/.installed ## ruff (rules and format), mypy, and the layers of imports
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

# adelie needs NumPy 1, hence an environment and pinned versions of its own. A peer that cannot be installed is left
# out, and the tables say so.
.venv-bench/.installed: pyproject.toml benchmarks/constraints.txt
	@echo "Installing skgraft and its peers into .venv-bench (done once) ..."
	@[ -x .venv-bench/bin/python ] || $(PYTHON) -m venv .venv-bench
	@$(BENCH_INSTALL) -e .
	@$(BENCH_INSTALL) -e ".[bench]" || for peer in $(PEERS); do \
	  $(BENCH_INSTALL) $$peer || echo "$$peer cannot be installed; it will be left out."; \
	done
	@touch $@

bench: PY := .venv-bench/bin/python
bench: .venv-bench/.installed ## time skgraft against its peers
	$(call run_folder,benchmarks)

papers: .venv/.installed ## the papers' tables, ours beside theirs
	$(call run_folder,papers)

ifneq ($(wildcard docs/conf.py),)
docs: .venv/.docs ## build the documentation into docs/_build
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html
else
docs:
	@echo "There is no documentation in docs/ to build yet."
endif

clean: ## remove everything that make made, .venv included
	rm -rf .venv .venv-bench .venv-oldest build dist docs/_build docs/auto_examples docs/generated docs/results docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
