"""Version ranges as people write them (DESIGN §6), with the meaning that npm's ``semver`` gives them.

The rules of this file:

1. ``||`` separates alternatives; within one, whitespace or ``,`` means *and*. Whitespace after an operator (``>= 1.2``) is
   skipped; two comparators without anything between them are an error.
2. Comparators: ``= > >= < <= ^ ~`` (and ``~>``, the same as ``~``) before a version, whose trailing parts can be missing or
   ``x``, ``X``, ``*``. Without an operator it is ``=``: ``1.2.3`` is that one release, ``1.2`` is ``1.2.x``. (Cargo reads a bare
   version as ``^``; the documents require agreement with npm.) A ``v`` before the numbers is skipped, as is build metadata.
3. ``A - B`` alone between commas or ``||`` is ``>=A <=B``; a partial ``B`` includes everything below it.
4. An empty alternative is ``*``; so are the empty range and ``>=0.0.0``.
5. **Pre-releases only on request**: within one alternative, a pre-release counts only if a comparator there names a
   pre-release of the same ``major.minor.patch``. So ``^1.2.3-rc.1`` includes ``1.2.3-rc.2`` but never ``1.3.0-rc.1``. As in
   npm, an alternative that is ``*`` makes the whole range ``*``.
6. Upper bounds that a caret, tilde or partial version implies exclude the pre-releases of the bound: ``^1.2`` ends below
   ``2.0.0-0``.

A :class:`Range` is two plain sets: ``versions``, from the bounds alone, and ``prereleases``, the subset from which rule 5
allows pre-releases. So the solver asks ``version in range`` for each candidate, and the algebra of
:class:`~rye.resolution.versions.VersionSet` needs no exception.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NoReturn

from msgspec import Struct

from rye.errors import UsageError
from rye.limits import RESOLUTION
from rye.resolution.versions import BUILD, MAX_NUMBER, PRERELEASE, Version, VersionSet

_PART = r"(?:0|[1-9][0-9]*|[xX*])"
_PARTIAL = (
    rf"(?P<prefix>[v=]*)(?P<major>{_PART})(?:\.(?P<minor>{_PART})(?:\.(?P<patch>{_PART})(?:-(?P<pre>{PRERELEASE}))?)?)?"
    rf"(?:\+{BUILD})?"
)
_SPACE = " \t\r\n"
_ZERO = Version.of(0, 0, 0)


@cache
def _comparator_form() -> re.Pattern[str]:
    return re.compile(rf"(?P<operator>~>|[<>]=?|[=^~])?[{_SPACE}]*{_PARTIAL}(?=[{_SPACE}]|$)")


@cache
def _hyphen_side() -> re.Pattern[str]:
    return re.compile(_PARTIAL)


@cache
def _hyphen_mark() -> re.Pattern[str]:
    return re.compile(rf"[{_SPACE}]-[{_SPACE}]")


class Range(Struct, frozen=True, eq=False):
    """What a person wrote and what it means. Two ranges are equal if they were written the same way."""

    text: str
    versions: VersionSet
    """Everything between the bounds, regardless of rule 5."""
    prereleases: VersionSet
    """The pre-releases that were requested; a subset of ``versions``."""

    @staticmethod
    def parse(text: str) -> Range:
        """Parse a range. Raises UsageError ``bad-range``; its ``details["column"]`` counts characters from 1."""
        return _parse(text)

    @staticmethod
    def exactly(version: Version) -> Range:
        """Return the range that contains only ``version``."""
        return _parse(str(version))

    def __contains__(self, version: Version) -> bool:
        return version in (self.prereleases if version.is_prerelease else self.versions)

    def is_any(self) -> bool:
        """Whether it contains every release."""
        return self.versions == VersionSet.everything()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Range({self.text!r})"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Range) else NotImplemented


class _Alternative(Struct):
    """The comparators so far: their common versions, and the releases whose pre-releases were named (rule 5)."""

    versions: VersionSet
    named: set[tuple[int, int, int]]

    def add(self, versions: VersionSet, *named: Version) -> None:
        self.versions = self.versions.intersection(versions)
        self.named.update((v.major, v.minor, v.patch) for v in named if v.is_prerelease)

    def is_any(self) -> bool:
        return self.versions == VersionSet.everything() and not self.named

    def prereleases(self) -> VersionSet:
        result = VersionSet.nothing()
        for release in sorted(self.named):
            result = result.union(self.versions.intersection(VersionSet.prereleases_of(*release)))
        return result


@lru_cache(maxsize=8192)
def _parse(text: str) -> Range:
    if len(text) > RESOLUTION.range_characters:
        raise UsageError(
            "bad-range",
            f"The version range has {len(text)} characters; at most {RESOLUTION.range_characters} are allowed.",
            "Write a shorter range, e.g. ^1.2.",
            details={"column": RESOLUTION.range_characters + 1},
        )
    alternatives: list[_Alternative] = []
    start = 0
    for piece in text.split("||"):
        alternatives.append(_alternative(text, start, start + len(piece)))
        start += len(piece) + 2
    shown = " ".join(text.split()) or "*"
    if any(alternative.is_any() for alternative in alternatives):
        return Range(shown, VersionSet.everything(), VersionSet.nothing())
    versions = prereleases = VersionSet.nothing()
    for alternative in alternatives:
        versions = versions.union(alternative.versions)
        prereleases = prereleases.union(alternative.prereleases())
    return Range(shown, versions, prereleases)


def _alternative(text: str, start: int, end: int) -> _Alternative:
    """Parse one alternative, the text between two ``||``."""
    result = _Alternative(VersionSet.everything(), set())
    if not text[start:end].strip(_SPACE):
        return result
    for piece in text[start:end].split(","):
        stop = start + len(piece)
        begin = stop - len(piece.lstrip(_SPACE))
        if begin == stop:
            _fail(
                text,
                start,
                "a ',' has no comparator on one side",
                "Remove the ',', or write a comparator on both sides.",
            )
        _comparators(text, begin, begin + len(piece.strip(_SPACE)), result)
        start = stop + 1
    return result


def _comparators(text: str, start: int, end: int, into: _Alternative) -> None:
    """Parse either one hyphen range, or comparators separated by whitespace."""
    hyphen = _hyphen_mark().search(text, start, end)
    if hyphen:
        _hyphen(text, start, hyphen.start(), hyphen.end(), end, into)
        return
    while start < end:
        match = _comparator_form().match(text, start, end)
        if match is None:
            _explain(text, start, end)
        _comparator(text, match, into)
        start = match.end()
        while start < end and text[start] in _SPACE:
            start += 1


def _hyphen(text: str, start: int, left_end: int, right: int, end: int, into: _Alternative) -> None:
    """Parse a hyphen range (rule 3)."""
    while left_end > start and text[left_end - 1] in _SPACE:
        left_end -= 1
    while right < end and text[right] in _SPACE:
        right += 1
    low = _hyphen_side().fullmatch(text, start, left_end)
    high = _hyphen_side().fullmatch(text, right, end)
    if low is None or high is None:
        column = start if low is None else right
        _fail(
            text,
            column,
            "a hyphen range needs exactly one version on each side",
            "Write for example 1.2.0 - 2.0.0, or >=1.2.0 <2.0.0.",
        )
    version, given = _read(text, low)
    if given == 3:
        _check_prefix(text, low)
    if version != _ZERO:
        into.add(VersionSet.at_least(version), version)
    version, given = _read(text, high)
    if given == 3:
        _check_prefix(text, high)
        into.add(VersionSet.at_most(version), version)
    elif given:
        into.add(VersionSet.below(_after(text, high, version, given)))


def _comparator(text: str, match: re.Match[str], into: _Alternative) -> None:
    """Parse a comparator (rules 2 and 6)."""
    operator = match["operator"] or "="
    version, given = _read(text, match)
    if operator in ("^", "~", "~>"):
        if given == 0:
            return
        if version != _ZERO:
            into.add(VersionSet.at_least(version), version)
        if operator == "^":
            places = 1 if version.major or given == 1 else 2 if version.minor or given == 2 else 3
        else:
            places = min(given, 2)
        into.add(VersionSet.below(_after(text, match, version, places)))
        return
    numbered = [name for name in ("major", "minor", "patch") if match[name] and match[name] not in "xX*"]
    if len(numbered) != given:
        _fail(
            text,
            match.start("major"),
            "a number follows an x",
            "Use x for every part after the first x, e.g. 1.x.",
        )
    if given == 3:
        _check_prefix(text, match)
        if operator == ">=" and version == _ZERO:
            return
        into.add(_BOUNDS[operator](version), version)
    elif given == 0:
        if operator in ("<", ">"):
            into.add(VersionSet.nothing())
    elif operator == "=":
        if version != _ZERO:
            into.add(VersionSet.at_least(version))
        into.add(VersionSet.below(_after(text, match, version, given)))
    elif operator == ">":
        into.add(VersionSet.at_least(Version.of(*_bump(text, match, version, given))))
    elif operator == ">=":
        if version != _ZERO:
            into.add(VersionSet.at_least(version))
    elif operator == "<":
        into.add(VersionSet.below(Version.of(version.major, version.minor, 0, "0")))
    else:
        into.add(VersionSet.below(_after(text, match, version, given)))


_BOUNDS = {
    "=": VersionSet.exactly,
    ">": VersionSet.above,
    ">=": VersionSet.at_least,
    "<": VersionSet.below,
    "<=": VersionSet.at_most,
}


def _read(text: str, match: re.Match[str]) -> tuple[Version, int]:
    """The version with zeros for missing parts, and the number of parts before the first missing one or ``x``."""
    numbers: list[int] = []
    for name in ("major", "minor", "patch"):
        part = match[name]
        if part is None or part in "xX*":
            break
        numbers.append(int(part))
        if numbers[-1] > MAX_NUMBER:
            _fail(text, match.start(name), f"a number is above {MAX_NUMBER}", "Use a smaller number.")
    given = len(numbers)
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return Version.of(major, minor, patch, (match["pre"] or "") if given == 3 else ""), given


def _bump(text: str, match: re.Match[str], version: Version, places: int) -> tuple[int, int, int]:
    """The release after all those that share the first ``places`` parts."""
    numbers = [version.major, version.minor, version.patch][:places]
    numbers[-1] += 1
    if numbers[-1] > MAX_NUMBER:
        _fail(text, match.start("major"), f"its upper bound is above {MAX_NUMBER}", "Use a smaller number.")
    major, minor, patch = (*numbers, 0, 0)[:3]
    return major, minor, patch


def _after(text: str, match: re.Match[str], version: Version, places: int) -> Version:
    """The first pre-release of the release that :func:`_bump` returns (rule 6)."""
    return Version.of(*_bump(text, match, version, places), "0")


def _check_prefix(text: str, match: re.Match[str]) -> None:
    if match["prefix"] not in ("", "v"):
        _fail(
            text,
            match.start("prefix"),
            "there are two operators before the version",
            "Keep one operator, e.g. >=1.2.3.",
        )


def _explain(text: str, start: int, end: int) -> NoReturn:
    """Report what is wrong where no comparator could be parsed."""
    rest = text[start:end]
    if rest.startswith(("=>", "=<")):
        _fail(text, start, f"{rest[:2]!r} is not an operator", f"Write {rest[1]}=.")
    if rest.startswith("!"):
        _fail(
            text,
            start,
            "'not equal' is not supported",
            "Exclude a version with two alternatives, e.g. <1.2.3 || >1.2.3.",
        )
    if rest.startswith(("&", "and ")):
        _fail(text, start, "'and' is not written as a word", "Separate comparators with a space, e.g. >=1.2 <2.")
    if rest.startswith("|"):
        _fail(text, start, "'|' is not an operator", "Separate alternatives with '||'.")
    if re.match(r"[<>=^~]+[v=\s]*$", rest):
        _fail(text, end, "an operator has no version", "Write a version after it, e.g. >=1.2.")
    if re.match(r"[<>=^~]*\s*[v=]*(?:[0-9]+\.){0,2}0[0-9]", rest):
        _fail(text, start, "a number has a leading zero", "Write numbers without leading zeros, e.g. 1.2.3.")
    close = re.match(rf"(?:~>|[<>]=?|[=^~])?\s*{_PARTIAL}(?=[<>=^~])", rest)
    if close:
        _fail(
            text,
            start + close.end(),
            "there is no space between two comparators",
            "Put a space between them, e.g. >=1.2 <2.",
        )
    if text.strip() == "latest":
        _fail(text, start, "expected a version", "Leave it out: without a range you get the newest version.")
    _fail(text, start, "expected a version", "Write for example ^1.2, ~1.2.3, >=1.2 <2, 1.x, 1.2.0 - 2.0.0 or *.")


def _fail(text: str, offset: int, why: str, hint: str) -> NoReturn:
    shown = text if len(text) <= 80 else text[:80] + "…"
    raise UsageError(
        "bad-range",
        f"{shown!r} is not a version range: {why} (column {offset + 1}).",
        hint,
        details={"column": offset + 1},
    )
