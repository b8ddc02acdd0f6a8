"""The terminal of whoever types ``rye-registry``: its width, its colours, and text that fits it."""

from __future__ import annotations

import os
import shutil
import sys

from rye.layout import flow
from rye.text.display import visible

_PROSE = 100
"""The widest line of prose, in columns: longer ones are hard to read."""


def width() -> int:
    """The terminal's width in columns, at least 20; 80 if unknown. ``COLUMNS`` takes precedence."""
    return max(20, shutil.get_terminal_size().columns)


def has_colour() -> bool:
    """Whether the terminal may show styles: never with ``NO_COLOR``, ``CI`` or ``TERM=dumb``."""
    return not any(os.environ.get(name) for name in ("NO_COLOR", "CI")) and os.environ.get("TERM") != "dumb"


def fitted(text: str) -> str:
    """A message for stderr. On a terminal it is wrapped between words, and unprintable characters are escaped; elsewhere it
    stays as it is.
    """
    if not sys.stderr.isatty():
        return text
    lines: list[str] = []
    for paragraph in text.split("\n"):
        hang = len(paragraph) - len(paragraph.lstrip(" ")) + 2
        for line in flow([(visible(paragraph), None)], min(_PROSE, width()), hang):
            lines.append("".join(part for part, _ in line))
    return "\n".join(lines)
