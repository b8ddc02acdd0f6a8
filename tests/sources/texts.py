"""Item texts for test repositories."""

from __future__ import annotations


def skill(name: str, more: str = "", body: str = "Read the document.") -> str:
    """A ``SKILL.md``. ``more``: additional lines of its frontmatter."""
    lines = f"{more.rstrip()}\n" if more else ""
    return (
        f"---\nname: {name}\ndescription: Reads {name} documents. Use it for them.\n{lines}---\n\n# {name}\n\n{body}\n"
    )
