"""Deprecations are announced, cause warnings, and end on time (docs/reference/versions.md). There may be none at
present; made-up rows show that each rule holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rye import __version__, deprecations
from rye.cli.project import install
from rye.deprecations import DEPRECATED, Deprecation, used
from tests.house.hints import problem
from tests.scenes.person import Person
from tests.scenes.registry_process import init, run

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
OPTION = Deprecation("rye list --space", "0.3.0", "0.4.0", "Use `rye list`.")
COMMAND = Deprecation("rye version", "0.3.0", "0.4.0", "Use `rye --version`.")
EVERYWHERE = Deprecation("rye --no-progress", "0.3.0", "0.4.0", "Use `--quiet`.")
VARIABLE = Deprecation("RYE_COLOR", "0.3.0", "0.4.0", "Use `NO_COLOR`.")
KEY = Deprecation("rye.toml: project.name", "0.3.0", "0.4.0", "Leave it out.")
ROWS = (OPTION, COMMAND, EVERYWHERE, VARIABLE, KEY)


def numbers(version: str) -> tuple[int, ...]:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version), version
    return tuple(int(part) for part in version.split("."))


def faults(rows: Sequence[Deprecation], version: str, changelog: str) -> Iterator[str]:
    """The faults of a table, for a program of this version."""
    announced = "".join(re.findall(r"^### Deprecated\n(.*?)(?=^#|\Z)", changelog, re.MULTILINE | re.DOTALL))
    for row in rows:
        since, removed = numbers(row.since), numbers(row.removed_in)
        if numbers(version) >= removed:
            yield f"{row.name}: {version} is here; remove it, and its row"
        kept = (since[0], since[1] + (2 if since[0] else 1), 0)
        if removed < kept and not (since[0] == removed[0] - 1 and since[0]):
            yield f"{row.name}: {row.removed_in} is sooner than promised"
        if f"`{row.name}`" not in announced:
            yield f"{row.name}: not below a heading Deprecated in the changelog"
        why = problem(row.name) if row.name.startswith("rye") and ": " not in row.name else None
        if why is not None and "requires an argument" not in why:
            yield f"{row.name}: {why}"


def test_nothing_is_past_its_removal_or_unannounced() -> None:
    assert list(faults(DEPRECATED, __version__, CHANGELOG)) == []


def test_the_policy_says_whether_the_table_is_empty() -> None:
    policy = (ROOT / "docs" / "reference" / "versions.md").read_text("utf-8")
    assert ("The table is empty: nothing is deprecated today." in policy) is (DEPRECATED == ())


@pytest.mark.parametrize(
    ("row", "version", "fault"),
    [
        (OPTION, "0.4.0", "remove it"),
        (OPTION._replace(removed_in="0.3.1"), "0.3.0", "sooner than promised"),
        (OPTION._replace(since="1.1.0", removed_in="1.2.0"), "1.1.0", "sooner than promised"),
        (OPTION._replace(name="rye list --nothing"), "0.3.0", "No such option"),
        (OPTION._replace(name="RYE_X"), "0.3.0", "not below a heading Deprecated"),
    ],
)
def test_a_wrong_row_is_found(row: Deprecation, version: str, fault: str) -> None:
    announced = (
        "## [0.3.0]\n\n### Deprecated\n\n* `rye list --space`, `rye list --nothing`.\n\n### Fixed\n\n* `RYE_X`\n"
    )
    (found,) = faults([row], version, announced)
    assert fault in found


def test_a_right_row_is_not() -> None:
    announced = "### Deprecated\n\n* `rye list --space`\n"
    assert list(faults([OPTION], "0.3.5", announced)) == []
    assert list(faults([OPTION._replace(since="1.1.0", removed_in="1.3.0")], "1.2.9", announced)) == []


@pytest.mark.parametrize(
    ("command", "words", "found"),
    [
        ("rye list", ["list", "--space"], [OPTION]),
        ("rye list", ["list", "--space=x", "--no-progress"], [OPTION, EVERYWHERE]),
        ("rye list", ["list", "--", "--space"], []),
        ("rye lists", ["lists", "--space"], []),
        ("rye version bump", ["version", "bump"], [COMMAND]),
        ("rye search", ["search", "version"], []),
    ],
)
def test_what_a_run_uses(command: str, words: list[str], found: list[Deprecation]) -> None:
    assert list(used(ROWS, command, words, {}, lambda _: {})) == found


def test_a_variable_and_a_key_are_used_where_they_are_set() -> None:
    given = {"project": {"name": "x"}}
    assert list(used(ROWS, "rye tree", [], {"RYE_COLOR": ""}, lambda file: given if file == "rye.toml" else {})) == [
        VARIABLE,
        KEY,
    ]
    assert list(used(ROWS, "rye tree", [], {}, lambda _: {"project": "x"})) == []


def test_the_program_warns_and_does_what_it_always_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--name", "shop")
    before = rye.ok("list", "--no-progress", "--json")
    assert before.stderr == ""
    monkeypatch.setattr(deprecations, "DEPRECATED", (EVERYWHERE, KEY, COMMAND))
    after = rye.ok("list", "--no-progress", "--json")
    assert after.json == before.json
    assert after.stderr.splitlines() == [
        "warning: `rye --no-progress` is deprecated since 0.3.0 and will be removed in 0.4.0.",
        "  hint: Use `--quiet`.",
        "warning: `rye.toml: project.name` is deprecated since 0.3.0 and will be removed in 0.4.0.",
        "  hint: Leave it out.",
    ]
    rye.write("rye.toml", "not toml")
    assert "rye --no-progress" in rye.run("list", "--no-progress").stderr


def test_the_shortcut_of_an_unchanged_install_hides_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--name", "shop")
    remembered: list[object] = []
    monkeypatch.setattr(install, "remember", lambda *given: remembered.append(given))
    rye.ok("install")
    assert len(remembered) == 1
    monkeypatch.setattr(deprecations, "DEPRECATED", (KEY,))
    assert "rye.toml: project.name" in rye.ok("install").stderr
    assert len(remembered) == 1


def test_the_registrys_program_warns_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    init(data)
    with (data / "registry.toml").open("a") as settings:
        settings.write("webhooks = false\n")
    rows = ("rye-registry token list", "rye-registry token list --other", "registry.toml: webhooks")
    monkeypatch.setattr(deprecations, "DEPRECATED", tuple(OPTION._replace(name=name) for name in rows))
    said = run("token", "list", "--data", str(data)).stderr
    assert re.findall(r"^warning: `(.+)` is deprecated since 0.3.0", said, re.MULTILINE) == [rows[0], rows[2]]
