"""Nodes of the name map that a lying operator signs: in the wrong place, split wrongly, or hiding a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.cases.names import EXACTLY, PDF, lied, mirror, with_row
from conformance.simulator.names import NameMap, Row, leaf_text
from conformance.simulator.server import Answer

SPLIT = "halve each range that holds more than 128 names"
PLACE = "its prefix and range are the row's"
NONE = "0" * 64
FIRST, SECOND = Row(PDF, NONE, 1).hash[:2]
WRONG = ("foreign", "malformed", "hash")


def half(byte: int) -> tuple[int, int]:
    """The half of ``00-ff`` with a byte."""
    return (0, 127) if byte < 128 else (128, 255)


def inner(names: NameMap, rows: Iterable[tuple[int, int, int, str]], prefix: str = "-") -> str:
    """An inner node with these rows: a range, how many names, and the hash of a node."""
    lines = "".join(f"{low:02x}-{high:02x} {count} {child}\n" for low, high, count, child in rows)
    return names.add(f"rye.map/v1 inner {prefix}\n{lines}")


def nodes(name: str, quote: str, *refuses: str, root: Callable[[NameMap], str]) -> None:
    """A root whose children no client needs to open."""
    lied(name, quote, *refuses, count=300, nodes=lambda names, rows: root(names))


def _in_half(rows: list[Row], at: int, low: int, count: int, *wanted: str) -> list[Row]:
    """So many names whose hash has a byte of a half at a place; ``wanted``: among them."""
    found = [row for row in rows if low <= row.hash[at] < low + 128 and (row.name in wanted or row.name != PDF)]
    found.sort(key=lambda row: (row.name not in wanted, row.name.encode()))
    return sorted(found[:count], key=lambda row: row.name.encode())


def _halves_of_128(names: NameMap, rows: list[Row]) -> str:
    made = []
    for low in (0, 128):
        some = _in_half(rows, 0, low, 128, PDF, "namespace:acme")
        made.append((low, low + 127, 128, names.leaf(b"", low, low + 127, some)))
    return inner(names, made)


def _half_as_root(names: NameMap, rows: list[Row]) -> str:
    low, high = half(FIRST)
    return names.add(leaf_text(b"", low, high, [row for row in rows if low <= row.hash[0] <= high]))


def _other_half(names: NameMap, rows: list[Row]) -> str:
    low, high = half(255 - FIRST)
    leaf = names.leaf(b"", low, high, _in_half(rows, 0, low, 100))
    return inner(names, [(0, 127, 100, leaf), (128, 255, 100, leaf)])


def _other_prefix(names: NameMap) -> str:
    other = (SECOND + 2) & 0xFE
    child = inner(names, [(other, other, 100, NONE), (other + 1, other + 1, 100, NONE)], f"{255 - FIRST:02x}")
    return inner(names, [(FIRST, FIRST, 200, child)])


def _names_of_another_prefix(names: NameMap, rows: list[Row]) -> str:
    low, high = half(SECOND)
    leaf = names.leaf(bytes([FIRST]), low, high, _in_half(rows, 1, low, 100))
    made = [(start, start + 127, 100, leaf if start == low else NONE) for start in (0, 128)]
    return inner(names, [(FIRST, FIRST, 200, inner(names, made, f"{FIRST:02x}"))])


lied("halves-of-exactly-128-names", SPLIT, count=300, nodes=_halves_of_128)
lied("root-that-is-half-of-a-map", PLACE, *WRONG, nodes=_half_as_root)
lied("leaf-of-the-other-half", PLACE, *WRONG, count=300, nodes=_other_half)
lied("leaf-with-names-of-another-prefix", PLACE, *WRONG, count=300, nodes=_names_of_another_prefix)
nodes("inner-node-of-another-prefix", PLACE, *WRONG, root=_other_prefix)
lied("node-that-is-one-line-without-LF", EXACTLY, "malformed", nodes=lambda m, rows: m.add("rye.map/v1 leaf - 00-ff"))
lied(
    "leaf-with-a-name-twice-and-two-hashes",
    EXACTLY,
    "malformed",
    nodes=with_row(f"{PDF} {'f' * 64} 1\n"),
)
lied("leaf-with-a-size-of-2-to-the-53", EXACTLY, "malformed", nodes=with_row(f"tool:z/z {NONE} {2**53}\n"))
lied("leaf-with-the-largest-size", EXACTLY, nodes=with_row(f"tool:z/z {NONE} {2**53 - 1}\n"))
lied("leaf-with-a-name-of-16-segments", EXACTLY, nodes=with_row(f"tool:{'/'.join('z' * 16)} {NONE} 1\n"))
lied("leaf-with-a-name-of-17-segments", EXACTLY, "malformed", nodes=with_row(f"tool:{'/'.join('z' * 17)} {NONE} 1\n"))
lied("leaf-with-a-name-of-18-segments", EXACTLY, "malformed", nodes=with_row(f"tool:{'/'.join('z' * 18)} {NONE} 1\n"))
nodes(
    "rows-of-one-value-twice",
    "Rows of an inner node are in order and do not overlap.",
    "malformed",
    root=lambda m: inner(m, [(0, 0, 100, NONE), (0, 0, 100, NONE), (1, 1, 100, NONE)]),
)
nodes(
    "range-that-ends-before-it-begins",
    "A range has 1, 2, 4, … or 256 values and begins at a multiple of their number.",
    "malformed",
    root=lambda m: inner(m, [(5, 4, 100, NONE), (128, 255, 100, NONE)]),
)
nodes(
    "range-at-no-multiple-of-its-number",
    "A range has 1, 2, 4, … or 256 values and begins at a multiple of their number.",
    "malformed",
    root=lambda m: inner(m, [(0, 0, 100, NONE), (1, 2, 100, NONE), (3, 3, 129, NONE)]),
)
nodes(
    "quarter-of-128-names-split-off",
    "so no row was split off without need",
    "malformed",
    root=lambda m: inner(m, [(0, 63, 128, NONE), (128, 255, 50, NONE)]),
)
nodes(
    "quarters-with-128-names-together",
    "so no row was split off without need",
    "malformed",
    root=lambda m: inner(m, [(0, 63, 64, NONE), (64, 127, 64, NONE), (128, 255, 100, NONE)]),
)
nodes(
    "later-quarters-split-without-need",
    "so no row was split off without need",
    "malformed",
    root=lambda m: inner(m, [(0, 127, 100, NONE), (128, 191, 30, NONE), (192, 255, 30, NONE)]),
)


def _without_item(data: bytes) -> bytes | Answer | None:
    return b"".join(line for line in data.splitlines(True) if PDF.encode() not in line)


mirror(
    "hides-a-name",
    "each by its hash",
    "hash",
    changes=lambda registry: {p: _without_item(d) for p, d in registry.files.items() if p.startswith("map/")},
)
