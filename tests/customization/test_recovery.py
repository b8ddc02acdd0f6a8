"""``rye merge --migrate-legacy BASE EFFECTIVE`` proves the round trip and keeps what the old merge injected
(DECISIONS "Every kind" 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.customization.merge import merge
from rye.customization.override_file import read_overrides
from rye.customization.recovery import recover
from rye.limits import CONTENT
from tests.scenes.person import Person
from tests.scenes.shared_data import shared

BASE = """---
name: tea
x-plan-version: "2"
gone: 1
size: small
---

# Tea

Intro.

## Brew

Boil.

### Time

Five.

## Serve

Pour.
"""


def recovered(base: str, effective: str) -> list[tuple[str, str]]:
    """Operation and target of each directive, after checking the round trip again."""
    found = recover(base, effective, name="folder")
    assert found.output is not None, found.diagnostics
    assert merge(base, found.output, base_name="folder").output == effective
    file = read_overrides(found.output).file
    assert file is not None
    return [(one.operation, one.target or one.key or "") for one in file.directives]


def test_keys_that_the_old_merge_injected_are_kept_and_others_removed() -> None:
    effective = BASE.replace("size: small", "size: big\nx-fine-tuned: true").replace("gone: 1\n", "")
    assert recovered(BASE, effective) == [
        ("frontmatter-set", "size"),
        ("frontmatter-set", "x-fine-tuned"),
        ("frontmatter-delete", "gone"),
    ]


def test_the_item_s_name_is_its_own_and_not_the_folder_s() -> None:
    found = recover(BASE, BASE.replace("Pour.", "Serve."), name="folder")
    assert 'agent: "tea"\nbase-version: "2"\n' in (found.output or "")


def test_changed_new_and_removed_sections() -> None:
    assert recovered(BASE, BASE.replace("Five.", "Six.")) == [("replace", "# Tea > ## Brew")]
    assert recovered(BASE, BASE + "\n## Wash\n\nRinse.\n") == [("insert-after", "# Tea > ## Serve")]
    added = BASE.replace("## Brew", "## Warm\n\nWarm.\n\n## Brew")
    assert recovered(BASE, added) == [("insert-before", "# Tea > ## Brew")]
    assert recovered(BASE, BASE.replace("\n## Serve\n\nPour.\n", "")) == [("replace", "# Tea > ## Serve")]
    assert recovered(BASE, BASE.replace("Intro.", "Other.")) == [("replace", "# Tea")]


def test_line_ends_and_bom_survive() -> None:
    crlf = "\ufeff" + BASE.replace("\n", "\r\n")
    assert recovered(crlf, crlf.replace("Pour.", "Serve.")) == [("replace", "# Tea > ## Serve")]


@pytest.mark.parametrize("which", ["the original", "the merged text"])
def test_a_text_whose_sections_cannot_be_found_is_refused(which: str) -> None:
    deep = BASE + "\n" + ">" * (CONTENT.markdown_depth + 1) + "\n## Hidden\n"
    found = recover(deep, BASE) if which == "the original" else recover(BASE, deep)
    assert found.output is None
    assert [each.code for each in found.diagnostics] == ["cannot-migrate"]
    assert which in found.diagnostics[0].message


@pytest.mark.parametrize(
    ("base", "effective", "code"),
    [
        (BASE, BASE, "nothing-to-recover"),
        (BASE, BASE.replace("# Tea", "Text.\n\n# Tea"), "cannot-migrate"),
        (BASE, BASE.replace("Pour.", "Pour.\n\n\n\n"), "nothing-to-recover"),
        (BASE, BASE.replace("Pour.", "<!-- DIRECTIVE: replace\nx"), "cannot-migrate"),
        (BASE, BASE.replace("Pour.", "Other.").replace("Five.\n\n", "Five.\n\n\n"), "round-trip"),
        ("---\na: [\n---\n# A\n", "# A\n", "bad-frontmatter"),
        (BASE, BASE.replace("gone: 1\nsize: small", "size: small\ngone: 1").replace("Pour", "Serve"), "round-trip"),
    ],
)
def test_what_cannot_be_proved_gives_nothing(base: str, effective: str, code: str) -> None:
    found = recover(base, effective, name="x")
    assert (found.output, [one.code for one in found.diagnostics]) == (None, [code])


def test_the_command_writes_only_what_is_proved(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("base.md", BASE)
    rye.write("old.md", BASE.replace("Pour.", "Serve."))
    rye.ok("merge", "--migrate-legacy", "base.md", "old.md", "-o", "tea.overrides.md", "--today", "2026-02-03")
    assert rye.ok("merge", "base.md", "tea.overrides.md").stdout == rye.path("old.md").read_text()
    assert 'last-reviewed: "2026-02-03"' in rye.path("tea.overrides.md").read_text()
    failed = rye.run("merge", "--migrate-legacy", "base.md", "base.md", "-o", "none.md", "--json")
    assert (failed.code, failed.error["code"]) == (2, "nothing-to-recover")
    assert not rye.path("none.md").exists()
    assert rye.run("merge", "--migrate-legacy", "base.md", "old.md", "base.md", "--json").code == 2


def test_the_files_of_a_real_old_merge() -> None:
    folder = shared("corpus/nefario")
    base, effective = ((folder / f"AGENT.{name}.md").read_text() for name in ("generated", "expected"))
    found = recovered(base, effective)
    assert found[0] == ("frontmatter-set", "x-fine-tuned")
    assert [target.rpartition(" > ")[2] for _, target in found[1:]] == [
        "## Approval Gates",
        "## Architecture Review (Phase 3.5)",
        "## Conflict Resolution",
        "## Final Deliverables",
    ]
