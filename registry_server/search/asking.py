"""Build queries for the text index, and define the points of each sort of match. Pure.

A word matches every word that begins with it. A single letter, a very long word, and most words of a long query match
only themselves.

Matches, best first: the whole id, the name, whole words of the name, beginnings of words of the name, of the id, of
words anywhere; then corrected words, then any of the words. Deprecated items come after all others, unless the query is
their whole id. Among equal matches, shorter ids come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from registry_server.search.words import LEAST_LETTERS, PREFIX_LETTERS

EXACT = 10_000
"""Points for a whole id, the maximum."""
NAME, NAME_WORDS, NAME_BEGINNINGS, ID_BEGINNINGS, ANYWHERE = 9_400, 8_600, 7_600, 6_400, 4_800
CORRECTED, ANY_WORD = 3_000, 1_500
START = 300
"""Extra points if the id begins with the query."""
BEGINNINGS = 4
"""In a query with more words than this, only the last matches as a prefix."""
MOST_LENGTH = 400
"""The most points that a long id loses: one for each letter."""


class Term(Struct, frozen=True):
    """One token, or every token that begins with it."""

    token: str
    is_prefix: bool = False


Clause = tuple[Term, ...]
"""Alternatives: one of these must match."""
Question = tuple[Clause, ...]
"""All of these must match."""


def all_words(words: Sequence[str]) -> Question:
    """Return the query for all words, anywhere."""
    return tuple((term,) for term in _terms(words))


def all_in_name(words: Sequence[str]) -> Question:
    """Return the query for all words in the name."""
    return tuple((term,) for term in _terms(words, "/"))


def corrected(alternatives: Sequence[Sequence[str]]) -> Question:
    """Return the query for each word or one of its corrections. The first alternative is the typed word."""
    typed = _terms([words[0] for words in alternatives])
    return tuple((term, *map(Term, words[1:])) for term, words in zip(typed, alternatives, strict=True))


def any_word(alternatives: Sequence[Sequence[str]]) -> Question:
    """Return the query for any of the words or their corrections."""
    return (tuple(term for clause in corrected(alternatives) for term in clause if len(term.token) >= LEAST_LETTERS),)


def _terms(words: Sequence[str], mark: str = "") -> list[Term]:
    """Return words as terms. Among many words only the last is a prefix, because people who type sentences type whole
    words."""
    few = len(words) <= BEGINNINGS
    return [
        Term(f"{mark}{word}", LEAST_LETTERS <= len(word) <= PREFIX_LETTERS and (few or at == len(words)))
        for at, word in enumerate(words, 1)
    ]


def fts5(question: Question) -> str:
    """Return the query in SQLite's syntax. Tokens contain no quotes (:mod:`registry_server.search.words`)."""
    return " AND ".join(
        "(" + " OR ".join(f'"{term.token}"{"*" if term.is_prefix else ""}' for term in clause) + ")"
        for clause in question
    )


def tsqueries(question: Question) -> list[str]:
    """Return one query for each clause in PostgreSQL's syntax. Tokens contain no quotes.

    As separate conditions, the index takes the next item that two clauses agree on before it looks at the others. In one
    query it looks up all clauses for each item of the rarest one, which takes three times as long for eight common words.
    """
    return [" | ".join(f"'{term.token}{'*' if term.is_prefix else ''}'" for term in clause) for clause in question]
