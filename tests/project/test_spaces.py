"""Looking items up: project, then installed, then user, then system (DESIGN §1, §6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.identity import parse_reference
from rye.project.layout import Project
from rye.project.spaces import Entry, find, installed, looks_like_path
from rye.storage.home import Home


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project")


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def look(home: Home, project: Project, reference: str, namespace: str | None = "acme") -> Entry:
    return find(home, parse_reference(reference), project, namespace)


def test_the_first_space_with_a_match_wins(home: Home, project: Project) -> None:
    base = project.root.parent
    file = "directives/ops/deploy.md"
    for space, root in (
        ("system", base / "system"),
        ("user", base / "user"),
        ("installed", project.packages / "acme"),
        ("project", project.ai),
    ):
        put(root, file)
        assert look(home, project, "ops/deploy").space == space


def test_an_id_with_and_without_its_namespace(home: Home, project: Project) -> None:
    put(project.ai, "directives/ops/deploy.md", "packages/other/directives/ops/build.md")
    assert look(home, project, "acme/ops/deploy").id == "acme/ops/deploy"
    assert look(home, project, "ops/deploy").id == "acme/ops/deploy"
    assert look(home, project, "ops/deploy", None).id == "ops/deploy"
    assert look(home, project, "other/ops/build").id == "other/ops/build"
    assert look(home, project, "build").id == "other/ops/build"


def test_two_namespaces_with_the_same_local_id_are_ambiguous(home: Home, project: Project) -> None:
    put(project.packages, "one/directives/ops/deploy.md", "two/directives/ops/deploy.md")
    with pytest.raises(RyeError) as caught:
        look(home, project, "ops/deploy")
    assert caught.value.code == "ambiguous"
    assert caught.value.details["candidates"] == ["directive:one/ops/deploy", "directive:two/ops/deploy"]
    assert look(home, project, "two/ops/deploy").namespace == "two"


def test_a_whole_id_is_preferred_to_a_bare_name(home: Home, project: Project) -> None:
    put(project.ai, "agents/deploy.md", "directives/ops/deploy.md")
    assert look(home, project, "deploy").location.kind == "agent"
    assert look(home, project, "directive:deploy").location.kind == "directive"


def test_hyphen_and_underscore_are_one_letter_in_look_ups(home: Home, project: Project) -> None:
    put(project.ai, "directives/file-system/read_all.md")
    assert look(home, project, "file_system/read-all").location.local_id == "file-system/read_all"


def test_both_spellings_present_are_ambiguous_not_one_of_them(home: Home, project: Project) -> None:
    put(project.ai, "tools/ops/do-it.py", "tools/ops/do_it.py")
    with pytest.raises(RyeError) as caught:
        look(home, project, "tool:ops/do-it")
    assert caught.value.code == "ambiguous"


def test_only_proper_namespaces_are_installed(project: Project) -> None:
    put(project.packages, "acme/agents/a.md", "Bad Name/agents/b.md", ".hidden/agents/c.md")
    (project.packages / "link").symlink_to(project.packages / "acme")
    assert [entry.id for entry in installed(project)] == ["acme/a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./x", True),
        ("/x", True),
        ("~/x", True),
        ("x.md", True),
        ("x.formula.toml", True),
        ("a\\b", True),
        ("a/SKILL.md", True),
        ("there", True),
        ("folder", False),
        ("skill", True),
        ("ops/deploy", False),
        ("tool:ops/deploy@^1", False),
        ("x" * 5000, False),
    ],
)
def test_what_counts_as_a_path(tmp_path: Path, text: str, expected: bool) -> None:
    put(tmp_path, "there", "folder/file", "skill/SKILL.md")
    assert looks_like_path(text, tmp_path) is expected


def test_only_items_with_a_like_name_are_suggested_and_each_once(home: Home, project: Project) -> None:
    put(project.ai, "directives/ops/deploy.md", "directives/ops/delete.md", "directives/ops/build.md")
    hints = {}
    for wanted in ("acme/ops/deplyo", "acme/ops/zebra"):
        with pytest.raises(RyeError) as caught:
            look(home, project, wanted)
        hints[wanted] = caught.value.hint or ""
    assert hints["acme/ops/deplyo"] == "Did you mean acme/ops/deploy?"
    assert "rye search zebra" in hints["acme/ops/zebra"]
