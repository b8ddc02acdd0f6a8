"""The name map with up to ten million names: levels, sizes, and the cost of a publish, a look-up and a batch.

    python benchmarks/name_map.py [--names 1000,10000,100000,1000000,10000000] [--rounds 200] [--batch 100]

The whole tree is never built. The first 8 bytes of each name's SHA-256, sorted, give the number of names in each range, and so
the levels, nodes and sizes of the real tree. For each of `--rounds` chosen names, the nodes on its path are built as in that tree
(only the hashes of nodes next to the path are stand-ins), and the pure core's `update` is timed on them. Memory: some 24 bytes a
name, and one path.

Bounds checked: a publish rewrites at most 64 kB, a look-up reads as many nodes as there are levels and as many bytes, a head has
less than 2,000 bytes, the pure cost of a publish at 100,000 names is at most 5 times that at 1,000 (the whole publish, which
this is a small part of, is `publish.py`'s).
"""

from __future__ import annotations

import argparse
import hashlib
import random
import statistics
import sys
import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from rye.registry.protocol import notes, wire
from rye.registry.protocol.name_map import (
    LEAF_NAMES,
    Child,
    Inner,
    Leaf,
    MapEntry,
    Node,
    decode_node,
    encode_node,
    update,
)
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import Checkpoint, Snapshot
from rye.signing.keys import PrivateKey

ORIGIN = "registry.example.org"
MOST_REWRITTEN = 64 * 1024
MOST_HEAD = 2_000
MOST_GROWTH = 5.0
_STAND_IN = "0" * 64


def name(number: int) -> str:
    """Names as people give them, about 40 characters."""
    return f"directive:team{number % 4999}/workflows/release_{number}"


class Names:
    """The sorted hashes of n names, which give each name's place in the tree."""

    def __init__(self, count: int):
        self.count = count
        keys = array("Q", bytes(8 * count))
        by_first_byte = [array("I") for _ in range(256)]
        for number in range(count):
            digest = hashlib.sha256(name(number).encode()).digest()
            keys[number] = int.from_bytes(digest[:8])
            by_first_byte[digest[0]].append(number)
        self.order = array("I")
        for numbers in by_first_byte:
            self.order.extend(sorted(numbers, key=keys.__getitem__))
        self.keys = array("Q", (keys[number] for number in self.order))

    def below(self, prefix: bytes, low: int, high: int) -> tuple[int, int]:
        """The positions of the names in a range: the first, and the one after the last."""
        start = int.from_bytes((prefix + bytes([low])).ljust(8, b"\0"))
        end = int.from_bytes((prefix + bytes([high])).ljust(8, b"\xff"))
        return bisect_left(self.keys, start), bisect_left(self.keys, end + 1) if end + 1 < 2**64 else self.count

    def number_at(self, place: int) -> int:
        return self.order[place]


def entry(number: int) -> MapEntry:
    return MapEntry(name(number), hashlib.sha256(b"%d" % number).hexdigest(), 700)


def rows(names: Names, prefix: bytes, low: int, high: int) -> list[tuple[int, int, int]]:
    """The ranges of an inner node with their counts, as docs/reference/name-map.md defines them."""
    start, end = names.below(prefix, low, high)
    if start == end:
        return []
    if (end - start <= LEAF_NAMES and (low, high) != (0, 255)) or low == high:
        return [(low, high, end - start)]
    middle = (low + high + 1) // 2
    return [*rows(names, prefix, low, middle - 1), *rows(names, prefix, middle, high)]


def path(names: Names, number: int) -> tuple[str, dict[str, Node], list[int]]:
    """The nodes on the path to a name, the root's hash, and the sizes of the nodes from the root down."""
    digest = hashlib.sha256(name(number).encode()).digest()
    found: list[tuple[Node, int]] = []
    prefix = b""
    if names.count <= LEAF_NAMES:
        found.append((leaf(names, b"", 0, 255), 0))
    else:
        while True:
            ranges = rows(names, prefix, 0, 255)
            at = next(place for place, (low, high, _) in enumerate(ranges) if low <= digest[len(prefix)] <= high)
            found.append((Inner.of(prefix, (Child(*one, _STAND_IN) for one in ranges)), at))
            low, high, count = ranges[at]
            if count <= LEAF_NAMES:
                found.append((leaf(names, prefix, low, high), 0))
                break
            prefix += bytes([low])
    nodes: dict[str, Node] = {}
    sizes: list[int] = []
    below = ""
    for node, at in reversed(found):
        if isinstance(node, Inner):
            children = list(node.children)
            children[at] = Child(children[at].low, children[at].high, children[at].names, below)
            node = Inner.of(node.prefix, children)
        data = encode_node(node)
        below = hashlib.sha256(data).hexdigest()
        nodes[below] = node
        sizes.insert(0, len(data))
    return below, nodes, sizes


def leaf(names: Names, prefix: bytes, low: int, high: int) -> Leaf:
    start, end = names.below(prefix, low, high)
    entries = (entry(names.number_at(place)) for place in range(start, end))
    return Leaf(prefix, low, high, {one.name: one for one in entries})


def nodes_in_all(names: Names, prefix: bytes = b"") -> int:
    if names.count <= LEAF_NAMES:
        return 1
    found = 1
    for low, _, count in rows(names, prefix, 0, 255):
        found += nodes_in_all(names, prefix + bytes([low])) if count > LEAF_NAMES else 1
    return found


class Measured(Struct, kw_only=True):
    """One size of registry."""

    names: int
    nodes: int
    levels: float
    """Nodes on the path to a name, on average."""
    deepest: int
    sizes: list[list[int]]
    written: list[int]
    """Bytes of the nodes that one publish of a new version writes."""
    seconds: list[float]
    """Time in the pure core, with the nodes already decoded."""
    cold: list[float]
    """The same, including decoding the path's nodes."""
    batch_nodes: int
    batch_bytes: int
    batch_seconds: float
    """Time to read, write and hash each node of a batch once."""
    head: int


def measure(count: int, rounds: int, batch: int) -> Measured:
    names = Names(count)
    chosen = random.Random(1).sample(range(count), min(rounds, count))
    sizes, written, seconds, cold = [], [], [], []
    for number in chosen:
        root, nodes, path_sizes = path(names, number)
        files = [encode_node(node) for node in nodes.values()]
        changed = MapEntry(name(number), "f" * 64, 1400)
        started = time.process_time()
        done = update(root, [changed], nodes)
        seconds.append(time.process_time() - started)
        started = time.process_time()
        for data in files:
            decode_node(data)
        cold.append(time.process_time() - started + seconds[-1])
        assert len(done.files) == len(nodes)
        sizes.append(path_sizes)
        written.append(sum(map(len, done.files.values())))
    together: dict[bytes, Node] = {}
    for number in random.Random(2).sample(range(count), min(batch, count)):
        for node in path(names, number)[1].values():
            place = node.prefix + (bytes([node.low, node.high]) + b"leaf" if isinstance(node, Leaf) else b"inner")
            together[place] = node
    started = time.process_time()
    batch_files = [encode_node(node) for node in together.values()]
    for data in batch_files:
        hashlib.sha256(data).hexdigest()
        decode_node(data)
    batch_seconds = time.process_time() - started
    return Measured(
        names=count,
        nodes=nodes_in_all(names),
        levels=statistics.mean(len(one) for one in sizes),
        deepest=max(len(one) for one in sizes),
        sizes=sizes,
        written=written,
        seconds=seconds,
        cold=cold,
        batch_nodes=len(together),
        batch_bytes=sum(map(len, batch_files)),
        batch_seconds=batch_seconds,
        head=len(head(3 * count)),
    )


def head(size: int) -> bytes:
    """A head for a log of this many entries, with the longest proof that its last entry can have."""
    key = PrivateKey.generate()
    signer = Signer(VerifierKey(ORIGIN, key.public.raw), key.sign)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    checkpoint = notes.sign(Checkpoint(ORIGIN, size, bytes(32)).text(), [signer]).encode()
    snapshot = notes.sign(Snapshot(ORIGIN, now, 1, "f" * 64).text(), [signer]).encode()
    proof = [wire.encode_hash(bytes(32))] * size.bit_length()
    return wire.encode_head(wire.Head(checkpoint, snapshot, proof, "f" * 64))


def show(found: Measured, batch: int) -> None:
    levels = [statistics.mean(one[level] for one in found.sizes if len(one) > level) for level in range(found.deepest)]
    print(
        f"{found.names:>10,}  {found.levels:>6.2f}  {found.nodes:>9,}  {statistics.mean(map(sum, found.sizes)):>8,.0f}  "
        f"{statistics.mean(found.written):>8,.0f} / {max(found.written):>6,}  "
        f"{statistics.median(found.seconds) * 1e6:>6,.0f} / {statistics.median(found.cold) * 1e6:>6,.0f} us  "
        f"{found.head:>6,}  "
        f"{found.batch_nodes:>6,} / {found.batch_bytes / 1e6:>5.2f} MB / {found.batch_seconds * 1e3:>4.0f} ms   "
        + " + ".join(f"{size:,.0f}" for size in levels),
        flush=True,
    )


def broken_bounds(found: Sequence[Measured]) -> list[str]:
    broken = [
        f"{one.names:,}: a publish rewrites {max(one.written):,} bytes"
        for one in found
        if max(one.written) > MOST_REWRITTEN
    ]
    broken += [f"{one.names:,}: a head has {one.head:,} bytes" for one in found if one.head >= MOST_HEAD]
    cost = {one.names: statistics.median(one.seconds) for one in found}
    if {1_000, 100_000} <= cost.keys() and cost[100_000] > MOST_GROWTH * cost[1_000]:
        broken.append(f"a publish at 100,000 names costs {cost[100_000] / cost[1_000]:.1f} times that at 1,000")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", default="1000,10000,100000,1000000,10000000")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--batch", type=int, default=100)
    options = parser.parse_args()
    print(
        f"{'names':>10}  {'levels':>6}  {'nodes':>9}  {'look-up':>8}  {'publish: mean / most':>17}  {'pure / with read':>18}  "
        f"{'head':>6}  batch of {options.batch}: nodes, CPU   sizes from the root on"
    )
    found = []
    for text in options.names.split(","):
        found.append(measure(int(text), options.rounds, options.batch))
        show(found[-1], options.batch)
    broken = broken_bounds(found)
    for line in broken:
        print(f"OUT OF BOUNDS: {line}")
    print("all bounds hold" if not broken else f"{len(broken)} bounds do not hold")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
