# pbdp: `make demo` shows what it does, `make test` checks it. `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TOUR   := $(VENV)/.tour
READY  := $(VENV)/.ready
CODE   := $(wildcard src tests benchmarks reproduction docs)
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check
PINNED := build/lock/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

MAKEFLAGS += --no-print-directory
# Tests start hundreds of processes; without its cache each of them would compile pbdp again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help demo test check browser soak sbom lint types imports bench docs picture reproduce lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: $(TOUR) ## a guided tour: plan, release, keep a budget, publish a table
	@$(BIN)/pbdp demo --force

test: lint types imports browser ## lint, types, import directions, then all tests
	@$(BIN)/pytest -n 2 --dist loadfile

check: test ## the same as `make test`

browser: $(READY) ## the Chromium that pages are tested in: installed where that may be, else said
	@$(BIN)/python -m tests.browser

soak: $(READY) ## the long runs: designs, adversaries, kills, any request, call and command, mutations, a million releases timed, the studio fuzzed
	@for run in ten_million adversaries thousand_kills planner_oracles any_request any_call any_command comparisons mutation; do \
		echo "== $$run"; PYTHONPATH=. $(BIN)/python tests/soak/$$run.py || exit 1; done
	@PBDP_CALLS=1000000 $(BIN)/pytest -q tests/release/test_sampler_timing.py
	@PBDP_FUZZ=500 $(BIN)/pytest -q tests/studio/test_fuzz.py
	@PBDP_EFFORT=full $(BIN)/pytest -q $$(grep -rl "tests.effort" tests --include="test_*.py")
	@echo "== advisories"; $(MAKE) sbom

sbom: ## what pbdp is built from, as CycloneDX, in build/sbom.json, and whether anything bad is known of it
	@$(PYTHON) -m venv build/supply
	@build/supply/bin/python -m pip -qq --disable-pip-version-check install 'cyclonedx-bom>=7' 'pip-audit>=2.10'
	@build/supply/bin/cyclonedx-py requirements requirements.lock -o build/sbom.json
	@build/supply/bin/pip-audit --requirement requirements.lock --disable-pip --require-hashes --strict

lint: $(READY) ## ruff: rules and formatting
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/ruff format --quiet --check $(CODE) || \
		{ echo "Formatting differs; run: $(BIN)/ruff format $(CODE)"; exit 1; }

types: $(READY) ## mypy, strict
	@$(BIN)/mypy $(CODE)

imports: $(READY) ## imports between the parts of pbdp go one way
	@$(BIN)/lint-imports --no-logo --no-cache > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }

bench: $(READY) ## ours against what a user would pick instead: one page, docs/benchmarks.md (QUICK=1: build/benchmarks)
	@$(BIN)/python -m benchmarks.page $(if $(QUICK),--quick,-o docs --readme)

docs: $(READY) ## the documentation as a site, in build/docs
	@$(BIN)/python docs/generate.py
	@$(BIN)/zensical build --clean > build/docs.txt 2>&1 || { cat build/docs.txt; exit 1; }
	@echo "Open build/docs/index.html"

picture: $(READY) ## draw the pictures of the README and of the studio again
	@$(BIN)/python docs/epsilon_picture.py docs/epsilon.svg
	@$(BIN)/python -m tests.studio.pictures docs/studio.png

reproduce: $(READY) ## draw the paper's figures again, half an hour or more; resumes (QUICK=1: a minute or two)
	@mkdir -p build
	@$(BIN)/pbdp reproduce $(if $(QUICK),--quick -o build/reproduction-quick,-o build/reproduction)

lock: ## renew the pinned requirements from pyproject.toml
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip -qq --disable-pip-version-check install 'uv>=0.5'
	@$(PINNED) --upgrade --all-extras --group install --group test --output-file requirements.lock pyproject.toml
	@$(PINNED) --extra plot --extra tables --group install --constraints requirements.lock \
		--output-file requirements-demo.lock pyproject.toml

clean: ## remove the environment and everything that was built
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

$(TOUR): requirements-demo.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || \
		{ echo "pbdp needs Python 3.11 or newer, but there is no $(PYTHON). Say which: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pbdp needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Say which: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || \
		{ echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements-demo.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(READY): requirements.lock $(TOUR)
	@echo "Adding what the tests need (once)"
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@
