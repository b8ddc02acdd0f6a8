"""What all stores of objects agree on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rye.limits import MIB

_AT_ONCE = 1000
_BYTES_AT_ONCE = 64 * MIB
"""Objects that are written together, at most."""

ABSENT = ""
"""The tag of an object that does not exist."""


YOUNG_SECONDS = 3600.0
"""How long an object counts as just written: `put_all` leaves it alone, and clean-up does."""


class ChangedError(Exception):
    """The object is not the one that the caller has seen: another process replaced it."""


def portions(objects: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """The objects in lists that fit into memory together, none of them empty."""
    some: list[tuple[str, bytes]] = []
    size = 0
    for entry in objects:
        some.append(entry)
        size += len(entry[1])
        if len(some) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some
