# pbdp: `make demo` shows what it does, `make test` checks it. `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
CODE   := $(wildcard src tests benchmarks reproduction)
DEMO   := PBDP_LEDGER=build/demo/ledger.db PBDP_STATE=build/demo/state $(BIN)/pbdp
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test check browser soak sbom lint types imports bench picture reproduce lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: $(READY) ## plan a noise for a count, release it from a budget, check the sampler, publish a table
	@mkdir -p build && rm -rf build/demo && mkdir build/demo
	@echo "A count must be within 5 of the truth 90 % of the time. The noise with the least privacy loss:"
	@echo
	$(BIN)/pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer -o build/demo/plan.json
	@echo
	@echo "A budget for the people in the data, and a release that it pays for (the true count is 1234):"
	@echo
	$(DEMO) ledger create visits --epsilon 3 --delta 1e-6
	$(DEMO) release build/demo/plan.json 1234 --dataset visits --query "visits in March" --interval --manifest build/demo/march.json
	$(BIN)/pbdp certificate build/demo/march.json --publisher "City museum" -o build/demo/certificate.html
	$(DEMO) ledger price build/demo/plan.json --dataset visits
	@echo
	@echo "Or state the accuracy only, and let the budget choose the noise that costs least of what is left:"
	@echo
	$(DEMO) ask 1234 --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
	$(DEMO) ledger status
	@echo
	@echo "What that plan may publish when the true count is 1234, and how often:"
	@echo
	$(BIN)/pbdp noise build/demo/plan.json --answer 1234
	@echo
	@echo "A million draws from the real sampler, held against the certificate:"
	@echo
	$(BIN)/pbdp audit build/demo/plan.json --confidence 0.999999
	@echo
	@echo "A table of 48,842 people of a census (examples/adult.toml): first what it costs, before any data is read"
	@echo
	$(BIN)/pbdp tables examples/adult.toml --dry-run
	@echo
	@echo "Then the table itself, paid for, and the check that anyone can make of it:"
	@echo
	$(DEMO) ledger create census --epsilon 5 --delta 1e-5
	$(DEMO) tables examples/adult.toml --dataset census -o build/demo/adult.csv --plot build/demo/adult.png
	@head -5 build/demo/adult.csv
	$(BIN)/pbdp verify build/demo/adult.csv.manifest.json --ledger build/demo/ledger.db

test: lint types imports browser ## lint, types, import directions, then all tests
	@$(BIN)/pytest -n 2 --dist loadfile

check: test ## the same as `make test`

browser: $(READY) ## the Chromium that pages are tested in: installed where that may be, else said
	@$(BIN)/python -m tests.browser

soak: $(READY) ## the long runs: designs, adversaries, kills, any request, mutations, a million releases timed, the studio fuzzed
	@for run in ten_million adversaries thousand_kills any_request mutation; do \
		echo "== $$run"; PYTHONPATH=. $(BIN)/python tests/soak/$$run.py || exit 1; done
	@PBDP_CALLS=1000000 $(BIN)/pytest -q tests/release/test_sampler_timing.py
	@PBDP_FUZZ=500 $(BIN)/pytest -q tests/studio/test_fuzz.py
	@echo "== advisories"; $(BIN)/python tests/soak/supply_chain.py advisories

sbom: $(READY) ## what pbdp is built from, as CycloneDX, in build/sbom.json
	@mkdir -p build
	@$(BIN)/python tests/soak/supply_chain.py sbom build/sbom.json

lint: $(READY) ## ruff: rules and formatting
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/ruff format --quiet --check $(CODE) || \
		{ echo "Formatting differs; run: $(BIN)/ruff format $(CODE)"; exit 1; }

types: $(READY) ## mypy, strict
	@$(BIN)/mypy $(CODE)

imports: $(READY) ## imports between the parts of pbdp go one way
	@$(BIN)/lint-imports --no-logo --no-cache > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }

bench: $(READY) ## run the benchmarks, one after the other
	@for script in $(wildcard benchmarks/bench_*.py); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

picture: $(READY) ## draw the pictures of the README and of the studio again
	@$(BIN)/python examples/epsilon_picture.py docs/epsilon.svg
	@$(BIN)/python -m tests.studio.pictures docs/studio.png

reproduce: $(READY) ## draw the paper's figures again, half an hour or more; resumes (QUICK=1: a minute or two)
	@mkdir -p build
	@$(BIN)/pbdp reproduce $(if $(QUICK),--quick -o build/reproduction-quick,-o build/reproduction)

lock: ## renew requirements.lock from pyproject.toml
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip -qq --disable-pip-version-check install 'uv>=0.5'
	@build/lock/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --extra dev \
		--upgrade --generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## remove the environment and everything that was built
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || \
		{ echo "pbdp needs Python 3.11 or newer, but there is no $(PYTHON). Say which: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pbdp needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Say which: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || \
		{ echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
