"""The strings that name a real action, as a deterministic automaton.

``rye.{primary}.{item_type}`` followed by one or more dotted segments ``[a-z0-9][a-z0-9_-]*``, and
``rye.search.{item_type}`` alone, a search without an id. It is used to tier a capability by what it can really reach,
and to prefer a witness that a reader recognizes as an action.
"""

from __future__ import annotations

from string import ascii_lowercase, digits

from rye.items.capabilities import ITEM_TYPES, PRIMARIES

_SEGMENT_START = 0
_IN_SEGMENT = 1
START = 2

_FIRST = ascii_lowercase + digits
_REST = _FIRST + "_-"


def _build() -> tuple[dict[tuple[int, str], int], frozenset[int]]:
    moves = {(_SEGMENT_START, character): _IN_SEGMENT for character in _FIRST}
    moves |= {(_IN_SEGMENT, character): _IN_SEGMENT for character in _REST}
    moves[_IN_SEGMENT, "."] = _SEGMENT_START
    accepting = {_IN_SEGMENT}
    following = START + 1
    for primary in PRIMARIES:
        for item_type in ITEM_TYPES:
            state = START
            for character in f"rye.{primary}.{item_type}":
                if (state, character) not in moves:
                    moves[state, character] = following
                    following += 1
                state = moves[state, character]
            moves[state, "."] = _SEGMENT_START
            if primary == "search":
                accepting.add(state)
    return moves, frozenset(accepting)


MOVES, ACCEPTING = _build()
"""``MOVES[state, character]`` is the next state; a missing pair means no match. ``ACCEPTING``: the states of complete actions."""

FIXED_LETTERS = frozenset("rye." + "".join(PRIMARIES) + "".join(ITEM_TYPES))
"""Characters that the automaton distinguishes from other letters."""


def is_action(text: str) -> bool:
    """Whether ``text`` is the capability string of a real action."""
    state = START
    for character in text:
        if (state, character) not in MOVES:
            return False
        state = MOVES[state, character]
    return state in ACCEPTING
