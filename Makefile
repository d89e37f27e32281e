# One command: `make reproduce` sets everything up, runs the book and builds it.
.DEFAULT_GOAL := help
SYSTEM_PYTHON ?= python3

# How large the run is (profiles/*.yml), and where tensors live: cpu or cuda.
PROFILE ?= laptop
DEVICE ?= cpu
# 1: train the learned generator from nothing instead of taking the weights that are there.
TRAIN ?= 0
# Steps that run side by side; by default a few, by the number of cores.
JOBS ?=

# An active conda or virtual environment that holds the package is used as it is; otherwise .venv.
ACTIVE := $(shell [ -n "$${VIRTUAL_ENV:-}$${CONDA_PREFIX:-}" ] && python -c 'import helpers, jupyter_book' 2>/dev/null && echo yes)
ENV := $(if $(ACTIVE),,.venv/installed)
PYTHON := $(if $(ACTIVE),python,.venv/bin/python)
RUN := $(PYTHON) tools/run.py $(PROFILE)

.PHONY: help env notebooks check test smoke reproduce chapter why graph verify serve clean

help:  ## list the targets
	@echo "make TARGET [PROFILE=$(PROFILE)] [DEVICE=$(DEVICE)]"
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 14

env: $(ENV)  ## create .venv with the locked versions (unless an environment with the package is active)

.venv/installed: requirements.lock pyproject.toml
	$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version)'
	$(SYSTEM_PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --requirement requirements.lock
	.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

notebooks: $(ENV)  ## regenerate the paired .ipynb from the .py sources
	$(PYTHON) tools/pair.py

check: $(ENV)  ## style, pairing and the book's conventions, in seconds
	$(PYTHON) -m ruff check src tests tools notebooks benchmarks
	$(PYTHON) -m ruff format --check src tests tools notebooks benchmarks
	$(PYTHON) tools/check.py

smoke:  ## run the whole book in the smoke profile
	$(MAKE) --no-print-directory reproduce PROFILE=smoke

test: check smoke  ## everything: conventions, the book in the smoke profile, unit and browser tests
	$(PYTHON) -m pytest --numprocesses 2 --dist loadfile

reproduce: $(ENV)  ## run what changed and build the book (the main command)
	@$(RUN) --device $(DEVICE) $(if $(JOBS),--jobs $(JOBS)) $(if $(filter 1,$(TRAIN)),--train)

chapter: $(ENV)  ## run one chapter, STAGE=09_logistic_ate, and what it needs, without the pages
	@$(RUN) --device $(DEVICE) $(if $(JOBS),--jobs $(JOBS)) --stage $(STAGE)

why: $(ENV)  ## say why STAGE=... would run again
	@$(RUN) --why $(STAGE)

graph: $(ENV)  ## print what reads what, for Graphviz
	@$(RUN) --graph

verify: $(ENV)  ## read every byte of the artifacts, and forget what is damaged
	@$(RUN) --verify

serve: reproduce  ## read the book at http://127.0.0.1:8000
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory build/$(PROFILE)/html 8000

clean:  ## remove this profile's artifacts and pages
	rm -rf "$${HELPERS_ARTIFACTS:-artifacts}/$(PROFILE)" build/$(PROFILE)
