"""The codes that ``rye explain`` knows: only their names, without parsing the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rye.explaining.table import CODES
from rye.workspace.completion.place import Place

_HEAD = re.compile(r"^\[([A-Za-z0-9-]+)\]$", re.MULTILINE)


def codes(place: Place) -> Iterator[str]:
    """Every code."""
    for path in sorted(CODES.glob("*.toml")):
        yield from _HEAD.findall(path.read_text("utf-8"))
