"""A three-way merge of texts by lines, with git's conflict markers where both sides changed the same lines. Pure.

Lines that only one side changed are taken from it; where both made the same change, it is taken once. The cost is bounded: in
texts that are hard to compare, more may be in conflict than necessary, and nothing is lost.
"""

from __future__ import annotations

from msgspec import Struct

from rye.text.matching_lines import matches

OURS, MIDDLE, THEIRS = "<" * 7, "=" * 7, ">" * 7


class MergedText(Struct, frozen=True):
    """The result, and the number of places where both sides differ."""

    text: str
    conflicts: int


def merge_texts(base: str, ours: str, theirs: str, *, our_name: str, their_name: str) -> MergedText:
    """Merge what each side changed since ``base``. The names stand behind the markers."""
    if ours == theirs or theirs == base:
        return MergedText(ours, 0)
    if ours == base:
        return MergedText(theirs, 0)
    old, mine, other = base.split("\n"), ours.split("\n"), theirs.split("\n")
    merged: list[str] = []
    conflicts = 0
    at = (0, 0, 0)
    for start in (*_common(old, mine, other), (len(old), len(mine), len(other), 0)):
        before = old[at[0] : start[0]], mine[at[1] : start[1]], other[at[2] : start[2]]
        lines, is_conflict = _piece(*before, our_name, their_name)
        merged += lines
        conflicts += is_conflict
        merged += old[start[0] : start[0] + start[3]]
        at = (start[0] + start[3], start[1] + start[3], start[2] + start[3])
    return MergedText("\n".join(merged), conflicts)


def _common(old: list[str], mine: list[str], other: list[str]) -> list[tuple[int, int, int, int]]:
    """The runs of lines that all three have, in order: where each begins in each text, and its length."""
    first, second = (_matching(old, each) for each in (mine, other))
    runs: list[tuple[int, int, int, int]] = []
    for line in range(len(old)):
        if line not in first or line not in second:
            continue
        last = runs[-1] if runs else None
        ends = (last[0] + last[3], last[1] + last[3], last[2] + last[3]) if last is not None else None
        if last is not None and ends == (line, first[line], second[line]):
            runs[-1] = (*last[:3], last[3] + 1)
        else:
            runs.append((line, first[line], second[line], 1))
    return runs


def _matching(old: list[str], new: list[str]) -> dict[int, int]:
    """Which line of ``new`` each unchanged line of ``old`` is."""
    return {match.old + step: match.new + step for match in matches(old, new) for step in range(match.length)}


def _piece(old: list[str], mine: list[str], other: list[str], our_name: str, their_name: str) -> tuple[list[str], bool]:
    if mine == other or other == old:
        return mine, False
    if mine == old:
        return other, False
    return [f"{OURS} {our_name}", *mine, MIDDLE, *other, f"{THEIRS} {their_name}"], True
