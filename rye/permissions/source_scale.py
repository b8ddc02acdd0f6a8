"""Where items may come from beside registries: the scale behind ``[policy] sources`` (docs/sources.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Allowed: TypeAlias = Literal["signed", "git", "path"]
SOURCE_SCALE: tuple[Allowed, ...] = ("signed", "git", "path")
"""The strictest first: in-file signatures by keys of the user's trust store; any commit of a git repository; folders, too."""


def strictest(given: tuple[Allowed, ...]) -> Allowed:
    """What all of these allow; without any, everything."""
    return min(given, key=SOURCE_SCALE.index, default="path")
