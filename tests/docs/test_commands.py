"""Every command on a page exists with its options, and a test runs every block, or a list says why not.

``docs/reference/commands`` is generated and has its own test. ``tests/explaining`` runs the examples of
``docs/reference/errors``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.page_commands import Block, blocks, spans
from tests.house.hints import problem

ROOT = Path(__file__).resolve().parents[2]
ERRORS, COMMANDS = (ROOT / "docs" / "reference" / name for name in ("errors", "commands"))
TARGETS = frozenset(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

RUN = (
    ("README.md", "## Going on by hand|## Three ways to begin", "tests/docs/test_readme.py"),
    ("README.md", "demo", "tests/house/test_demo.py"),
    ("CONTRIBUTING.md", "run: .+", "tests/house/test_contributing.py"),
    ("docs/tutorial.md", "## [2-6].+|append: .+|new folder: .+|back to: .+", "tests/docs/test_tutorial.py"),
    ("docs/explanation/runtime.md", "example: denied|typed: .+", "tests/docs/test_runtime.py"),
    ("docs/how-to/agents.md", "example: .+|typed: .+", "tests/docs/test_agents.py"),
    ("docs/how-to/ci.md", "github|gitlab|shell", "tests/attacks/hostile_repository/test_ci_page.py"),
    ("docs/how-to/customizing.md", "## .+|author publishes .+|the reader agrees", "tests/docs/test_customizing.py"),
    (
        "docs/how-to/changing-skills.md",
        "#+ .+|author publishes .+",
        "tests/docs/test_changing_skills.py",
    ),
    ("docs/how-to/directives.md", "typed: .+", "tests/docs/test_directives.py"),
    ("docs/how-to/editors.md", "schema|completion", "tests/docs/test_editors.py"),
    ("docs/how-to/extending.md", "run: .+", "tests/house/test_contributing.py"),
    ("docs/how-to/automation.md", "merge", "tests/workspace/test_merge_driver.py"),
    ("docs/how-to/keys.md", "run: .+", "tests/docs/test_keys.py"),
    ("docs/how-to/importing.md", "commands|collection", "tests/docs/test_importing.py"),
    ("docs/how-to/integrations.md", "example: check", "tests/interop/test_page_played.py"),
    ("docs/how-to/mirrors.md", "typed: .+", "tests/docs/test_typed.py"),
    ("docs/how-to/registry-access.md", "typed: .+", "tests/docs/test_typed.py"),
    (
        "docs/how-to/registry-access.md",
        "## Tokens, accounts, roles|## Trusted publishing",
        "tests/server/test_registry_page.py",
    ),
    ("docs/how-to/registry-recovery.md", "typed: .+", "tests/server/test_log_key_change.py"),
    ("docs/how-to/registry-teams.md", "typed: .+", "tests/docs/test_teams_page.py"),
    ("docs/how-to/registry-upkeep.md", "played: .+", "tests/server/test_operating_files.py"),
    ("docs/how-to/registry-upkeep.md", "typed: .+", "tests/docs/test_typed.py"),
    ("docs/how-to/registry.md", "played: .+", "tests/server/test_operating_files.py"),
    ("docs/how-to/registry.md", "### Webhooks", "tests/server/test_registry_page.py"),
    ("docs/how-to/running.md", "typed: .+", "tests/docs/test_runtime.py"),
    ("docs/how-to/sources.md", "run|fails", "tests/docs/test_sources.py"),
    ("docs/how-to/tools.md", "try", "tests/runtime/test_trying.py"),
    ("docs/how-to/upstreams.md", "typed: .+", "tests/upstream/test_journey.py"),
    ("docs/how-to/usage.md", "# See what is used", "tests/deployment/test_usage.py"),
    ("docs/how-to/workspaces.md", "workspace commands", "tests/cli/test_workspaces.py"),
    ("docs/reference/facts.md", "typed: .+", "tests/docs/test_typed.py"),
    ("docs/reference/lock.md", "typed: .+", "tests/docs/test_typed.py"),
    ("docs/reference/pages.md", "example: .+", "tests/docs/test_pages.py"),
)
"""Page, a pattern of the marks of its blocks, and the test that runs these blocks.

If a block starts a registry, the test's fixture starts it instead.
"""

NOT_RUN = {
    (
        "docs/how-to/owners.md",
        "## Prove a domain",
    ): "needs a domain or a repository of one's own; tests/cli/test_namespace_owners.py plays the same with loopback ones",
    (
        "docs/how-to/owners.md",
        "## Prove a repository",
    ): "needs a domain or a repository of one's own; tests/cli/test_namespace_owners.py plays the same with loopback ones",
    (
        "docs/how-to/owners.md",
        "## Describe the namespace",
    ): "needs a domain or a repository of one's own; tests/cli/test_namespace_owners.py plays the same with loopback ones",
    (
        "docs/how-to/owners.md",
        "## Check it yourself",
    ): "needs a domain or a repository of one's own; tests/cli/test_namespace_owners.py plays the same with loopback ones",
    ("CONTRIBUTING.md", "dry"): "these run the test suite itself, or install a hook into a clone",
    (
        "README.md",
        "## Install and try it",
    ): "installs from the network; tests/packaging/test_making.py runs the parts that do not, "
    "and tests/sources/test_first_add.py adds a skill in an empty folder",
    (
        "README.md",
        "## Two commands",
    ): "sets up .venv from the network, and runs this suite; tests/house/test_demo.py runs the demo",
    (
        "docs/tutorial.md",
        "## 1. Get Rye and start a registry (5 minutes)",
    ): "sets up .venv from the network; a registry that "
    "stays in the foreground is started by tests/cli/test_registry_login.py",
    (
        "docs/how-to/automation.md",
        "wheel",
    ): "pipx and uvx install from the network; tests/packaging/test_wheel.py builds the wheel and installs it",
    (
        "docs/how-to/witnesses.md",
        "dry",
    ): "needs witnesses elsewhere; tests/cli/test_witness_policy.py has one on this machine",
    (
        "docs/how-to/organization-policy.md",
        "dry",
    ): "needs a registry and its owners; tests/cli/test_org.py and tests/server/test_policy_command.py play them",
    (
        "docs/how-to/joined.md",
        "dry",
    ): "needs an organization; tests/cli/test_org.py has one on this machine",
    ("docs/how-to/keys.md", "dry"): "72 hours pass before it; tests/cli/test_registry_namespaces.py plays a recovery",
    ("docs/how-to/running-a-witness.md", "dry"): "stays in the foreground; tests/witness plays it",
    (
        "docs/how-to/verify-rye.md",
        "## Check what is installed",
    ): "the project's key signs no release here; tests/packaging/test_release.py does the same with another key",
    (
        "docs/how-to/verify-rye.md",
        "## Make the same bytes yourself",
    ): "downloads packages; tests/packaging/test_release.py does it with none, twice",
    (
        "docs/how-to/verify-rye.md",
        "## Sign and publish one",
    ): "downloads packages; tests/packaging/test_release.py signs and publishes one",
    ("docs/how-to/ci.md", "## Publishing from a build"): "needs an identity token of GitHub or GitLab; "
    "tests/cli/test_trusted_publish.py does it with an issuer on this machine",
}
"""Blocks that no test can run as they are, and the closest test."""


@cache
def texts() -> dict[str, str]:
    """Every page but the generated ones of the commands."""
    pages = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
    return {
        page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in pages if COMMANDS not in page.parents
    }


@cache
def all_blocks() -> list[tuple[str, Block]]:
    return [(page, block) for page, text in texts().items() for block in blocks(text)]


def in_prose(command: str) -> str | None:
    """Like :func:`problem`, for a command in a sentence, where an option may have no value."""
    why = wrong(command, whole=False)
    return None if why is not None and re.search(r"requires (an|\d+) arguments?", why) else why


def wrong(command: str, *, whole: bool = True) -> str | None:
    if command.startswith("make"):
        named = [word for word in command.split()[1:] if "=" not in word]
        return None if named and TARGETS.issuperset(named) else f"the Makefile has no target for {command!r}"
    return problem(command, whole=whole)


@pytest.mark.slow
def test_every_command_of_a_block_can_be_run_as_it_stands() -> None:
    made_by_recipes = re.compile(r"rye (?:count|new checklist|explain nothing-to-count)\b")
    shown = [
        (page, command)
        for page, block in all_blocks()
        for command in block.commands
        if not page.startswith("docs/reference/errors")
    ]
    assert len(shown) > 150
    found = {f"{page}: {command}": why for page, command in shown if (why := wrong(command)) is not None}
    assert {place: why for place, why in found.items() if not made_by_recipes.search(place)} == {}


@pytest.mark.slow
def test_every_command_that_a_sentence_names_exists() -> None:
    named = [(page, command) for page, text in texts().items() for command in spans(text)]
    assert len(named) > 400
    assert {f"{page}: {command}": why for page, command in named if (why := in_prose(command)) is not None} == {}


def runs(page: str, block: Block) -> list[str]:
    return [test for where, mark, test in RUN if where == page and re.fullmatch(mark, block.mark)]


def test_every_block_is_run_by_one_test_or_says_why_not() -> None:
    mine = [(page, block) for page, block in all_blocks() if not page.startswith("docs/reference/errors")]
    assert len(mine) > 70
    places = {
        f"{page}:{block.line} ({block.mark})": len(runs(page, block)) + ((page, block.mark) in NOT_RUN)
        for page, block in mine
    }
    assert {place: number for place, number in places.items() if number != 1} == {}


def test_the_lists_name_blocks_and_tests_that_exist() -> None:
    marks = {(page, block.mark) for page, block in all_blocks()}
    assert [row for row in RUN if not any(page == row[0] and re.fullmatch(row[1], mark) for page, mark in marks)] == []
    assert [row for row in NOT_RUN if row not in marks] == []
    for page, _, test in RUN:
        source = (ROOT / test).read_text("utf-8")
        assert Path(page).name in source, f"{test} does not read {page}"
    for reason in NOT_RUN.values():
        for test in re.findall(r"tests/[\w/]+\.py", reason):
            assert (ROOT / test).is_file(), test


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("```sh\nrye list > x  # all\n```\n", ["rye list"]),
        ("<!-- run -->\n```\nserver$  rye-registry root show\nprinted: rye x\n```\n", ["rye-registry root show"]),
        ("a\n\n    cd x && rye init\n    .venv/bin/rye list\n", ["rye init", "rye list"]),
        ("```yaml\n- run: rye ci\n```\n", ["rye ci"]),
        ("```python\nrye = 1\n```\n", []),
        ("`rye list` is prose\n", []),
    ],
)
def test_commands_of_a_block_are_found(page: str, found: list[str]) -> None:
    assert [command for block in blocks(page) for command in block.commands] == found


def test_a_block_has_the_mark_above_it_or_its_heading() -> None:
    page = (
        "## A\n\n```sh\nrye list\n```\n\n```sh\n# no heading\n```\n\n<!-- b c -->\n```\nrye list\n```\n\n    rye list\n"
    )
    assert [block.mark for block in blocks(page)] == ["## A", "b c", "## A"]
    assert [block.line for block in blocks(page)] == [3, 12, 16]


@pytest.mark.parametrize(
    "command",
    [
        "rye lst",
        "rye list --nothing",
        "rye init a b c",
        "rye log audit",
        "rye log",
        "rye why",
        "rye new tune x",
        "make nothing",
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert wrong(command) is not None
