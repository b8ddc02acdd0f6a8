"""Automata of patterns, value by value: tokens, members of a class, and the characters that a set of patterns distinguishes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product

import pytest

from rye.permissions import patterns
from rye.permissions.patterns import (
    Intervals,
    PatternSet,
    compile_glob,
    cut_alphabet,
    glob_matches,
    has_wildcards,
    holds,
)

LAST = 0x10FFFF


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        ("[a-c]", ((97, 99),)),
        ("[abd]", ((97, 98), (100, 100))),
        ("[ace-fg]", ((97, 97), (99, 99), (101, 103))),
        ("[!a]", ((0, 96), (98, LAST))),
        ("[!b-cx-z]", ((0, 97), (100, 119), (123, LAST))),
        ("[]a]", ((93, 93), (97, 97))),
        ("[!]a]", ((0, 92), (94, 96), (98, LAST))),
        ("[\x00]", ((0, 0),)),
        ("[\U0010ffff]", ((LAST, LAST),)),
        ("[!\U0010ffff]", ((0, LAST - 1),)),
        ("[b-a]", ()),
        ("?", ((0, LAST),)),
    ],
)
def test_what_a_class_holds(text: str, intervals: Intervals) -> None:
    glob = compile_glob(text)
    assert (glob.tokens, glob.loops, glob.empty) == ((intervals,), 0, intervals == ())
    assert compile_glob(f"x{text}y").tokens == (((120, 120),), intervals, ((121, 121),))


def test_a_class_ends_at_its_own_bracket() -> None:
    assert compile_glob("[a]b]").tokens == (((97, 97),), ((98, 98),), ((93, 93),))
    assert compile_glob("[a][b]").tokens == (((97, 97),), ((98, 98),))


@pytest.mark.parametrize("text", ["[", "[a", "[!", "[]", "[!]", "a]"])
def test_a_class_that_is_never_closed_is_its_letters(text: str) -> None:
    assert compile_glob(text).tokens == tuple(((ord(character), ord(character)),) for character in text)
    assert compile_glob(text).literal_prefix == text


@pytest.mark.parametrize(
    ("text", "loops", "prefix"),
    [
        ("ab", 0b000, "ab"),
        ("*ab", 0b001, ""),
        ("a*b", 0b010, "a"),
        ("ab*", 0b100, "ab"),
        ("**a*", 0b11, ""),
        ("a?b", 0, "a"),
        ("a[b]c", 0, "abc"),
        ("a[bd]c", 0, "a"),
        ("a[bc]d", 0, "a"),
        ("a[b-a]", 0, "a"),
        ("", 0, ""),
    ],
)
def test_where_a_pattern_loops_and_how_it_begins(text: str, loops: int, prefix: str) -> None:
    assert (compile_glob(text).loops, compile_glob(text).literal_prefix) == (loops, prefix)


def test_three_characters_are_wildcards() -> None:
    assert [has_wildcards(f"a{character}") for character in "*?[]!-~."] == [True] * 3 + [False] * 5
    assert has_wildcards("") is False


@pytest.mark.parametrize(
    ("texts", "characters"),
    [
        ([], ["a"]),
        (["?"], ["a"]),
        (["a"], ["a", "b", "0"]),
        (["b", "b"], ["a", "b", "c"]),
        (["\x01"], ["a", "\x00", "\x01"]),
        (["\x00"], ["a", "\x00"]),
        (["\U0010fffe"], ["a", "\U0010fffe", "\U0010ffff"]),
        (["[a-z]", "[0-9]"], ["a", "0", "-", "_", "{"]),
        (["[~-\U0010ffff]"], ["a", "~"]),
        (["\xe9", "\xe8"], ["a", "\xe8", "\xe9", "\xea"]),
    ],
)
def test_one_readable_character_for_each_part_of_the_alphabet(texts: list[str], characters: list[str]) -> None:
    assert cut_alphabet(compile_glob(text) for text in texts) == characters


@pytest.mark.parametrize(
    ("first", "last", "character"),
    [
        (0x61, 0x61, "a"),
        (0x5F, 0x61, "a"),
        (0x00, 0x60, "0"),
        (0x00, 0x1F, "\x00"),
        (0x20, 0x2C, " "),
        (0x7F, 0xFF, "\xa1"),
        (0x7F, 0xA1, "\xa1"),
        (0x7F, 0xA0, "\x7f"),
        (0xA1, 0xFF, "\xa1"),
        (0xA2, 0xFF, "\xa2"),
        (0xD800, 0x10FFFF, "\ue000"),
        (0xD801, 0xE001, "\ue000"),
        (0xDFFF, 0xE000, "\ue000"),
        (0xD900, 0xDFFF, "\ud900"),
        (0xD7FF, 0xE000, "\ud7ff"),
        (0xF000, 0xF100, "\uf000"),
    ],
)
def test_the_most_readable_character_of_an_interval(first: int, last: int, character: str) -> None:
    assert patterns._readable(first, last) == character


def test_each_character_has_one_preference_and_unreadable_ones_come_last() -> None:
    order = sorted(map(chr, (0x00, 0x7F, 0xA1, *range(0x20, 0x7F))), key=patterns._preference)
    assert order[: len(patterns.READABLE)] == list(patterns.READABLE)
    assert order[len(patterns.READABLE) : len(patterns.READABLE) + 3] == [" ", "!", '"']
    assert order[-4:] == ["~", "\x00", "\x7f", "\xa1"]


def test_a_token_holds_its_ends_and_nothing_beyond() -> None:
    token = ((98, 99), (102, 102))
    assert [holds(token, character) for character in "abcdefg"] == [False, True, True, False, False, True, False]
    assert holds((), "a") is False


def test_a_set_of_patterns_moves_bit_by_bit() -> None:
    both = PatternSet([compile_glob("ab"), compile_glob("a*")])
    assert (both.start, both.accepting, both.loops, both.size) == (0b01001, 0b10100, 0b10000, 5)
    assert (both.matches("a"), both.matches("b"), both.matches("c")) == (0b01001, 0b00010, 0)
    after = both.step(both.start, "a")
    assert after == 0b10010
    assert both.step(after, "b") == 0b10100
    assert both.step(after, "c") == 0b10000
    assert [both.accepts(states) for states in (0, 0b01001, 0b10010, 0b00100)] == [False, False, True, True]
    assert PatternSet([]).accepts(0) is False


def every_text(alphabet: str, most: int) -> list[str]:
    return ["".join(letters) for length in range(most + 1) for letters in product(alphabet, repeat=length)]


def test_every_short_pattern_of_stars_matches_what_fnmatch_matches() -> None:
    texts = every_text("ab", 5)
    for pattern in every_text("ab*", 5):
        assert [glob_matches(text, pattern) for text in texts] == [fnmatchcase(text, pattern) for text in texts], (
            pattern
        )


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("axb", "a?b", True),
        ("a?b", "a?b", True),
        ("ab", "a?b", False),
        ("axb", "a[x]b", True),
        ("a[x]b", "a[x]b", False),
        ("a*b", "a[*]b", True),
        ("axxb", "a[*]b", False),
        ("rye.x", "rye.[!x]*", False),
        ("rye.yz", "r?e.[!x]*", True),
    ],
)
def test_other_wildcards_than_stars_keep_their_meaning(text: str, pattern: str, matches: bool) -> None:
    assert glob_matches(text, pattern) is matches
