"""The name map (docs/reference/name-map.md), written: all nodes of the one tree that a set of names has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.simulator.keys import sha256

MOST = 128


@dataclass(frozen=True)
class Row:
    """A name, and the hash and size of its index file."""

    name: str
    sha256: str
    size: int

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(self.name.encode()).digest()

    @property
    def text(self) -> str:
        return f"{self.name} {self.sha256} {self.size}\n"


@dataclass
class NameMap:
    """The nodes by their hash, and the root."""

    nodes: dict[str, bytes]
    root: str

    @classmethod
    def of(cls, rows: Iterable[Row]) -> NameMap:
        found = cls({}, "")
        every = sorted(rows, key=lambda row: row.name.encode())
        found.root = found.leaf(b"", 0, 255, every) if len(every) <= MOST else found._inner(b"", every)
        return found

    def add(self, node: str) -> str:
        """Keep any node, and return its hash."""
        key = sha256(node)
        self.nodes[key] = node.encode()
        return key

    def leaf(self, prefix: bytes, low: int, high: int, rows: list[Row]) -> str:
        return self.add(leaf_text(prefix, low, high, rows))

    def _inner(self, prefix: bytes, rows: list[Row]) -> str:
        lines = "".join(self._rows(prefix, 0, 255, rows))
        return self.add(f"rye.map/v1 inner {prefix.hex() or '-'}\n{lines}")

    def _rows(self, prefix: bytes, low: int, high: int, rows: list[Row]) -> list[str]:
        if not rows:
            return []
        if len(rows) > MOST and low < high:
            middle = (low + high) // 2
            lower = [row for row in rows if row.hash[len(prefix)] <= middle]
            upper = [row for row in rows if row.hash[len(prefix)] > middle]
            return [*self._rows(prefix, low, middle, lower), *self._rows(prefix, middle + 1, high, upper)]
        child = self._inner(prefix + bytes([low]), rows) if len(rows) > MOST else self.leaf(prefix, low, high, rows)
        return [f"{low:02x}-{high:02x} {len(rows)} {child}\n"]


def leaf_text(prefix: bytes, low: int, high: int, rows: list[Row]) -> str:
    return f"rye.map/v1 leaf {prefix.hex() or '-'} {low:02x}-{high:02x}\n" + "".join(row.text for row in rows)
