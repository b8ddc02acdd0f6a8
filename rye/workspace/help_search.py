"""The search of ``rye help WORDS``: commands, error codes and pages that have to do with some words, best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from rye.explaining.table import load
from rye.shipped import page_place, shipped
from rye.text.ranking.answering import Findable, answers, findable
from rye.text.ranking.body_words import body_words
from rye.text.ranking.scoring import Searched

MOST = {"command": 5, "error": 3, "page": 3}
"""Sort → how many are listed, in this order."""
_FOLDERS = ("docs", "docs/how-to", "docs/explanation", "docs/reference")
"""Where the pages for users are."""


class Found(Struct, frozen=True):
    """Something to go on with."""

    sort: str
    """``command``, ``error`` or ``page``."""
    name: str
    """The command's words, the error's code, or the page's file name without its ending."""
    line: str
    """What it is, in one line."""
    next: str
    """The command that shows it; of a page, its path or address."""

    def as_json(self) -> dict[str, object]:
        """The entry of ``found`` in the document."""
        return {"sort": self.sort, "name": self.name, "line": self.line, "next": self.next}


def search(query: str, commands: Mapping[str, Mapping[str, Any]], synonyms: Mapping[str, str]) -> list[Found]:
    """What answers a query, commands first. ``commands``: rows of :mod:`rye.cli.completing`'s table by their words.
    ``synonyms``: other words → the command that is meant."""
    everything = [*_commands(commands, synonyms), *_errors(), *_pages()]
    ranked = [found for _, found in answers(query, everything)]
    return [found for sort, most in MOST.items() for found in [one for one in ranked if one.sort == sort][:most]]


def _commands(commands: Mapping[str, Mapping[str, Any]], synonyms: Mapping[str, str]) -> Iterator[Findable[Found]]:
    """Each command by its words, its line, its options and what others call it; the global options as one page."""
    for words, row in commands.items():
        names = " ".join(row["options"])
        if not words:
            line = "The options that every command accepts."
            yield findable(
                Searched("command", "options", line, names), Found("command", "options", line, "rye help options")
            )
            continue
        others = [other for other, meant in synonyms.items() if meant == words]
        searched = Searched("command", words.replace(" ", "/"), row["help"], " ".join([names, *others]))
        yield findable(searched, Found("command", words, row["help"], f"rye help {words}"))


def _errors() -> Iterator[Findable[Found]]:
    """Each error code by its name, its meaning and what to do."""
    for area in load():
        for row in area.codes:
            searched = Searched("error", row.code, f"{row.title} {row.text}")
            yield findable(searched, Found("error", row.code, row.title, f"rye explain {row.code}"))


def _pages() -> Iterator[Findable[Found]]:
    """Each page for users by its name, its headings and the words of its text that tell most. Lists of pages are left out."""
    for folder in _FOLDERS:
        place = shipped(folder)
        for path in sorted(place.glob("*.md")) if place is not None else ():
            text = path.read_text("utf-8")
            headings = [line.lstrip("# ") for line in text.split("\n") if line.startswith("#")]
            if headings and path.stem != "README":
                page = f"{folder}/{path.name}"
                searched = Searched("page", path.stem, " ".join(headings), f"\n{body_words(text)}")
                yield findable(searched, Found("page", path.stem, headings[0], page_place(page)))
