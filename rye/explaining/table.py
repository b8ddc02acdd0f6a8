"""The table of error codes: ``codes/AREA.toml``, one file per area, one table per code.

::

    title = "Keys, signatures, trust"          the area
    page = "docs/explanation/security.md"                  where its subject is explained; a code may name another page

    [wrong-passphrase]
    exit = 1
    title = "The passphrase is wrong, or the sealed key is damaged."
    text = "Try again. If it keeps failing, restore the key from a backup."

``exit`` is the exit status of the command that ends with this code. A code that only findings carry has 1 if it can be an error,
and 0 if it is never more than a warning.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

CODES = Path(__file__).with_name("codes")
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
    "running",
    "deploying",
    "server",
)
"""The files, in the order in which people meet their codes."""


class Code(Struct, frozen=True):
    """One code. ``area``: the name of its file; ``page``: a path from the root of the repository."""

    code: str
    exit: int
    title: str
    """What it means, in one sentence."""
    text: str
    """What to do, in one or two sentences."""
    page: str
    area: str


class Area(Struct, frozen=True):
    name: str
    title: str
    codes: tuple[Code, ...]
    """By name."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    exit: int
    title: str
    text: str
    page: str | None = None


def load() -> tuple[Area, ...]:
    """Every area, in order. Raises msgspec.ValidationError for a row that is not of its form."""
    return tuple(read(name, (CODES / f"{name}.toml").read_text("utf-8")) for name in AREAS)


def read(name: str, text: str) -> Area:
    """The text of one area's file."""
    written: dict[str, Any] = tomllib.loads(text)
    title, page = written.pop("title"), written.pop("page")
    rows = msgspec.convert(written, dict[str, _Row])
    codes = (Code(code, row.exit, row.title, row.text, row.page or page, name) for code, row in rows.items())
    return Area(name, title, tuple(sorted(codes, key=lambda each: each.code)))


def by_code(areas: Iterable[Area]) -> Mapping[str, Code]:
    """All codes by name."""
    return {each.code: each for area in areas for each in area.codes}
