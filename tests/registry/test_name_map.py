"""The name map: one tree for each set of names, proofs of presence and absence, and one valid encoding of each node
(design/server.md 2).

Most tests run with leaves of 3 names instead of 128, so that small sets of names make deep trees.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.registry.protocol import name_map
from rye.registry.protocol.name_map import (
    EMPTY_MAP,
    EMPTY_MAP_SHA256,
    MAX_NODE_BYTES,
    Child,
    Inner,
    Leaf,
    MapEntry,
    NameMapError,
    Node,
    Place,
    changed_names,
    decode_node,
    encode_node,
    find,
    leaves,
    load,
    missing,
    open_node,
    root_place,
    update,
)
from rye.registry.protocol.name_map import nodes as form
from tests.scenes.effort import rest_thorough

VECTORS = Path(__file__).parents[1] / "vectors/name_map"
FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def entry(name: str, version: int = 0) -> MapEntry:
    return MapEntry(name, hashlib.sha256(f"{name} {version}".encode()).hexdigest(), version + 1)


def numbered(count: int, start: int = 0) -> list[MapEntry]:
    return [entry(f"tool:acme/x/n{number}") for number in range(start, start + count)]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Store:
    """Every node ever written, and how often each is read."""

    def __init__(self) -> None:
        self.files = {EMPTY_MAP_SHA256: EMPTY_MAP}
        self.rounds: list[int] = []

    def read(self, places: Sequence[Place]) -> list[bytes]:
        self.rounds.append(len(places))
        return [self.files[place.sha256] for place in places]

    def add(self, root: str, entries: Sequence[MapEntry]) -> name_map.Update:
        opened: dict[str, Node] = {}
        load(root, [one.name for one in entries], opened, self.read)
        done = update(root, entries, opened)
        self.files.update(done.files)
        return done

    def live(self, root: str) -> dict[str, bytes]:
        """The nodes reachable from a root."""
        found, waiting = {}, [root]
        while waiting:
            found[waiting[-1]] = self.files[waiting[-1]]
            node = decode_node(found[waiting.pop()])
            if isinstance(node, Inner):
                waiting += [child.sha256 for child in node.children]
        return found


def defined(entries: Sequence[MapEntry]) -> dict[str, bytes]:
    """The tree as docs/reference/name-map.md defines it, by recursion, with the root under ``""``."""
    files: dict[str, bytes] = {}

    def keep(text: str) -> str:
        files[sha256(text.encode())] = text.encode()
        return sha256(text.encode())

    def node(prefix: bytes, below: Sequence[MapEntry]) -> str:
        rows: list[str] = []
        halves = [(0, 255)]
        while halves:
            low, high = halves.pop(0)
            inside = [one for one in below if low <= hashlib.sha256(one.name.encode()).digest()[len(prefix)] <= high]
            if len(inside) > form.LEAF_NAMES and low < high:
                halves[:0] = [(low, (low + high) // 2), ((low + high) // 2 + 1, high)]
            elif len(inside) > form.LEAF_NAMES:
                rows.append(f"{low:02x}-{high:02x} {len(inside)} {node(prefix + bytes([low]), inside)}\n")
            elif inside:
                rows.append(f"{low:02x}-{high:02x} {len(inside)} {leaf(prefix, low, high, inside)}\n")
        return keep(f"rye.map/v1 inner {prefix.hex() or '-'}\n" + "".join(rows))

    def leaf(prefix: bytes, low: int, high: int, inside: Sequence[MapEntry]) -> str:
        rows = sorted(f"{one.name} {one.sha256} {one.size}\n" for one in inside)
        return keep(f"rye.map/v1 leaf {prefix.hex() or '-'} {low:02x}-{high:02x}\n" + "".join(rows))

    root = leaf(b"", 0, 255, entries) if len(entries) <= form.LEAF_NAMES else node(b"", entries)
    return {"": root.encode(), **files}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves of 3 names."""
    monkeypatch.setattr(form, "LEAF_NAMES", 3)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(NameMapError) as raised:
        call()
    return raised.value.code


names = st.integers(0, 400).map(lambda number: f"tool:acme/x/n{number}")
changes = st.lists(st.builds(entry, names, st.integers(0, 2)), max_size=60)


class TestOneTreeForOneSetOfNames:
    @FEW
    @given(changes, st.randoms(use_true_random=False))
    def test_the_order_of_insertion_does_not_matter(
        self, small: None, entries: list[MapEntry], shuffle: random.Random
    ) -> None:
        last = {one.name: one for one in entries}
        store, root = Store(), EMPTY_MAP_SHA256
        for one in entries:
            root = store.add(root, [one]).root
        shuffled = list(last.values())
        shuffle.shuffle(shuffled)
        assert Store().add(EMPTY_MAP_SHA256, shuffled).root == root
        expected = defined(shuffled)
        assert expected.pop("").decode() == root
        assert store.live(root) == expected

    @FEW
    @given(changes, changes)
    def test_a_batch_is_its_changes_one_by_one(
        self, small: None, before: list[MapEntry], batch: list[MapEntry]
    ) -> None:
        store = Store()
        root = one_by_one = store.add(EMPTY_MAP_SHA256, before).root
        for one in batch:
            one_by_one = store.add(one_by_one, [one]).root
        done = store.add(root, batch)
        assert done.root == one_by_one
        old, new = store.live(root), store.live(done.root)
        assert done.files == {name: data for name, data in new.items() if name not in old}
        assert done.dropped == old.keys() - new.keys()
        assert done.nodes == {name: decode_node(data) for name, data in done.files.items()}

    @pytest.mark.parametrize("count", [0, 1, 128, 129, 700])
    def test_leaves_of_128_names_come_about_as_defined(self, count: int) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(count)).root
        expected = defined(numbered(count))
        assert root == expected.pop("").decode()
        assert store.live(root) == expected

    def test_names_that_share_the_first_byte_go_one_level_down(self) -> None:
        shared = [one for one in numbered(60_000) if hashlib.sha256(one.name.encode()).digest()[0] == 0xA7]
        assert len(shared) > 128
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, shared).root
        node = decode_node(store.files[root])
        assert isinstance(node, Inner)
        assert [(child.low, child.high, child.names) for child in node.children] == [(0xA7, 0xA7, len(shared))]
        below = decode_node(store.files[node.children[0].sha256])
        assert isinstance(below, Inner)
        assert below.prefix == b"\xa7"

    def test_a_change_that_changes_nothing_writes_nothing(self) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(300)).root
        done = store.add(root, numbered(300)[7:9])
        assert (done.root, done.files, done.dropped) == (root, {}, frozenset())
        assert update(root, [], {}).root == root

    def test_one_name_rewrites_its_path_and_nothing_else(self) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(3000)).root
        done = store.add(root, [entry("tool:acme/x/n5", 1)])
        assert len(done.files) == len(done.dropped) == 2
        assert sum(map(len, done.files.values())) < 30_000


class TestLookingUp:
    @FEW
    @given(changes, st.lists(names, max_size=20))
    def test_every_name_is_found_or_proved_absent(self, small: None, entries: list[MapEntry], asked: list[str]) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, entries).root
        opened: dict[str, Node] = {}
        load(root, asked, opened, store.read)
        there = {one.name: one for one in entries}
        for name in asked:
            assert find(root, name, opened) == there.get(name)
        assert missing(root, asked, opened) == []
        on_paths = {place.sha256 for name in asked for place in path(store, root, name)}
        assert opened.keys() == on_paths

    @pytest.mark.thorough
    def test_a_batch_of_names_takes_one_round_for_each_level(self, small: None) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(2000)).root
        deepest = max(len(path(store, root, one.name)) for one in numbered(2000))
        store.rounds.clear()
        load(root, [one.name for one in numbered(500)], {}, store.read)
        assert len(store.rounds) == deepest
        assert store.rounds[0] == 1

    def test_what_was_opened_is_not_read_again(self) -> None:
        store, opened = Store(), dict[str, Node]()
        root = store.add(EMPTY_MAP_SHA256, numbered(300)).root
        load(root, ["tool:acme/x/n1"], opened, store.read)
        store.rounds.clear()
        load(root, ["tool:acme/x/n1"], opened, store.read)
        assert store.rounds == []

    def test_a_name_without_its_nodes_is_not_absent_but_unknown(self) -> None:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(300)).root
        assert find(root, "tool:acme/x/n1", {}) == root_place(root)
        assert missing(root, ["tool:acme/x/n1", "tool:acme/x/n2"], {}) == [root_place(root)]

    def test_all_leaves_are_read_with_few_nodes_at_once(self, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rye.registry.protocol.name_map.nodes._NODES_AT_ONCE", 4)
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(500)).root
        store.rounds.clear()
        found = list(leaves(root, store.read))
        assert {name for leaf in found for name in leaf.entries} == {one.name for one in numbered(500)}
        assert max(store.rounds) <= 4
        assert len(found) == len(store.live(root)) - sum(
            isinstance(decode_node(data), Inner) for data in store.live(root).values()
        )


class TestWhatChanged:
    @FEW
    @given(changes, changes)
    def test_the_changed_names_of_two_maps(self, small: None, before: list[MapEntry], batch: list[MapEntry]) -> None:
        store = Store()
        old = store.add(EMPTY_MAP_SHA256, before).root
        new = store.add(old, batch).root
        had = {one.name: one for one in before}
        has = had | {one.name: one for one in batch}
        expected = {name: one for name, one in has.items() if had.get(name) != one}
        assert changed_names(old, new, store.read) == expected

    def test_what_both_maps_have_is_not_read(self) -> None:
        store = Store()
        old = store.add(EMPTY_MAP_SHA256, numbered(20_000)).root
        new = store.add(old, [entry("tool:acme/x/n5", 1), entry("tool:acme/x/new")]).root
        store.rounds.clear()
        found = changed_names(old, new, store.read)
        assert found.keys() == {"tool:acme/x/n5", "tool:acme/x/new"}
        assert store.rounds == [2, 4]
        store.rounds.clear()
        assert changed_names(new, new, store.read) == {}
        assert store.rounds == []

    def test_a_map_that_lost_a_name_is_an_error(self) -> None:
        store = Store()
        more = store.add(EMPTY_MAP_SHA256, numbered(3)).root
        fewer = store.add(EMPTY_MAP_SHA256, numbered(2)).root
        with pytest.raises(ValueError, match="lacks tool:acme/x/n2"):
            changed_names(more, fewer, store.read)


def path(store: Store, root: str, name: str) -> list[Place]:
    """The prefixes from the root to the place where a name is or would be."""
    opened: dict[str, Node] = {}
    found: list[Place] = []
    while isinstance(place := find(root, name, opened), Place):
        found.append(place)
        opened[place.sha256] = open_node(place, store.files[place.sha256])
    return found


def leaf_and_inner() -> tuple[bytes, bytes]:
    store = Store()
    root = store.add(EMPTY_MAP_SHA256, numbered(7)).root
    node = decode_node(store.files[root])
    assert isinstance(node, Inner)
    return store.files[node.children[0].sha256], store.files[root]


def decoded(data: bytes) -> Node | None:
    """A node, or None if it is refused as malformed."""
    try:
        return decode_node(data)
    except NameMapError as error:
        if error.code != "map-malformed":
            raise
        return None


class TestOneSpelling:
    @pytest.mark.parametrize("which", ["leaf", "inner"])
    def test_every_changed_byte_is_refused_or_makes_another_node(self, small: None, which: str) -> None:
        data = leaf_and_inner()[which == "inner"]
        accepted = 0
        for at in range(len(data)):
            for value in {data[at] ^ bit for bit in (1, 2, 4, 8, 16, 32, 64, 128)} | {0x0A, 0x0D, 0x20, 0x30, 0x2D}:
                changed = data[:at] + bytes([value]) + data[at + 1 :]
                node = decoded(changed)
                if node is not None:
                    assert encode_node(node) == changed
                    accepted += changed != data
        assert accepted  # hashes can have any value; nothing else can

    @given(st.data())
    def test_what_is_cut_repeated_or_added_is_refused_or_has_one_spelling(self, data: st.DataObject) -> None:
        node = EMPTY_MAP + b"".join(f"{one.name} {one.sha256} {one.size}\n".encode() for one in numbered(3))
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(node))] * 2)))
        changed = node[:first] + data.draw(st.binary(max_size=6)) + node[last:]
        found = decoded(changed)
        assert found is None or encode_node(found) == changed

    @pytest.mark.parametrize(
        "case", json.loads((VECTORS / "refused.json").read_text("ascii")), ids=lambda case: case["why"]
    )
    def test_a_node_of_another_form_is_refused(self, case: Mapping[str, str]) -> None:
        assert refused(lambda: decode_node(case["node"].encode())) == "map-malformed"

    def test_too_large_not_ascii_and_binary_nodes_are_refused(self) -> None:
        for data in (b"", b"\n", b"\x00" * 40, EMPTY_MAP + "tool:acme/ü\n".encode(), EMPTY_MAP + b"x" * MAX_NODE_BYTES):
            assert refused(lambda data=data: decode_node(data)) == "map-malformed"  # type: ignore[misc]

    def test_the_largest_leaf_is_accepted(self) -> None:
        segments = "/".join(["s" * 64] * 15)
        entries = {
            (name := f"directive:{segments}/{number:0>64}"): MapEntry(name, "f" * 64, 2**53 - 1)
            for number in range(128)
        }
        data = encode_node(Leaf(b"", 0, 255, entries))
        assert len(data) <= MAX_NODE_BYTES < len(data) + 20_000
        assert decode_node(data) == Leaf(b"", 0, 255, entries)


class TestLies:
    """Trees that a registry could sign, or a mirror serve, to show two readers different things."""

    def scene(self) -> tuple[Store, str, Inner]:
        store = Store()
        root = store.add(EMPTY_MAP_SHA256, numbered(40)).root
        node = decode_node(store.files[root])
        assert isinstance(node, Inner)
        return store, root, node

    def signed(self, store: Store, node: Inner, at: int, **lie: int | str) -> tuple[str, str]:
        """A root with one false row, and a name below that row."""
        rows = list(node.children)
        rows[at] = replace(rows[at], **lie)
        data = encode_node(Inner.of(b"", rows))
        store.files[sha256(data)] = data
        below = next(one.name for one in numbered(40) if node.lows[at] <= form.hash_of(one.name)[0] <= rows[at].high)
        return sha256(data), below

    def lookup(self, store: Store, root: str, name: str) -> None:
        load(root, [name], {}, store.read)

    def test_other_bytes_than_the_name_says(self, small: None) -> None:
        store, root, node = self.scene()
        store.files[node.children[0].sha256] = store.files[node.children[1].sha256]
        name = next(one.name for one in numbered(40) if form.hash_of(one.name)[0] <= node.children[0].high)
        assert refused(lambda: self.lookup(store, root, name)) == "map-hash"

    def test_a_leaf_of_another_range(self, small: None) -> None:
        """Otherwise an existing name could be shown as absent."""
        store, _, node = self.scene()
        sizes = [child.names for child in node.children]
        at, other = next(
            (a, b) for a in range(len(sizes)) for b in range(len(sizes)) if a != b and sizes[a] == sizes[b]
        )
        root, name = self.signed(store, node, at, sha256=node.children[other].sha256)
        assert refused(lambda: self.lookup(store, root, name)) == "map-place"

    @pytest.mark.parametrize("more", [1, -1])
    def test_a_count_that_is_not_the_childs(self, small: None, more: int) -> None:
        store, _, node = self.scene()
        at = next(at for at, child in enumerate(node.children) if child.names == 2)
        root, name = self.signed(store, node, at, names=2 + more)
        assert refused(lambda: self.lookup(store, root, name)) in ("map-place", "map-malformed")

    def test_an_inner_node_where_a_leaf_is_due_and_a_leaf_where_an_inner_node_is_due(self, small: None) -> None:
        leaf, inner = leaf_and_inner()
        few = Place(sha256(inner), b"", 0, 127, 3)
        many = Place(sha256(leaf), b"", 0, 0, 4)
        assert refused(lambda: open_node(few, inner)) == "map-place"
        assert refused(lambda: open_node(many, leaf)) == "map-place"

    def test_a_part_of_the_map_for_the_whole(self, small: None) -> None:
        store, _, node = self.scene()
        assert refused(lambda: self.lookup(store, node.children[0].sha256, "tool:acme/x/n1")) == "map-place"

    def test_two_leaves_for_one_range(self, small: None) -> None:
        _, _, node = self.scene()
        twice = Inner.of(b"", [node.children[0], *node.children])
        assert refused(lambda: decode_node(encode_node(twice))) == "map-malformed"

    def test_a_leaf_inside_the_range_of_another(self, small: None) -> None:
        _, _, node = self.scene()
        at = next(at for at, child in enumerate(node.children) if child.low < child.high)
        child = node.children[at]
        inside = Child(child.low, child.low, 1, child.sha256)
        rows = [*node.children[: at + 1], inside, *node.children[at + 1 :]]
        assert refused(lambda: decode_node(encode_node(Inner.of(b"", rows)))) == "map-malformed"

    def test_a_name_in_the_wrong_leaf(self, small: None) -> None:
        store, _, node = self.scene()
        first, second = (decode_node(store.files[child.sha256]) for child in node.children[:2])
        assert isinstance(first, Leaf)
        assert isinstance(second, Leaf)
        stray = next(iter(second.entries.values()))
        wrong = Leaf(b"", first.low, first.high, {**dict(list(first.entries.items())[:2]), stray.name: stray})
        assert refused(lambda: decode_node(encode_node(wrong))) == "map-malformed"

    def test_a_name_left_out_changes_the_count_up_to_the_signed_root(self, small: None) -> None:
        store, _, node = self.scene()
        at = next(at for at, child in enumerate(node.children) if child.names > 1)
        leaf = decode_node(store.files[node.children[at].sha256])
        assert isinstance(leaf, Leaf)
        name, *rest = leaf.entries.values()
        shorter = encode_node(Leaf(b"", leaf.low, leaf.high, {one.name: one for one in rest}))
        store.files[sha256(shorter)] = shorter
        root, _ = self.signed(store, node, at, sha256=sha256(shorter))
        assert refused(lambda: self.lookup(store, root, name.name)) == "map-place"

    def test_a_range_that_is_split_too_far_or_too_little(self, small: None) -> None:
        for ranges in (
            [(0, 63, 2), (64, 127, 1), (128, 255, 3)],  # 00-7f has 3 names: one leaf
            [(0, 127, 4), (128, 255, 1)],  # 00-7f has 4 names: two leaves or more
            [(0, 255, 4)],
            [(0, 127, 1), (128, 255, 2)],  # 3 names: no inner node
        ):
            rows = [Child(low, high, count, "0" * 64) for low, high, count in ranges]
            assert refused(lambda rows=rows: decode_node(encode_node(Inner.of(b"", rows)))) == "map-malformed"  # type: ignore[misc]

    def test_counts_that_add_up_to_more_than_a_number_may_be(self) -> None:
        rows = [Child(value, value, 2**53 - 1, "0" * 64) for value in (0, 1)]
        assert refused(lambda: decode_node(encode_node(Inner.of(b"", rows)))) == "map-malformed"

    def test_a_chain_of_nodes_ends_where_the_hash_ends(self) -> None:
        many = Inner.of(bytes(31), [Child(0, 0, 200, "0" * 64)])
        assert refused(lambda: decode_node(encode_node(many))) == "map-malformed"
        assert refused(lambda: decode_node(b"rye.map/v1 inner " + b"00" * 32 + b"\n")) == "map-malformed"


class TestVectors:
    @pytest.mark.parametrize(
        "case",
        rest_thorough(8, json.loads((VECTORS / "trees.json").read_text("ascii"))),
        ids=lambda case: str(case["count"]),
    )
    def test_roots_of_growing_maps(self, case: Mapping[str, int | str]) -> None:
        store = Store()
        found = [entry_of_vectors(number) for number in range(int(case["count"]))]
        root = store.add(EMPTY_MAP_SHA256, found).root
        live = store.live(root)
        assert (root, len(live), sum(map(len, live.values()))) == (case["root"], case["nodes"], case["bytes"])

    @pytest.mark.parametrize(
        "case", json.loads((VECTORS / "proofs.json").read_text("ascii")), ids=lambda case: case["why"]
    )
    def test_proofs_of_presence_and_absence(self, case: Mapping[str, str | list[str] | None]) -> None:
        root, name, served = str(case["root"]), str(case["name"]), list(case["nodes"] or [])
        opened: dict[str, Node] = {}
        files = {sha256(node.encode()): node.encode() for node in served}
        load(root, [name], opened, lambda places: [files[place.sha256] for place in places])
        found = find(root, name, opened)
        assert len(opened) == len(files)
        shown = f"{found.name} {found.sha256} {found.size}" if isinstance(found, MapEntry) else None
        assert shown == case["entry"]


def entry_of_vectors(number: int) -> MapEntry:
    """The n-th name of the vectors (tests/vectors/name_map/README.md)."""
    name = f"namespace:n{number}" if number % 10 == 0 else f"tool:n{number // 10 * 10}/tools/t{number}"
    return MapEntry(name, hashlib.sha256(name.encode()).hexdigest(), number + 1)
