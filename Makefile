# Set-up, checks and tests. `make` lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

PARALLEL := --numprocesses auto --maxprocesses 4
# A file of tests stays in one process, and files start in their order: the long ones come first. There are two processes more
# than there are cores, and at most four: many tests wait, for a server, for a disk, or for time to pass.
BY_FILE = --numprocesses $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 2 ? 3 : 4))) --dist loadfile --no-loadscope-reorder

# Tests make some hundred thousand small files: a quarter of what they cost is the disk. They lie in memory where 4 GB of it are
# free for files; else where temporary files are.
IN_MEMORY = $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 4000000 ] && echo PYTEST_DEBUG_TEMPROOT=/dev/shm)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup check fix compiled quick test test-slow demo demo-live bench requirements clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  PYTHON=…       the interpreter to set up with, 3.11 or newer (now: $(PYTHON))"

setup: $(STAMPS)/spark ## Make .venv with everything pinned, and fetch what Spark needs (once)

check: $(STAMPS)/project ## Lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: $(STAMPS)/project ## Format, and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What needs neither Java nor a warehouse: rules, texts, plans.
PURE := $(addprefix tests/,base connectors diff golden manifests plan project seeds sql)

quick: check ## Checks and the pure tests, without Java: about a minute
	$(BIN)/python -m pytest -q -m "not spark and not slow" $(PARALLEL) --dist load $(PURE)

# Tests start some hundred processes. None of them compiles our modules again, also where Python may not write down what it
# compiled (PYTHONDONTWRITEBYTECODE). Modules of tests are compiled with what pytest adds to their assertions;
# what can't be collected, the run itself tells.
compiled: $(STAMPS)/project
	@$(BIN)/python -m compileall -q -x '/(bad|udf)/' reconciler tests
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1 || true

# What one processor does for the set-up of Spark, another does for checks.
test: $(STAMPS)/project ## Checks, then all tests but the slow ones
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line $(STAMPS)/s3 check compiled
	$(IN_MEMORY) $(BIN)/python -m pytest -m "not slow" $(BY_FILE)

test-slow: $(STAMPS)/s3 compiled ## The slow tests only; TESTS=tests/acceptance for those of a folder or file
	$(BIN)/python -m pytest -m slow $(PARALLEL) --dist load $(TESTS)

demo: setup ## Walk through a change, from pull request to applied
	bash demo/run

demo-live: setup ## The same for live data: history first, then a Kafka broker of its own
	bash demo/live

bench: setup ## Measure, and compare with floors and peers (bench/README.md; long)
	bash bench/run

requirements: $(STAMPS)/project ## Pin the newest versions anew (needs pip-tools on PATH)
	cd requirements && for name in build runtime development; do \
	  pip-compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    --no-emit-options --no-header --no-annotate --allow-unsafe --strip-extras \
	    $$(test $$name = development && echo "-c runtime.txt") -o $$name.txt $$name.in || exit 1; \
	done

clean: ## Remove .venv and everything that was built or cached
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .reconcile
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Each stamp says that a part of the set-up is done; it is repeated when what it depends on changes.

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "$(PYTHON) is missing or older than Python 3.11; choose another with: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) can't make virtual environments; Debian and Ubuntu: install the package python3-venv" >&2; exit 1; }
	@$(PYTHON) -B -m reconciler.engine.spark.java
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/packages: requirements/build.txt requirements/development.txt | $(STAMPS)/venv
	@echo "installing the pinned packages (pyspark is 430 MB: a few minutes the first time)"
	@$(PIP) install --require-hashes -r requirements/build.txt
	@$(PIP) install --require-hashes --no-build-isolation -r requirements/development.txt
	@touch $@

$(STAMPS)/project: pyproject.toml setup.py $(STAMPS)/packages
	@echo "installing reconciler from this folder"
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(STAMPS)/spark: reconciler/engine/spark/jars.txt reconciler/engine/spark/LocalConditionalLogStore.java reconciler/engine/spark/SmallRows.java reconciler/engine/spark/SmallQuery.java reconciler/engine/spark/AnswerFiles.java reconciler/engine/spark/Gateways.java $(STAMPS)/project
	@$(BIN)/reconcile setup
	@touch $@

# Tests use S3 as well. It is set up before the first of them: a command takes no server's Spark that was started without.
$(STAMPS)/s3: reconciler/engine/spark/jars-s3.txt reconciler/engine/spark/S3ConditionalLogStore.java $(STAMPS)/spark
	@$(BIN)/reconcile setup --s3
	@touch $@
