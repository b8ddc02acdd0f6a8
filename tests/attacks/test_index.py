"""Attacks on the index and the log behind it: existence, completeness, inclusion in the log (docs/reference/protocol.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.registry.protocol import notes, tiles, wire
from rye.registry.protocol.name_map import (
    EMPTY_MAP,
    EMPTY_MAP_SHA256,
    Inner,
    Leaf,
    MapEntry,
    Node,
    decode_node,
    encode_node,
    node_path,
    update,
)
from rye.registry.protocol.name_map.nodes import child_at, hash_of
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Release, Takedown, parse
from rye.registry.protocol.tiles import Tile
from rye.registry.protocol.wire import IndexLine
from tests.attacks.hostile_server import announces
from tests.attacks.named_attacks import of_the_tables
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import DEPLOY, INSTALL, LINT, UPDATE, Attack, Attacker, AttackRunner, progress, raw
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow

Lines = list[IndexLine]


def cheat_index(change: Callable[[SimulatedRegistry, dict[str, Lines]], object]) -> Callable[[Attacker], None]:
    """The registry signs a snapshot over index lines changed by ``change``."""

    def act(attacker: Attacker) -> None:
        registry = attacker.present.fork()
        index = registry.index_lines()
        change(registry, index)
        registry.publish_index({name: wire.encode_index(found) for name, found in index.items() if found})
        attacker.serve(registry)

    return act


def invented(registry: SimulatedRegistry, index: dict[str, Lines]) -> None:
    """A release that the namespace's key signed and the index shows, but that is not in the log."""
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


def a_takedown_left_out(attacker: Attacker) -> None:
    """The user saw the takedown of a release; later the registry signs an index without it."""
    registry = attacker.present.fork()
    newest = Release.parse(notes.parse(registry.index_lines()[str(DEPLOY)][-1].note).text)
    taken = Takedown(registry.origin, DEPLOY, newest.version, (newest.file.sha256,), registry.now, "It leaks.")
    registry.append(registry.sign(taken, registry.owner_signers()))
    registry.publish()
    attacker.serve(registry)
    attacker.user.ok("info", str(DEPLOY))
    registry.pass_time(minutes=1)
    index = registry.index_lines()
    del index[str(DEPLOY)][-1]
    registry.publish_index({name: wire.encode_index(found) for name, found in index.items()})
    attacker.serve(registry)


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


def index_note(change: Callable[[str], str]) -> Callable[[Attacker], None]:
    """The registry signs an index in which the newest note's bytes are changed."""

    def act(_: SimulatedRegistry, index: dict[str, Lines]) -> None:
        last = index[str(DEPLOY)][-1]
        index[str(DEPLOY)][-1] = IndexLine(last.log, change(last.note))

    return cheat_index(act)


def logged_text(change: Callable[[str], str]) -> Callable[[Attacker], None]:
    """The publisher signs a release with a changed text, and the registry logs it."""

    def act(attacker: Attacker) -> None:
        def build(registry: SimulatedRegistry) -> None:
            draft = registry.fork()
            position = release(draft, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"))
            registry.blobs.update(draft.blobs)
            text = change(notes.parse(draft.leaves[position]).text)
            note = raw(text, registry.namespace_signers("acme"))
            append_unread(registry, note, str(DEPLOY))

        registry = attacker.present.fork()
        build(registry)
        attacker.serve(registry)

    return act


def append_unread(registry: SimulatedRegistry, note: SignedNote, name: str) -> None:
    """Log and index a note that does not parse as a statement, and close the batch."""
    index = registry.index_lines()
    index.setdefault(name, []).append(IndexLine(registry.size, note.encode()))
    indexes = {subject: wire.encode_index(found) for subject, found in index.items()}
    root = registry.map_of(indexes).root
    snapshot = registry.snapshot(map=root)
    registry.append(note)
    registry.append(registry.sign(snapshot, registry.log_signers()))
    registry.write_files(registry.head(map=root), indexes)


def repeated_release(attacker: Attacker) -> None:
    """Release other bytes under an existing version."""
    attacker.cheat(lambda registry: release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", text="Do harm.")))


def advisory_by_the_log(registry: SimulatedRegistry) -> None:
    """An advisory in the owners' name that they did not sign."""
    note = registry.leaves[registry.advise(DEPLOY, "*", by_owners=True)]
    registry.leaves[-1] = registry.sign(parse(notes.parse(note).text), registry.log_signers()).encode()


def taken_down(*more: str, line: int = -1, signers: int = 2) -> Callable[[SimulatedRegistry], None]:
    """A takedown of a release by its line in the index, and of the files ``more``, by as many owners."""

    def act(registry: SimulatedRegistry) -> None:
        newest = parse(notes.parse(registry.index_lines()[str(DEPLOY)][line].note).text)
        assert isinstance(newest, Release)
        threshold, registry.owner_threshold = registry.owner_threshold, signers
        registry.take_down(DEPLOY, newest.version, [newest.file.sha256, *more])
        registry.owner_threshold = threshold

    return act


def yank_of_nothing(registry: SimulatedRegistry) -> None:
    """The owner yanks a release that does not exist."""
    registry.yank(DEPLOY, "8.0.0")


def tail_of_another_kind(attacker: Attacker) -> None:
    """The tree ends with a release instead of a snapshot, and the head offers that leaf."""
    registry = attacker.present.fork()
    release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"))
    registry.write_files()
    attacker.serve(registry)


def other_map(attacker: Attacker) -> None:
    """The snapshot commits to a name map other than the one the head names."""
    registry = attacker.present.fork()
    registry.append(registry.sign(registry.snapshot(map="0" * 64), registry.log_signers()))
    registry.write_files()
    attacker.serve(registry)


def map_of_before(attacker: Attacker) -> None:
    """The mirror's head names the map from before the newest release."""
    attacker.present.write_files(attacker.present.head(map=attacker.past.head().map))
    attacker.serve(attacker.present)


def old_node(attacker: Attacker) -> None:
    """The map's node from before the newest release, under the name of the present one."""
    attacker.replace(attacker.map_path(), attacker.past.files[node_path(attacker.past.head().map)])


def old_index(attacker: Attacker) -> None:
    """The index file from before the newest release."""
    path = attacker.index_path(str(DEPLOY))
    attacker.replace(path, attacker.past.index_files()[str(DEPLOY)])


def index_of_the_same_size(attacker: Attacker) -> None:
    path = attacker.index_path(str(DEPLOY))
    attacker.replace(path, attacker.server.files[path].replace(b"version 1.1.0", b"version 1.1.1"))


def raw_map(change: Callable[[bytes], bytes]) -> Callable[[Attacker], None]:
    """The registry signs a map in which ``change`` made the bytes of one node."""

    def act(attacker: Attacker) -> None:
        registry = attacker.present.fork()
        registry.publish_map([change(registry.map_of().files[registry.map_of().root])])
        attacker.serve(registry)

    return act


def large_map(change: Callable[[Inner, int, Mapping[str, Node]], Sequence[Node]]) -> Callable[[Attacker], None]:
    """Add some hundred names to the registry and sign nodes made by ``change``, the root first. ``change`` gets the
    map's root, the row below which the item is, and all nodes.
    """

    def act(attacker: Attacker) -> None:
        registry = attacker.present.fork()
        entries = [*registry.map_entries(), *(MapEntry(f"tool:acme/fill/n{n}", "0" * 64, 1) for n in range(400))]
        done = update(EMPTY_MAP_SHA256, entries, {EMPTY_MAP_SHA256: decode_node(EMPTY_MAP)})
        root = done.nodes[done.root]
        assert isinstance(root, Inner)
        at = child_at(root, hash_of(str(DEPLOY))[0])
        assert at is not None
        nodes = [encode_node(node) for node in change(root, at, done.nodes)]
        registry.publish_map([*nodes, *done.files.values()])
        attacker.serve(registry)

    return act


def with_row(root: Inner, at: int, **changes: int | str) -> Inner:
    rows = list(root.children)
    rows[at] = replace(rows[at], **changes)
    return Inner.of(b"", rows)


def leaf_below(root: Inner, at: int, nodes: Mapping[str, Node]) -> Leaf:
    found = nodes[root.children[at].sha256]
    assert isinstance(found, Leaf)
    return found


def renamed(node: Node) -> str:
    return hashlib.sha256(encode_node(node)).hexdigest()


def leaf_of_others(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """Put another leaf in the place of the item's, so that the item seems not to exist."""
    other = root.children[at - 1]
    return [with_row(root, at, sha256=other.sha256, names=other.names)]


def item_left_out(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """Remove the item from its leaf and leave the row unchanged."""
    leaf = leaf_below(root, at, nodes)
    shorter = replace(leaf, entries={name: entry for name, entry in leaf.entries.items() if name != str(DEPLOY)})
    return [with_row(root, at, sha256=renamed(shorter)), shorter]


def counted_up(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """Count one name too many in the row."""
    return [with_row(root, at, names=root.children[at].names + 1)]


def two_leaves(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """Two rows for the item's range: one leaf with the item, one without."""
    leaf = leaf_below(root, at, nodes)
    shorter = replace(leaf, entries={name: entry for name, entry in leaf.entries.items() if name != str(DEPLOY)})
    row = replace(root.children[at], sha256=renamed(shorter), names=shorter.names)
    return [Inner.of(b"", [*root.children[:at], row, *root.children[at:]]), shorter]


def stray_name(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """Replace a name in the item's leaf with one whose hash belongs elsewhere."""
    leaf, other = leaf_below(root, at, nodes), leaf_below(root, at - 1, nodes)
    stray = next(iter(other.entries.values()))
    dropped = next(name for name in leaf.entries if name.startswith("tool:acme/fill/"))
    entries = {name: entry for name, entry in leaf.entries.items() if name != dropped}
    wrong = replace(leaf, entries={**entries, stray.name: stray})
    return [with_row(root, at, sha256=renamed(wrong)), wrong]


def part_for_whole(root: Inner, at: int, nodes: Mapping[str, Node]) -> list[Node]:
    """The snapshot names a leaf of the map as the root."""
    return [leaf_below(root, at - 1, nodes)]


def tile_of(attacker: Attacker, level: int = 0) -> Tile:
    return next(tile for tile in tiles.all_tiles(attacker.present.size) if tile.level == level)


def altered_tile(attacker: Attacker) -> None:
    path = tile_of(attacker).path
    data = bytearray(attacker.server.files[path])
    data[40] ^= 1
    attacker.replace(path, bytes(data))


def old_tile(attacker: Attacker) -> None:
    """Serve the honest partial tile of the past, padded, in place of the present's."""
    tile = tile_of(attacker)
    past = next(found for found in tiles.all_tiles(attacker.past.size) if found.level == 0)
    data = attacker.past.files[past.path]
    attacker.replace(tile.path, data + bytes(tile.bytes - len(data)))


def full_tile_for_a_partial_one(attacker: Attacker) -> None:
    """Remove the partial tile, and serve a full tile of another tree."""
    tile = tile_of(attacker)
    attacker.replace(tile.path, None)
    attacker.replace(tile.full.path, attacker.server.files.get(tile.full.path, b"") + b"\x01" * tile.full.bytes)


def short_full_tile(attacker: Attacker) -> None:
    """Serve a full tile in place of the partial one that matches neither."""
    tile = tile_of(attacker)
    attacker.replace(tile.path, None)
    attacker.replace(tile.full.path, b"\x01" * (tile.full.bytes - 32))


def long(registry: SimulatedRegistry) -> None:
    """More than a full tile of entries, so that tiles have parents."""
    progress(registry)
    for number in range(260):
        registry.release(Identity("tool", f"zeta/pad/n{number}"), content=b"n\n")


def tile_of_another_level(attacker: Attacker) -> None:
    """Serve a tile of level 0 in place of one of level 1."""
    upper, lower = tile_of(attacker, 1), tile_of(attacker, 0)
    attacker.replace(upper.path, attacker.server.files[lower.path][: upper.bytes])


def altered_full_tile(attacker: Attacker) -> None:
    """Change one hash of a full tile that does not even contain the installed release."""
    tile = tile_of(attacker, 0)
    assert tile == tile.full
    data = bytearray(attacker.server.files[tile.path])
    data[-1] ^= 1
    attacker.replace(tile.path, bytes(data))


SNAPSHOTS = (
    Attack(name="a snapshot of another name map than the head's", power="log key", code="snapshot-map", act=other_map),
    Attack(name="a head with the name map of before", power="mirror", code="snapshot-map", act=map_of_before),
    Attack(name="a tail leaf of another kind", power="log key", code="snapshot-kind", act=tail_of_another_kind),
    Attack(
        name="a package that is missing though it is locked",
        power="log key",
        code="release-vanished",
        act=cheat_index(without_the_item),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a version that is missing though it is locked",
        power="log key",
        code="release-vanished",
        act=cheat_index(without_the_locked_version),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a takedown that was seen and is left out",
        power="log key",
        code="takedown-vanished",
        act=a_takedown_left_out,
        command=("add", f"{DEPLOY}@=1.1.0", "--yes"),
    ),
    Attack(
        name="a namespace that is missing though it was seen",
        power="log key",
        code="namespace-vanished",
        act=cheat_index(without_the_namespace),
        start="installed",
        command=UPDATE,
    ),
    Attack(
        name="an index line without a leaf",
        power="log key",
        code="leaf-mismatch",
        act=cheat_index(invented),
        cause="proof-root",
    ),
    Attack(
        name="an index line at another leaf's position",
        power="log key",
        code="leaf-mismatch",
        act=cheat_index(another_position),
    ),
    Attack(
        name="an index line beyond the log", power="log key", code="index-position", act=cheat_index(beyond_the_log)
    ),
    Attack(
        name="another item's release in an index",
        power="log key",
        code="index-foreign",
        act=cheat_index(another_items_release),
    ),
    Attack(
        name="another registry's release in an index",
        power="log key",
        code="index-foreign",
        act=cheat_index(another_origins_release),
    ),
    Attack(
        name="an advisory in the name of the registry's owners",
        power="log key",
        code="advisory-signer",
        act=lambda attacker: attacker.cheat(advisory_by_the_log),
    ),
    Attack(
        name="a yank of what was never released",
        power="namespace key",
        code="release-unknown",
        act=lambda attacker: attacker.cheat(yank_of_nothing),
    ),
    Attack(
        name="other bytes under a version once used",
        power="log and namespace key",
        code="release-repeated",
        act=repeated_release,
    ),
    Attack(
        name="a takedown that too few owners signed",
        power="log key",
        code="takedown-signer",
        act=lambda attacker: attacker.cheat(taken_down(signers=1)),
    ),
    Attack(
        name="a takedown of a file that is not the release's",
        power="log key",
        code="takedown-foreign",
        act=lambda attacker: attacker.cheat(taken_down("0" * 64)),
    ),
    Attack(
        name="a locked release that was taken down, from a mirror that still has its bytes",
        power="mirror",
        code="release-taken-down",
        act=lambda attacker: attacker.cheat(taken_down(line=0)),
        start="checkout",
        command=INSTALL,
    ),
)

FILES = (
    Attack(
        name="no node of the name map",
        power="mirror",
        code="map-missing",
        act=lambda attacker: attacker.replace(attacker.map_path(), None),
    ),
    Attack(name="a node of before", power="mirror", code="map-hash", act=old_node),
    Attack(
        name="a node that is far too long",
        power="mirror",
        code="fetch-too-large",
        act=lambda attacker: attacker.fault(attacker.map_path(), announces(50_000_000)),
    ),
    Attack(
        name="no index file",
        power="mirror",
        code="index-missing",
        act=lambda attacker: attacker.replace(attacker.index_path(str(DEPLOY)), None),
    ),
    Attack(name="an index file of before", power="mirror", code="index-size", act=old_index),
    Attack(name="an index file of the same size", power="mirror", code="index-hash", act=index_of_the_same_size),
    Attack(
        name="an index file that is far too long",
        power="mirror",
        code="fetch-too-large",
        act=lambda attacker: attacker.fault(attacker.index_path(str(DEPLOY)), announces(50_000_000)),
    ),
    Attack(
        name="a node with a path for a name",
        power="log key",
        code="map-malformed",
        act=raw_map(lambda data: data.replace(b"directive:acme/ops/deploy", b"directive:acme/../deploy")),
    ),
    Attack(
        name="a node that is not sorted",
        power="log key",
        code="map-malformed",
        act=raw_map(lambda data: data + data[-200:]),
    ),
    Attack(
        name="another leaf in the place of the item's", power="log key", code="map-place", act=large_map(leaf_of_others)
    ),
    Attack(name="a leaf that leaves the item out", power="log key", code="map-place", act=large_map(item_left_out)),
    Attack(name="a row that counts too many names", power="log key", code="map-place", act=large_map(counted_up)),
    Attack(name="two leaves for one range", power="log key", code="map-malformed", act=large_map(two_leaves)),
    Attack(
        name="a name in a leaf where its hash does not lead",
        power="log key",
        code="map-malformed",
        act=large_map(stray_name),
    ),
    Attack(
        name="a part of the name map for the whole", power="log key", code="map-place", act=large_map(part_for_whole)
    ),
)

NOTES = (
    Attack(
        name="a release whose signature is not base64",
        power="log key",
        code="index-statement",
        act=index_note(lambda note: note[:-4] + "!!=\n"),
        cause="note-base64",
    ),
    Attack(
        name="a release with a line that nobody knows",
        power="log and namespace key",
        code="index-statement",
        act=logged_text(lambda text: text + "extra 1\n"),
        cause="statement-malformed",
    ),
    Attack(
        name="a release with a line that stands twice",
        power="log and namespace key",
        code="index-statement",
        act=logged_text(lambda text: text.replace("version 1.2.0\n", "version 1.2.0\nversion 1.2.0\n")),
        cause="statement-malformed",
    ),
    Attack(
        name="a release of a type that nobody knows",
        power="log and namespace key",
        code="index-statement",
        act=logged_text(lambda text: text.replace("rye.release/v1", "rye.release/v2")),
        cause="statement-kind",
    ),
    Attack(
        name="a release whose description steers the terminal",
        power="log and namespace key",
        code="index-statement",
        act=index_note(lambda note: note.replace("description ", "description \u009b2J")),
        cause="statement-malformed",
    ),
    Attack(
        name="a release whose description hides text",
        power="log and namespace key",
        code="index-statement",
        act=logged_text(lambda text: text.replace("description ", "description \u202e\U000e0041")),
        cause="statement-malformed",
    ),
    Attack(
        name="control characters in an index file",
        power="log key",
        code="index-malformed",
        act=index_note(lambda note: note.replace("description ", "description \x1b[2J")),
    ),
)

TILES = (
    Attack(name="an altered tile", power="mirror", code="tile-root", act=altered_tile),
    Attack(name="a tile of before, filled up", power="mirror", code="tile-root", act=old_tile),
    Attack(
        name="a full tile for a partial one, of another tree",
        power="mirror",
        code="tile-root",
        act=full_tile_for_a_partial_one,
    ),
    Attack(name="a full tile for a partial one, too short", power="mirror", code="tile-size", act=short_full_tile),
    Attack(
        name="no tile at all",
        power="mirror",
        code="tile-missing",
        act=lambda attacker: attacker.replace(tile_of(attacker).path, None),
    ),
    Attack(name="a tile of another level", power="mirror", code="tile-root", act=tile_of_another_level, build=long),
    Attack(name="an altered full tile", power="mirror", code="tile-parent", act=altered_full_tile, build=long),
)


@pytest.mark.parametrize("attack", rest_thorough(4, SNAPSHOTS, of_the_tables), ids=lambda attack: attack.name)
def test_the_index_is_what_the_log_says(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", rest_thorough(8, [*FILES, *TILES], of_the_tables), ids=lambda attack: attack.name)
def test_every_file_is_the_one_that_the_head_fixes(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", NOTES, ids=lambda attack: attack.name)
def test_statements_are_read_strictly(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


def test_installing_again_asks_the_registry_nothing(runner: AttackRunner) -> None:
    """What is installed and unchanged needs no registry, so no registry can harm it."""
    user = runner.user("installed")
    runner.server.serve({})
    assert user.run(*INSTALL, "--json").code == 0
    assert runner.server.seen == []
