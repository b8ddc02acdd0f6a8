"""A directive's target: heading selectors joined by `` > `` (DECISIONS Overrides 9, 17).

A path is split at `` > `` only if one to six hashes and a space or tab follow, so headings can contain ``>``. Each selector
must have a deeper level than the one before. Selectors are parsed like headings: closing hashes are dropped, any whitespace
after the opening hashes counts as one space, and the text in between must match exactly."""

from __future__ import annotations

import re
from typing import NamedTuple

from rye.text.markdown_grammar import heading_of

_JOINT = re.compile(r" > (?=#{1,6}[ \t])")
_TOO_DEEP = re.compile(r"(?:^| > )#{7,}(?:[ \t]|$)")


class Selector(NamedTuple):
    """One heading: its level, 1–6, and its exact text."""

    level: int
    text: str

    def __str__(self) -> str:
        return f"{'#' * self.level} {self.text}"


class HeadingPathError(ValueError):
    """The text is not a valid heading path; the message says why."""


def parse_heading_path(text: str) -> tuple[Selector, ...]:
    """The selectors, outermost first; never empty. Raises HeadingPathError."""
    path = text.strip(" \t")
    if not path:
        raise HeadingPathError("the target is empty")
    if any(character < " " and character != "\t" for character in path):
        raise HeadingPathError("the target contains a control character")
    if _TOO_DEEP.search(path):
        raise HeadingPathError("a heading has at most six hashes")
    selectors: list[Selector] = []
    for part in _JOINT.split(path):
        heading = heading_of(part) if part.startswith("#") else None
        if heading is None:
            raise HeadingPathError(
                f"{part!r} is not a heading selector: write one to six hashes, a space and the heading's text"
            )
        if not heading[1]:
            raise HeadingPathError(f"{part!r} has no heading text")
        if selectors and heading[0] <= selectors[-1].level:
            raise HeadingPathError(
                f"mismatched levels: {'#' * heading[0]!r} cannot be below {'#' * selectors[-1].level!r}"
            )
        selectors.append(Selector(*heading))
    return tuple(selectors)


def path_text(path: tuple[Selector, ...]) -> str:
    """The path as written in a directive."""
    return " > ".join(map(str, path))
