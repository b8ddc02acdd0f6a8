"""Writes overrides files for the tests of this folder."""

from __future__ import annotations

from rye.customization.merge import MergeResult, merge

HEAD = '---\nagent: sage\nbase-version: "1.0"\nlast-reviewed: "2026-01-01"\n---\n\nNotes for people.\n\n'

BASE = """---
name: sage
model: small
x-plan-version: "1.0"
---

# Identity

You are Sage.

## Rules

Old rules.

### Detail

Old detail.

## Output

Old output.

# Closing

Bye.
"""


def directive(
    operation: str, target: str | None = None, content: str = "", *metadata: str, key: str | None = None
) -> str:
    """One directive; ``metadata`` are additional lines, unchanged."""
    lines = [f"<!-- DIRECTIVE: {operation}"]
    if target is not None:
        lines.append(f"target: {target}")
    if key is not None:
        lines.append(f"key: {key}")
    lines += ["reason: because", *metadata, "-->"]
    return "\n".join(lines) + "\n" + content + ("\n" if content else "") + "<!-- END DIRECTIVE -->\n"


def overrides(*directives: str, head: str = HEAD) -> str:
    return head + "\n".join(directives)


def apply(base: str, *directives: str) -> MergeResult:
    """Merge the directives into ``base``, whose folder is ``sage``."""
    return merge(base, overrides(*directives), base_name="sage")


def output(base: str, *directives: str) -> str:
    """The merged text; fails on any error or warning."""
    result = apply(base, *directives)
    assert result.output is not None
    assert [d for d in result.diagnostics if d.severity in ("error", "warning")] == []
    return result.output


def found(result: MergeResult) -> list[tuple[str, str]]:
    """Severity and code of each finding."""
    return [(d.severity, d.code) for d in result.diagnostics]
