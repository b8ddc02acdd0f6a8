"""Search among items that are all at hand: installed ones, a static registry's, those that a run may use. Pure.

A registry's server asks its index instead (:mod:`registry_server.search.finding`), corrects by the same rules, and ranks by the
same function, so both give the same items the same scores and the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from rye.text.ranking.mistakes import corrections_for, meant
from rye.text.ranking.scoring import Searched, question_of, ranked, terms_of, unknown_words

_Row = TypeVar("_Row")


class Findable(Struct, Generic[_Row], frozen=True):
    """An item that may be found, and what the caller makes of it."""

    kind: str
    id: str
    terms: str
    deprecated: bool
    row: _Row


def findable(searched: Searched, row: _Row, *, deprecated: bool = False) -> Findable[_Row]:
    """Return an item as :func:`answers` takes it."""
    return Findable(searched.kind, searched.id, terms_of(searched), deprecated, row)


def answers(query: str, items: Sequence[Findable[_Row]]) -> list[tuple[float, _Row]]:
    """Return the items that answer a query, best first, each with its score. Words that no item has are corrected.

    Empty if no word of the query has two letters.
    """
    question = question_of(query)
    if question is None:
        return []
    unknown = unknown_words(question, (item.terms for item in items))
    if unknown:
        known = {word for item in items for word in corrections_for(item.id)}
        corrections = {clause.word: meant(clause.word, known) for clause in unknown}
        question = question_of(query, corrections) or question
    return [(points, item.row) for points, item in ranked(question, items)]
