"""Where items can come from, besides registries: the values of ``[policy] sources`` (docs/how-to/sources.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Allowed: TypeAlias = Literal["none", "signed", "git", "path"]
SOURCE_SCALE: tuple[Allowed, ...] = ("none", "signed", "git", "path")
"""Strictest first: no source at all; items signed by keys in the user's trust store; also any commit of a git repository; also
folders."""
