# Everything a contributor runs; `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -eo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
WORKERS ?= 2
# Which notebooks, by name: all, or as in make notebooks ONLY="torus mesh".
NOTEBOOKS = $(if $(ONLY),$(ONLY:%=notebooks/%.ipynb),notebooks/*.ipynb)
VENV := .venv
BIN := $(VENV)/bin
SITE := _build/html

# The stamp's name holds a checksum of what it depends on: a branch switch, which touches dates and not contents, installs
# nothing, and a changed lock file installs the change.
KEY := $(shell cat pyproject.toml requirements*.lock | cksum | cut -d ' ' -f 1)
INSTALLED := $(VENV)/installed-$(KEY)
LAB_INSTALLED := $(VENV)/lab-installed-$(KEY)
MPI_INSTALLED := $(VENV)/mpi-installed-$(KEY)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PIP_INSTALL_LOCKED := $(PIP_INSTALL) --require-hashes --requirement

# No user's settings decide what a notebook shows: kernels and matplotlib look here and not in the home directory.
export IPYTHONDIR := $(CURDIR)/.cache/ipython
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
$(shell mkdir -p $(IPYTHONDIR) $(MPLCONFIGDIR))

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 24

.PHONY: venv
venv: $(INSTALLED) ## create .venv and install colllib with what the book and the tests need

$(INSTALLED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'make: $(PYTHON) is missing or older than 3.11. Say which Python to use: make PYTHON=python3.12 ...' >&2; exit 1; }
	@echo 'Installing into $(VENV), about a minute the first time'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  $(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -c 'import pip, venv' 2>/dev/null; then \
	  $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; \
	else \
	  echo 'make: $(PYTHON) can make no virtual environment (neither ensurepip nor pip). On Debian and Ubuntu: sudo apt-get install python3-venv' >&2; exit 1; \
	fi
	@$(PIP_INSTALL_LOCKED) requirements.lock
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable . # by the hatchling of the lock
	@rm -f $(VENV)/installed-* $(VENV)/lab-installed-* $(VENV)/mpi-installed-*
	@touch $@

$(LAB_INSTALLED): $(INSTALLED)
	@echo 'Installing JupyterLab into $(VENV), about a minute the first time'
	@$(PIP_INSTALL_LOCKED) requirements-lab.lock
	@touch $@

$(MPI_INSTALLED): $(INSTALLED)
	@echo 'Installing mpi4py into $(VENV)'
	@$(PIP_INSTALL_LOCKED) requirements-mpi.lock
	@touch $@

.PHONY: book
book: $(INSTALLED) ## build the book, every warning an error, and say where it is
	@rm -rf $(SITE) _build/.doctrees
	$(BIN)/jupyter-book build . -W -n --keep-going --all --quiet
	@echo 'The book: $(SITE)/index.html'

.PHONY: page
page: $(INSTALLED) ## build only what has changed since the last build, in some ten seconds
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet

.PHONY: test
test: lint-and-book unit check-notebooks browser ## make everything and run the whole suite
	@echo 'make test: lint, types, unit and property tests, doctests, notebooks, book and browser tests have passed'

# Each keeps one core busy for about a minute.
.PHONY: lint-and-book
lint-and-book: $(INSTALLED)
	@printf 'lint\nbook\n' | xargs -P 2 -n 1 $(MAKE)

.PHONY: lint
lint: $(INSTALLED) ## formatting, lint, types, and no code that nothing uses
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MYPYPATH=tests:tests/show $(BIN)/mypy --allow-untyped-defs --allow-incomplete-defs benchmarks
	$(BIN)/python scripts/unused.py

# Where CI=true the tests of the second witness may not be skipped, so what they need is installed.
.PHONY: unit
unit: $(INSTALLED) $(if $(filter true,$(CI)),$(MPI_INSTALLED)) ## unit and property tests, and doctests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --benchmark-disable --doctest-modules colllib tests --ignore tests/book

.PHONY: mpi
mpi: $(MPI_INSTALLED) ## hold the schedules against a real MPI, such as Debian's openmpi-bin; from then on unit does too
	$(BIN)/python -m pytest --benchmark-disable tests/test_mpi.py

.PHONY: check-notebooks
check-notebooks: $(INSTALLED) ## re-execute every notebook, or those of ONLY="torus mesh", and compare with its stored outputs; changes nothing
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --benchmark-disable --nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/nbval.cfg $(NOTEBOOKS)

.PHONY: browser
browser: $(INSTALLED) ## check the built pages in Chromium, with the network refused
	@test -e $(SITE)/index.html || $(MAKE) book
	$(BIN)/python -m pytest -n $(WORKERS) --benchmark-disable tests/book

.PHONY: pdf
pdf: $(INSTALLED) ## print the built book with Chromium: a PDF for every page, in _build/pdf
	@test -e $(SITE)/index.html || $(MAKE) book
	PYTHONPATH=tests $(BIN)/python scripts/pdf.py

.PHONY: notebooks
notebooks: $(INSTALLED) ## re-execute every notebook, or those of ONLY="torus mesh", and write its outputs back, normalized
	$(BIN)/python scripts/notebooks.py --workers $(WORKERS) $(NOTEBOOKS)

.PHONY: restyle
restyle: $(INSTALLED) ## put changed colors, style sheets and scripts into the stored outputs of all notebooks, and run none
	$(BIN)/python scripts/notebooks.py --restyle --workers $(WORKERS) notebooks/*.ipynb

# Links of the notebooks lead to book/, too, so Lab's root is the repository. As root it starts only if told so.
LAB_FLAGS ?= $(if $(filter 0,$(shell id -u)),--allow-root)
.PHONY: lab
lab: $(LAB_INSTALLED) ## open the notebooks in JupyterLab
	@$(BIN)/jupyter trust notebooks/*.ipynb > /dev/null # else JupyterLab strips the pictures until they are run
	$(BIN)/jupyter lab --notebook-dir=. --LabApp.default_url=/lab/tree/notebooks/prologue.ipynb $(LAB_FLAGS)

.PHONY: bench
bench: $(INSTALLED) ## run the benchmarks
	$(BIN)/python -m pytest --override-ini 'python_files=bench_*.py test_*.py' benchmarks

.PHONY: mutants
mutants: $(INSTALLED) ## put small faults into a part of the library, one at a time, and say which its tests do not find (PART=core COUNT=60 SEED=1)
	$(BIN)/python scripts/mutants.py --part $(or $(PART),core) --count $(or $(COUNT),60) --seed $(or $(SEED),1)

.PHONY: format
format: $(INSTALLED) ## format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# uv writes lock files for every platform and Python version that the project supports: hashes of all files of a version,
# and no addresses. Three files, as pip installs all of a file that has hashes, and takes none with hashes as a constraint.
LOCK = .cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --custom-compile-command 'make lock' $(UPGRADE) pyproject.toml --extra build
.PHONY: lock
lock: ## write the lock files anew from pyproject.toml (make lock UPGRADE=--upgrade takes newer versions)
	@test -x .cache/uv/bin/uv || { $(PYTHON) -m venv .cache/uv && .cache/uv/bin/pip install --quiet uv; }
	$(LOCK) --extra book --extra test --output-file requirements.lock
	$(LOCK) --extra lab --constraint requirements.lock --output-file requirements-lab.lock
	$(LOCK) --extra mpi --constraint requirements.lock --output-file requirements-mpi.lock

.PHONY: clean
clean: ## remove what was built; .venv stays
	rm -rf _build .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks dist
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
