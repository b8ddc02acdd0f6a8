"""Where items may come from beside registries: the scale behind ``[policy] sources`` (docs/how-to/sources.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Allowed: TypeAlias = Literal["signed", "git", "path"]
SOURCE_SCALE: tuple[Allowed, ...] = ("signed", "git", "path")
"""The strictest first: in-file signatures by keys of the user's trust store; any commit of a git repository; folders, too."""


def source_refusal(allowed: Allowed, *, is_git: bool, signed: bool) -> str | None:
    """Why an item of a source may not be used; None where it may."""
    if allowed == "signed" and not signed:
        return 'the policy allows sources = "signed" alone, and no key that you trust signed it'
    if allowed == "git" and not is_git and not signed:
        return 'the policy allows sources = "git" alone, and this one is a folder'
    return None


def strictest(given: tuple[Allowed, ...]) -> Allowed:
    """What all of these allow; without any, everything."""
    return min(given, key=SOURCE_SCALE.index, default="path")
