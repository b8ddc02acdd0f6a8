"""Near-misses: an unknown key so close to a known one that it is surely a typo (DECISIONS Agents 5, Overlays 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_LONGEST = 40
_MOST_COMPARED = 200
"""How many letters of a word are compared; longer words are not misspellings."""


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` probably means: different case or separators, or an edit or two away. Otherwise None."""
    if len(word) > _LONGEST:
        return None
    plain = _plain(word)
    best: tuple[int, str] | None = None
    for candidate in known:
        target = _plain(candidate)
        shortest = min(len(target), len(plain))
        allowed = 0 if shortest <= 2 else 1 if shortest <= 5 else 2
        if abs(len(target) - len(plain)) > allowed:
            continue  # at least that many edits
        distance = 0 if plain == target else _distance(plain, target)
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def likeliest(word: str, known: Collection[str]) -> str | None:
    """The near miss of ``word`` or, if there is none, the known word most like it. Otherwise None."""
    return near_miss(word, known) or next(iter(close_words(word, known)), None)


def close_words(word: str, known: Iterable[str], most: int = 1, *, likeness: float = 0.6) -> list[str]:
    """At most ``most`` known words similar to ``word``, best first. ``likeness``: 0 accepts anything, 1 only the same word."""
    scored = ((_likeness(word, candidate), candidate) for candidate in known)
    best = sorted((row for row in scored if row[0] >= likeness), reverse=True)
    return [candidate for _, candidate in best[:most]]


def _likeness(one: str, other: str) -> float:
    """From 0 to 1: the share of both words that matches in order, as Ratcliff and Obershelp measure it."""
    letters = len(one) + len(other)
    return 2 * _matching(other[:_MOST_COMPARED], one[:_MOST_COMPARED]) / letters if letters else 1.0


def _matching(one: str, other: str) -> int:
    """The letters of the longest common substring (the first such), plus those matching to its left and right."""
    size = at = there = 0
    lengths: list[int] = [0] * (len(other) + 1)
    for i, letter in enumerate(one, 1):
        row = [0] * (len(other) + 1)
        for j, found in enumerate(other, 1):
            if found == letter:
                row[j] = lengths[j - 1] + 1
                if row[j] > size:
                    size, at, there = row[j], i - row[j], j - row[j]
        lengths = row
    if not size:
        return 0
    return size + _matching(one[:at], other[:there]) + _matching(one[at + size :], other[there + size :])


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _distance(a: str, b: str) -> int:
    """The number of edits between two short words; swapping neighbors counts as one (optimal string alignment)."""
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
