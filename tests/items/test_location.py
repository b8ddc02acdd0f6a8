"""Which item a file is, from its path (DESIGN §1, §6) or from its contents."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from rye.items.location import Location, guess, locate

FENCE = '# T\n\n```xml\n<directive name="a" version="1.0.0">\n</directive>\n```\n'


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".ai/directives/rye/core/create.md", Location("directive", "create", "rye/core")),
        (".ai/directives/create.md", Location("directive", "create", "")),
        (".ai/tools/shell/docker.py", Location("tool", "docker", "shell")),
        (".ai/knowledge/a/b.md", Location("knowledge", "b", "a")),
        (".ai/agents/planner.md", Location("agent", "planner", "")),
        (".rawko/agents/planner.md", Location("agent", "planner", "")),
        (".ai/roles/builder.md", Location("role", "builder", "")),
        (".ai/formulas/mol-x.formula.toml", Location("formula", "mol-x", "")),
        (".ai/skills/pdf/SKILL.md", Location("skill", "pdf", "")),
        (".ai/bundles/all.bundle.toml", Location("bundle", "all", "")),
        (".ai/packages/acme/directives/w/deploy.md", Location("directive", "deploy", "w", "acme")),
        (".ai/packages/acme/skills/pdf/SKILL.md", Location("skill", "pdf", "", "acme")),
        ("bundle/core_ai/directives/rye/core/x.md", Location("directive", "x", "rye/core")),
        (".ai/directives/tools/x.md", Location("directive", "x", "tools")),
        ("/srv/me/tools/project/.ai/directives/a/x.md", Location("directive", "x", "a")),
        ("/srv/me/agents/project/directives/a/x.md", Location("directive", "x", "a")),
    ],
)
def test_the_folders_say_what_an_item_is(path: str, expected: Location) -> None:
    assert locate(PurePath(path)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "x.md",
        ".ai/x.md",
        ".ai/directives/x.txt",
        ".ai/agents/sub/x.md",
        ".ai/skills/pdf/references/SKILL.md",
        ".ai/skills/SKILL.md",
        ".ai/formulas/x.toml",
        ".ai/formulas/.formula.toml",
    ],
)
def test_a_file_elsewhere_has_no_place(path: str) -> None:
    assert locate(PurePath(path)) is None


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.md", FENCE, "directive"),
        ("x.md", FENCE.replace("```xml", "~~~~ XML"), "directive"),
        ("x.txt", FENCE, "directive"),
        ("x.md", "---\nname: a\ntransitions:\n  onSuccess: b\n---\n", "agent"),
        ("x.md", "<!-- note -->\n---\nentry_type: reference\n---\n", "knowledge"),
        ("x.md", "```yaml\nname: a\nentry_type: reference\n```\n", "knowledge"),
        ("x.md", "# Builder — Nexus SDLC Agent\n", "role"),
        ("x.formula.toml", "", "formula"),
        ("x.bundle.toml", "", "bundle"),
        ("SKILL.md", "", "skill"),
        ("x.py", '__version__ = "1.0.0"\n', "tool"),
    ],
)
def test_a_file_without_a_place_shows_its_kind(name: str, text: str, kind: str) -> None:
    found = guess(PurePath("somewhere") / name, text)
    assert found is not None
    assert found.kind == kind
    assert found.category is None


@pytest.mark.parametrize(
    ("name", "text"), [("README.md", "# Read me\n"), ("x.py", "print()\n"), ("x.txt", "text\n"), ("x.rst", FENCE)]
)
def test_an_ordinary_file_shows_none(name: str, text: str) -> None:
    assert guess(PurePath(name), text) is None
