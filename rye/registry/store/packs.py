"""Many cached objects in one file: creating two thousand small files takes longer than verifying their content.

A pack is ``packs/<hash of its index>.pack``: the line ``rye-pack 1 <bytes of the index>``, the index (JSON: SHA-256 →
offset in the data and size), the data. It is written atomically and never changes. Nothing in it is trusted: each
object is hashed when it is read, so a damaged pack only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from rye.storage.private_files import make_folder
from rye.storage.safe_files import open_regular
from rye.text.lazy import lazy_pattern

_HEAD = lazy_pattern(rb"rye-pack 1 (\d{1,9})\n")
_MOST_INDEX_BYTES = 64 * 1024 * 1024


class _Opened(Struct, frozen=True):
    """An open pack. ``stream`` None: it cannot be read."""

    stream: BinaryIO | None = None
    start: int = 0
    """Offset of the data in the file."""
    index: Mapping[str, list[int]] = {}
    """SHA-256 → offset in the data, and size."""


class Packs(Struct, frozen=True):
    """The packs in a folder, listed at first use. Each is opened, and its index read, once."""

    folder: Path
    _found: list[list[str]] = field(default_factory=list)
    """The packs' paths, after the first listing."""
    _opened: dict[str, _Opened] = field(default_factory=dict)
    """Opened packs by path."""

    def get(self, sha256: str) -> bytes | None:
        """Return the object, checked by its hash; None if no pack has it undamaged."""
        for path in self._paths():
            pack = self._open(path)
            place = pack.index.get(sha256)
            if place is None or pack.stream is None:
                continue
            with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
                pack.stream.seek(pack.start + place[0])
                data = pack.stream.read(place[1])
                if hashlib.sha256(data).hexdigest() == sha256:
                    return data
        return None

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write a pack with these objects, by SHA-256.

        On a full or read-only disk nothing is cached, without an error.
        """
        index: dict[str, list[int]] = {}
        offset = 0
        for sha256, data in objects.items():
            index[sha256] = [offset, len(data)]
            offset += len(data)
        head = json.dumps(index).encode()
        path = self.folder / f"{hashlib.sha256(head).hexdigest()}.pack"
        temporary = self.folder.parent / "temporary" / f"{os.getpid()}-{os.urandom(8).hex()}"
        with contextlib.suppress(OSError):
            make_folder(self.folder.parent)  # the cache
            self.folder.mkdir(exist_ok=True)
            temporary.parent.mkdir(exist_ok=True)
            try:
                with temporary.open("xb") as stream:
                    stream.write(b"rye-pack 1 %d\n" % len(head))
                    stream.write(head)
                    stream.writelines(objects.values())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def objects(self, path: str) -> int:
        """Return how many objects the pack at ``path`` has."""
        return len(self._open(path).index)

    def close(self) -> None:
        """Close the files. Later calls list and open them again."""
        for pack in self._opened.values():
            if pack.stream is not None:
                pack.stream.close()
        self._opened.clear()
        self._found.clear()

    def _paths(self) -> list[str]:
        if not self._found:
            paths: list[str] = []
            with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
                paths = sorted(entry.path for entry in entries if entry.name.endswith(".pack"))
            self._found.append(paths)
        return self._found[0]

    def _open(self, path: str) -> _Opened:
        known = self._opened.get(path)
        if known is None:
            known = self._opened[path] = _read_index(path)
        return known


def _read_index(path: str) -> _Opened:
    try:
        stream = open_regular(path)  # Packs.close closes it
    except OSError:
        return _Opened()
    try:
        head = _HEAD.fullmatch(stream.readline(64))
        if head is not None and int(head[1]) <= _MOST_INDEX_BYTES:
            index = json.loads(stream.read(int(head[1])))
            if isinstance(index, dict):
                return _Opened(stream, stream.tell(), index)
    except (OSError, ValueError, RecursionError):
        pass
    stream.close()
    return _Opened()
