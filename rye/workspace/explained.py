"""The explanation of a code, for ``rye explain``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rye.errors import UsageError
from rye.explaining.example import Example, example_of, examples
from rye.explaining.table import Area, Code, by_code, former, load
from rye.shipped import page_place
from rye.text.facts.fact import FACTS
from rye.text.spelling import close_words

_RULE = re.compile(r"[a-z]{1,2}\d{1,3}")
_WRAPPED = re.compile(r"(?:error|warning|notice|info)\[(.+)\]:?")


class Explained(Struct, frozen=True):
    """One code with its example."""

    row: Code
    example: Example | None
    former: str | None = None
    """The sentence that leads here from the code that was typed, if earlier versions called it so."""

    def as_json(self) -> dict[str, object]:
        """The document of ``rye explain CODE --json``; ``bad`` and ``good`` are None without an example."""
        row, example = self.row, self.example
        return {
            "code": row.code,
            "exit": row.exit,
            "title": row.title,
            "text": row.text,
            "page": row.page,
            "file": example.file if example else None,
            "bad": example.bad if example else None,
            "good": example.good if example else None,
        }


class Listed(Struct, frozen=True):
    """Codes, each with its meaning in one sentence."""

    rows: tuple[Code, ...]

    def as_json(self) -> dict[str, object]:
        """The document of ``rye explain --json``, also for an area or a prefix."""
        rows = [{"code": row.code, "exit": row.exit, "title": row.title, "area": row.area} for row in self.rows]
        return {"codes": rows}


def explain(word: str) -> Explained | Listed:
    """The row and example of a code, also written as printed: ``error[R04]``. A code of an earlier version leads to its present
    one. For an area's name, its codes in the order of the table. For a prefix, the codes that start with it, sorted.

    Raises UsageError ``unknown-name``.
    """
    areas = load()
    known = by_code(areas)
    code = code_of(word)
    row = known.get(code)
    if row is not None:
        return Explained(row, example_of(examples(row.area), code))
    renamed = former().get(code)
    if renamed is not None:
        row = known[renamed.code]
        named = f", and `what` is {renamed.what!r}" if renamed.what else ""
        notice = f"{code} is called {row.code} since version {renamed.since}{named}."
        return Explained(row, example_of(examples(row.area), row.code, renamed.what), notice)
    listed = next((area.codes for area in areas if area.name == code), ()) or _beginning(word.strip(), code, known)
    if listed:
        return Listed(listed)
    if code in FACTS:
        raise UsageError(
            "unknown-name",
            f"{code} is no error: it is a fact, something that the text of an item mentions.",
            f"{page_place('docs/reference/facts.md')} says what each fact is; `rye facts PATH` lists those of an item.",
            what="code",
        )
    near = close_words(code, known, 3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`rye explain` lists the areas and their codes."
    raise UsageError("unknown-name", f"Unknown error code {word!r}.", hint, what="code")


def _beginning(typed: str, code: str, known: Mapping[str, Code]) -> tuple[Code, ...]:
    """The codes with this prefix. Capitals mean rules: ``S`` matches S01 and so on, ``s`` also ``server-busy``."""
    if typed.isalpha() and typed.isupper() and len(typed) <= 2:
        found = [row for name, row in known.items() if name.startswith(typed)]
    else:
        found = [row for name, row in known.items() if code and name.lower().startswith(code.lower())]
    return tuple(sorted(found, key=lambda row: row.code.lower()))


def code_of(word: str) -> str:
    """A code as the table writes it, from what a person copied or typed."""
    wrapped = _WRAPPED.fullmatch(word.strip())
    code = (wrapped[1] if wrapped else word.strip().strip("`'\"[]:")).lower()
    return code.upper() if _RULE.fullmatch(code) else code.replace("_", "-")


def all_areas() -> Sequence[Area]:
    """Every area with its codes."""
    return load()


def all_codes() -> Listed:
    """Every code, in the order of the table."""
    return Listed(tuple(row for area in load() for row in area.codes))
