# Two commands for newcomers: `make demo` and `make test`. Both set up .venv by themselves and work again without a network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.PHONY: demo test test-fast test-clients test-browser screenshots screens format lint check bench fuzz mutate requirements completion-table command-pages schemas rules-table error-pages dist clean

# A stamp for each set of pinned requirements: installing is skipped until the pins or the project's metadata change.
$(VENV)/.runtime: requirements/runtime.txt pyproject.toml
	@echo 'setting up .venv, once: some twenty seconds with a network'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@echo 'installing what tests and linters need, once: about a minute'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

demo: $(VENV)/.runtime
	@$(BIN)/rye demo

# Python keeps what it compiled, whatever the environment says: collecting the tests is three times as fast from the second run on.
test test-fast: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# For while you work: under a minute, no processes.
test-fast: $(VENV)/.dev
	RYE_TEST_FAST=1 $(BIN)/python -m pytest -n 2 -m "not processes and not slow and not clients and not browser"

# The real agent programs against what `rye deploy` writes. Needs npm; what cannot be installed in CLIENTS_SECONDS is skipped, and says so.
CLIENTS_SECONDS ?= 600
test-clients: $(VENV)/.dev
	$(BIN)/python -m tests.clients.installing --seconds $(CLIENTS_SECONDS)
	$(BIN)/python -m pytest -m clients -rs -n 2 tests/clients

# The registry's pages in Chromium: nothing runs, nothing leaves, and everybody can read them. Without Chromium they are skipped, and say so.
test-browser: $(VENV)/.dev
	@$(BIN)/python -c 'from tests.browser.chromium import WHY, program; program() or print(WHY)'
	$(BIN)/python -m pytest -m browser -rs -n 2 tests/browser

# Pictures of the pages at three widths, light and dark; with DOCS=--docs also those that README and docs show. Needs Chromium.
SCREENSHOTS ?= build/screenshots
screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.browser.screenshots $(SCREENSHOTS) $(DOCS)

# What commands print on a terminal, in tests/cli/screens (tests/cli/test_screens.py holds it current). Review the diff before you commit it.
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

# Measures against what a user would pick instead; prints ratios. See benchmarks/README.md.
bench: $(VENV)/.dev
	for program in benchmarks/*.py; do echo "== $$program"; $(BIN)/python $$program || exit 1; done

# The files that test properties, with examples that no run had before, and those whose tests try more when asked to
# (tests/effort.py): many more examples, and hostile inputs at full size.
fuzz: $(VENV)/.dev
	RYE_FUZZ=1 $(BIN)/python -m pytest $$(grep -rlE --include='test_*.py' '^from (tests.effort|hypothesis) import' tests)

# Changes the modules that decide about trust, one place at a time: at least 95 % of the changes must fail a test. About forty minutes of
# one core for all of them; `make mutate ONLY=merkle` for those with that word in their path. See tests/mutation/accepted.toml.
mutate: $(VENV)/.dev
	$(BIN)/python -m tests.mutation $(ONLY)

# Needs a network and uv: `pip install uv` first.
requirements:
	for set in runtime dev; do $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
	  requirements/$$set.in -o requirements/$$set.txt; done
	$(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
	  -c requirements/runtime.txt requirements/client.in -o requirements/client.txt

# The table of commands that shells' completion reads (tests/cli/completing holds it current).
completion-table: $(VENV)/.dev
	$(BIN)/python -m rye.cli.completing.table > $@.json && mv $@.json rye/cli/completing/commands.json

# The JSON schemas of docs/schemas, from the types (tests/schemas holds them current).
schemas: $(VENV)/.dev
	$(BIN)/python -m rye.schemas.catalog docs/schemas

# The table of rules and the tests that cite them, docs/design/rules.md (tests/test_citations.py holds it current).
rules-table: $(VENV)/.dev
	$(BIN)/python -m tests.rules_table

# The pages of docs/reference/commands, from the commands' own help (tests/cli/test_command_pages.py holds them current).
command-pages: $(VENV)/.dev
	$(BIN)/python -m tests.command_pages docs/reference/commands

# The pages of docs/reference/errors, from the table of error codes and its examples (tests/explaining holds them current).
error-pages: $(VENV)/.dev
	$(BIN)/python -m rye.explaining.pages docs/reference/errors

# The wheel, the same bytes for the same commit: build it twice and compare. The client's packages alone are its dependencies; `rye[server]`,
# `rye[mcp]` and `rye[lsp]` bring the rest.
dist: $(VENV)/.runtime
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -t wheel -d dist
	cd dist && sha256sum rye-*.whl

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
