"""What path arguments mean: files, folders and patterns; sorted, without duplicates, never through symlinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.project.context import expand, own_items, walk

DIRECTIVE = '# T\n\n```xml\n<directive name="a" version="1.0.0">\n</directive>\n```\n'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for path in (
        ".ai/directives/b/two.md",
        ".ai/directives/a/one.md",
        ".ai/directives/rye/core/deep.md",
        ".ai/tools/files/read.py",
        ".ai/tools/files/notes.txt",
        ".ai/agents/planner.md",
        ".ai/skills/pdf/SKILL.md",
        ".ai/skills/pdf/agents/inner.md",
        ".ai/overrides/planner.overrides.md",
        ".ai/role-directives/builder.md",
        ".ai/packages/acme/directives/x/installed.md",
        ".git/directives/x/y.md",
        "node_modules/p/agents/z.md",
        "README.md",
        "docs/loose.formula.toml",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "docs/loose.md").write_text(DIRECTIVE)
    return tmp_path


def shown(base: Path, *arguments: str) -> list[str]:
    return [found.shown for found in expand(arguments, base)]


OWN = [
    ".ai/agents/planner.md",
    ".ai/directives/a/one.md",
    ".ai/directives/b/two.md",
    ".ai/directives/rye/core/deep.md",
    ".ai/skills/pdf/SKILL.md",
    ".ai/tools/files/read.py",
]


def test_a_folder_is_every_item_below_it_sorted(base: Path) -> None:
    assert shown(base, ".ai") == OWN
    assert [str(path.relative_to(base)) for path in own_items(base / ".ai")] == OWN


def test_outside_of_kind_folders_content_and_names_tell(base: Path) -> None:
    assert shown(base, "docs") == ["docs/loose.formula.toml", "docs/loose.md"]
    assert shown(base, ".") == [*OWN, "docs/loose.formula.toml", "docs/loose.md"]


def test_installed_items_only_when_they_are_named(base: Path) -> None:
    assert shown(base, ".ai/packages") == [".ai/packages/acme/directives/x/installed.md"]


def test_a_skills_folder_is_the_skill(base: Path) -> None:
    (found,) = expand([".ai/skills/pdf"], base)
    assert (found.path, found.shown, found.set_root) == (base / ".ai/skills/pdf/SKILL.md", ".ai/skills/pdf", None)


def test_each_file_once_in_the_order_of_the_arguments(base: Path) -> None:
    assert shown(base, ".ai/tools/files/read.py", ".ai/tools", ".ai/agents") == [
        ".ai/tools/files/read.py",
        ".ai/agents/planner.md",
    ]


def test_only_a_folder_makes_a_set(base: Path) -> None:
    assert [found.set_root for found in expand([".ai/agents"], base)] == [base / ".ai/agents"]
    assert [found.set_root for found in expand([".ai/agents/planner.md"], base)] == [None]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (".ai/directives/*/*.md", [".ai/directives/a/one.md", ".ai/directives/b/two.md"]),
        (
            ".ai/directives/**/*.md",
            [".ai/directives/a/one.md", ".ai/directives/b/two.md", ".ai/directives/rye/core/deep.md"],
        ),
        (".ai/directives/?", [".ai/directives/a/one.md", ".ai/directives/b/two.md"]),
        (".ai/skills/p*", [".ai/skills/pdf/SKILL.md"]),
        ("**/planner.md", [".ai/agents/planner.md"]),
        ("**/[yz].md", []),
    ],
)
def test_patterns_are_what_a_shell_makes_of_them(base: Path, pattern: str, expected: list[str]) -> None:
    if not expected:
        with pytest.raises(RyeError) as caught:
            shown(base, pattern)
        assert caught.value.code == "no-such-file"
    else:
        assert shown(base, pattern) == expected


def test_an_absolute_pattern(base: Path) -> None:
    assert shown(Path("/"), f"{base}/.ai/agents/*.md") == [str(base / ".ai/agents/planner.md").lstrip("/")]


def test_a_file_whose_name_looks_like_a_pattern_is_itself(base: Path) -> None:
    (base / ".ai/agents/[x].md").write_text("x")
    assert shown(base, ".ai/agents/[x].md") == [".ai/agents/[x].md"]


@pytest.mark.parametrize(
    ("argument", "code"),
    [
        ("nowhere", "no-such-file"),
        ("*.nope", "no-such-file"),
        ("empty", "no-items"),
        (".ai/directives/**x", "bad-argument"),
    ],
)
def test_what_is_not_there_is_an_error(base: Path, argument: str, code: str) -> None:
    (base / "empty").mkdir()
    with pytest.raises(RyeError) as caught:
        expand([argument], base)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pdf", ".ai/skills/pdf"),
        ("planer", ".ai/agents/planner.md"),
        (".ai/skill/pdf", ".ai/skills/pdf"),
        (".ai/directives/a/on.md", ".ai/directives/a/one.md"),
    ],
)
def test_a_name_or_a_misspelled_path_is_answered_with_the_item_s_path(base: Path, typed: str, meant: str) -> None:
    with pytest.raises(RyeError) as caught:
        expand([typed], base)
    assert (caught.value.hint or "").startswith(f"Did you mean {meant}")
    assert expand([meant], base)


def test_a_path_like_no_item_names_none(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for place in (base, tmp_path_factory.mktemp("empty")):
        with pytest.raises(RyeError, match="no file or folder") as caught:
            expand(["zzzzzz"], place)
        assert caught.value.hint == "Check the path."


def test_an_empty_argument_is_not_the_current_folder(base: Path) -> None:
    with pytest.raises(RyeError):
        expand([""], base)


def test_links_lead_nowhere(base: Path) -> None:
    """A folder that someone else made must not expose files outside it."""
    (base / "outside").mkdir()
    (base / "outside/agent.md").write_text("x")
    (base / ".ai/agents/link.md").symlink_to(base / "outside/agent.md")
    (base / ".ai/agents/loop.md").symlink_to("loop.md")
    (base / ".ai/directives/loop").symlink_to("..")
    assert shown(base, ".ai") == OWN


def test_what_is_named_itself_is_found_even_as_a_broken_link(base: Path) -> None:
    (base / "loop.md").symlink_to("loop.md")
    assert shown(base, "loop.md") == ["loop.md"]


def test_a_walk_has_an_end(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.project.context.MAX_FILES", 3)
    with pytest.raises(RyeError) as caught:
        list(walk(base))
    assert caught.value.code == "too-many-files"
    with pytest.raises(RyeError):
        expand(["**/*"], base)
