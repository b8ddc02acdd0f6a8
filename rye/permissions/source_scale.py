"""Where items can come from, besides registries: the values of ``[policy] sources`` (docs/how-to/sources.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Allowed: TypeAlias = Literal["signed", "git", "path"]
SOURCE_SCALE: tuple[Allowed, ...] = ("signed", "git", "path")
"""Strictest first: items signed by keys in the user's trust store; also any commit of a git repository; also folders."""


def source_refusal(allowed: Allowed, *, is_git: bool, signed: bool) -> str | None:
    """Return why an item of a source cannot be used; None if it can."""
    if allowed == "signed" and not signed:
        return 'the policy allows only sources = "signed", and no key that you trust signed it'
    if allowed == "git" and not is_git and not signed:
        return 'the policy allows only sources = "git", and this source is a folder'
    return None


def strictest(given: tuple[Allowed, ...]) -> Allowed:
    """Return what all of these allow; with none given, everything is allowed."""
    return min(given, key=SOURCE_SCALE.index, default="path")
