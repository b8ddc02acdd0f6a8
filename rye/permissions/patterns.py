"""fnmatch patterns as automata: the alphabet is cut into the pieces that a set of patterns can distinguish.

A pattern of *m* single-character tokens has the states 0 … m: state *i* goes to *i + 1* on the characters of token *i*,
and to itself on every character where the pattern has a ``*`` before token *i* (or at the end, for *i = m*). So there
are no empty moves, and a set of patterns is one row of bits.

The content of a ``[…]`` class is never computed here. Whether a code point is in a class can change only at the
characters written in the class, so :func:`fnmatch.fnmatchcase` itself is asked about one character of each interval
between them. The automata therefore agree with it on ``[!]…]``, reversed ranges and odd hyphens (DESIGN §7:
``fnmatchcase`` over the whole string).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from string import ascii_lowercase, digits

from msgspec import Struct

LAST_CODE_POINT = 0x10FFFF
Intervals = tuple[tuple[int, int], ...]
"""Disjoint inclusive ranges of code points, ascending."""

_ANY: Intervals = ((0, LAST_CODE_POINT),)

READABLE = ascii_lowercase + digits + "-_."
"""The characters of real actions, most readable first."""
_PREFERRED = READABLE + "".join(map(chr, range(0x20, 0x7F)))
"""The first place of a character counts."""


class Glob(Struct, frozen=True):
    """One pattern: ``tokens[i]`` leads from state i to i + 1, bit i of ``loops`` is a ``*`` at state i."""

    text: str
    tokens: tuple[Intervals, ...]
    loops: int
    literal_prefix: str
    """The prefix of every string that matches."""

    @property
    def empty(self) -> bool:
        """Whether no string matches at all, because one of its classes is empty."""
        return () in self.tokens


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Glob:
    """Return the automaton of an fnmatch pattern. Never fails: every string is a pattern."""
    tokens: list[Intervals] = []
    loops = 0
    position = 0
    while position < len(pattern):
        character = pattern[position]
        end = _class_end(pattern, position) if character == "[" else None
        if character == "*":
            loops |= 1 << len(tokens)
        elif character == "?":
            tokens.append(_ANY)
        elif end is not None:
            tokens.append(_class_intervals(pattern[position:end]))
            position = end - 1
        else:
            tokens.append(((ord(character), ord(character)),))
        position += 1
    return Glob(pattern, tuple(tokens), loops, _literal_prefix(tokens, loops))


def _literal_prefix(tokens: Sequence[Intervals], loops: int) -> str:
    prefix = []
    for state, token in enumerate(tokens):
        if loops >> state & 1 or len(token) != 1 or token[0][0] != token[0][1]:
            break
        prefix.append(chr(token[0][0]))
    return "".join(prefix)


def has_wildcards(pattern: str) -> bool:
    """Whether fnmatch could read any character of ``pattern`` as something other than itself."""
    return any(character in pattern for character in "*?[")


def glob_matches(text: str, pattern: str) -> bool:
    """Whether the whole of ``text`` matches, exactly as :func:`fnmatch.fnmatchcase` decides.

    Most patterns have no wildcard but ``*`` and are compared part by part. Compiling a regular expression for each row of
    a table costs more than everything else that reads the table.
    """
    if "?" in pattern or "[" in pattern:
        return fnmatchcase(text, pattern)
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *middle, last = others
    position, end = len(first), len(text) - len(last)
    if position > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:  # the earliest place leaves the most for the parts after it
        found = text.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _class_end(pattern: str, start: int) -> int | None:
    """Return the offset after the ``]`` that closes the class opened at ``start``; None: the ``[`` is an ordinary
    character.
    """
    position = start + 1
    if pattern[position : position + 1] == "!":
        position += 1
    close = pattern.find("]", position + 1)  # a "]" in first place is a member
    return close + 1 if close >= 0 else None


@lru_cache(maxsize=4096)
def _class_intervals(text: str) -> Intervals:
    cuts = sorted({0, LAST_CODE_POINT + 1, *(ord(c) for c in text), *(ord(c) + 1 for c in text)})
    intervals: list[tuple[int, int]] = []
    for start, after in pairwise(cuts):
        if fnmatchcase(chr(start), text):
            if intervals and intervals[-1][1] == start - 1:
                intervals[-1] = (intervals[-1][0], after - 1)
            else:
                intervals.append((start, after - 1))
    return tuple(intervals)


def cut_alphabet(globs: Iterable[Glob]) -> list[str]:
    """Return one character, the most readable, of every interval that no pattern of ``globs`` divides; readable ones
    first.
    """
    cuts = {0, LAST_CODE_POINT + 1}
    for token in {token for glob in globs for token in glob.tokens}:
        for first, last in token:
            cuts.update((first, last + 1))
    edges = sorted(cuts)
    return sorted((_readable(start, after - 1) for start, after in pairwise(edges)), key=_preference)


def holds(token: Intervals, character: str) -> bool:
    """Whether a token matches ``character``."""
    code = ord(character)
    return any(first <= code <= last for first, last in token)


def _readable(first: int, last: int) -> str:
    for character in _PREFERRED:
        if first <= ord(character) <= last:
            return character
    if last >= 0xE000 and first <= 0xDFFF and first >= 0xD800:
        return chr(0xE000)  # surrogates cannot be printed
    return chr(max(first, 0xA1)) if first <= 0xA1 <= last else chr(first)


def _preference(character: str) -> tuple[int, str]:
    place = _PREFERRED.find(character)
    return (place if place >= 0 else len(_PREFERRED), character)


class PatternSet:
    """Several patterns as one nondeterministic automaton whose states are the bits of an integer.

    ``start`` and ``accepting`` are sets of states; :meth:`step` moves a set of states over one character.
    """

    __slots__ = ("_matches", "_tokens", "accepting", "loops", "size", "start")

    def __init__(self, globs: Sequence[Glob]):
        self.start = self.accepting = self.loops = self.size = 0
        self._tokens: dict[Intervals, int] = {}  # token → the states that it leads from
        self._matches: dict[str, int] = {}
        for glob in globs:
            self.start |= 1 << self.size
            self.loops |= glob.loops << self.size
            for state, token in enumerate(glob.tokens, self.size):
                self._tokens[token] = self._tokens.get(token, 0) | 1 << state
            self.size += len(glob.tokens) + 1
            self.accepting |= 1 << (self.size - 1)

    def matches(self, character: str) -> int:
        """Return the states that ``character`` leads on from."""
        found = self._matches.get(character)
        if found is None:
            found = 0
            for token, states in self._tokens.items():
                if holds(token, character):
                    found |= states
            self._matches[character] = found
        return found

    def step(self, states: int, character: str) -> int:
        """Return the states after ``character``."""
        return ((states & self.matches(character)) << 1) | (states & self.loops)

    def accepts(self, states: int) -> bool:
        """Whether one of the states is the end of a pattern."""
        return states & self.accepting != 0
