"""What a head must not contradict: time, and the largest log that was seen. Consistency proofs from tiles."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from conformance.cases import case
from conformance.cases.heads import CLIENT, STRANGER
from conformance.play import Play
from conformance.simulator import tree
from conformance.simulator.keys import Key, flipped, note, text_of
from conformance.simulator.registry import Registry
from conformance.simulator.server import Answer


def aged(name: str, quote: str, *refuses: str, old: bool | None = None, seen: bool = True, **age: float) -> None:
    """A head of some age; ``seen``: it is the one that was accepted before."""

    @case(f"heads/age-{name}", CLIENT, quote, *refuses)
    def play_aged(play: Play) -> None:
        registry = Registry.fresh()
        play.start(registry)
        if not seen:
            registry.publish()
            play.serve(registry)
        play.now = registry.now + timedelta(**age)
        reply = play.decisive("refresh")
        if old is not None:
            play.expect("old", reply["old"], old)


WARN, STOP = "Older than 72 h: warn.", "Older than 7 d, or more than 10 min in the future: stop."
aged("fresh", WARN, old=False)
aged("of-72-hours", WARN, old=False, hours=72)
aged("of-more-than-72-hours", WARN, old=True, hours=72, seconds=1)
aged("of-7-days", STOP, old=True, days=7)
aged("of-more-than-7-days", STOP, "stale", days=7, seconds=1)
aged("of-more-than-7-days-and-new", STOP, "stale", seen=False, days=7, seconds=1)
aged("10-minutes-ahead", STOP, old=False, minutes=-10)
aged("more-than-10-minutes-ahead", STOP, "future", minutes=-10, seconds=-1)
aged("more-than-10-minutes-ahead-and-new", STOP, "future", seen=False, minutes=-10, seconds=-1)


@case("heads/old-at-first-contact", CLIENT, STOP, "stale")
def old_at_first(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    play.newcomer()
    play.now = registry.now + timedelta(days=8)
    play.decisive("init", fingerprint=registry.fingerprint)


EARLIER = "its time is not before that of the last one seen"


@case("heads/time-goes-back", CLIENT, EARLIER, "rollback")
def time_goes_back(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.wait(seconds=-1)
    registry.publish()
    play.serve(registry)
    play.decisive("refresh")


@case("heads/time-stands-still", CLIENT, EARLIER)
def time_stands(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.publish()
    play.serve(registry)
    play.decisive("refresh")


@case("heads/time-went-back-before-first-contact", CLIENT, EARLIER)
def time_went_back(play: Play) -> None:
    registry = Registry.fresh()
    registry.wait(hours=-1)
    registry.publish()
    play.serve(registry)
    play.decisive("init", fingerprint=registry.fingerprint)


# History

HISTORY = "Compare with the largest checkpoint seen."


@case("heads/a-smaller-log", CLIENT, "A smaller size is a rollback.", "rollback")
def smaller(play: Play) -> None:
    registry = Registry.fresh()
    old = registry.fork()
    registry.fill(3)
    registry.publish()
    play.start(registry)
    old.now = registry.now
    play.serve(old)
    play.decisive("refresh")


@case("heads/a-smaller-log-that-is-newer", CLIENT, "A smaller size is a rollback.", "rollback")
def smaller_and_newer(play: Play) -> None:
    registry = Registry.fresh()
    old = registry.fork()
    registry.fill(3)
    registry.publish()
    play.start(registry)
    old.wait(hours=1)
    old.publish()
    play.serve(old)
    play.decisive("refresh")


@case("heads/another-history-of-the-same-size", CLIENT, "The same size must have the same root hash.", "fork")
def same_size(play: Play) -> None:
    registry = Registry.fresh()
    other = registry.fork()
    registry.fill(1)
    registry.publish()
    play.start(registry)
    other.append("other\n")
    other.publish()
    play.serve(other)
    play.decisive("refresh")


@case("heads/the-same-size-and-root-signed-again", CLIENT, "The same size must have the same root hash.")
def signed_again(play: Play) -> None:
    registry = Registry.fresh(logs=(Key("log 1"), Key("log 2")))
    play.start(registry)
    registry.set_head(checkpoint=note(text_of(registry.checkpoint), *registry.by_log(Key("log 2"))))
    play.serve(registry)
    play.decisive("refresh")


def forked(name: str, before: int, common: int, more: int, *refuses: str) -> None:
    """A log of ``before`` fillers was seen; the one shown now has ``common`` of them and ``more`` others."""

    @case(f"heads/another-history-{name}", CLIENT, "A larger one needs a consistency proof, from tiles.", *refuses)
    def play_forked(play: Play) -> None:
        registry = Registry.fresh()
        registry.fill(common)
        other = registry.fork()
        registry.fill(before - common)
        registry.publish()
        play.start(registry)
        longer = other if refuses else registry
        for number in range(more):
            longer.append(f"other {number}\n")
        longer.publish()
        play.serve(longer)
        reply = play.decisive("refresh")
        if not refuses:
            play.expect("the size", reply["size"], longer.size)


forked("that-is-one-entry-longer", 1, 0, 2, "fork")
forked("that-is-twice-as-long", 3, 0, 20, "fork")
forked("that-differs-in-the-last-entry", 250, 249, 30, "fork")
forked("that-differs-in-the-first-tile", 300, 2, 600, "fork")
for before, more in ((0, 1), (0, 1000), (1, 2), (2, 7), (250, 5), (250, 251), (251, 1), (505, 300), (700, 40)):
    forked(f"none-from-{before + 5}-to-{before + 6 + more}", before, before, more)


@case("heads/a-refused-head-changes-nothing", CLIENT, "Only then write the trusted state and the project.")
def nothing_changed(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    thief = registry.fork()
    thief.fill(40)
    thief.publish(checkpoint_by=STRANGER)
    play.serve(thief)
    play.refused("refresh", "signature")
    registry.fill(1)
    registry.publish()
    play.serve(registry)
    play.expect("the size", play.decisive("refresh")["size"], registry.size)


@case("heads/a-fork-is-refused-again", CLIENT, "Otherwise keep both signed heads as evidence and stop.", "fork")
def refused_again(play: Play) -> None:
    registry = Registry.fresh()
    other = registry.fork()
    registry.fill(1)
    registry.publish()
    play.start(registry)
    other.fill(1)
    other.append("other\n")
    other.publish()
    play.serve(other)
    play.refused("refresh", "fork")
    play.decisive("resolve", names=["skill:acme/pdf"])


TILES = "The tiles of a proof must hash to the checkpoint's root: partial tiles together, each full tile to its parent's entry."


def tiled(
    name: str,
    *refuses: str,
    spoil: Callable[[dict[str, bytes]], dict[str, bytes | Answer | None]],
    seen: int = 700,
    grown: int = 900,
    quote: str = TILES,
) -> None:
    """A log that grows over several tiles, some of which are changed by a mirror."""

    @case(f"tiles/{name}", CLIENT, quote, *refuses)
    def play_tiled(play: Play) -> None:
        registry = Registry.fresh()
        registry.fill(seen - registry.size - 1)
        registry.publish()
        play.start(registry)
        registry.fill(grown - registry.size - 1)
        registry.publish()
        tiles = {path: data for path, data in registry.files.items() if path.startswith("tile/")}
        play.serve(registry, spoil(tiles))
        play.decisive("refresh")


def all_tiles(
    change: Callable[[bytes], bytes | Answer | None], prefix: str = "tile/"
) -> Callable[[dict[str, bytes]], dict[str, bytes | Answer | None]]:
    return lambda tiles: {path: change(data) for path, data in tiles.items() if path.startswith(prefix)}


tiled("as-they-are", spoil=lambda tiles: {})
tiled("with-one-bit-changed", "proof", spoil=all_tiles(flipped))
tiled(
    "with-one-bit-changed-in-full-tiles",
    "proof",
    spoil=lambda t: {p: flipped(d) for p, d in t.items() if ".p/" not in p},
)
tiled(
    "with-one-bit-changed-in-partial-tiles",
    "proof",
    spoil=lambda t: {p: flipped(d) for p, d in t.items() if ".p/" in p},
)
tiled(
    "with-the-last-bit-changed-in-full-tiles",
    "proof",
    spoil=lambda t: {p: d[:-1] + bytes([d[-1] ^ 1]) for p, d in t.items() if ".p/" not in p},
)
tiled("cut-off", "proof", "malformed", spoil=all_tiles(lambda data: data[:-1]))
tiled("cut-off-by-a-hash", "proof", "malformed", spoil=all_tiles(lambda data: data[:-32]))
tiled("with-a-hash-more", "proof", "malformed", "limit", spoil=all_tiles(lambda data: data + data[-32:]))
tiled(
    "with-a-hash-more-in-partial-tiles",
    "proof",
    "malformed",
    "limit",
    spoil=lambda t: {p: d + d[-32:] for p, d in t.items() if ".p/" in p},
)
tiled("empty", "proof", "malformed", spoil=all_tiles(lambda data: b""))
tiled("missing", "unavailable", spoil=all_tiles(lambda data: None))
tiled("of-the-upper-level-missing", "unavailable", spoil=all_tiles(lambda data: None, "tile/1/"))
tiled("of-the-upper-level-changed", "proof", spoil=all_tiles(flipped, "tile/1/"))
tiled(
    "partial-ones-replaced-by-full-ones",
    quote="A larger one needs a consistency proof, from tiles.",
    spoil=lambda t: {},
    seen=300,
    grown=512,
)


def replaced(name: str, *refuses: str, change: Callable[[bytes], bytes] = bytes) -> None:
    """A mirror has no partial tile of a log any more, but the full one; ``change`` does something to that."""

    @case(f"tiles/{name}", "protocol.md", "a partial tile may disappear when the full one exists", *refuses)
    def play_replaced(play: Play) -> None:
        registry = Registry.fresh()
        registry.fill(250)
        registry.publish()
        play.start(registry)
        registry.fill(3)
        registry.publish()
        later = registry.fork()
        later.fill(300)
        later.publish()
        gone: dict[str, bytes | Answer | None] = {
            path: None for path in registry.files if path.startswith("tile/0") and ".p/" in path
        }
        full = {p: change(d) for p, d in later.files.items() if p.startswith("tile/0") and ".p/" not in p}
        play.serve(registry, {**gone, **full})
        play.decisive("refresh")


replaced("a-partial-tile-that-a-full-one-replaced")
replaced("a-full-one-with-a-hash-more", "proof", "malformed", "limit", change=lambda data: data + data[-32:])
replaced("a-full-one-cut-off-by-a-hash", "proof", "malformed", change=lambda data: data[:-32])


@case(
    "tiles/a-proof-from-a-log-of-one-entry",
    CLIENT,
    "A larger one needs a consistency proof, from tiles.",
    "proof",
    "chain",
    "fork",
    "signature",
    "foreign",
)
def from_one_entry(play: Play) -> None:
    """A thief with the log's key claims that the root alone was the snapshot."""
    registry = Registry.fresh()
    play.start(registry)
    registry.set_head(
        checkpoint=note(
            tree.checkpoint_text(registry.origin, registry.size + 1, tree.leaf_hash(registry.snapshot.encode())),
            *registry.by_log(),
        ),
        proof=[],
    )
    play.serve(registry)
    play.decisive("refresh")
