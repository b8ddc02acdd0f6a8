"""Check versions and ranges as written, with one grammar for all kinds (DECISIONS Directives 19, DESIGN §6).

A version is SemVer 2, each number below 2^63; a directive's is exactly ``X.Y.Z``. The solver accepts the same
(:mod:`rye.resolution.versions`).

The grammar of ranges is in :mod:`rye.resolution.ranges`, which knows nothing of items.
"""

from __future__ import annotations

from functools import lru_cache

from rye.errors import UsageError
from rye.limits import RESOLUTION
from rye.resolution.ranges import Range
from rye.text.lazy import lazy_pattern

_NUMBER = r"(?:0|[1-9][0-9]*)"
_RELEASE = lazy_pattern(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})")
_REST = lazy_pattern(
    rf"(?:-(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def version_problem(text: str, *, release_only: bool = False) -> str | None:
    """The problem, as the end of a sentence about the version, or None. ``release_only``: only X.Y.Z is allowed."""
    if len(text) > RESOLUTION.version_characters:
        return f"has more than {RESOLUTION.version_characters} characters"
    return _problem(text, release_only)


@lru_cache(maxsize=256)
def _problem(text: str, release_only: bool) -> str | None:
    """Cached, because an item's version is checked in several places; the texts are short."""
    found = _RELEASE.match(text)
    if found is None or (found.end() != len(text) if release_only else _REST.fullmatch(text, found.end()) is None):
        return "is not exactly X.Y.Z" if release_only else "is not a semantic version"
    if max(map(int, found.groups())) > RESOLUTION.version_number:
        return "has a number of 2^63 or more"
    return None


_MOST_CHARACTERS = 200


def is_range(text: str) -> bool:
    """Whether the solver can parse ``text``. Blank text is not a range; an author who accepts any version omits it."""
    return len(text) <= _MOST_CHARACTERS and _parses(text)


@lru_cache(maxsize=512)
def _parses(text: str) -> bool:
    """Cached, because the same few ranges are checked repeatedly; the texts are short."""
    if not text.strip():
        return False
    try:
        Range.parse(text)
    except UsageError:
        return False
    return True
