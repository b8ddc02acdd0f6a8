"""Items are scored together, read as one text. Each gets exactly what it would get alone, whatever stands beside it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rye.text.ranking import scoring
from rye.text.ranking.answering import Findable, findable
from rye.text.ranking.mistakes import mistakes_between
from rye.text.ranking.scoring import Clause, Question, Searched, question_of, ranked, scores
from rye.text.ranking.words import WORD_LETTERS, every_word_of, joined

WORDS = ("merge", "merging", "merger", "mer", "pull", "request", "pr", "file", "system", "filesystem", "files", "deploy", "de",
         "k8s", "kubernetes", "ünïcode", "c", "authenti", "authentication", "a", "the", "日本", "directive")  # fmt: skip
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("-".join)
IDS = st.builds("{}/{}".format, NAMES, NAMES)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ITEMS = st.builds(
    findable,
    st.builds(Searched, st.sampled_from(("tool", "directive")), IDS, TEXTS, TEXTS),
    st.none(),
    deprecated=st.booleans(),
)
QUERIES = st.one_of(IDS, TEXTS, IDS.map(lambda item_id: item_id[: len(item_id) * 2 // 3]), st.text(max_size=12))
CORRECTIONS = st.dictionaries(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), max_size=2), max_size=2)


def alone(question: Question, item_id: str, terms: str) -> float:
    """The definition, for one item."""
    if item_id == question.typed:
        return 1.0
    levels = {each[:-2]: ord(each[-1]) - scoring._FIRST for each in terms.split()}
    possible = sum(clause.weight for clause in question.clauses)
    share = 0.0
    for clause in question.clauses:
        share += clause.weight / possible * _best(clause, levels)
    if question.name and joined(item_id.rpartition("/")[2]) == question.name:
        share = scoring.WHOLE_NAME + (1 - scoring.WHOLE_NAME) * share
    elif "/" in question.typed and item_id.startswith(question.typed):
        share = scoring.WHOLE_NAME * share + (1 - scoring.WHOLE_NAME)
    return round(share * scoring.HIGHEST, 4)


def _best(clause: Clause, levels: dict[str, int]) -> float:
    best = 0.0
    for each in clause.alternatives:
        if each.is_beginning:
            first = next((word for word in levels if word.startswith(each.stems[0])), None)
            best = max(best, each.factor / scoring._LEVELS * levels[first] if first else 0.0)
        elif len(each.stems) == 1:
            best = max(best, each.factor / scoring._LEVELS * levels.get(each.stems[0], 0))
        elif all(word in levels for word in each.stems):
            best = max(best, each.factor * (min(levels[word] for word in each.stems) / scoring._LEVELS))
    return best


@given(QUERIES, CORRECTIONS, st.lists(ITEMS, max_size=12))
def test_the_score_of_an_item_is_exactly_what_it_is_alone(
    query: str, corrections: dict[str, list[str]], items: list[Findable[None]]
) -> None:
    question = question_of(query, corrections)
    if question is None:
        return
    together = scores(question, [item.id for item in items], [item.terms for item in items])
    assert together == [alone(question, item.id, item.terms) for item in items]
    best = max(together, default=0.0)
    least = scoring.LEAST_SHARE * min(best, scoring.HIGHEST)
    kept = [
        (points / scoring.DEPRECATED if item.deprecated and points < 1 else points, item)
        for points, item in zip(together, items, strict=True)
        if points > 0 and points >= least
    ]
    assert ranked(question, items) == sorted(kept, key=lambda each: (-each[0], each[1].id, each[1].kind))


def test_a_word_is_not_found_across_the_border_of_two_items() -> None:
    """The terms of an item end where those of the next begin."""
    question = question_of("ab")
    assert question is not None
    assert scores(question, ["x/one", "x/two", "x/three"], [" zz:a ", " ab:Z ", " a:b "])[::2] == [0.0, 0.0]
    assert scores(question, ["x/one", "x/two", "x/three"], ["", " ab:Z ", ""])[1] > 0
    assert scores(question, [], []) == []


def test_of_several_words_with_a_beginning_the_first_one_counts() -> None:
    question = question_of("dep")
    assert question is not None
    weak, strong = scores(question, ["x/one", "x/two"], [" depend:A deploi:z ", " deploi:z "])
    assert 0 < weak < strong


def by_hand(word: str, other: str) -> int:
    """The distance of two words by the definition of optimal string alignment, without a bound."""
    table = [[max(row, column) for column in range(len(other) + 1)] for row in range(len(word) + 1)]
    for row in range(1, len(word) + 1):
        for column in range(1, len(other) + 1):
            cost = int(word[row - 1] != other[column - 1])
            table[row][column] = min(
                table[row - 1][column] + 1, table[row][column - 1] + 1, table[row - 1][column - 1] + cost
            )
            if row > 1 and column > 1 and word[row - 2 : row] == other[column - 2 : column][::-1]:
                table[row][column] = min(table[row][column], table[row - 2][column - 2] + 1)
    return table[-1][-1]


@given(st.text("abc", max_size=8), st.text("abcd", max_size=8), st.integers(0, 3))
def test_mistakes_are_counted_as_defined_up_to_the_bound(word: str, other: str, most: int) -> None:
    assert mistakes_between(word, other, most) == min(by_hand(word, other), most + 1)


@given(st.text(st.characters(max_codepoint=127, exclude_characters="#+."), max_size=300))
def test_the_words_of_a_text_in_ascii_are_its_letters_and_digits_like_those_of_any_other(text: str) -> None:
    every = re.findall(r"[^\W_]+", text.lower())
    assert every_word_of(text) == [word[:WORD_LETTERS] for word in every]
    assert every_word_of(f"{text} \N{LATIN SMALL LETTER SHARP S}") == [*every_word_of(text), "ss"]
