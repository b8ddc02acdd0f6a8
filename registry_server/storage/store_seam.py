"""What all stores of objects share: tags, portions, and when an object counts as young."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rye.limits import MIB

_AT_ONCE = 1000
_BYTES_AT_ONCE = 64 * MIB
"""At most this much is written together."""

ABSENT = ""
"""The tag of an object that does not exist."""


YOUNG_SECONDS = 3600.0
"""How long an object counts as just written. `put_all` does not write it again, and clean-up does not delete it."""


class ChangedError(Exception):
    """Another process replaced the object after the caller read it."""


def unless_changed(replace: Callable[[str, bytes, str], str], path: str, content: bytes, tag: str) -> str | None:
    """Return the new tag, or None if another process replaced the object first."""
    try:
        return replace(path, content, tag)
    except ChangedError:
        return None


def portions(objects: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Split the objects into non-empty lists that fit into memory."""
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
