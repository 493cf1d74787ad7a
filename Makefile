# Every target does its own set-up in .venv, from the hash-pinned lock file.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 3000
export DAGSTER_HOME := $(CURDIR)/.dagster_home
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
.DEFAULT_GOAL := help

.PHONY: help demo test lint types imports unit wheel adapters ui sample catalogue sample-release golden lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# pip's own output is kept quiet; what it has to say about an error still appears.
$(VENV)/.ready: requirements.lock pyproject.toml setup.py $(wildcard shopsim_env/search/kernel/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo "the lock file is for Python 3.11: PYTHON=/path/to/python3.11 make ..."; exit 2; }
	@echo "setting up $(VENV) from requirements.lock (about 2 minutes the first time)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check
	@touch $@

$(DAGSTER_HOME)/dagster.yaml: configs/dagster/dagster.yaml
	@mkdir -p $(DAGSTER_HOME)
	@cp $< $@

demo: $(VENV)/.ready $(DAGSTER_HOME)/dagster.yaml ## build the sample release through Dagster and play two episodes
	@echo "== 1. raw archive to release, through Dagster"
	@$(BIN)/shopsim build --dataset sample
	@echo "== 2. the release, re-hashed"
	@$(BIN)/shopsim verify data/releases/sample/current
	@echo "== 3. a persona episode (the player knows the goal)"
	@$(BIN)/shopsim play --release data/releases/sample/current --persona --oracle --brief
	@echo "== 4. a standard episode"
	@$(BIN)/shopsim play --release data/releases/sample/current --standard --oracle --brief
	@echo "== next: 'make ui' (Dagster on http://127.0.0.1:3000), '$(BIN)/shopsim play' (play yourself),"
	@echo "         '$(BIN)/shopsim search 精华液', '$(BIN)/shopsim build --help' (your own archive), 'make help'"

test: lint types imports wheel unit ## everything that CI checks; pytest comes last

lint: $(VENV)/.ready ## format and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(VENV)/.ready ## mypy
	@$(BIN)/mypy

imports: $(VENV)/.ready $(DAGSTER_HOME)/dagster.yaml ## import rules and definitions
	@$(BIN)/lint-imports
	@$(BIN)/dg check defs

wheel: $(VENV)/.ready ## build the wheel and play an episode from it in an empty environment
	@$(BIN)/python tests/runtime/wheel_smoke.py

unit: $(VENV)/.ready $(DAGSTER_HOME)/dagster.yaml ## pytest with coverage
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term

adapters: $(VENV)/.ready ## make an environment for each trainer's package (network, minutes) and test the adapters in them
	@$(BIN)/python tests/adapters/run.py

ui: $(VENV)/.ready $(DAGSTER_HOME)/dagster.yaml ## Dagster UI on http://127.0.0.1:3000 (PORT=... to change)
	@exec $(BIN)/dg dev -h 127.0.0.1 -p $(PORT)

sample: $(VENV)/.ready ## regenerate the committed sample archive
	@$(BIN)/shopsim sample --out data/samples/sample.raw.json.gz --force

catalogue: $(VENV)/.ready ## regenerate the committed English catalogue
	@$(BIN)/shopsim sample --english --out data/samples/catalog_en.jsonl.gz --force

sample-release: $(VENV)/.ready $(DAGSTER_HOME)/dagster.yaml ## rebuild the sample release that the wheel carries
	@$(BIN)/shopsim build --dataset sample --out shopsim_env/sample_release --force

golden: $(VENV)/.ready ## play the golden episodes of the sample anew (commit the result)
	@$(BIN)/python tests/golden/make_golden.py

# Packages of trainers are not in the lock: their pins exclude each other, and each has an environment of its own.
LOCKED := pipeline postgres server client gym llm rlve dev
lock: ## renew requirements.lock (needs uv; commit the result)
	uv pip compile pyproject.toml $(LOCKED:%=--extra %) --generate-hashes --no-strip-extras --no-emit-index-url \
	  --no-emit-find-links --no-header --python-version 3.11 --upgrade -o requirements.lock

clean: ## remove everything that can be rebuilt
	rm -rf $(VENV) .dagster_home build dist *.egg-info data/artifacts data/releases
	[ ! -d data/cache ] || find data/cache -mindepth 1 -maxdepth 1 ! -name 'price_annotations.jsonl*' -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
