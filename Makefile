# What a contributor does, each in one word. `make` alone says what there is.
#
# Everything runs in .venv, which is made on first use and renewed when pyproject.toml changes. No compiler, no root.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help venv bench run baseline test test-clients lint format wheel clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.made ## make .venv with everything in it

bench: $(VENV)/.made ## measure all four suites, quick profile, about a minute
	$(BIN)/python -m derive_bench --profile quick

run: $(VENV)/.made ## measure all four suites, standard profile, into run.json
	rm -f run.json
	$(BIN)/python -m derive_bench -o run.json

baseline: run ## the same, and keep the figures in BENCHMARKS.md
	$(BIN)/python -m derive_bench baseline run.json

test: $(VENV)/.made ## run the tests, with the adapter's coverage
	$(BIN)/python -m pytest -q -n auto --cov=derive_bench.adapter --cov-report=term:skip-covered --cov-fail-under=95

test-clients: $(VENV)/.made ## run the tests against programs that nobody here wrote; installs what they need in your cache
	$(BIN)/python -m pytest -q -rs -m clients tests/clients

lint: $(VENV)/.made ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.made ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(VENV)/.made ## build dist/*.whl
	$(BIN)/python -m build --wheel --no-isolation

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache run.json

$(VENV)/.made: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON) here: apt install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "make: $(PYTHON) is not Python 3.11 to 3.13: give one with make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "make: $(PYTHON) has no venv: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
