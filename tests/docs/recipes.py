"""Changes and commands that a page of Markdown tells its reader to make, as values, and their application to files.

Shapes, each a fenced block:

* ``diff``: ``--- path``, then hunks, each after a line ``@@``. A hunk's lines begin with a space, ``-`` or ``+``. There
  are no line numbers: the lines that a hunk removes and keeps must appear in the file exactly once. A hunk that only
  adds appends to the file.
* a block right below a line that is only a path in backticks: a new file.
* ``sh`` below ``<!-- run: NAME -->``: commands of the recipe NAME; below ``<!-- dry -->``: commands that are only
  checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>dry|run: \w+) -->\n|`(?P<path>[^`\s]+)`:\n\n)?(?P<fence>`{3,})(?P<word>\w+)\n(?P<text>.*?\n)(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Hunk:
    """``old`` becomes ``new`` in the file at ``path``; without ``old``, ``new`` is added at its end."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class NewFile:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Commands:
    """``recipe`` is None for commands that are not run."""

    recipe: str | None
    script: str


Step = Hunk | NewFile | Commands


def steps(page: str) -> Iterator[Step]:
    """The steps of the page, in order. Raises ValueError for a block that has none of the shapes."""
    for block in _BLOCK.finditer(page):
        mark, path, word, text = block["mark"], block["path"], block["word"], block["text"]
        if word == "diff":
            yield from hunks(text)
        elif path is not None:
            yield NewFile(path, text)
        elif word == "sh" and mark is not None:
            yield Commands(mark.removeprefix("run: ") if mark != "dry" else None, text)
        else:
            raise ValueError(f"a block of {word} that nobody plays: {text[:60]!r}")


def hunks(diff: str) -> Iterator[Hunk]:
    """The hunks of one ``diff`` block."""
    path, old, new = "", list[str](), list[str]()
    for line in [*diff.splitlines(), "@@"]:
        if line == "@@" or line.startswith("--- "):
            if old or new:
                yield Hunk(path, *("".join(f"{line}\n" for line in lines) for lines in (old, new)))
            old, new = [], []
            path = line.removeprefix("--- ") if line != "@@" else path
            continue
        sign, rest = line[:1], line[1:]
        if sign not in (" ", "-", "+") or not path:
            raise ValueError(f"not a line of a hunk: {line!r}")
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)


def apply(step: Hunk | NewFile, root: Path) -> None:
    """Change the tree. Raises ValueError if a hunk's place is missing or ambiguous, or a new file already exists."""
    place = root / step.path
    if isinstance(step, NewFile):
        if place.exists():
            raise ValueError(f"{step.path} exists")
        place.write_text(step.text, "utf-8")
        return
    if not step.old:
        place.write_text(place.read_text("utf-8") + step.new, "utf-8")
        return
    text = "\n" + place.read_text("utf-8")
    if (count := text.count("\n" + step.old)) != 1:
        raise ValueError(f"{step.path}: {count} places for\n{step.old}")
    place.write_text(text.replace("\n" + step.old, "\n" + step.new)[1:], "utf-8")
