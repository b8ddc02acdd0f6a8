"""A JSON document as indented text for people, without empty values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rye.cli.console import printable


def indented_lines(value: Any, indent: int = 0) -> Iterator[str]:
    """The lines of ``value``, a mapping, with control characters escaped."""
    pad = "  " * indent
    for key, entry in value.items():
        if entry in (None, "", [], {}, ()):
            continue
        name = printable(str(key)).replace("_", " ")
        if isinstance(entry, dict):
            yield f"{pad}{name}:"
            yield from indented_lines(entry, indent + 1)
        elif isinstance(entry, list | tuple):
            yield f"{pad}{name}:"
            for element in entry:
                if isinstance(element, dict):
                    inner = list(indented_lines(element, indent + 2))
                    yield f"{pad}  - {inner[0].strip()}" if inner else f"{pad}  -"
                    yield from inner[1:]
                else:
                    yield f"{pad}  - {printable(str(element))}"
        elif isinstance(entry, str) and "\n" in entry:
            yield f"{pad}{name}:"
            yield from (f"{pad}  {printable(line)}" for line in entry.removesuffix("\n").split("\n"))
        else:
            shown = {True: "yes", False: "no"}.get(entry, entry) if isinstance(entry, bool) else entry
            yield f"{pad}{name}: {printable(str(shown))}"
