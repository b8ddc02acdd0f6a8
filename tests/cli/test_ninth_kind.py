"""A new kind is one module and one row of the table: every command handles it, and so does a registry that has the row."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.items import kinds
from rye.items.kinds import KINDS
from rye.items.readers import KindReader, PromptReader
from tests.ninth_kind import ROW, checklist
from tests.scenes.person import Person
from tests.scenes.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
PATH = ".ai/checklists/release.md"
PROMPT = "Tick off every task.\n\n[ ] Say what has to be done"

_reader: KindReader[checklist.Checklist] = checklist
_prompt: PromptReader[checklist.Checklist] = checklist


@pytest.fixture(scope="module", autouse=True)
def ninth() -> Iterator[None]:
    """The row, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "TABLE", (*kinds.TABLE, ROW))
        yield


@pytest.fixture(scope="module", autouse=True)
def with_row(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The row, in every program that is started: Python runs ``sitecustomize`` before anything else."""
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text("from tests.ninth_kind import added\n\nadded()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(folder), str(ROOT))))
        yield


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_the_table_has_nine_rows_and_every_look_up_sees_them() -> None:
    assert list(KINDS)[-1] == "checklist"
    assert len(KINDS) == 9
    assert KINDS.in_folder("checklists") is ROW
    assert KINDS.names().endswith(", checklist")


class TestAnAuthor:
    def test_makes_one_that_conforms(self, rye: Person) -> None:
        rye.ok("init")
        made = rye.ok("new", "checklist", "release", "--json").json
        assert made == {"kind": "checklist", "id": "release", "path": PATH}
        assert rye.ok("validate", "--strict", PATH, "--json").code == 0

    def test_is_told_what_is_wrong_with_it(self, rye: Person) -> None:
        rye.write(PATH, "---\nname: other\ntasks: [a]\n---\nx\n")
        result = rye.run("validate", PATH, "--json")
        assert result.code == 1
        assert "X03" in result.stdout

    def test_has_it_told_by_its_content_outside_the_folder(self, rye: Person) -> None:
        rye.write("notes/release.md", checklist.template("release"))
        assert rye.ok("show", "notes/release.md", "--json").json["kind"] == "checklist"
        assert rye.ok("validate", "notes").stdout == "1 item valid\n"

    def test_signs_and_verifies_it(self, rye: Person) -> None:
        rye.ok("keys", "generate")
        path = rye.new("checklist", "release")
        rye.ok("sign", PATH)
        assert path.read_text().split("\n")[1].startswith("# rye:signed:")
        assert rye.ok("verify", PATH).stdout.startswith("valid")
        path.write_text(path.read_text().replace("Say what", "Guess what"))
        assert rye.run("verify", PATH).code == 1

    def test_shows_and_renders_it(self, rye: Person) -> None:
        rye.new("checklist", "release")
        shown = rye.ok("show", "checklist:release", "--json").json
        assert (shown["kind"], shown["version"], shown["tasks"]) == ("checklist", "0.1.0", ["Say what has to be done"])
        assert rye.ok("render", "release").stdout == PROMPT + "\n"
        result = rye.run("render", "release", "--input", "a=b", "--json")
        assert result.refusal == "wrong-kind inputs"

    def test_has_nothing_to_draw_or_override(self, rye: Person) -> None:
        rye.new("checklist", "release")
        assert rye.run("show", "release", "--mermaid", "--json").refusal == "wrong-kind graph"
        assert rye.run("override", "new", "release", "--json").refusal == "wrong-kind sections"

    def test_finds_the_kind_in_every_list_of_kinds(self, rye: Person) -> None:
        assert "checklist" in rye.run("new", "checklists", "x", "--json").error["hint"]
        rye.write("x.rst", "x")
        assert "checklist" in rye.run("show", "x.rst", "--json").error["hint"]
        assert "checklist" in rye.run("show", "recipe:x", "--json").error["hint"]


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    """The owner of ``acme``, who published a checklist that needs another one."""
    owner = registry.owner("acme")
    owner.write(".ai/checklists/base.md", checklist.template("base"))
    text = checklist.template("release").replace("tasks:", "dependencies: ['checklist:acme/base@^0.1']\ntasks:")
    owner.write(PATH, text)
    owner.ok("sign", ".ai/checklists")
    published = owner.ok("publish", ".ai/checklists", "--yes", "--json").json["published"]
    assert {(row["kind"], row["id"]) for row in published} == {
        ("checklist", "acme/base"),
        ("checklist", "acme/release"),
    }
    return owner


@pytest.mark.processes
class TestARegistry:
    @pytest.mark.thorough
    def test_finds_and_describes_it(self, acme: Person) -> None:
        assert {row["kind"] for row in acme.ok("search", "list", "--json").json["results"]} == {"checklist"}
        assert acme.ok("info", "checklist:acme/release", "--json").json["depends_on"] == ["checklist:acme/base@^0.1"]

    def test_installs_it_with_what_it_needs(self, acme: Person, registry: Registry) -> None:
        reader = registry.reader("other")
        reader.ok("add", "checklist:acme/release", "--yes")
        installed = reader.path(".ai/packages/acme/checklists/release.md")
        assert installed.is_file()
        assert reader.path(".ai/packages/acme/checklists/base.md").is_file()
        assert reader.ok("verify", str(installed)).stdout.startswith("valid")
        assert reader.ok("render", "acme/release").stdout == PROMPT + "\n"
        assert {row["kind"] for row in reader.ok("list", "--json").json["items"]} == {"checklist"}
        assert reader.ok("install", "--frozen", "--yes", "--json").code == 0

    def test_refuses_one_that_breaks_a_rule_of_its_format(self, acme: Person) -> None:
        acme.write(".ai/checklists/broken.md", "---\nname: broken\nversion: 1.0.0\ntasks: []\n---\nx\n")
        assert acme.run("publish", ".ai/checklists/broken.md", "--yes", "--json").code == 1

    @pytest.mark.thorough
    def test_the_program_itself_lists_it(self, acme: Person) -> None:
        assert f"checklist NAME           {ROW.summary}" in acme.spawn("new", "--help").stdout
