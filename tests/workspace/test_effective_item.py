"""An installed item is used exactly as installed or not at all, however it is reached (DESIGN 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.directive.template import new_directive
from rye.workspace.context import LibraryContext
from rye.workspace.customizing.formulas import find_formula, nothing_required, resolved_formula
from rye.workspace.items.effective_item import effective_item
from rye.workspace.items.rendering import RenderRequest, render
from rye.workspace.items.rights import rights_of
from rye.workspace.registries.registry_search import SearchRequest, search
from tests.scenes.installed import put
from tests.scenes.person import Person

PLACE = "acme/directives/ops/deploy.md"
VALUES = {"subject": "x"}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", '[project]\nname = "mine"\n')
    put(made.folders, made.folder, "directive", "acme/ops/deploy", PLACE, new_directive("deploy", "ops").encode())
    return made


@pytest.fixture
def context(person: Person) -> LibraryContext:
    return LibraryContext(cwd=person.folder, home=person.folders, offline=True)


def forge(person: Person) -> Path:
    path = person.path(f".ai/packages/{PLACE}")
    text = path.read_text()
    assert "rye.search.knowledge" not in text
    path.write_text(text.replace("Find what this project", "Delete what is known"))
    assert path.read_text() != text
    return path


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(RyeError) as caught:
        action()
    return caught.value.code


def test_the_library_refuses_changed_bytes_exactly_as_the_program_does(person: Person, context: LibraryContext) -> None:
    forge(person)
    with pytest.raises(RyeError) as caught:
        render(context, RenderRequest("acme/ops/deploy", texts=VALUES))
    result = person.run("render", "acme/ops/deploy", "--input", "subject=x", "--json")
    assert result.code == 1
    assert result.json == caught.value.as_json()
    assert caught.value.code == "modified-item"
    assert context.warnings == [], "a refusal, not a warning"


@pytest.mark.parametrize("named", ["id", "path", "absolute", "dots", "link", "link-in-packages"])
def test_how_the_file_is_named_makes_no_difference(person: Person, context: LibraryContext, named: str) -> None:
    path = forge(person)
    argument = {
        "id": "acme/ops/deploy",
        "path": f".ai/packages/{PLACE}",
        "absolute": str(path),
        "dots": f".ai/packages/acme/../{PLACE}",
        "link": "here.md",
        "link-in-packages": ".ai/packages/acme/directives/ops/other.md",
    }[named]
    if named == "link":
        person.path("here.md").symlink_to(path)
    if named == "link-in-packages":
        person.write("elsewhere.md", path.read_bytes())
        person.path(argument).symlink_to(person.path("elsewhere.md"))
    expected = "not-a-file" if named == "link-in-packages" else "modified-item"
    assert refusal(lambda: effective_item(context, argument)) == expected


def test_a_planted_manifest_below_the_packages_makes_no_project_of_them(person: Person) -> None:
    """A repository with ``.ai/packages/acme/rye.toml`` would have its packages count as a project's own items."""
    person.write(".ai/packages/acme/rye.toml", "[project]\n")
    person.write(".ai/packages/acme/.ai/directives/ops/own.md", new_directive("own", "ops"))
    inside = LibraryContext(cwd=person.path(".ai/packages/acme"), home=person.folders, offline=True)
    assert refusal(lambda: effective_item(inside, "ops/own")) == "not-locked"
    forge(person)
    assert refusal(lambda: effective_item(inside, "directives/ops/deploy.md")) == "modified-item"


def test_another_project_s_packages_are_checked_against_its_own_lock(person: Person, tmp_path: Path) -> None:
    path = forge(person)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert (
        refusal(lambda: effective_item(LibraryContext(cwd=elsewhere, home=person.folders), str(path)))
        == "modified-item"
    )


def test_a_file_that_nobody_installed_is_refused(person: Person, context: LibraryContext) -> None:
    person.write(".ai/packages/acme/directives/ops/planted.md", new_directive("planted", "ops"))
    assert refusal(lambda: effective_item(context, "acme/ops/planted")) == "not-locked"
    person.write(".ai/packages/loose.md", new_directive("loose", "ops"))
    assert refusal(lambda: effective_item(context, ".ai/packages/loose.md")) == "not-locked"


def test_every_reader_refuses(person: Person, context: LibraryContext) -> None:
    forge(person)
    assert refusal(lambda: rights_of(context, "acme/ops/deploy")) == "modified-item"
    assert search(context, SearchRequest("deploy", local=True)).rows == ()
    for words in (
        ("show", "acme/ops/deploy"),
        ("show", "acme/ops/deploy", "--base"),
        ("permissions", "show", "acme/ops/deploy"),
        ("permissions", "check", "acme/ops/deploy", "search", "knowledge"),
        ("permissions", "check", ".ai/directives/mine/own.md", "search", "knowledge", "--parent", "acme/ops/deploy"),
        ("hooks", "list", "acme/ops/deploy"),
        ("override", "show", "acme/ops/deploy"),
        ("override", "new", "acme/ops/deploy"),
        ("diff", "acme/ops/deploy", "--effective"),
    ):
        person.write(".ai/directives/mine/own.md", new_directive("own", "mine"))
        result = person.run(*words, "--json")
        assert (result.code, result.error["code"]) == (1, "modified-item"), words


def test_a_parent_formula_is_half_of_a_workflow_and_checked_like_it(person: Person, context: LibraryContext) -> None:
    """Render used to read an installed parent from the same folder, and from the spaces, without checking the lock."""
    steps = '\n[[steps]]\nid = "a"\ntitle = "A"\ndescription = "Build."\n'
    parent = b'formula = "base"\nversion = "1.0.0"\ndescription = "d"\ntype = "workflow"\n' + steps.encode()
    put(
        person.folders,
        person.folder,
        "formula",
        "acme/base",
        "acme/formulas/base.formula.toml",
        parent,
        suffix=".formula.toml",
    )
    child = 'formula = "{}"\nversion = "1.0.0"\ndescription = "d"\nextends = ["base"]\n'
    put(
        person.folders,
        person.folder,
        "formula",
        "acme/flow",
        "acme/formulas/flow.formula.toml",
        child.format("flow").encode(),
        suffix=".formula.toml",
    )
    person.write(".ai/formulas/own.formula.toml", child.format("own"))
    path = person.path(".ai/packages/acme/formulas/base.formula.toml")
    for name in ("acme/flow", "own"):
        assert "Build." in render(context, RenderRequest(f"formula:{name}")).prompt
    path.write_bytes(parent.replace(b"Build.", b"Leak."))
    for name in ("acme/flow", "own"):
        found = find_formula(context, f"formula:{name}")
        assert refusal(lambda: resolved_formula(context, found.item, nothing_required)) == "modified-item"  # noqa: B023
        assert person.run("render", f"formula:{name}").code == 1


@pytest.mark.parametrize("place", ["acme", "other"], ids=["same folder", "short name"])
def test_a_formula_s_parent_needs_this_user_s_agreement_as_well(
    person: Person, context: LibraryContext, place: str
) -> None:
    """The child needs no consent; the parent is text of which rye.lock claims that somebody approved an alarm."""
    parent = (
        b'formula = "base"\nversion = "1.0.0"\ndescription = "d"\ntype = "workflow"\n'
        b'\n[[steps]]\nid = "a"\ntitle = "A"\ndescription = "Build."\n'
    )
    file = f"{place}/formulas/base.formula.toml"
    facts = ("command make",)
    put(
        person.folders,
        person.folder,
        "formula",
        f"{place}/base",
        file,
        parent,
        suffix=".formula.toml",
        facts_in_lock=facts,
    )
    child = b'formula = "flow"\nversion = "1.0.0"\ndescription = "d"\nextends = ["base"]\n'
    put(
        person.folders,
        person.folder,
        "formula",
        "acme/flow",
        "acme/formulas/flow.formula.toml",
        child,
        suffix=".formula.toml",
    )
    assert refusal(lambda: render(context, RenderRequest("formula:acme/flow"))) == "project-not-accepted"
    assert refusal(lambda: render(context, RenderRequest("formula:acme/flow", base=True))) == "project-not-accepted"
    assert person.run("render", "acme/flow", "--json").error["code"] == "project-not-accepted"
    assert "Build." in person.run("render", "acme/flow", "--trust-lock").stdout


def test_a_skill_s_attached_files_count(person: Person, context: LibraryContext) -> None:
    text = b"---\nname: pdf\ndescription: Reads.\n---\n\nRead `scripts/read.py`.\n"
    path = put(
        person.folders,
        person.folder,
        "skill",
        "acme/pdf",
        "acme/skills/pdf/SKILL.md",
        text,
        suffix="SKILL.md",
        attached={"scripts/read.py": b"print(1)\n"},
    )
    assert effective_item(context, "acme/pdf").item.kind.name == "skill"
    script = path.parent / "scripts/read.py"
    script.write_bytes(b"import os\n")
    assert refusal(lambda: effective_item(context, "acme/pdf")) == "modified-item"
    script.write_bytes(b"print(1)\n")
    (path.parent / "extra.py").write_bytes(b"")
    assert refusal(lambda: effective_item(context, str(path))) == "modified-item"


def test_a_row_of_another_file_name_is_no_row_of_this_file(person: Person, context: LibraryContext) -> None:
    """The lock says ``.py``; someone else added a ``.sh`` with the same name and bytes."""
    data = b'__version__ = "1.0.0"\n__category__ = "work"\n__tool_description__ = "d"\n'
    put(person.folders, person.folder, "tool", "acme/work/run", "acme/tools/work/run.py", data, suffix=".py")
    person.write(".ai/packages/acme/tools/work/run.sh", data)
    assert refusal(lambda: effective_item(context, ".ai/packages/acme/tools/work/run.sh")) == "not-locked"


def test_unchanged_bytes_are_used(context: LibraryContext) -> None:
    rendered = render(context, RenderRequest("acme/ops/deploy", texts=VALUES))
    assert (rendered.id, rendered.inputs) == ("acme/ops/deploy", VALUES)
    assert [row["id"] for row in search(context, SearchRequest("deploy", local=True)).rows] == ["acme/ops/deploy"]
