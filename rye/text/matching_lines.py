"""Find the lines that two texts share, the basis of a diff. Pure, and bounded for any input.

Lines that occur once on each side are matched first where their order agrees (patience diff). Between them, Myers' algorithm
finds a shortest edit script ("An O(ND) Difference Algorithm and Its Variations", 1986). A hostile author can push both to
quadratic time, so steps are counted. Beyond the budget, a whole stretch counts as replaced: the diff is longer than necessary
but never wrong.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

from rye.limits import DIFFERENCES


class Match(Struct, frozen=True):
    """``length`` equal elements, starting at ``old`` in the old sequence and at ``new`` in the new one."""

    old: int
    new: int
    length: int


class Block(Struct, frozen=True):
    """The elements ``old`` that ``new`` replaces (either can be empty), and how many unchanged elements to show before them."""

    old: range
    new: range
    lead: int = 0


class Hunk(Struct, frozen=True):
    """Nearby changes with the unchanged elements around them."""

    old: range
    new: range
    blocks: tuple[Block, ...]


class Budget:
    """The number of steps left; several comparisons can share one budget."""

    __slots__ = ("left",)

    def __init__(self, steps: int = DIFFERENCES.steps):
        self.left = steps

    def take(self, steps: int) -> bool:
        """Spend this many steps. Returns whether the budget had them."""
        if self.left < steps:
            return False
        self.left -= steps
        return True


def matches(old: Sequence[str], new: Sequence[str], budget: Budget | None = None) -> tuple[Match, ...]:
    """Return the matching stretches in order. None is empty, and no two adjoin on both sides."""
    budget = budget or Budget()
    pairs: list[tuple[int, int, int]] = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        old_start, old_end, new_start, new_end = waiting.pop()
        length = _common_prefix(old, new, old_start, old_end, new_start, new_end)
        if length:
            pairs.append((old_start, new_start, length))
            old_start, new_start = old_start + length, new_start + length
        length = _common_suffix(old, new, old_start, old_end, new_start, new_end)
        if length:
            old_end, new_end = old_end - length, new_end - length
            pairs.append((old_end, new_end, length))
        if old_start == old_end or new_start == new_end:
            continue
        if not budget.take(old_end - old_start + new_end - new_start):
            continue
        anchors = _anchors(old, new, old_start, old_end, new_start, new_end)
        if not anchors:
            pairs += _shortest(old[old_start:old_end], new[new_start:new_end], old_start, new_start, budget)
            continue
        for at_old, at_new in anchors:
            waiting.append((old_start, at_old, new_start, at_new))
            pairs.append((at_old, at_new, 1))
            old_start, new_start = at_old + 1, at_new + 1
        waiting.append((old_start, old_end, new_start, new_end))
    return _joined(sorted(pairs))


def blocks(found: Sequence[Match], old: int, new: int) -> Iterator[Block]:
    """Yield what is between the matches of two sequences of these lengths."""
    at_old = at_new = 0
    for match in (*found, Match(old, new, 0)):
        if (match.old, match.new) != (at_old, at_new):
            yield Block(range(at_old, match.old), range(at_new, match.new))
        at_old, at_new = match.old + match.length, match.new + match.length


def hunks(found: Sequence[Match], old: int, new: int, context: int) -> Iterator[Hunk]:
    """Yield the changes between two sequences of these lengths, with up to ``context`` unchanged elements on each side."""
    group: list[Block] = []
    for block in blocks(found, old, new):
        if group and block.old.start - group[-1].old.stop > 2 * context:
            yield _hunk(group, old, context)
            group = []
        group.append(block)
    if group:
        yield _hunk(group, old, context)


def _hunk(group: Sequence[Block], old: int, context: int) -> Hunk:
    first, last = group[0], group[-1]
    lead = min(context, first.old.start)
    tail = min(context, old - last.old.stop)
    shown, at = [], first.old.start - lead
    for block in group:
        shown.append(Block(block.old, block.new, block.old.start - at))
        at = block.old.stop
    return Hunk(
        range(first.old.start - lead, last.old.stop + tail),
        range(first.new.start - lead, last.new.stop + tail),
        tuple(shown),
    )


def _common_prefix(
    old: Sequence[str], new: Sequence[str], old_start: int, old_end: int, new_start: int, new_end: int
) -> int:
    most = min(old_end - old_start, new_end - new_start)
    length = 0
    while length < most and old[old_start + length] == new[new_start + length]:
        length += 1
    return length


def _common_suffix(
    old: Sequence[str], new: Sequence[str], old_start: int, old_end: int, new_start: int, new_end: int
) -> int:
    most = min(old_end - old_start, new_end - new_start)
    length = 0
    while length < most and old[old_end - 1 - length] == new[new_end - 1 - length]:
        length += 1
    return length


def _anchors(
    old: Sequence[str], new: Sequence[str], old_start: int, old_end: int, new_start: int, new_end: int
) -> list[tuple[int, int]]:
    """Elements that occur once on each side, as many as appear in the same order on both."""
    in_old = _once(old, old_start, old_end)
    in_new = _once(new, new_start, new_end)
    both = sorted((at, in_new[element]) for element, at in in_old.items() if element in in_new)
    ends: list[int] = []  # the smallest index in ``new`` that ends an increasing chain of each length
    places: list[int] = []
    before: list[int] = []
    for number, (_, at_new) in enumerate(both):
        length = bisect_left(ends, at_new)
        before.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(at_new)
            places.append(number)
        else:
            ends[length], places[length] = at_new, number
    chain: list[tuple[int, int]] = []
    number = places[-1] if places else -1
    while number >= 0:
        chain.append(both[number])
        number = before[number]
    return chain[::-1]


def _once(elements: Sequence[str], start: int, end: int) -> dict[str, int]:
    places: dict[str, int] = {}
    for at in range(start, end):
        places[elements[at]] = -1 if elements[at] in places else at
    return {element: at for element, at in places.items() if at >= 0}


def _shortest(
    old: Sequence[str], new: Sequence[str], old_offset: int, new_offset: int, budget: Budget
) -> list[tuple[int, int, int]]:
    """The matches of a shortest edit script, or none if finding it would exceed the budget."""
    furthest = {1: 0}
    history: list[dict[int, int]] = []
    for changes in range(len(old) + len(new) + 1):
        if not budget.take(2 * changes + 1):
            return []
        history.append(dict(furthest))
        for diagonal in range(-changes, changes + 1, 2):
            down = diagonal == -changes or (
                diagonal != changes and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            start = x
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            if not budget.take(x - start):
                return []
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walked_back(history, len(old), len(new), old_offset, new_offset)
    raise AssertionError("two sequences differ by at most all of their elements")


def _walked_back(
    history: Sequence[dict[int, int]], x: int, y: int, old_offset: int, new_offset: int
) -> list[tuple[int, int, int]]:
    steps: list[tuple[int, int, int]] = []
    for changes in range(len(history) - 1, -1, -1):
        furthest, diagonal = history[changes], x - y
        down = diagonal == -changes or (
            diagonal != changes and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
        )
        before = diagonal + 1 if down else diagonal - 1
        from_x = furthest[before] if changes else 0
        from_y = from_x - before if changes else 0
        start_x = from_x if down or not changes else from_x + 1
        if x > start_x:
            steps.append((old_offset + start_x, new_offset + start_x - diagonal, x - start_x))
        x, y = from_x, from_y
    return steps


def _joined(pairs: Sequence[tuple[int, int, int]]) -> tuple[Match, ...]:
    matches: list[Match] = []
    for old, new, length in pairs:
        if matches and matches[-1].old + matches[-1].length == old and matches[-1].new + matches[-1].length == new:
            matches[-1] = Match(matches[-1].old, matches[-1].new, matches[-1].length + length)
        else:
            matches.append(Match(old, new, length))
    return tuple(matches)
