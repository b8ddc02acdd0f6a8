"""Versions and sets of versions (SemVer 2.0.0).

The rules of this file:

1. A version is ``MAJOR.MINOR.PATCH[-prerelease][+build]`` exactly as SemVer 2 §2, §9 and §10 define it: no ``v``, no leading
   zeros, no missing part. Numbers are below 2^63 (DECISIONS Directives 19).
2. Order is SemVer 2 §11. Build metadata does not affect it: versions that differ only in that are equal (also for ``hash``).
   To identify an exact release, compare ``str(version)``.
3. Every version has a successor: after ``1.2.3`` comes ``1.2.4-0``, after ``1.2.3-rc`` comes ``1.2.3-rc.0``; the first of all
   is ``0.0.0-0``. So every interval is half open, ``[a, b)``, and a set is the sorted list of the points where membership
   flips. That list is canonical: two sets are equal exactly if their lists are.
4. The algebra is plain set algebra over that order. It knows nothing of "pre-releases only on request": that rule belongs to
   :class:`rye.resolution.ranges.Range`, what a person wrote, and applies when candidates are matched with a range.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct, field

from rye.errors import UsageError
from rye.limits import RESOLUTION
from rye.text.lazy import lazy_pattern

Identifier = tuple[int, int | str]
"""``(0, number)`` or ``(1, text)``: numeric identifiers come before alphanumeric ones (SemVer 2 §11.4)."""
Key = tuple[int, int, int, int, tuple[Identifier, ...]]
"""``(major, minor, patch, 0 for a pre-release or 1, pre-release identifiers)``: compares as the version does."""

MAX_NUMBER = RESOLUTION.version_number
_LOWEST_IDENTIFIER: Identifier = (0, 0)
_FIRST: Key = (0, 0, 0, 0, (_LOWEST_IDENTIFIER,))

_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
PRERELEASE = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*"
BUILD = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = lazy_pattern(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({PRERELEASE}))?(?:\+({BUILD}))?")


class Version(Struct, frozen=True, eq=False):
    """One version. Create it with :meth:`parse` or :meth:`of`."""

    key: Key
    build: str = ""

    @staticmethod
    def parse(text: str) -> Version:
        """Parse a version (rule 1). Raises UsageError ``bad-version``."""
        return _parse(text)

    @staticmethod
    def of(major: int, minor: int, patch: int, prerelease: str = "") -> Version:
        """Return the version with these parts; ``prerelease`` without the hyphen."""
        return Version((major, minor, patch, 0 if prerelease else 1, identifiers(prerelease)))

    @property
    def major(self) -> int:
        """The first number."""
        return self.key[0]

    @property
    def minor(self) -> int:
        """The second number."""
        return self.key[1]

    @property
    def patch(self) -> int:
        """The third number."""
        return self.key[2]

    @property
    def prerelease(self) -> str:
        """Its identifiers joined by dots; empty for a release."""
        return ".".join(str(value) for _, value in self.key[4])

    @property
    def is_prerelease(self) -> bool:
        """Whether it has pre-release identifiers."""
        return self.key[3] == 0

    def __str__(self) -> str:
        return _text(self.key) + (f"+{self.build}" if self.build else "")

    def __repr__(self) -> str:
        return f"Version({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __le__(self, other: Version) -> bool:
        return self.key <= other.key

    def __gt__(self, other: Version) -> bool:
        return self.key > other.key

    def __ge__(self, other: Version) -> bool:
        return self.key >= other.key


@lru_cache(maxsize=8192)
def _parse(text: str) -> Version:
    match = _VERSION.fullmatch(text) if len(text) <= RESOLUTION.version_characters else None
    if match is None:
        shown = text if len(text) <= 64 else text[:64] + "…"
        raise UsageError(
            "bad-version",
            f"{shown!r} is not a version.",
            "Write three numbers without leading zeros, e.g. 1.4.0 or 2.0.0-rc.1 (SemVer 2).",
        )
    major, minor, patch = int(match[1]), int(match[2]), int(match[3])
    if max(major, minor, patch) > MAX_NUMBER:
        raise UsageError("bad-version", f"{text!r} has a number of 2^63 or more.", "Use a smaller number.")
    prerelease = match[4] or ""
    return Version((major, minor, patch, 0 if prerelease else 1, identifiers(prerelease)), match[5] or "")


def identifiers(prerelease: str) -> tuple[Identifier, ...]:
    """Return the comparable form of a pre-release's dotted identifiers."""
    if not prerelease:
        return ()
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in prerelease.split("."))


def _text(key: Key) -> str:
    major, minor, patch, release, parts = key
    return f"{major}.{minor}.{patch}" + ("" if release else "-" + ".".join(str(value) for _, value in parts))


def _next(key: Key) -> Key:
    """The smallest greater version (rule 3)."""
    major, minor, patch, release, parts = key
    if release:
        return (major, minor, patch + 1, 0, (_LOWEST_IDENTIFIER,))
    return (major, minor, patch, 0, (*parts, _LOWEST_IDENTIFIER))


class VersionSet(Struct, frozen=True):
    """A set of versions as the points where membership flips, ascending: in from the first, out from the second, … (rule 3)."""

    cuts: tuple[Key, ...] = field(default=())

    @staticmethod
    def everything() -> VersionSet:
        """Return the set of all versions."""
        return _EVERYTHING

    @staticmethod
    def nothing() -> VersionSet:
        """Return the empty set."""
        return _NOTHING

    @staticmethod
    def exactly(version: Version) -> VersionSet:
        """Return the set with this one version."""
        return VersionSet((version.key, _next(version.key)))

    @staticmethod
    def at_least(version: Version) -> VersionSet:
        """Return the versions ``>= version``."""
        return VersionSet((version.key,))

    @staticmethod
    def above(version: Version) -> VersionSet:
        """Return the versions ``> version``."""
        return VersionSet((_next(version.key),))

    @staticmethod
    def below(version: Version) -> VersionSet:
        """Return the versions ``< version``."""
        return _NOTHING if version.key == _FIRST else VersionSet((_FIRST, version.key))

    @staticmethod
    def at_most(version: Version) -> VersionSet:
        """Return the versions ``<= version``."""
        return VersionSet((_FIRST, _next(version.key)))

    @staticmethod
    def prereleases_of(major: int, minor: int, patch: int) -> VersionSet:
        """Return every pre-release of one release."""
        return VersionSet(((major, minor, patch, 0, (_LOWEST_IDENTIFIER,)), (major, minor, patch, 1, ())))

    def __contains__(self, version: Version) -> bool:
        return bisect_right(self.cuts, version.key) % 2 == 1

    def is_empty(self) -> bool:
        """Whether no version is in it."""
        return not self.cuts

    def complement(self) -> VersionSet:
        """Return the versions that are not in it."""
        return VersionSet(self.cuts[1:] if self.cuts[:1] == (_FIRST,) else (_FIRST, *self.cuts))

    def union(self, other: VersionSet) -> VersionSet:
        """Return the versions in either set."""
        return _combine(self, other, lambda a, b: a or b)

    def intersection(self, other: VersionSet) -> VersionSet:
        """Return the versions in both sets."""
        return _combine(self, other, lambda a, b: a and b)

    def difference(self, other: VersionSet) -> VersionSet:
        """Return the versions in this set but not in ``other``."""
        return _combine(self, other, lambda a, b: a and not b)

    def is_subset(self, other: VersionSet) -> bool:
        """Whether ``other`` contains every version of this set."""
        return self.difference(other).is_empty()

    __or__ = union
    __and__ = intersection
    __sub__ = difference
    __le__ = is_subset
    __invert__ = complement

    def __str__(self) -> str:
        """A range with these bounds as people write it, e.g. ``^1.2.0 || >=3.0.0``; everything: ``*``, nothing: ``<0.0.0-0``."""
        if not self.cuts:
            return "<0.0.0-0"
        ends = (*self.cuts[1::2], *((None,) if len(self.cuts) % 2 else ()))
        return " || ".join(_interval(low, high) for low, high in zip(self.cuts[::2], ends, strict=True))

    def __repr__(self) -> str:
        return f"VersionSet({str(self)!r})"


_NOTHING = VersionSet()
_EVERYTHING = VersionSet((_FIRST,))


def _combine(first: VersionSet, second: VersionSet, keep: Callable[[bool, bool], bool]) -> VersionSet:
    """One sweep over both lists of cuts; linear in their lengths."""
    a, b = first.cuts, second.cuts
    i = j = 0
    inside = False
    result: list[Key] = []
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            cut = a[i]
        else:
            cut = b[j]
        i += i < len(a) and a[i] == cut
        j += j < len(b) and b[j] == cut
        if keep(i % 2 == 1, j % 2 == 1) != inside:
            inside = not inside
            result.append(cut)
    return VersionSet(tuple(result))


def _interval(low: Key, high: Key | None) -> str:
    """One interval as the shortest range that people write for it."""
    if high is None:
        return "*" if low == _FIRST else _lower(low)
    if high == _next(low):
        return _text(low)
    major, minor, patch, release, parts = high
    if not release and parts == (_LOWEST_IDENTIFIER,) and low != _FIRST:
        zero = low[0] == 0
        if (major, minor, patch) == ((0, low[1] + 1, 0) if zero and low[1] else (low[0] + 1, 0, 0)) and (
            low[0] or low[1]
        ):
            return f"^{_text(low)}"
        if (major, minor, patch) == (low[0], low[1] + 1, 0):
            return f"~{_text(low)}"
    upper = _upper(high)
    return upper if low == _FIRST else f"{_lower(low)} {upper}"


def _lower(low: Key) -> str:
    major, minor, patch, release, parts = low
    if not release and parts == (_LOWEST_IDENTIFIER,) and patch:
        return f">{major}.{minor}.{patch - 1}"
    return f">={_text(low)}"


def _upper(high: Key) -> str:
    """In a range, ``<2`` and ``<1.3`` also exclude the pre-releases of 2.0.0 and 1.3.0."""
    major, minor, patch, release, parts = high
    if release or parts != (_LOWEST_IDENTIFIER,):
        return f"<{_text(high)}"
    if patch:
        return f"<={major}.{minor}.{patch - 1}"
    return f"<{major}.{minor}" if minor else f"<{major}"


def comparable(text: str) -> Version | None:
    """Return the version, or None for text that breaks rule 1 and so cannot be compared."""
    try:
        return _parse(text)
    except UsageError:
        return None
