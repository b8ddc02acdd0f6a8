"""The log as a Merkle tree (RFC 6962, section 2.1) and as tiles (C2SP tlog-tiles)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from conformance.simulator.keys import b64

WIDTH = 256


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(count: int) -> int:
    """The largest power of two below ``count``."""
    return 1 << (count - 1).bit_length() - 1


class Tree:
    """The tree over some leaves. It remembers the hashes of complete subtrees."""

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self.hashes = tuple(hashes)
        self._complete: dict[tuple[int, int], bytes] = {}

    @property
    def root(self) -> bytes:
        return self._range(0, len(self.hashes)) if self.hashes else hashlib.sha256(b"").digest()

    def _range(self, start: int, count: int) -> bytes:
        if count == 1:
            return self.hashes[start]
        known = self._complete.get((start, count))
        if known is None:
            left = _split(count)
            known = node_hash(self._range(start, left), self._range(start + left, count - left))
            self._complete[(start, count)] = known
        return known

    def inclusion(self, position: int) -> list[bytes]:
        """PATH(m, D[n])."""
        return self._path(position, 0, len(self.hashes))

    def _path(self, position: int, start: int, count: int) -> list[bytes]:
        if count == 1:
            return []
        left = _split(count)
        if position < left:
            return [*self._path(position, start, left), self._range(start + left, count - left)]
        return [*self._path(position - left, start + left, count - left), self._range(start, left)]

    def tiles(self) -> dict[str, bytes]:
        """Every tile of hashes, by its path."""
        files: dict[str, bytes] = {}
        level, count = 0, len(self.hashes)
        while count:
            span = WIDTH**level
            for index in range((count + WIDTH - 1) // WIDTH):
                rows = range(index * WIDTH, min(count, (index + 1) * WIDTH))
                partial = "" if len(rows) == WIDTH else f".p/{len(rows)}"
                files[f"tile/{level}/{number_path(index)}{partial}"] = b"".join(
                    self._range(row * span, span) for row in rows
                )
            level, count = level + 1, count // WIDTH
        return files


def number_path(index: int) -> str:
    """``x001/x234/067`` for 1234067."""
    groups = [f"{index % 1000:03}"]
    while index >= 1000:
        index //= 1000
        groups.insert(0, f"x{index % 1000:03}")
    return "/".join(groups)


def follow(leaf: bytes, position: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root to which an inclusion proof leads (RFC 9162, section 2.1.3.2); None if its length is wrong."""
    first, last, found = position, size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if first % 2 or first == last:
            found = node_hash(sibling, found)
            while not first % 2 and first:
                first, last = first >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        first, last = first >> 1, last >> 1
    return found if last == 0 else None


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    return f"{origin}\n{size}\n{b64(root)}\n"
