"""Names that people may take for one another: what a squatter would choose. Pure, linear in the number of names.

The registry refuses names that fold to the same letters (DESIGN §5 Names). This looks wider, and only warns: names that are one
letter apart, and items of another namespace whose own names are.
"""

from __future__ import annotations

from collections.abc import Iterable

from rye.items.identity import Identity, fold

_SHORTEST = 5
"""Own names shorter than this are alike by chance."""


def look_alikes(new: Identity, existing: Iterable[Identity]) -> list[Identity]:
    """Existing items of other namespaces that ``new`` could be taken for, sorted."""
    found = set()
    for other in existing:
        if other.namespace == new.namespace:
            continue
        if is_close(new.id, other.id) or (
            new.local_id != other.local_id
            and min(len(new.local_id), len(other.local_id)) >= _SHORTEST
            and is_close(new.local_id, other.local_id)
        ):
            found.add(other)
    return sorted(found)


def is_close(one: str, other: str) -> bool:
    """Whether two different names fold to the same letters, or are one letter added, dropped, changed or swapped apart."""
    if one == other or abs(len(one) - len(other)) > 2:
        return False
    return fold(one) == fold(other) or _one_apart(one, other)


def _one_apart(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) + 1 == len(other):
        return one[start:] == other[start + 1 :]
    if len(one) != len(other):
        return False
    swapped = one[start : start + 2] == other[start : start + 2][::-1] and one[start + 2 :] == other[start + 2 :]
    return swapped or one[start + 1 :] == other[start + 1 :]
