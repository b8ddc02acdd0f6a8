"""Time that witnesses add to one run of a client: three cosignatures verified and judged; and a watch over a whole log.

    python -m benchmarks.witnesses [entries]

A client with a policy may take at most 1 ms longer, and 100,000 entries must be caught up in less than 20 s.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from rye.registry import mirroring
from rye.registry.protocol import merkle, notes, tiles, wire
from rye.registry.protocol.cosignatures import CosignerKey, read_cosignatures
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.witness_policy import simple_policy
from rye.registry.trust.cosigned import WitnessDemand, open_cosigned
from rye.registry.trust.watching import Watched
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_client import pinned
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.registry.witness_keys import cosigned, ed25519, ml_dsa

ROUNDS = 200


def median_ms(call: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1_000


def cosignatures() -> None:
    registry = SimulatedRegistry()
    registry.publish()
    for name, witnesses in (
        ("three by Ed25519", [ed25519(f"w{number}") for number in range(3)]),
        ("three by ML-DSA-44", [ml_dsa(f"w{number}") for number in range(3)]),
    ):
        head = registry.head()
        note = cosigned(notes.parse(head.checkpoint), int(registry.now.timestamp()), *witnesses)
        keys: list[CosignerKey] = [one.verifier for one in witnesses]
        shown = wire.Head(note.encode(), head.snapshot, head.proof, head.map)
        state = pinned(registry)
        opened = state.open_head(wire.encode_head(shown), registry.now)
        demand = WitnessDemand(simple_policy(keys, 2))
        alone = median_ms(lambda note=note, keys=keys: read_cosignatures(note, keys))  # type: ignore[misc]
        whole = median_ms(lambda s=state, o=opened, d=demand: open_cosigned(s, o, d, registry.now))  # type: ignore[misc]
        print(f"{name}: {alone:.2f} ms to verify, {whole:.2f} ms with everything else that a policy costs")


def watching(entries: int) -> None:
    registry = SimulatedRegistry()
    registry.claim("acme")
    registry.claim("zeta")
    registry.publish()
    about = [leaf.encode() for leaf in registry.leaves if "namespace" in leaf]
    leaves = [about[0] if position % 50 == 0 else about[1] + b"%d" % position for position in range(entries)]
    levels = [[merkle.leaf_hash(leaf) for leaf in leaves]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([merkle.node_hash(below[at], below[at + 1]) for at in range(0, len(below) - 1, 2)])

    def read(level: int, index: int) -> bytes:
        return levels[level][index]

    files: dict[str, bytes] = {}
    for tile in tiles.all_tiles(entries):
        files[tile.path] = b"".join(read(8 * tile.level, tile.index * 256 + at) for at in range(tile.width))
        if tile.level == 0:
            files[tile.entries_path] = tiles.encode_bundle(leaves[tile.index * 256 : tile.index * 256 + tile.width])
    checkpoint = Checkpoint(registry.origin, entries, merkle.root_at(entries, read))
    watched = Watched(namespaces=frozenset({"acme"}), own=frozenset({key("acme").public.raw}))
    began = time.perf_counter()
    events = watched.events(enumerate(mirroring.entries(MemoryTransport(files), checkpoint)))
    print(f"{entries:,} entries with {len(events):,} events: {time.perf_counter() - began:.1f} s, without a network")


if __name__ == "__main__":
    cosignatures()
    watching(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
