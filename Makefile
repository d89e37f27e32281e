# One command: `make reproduce` sets everything up, runs the book and builds it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

SYSTEM_PYTHON ?= python3

# How large the run is (profiles/*.yml), and where tensors live: cpu or cuda.
PROFILE ?= laptop
DEVICE ?= cpu
# 1: train the learned generator from nothing instead of taking the weights that are there.
TRAIN ?= 0
# Chapters that do not need each other run side by side, so many at a time.
JOBS ?= 2
# They share the cores: threads of two chapters that fight for one lose more than they gain.
export OMP_NUM_THREADS ?= $(shell $(SYSTEM_PYTHON) -c 'import os; print(max(1, (os.cpu_count() or 1) // $(JOBS)))')

ARTIFACTS := artifacts/$(PROFILE)
BUILD := build/$(PROFILE)

# An active conda or virtual environment is used as it is if it holds this checkout's package, with
# what the book needs; otherwise .venv.
ACTIVE := $(shell [ -z "$${VIRTUAL_ENV:-}$${CONDA_PREFIX:-}" ] || { python -c 'import os, sys, \
  helpers, jupyter_book; sys.exit(not os.path.samefile(*helpers.__path__, "src/helpers"))' \
  2>/dev/null && echo yes || echo no; })
ifeq ($(ACTIVE),yes)
  ENV :=
  PYTHON := python
else
  ENV := .venv/installed
  PYTHON := .venv/bin/python
endif
ifeq ($(ACTIVE)$(MAKELEVEL),no0)
  $(info The active environment does not hold this checkout's package: .venv is used instead.)
endif

# Starts a program with the libraries already imported, while `make reproduce` runs.
WARM := $(PYTHON) -IS tools/warm.py

ifeq ($(wildcard profiles/$(PROFILE).yml),)
  $(error unknown PROFILE=$(PROFILE); there are: $(patsubst profiles/%.yml,%,$(wildcard profiles/*.yml)))
endif

.PHONY: help env lock notebooks check test smoke reproduce book serve clean

help:  ## list the targets
	@echo "make TARGET [PROFILE=$(PROFILE)] [DEVICE=$(DEVICE)]"
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 14

env: $(ENV)  ## create .venv with the locked versions (unless an environment with the package is active)

# Without network pip is mute for minutes: it is first asked for one package, with little patience.
PIP := .venv/bin/python -m pip install --quiet
.venv/installed: requirements.lock constraints.txt pyproject.toml
	$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version)'
	$(SYSTEM_PYTHON) -m venv .venv
	@$(PIP) --dry-run --retries 1 --no-deps "$$(grep ^setuptools== constraints.txt)" || \
	  { echo "make env: pip reaches no package index, see above; it needs a network, or a mirror in PIP_INDEX_URL" >&2; exit 1; }
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --constraint constraints.txt --no-build-isolation --editable .
	touch $@

# torch has other files for CPU, CUDA and ROCm under one version, and pip would take none but those
# whose hashes it knows; so torch, and what its CUDA build wants, stand in constraints.txt alone.
lock:  ## renew constraints.txt and requirements.lock (needs uv)
	uv pip compile --quiet pyproject.toml $(UPGRADE) --output-file constraints.txt
	uv pip compile --quiet pyproject.toml --constraint constraints.txt --generate-hashes --output-file build/hashed
	sed -E '/^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==/,/[^\]$$/d' build/hashed > requirements.lock

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
	@$(PYTHON) tools/mend.py $(PROFILE)
	@$(MAKE) --no-print-directory --dry-run book | $(PYTHON) tools/plan.py $(PROFILE) $(DEVICE)
	@$(PYTHON) tools/warm.py --serve $(MAKE) --no-print-directory --jobs=$(JOBS) book
	@echo "The book: $(BUILD)/html/index.html   (make serve PROFILE=$(PROFILE))"

book: $(BUILD)/html/index.html  ## the book alone: run missing chapters, build the pages

serve: book  ## read the book at http://127.0.0.1:8000
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory $(BUILD)/html 8000

clean:  ## remove this profile's artifacts and pages
	rm -rf $(ARTIFACTS) $(BUILD)

# Which helpers and earlier stages each notebook depends on.
LINEAGE := $(shell mkdir -p build && $(SYSTEM_PYTHON) src/helpers/artifacts/lineage.py > build/lineage.mk.tmp && mv build/lineage.mk.tmp build/lineage.mk || echo failed)
ifneq ($(LINEAGE),)
  $(error src/helpers/artifacts/lineage.py failed; see its message above)
endif
include build/lineage.mk

EXECUTED := $(foreach stage,$(PAGES),$(ARTIFACTS)/$(stage)/$(stage).ipynb)

$(ARTIFACTS)/%.ipynb: profiles/$(PROFILE).yml tools/execute.py | $(ENV)
	$(WARM) tools/execute.py notebooks/$(*F).py --profile $(PROFILE) --device $(DEVICE) --out $@

# A study is a module of the package that is run as a command.
$(STUDIES:%=$(ARTIFACTS)/%/manifest.json): $(ARTIFACTS)/%/manifest.json: profiles/$(PROFILE).yml | $(ENV)
	$(WARM) -m $(MODULE_$*) --profile $(PROFILE) $(OPTIONS)

# Weights are data that the package's source does not show; and TRAIN may ask for other ones than
# those in use.
USED := $(shell grep -qs '"trained": true' $(ARTIFACTS)/learned_generator/results.json && echo 1 || echo 0)
.PHONY: other-weights
other-weights:
$(ARTIFACTS)/learned_generator/manifest.json: $(if $(filter-out $(USED),$(TRAIN)),other-weights) $(wildcard src/helpers/generators/wgan.*)
$(ARTIFACTS)/learned_generator/manifest.json: private OPTIONS := $(if $(filter 1,$(TRAIN)),--train --device $(DEVICE))

book/_vendor/complete: tools/vendor.py | $(ENV)
	$(PYTHON) tools/vendor.py

$(BUILD)/html/index.html: $(EXECUTED) tools/book.py tools/api_reference.py tools/vendor.py $(shell find src/helpers -name '*.py') $(shell find book -type f -not -path 'book/_vendor/*') $(wildcard benchmarks/results/*.json) | book/_vendor/complete
	$(PYTHON) tools/book.py --profile $(PROFILE)
	touch $@
