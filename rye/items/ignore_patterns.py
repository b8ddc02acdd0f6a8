"""Patterns of ``.ryeignore``: which files of an item's folder are not released (DECISIONS Skills 1). A subset of gitignore's.

One pattern per line. Blank lines and ``#`` comments are ignored. ``!`` reverses a match. A trailing ``/`` matches only folders.
A pattern with another ``/`` is anchored at the item's folder; one without matches a name at any depth. ``*``, ``?`` and ``[…]``
stay within a name, ``**`` crosses folders. The last match decides. Nothing below an ignored folder is examined.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from msgspec import Struct

_MOST_PATTERNS = 1000
_MOST_PARTS = 32


class _Pattern(Struct, frozen=True):
    parts: tuple[str, ...]
    negated: bool
    folders_only: bool


class IgnorePatterns(Struct, frozen=True):
    """A parsed ``.ryeignore``."""

    patterns: tuple[_Pattern, ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether the last pattern that matches ``path`` (relative, with ``/``) ignores it."""
        names = tuple(path.split("/"))
        for pattern in reversed(self.patterns):
            if (folder or not pattern.folders_only) and _matches(pattern.parts, names):
                return not pattern.negated
        return False


def parse_ignore(text: str) -> IgnorePatterns:
    """Parse the text of a ``.ryeignore``. Lines beyond a thousand, or with more than 32 parts, are ignored."""
    patterns: list[_Pattern] = []
    for line in text.split("\n")[:_MOST_PATTERNS]:
        line = line.rstrip(" \t\r")
        if not line or line.startswith("#"):
            continue
        negated = line.startswith("!")
        body = line[1:] if negated else line.removeprefix("\\")
        folders_only, body = body.endswith("/"), body.rstrip("/")
        anchored = "/" in body
        parts = tuple(part for part in body.split("/") if part)
        if parts and len(parts) <= _MOST_PARTS:
            patterns.append(_Pattern(parts if anchored else ("**", *parts), negated, folders_only))
    return IgnorePatterns(tuple(patterns))


def _matches(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Match whole paths part by part; ``**`` matches any number of names. Time is parts times names."""
    reachable = {0}
    for part in parts:
        if part == "**":
            reachable = set(range(min(reachable), len(names) + 1)) if reachable else set()
        else:
            name = _name(part)
            reachable = {at + 1 for at in reachable if at < len(names) and name.match(names[at])}
    return len(names) in reachable


@lru_cache(maxsize=2048)
def _name(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
