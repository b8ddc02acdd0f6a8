"""The table of error codes: ``codes/AREA.toml``, one file per area, one table per code.

::

    title = "Keys, signatures, trust"          the area
    page = "docs/explanation/security.md"                  the page about its subject; a code can name another one

    [wrong-passphrase]
    exit = 1
    title = "The passphrase is wrong, or the sealed key is damaged."
    text = "Try again. If it keeps failing, restore the key from a backup."

``exit`` is the exit status of a command that ends with this code. For a code of findings only, it is 1 if the finding can be an
error, and 0 if it is at most a warning. ``what`` lists the things that share a code; the error names its own in ``what``::

    [already-exists]
    what = ["account", "file", "team"]

``former.toml`` has the codes of earlier versions: a table per version that dropped them, in which each leads to its present code
and, after a space, to its ``what``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

CODES = Path(__file__).with_name("codes")
FORMER = Path(__file__).with_name("former.toml")
AREAS = (
    "commands",
    "directives",
    "texts",
    "agents",
    "items",
    "customizing",
    "projects",
    "auditing",
    "sources",
    "trust",
    "publishing",
    "registry",
    "log",
    "witnesses",
    "organizations",
    "running",
    "deploying",
    "server",
)
"""The files, in the order in which people encounter their codes."""


class Code(Struct, frozen=True, kw_only=True):
    """One code. ``area``: the name of its file; ``page``: a path from the root of the repository."""

    code: str
    exit: int
    title: str
    """What it means, in one sentence."""
    text: str
    """What to do, in one or two sentences."""
    page: str
    area: str
    what: tuple[str, ...] = ()
    """The values of ``what`` in an error with this code, sorted; empty if it has none."""


class Former(Struct, frozen=True):
    """What a code of earlier versions is called now."""

    code: str
    what: str | None
    """The ``what`` of such an error, if its code has several."""
    since: str
    """The first version that uses this code."""


class Area(Struct, frozen=True):
    """One file of the table: codes about one subject."""

    name: str
    title: str
    codes: tuple[Code, ...]
    """Sorted by name."""


class _CodeRow(Struct, frozen=True, forbid_unknown_fields=True):
    exit: int
    title: str
    text: str
    page: str | None = None
    what: tuple[str, ...] = ()


@cache
def load() -> tuple[Area, ...]:
    """Return every area, in order. Raises msgspec.ValidationError for a malformed row."""
    return tuple(read(name, (CODES / f"{name}.toml").read_text("utf-8")) for name in AREAS)


def read(name: str, text: str) -> Area:
    """Parse the text of one area's file. Raises msgspec.ValidationError for a malformed row."""
    written: dict[str, Any] = tomllib.loads(text)
    title, page = written.pop("title"), written.pop("page")
    rows = msgspec.convert(written, dict[str, _CodeRow])
    codes = (
        Code(code=code, exit=row.exit, title=row.title, text=row.text, page=row.page or page, area=name, what=row.what)
        for code, row in rows.items()
    )
    return Area(name, title, tuple(sorted(codes, key=lambda each: each.code)))


def by_code(areas: Iterable[Area]) -> Mapping[str, Code]:
    """Return all codes by name."""
    return {each.code: each for area in areas for each in area.codes}


def former() -> Mapping[str, Former]:
    """Return the codes of earlier versions. Raises msgspec.ValidationError for a malformed table."""
    versions = msgspec.convert(tomllib.loads(FORMER.read_text("utf-8")), dict[str, dict[str, str]])
    leads = ((old, since, name.partition(" ")) for since, codes in versions.items() for old, name in codes.items())
    return {old: Former(code, what or None, since) for old, since, (code, _, what) in leads}
