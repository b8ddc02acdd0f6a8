# Two commands for newcomers: `make demo` and `make test`. Both set up .venv by themselves and work again without a network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PREFIX ?= $(HOME)/.local
.PHONY: demo install uninstall zipapp test test-thorough test-fast test-fast-first test-fast-rest test-pythons test-clients test-outside outside-page test-browser screenshots screens format lint check bench faults fuzz mutate mutate-conformance requirements completion-table command-pages schemas rules-table error-pages dist release clean

# A .venv whose Python is gone or too old, or that was moved, is made again.
ifneq ($(wildcard $(VENV)),)
BROKEN := $(shell $(PYTHON) making/environment.py forget-broken $(VENV))
endif

# One stamp file for each set of pinned requirements, so that installing is skipped until the pins or the project's metadata change.
$(VENV)/.runtime: requirements/runtime.txt pyproject.toml
	@$(PYTHON) making/environment.py set-up $(VENV) \
	  'setting up .venv (first run only): about twenty seconds, needs a network' requirements/runtime.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@$(PYTHON) making/environment.py set-up $(VENV) \
	  'installing test and lint dependencies (first run only): about a minute' requirements/dev.txt
	@touch $@

demo: $(VENV)/.runtime
	@$(BIN)/rye demo

# The client alone, in an environment of its own, with `rye` in PREFIX/bin (default: ~/.local). Again: an upgrade.
install:
	@$(PYTHON) making/install.py install '$(PREFIX)'

uninstall:
	@$(PYTHON) making/install.py uninstall '$(PREFIX)'

# Let Python write bytecode even if the environment forbids it: from the second run on, collecting the tests is three times as fast.
test test-thorough test-fast test-fast-first test-fast-rest: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# What takes long, where make test has faster tests that prove a part of it: releases, the installed wheel and the one file, which
# compile all of Rye, pages after all changes in any order, the client in JavaScript's cases, every user in every sandbox, the
# further variants of slow tests (`rest_thorough` in tests/scenes/effort.py), how the work of listing facts grows, and the recipes
# of CONTRIBUTING.md.
test-thorough: $(VENV)/.dev
	$(BIN)/python -m pytest -m thorough

# For use while you work: takes under a minute on two cores and starts no processes. Two plain runs side by side, each of about half of
# the work: sharing out single tests would cost as much as most of them take. Failures show no captured log, for the same reason.
FIRST_HALF = tests/server tests/registry tests/deployment tests/signing tests/interop tests/explaining
FAST = RYE_TEST_FAST=1 $(BIN)/python -m pytest -n 0 -p no:logging -m "not processes and not slow and not thorough and not clients and not browser and not outside"
test-fast: $(VENV)/.dev
	@$(MAKE) --no-print-directory --keep-going -j2 --output-sync=target test-fast-first test-fast-rest

test-fast-first:
	$(FAST) $(FIRST_HALF)

test-fast-rest:
	$(FAST) $(FIRST_HALF:%=--ignore=%)

# The same on every Python from 3.11 to 3.14 that the machine has, on the PATH or pyenv's. Says which it had and which not.
test-pythons: $(VENV)/.dev
	$(BIN)/python -m tests.pythons $(PYTHONS)

# Run the real agent programs on what `rye deploy` writes. Needs npm. Programs that cannot be installed in CLIENTS_SECONDS are skipped
# with a message.
CLIENTS_SECONDS ?= 600
test-clients: $(VENV)/.dev
	$(BIN)/python -m tests.clients.installing --seconds $(CLIENTS_SECONDS)
	$(BIN)/python -m pytest -m clients -rs -n 2 tests/clients

# Have programs of others judge what we make: tests/outside/judges.py lists them. Needs a package index and, for some, npm and java.
# Programs that cannot be installed are skipped with a message; the others have OUTSIDE_SECONDS together, and what is not done by then
# fails. RENOVATE=1 also installs Renovate (360 MB), which is judged by from then on.
OUTSIDE_SECONDS ?= 300
test-outside: $(VENV)/.dev
	@rm -rf build/outside
	@$(BIN)/python -m tests.outside.installing $(if $(RENOVATE),renovate)
	OUTSIDE_SECONDS=$(OUTSIDE_SECONDS) $(BIN)/python -m pytest -m outside -rs -n 2 tests/outside

# Generate docs/reference/outside.md from what the judges of the last `make test-outside` said.
outside-page: $(VENV)/.dev
	$(BIN)/python -m tests.outside.table docs/reference/outside.md

# Open the registry's pages in Chromium: no script runs, no request leaves the site, and the pages are accessible. Without Chromium
# these tests are skipped with a message.
test-browser: $(VENV)/.dev
	@$(BIN)/python -c 'from tests.browser.chromium import WHY, program; program() or print(WHY)'
	$(BIN)/python -m pytest -m browser -rs -n 2 tests/browser

# Pictures of the pages at three widths, light and dark; with DOCS=--docs also those that README and docs show. Needs Chromium.
SCREENSHOTS ?= build/screenshots
screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.browser.screenshots $(SCREENSHOTS) $(DOCS)

# What commands print on a terminal, in tests/cli/screens (tests/cli/test_screens.py checks that it is up to date). Review the diff before you commit it.
screens: $(VENV)/.dev
	$(BIN)/python -m tests.cli.screens

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Before you send a change: format, lint, types, and the tests of what changed since BASE, uncommitted changes included.
BASE ?= main
check: lint
	$(BIN)/python -m tests.changed $(BASE)

# Compare with the tools that a user would choose instead, and print ratios. See benchmarks/README.md.
bench: $(VENV)/.dev
	for program in $(filter-out benchmarks/faults.py,$(wildcard benchmarks/*.py)); do echo "== $$program"; $(BIN)/python $$program || exit 1; done

# Kill, stop, fill and shift things while publishers publish; prints what was acknowledged, lost and forked. At most five minutes.
faults: $(VENV)/.dev
	$(BIN)/python benchmarks/faults.py

# Run the property tests with new random examples, and the tests that can try harder (tests/scenes/effort.py) with many more
# examples and full-size hostile inputs.
fuzz: $(VENV)/.dev
	RYE_FUZZ=1 $(BIN)/python -m pytest $$(grep -rlE --include='test_*.py' '^from (tests.scenes.effort import (.*, )?tries|hypothesis import)' tests)

# Mutation testing of the modules that decide about trust: at least 95 % of the mutants must fail a test. All modules take about an
# hour on one core; `make mutate ONLY=merkle` takes those with that word in their path. See tests/mutation/accepted.toml.
mutate: $(VENV)/.dev
	$(BIN)/python -m tests.mutation $(ONLY)

# Whether the cases of conformance/ notice each change to a check that a client's verification runs. About twenty minutes on two
# busy cores; `make mutate-conformance ONLY="merkle tiles"` takes the modules with one of these words in their path, and `python -m
# tests.mutation --by-conformance --case map/ nodes` only some cases. See tests/mutation/conformance.toml.
mutate-conformance: $(VENV)/.dev
	$(BIN)/python -m tests.mutation --by-conformance $(ONLY)

# Needs a network and uv: `pip install uv` first.
requirements:
	for set in runtime dev judges; do $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
	  requirements/$$set.in -o requirements/$$set.txt; done
	$(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
	  -c requirements/runtime.txt requirements/client.in -o requirements/client.txt

# Generate the table of commands that shell completion reads (tests/cli/completing checks that it is up to date).
completion-table: $(VENV)/.dev
	$(BIN)/python -m rye.cli.completing.table > $@.json && mv $@.json rye/cli/completing/commands.json

# Generate the JSON schemas in docs/schemas from the types (tests/schemas checks that they are up to date).
schemas: $(VENV)/.dev
	$(BIN)/python -m rye.schemas.catalog docs/schemas

# Generate docs/design/rules.md: the rules and the tests that cite them (tests/house/test_citations.py checks that it is up to date).
rules-table: $(VENV)/.dev
	$(BIN)/python -m tests.house.rules_table

# Generate docs/reference/commands from the commands' help (tests/cli/test_command_pages.py checks that it is up to date).
command-pages: $(VENV)/.dev
	$(BIN)/python -m tests.docs.command_pages docs/reference/commands

# Generate docs/reference/errors from the table of error codes and its examples, and freeze new codes (tests/explaining checks that both are up to date).
error-pages: $(VENV)/.dev
	$(BIN)/python -m rye.explaining.pages docs/reference/errors
	$(BIN)/python -m tests.explaining.frozen_codes

# Build the wheel reproducibly: the same commit gives the same bytes. It depends only on the client's packages; the extras `server`,
# `mcp` and `lsp` add the rest.
dist: $(VENV)/.runtime
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -t wheel -d dist
	cd dist && sha256sum rye_registry-*.whl

# The client as one file for Linux or macOS, as this machine is, that any Python from 3.11 on runs: `python3 dist/rye.pyz`.
zipapp: $(VENV)/.runtime
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python making/zipapp.py dist/rye.pyz

# Wheel, sdist, the one file, bills of materials, provenance and their sums, from what git has of COMMIT, in dist/release: see
# docs/how-to/verify-rye.md. KEY=NAME signs them with one of your keys.
COMMIT ?= HEAD
release: $(VENV)/.runtime
	rm -rf dist/release
	@$(BIN)/python -m making.release dist/release --commit '$(COMMIT)'
	@$(if $(KEY),$(BIN)/python -m making.sign_release dist/release '$(KEY)')

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
