"""How well an item answers a question: one definition for the registry, its pages, the client and the runtime. Pure.

An item is scored by BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009): the
occurrences of a stem in each field are divided by the field's length, weighted, added and saturated. The result, between 0 and 1,
is the stem's *strength* in the item. It depends on the item alone, so it is computed once, when the item is published or read
(:func:`terms_of`), and kept as text: a letter for each stem.

How much a word tells comes from a table that is part of Rye (:mod:`rye.text.ranking.frequencies`), not from the items that are
searched. So a score depends on nothing but the question and the item: it means the same on every face and every registry, no
other item can change it, and items that a reader may not see leave no trace in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Protocol, TypeVar

from msgspec import Struct

from rye.text.ranking.body_words import often
from rye.text.ranking.frequencies import is_usual, stop_words, weight_of
from rye.text.ranking.meanings import meanings, pairs
from rye.text.ranking.stemming import stem
from rye.text.ranking.words import LEAST_LETTERS, WORD_LETTERS, every_word_of, joined, words_of

QUERY_WORDS = 8
"""Words of a query that are used."""
DOCUMENT_WORDS = 400
"""Different stems of one item that count."""
FIELD_WORDS = 1_000
"""Words of one field that are read."""
SATURATION = 0.8
"""BM25's *k1*."""
SAME, BEGINNING, CORRECTION, BOTH_HALVES, JOINED = 0.4, 0.6, 0.6, 0.6, 1.0
"""What a match counts by another word of the same meaning, by the beginning of a word, by a corrected word, by the two halves of
a word, and by two words written as one."""
LEAST_SHARE = 0.25
"""Items with less than this share of the best item's score are no results."""
BEGINNINGS = 4
"""Words of a query with more words than this match no beginnings: people who type sentences type whole words."""
BEGINNING_LETTERS = 15
"""A longer word does not match as a beginning."""
WHOLE_NAME = 0.7
"""The least that an item gets whose whole name is the query."""
HIGHEST = 0.95
"""The most that anything gets except an item whose id is the query."""
DEPRECATED = 10
"""What the score of deprecated items is divided by."""
_ENDINGS = ("ability", "ality", "alization", "ally", "ational", "ation", "ative", "ements", "fulness",
            "ically", "ication", "ing", "ities", "iveness", "izations",
            "izers", "ousness")  # fmt: skip
"""Endings that stems do not have."""
_LEAST_HALF = 3
_LEAST_STEM = 4
ALTERNATIVES = 12
"""What one word of a question may stand for, itself included."""
_LEVELS = 60
_FIRST = 64
"""Strengths are kept as the characters after this one, level 1 to 60."""
_LETTERS = "".join(chr(_FIRST + max(level, 1)) for level in range(_LEVELS + 1))
_TOTALS = 4_096
"""Weighted occurrences whose letter is remembered: most items have the same few."""
_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})


class Field(Struct, frozen=True):
    """A field's weight, how much its length counts (BM25's *b*), and its usual length in words."""

    weight: float
    length_counts: float
    usual: float


NAME = Field(4.0, 0.8, 2.5)
PATH = Field(1.5, 0.3, 2.0)
KEYWORDS = Field(1.5, 0.5, 3.0)
DESCRIPTION = Field(0.8, 0.7, 35.0)
BODY = 0.1
"""The weight of the text's words, whose lengths :mod:`rye.text.ranking.body_words` takes into account."""


class Searched(Struct, frozen=True):
    """What search reads of an item."""

    kind: str
    id: str
    description: str
    keywords: str = ""
    """:func:`rye.items.search_words.search_words`: keywords and, on a second line, the words of its text that tell most. Empty in
    a static registry's answers, which do not have them."""


class Alternative(Struct, frozen=True):
    """Stems that must all occur, or one that a stem must begin with, and what the match counts."""

    stems: tuple[str, ...]
    factor: float = 1.0
    is_beginning: bool = False


class Clause(Struct, frozen=True):
    """One word of a question, how much it tells, and what it may stand for. The first alternative is its own stem."""

    word: str
    weight: float
    alternatives: tuple[Alternative, ...]


class Question(Struct, frozen=True):
    """A query, read."""

    clauses: tuple[Clause, ...]
    typed: str
    """The query, lower case, if it can be an id or the beginning of one; otherwise empty."""
    name: str
    """The query's last segment as one word, to be compared with names."""


def terms_of(item: Searched) -> str:
    """Return the stems of an item and their strengths as text: `` deploy:z docker:P ``, sorted."""
    totals = _totals_of(item)
    return f" {' '.join([f'{word}:{_letter(totals[word])}' for word in sorted(totals)])} "


@lru_cache(_TOTALS)
def _letter(total: float) -> str:
    """Return the strength of a stem as a letter: saturated, between 0 and 1, in levels."""
    return _LETTERS[round(total / (SATURATION + total) * _LEVELS)]


def stems_in(terms: str) -> list[str]:
    """Return the stems of :func:`terms_of`."""
    return [each[:-2] for each in terms.split()]


def _totals_of(item: Searched) -> dict[str, float]:
    """Return each stem's weighted occurrences in an item."""
    path, _, name = item.id.rpartition("/")
    totals: dict[str, float] = {}
    _add(totals, NAME, every_word_of(name), _spelt_together(name))
    _add(totals, PATH, every_word_of(path), [*map(joined, path.split("/")), item.kind])
    keywords, _, body = item.keywords.partition("\n")
    _add(totals, KEYWORDS, every_word_of(keywords))
    _add(totals, DESCRIPTION, every_word_of(item.description))
    for word, tenths in often(body):
        if word in totals or len(totals) < DOCUMENT_WORDS:
            totals[word] = totals.get(word, 0.0) + BODY * tenths / 10
    return totals


def name_stems(item_id: str) -> list[str]:
    """Return the stems of an id's last segment."""
    name = item_id.rpartition("/")[2]
    words = (*every_word_of(name), *_spelt_together(name))
    return list(dict.fromkeys(name_stem(word) for word in words if word))


def name_stem(word: str) -> str:
    """Return the stem of a word of a name, or of a whole name that is written as one word."""
    return stem(word[:WORD_LETTERS])


def _spelt_together(name: str) -> list[str]:
    """Return each two neighbouring words of a name as one, and all of them."""
    return [*map("".join, pairwise(every_word_of(name))), joined(name)]


def _add(totals: dict[str, float], field: Field, words: Sequence[str], spelt_otherwise: Iterable[str] = ()) -> None:
    """Add a field. ``spelt_otherwise``: words that do not make it longer, and count if it does not have them."""
    read = [stem(word) for word in words[:FIELD_WORDS]]
    length = 1 - field.length_counts + field.length_counts * len(read) / field.usual
    others = {stem(word[:WORD_LETTERS]) for word in spelt_otherwise if word}.difference(read)
    for word in (*read, *sorted(others)):
        if word in totals:
            totals[word] += field.weight / length
        elif len(totals) < DOCUMENT_WORDS:
            totals[word] = field.weight / length


def of_kind(query: str, kind: str | None, kinds: Collection[str]) -> tuple[str, str | None]:
    """Return a query and the kind that it is limited to. A query may begin with one of ``kinds`` and a colon.

    ``kind``: the kind that the searcher gave otherwise. If the two differ, the colon means nothing. The query that is returned
    begins with none, so that it means the same wherever it is asked again.
    """
    named, rest = _kind_before(query, kinds)
    if named is None:
        return query, kind
    if kind not in (None, named):
        return f"{named} {rest}", kind
    second, after = _kind_before(rest, kinds)
    return rest if second is None else f"{second} {after}", named


def _kind_before(query: str, kinds: Collection[str]) -> tuple[str | None, str]:
    head, colon, rest = query.partition(":")
    named = head.strip().lower()
    return (named, rest) if colon and named in kinds else (None, query)


def question_of(query: str, corrections: Mapping[str, Sequence[str]] = _NONE) -> Question | None:
    """Read a query. ``corrections``: words that a word may be a mistyping of. None: no word has two letters."""
    typed = query.strip().lower()
    every = words_of(query)
    if not any(len(word) >= LEAST_LETTERS for word in every):
        return None
    telling = [word for word in every if word not in stop_words() and len(word) >= LEAST_LETTERS]
    words = (telling or every)[:QUERY_WORDS]
    clauses = tuple(_clause(words, at, corrections.get(word, ())) for at, word in enumerate(words))
    return Question(clauses, typed if _id_like().fullmatch(typed) else "", joined(query.rpartition("/")[2]))


def _clause(words: Sequence[str], at: int, corrections: Sequence[str]) -> Clause:
    word = words[at]
    own = stem(word)
    others = [Alternative((own,))]
    for first, second in ((at - 1, at), (at, at + 1)):
        if first >= 0 and second < len(words):
            others.append(Alternative((stem(f"{words[first]}{words[second]}"[:WORD_LETTERS]),), JOINED))
            if (short := pairs().get((stem(words[first]), stem(words[second])))) is not None:
                others.append(Alternative((short,), SAME))
    others += [Alternative((stem(each),), CORRECTION) for each in corrections]
    others += [Alternative(halves, BOTH_HALVES) for halves in _halves(word)]
    if len(words) <= BEGINNINGS:
        if LEAST_LETTERS <= len(word) <= BEGINNING_LETTERS:
            others.append(Alternative((word,), BEGINNING, is_beginning=True))
        others += [Alternative((each,), BEGINNING) for each in _stems_before(word) if each != own]
    others += [Alternative(stems, SAME) for stems in meanings().get(own, ())]
    return Clause(word, weight_of(own), tuple(dict.fromkeys(others))[:ALTERNATIVES])


def _stems_before(word: str) -> Iterator[str]:
    """Yield the stems of words that ``word`` may be a beginning of: ``authenti`` begins ``authentication``, whose stem is
    ``authent``."""
    for letters in range(_LEAST_STEM, len(word)):
        if any(ending.startswith(word[letters:]) for ending in _ENDINGS):
            yield word[:letters]


def _halves(word: str) -> list[tuple[str, str]]:
    """Return the usual words that a word may be made of."""
    if len(word) < 2 * _LEAST_HALF or not word.isalpha():
        return []
    cuts = ((stem(word[:at]), stem(word[at:])) for at in range(_LEAST_HALF, len(word) - _LEAST_HALF + 1))
    return [(one, two) for one, two in cuts if is_usual(one) and is_usual(two)][:2]


@cache
def _id_like() -> re.Pattern[str]:
    return re.compile(r"[a-z0-9/_-]{1,1100}")


def scores(question: Question, ids: Sequence[str], terms: Sequence[str]) -> list[float]:
    """Return how well each item answers a question: 0 (not at all) to 1 (the question is its whole id).

    ``terms``: :func:`terms_of` each of the items ``ids``. They are read as one text: most of what a word may stand for is in none
    of the items, and is then looked for once and not in each. This is the innermost loop of a search.
    """
    read = _Read(terms)
    shares = [0.0] * len(ids)
    possible = sum(clause.weight for clause in question.clauses)
    for clause in question.clauses:
        part = clause.weight / possible
        for at, strength in _best(clause, read).items():
            shares[at] += part * strength
    name, typed = question.name, question.typed
    named = [at for at, item_id in enumerate(ids) if _is_named(item_id, name)] if name else []
    begun = [at for at, item_id in enumerate(ids) if item_id.startswith(typed)] if "/" in typed else []
    for at in named:
        shares[at] = WHOLE_NAME + (1 - WHOLE_NAME) * shares[at]
    for at in set(begun).difference(named):
        shares[at] = WHOLE_NAME * shares[at] + (1 - WHOLE_NAME)
    points = [round(share * HIGHEST, 4) if share else 0.0 for share in shares]
    return [1.0 if item_id == typed else each for item_id, each in zip(ids, points, strict=True)] if typed else points


def _is_named(item_id: str, name: str) -> bool:
    return item_id.endswith(name[-1]) and joined(item_id.rpartition("/")[2]) == name


def _best(clause: Clause, read: _Read) -> dict[int, float]:
    """Return what the best match of a word counts in each item that has one, by the item's place."""
    best: dict[int, float] = {}
    for each in reversed(clause.alternatives):  # a beginning before the word itself, which is found with it
        if len(each.stems) == 1:
            factor = each.factor / _LEVELS
            counts = {at: factor * level for at, level in read.levels(each.stems[0], each.is_beginning).items()}
        else:
            every = [read.levels(word, False) for word in each.stems]
            both = set(every[0]).intersection(*every[1:])
            counts = {at: each.factor * (min(levels[at] for levels in every) / _LEVELS) for at in both}
        if best:
            counts = {at: count for at, count in counts.items() if count > best.get(at, 0.0)}
        best.update(counts)
    return best


class _Read:
    """The terms of some items as one text. What was looked for is remembered: neighbouring words may stand for the same."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._text = "".join(terms)
        self._starts = list(accumulate(map(len, terms), initial=0))
        self._known: dict[tuple[str, bool], dict[int, int]] = {}

    def levels(self, word: str, is_beginning: bool) -> dict[int, int]:
        """Return the level of a stem, or of the first stem that begins with it, in each item that has it, by the item's place."""
        if (word, is_beginning) not in self._known:
            self._look(word, is_beginning)
        return self._known[word, is_beginning]

    def _look(self, word: str, is_beginning: bool) -> None:
        """Remember the level at the word's first place in each item. Stems are sorted, so a word is before those that begin with
        it: who looks for a beginning has found the word, too."""
        needle = f" {word}" if is_beginning else f" {word}:"
        text, starts, find, length = self._text, self._starts, self._text.find, len(needle)
        levels: dict[int, int] = {}
        whole: dict[int, int] = {}
        found, following = find(needle), 0
        while found >= 0:
            following = bisect_right(starts, found, following)
            behind = found + length
            if not is_beginning:
                levels[following - 1] = ord(text[behind]) - _FIRST
            elif text[behind] == ":":
                levels[following - 1] = whole[following - 1] = ord(text[behind + 1]) - _FIRST
            else:
                levels[following - 1] = ord(text[find(":", behind) + 1]) - _FIRST
            found = find(needle, starts[following])
        self._known[word, is_beginning] = levels
        if is_beginning:
            self._known[word, False] = whole


class Rankable(Protocol):
    """What the ranking reads of an item."""

    @property
    def id(self) -> str:
        """The id, without the kind."""

    @property
    def kind(self) -> str:
        """The kind."""

    @property
    def terms(self) -> str:
        """:func:`terms_of` the item."""

    @property
    def deprecated(self) -> bool:
        """Whether its owners deprecated it."""


_Item = TypeVar("_Item", bound=Rankable)


def ranked(question: Question, items: Iterable[_Item], *, weak: bool = False) -> list[tuple[float, _Item]]:
    """Return the items that answer a question, best first, each with its score.

    Items that answer next to nothing beside the best one are left out, unless ``weak``. The score of deprecated ones is divided,
    unless the question is their id.
    """
    every = list(items)
    points_of = scores(question, [item.id for item in every], [item.terms for item in every])
    least = 0.0 if weak else LEAST_SHARE * min(max(points_of, default=0.0), HIGHEST)
    kept = [
        (points / DEPRECATED if item.deprecated and points < 1 else points, item)
        for points, item in zip(points_of, every, strict=True)
        if points > 0 and points >= least
    ]
    return sorted(kept, key=lambda each: (-each[0], each[1].id, each[1].kind))


def unknown_words(question: Question, searched: Iterable[str]) -> list[Clause]:
    """Return the words that may be mistyped: none of the items, given by their terms, has them. A sentence has enough correct
    words, so none of it is corrected."""
    left = list(question.clauses) if len(question.clauses) <= BEGINNINGS else []
    for terms in searched:
        if not left:
            break
        left = [clause for clause in left if not _has(clause, terms)]
    return left


def _has(clause: Clause, terms: str) -> bool:
    """Whether an item has the word itself, or one that begins with it."""
    return any(
        (f" {each.stems[0]}" if each.is_beginning else f" {each.stems[0]}:") in terms
        for at, each in enumerate(clause.alternatives)
        if at == 0 or each.is_beginning
    )
