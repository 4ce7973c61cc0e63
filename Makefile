# Everything runs in .venv, which any target makes and keeps up to date: no command needs another first.
# The tests run against geode as it is installed there, built from src whenever src changed.

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
LISTED := $(VENV)/.listed
INSTALLED := $(VENV)/.installed
# Other people's clients live in an environment of their own: their SDKs need not be geode's.
PEERS := .venv-peers
PEERS_LOCKED := $(PEERS)/.locked
# Other people's programs: 730 MB from npm, in exact versions and without a lock file.
REAL := .real
REAL_INSTALLED := $(REAL)/.installed

# Tests wait more than they compute: a few processes more than one, whatever the machine. WORKERS=0 is none beside the first.
WORKERS ?= 3

# PYTHON=… chooses another interpreter; by default the first of these that is new enough.
PYTHON ?=
PYTHONS := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python

SOURCES := $(shell find src -type f ! -name '*.pyc' | LC_ALL=C sort)
PACKAGING := pyproject.toml LICENSE $(wildcard README.md)

# A path in the environment would put another geode in front of the installed one.
unexport PYTHONPATH
unexport PYTHONHOME

.DELETE_ON_ERROR:
.PHONY: help setup demo test check format-check lint types imports mutate loop-model bench crowd fuzz conversations compactions guard big-results many-tools kills peers real format lock always

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10

setup: $(INSTALLED) ## make or update the environment

demo: $(INSTALLED) ## three runs, one for each wire, against the emulator on this machine
	@$(BIN)/geode demo

test: $(INSTALLED) ## the tests
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: format-check lint types imports ## format, lint, types, layers, then the tests
	@$(MAKE) --no-print-directory test

format-check: $(LOCKED)
	@$(BIN)/ruff format --check .

lint: $(LOCKED)
	@$(BIN)/ruff check --quiet .

types: $(INSTALLED)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/basedpyright

imports: $(INSTALLED)
	@$(BIN)/lint-imports --no-logo

mutate: $(INSTALLED) ## change the domain (or MODULE) in small ways, see whether its examples notice; goes on where it was interrupted
	@$(BIN)/python -m tests.mutation $(if $(MODULE),--module $(MODULE)) $(ARGS)

loop-model: $(INSTALLED) ## N random runs on which the loop and a naive model of its rules agree; goes on where it was interrupted
	@$(BIN)/python -m tests.unit.domain.loop_model -n $(or $(N),10000) $(ARGS)

bench: $(INSTALLED) ## measure geode
	@$(BIN)/python bench/run.py $(ARGS)

fuzz: $(INSTALLED) ## N random mutations of answers are read; goes on where it was interrupted
	@$(BIN)/python -m tests.fuzz answers -n $(or $(N),10000) $(ARGS)

conversations: $(INSTALLED) ## N conversations for each adapter are written and judged; goes on likewise
	@$(BIN)/python -m tests.fuzz conversations -n $(or $(N),1000) $(ARGS)

compactions: $(INSTALLED) ## N conversations for each adapter are cut wherever they may be (1000); goes on likewise
	@$(BIN)/python -m tests.fuzz compactions -n $(or $(N),1000) $(ARGS)

guard: $(INSTALLED) ## N random results are made short enough and judged (10000); goes on likewise
	@$(BIN)/python -m tests.fuzz guard -n $(or $(N),10000) $(ARGS)

big-results: $(INSTALLED) ## a 200 MB text and a 50 MB JSON: what the model reads of them, and in how much memory
	@$(BIN)/python -m tests.big_results $(ARGS)

many-tools: $(INSTALLED) ## what 500 tools cost the context, in the list and deferred
	@$(BIN)/python -m tests.many_tools $(ARGS)

kills: $(INSTALLED) ## kill runs N times (300), resume them, and look what became of them
	@$(BIN)/python -m tests.kills.killing --kills $(or $(N),300) $(ARGS)

crowd: $(INSTALLED) ## N runs at once (2000), a third of them cancelled: nothing may be left behind
	@$(BIN)/python -m bench.crowd --runs $(or $(N),2000) $(ARGS)

peers: $(INSTALLED) $(PEERS_LOCKED) ## run pydantic-ai and openai-agents against a `geode emulate`
	@cd peers && ../$(PEERS)/bin/pytest $(ARGS)

real: $(INSTALLED) $(REAL_INSTALLED) ## run geode with other people's programs, on this machine; needs npm
	@$(BIN)/pytest tests/real $(ARGS)

format: $(LOCKED) ## format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

# $(call resolved,SOURCE,OPTIONS,LOCK): the packages that SOURCE asks for, with all that they need.
define resolved
@{ echo "# Every package of the environment, for all platforms, with hashes. Made by 'make lock' from $(1)."; \
   $(BIN)/uv pip compile $(1) $(2) --universal --python-version 3.11 --upgrade --quiet \
       --generate-hashes --no-header --no-emit-index-url --no-emit-find-links; } > $(3).new
@mv $(3).new $(3)
endef

lock: $(LOCKED) ## resolve pyproject.toml and peers/requirements.in anew
	@$(BIN)/python -m pip install -qq --disable-pip-version-check uv
	$(call resolved,pyproject.toml,--all-extras --group dev,requirements.lock)
	$(call resolved,peers/requirements.in,,peers/requirements.lock)

# The locked packages. An environment without pip, or whose interpreter is gone or too old, is made anew.
$(LOCKED): requirements.lock
	@if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    for python in $(PYTHONS); do \
	        if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "geode needs Python 3.11 or newer with the venv module, and none of these is one: $(strip $(PYTHONS))" >&2; \
	        echo "Install one, or name it: make PYTHON=PATH" >&2; \
	        exit 1; \
	    fi; \
	    echo "making $(VENV) with $$("$$found" --version)"; \
	    "$$found" -m venv --clear $(VENV); \
	fi
	@echo "installing the locked packages into $(VENV)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --requirement requirements.lock
	@touch $@

# Rewritten only when files came or went, so that a deleted file leaves the installed package too.
$(LISTED): always | $(LOCKED)
	@printf '%s\n' $(SOURCES) | cmp -s - $@ || printf '%s\n' $(SOURCES) > $@

# The stamp has the time before the build: what is edited meanwhile is newer.
$(INSTALLED): $(LOCKED) $(LISTED) $(SOURCES) $(PACKAGING)
	@touch $@.new
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-index --no-deps --no-build-isolation --force-reinstall .
	@mv $@.new $@

$(PEERS_LOCKED): peers/requirements.lock | $(LOCKED)
	@echo "installing the clients into $(PEERS)"
	@$(BIN)/python -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --requirement peers/requirements.lock
	@touch $@

$(REAL_INSTALLED): tests/real/package.json
	@command -v npm >/dev/null || { echo "make real needs npm, which is not on PATH" >&2; exit 1; }
	@echo "installing the programs of others into $(REAL)"
	@mkdir -p $(REAL) && cp tests/real/package.json $(REAL)/package.json
	@cd $(REAL) && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@
