"""Finds names that people could confuse, as a squatter would choose them. Pure; roughly linear in the number of names.

The registry refuses names that fold to the same letters (DESIGN §5 Names). The check here finds more, and only warns, in the same
way of namespaces and of items in different ones: full or local names that are one letter apart, or in which two letters are drawn
like one (``rn`` like ``m``, ``vv`` like ``w``).
"""

from __future__ import annotations

from collections.abc import Iterable

from rye.items.identity import SEGMENT_CHARACTERS, Identity, fold, is_segment

_SHORTEST = 5
"""Local names shorter than this are similar by chance, so they are not compared."""
_EDGE = 3
_SHORT = 2 * _EDGE + 3
"""From this length on, a single change leaves either the first or the last three letters untouched."""


class NameIndex:
    """An index of existing items, so that a new name is compared with only a few of them."""

    def __init__(self, existing: Iterable[Identity]):
        self._buckets: dict[str, list[tuple[str, Identity]]] = {}
        for identity in existing:
            for name in (identity.id, identity.local_id):
                for bucket in _buckets(name):
                    self._buckets.setdefault(bucket, []).append((name, identity))

    def near(self, new: Identity) -> list[Identity]:
        """Return existing items in other namespaces that ``new`` could be confused with, sorted."""
        identities = set()
        for name in (new.id, new.local_id):
            if name == new.local_id and len(name) < _SHORTEST:
                continue
            for bucket in _buckets(name):
                for other, identity in self._buckets.get(bucket, ()):
                    is_whole = other == identity.id
                    if is_whole != (name == new.id) or identity.namespace == new.namespace:
                        continue
                    # Names that are drawn alike share a "=" bucket; in the others, check only for one letter.
                    alike = is_close if bucket.startswith("=") else _one_apart
                    if name != other and (is_whole or len(other) >= _SHORTEST) and alike(name, other):
                        identities.add(identity)
        return sorted(identities)


def _buckets(name: str) -> set[str]:
    """Return bucket keys: two similar names share at least one."""
    keys = {f"={_drawn(name)}"}
    if len(name) >= _SHORT:
        keys |= {f"^{name[:_EDGE]}", f"${name[-_EDGE:]}"}
    if len(name) <= _SHORT:
        keys.add("short")
    return keys


def is_close(one: str, other: str) -> bool:
    """Whether two different names are drawn alike, or differ by one added, dropped, changed or swapped letter. Names that fold to
    the same letters are drawn alike."""
    if one == other:
        return False
    return _one_apart(one, other) or _drawn(one) == _drawn(other)


_DRAWN_AS = {"rn": "m", "vv": "w"}


def _drawn(name: str) -> str:
    found = fold(name)
    for pair, letter in _DRAWN_AS.items():
        found = found.replace(pair, letter)
    return found


def _redrawn(segment: str) -> list[str]:
    """The spellings in which one letter is two that are drawn like it, or the other way round."""
    changes = [(old, new) for pair, letter in _DRAWN_AS.items() for old, new in ((pair, letter), (letter, pair))]
    spelled = [
        segment[:at] + new + segment[at + len(old) :]
        for at in range(len(segment))
        for old, new in changes
        if segment.startswith(old, at)
    ]
    return [one for one in spelled if _drawn(one) == _drawn(segment)]  # which "vw" is not of "vvv"


def _one_apart(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) + 1 == len(other):
        return one[start:] == other[start + 1 :]
    swapped = one[start : start + 2] == other[start : start + 2][::-1] and one[start + 2 :] == other[start + 2 :]
    return swapped or one[start + 1 :] == other[start + 1 :]


_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_"
_DRAWN_ALIKE = {letter: others.replace(letter, "") for others in ("li1", "o0", "-_") for letter in others}
LIKELIEST = 64
"""The most spellings that :func:`likeliest` returns."""


def one_apart(segment: str) -> set[str]:
    """Every part of an id that differs from this one by one added, dropped, changed or swapped letter, 77 for each letter; and
    those in which two letters are drawn like one."""
    ends = range(len(segment) + 1)
    spelled = {segment[:at] + letter + segment[at:] for at in ends for letter in _LETTERS}
    spelled |= {segment[:at] + letter + segment[at + 1 :] for at in ends[:-1] for letter in ("", *_LETTERS)}
    spelled |= {*_swapped(segment), *_redrawn(segment)}
    return {one for one in spelled if one != segment and len(one) <= SEGMENT_CHARACTERS and is_segment(one)}


def likeliest(segment: str) -> list[str]:
    """The spellings of a part of an id that people take for it most easily: one letter drawn almost like another or like two,
    its separators left out, two neighbours swapped, one letter dropped or doubled."""
    places = range(len(segment))
    spelled = [segment[:at] + other + segment[at + 1 :] for at in places for other in _DRAWN_ALIKE.get(segment[at], "")]
    spelled += _redrawn(segment)
    spelled += [segment.replace("-", "").replace("_", "")]
    spelled += _swapped(segment)
    spelled += [segment[:at] + segment[at + 1 :] for at in places]
    spelled += [segment[:at] + segment[at] + segment[at:] for at in places]
    return [one for one in dict.fromkeys(spelled) if one != segment and is_segment(one)][:LIKELIEST]


def _swapped(segment: str) -> list[str]:
    return [segment[:at] + segment[at + 1] + segment[at] + segment[at + 2 :] for at in range(len(segment) - 1)]
