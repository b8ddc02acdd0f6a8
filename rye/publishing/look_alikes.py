"""Names that people may take for one another: what a squatter would choose. Pure, about linear in the number of names.

The registry refuses names that fold to the same letters (DESIGN §5 Names). This looks wider, and only warns: names that are one
letter apart, and items of another namespace whose own names are.
"""

from __future__ import annotations

from collections.abc import Iterable

from rye.items.identity import Identity, fold

_SHORTEST = 5
"""Own names shorter than this are alike by chance."""
_EDGE = 3
_SHORT = 2 * _EDGE + 3
"""From this length on, one change leaves the first or the last three letters as they are."""


class NameIndex:
    """Existing items, indexed so that a new one is compared with only a few of them."""

    def __init__(self, existing: Iterable[Identity]):
        self._buckets: dict[str, list[tuple[str, Identity]]] = {}
        for identity in existing:
            for name in (identity.id, identity.local_id):
                for bucket in _buckets(name):
                    self._buckets.setdefault(bucket, []).append((name, identity))

    def near(self, new: Identity) -> list[Identity]:
        """Existing items of other namespaces that ``new`` could be taken for, sorted."""
        found = set()
        for name in (new.id, new.local_id):
            if name == new.local_id and len(name) < _SHORTEST:
                continue
            for bucket in _buckets(name):
                for other, identity in self._buckets.get(bucket, ()):
                    is_whole = other == identity.id
                    if is_whole != (name == new.id) or identity.namespace == new.namespace:
                        continue
                    # Names that fold alike share a bucket of their own: elsewhere only one letter can be the difference.
                    alike = is_close if bucket.startswith("=") else _one_apart
                    if name != other and (is_whole or len(other) >= _SHORTEST) and alike(name, other):
                        found.add(identity)
        return sorted(found)


def _buckets(name: str) -> set[str]:
    """Keys of which two close names have at least one in common."""
    keys = {f"={fold(name)}"}
    if len(name) >= _SHORT:
        keys |= {f"^{name[:_EDGE]}", f"${name[-_EDGE:]}"}
    if len(name) <= _SHORT:
        keys.add("short")
    return keys


def is_close(one: str, other: str) -> bool:
    """Whether two different names fold to the same letters, or are one letter added, dropped, changed or swapped apart."""
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
