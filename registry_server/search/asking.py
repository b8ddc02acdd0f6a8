"""Plan which documents a question ranks: queries for the text index, best first. Pure.

Any document with a word of the question could be ranked, and if they are few, all of them are (:func:`any_word`). Among very
many, the index is asked in steps until there are enough (:data:`registry_server.search.finding.RANKED`): documents that have the
question as their name, with all words in their name, with all words anywhere, with two of the most telling words, with one of
them in their name. How well a document answers is not decided here (:mod:`rye.text.ranking.scoring`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rye.text.ranking.frequencies import weight_of
from rye.text.ranking.scoring import Alternative, Clause, Question, name_stem

TELLING = 3
"""The words of a question that are asked for one by one and two by two: those that tell most."""


class Term(Struct, frozen=True):
    """One token, or every token that begins with it."""

    token: str
    is_prefix: bool = False


AnyOf = tuple[Term, ...]
"""Alternatives: one of these must match."""
AllOf = tuple[AnyOf, ...]
"""All of these must match."""


class IndexQuery(Struct, frozen=True):
    """One query of the index, and the most documents that it adds."""

    asked: AllOf
    most: int


def steps(question: Question, most: int, *, is_answered: bool = False) -> list[IndexQuery]:
    """Return the queries, in order. ``most``: the documents that are wanted. ``is_answered``: the question is the id of one, so
    those with some of its words need no order."""
    clauses = question.clauses
    in_name = IndexQuery(tuple(_terms(clause, "/") for clause in clauses), most)
    if len(clauses) == 1:
        return [in_name]
    asked = [
        IndexQuery(((Term(f"/{name_stem(question.name)}"),),), most // 2),
        in_name,
        IndexQuery(tuple(_terms(clause) for clause in clauses), most),
    ]
    if not is_answered:
        telling = sorted(clauses, key=lambda clause: -clause.weight)[:TELLING]
        for at, clause in enumerate(telling[:-1], 1):
            if len(clauses) > 2:
                asked.append(IndexQuery((_terms(clause), _any(telling[at:])), most // 2))
        asked += [IndexQuery((_terms(clause, "/"),), most // 4) for clause in telling]
    return asked


def any_word(question: Question) -> AllOf:
    """Return the query for every document that can have a score."""
    return (_any(question.clauses),)


def commonest_word(question: Question) -> AllOf:
    """Return the query for the documents with the word that tells least: if they are very many, that is enough to know."""
    return (_terms(min(question.clauses, key=lambda clause: clause.weight)),)


def occurrence(clause: Clause) -> AllOf:
    """Return the query for a word itself, or a word that begins with it."""
    own = [other for other in clause.alternatives[1:] if other.is_beginning]
    return (_distinct(map(_term, (clause.alternatives[0], *own))),)


def _any(clauses: Iterable[Clause]) -> AnyOf:
    return _distinct(term for clause in clauses for term in _terms(clause))


def _terms(clause: Clause, mark: str = "") -> AnyOf:
    return _distinct(_term(each, mark) for each in clause.alternatives)


def _distinct(terms: Iterable[Term]) -> AnyOf:
    """Return each term once, without those that a beginning among them finds as well: each costs a look-up, and a step for each
    of its items."""
    every = dict.fromkeys(terms)
    beginnings = [term for term in every if term.is_prefix]
    return tuple(
        term for term in every if not any(term.token.startswith(each.token) and term != each for each in beginnings)
    )


def _term(alternative: Alternative, mark: str = "") -> Term:
    """Return the token for an alternative; of several words the most telling one, since all of them must occur."""
    return Term(f"{mark}{max(alternative.stems, key=weight_of)}", alternative.is_beginning)


def fts5(asked: AllOf, together: int = 0) -> str:
    """Return the query in SQLite's syntax. Tokens contain no quotes (:mod:`rye.text.ranking.words`).

    ``together``: so many of the first parts are intersected by themselves (:func:`rarest_together`), or none. SQLite takes an AND
    within an AND as one, but not within a NOT: nothing has the token that is left out.
    """
    parts = [
        "(" + " OR ".join(f'"{term.token}"{"*" if term.is_prefix else ""}' for term in terms) + ")" for terms in asked
    ]
    if together:
        parts = [f"(({' AND '.join(parts[:together])}) NOT {_NOWHERE})", *parts[together:]]
    return " AND ".join(parts)


_NOWHERE = '"!"'
_A_PAGE = 2_000
"""Items of a token that SQLite keeps in one page of its index, about."""


def rarest_together(shares: Sequence[float]) -> int:
    """Return how many of some parts to intersect before the others: those that hardly any item has together. 0: all at once.

    ``shares``: which share of the items has each part, smallest first. SQLite takes the parts in turns, each to the next item
    that it has after that of the one before, so it reads all their lists. If only the rarest take turns, and what they agree on
    is rarer than the pages of the others' lists, most of these pages are not read.
    """
    has_all = shares[0]
    for at in range(1, len(shares) - 1):
        has_all *= shares[at]
        if has_all < shares[at + 1] / _A_PAGE:
            return at + 1
    return 0


def tsqueries(asked: AllOf) -> list[str]:
    """Return one query for each part in PostgreSQL's syntax. Tokens contain no quotes.

    As separate conditions, the index takes the next item that two parts agree on before it looks at the others. In one
    query it looks up all parts for each item of the rarest one, which takes three times as long for eight common words.
    """
    return [_one_of(terms) for terms in asked]


def _one_of(terms: Sequence[Term]) -> str:
    return " | ".join(f"'{term.token}{'*' if term.is_prefix else ''}'" for term in terms)
