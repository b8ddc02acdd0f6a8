"""Where items can come from, besides registries: the values of ``[policy] sources`` (docs/how-to/sources.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Allowed: TypeAlias = Literal["signed", "git", "path"]
SOURCE_SCALE: tuple[Allowed, ...] = ("signed", "git", "path")
"""Strictest first: items signed by keys in the user's trust store; also any commit of a git repository; also folders."""
