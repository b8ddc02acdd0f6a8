"""What a code means, for ``rye explain``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rye.errors import UsageError
from rye.explaining.example import Example, examples
from rye.explaining.table import Area, Code, by_code, load
from rye.text.spelling import close_words

_RULE = re.compile(r"[a-z]{1,2}\d{1,3}")
_WRAPPED = re.compile(r"(?:error|warning|notice|info)\[(.+)\]:?")


class Explained(Struct, frozen=True):
    row: Code
    example: Example | None

    def as_json(self) -> dict[str, object]:
        """The document of ``rye explain CODE --json``; ``bad`` and ``good`` are None where there is no example."""
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


def explain(word: str) -> Explained:
    """The row and the example of a code, also as it is printed: ``error[R04]``. Raises UsageError ``unknown-code``."""
    known = by_code(load())
    code = code_of(word)
    row = known.get(code)
    if row is None:
        near = close_words(code, known, 3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`rye explain` lists all codes."
        raise UsageError("unknown-code", f"There is no error code {word!r}.", hint)
    return Explained(row, examples(row.area).get(code))


def code_of(word: str) -> str:
    """A code as the table has it, from what a person copied or typed."""
    wrapped = _WRAPPED.fullmatch(word.strip())
    code = (wrapped[1] if wrapped else word.strip().strip("`'\"[]:")).lower()
    return code.upper() if _RULE.fullmatch(code) else code.replace("_", "-")


def all_codes() -> Sequence[Area]:
    """Every area with its codes."""
    return load()
