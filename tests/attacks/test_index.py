"""Attacks on the index and the log behind it: what exists, what is complete, what is logged (docs/protocol.md, Index)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import notes, tiles, wire
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Release, parse
from rye.registry.protocol.tiles import Tile
from rye.registry.protocol.wire import IndexLine
from tests.attacks.hostile_server import announces
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import DEPLOY, INSTALL, LINT, UPDATE, Attack, Scene, Stage, progress, raw
from tests.registry.simulated_registry import SimulatedRegistry

pytestmark = pytest.mark.slow

Lines = list[IndexLine]


def cheat_index(change: Callable[[SimulatedRegistry, dict[str, Lines]], object]) -> Callable[[Scene], None]:
    """The registry signs a snapshot over index lines that ``change`` made."""

    def act(scene: Scene) -> None:
        registry = scene.present.fork()
        index = registry.index_lines()
        change(registry, index)
        registry.publish_index({name: wire.encode_index(found) for name, found in index.items() if found})
        scene.serve(registry)

    return act


def invented(registry: SimulatedRegistry, index: dict[str, Lines]) -> None:
    """A release that is signed by the namespace's key and shown, but not logged."""
    private = registry.fork()
    position = release(private, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0", text="Only for you."))
    registry.blobs.update(private.blobs)
    index[str(DEPLOY)].append(IndexLine(registry.size, private.leaves[position]))


def without_the_item(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    del index[str(DEPLOY)]


def without_the_locked_version(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    del index[str(DEPLOY)][0]


def without_the_namespace(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    del index["namespace:acme"]


def another_position(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    """The newest release at the position of another leaf."""
    last = index[str(DEPLOY)][-1]
    index[str(DEPLOY)][-1] = IndexLine(last.log - 1, last.note)


def beyond_the_log(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    last = index[str(DEPLOY)][-1]
    index[str(DEPLOY)][-1] = IndexLine(10_000, last.note)


def another_items_release(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    index[str(DEPLOY)] = index[str(LINT)]


def another_origins_release(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
    foreign = SimulatedRegistry(origin="other.example")
    foreign.claim("acme")
    position = release(foreign, DEPLOY, "1.3.0", directive(DEPLOY, "1.3.0"))
    index[str(DEPLOY)].append(IndexLine(index[str(DEPLOY)][-1].log + 1, foreign.leaves[position]))


def index_note(change: Callable[[str], str]) -> Callable[[Scene], None]:
    """The registry signs over an index in which the newest note's bytes were changed."""

    def act(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
        last = index[str(DEPLOY)][-1]
        index[str(DEPLOY)][-1] = IndexLine(last.log, change(last.note))

    return cheat_index(act)


def logged_text(change: Callable[[str], str]) -> Callable[[Scene], None]:
    """The publisher signs a release with a changed text, and the registry logs it."""

    def act(scene: Scene) -> None:
        def build(registry: SimulatedRegistry) -> None:
            draft = registry.fork()
            position = release(draft, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"))
            registry.blobs.update(draft.blobs)
            text = change(notes.parse(draft.leaves[position]).text)
            note = raw(text, registry.namespace_signers("acme"))
            append_unread(registry, note, str(DEPLOY))

        registry = scene.present.fork()
        build(registry)
        scene.serve(registry)

    return act


def append_unread(registry: SimulatedRegistry, note: SignedNote, name: str) -> None:
    """Log and index a note that does not parse as a statement, and close the batch."""
    index = registry.index_lines()
    index.setdefault(name, []).append(IndexLine(registry.size, note.encode()))
    indexes = {subject: wire.encode_index(found) for subject, found in index.items()}
    shards = {shard: hashlib.sha256(data).hexdigest() for shard, data in registry.shard_files(indexes).items()}
    snapshot = registry.snapshot(shards=wire.shards_root(shards))
    registry.append(note)
    registry.append(registry.sign(snapshot, registry.log_signers()))
    registry.write_files(registry.head(shards=shards), indexes)


def repeated_release(scene: Scene) -> None:
    """Other bytes under a version that was released before."""
    scene.cheat(lambda registry: release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", text="Do harm.")))


def advisory_by_the_log(registry: SimulatedRegistry) -> None:
    """A warning in the owners' name that they did not sign."""
    note = registry.leaves[registry.advise(DEPLOY, "*", by_owners=True)]
    registry.leaves[-1] = registry.sign(parse(notes.parse(note).text), registry.log_signers()).encode()


def taken_down(*more: str, line: int = -1, signers: int = 2) -> Callable[[SimulatedRegistry], None]:
    """A takedown of a release by its line in the index, also of the files ``more``, by as many owners."""

    def act(registry: SimulatedRegistry) -> None:
        newest = parse(notes.parse(registry.index_lines()[str(DEPLOY)][line].note).text)
        assert isinstance(newest, Release)
        threshold, registry.owner_threshold = registry.owner_threshold, signers
        registry.take_down(DEPLOY, newest.version, [newest.file.sha256, *more])
        registry.owner_threshold = threshold

    return act


def yank_of_nothing(registry: SimulatedRegistry) -> None:
    """The owner yanks what was never released."""
    registry.yank(DEPLOY, "8.0.0")


def tail_of_another_kind(scene: Scene) -> None:
    """The tree ends with a release instead of a snapshot, and the head offers that leaf."""
    registry = scene.present.fork()
    release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"))
    registry.write_files()
    scene.serve(registry)


def wrong_shards(scene: Scene) -> None:
    """The snapshot fixes other shards than the head lists."""
    registry = scene.present.fork()
    registry.append(registry.sign(registry.snapshot(shards=bytes(32)), registry.log_signers()))
    registry.write_files()
    scene.serve(registry)


def shard_left_out(scene: Scene) -> None:
    """The mirror leaves a shard out of the list, so that the item does not exist."""
    shards = scene.present.head().shards
    del shards[wire.shard_of(str(DEPLOY))]
    scene.present.write_files(scene.present.head(shards=shards))
    scene.serve(scene.present)


def old_shard(scene: Scene) -> None:
    """The shard as it was before the newest release."""
    past = scene.past.head().shards[wire.shard_of(str(DEPLOY))]
    scene.replace(scene.shard_path(str(DEPLOY)), scene.past.files[f"shards/{past}"])


def old_index(scene: Scene) -> None:
    """The index file as it was before the newest release."""
    path = scene.index_path(str(DEPLOY))
    scene.replace(path, scene.past.index_files()[str(DEPLOY)])


def index_of_the_same_size(scene: Scene) -> None:
    path = scene.index_path(str(DEPLOY))
    scene.replace(path, scene.server.files[path].replace(b"version 1.1.0", b"version 1.1.1"))


def raw_shard(change: Callable[[bytes], bytes]) -> Callable[[Scene], None]:
    """The registry signs over a shard whose bytes ``change`` made."""

    def act(scene: Scene) -> None:
        registry = scene.present.fork()
        shard = wire.shard_of(str(DEPLOY))
        data = change(registry.shard_files()[shard])
        shards = {name: hashlib.sha256(found).hexdigest() for name, found in registry.shard_files().items()}
        shards[shard] = hashlib.sha256(data).hexdigest()
        registry.append(registry.sign(registry.snapshot(shards=wire.shards_root(shards)), registry.log_signers()))
        registry.write_files(registry.head(shards=shards))
        registry.files[f"shards/{shards[shard]}"] = data
        scene.serve(registry)

    return act


def tile_of(scene: Scene, level: int = 0) -> Tile:
    return next(tile for tile in tiles.all_tiles(scene.present.size) if tile.level == level)


def altered_tile(scene: Scene) -> None:
    path = tile_of(scene).path
    data = bytearray(scene.server.files[path])
    data[40] ^= 1
    scene.replace(path, bytes(data))


def old_tile(scene: Scene) -> None:
    """The honest partial tile of the past in place of the present's, filled up."""
    tile = tile_of(scene)
    past = next(found for found in tiles.all_tiles(scene.past.size) if found.level == 0)
    data = scene.past.files[past.path]
    scene.replace(tile.path, data + bytes(tile.bytes - len(data)))


def full_tile_for_a_partial_one(scene: Scene) -> None:
    """The partial tile is gone; the full one in its place is of another tree."""
    tile = tile_of(scene)
    scene.replace(tile.path, None)
    scene.replace(tile.full.path, scene.server.files.get(tile.full.path, b"") + b"\x01" * tile.full.bytes)


def short_full_tile(scene: Scene) -> None:
    """The full tile in place of the partial one is neither the one nor the other."""
    tile = tile_of(scene)
    scene.replace(tile.path, None)
    scene.replace(tile.full.path, b"\x01" * (tile.full.bytes - 32))


def long(registry: SimulatedRegistry) -> None:
    """More than a full tile of entries, so that tiles have parents."""
    progress(registry)
    for number in range(260):
        registry.release(Identity("tool", f"zeta/pad/n{number}"), content=b"n\n")


def tile_of_another_level(scene: Scene) -> None:
    """A tile of level 0 where one of level 1 belongs."""
    upper, lower = tile_of(scene, 1), tile_of(scene, 0)
    scene.replace(upper.path, scene.server.files[lower.path][: upper.bytes])


def altered_full_tile(scene: Scene) -> None:
    """One hash of a full tile, in which the installed release does not even stand."""
    tile = tile_of(scene, 0)
    assert tile == tile.full
    data = bytearray(scene.server.files[tile.path])
    data[-1] ^= 1
    scene.replace(tile.path, bytes(data))


SNAPSHOTS = (
    Attack("a snapshot of other shards than the head's", "log key", "snapshot-shards", wrong_shards),
    Attack("a shard left out of the head", "mirror", "snapshot-shards", shard_left_out),
    Attack("a tail leaf of another kind", "log key", "snapshot-kind", tail_of_another_kind),
    Attack(
        "a package that is missing though it is locked",
        "log key",
        "release-vanished",
        cheat_index(without_the_item),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        "a version that is missing though it is locked",
        "log key",
        "release-vanished",
        cheat_index(without_the_locked_version),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        "a namespace that is missing though it was seen",
        "log key",
        "namespace-vanished",
        cheat_index(without_the_namespace),
        start="installed",
        command=UPDATE,
    ),
    Attack("an index line without a leaf", "log key", "leaf-mismatch", cheat_index(invented), cause="proof-root"),
    Attack("an index line at another leaf's position", "log key", "leaf-mismatch", cheat_index(another_position)),
    Attack("an index line beyond the log", "log key", "index-position", cheat_index(beyond_the_log)),
    Attack("another item's release in an index", "log key", "index-foreign", cheat_index(another_items_release)),
    Attack("another registry's release in an index", "log key", "index-foreign", cheat_index(another_origins_release)),
    Attack(
        "an advisory in the name of the registry's owners",
        "log key",
        "advisory-signer",
        lambda scene: scene.cheat(advisory_by_the_log),
    ),
    Attack(
        "a yank of what was never released",
        "namespace key",
        "release-unknown",
        lambda scene: scene.cheat(yank_of_nothing),
    ),
    Attack("other bytes under a version once used", "log and namespace key", "release-repeated", repeated_release),
    Attack(
        "a takedown that too few owners signed",
        "log key",
        "takedown-signer",
        lambda scene: scene.cheat(taken_down(signers=1)),
    ),
    Attack(
        "a takedown of a file that is not the release's",
        "log key",
        "takedown-foreign",
        lambda scene: scene.cheat(taken_down("0" * 64)),
    ),
    Attack(
        "a locked release that was taken down, from a mirror that still has its bytes",
        "mirror",
        "release-taken-down",
        lambda scene: scene.cheat(taken_down(line=0)),
        start="checkout",
        command=INSTALL,
    ),
)

FILES = (
    Attack("no shard", "mirror", "shard-missing", lambda scene: scene.replace(scene.shard_path(str(DEPLOY)), None)),
    Attack("a shard of before", "mirror", "shard-hash", old_shard),
    Attack(
        "no index file", "mirror", "index-missing", lambda scene: scene.replace(scene.index_path(str(DEPLOY)), None)
    ),
    Attack("an index file of before", "mirror", "index-size", old_index),
    Attack("an index file of the same size", "mirror", "index-hash", index_of_the_same_size),
    Attack(
        "an index file that is far too long",
        "mirror",
        "fetch-too-large",
        lambda scene: scene.fault(scene.index_path(str(DEPLOY)), announces(50_000_000)),
    ),
    Attack(
        "a shard with a path for a name",
        "log key",
        "shard-malformed",
        raw_shard(lambda data: data.replace(b"directive:acme/ops/deploy", b"directive:acme/../deploy")),
    ),
    Attack("a shard that is not sorted", "log key", "shard-malformed", raw_shard(lambda data: data + data)),
    Attack(
        "a shard with a name of another shard",
        "log key",
        "shard-malformed",
        raw_shard(lambda data: data.replace(b"acme/ops/deploy", b"acme/ops/deploy2")),
    ),
)

NOTES = (
    Attack(
        "a release whose signature is no base64",
        "log key",
        "index-statement",
        index_note(lambda note: note[:-4] + "!!=\n"),
        cause="note-base64",
    ),
    Attack(
        "a release with a line that nobody knows",
        "log and namespace key",
        "index-statement",
        logged_text(lambda text: text + "extra 1\n"),
        cause="statement-malformed",
    ),
    Attack(
        "a release with a line that stands twice",
        "log and namespace key",
        "index-statement",
        logged_text(lambda text: text.replace("version 1.2.0\n", "version 1.2.0\nversion 1.2.0\n")),
        cause="statement-malformed",
    ),
    Attack(
        "a release of a type that nobody knows",
        "log and namespace key",
        "index-statement",
        logged_text(lambda text: text.replace("rye.release/v1", "rye.release/v2")),
        cause="statement-kind",
    ),
    Attack(
        "a release whose description steers the terminal",
        "log and namespace key",
        "index-statement",
        index_note(lambda note: note.replace("description ", "description \u009b2J")),
        cause="statement-malformed",
    ),
    Attack(
        "a release whose description hides text",
        "log and namespace key",
        "index-statement",
        logged_text(lambda text: text.replace("description ", "description \u202e\U000e0041")),
        cause="statement-malformed",
    ),
    Attack(
        "control characters in an index file",
        "log key",
        "index-malformed",
        index_note(lambda note: note.replace("description ", "description \x1b[2J")),
    ),
)

TILES = (
    Attack("an altered tile", "mirror", "tile-root", altered_tile),
    Attack("a tile of before, filled up", "mirror", "tile-root", old_tile),
    Attack("a full tile for a partial one, of another tree", "mirror", "tile-root", full_tile_for_a_partial_one),
    Attack("a full tile for a partial one, too short", "mirror", "tile-size", short_full_tile),
    Attack("no tile at all", "mirror", "tile-missing", lambda scene: scene.replace(tile_of(scene).path, None)),
    Attack("a tile of another level", "mirror", "tile-root", tile_of_another_level, build=long),
    Attack("an altered full tile", "mirror", "tile-parent", altered_full_tile, build=long),
)


@pytest.mark.parametrize("attack", SNAPSHOTS, ids=lambda attack: attack.name)
def test_the_index_is_what_the_log_says(stage: Stage, attack: Attack) -> None:
    stage.perform(attack)


@pytest.mark.parametrize("attack", [*FILES, *TILES], ids=lambda attack: attack.name)
def test_every_file_is_the_one_that_the_head_fixes(stage: Stage, attack: Attack) -> None:
    stage.perform(attack)


@pytest.mark.parametrize("attack", NOTES, ids=lambda attack: attack.name)
def test_statements_are_read_strictly(stage: Stage, attack: Attack) -> None:
    stage.perform(attack)


def test_installing_again_asks_the_registry_nothing(stage: Stage) -> None:
    """What is installed and unchanged needs no registry, so no registry can harm it."""
    user = stage.user("installed")
    stage.server.serve({})
    assert user.run(*INSTALL, "--json").code == 0
    assert stage.server.seen == []
