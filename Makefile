# One command: `make reproduce` sets everything up, runs the book and builds it.
.DEFAULT_GOAL := help
SYSTEM_PYTHON ?= python3

# How large the run is (profiles/*.yml), and where tensors live: cpu or cuda.
PROFILE ?= laptop
DEVICE ?= cpu
# 1: train all networks here; 0: take those that ship; else those in use.
TRAIN ?=
# Steps that run side by side; by default a few, by the number of cores.
JOBS ?=
# The weights of a generator of your own (chapter 18), the ONNX file of the model that is asked about
# its faces, and a folder with what people said of them: all three begin a study in audits/.
GENERATOR ?=
MODEL ?=
CROWD ?=
# Address of a Dask scheduler that makes a generator's images (note N8), as tcp://10.0.0.5:8786.
SCHEDULER ?=
export SCHEDULER

# An active conda or virtual environment is used as it is if it holds this checkout's package, with
# what the book needs; otherwise .venv.
ACTIVE := $(shell [ -z "$${VIRTUAL_ENV:-}$${CONDA_PREFIX:-}" ] || { python -c 'import os, sys, \
  helpers, jupyter_book; sys.exit(not os.path.samefile(*helpers.__path__, "src/helpers"))' \
  2>/dev/null && echo yes || echo no; })
ENV := $(if $(filter yes,$(ACTIVE)),,.venv/installed)
PYTHON := $(if $(ENV),.venv/bin/python,python)
ifeq ($(ACTIVE)$(MAKELEVEL),no0)
  $(info The active environment does not hold this checkout's package: .venv is used instead.)
endif

# Empty values are those by default; names of files may have spaces.
# A MODEL or CROWD that happens to be in the environment belongs to something else.
MEANT = $(if $(GENERATOR)$(filter command,$(origin $(1))),$($(1)))
OWN := $(if $(GENERATOR),--generator "$(GENERATOR)") $(if $(call MEANT,MODEL),--model "$(MODEL)") \
  $(if $(call MEANT,CROWD),--crowd "$(CROWD)")
OPTIONS := --device $(DEVICE) $(JOBS:%=--jobs %) $(TRAIN:%=--train %) $(OWN)
RUN := $(PYTHON) tools/run.py $(PROFILE) $(OPTIONS)
NAMED = $(or $(STAGE),$(error which one? for example `make $@ STAGE=09_logistic_ate`))

.PHONY: help env lab lock notebooks check test digest golden published faults crowd-test smoke reproduce audit audit-plan train chapter why claims \
  course course-try course-tables league league-deliver league-grade league-reveal pdf serve clean

help:  ## list the targets
	@echo "make TARGET [PROFILE=$(PROFILE)] [DEVICE=$(DEVICE)]"
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 18

env: $(ENV)  ## create .venv with the locked versions (unless an environment with the package is active)

# Without network pip is mute for minutes: it is first asked for one package, with little patience.
# Without HOME it would keep its cache in a folder called ~ of this one.
PIP := .venv/bin/python -m pip install --quiet $(if $(HOME),,--no-cache-dir)
.venv/installed: requirements.lock constraints.txt pyproject.toml
	$(SYSTEM_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version)'
	$(SYSTEM_PYTHON) -m venv .venv
	@$(PIP) --dry-run --retries 1 --no-deps "$$(grep ^setuptools== constraints.txt)" || \
	  { echo "make env: pip reaches no package index, see above; it needs a network, or a mirror in PIP_INDEX_URL" >&2; exit 1; }
	@echo "make env: fetching and installing a few gigabytes; pip says nothing for some minutes"
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --constraint constraints.txt --no-build-isolation --editable '.[torch,onnx,http,openvino,node,people,cluster,adjusted]'
	.venv/bin/python tools/kernelspec.py
	touch $@

# torch has other files for CPU, CUDA and ROCm under one version, and pip would take none but those
# whose hashes it knows; so torch, and what its CUDA build wants, stand in constraints.txt alone.
GROUPS := --group book --group test
lock:  ## renew constraints.txt and requirements.lock (needs uv)
	uv pip compile --quiet pyproject.toml $(GROUPS) $(UPGRADE) --output-file constraints.txt
	mkdir -p build
	uv pip compile --quiet pyproject.toml $(GROUPS) --constraint constraints.txt --generate-hashes --output-file build/hashed
	sed -E '/^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==/,/[^\]$$/d' build/hashed > requirements.lock
	cd tests/crowd && uv pip compile --quiet --no-config --universal --python-version 3.11 --no-annotate \
	  --generate-hashes $(UPGRADE) label_studio.in --output-file label_studio.lock

notebooks: $(ENV)  ## regenerate the paired .ipynb from the .py sources
	$(PYTHON) tools/pair.py

check: $(ENV)  ## style, types, pairing and the conventions of the book, in less than a minute
	$(PYTHON) -m ruff check src tests tools notebooks benchmarks course
	$(PYTHON) -m ruff format --check src tests tools notebooks benchmarks course
	$(PYTHON) tools/check.py
	$(PYTHON) -m basedpyright --pythonpath "$$($(PYTHON) -c 'import sys; print(sys.executable)')"

smoke: $(ENV)  ## run the whole book in the smoke profile
	@$(PYTHON) tools/run.py smoke $(OPTIONS)

test: check smoke  ## everything: conventions, the book in the smoke profile, unit and browser tests
	@# Three at once, because some wait for processes; threads of torch besides would take twice as long.
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest --numprocesses 3

digest: $(ENV)  ## compute a small part of every layer, and compare with the numbers of record
	@$(PYTHON) tests/digest.py

# The first faces of the record alone, such as LIVE=6; and hyperplanes of people's answers in the
# generator's codes (an .npz, or the folder of the published pickles).
LIVE ?=
PLANES ?=
published: $(ENV)  ## ask published models about photographic faces, compare with the record (LIVE=6: of six)
	@$(PYTHON) -m published $(LIVE:%=--live %) $(if $(PLANES),--planes "$(PLANES)")

# The audits take some minutes; their reports lie in build/audits afterwards.
EXAMPLE_AUDITS := $(addprefix audits/,example example-smoke verification) \
  $(addprefix src/faceaudit/examples/,pairs portraits table)
golden: reproduce  ## compare every number of the run and of the example audits with those of record
	@for audit in $(EXAMPLE_AUDITS); do $(PYTHON) -m faceworld.audit run $$audit.yml || exit 1; done
	@$(PYTHON) tests/golden.py $(PROFILE)
	@$(PYTHON) tests/golden.py audits

faults: $(ENV)  ## provoke far more faults than `make test` does (20 minutes)
	FAULTS=40 $(PYTHON) -m pytest tests/faults

# It wants another numpy than the book, so it has an environment of its own.
build/label-studio/installed: tests/crowd/label_studio.lock
	@echo "make crowd-test: installing Label Studio, 1 GB; pip says nothing for some minutes"
	$(SYSTEM_PYTHON) -m venv --clear build/label-studio
	build/label-studio/bin/python -m pip install --quiet --require-hashes --requirement $<
	touch $@

crowd-test: $(ENV) build/label-studio/installed  ## annotate in the real Label Studio, and compare its exports
	CROWD=1 $(PYTHON) -m pytest tests/crowd

reproduce: $(ENV)  ## run what changed and build the book (the main command)
	@$(RUN)

AUDIT_FILE = $(or $(AUDIT),$(error which one? for example `make $@ AUDIT=audits/example.yml`))

audit: $(ENV)  ## audit a model, AUDIT=audits/example.yml, from its file to its report
	@$(PYTHON) -m faceworld.audit run "$(AUDIT_FILE)" --device $(DEVICE)

audit-plan: $(ENV)  ## write the plan of AUDIT=... and stop before any model is asked
	@$(PYTHON) -m faceworld.audit plan "$(AUDIT_FILE)"

# The paper's sizes, unless another profile is asked for by name.
SIZES = $(if $(filter file,$(origin PROFILE)),paper,$(PROFILE))
PHOTOGRAPHS = $(and $(SET),$(DATA),$(SET) "$(DATA)")

train: $(ENV)  ## train the papers' gender classifier on a data set of yours, DATA=folder SET=celeba|fairface
	@$(PYTHON) -m faceworld.networks.photographs $(or $(PHOTOGRAPHS),$(error which ones? for example `make $@ \
	  DATA=celeba SET=celeba DEVICE=cuda`)) --profile $(SIZES) --device $(DEVICE)

# An editor computes nothing: its own packages are not locked, those that the book has stay as they are.
lab: $(ENV)  ## open the chapters in JupyterLab, which is installed if it is missing
	$(PYTHON) -m pip install --quiet --constraint constraints.txt "jupyterlab>=4"
	$(PYTHON) -m jupyterlab notebooks

chapter: $(ENV)  ## run one chapter, STAGE=09_logistic_ate, and what it needs, without the pages
	@$(RUN) --stage $(NAMED)

why: $(ENV)  ## say why STAGE=... would run again
	@$(RUN) --why $(NAMED)

claims: $(ENV)  ## list what the book says was found; fails if this profile's run says otherwise
	@$(RUN) --claims

course: $(ENV)  ## make labs, slides, handouts and the downloads, build/course (prints handouts with Chromium)
	CHROMIUM="$(CHROMIUM)" $(PYTHON) -m course.editions

course-try: course  ## run all labs in a new environment of what students install (needs a network)
	$(PYTHON) build/course/try_labs.py

course-tables: $(ENV)  ## write the tables of the labs anew, after `make reproduce`
	$(PYTHON) -c "from course import editions; editions.make_tables()"
	$(PYTHON) -m course.class_example

# A league has a NAME; ORDERS and SUBMISSIONS are folders with a folder of each team.
LEAGUE := $(PYTHON) -m course.league
GIVEN = "$(or $($(1)),$(error $(1) is missing, see course/league.md))"

league: $(ENV)  ## make a league of audits for a course, NAME=spring TEAMS="red blue" (course/league.md)
	@$(LEAGUE) new $(call GIVEN,NAME) $(or $(TEAMS),$(error TEAMS is missing, see course/league.md))

league-deliver: $(ENV)  ## freeze the teams' orders of a league and make their data, NAME=... ORDERS=folder
	@$(LEAGUE) deliver $(call GIVEN,NAME) $(call GIVEN,ORDERS)

league-grade: $(ENV)  ## grade the teams' verdicts against the truth, NAME=... SUBMISSIONS=folder
	@$(LEAGUE) grade $(call GIVEN,NAME) $(call GIVEN,SUBMISSIONS)

league-reveal: $(ENV)  ## publish the key and the truth of a league, NAME=...
	@$(LEAGUE) reveal $(call GIVEN,NAME)

# Any Chromium prints it.
CHROMIUM ?= chromium
PAPER := build/$(PROFILE)/paper
pdf: reproduce  ## print the whole book without code, build/PROFILE/book.pdf (needs Chromium)
	PYTHONPATH=tools $(PYTHON) -m sphinx -Q -b singlehtml -D exclude_patterns=api/* -D html_css_files=../paper.css \
	  build/$(PROFILE)/source $(PAPER)
	CHROMIUM="$(CHROMIUM)" $(PYTHON) -m helpers.pdf $(PAPER)/index.html build/$(PROFILE)/book.pdf

serve: reproduce  ## read the book at http://127.0.0.1:8000
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory build/$(PROFILE)/html 8000

clean:  ## remove this profile's artifacts and pages
	rm -rf "$(or $(HELPERS_ARTIFACTS),artifacts)/$(PROFILE)" build/$(PROFILE)
