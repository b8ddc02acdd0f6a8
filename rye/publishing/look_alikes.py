"""Finds names that people could confuse, as a squatter would choose them. Pure; roughly linear in the number of names.

The registry refuses names that fold to the same letters (DESIGN §5 Names). The check here finds more, and only warns:
items in different namespaces whose full or local names are one letter apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from rye.items.identity import Identity, fold

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
                    # Names that fold to the same letters share a "=" bucket; in the others, check only for one letter.
                    alike = is_close if bucket.startswith("=") else _one_apart
                    if name != other and (is_whole or len(other) >= _SHORTEST) and alike(name, other):
                        identities.add(identity)
        return sorted(identities)


def _buckets(name: str) -> set[str]:
    """Return bucket keys: two similar names share at least one."""
    keys = {f"={fold(name)}"}
    if len(name) >= _SHORT:
        keys |= {f"^{name[:_EDGE]}", f"${name[-_EDGE:]}"}
    if len(name) <= _SHORT:
        keys.add("short")
    return keys


def is_close(one: str, other: str) -> bool:
    """Whether two different names fold to the same letters, or differ by one added, dropped, changed or swapped letter."""
    if one == other:
        return False
    return _one_apart(one, other) or fold(one) == fold(other)


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
