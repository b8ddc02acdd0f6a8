"""``rye version bump`` changes only the version, never downwards, in all items or in none (DESIGN 9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.items.kinds import KINDS
from rye.workspace.authoring.version_bump import raised
from tests.scenes.directive_text import directive
from tests.scenes.person import Person

NAMES = {"directive": "work/ship", "tool": "text/count", "knowledge": "notes/style"}


@pytest.mark.parametrize(
    ("old", "step", "new"),
    [
        ("1.2.3", "patch", "1.2.4"),
        ("1.2.3", "minor", "1.3.0"),
        ("1.2.3", "major", "2.0.0"),
        ("0.9.9", "patch", "0.9.10"),
        ("1.2.3-rc.1", "patch", "1.2.3"),
        ("1.2.3-rc.1", "minor", "1.3.0"),
        ("1.3.0-rc.1", "minor", "1.3.0"),
        ("1.3.0-rc.1", "major", "2.0.0"),
        ("2.0.0-rc.1", "major", "2.0.0"),
        ("1.2.3+build", "patch", "1.2.4"),
        ("1.2.3", "1.2.4-rc.1", "1.2.4-rc.1"),
    ],
)
def test_the_next_version(old: str, step: str, new: str) -> None:
    assert raised("x", old, step) == new


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "role"])
def test_every_kind_that_has_a_version_gets_the_next_one_and_keeps_every_other_byte(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rye = Person(tmp_path_factory.mktemp(kind))
    rye.ok("init", "--namespace", "acme")
    path = rye.new(kind, NAMES.get(kind, "thing"))
    before = path.read_bytes()
    found = rye.run("version", "bump", "minor", "--json")
    if found.code:
        assert found.error["code"] == "no-version"
        assert path.read_bytes() == before
        return
    (row,) = found.json["results"]
    assert row["kind"] == kind
    spelled = {"formula": (b"version = 1", b'version = "1.1.0"')}
    old, new = spelled.get(kind, (row["old"].encode(), row["new"].encode()))
    assert path.read_bytes() == before.replace(old, new, 1)
    assert rye.ok("show", row["path"], "--json").json["version"] == row["new"]


def test_a_formulas_whole_number_stays_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("formula"))
    rye.ok("init")
    path = rye.new("formula", "release")
    before = path.read_bytes()
    rye.ok("version", "bump", "major")
    assert path.read_bytes() == before.replace(b"version = 1\n", b"version = 2\n")


def test_a_version_that_also_stands_elsewhere_is_changed_in_its_own_place(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rye = Person(tmp_path_factory.mktemp("elsewhere"))
    rye.ok("init")
    text = "<!-- needs 1.0.0 of the tool, tested on 11.0.0 -->\n" + directive("work/ship", "1.0.0") + "\nSince 1.0.0.\n"
    path = rye.write(".ai/directives/work/ship.md", text)
    rye.ok("version", "bump", "patch")
    assert path.read_text() == text.replace('version="1.0.0"', 'version="1.0.1"')


def test_line_ends_and_a_byte_order_mark_stay(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("ends"))
    rye.ok("init")
    data = b"\xef\xbb\xbf" + directive("work/ship", "1.0.0").replace("\n", "\r\n").encode()
    path = rye.write(".ai/directives/work/ship.md", data)
    rye.ok("version", "bump", "patch")
    assert path.read_bytes() == data.replace(b'"1.0.0"', b'"1.0.1"')


def test_nothing_is_written_when_one_item_cannot_follow(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("one"))
    rye.ok("init")
    one = rye.write(".ai/directives/work/a.md", directive("work/a", "1.0.0"))
    two = rye.write(".ai/directives/work/b.md", directive("work/b", "2.5.0"))
    before = one.read_bytes(), two.read_bytes()
    found = rye.run("version", "bump", "2.0.0", "--json")
    assert (found.code, found.error["code"]) == (1, "version-not-newer")
    assert (one.read_bytes(), two.read_bytes()) == before
    rye.ok("version", "bump", "2.0.0", ".ai/directives/work/a.md")
    assert two.read_bytes() == before[1]
    assert one.read_bytes() == before[0].replace(b"1.0.0", b"2.0.0")


@pytest.mark.parametrize(("step", "code"), [("1.0", "bad-version"), ("v2.0.0", "bad-version"), ("huge", "bad-version")])
def test_what_is_no_step_and_no_version_is_refused(
    step: str, code: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rye = Person(tmp_path_factory.mktemp("step"))
    rye.ok("init")
    rye.write(".ai/directives/work/a.md", directive("work/a", "1.0.0"))
    found = rye.run("version", "bump", step, "--json")
    assert (found.code, found.error["code"]) == (2, code)


def test_an_installed_item_keeps_its_version(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("installed"))
    rye.ok("init")
    path = rye.write(".ai/packages/acme/directives/work/a.md", directive("work/a", "1.0.0"))
    found = rye.run("version", "bump", "patch", str(path), "--json")
    assert (found.code, found.error["code"]) == (1, "installed-item")


def test_without_a_command_it_prints_the_programs_version(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("own"))
    assert rye.ok("version").stdout == rye.ok("--version").stdout
    assert rye.ok("version", "--json").json["name"] == "rye"


def test_a_misspelled_step_is_answered_with_the_step(tmp_path_factory: pytest.TempPathFactory) -> None:
    error = Person(tmp_path_factory.mktemp("typo")).run("version", "bump", "mior", "--json").error
    assert (error["code"], error["hint"]) == ("bad-version", "Did you mean 'minor'?")


def test_an_own_item_can_be_named_by_kind_and_id(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("id"), "acme")
    rye.directive("work/one", signed=False)
    rye.directive("work/two", signed=False)
    for name, old, new in (("work/one", "1.0.0", "1.1.0"), ("acme/work/one", "1.1.0", "1.2.0")):
        [bumped] = rye.ok("version", "bump", "minor", f"directive:{name}", "--json").json["results"]
        assert (bumped["path"], bumped["old"], bumped["new"]) == (".ai/directives/work/one.md", old, new)
    assert 'version="1.0.0"' in rye.path(".ai/directives/work/two.md").read_text()


def test_the_name_of_an_item_is_answered_with_paths(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("name"))
    error = rye.run("version", "bump", "minor", "skill:acme/x", "--json").error
    assert error["code"] == "no-such-file"
    assert error["hint"].startswith("Name its file or folder, e.g. .ai/skills/")


@pytest.mark.processes
def test_all_items_are_raised_only_after_a_question_on_a_terminal(tmp_path: Path) -> None:
    rye = Person(tmp_path, "acme")
    for name in ("work/one", "work/two"):
        rye.directive(name, signed=False)
    shown = rye.terminal("version", "bump", "patch", answer=b"n\n")
    assert "Raise the versions of all 2 items?" in shown
    assert rye.ok("show", ".ai/directives/work/one.md", "--json").json["version"] == "1.0.0"
    assert "Raise" not in rye.terminal("version", "bump", "patch", ".ai/directives/work/one.md")
    assert len(rye.ok("version", "bump", "patch", "--json").json["results"]) == 2
