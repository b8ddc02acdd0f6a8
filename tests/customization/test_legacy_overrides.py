"""The old overrides format rewritten: DECISIONS Overrides 6, 19."""

from __future__ import annotations

from datetime import date

import pytest

from rye.customization.legacy import migrate_legacy
from rye.customization.merge import merge
from tests.customization.override_text import BASE

OLD = """---
name: sage
model: large
base-version: "1.0"
list: # which
- a
---
# Notes

Why.

## Output

New output.

### Sub

<!-- END DIRECTIVE -->

## A --> B

x
"""


def test_each_h2_becomes_one_replace_and_the_result_merges() -> None:
    base = BASE + "\n## A --> B\n\nold\n"
    migration = migrate_legacy(OLD, today=date(2026, 1, 2))
    assert migration.output is not None
    assert migration.replaced == ("## Output", "## A --> B")
    assert migration.output.startswith(
        '---\nagent: "sage"\nbase-version: "1.0"\nlast-reviewed: "2026-01-02"\n---\n\n# Notes\n\nWhy.\n\n'
    )
    assert migration.output.count("<!-- DIRECTIVE: replace\n") == 2
    assert [d.code for d in migration.diagnostics] == ["migrated"]
    result = merge(base, migration.output, base_name="sage")
    assert result.diagnostics == ()
    expected = base.replace("model: small", "model: large").replace('"1.0"\n---', '"1.0"\nlist: # which\n- a\n---')
    expected = expected.replace("Old output.", "New output.\n\n### Sub\n\n<!-- END DIRECTIVE -->").replace(
        "\nold\n", "\nx\n"
    )
    assert result.output is not None
    assert result.output.replace("list:\n# which\n", "list: # which\n") == expected


def test_what_the_file_does_not_say_comes_from_the_caller_or_asks_for_a_review() -> None:
    output = migrate_legacy("## A\r\n\r\nx\r\n", agent="sage").output
    assert output is not None
    assert output.startswith(
        '---\r\nagent: "sage"\r\nbase-version: "unknown"\r\nlast-reviewed: "1970-01-01"\r\n---\r\n'
    )
    result = merge("---\nversion: 1.0.0\n---\n\n## A\n\ny\n", output, base_name="sage", today=date(2026, 1, 1))
    assert [d.code for d in result.diagnostics] == ["stale-base-version", "stale-review"]
    assert result.output == "---\nversion: 1.0.0\n---\n\n## A\n\nx\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("## A\n", "no-agent"),
        ("---\nagent: sage\n---\n\nNo section.\n", "not-old-format"),
        ("---\nagent: sage\n---\n## A\n\n```\n<!-- DIRECTIVE: replace\n```\n", "cannot-migrate"),
        ("---\nagent: sage\n---\n##\n\nx\n", "cannot-migrate"),
        ("---\nagent: sage\n---\n## A > ## B\n\nx\n", "cannot-migrate"),
        ("---\nagent: sage\n---\n## A\n\n<!-- END DIRECTIVE\u200b -->\n", "cannot-migrate"),
        ("---\nagent: sage\nodd key: 1\n---\n## A\n", "cannot-migrate"),
        ("---\nagent: a: b\n---\n## A\n", "bad-frontmatter"),
        ("## A\n\n<!-- DIRECTIVE: replace\n", "not-old-format"),
    ],
)
def test_what_cannot_be_rewritten_is_an_error(text: str, code: str) -> None:
    migration = migrate_legacy(text)
    assert migration.output is None
    assert code in [d.code for d in migration.diagnostics]


def test_text_that_was_never_applied_and_repeated_sections_are_reported() -> None:
    migration = migrate_legacy(
        "## A\n\nx\n\n# B\n\nleft out\n\n## A\n\ny\n", agent="sage", base_version="1", today=date(2026, 1, 1)
    )
    assert [d.code for d in migration.diagnostics] == ["text-left-out", "repeated-section", "migrated"]
    assert "left out" not in (migration.output or "")
