"""The advisories that this machine has seen, in ``advisories.json`` beside a registry's trusted state. A run asks no registry, so
what counts in it must not depend on a cache (docs/explanation/runtime.md, Bytes).

Rules:

* For each item: what its verified index said, and the largest log in which that was new. A program that saw a smaller one changes
  nothing, and a larger log that says the same is not written down: that a registry went back, its trusted state notices.
* An advisory leaves when a verified index withdraws or replaces it, or shows that only revoked keys signed it. An index that just
  lacks one that was seen takes nothing back.
* A file that cannot be read, or that other users can change, is an error and never an empty list. It is not replaced either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.items.identity import Identity
from rye.registry.protocol.statements import Advisory
from rye.registry.store.pins import advisories_path, damaged_memory, read_memory, remember
from rye.registry.trust.records import ItemHistory, slot_of

_WHAT = "advisories"
_Stamp = tuple[int, int, int, int]


class SeenItem(Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen about one item."""

    size: int
    """The number of entries of the log in which it was seen first as it is now."""
    advisories: tuple[Advisory, ...]
    """The last of each number, of the registry's owners and of the namespace, by number; one that was withdrawn has a range
    without versions."""


Seen = Mapping[str, SeenItem]
"""By ``kind:id``."""


def read_advisories(folder: Path, origin: str) -> Seen:
    """Return what was seen of a registry; empty if there is no file. ``folder``: that of the trusted states.

    Raises RyeError ``state-damaged``, ``state-exposed``.
    """
    return read_memory(advisories_path(folder, origin), dict[str, SeenItem], _WHAT) or {}


def remember_advisories(folder: Path, origin: str, size: int, histories: Iterable[ItemHistory]) -> None:
    """Take over what verified indexes say under a head of ``size`` entries. Raises OSError, and RyeError as
    :func:`read_advisories` does."""
    found = list(histories)

    def with_found() -> bytes | None:
        known = read_advisories(folder, origin)
        changed = {
            str(history.identity): now
            for history in found
            if (now := _now(known.get(str(history.identity)), size, history)) is not None
        }
        return msgspec.json.encode({**known, **changed}, order="sorted") if changed else None

    if found:
        remember(advisories_path(folder, origin), with_found)


def _now(known: SeenItem | None, size: int, history: ItemHistory) -> SeenItem | None:
    """What is known of an item now; None if that changes nothing."""
    says = {slot_of(advisory): advisory for advisory in history.advisories}
    if known is None:
        return SeenItem(size, history.advisories) if says else None
    if size <= known.size:
        return None
    before = {
        slot_of(each): each for each in known.advisories if each.keyset is None or each.number not in history.disowned
    }
    merged = {**before, **says}
    advisories = tuple(merged[slot] for slot in sorted(merged))
    return SeenItem(size, advisories) if advisories != known.advisories else None


class SeenAdvisories:
    """The advisories that were seen, for a program that asks often: a file is read again only when it is another one. Not
    thread-safe."""

    def __init__(self, folder: Path) -> None:
        """``folder``: that of the trusted states."""
        self._folder = folder
        self._read: dict[str, tuple[_Stamp | None, Seen]] = {}

    def about(self, origin: str, identity: Identity) -> tuple[Advisory, ...]:
        """Return those about an item, for any versions, by number. Raises RyeError as :func:`read_advisories` does."""
        stamp = _stamp(advisories_path(self._folder, origin))
        read = self._read.get(origin)
        if read is None or read[0] != stamp:
            read = self._read[origin] = (stamp, read_advisories(self._folder, origin))
        found = read[1].get(str(identity))
        return found.advisories if found is not None else ()


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged_memory(path, _WHAT, error) from error
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
