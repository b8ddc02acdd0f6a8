"""What a registry that serves another one's files held back when this machine asked it last (:mod:`rye.registry.protocol.doors`).

It is asked each time. The memory is for runs in which it does not answer, or must not be asked: whoever silences it must not
bring back a release that it was seen to hold back. It is written at once, since what is held back is what ends a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rye.registry.store.pins import held_releases_path, read_memory, remember

Held = Mapping[str, Mapping[str, str]]
"""``kind:id`` → version → why, in words."""


def read_held(folder: Path, origin: str, address: str) -> dict[str, dict[str, str]]:
    """Return what is held back of the registry ``origin`` where it is read at ``address``. Raises RyeError as
    :func:`rye.registry.store.pins.read_memory` does."""
    return _read(folder, origin).get(address, {})


def remember_held(folder: Path, origin: str, address: str, told: Held) -> None:
    """Remember what was told about these items, in place of what was told about them before. Raises OSError, and RyeError as
    :func:`read_held` does."""

    def changed() -> bytes | None:
        known = _read(folder, origin)
        before = known.get(address, {})
        kept = {name: words for name, words in before.items() if name not in told}
        now = kept | {name: dict(words) for name, words in told.items() if words}
        if now == before:
            return None
        return msgspec.json.encode({**known, address: now}, order="deterministic")

    remember(held_releases_path(folder, origin), changed)


def _read(folder: Path, origin: str) -> dict[str, dict[str, dict[str, str]]]:
    path = held_releases_path(folder, origin)
    return read_memory(path, dict[str, dict[str, dict[str, str]]], "releases that are held back") or {}
