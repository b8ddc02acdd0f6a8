"""What a query asks a text index, and what a fit is worth. Pure functions from words to values.

Every word stands for all words that begin with it; a single letter, a very long word, and most words of a long query, only for
themselves.

Fits, the best first: the id itself, the name, whole words of the name, words of the name, words of the id, words anywhere; then
corrected words, then any word. What is deprecated comes after everything that is not, but for an id typed in full. Within one
fit shorter ids come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from registry_server.search.words import LEAST_LETTERS, PREFIX_LETTERS

EXACT = 10_000
"""Points of an id typed in full; the most there are."""
NAME, NAME_WORDS, NAME_BEGINNINGS, ID_BEGINNINGS, ANYWHERE = 9_400, 8_600, 7_600, 6_400, 4_800
CORRECTED, ANY_WORD = 3_000, 1_500
START = 300
"""Added where the id begins with what was typed."""
BEGINNINGS = 4
"""Of a query with more words, only the last stands for all words that begin with it."""
MOST_LENGTH = 400
"""Points that a long id can cost: one a letter."""


class Term(Struct, frozen=True):
    """One token, or every token that begins with it."""

    token: str
    is_prefix: bool = False


Clause = tuple[Term, ...]
"""One of these is enough."""
Question = tuple[Clause, ...]
"""All of these must hold."""


def all_words(words: Sequence[str]) -> Question:
    """All words, anywhere."""
    return tuple((term,) for term in _terms(words))


def all_in_name(words: Sequence[str]) -> Question:
    """All words in the name."""
    return tuple((term,) for term in _terms(words, "/"))


def corrected(alternatives: Sequence[Sequence[str]]) -> Question:
    """Each word, or one of its corrections. The first alternative is what was typed."""
    typed = _terms([words[0] for words in alternatives])
    return tuple((term, *map(Term, words[1:])) for term, words in zip(typed, alternatives, strict=True))


def any_word(alternatives: Sequence[Sequence[str]]) -> Question:
    """One of the words, or of their corrections."""
    return (tuple(term for clause in corrected(alternatives) for term in clause if len(term.token) >= LEAST_LETTERS),)


def _terms(words: Sequence[str], mark: str = "") -> list[Term]:
    """Words as terms. Of many words only the last stands for what begins with it: who types a sentence types whole words."""
    few = len(words) <= BEGINNINGS
    return [
        Term(f"{mark}{word}", LEAST_LETTERS <= len(word) <= PREFIX_LETTERS and (few or at == len(words)))
        for at, word in enumerate(words, 1)
    ]


def fts5(question: Question) -> str:
    """The question for SQLite. Tokens hold no quotes (:mod:`registry_server.search.words`)."""
    return " AND ".join(
        "(" + " OR ".join(f'"{term.token}"{"*" if term.is_prefix else ""}' for term in clause) + ")"
        for clause in question
    )


def tsquery(question: Question) -> str:
    """The question for PostgreSQL."""
    return " & ".join(
        "(" + " | ".join(f"'{term.token}'{':*' if term.is_prefix else ''}" for term in clause) + ")"
        for clause in question
    )
