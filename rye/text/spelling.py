"""Near-misses: a key that is unknown but so close to a known one that it is surely meant (DECISIONS Agents 5, Overlays 3)."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 40


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` was probably meant to be: another case or separator, or an edit or two away. Else None."""
    if len(word) > _LONGEST:
        return None
    plain = _plain(word)
    best: tuple[int, str] | None = None
    for candidate in known:
        target = _plain(candidate)
        distance = 0 if plain == target else _distance(plain, target)
        shortest = min(len(target), len(plain))
        allowed = 0 if shortest <= 2 else 1 if shortest <= 5 else 2
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def close_words(word: str, known: Iterable[str], most: int = 1, *, likeness: float = 0.6) -> list[str]:
    """At most ``most`` known words that look like ``word``, the likeliest first. ``likeness``: 0 takes any, 1 only the same."""
    return get_close_matches(word, list(known), n=most, cutoff=likeness)


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _distance(a: str, b: str) -> int:
    """Edits between two short words, a swap of neighbors counted as one (optimal string alignment)."""
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
