"""The client with a whole registry in memory and on disk: waves, caching, offline, first contact, remembered state."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.client import RegistryClient
from rye.registry.first_contact import AcceptRoot, PinProposal
from rye.registry.protocol import wire
from rye.registry.protocol.doors import HeldRelease, HeldReleases, door_address, held_path
from rye.registry.protocol.name_map import EMPTY_MAP
from rye.registry.protocol.name_map import nodes as map_nodes
from rye.registry.protocol.tiles import Tile
from rye.registry.store.cache import Cache
from rye.registry.store.pins import read_held
from rye.registry.store.state import StateStore
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key

pytestmark = pytest.mark.processes

TOOL, SKILL = Identity("tool", "acme/text/count"), Identity("skill", "acme/pdf")
ADDRESS = "https://registry.example"


class ReaderState:
    """One registry, one user."""

    def __init__(self, folder: Path):
        self.registry = SimulatedRegistry()
        self.registry.claim("acme")
        self.registry.release(TOOL, content=b"count\n")
        self.registry.release(SKILL, content=b"skill\n", attached={"a/b.txt": b"attached", "empty": b""})
        self.registry.publish()
        self.folder = folder
        self.store = StateStore(folder / "state")
        self.cache = Cache(folder / "cache")
        self.transport = MemoryTransport(self.registry.files)

    def client(
        self,
        accept_root: AcceptRoot = None,
        *,
        offline: bool = False,
        address: str = ADDRESS,
        limits: RegistryLimits = REGISTRY,
    ) -> RegistryClient:
        client = RegistryClient(
            address,
            self.transport,
            self.store,
            self.cache,
            limits=limits,
            offline=offline,
            now=lambda: self.registry.now,
        )
        client.refresh(accept_root)
        return client

    def pin(self) -> None:
        with self.client(self.registry.fingerprint):
            self.transport.requested.clear()

    def waves(self) -> list[list[str]]:
        """The files fetched since the last call, wave by wave, by kind."""
        found = [sorted(path.split("/")[0] for path in wave) for wave in self.transport.requested]
        self.transport.requested.clear()
        return found


@pytest.fixture
def reader(tmp_path: Path) -> ReaderState:
    return ReaderState(tmp_path)


def refusal(action: Callable[..., object], *arguments: object) -> RyeError:
    with pytest.raises(RyeError) as raised:
        action(*arguments)
    return raised.value


# first contact


def test_a_registry_that_nobody_pinned_is_proposed_and_not_trusted(reader: ReaderState) -> None:
    error = refusal(reader.client)
    assert error.code == "registry-unpinned"
    assert error.details["fingerprint"] == reader.registry.fingerprint
    asked: list[PinProposal] = []

    def decline(proposal: PinProposal) -> bool:
        asked.append(proposal)
        return False

    assert refusal(reader.client, decline).code == "registry-unpinned"
    assert (asked[0].origin, asked[0].fingerprint, asked[0].threshold) == (
        "registry.example",
        reader.registry.fingerprint,
        2,
    )
    assert reader.store.load("registry.example") is None


def test_a_registry_is_pinned_by_fingerprint_or_by_the_user(reader: ReaderState) -> None:
    assert refusal(reader.client, "0" * 64).code == "root-fingerprint"
    with reader.client(lambda proposal: proposal.fingerprint == reader.registry.fingerprint):
        pass
    state = reader.store.load("registry.example")
    assert state is not None
    assert state.fingerprint == reader.registry.fingerprint
    with reader.client():
        pass
    assert refusal(reader.client, "0" * 64).code == "root-fingerprint"


def test_an_address_without_a_registry_is_said_to_have_none(reader: ReaderState) -> None:
    reader.transport = MemoryTransport({})
    error = refusal(reader.client, reader.registry.fingerprint)
    assert error.code == "fetch-not-found"
    assert error.message == f"There is no registry at {ADDRESS}: it has no file root/1."
    assert "Check the address" in (error.hint or "")


def test_another_registry_at_a_pinned_address_is_refused(reader: ReaderState) -> None:
    reader.pin()
    other = SimulatedRegistry(origin="other.example", owners=[key("x"), key("y")])
    reader.transport.files = other.files
    assert refusal(reader.client).code == "checkpoint-origin"
    assert refusal(reader.client, other.fingerprint).code == "root-fingerprint"
    impostor = SimulatedRegistry(owners=[key("x"), key("y")])
    reader.transport.files = impostor.files
    assert refusal(reader.client, impostor.fingerprint).code == "root-fingerprint"
    assert refusal(lambda: reader.client(address="https://mirror.example")).code == "root-fingerprint"


def test_a_mirror_at_another_address_is_the_same_registry(reader: ReaderState) -> None:
    reader.pin()
    with reader.client(address="https://mirror.example") as client:
        assert client.origin == "registry.example"
    assert reader.store.origin_at("https://mirror.example") == "registry.example"


# waves


def test_names_blobs_and_proofs_come_in_one_wave_each(reader: ReaderState) -> None:
    client = reader.client(reader.registry.fingerprint)
    assert reader.waves() == [["config.json", "head", "root", "upstreams.json"]]
    records = client.releases([TOOL, SKILL])
    assert reader.waves() == [["map"], ["index"] * 3]
    items = client.fetch_items([records[TOOL][0], records[SKILL][0]])
    assert reader.waves() == [["blobs"] * 4]
    assert [item.file for item in items] == [b"count\n", b"skill\n"]
    assert items[1].attached == {"a/b.txt": b"attached", "empty": b""}
    proofs = client.prove([records[TOOL][0], records[SKILL][0]])
    assert reader.waves() == [["tile"]]
    assert set(proofs.paths) == {2, 3, 4}
    client.commit()
    client = reader.client()
    client.fetch_items(list(client.releases([TOOL])[TOOL]))
    client.prove(client.releases([TOOL])[TOOL])
    assert reader.waves() == [["head"]]


def test_a_map_of_several_levels_takes_a_wave_for_each_and_only_what_changed_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_nodes, "LEAF_NAMES", 2)
    reader = ReaderState(tmp_path)
    items = [Identity("tool", f"acme/many/n{number}") for number in range(600)]
    reader.registry.release(items[0])
    indexes = {**reader.registry.index_files(), **{str(item): b"x" for item in items[1:]}}
    reader.registry.publish_index(indexes)
    client = reader.client(reader.registry.fingerprint)
    reader.waves()
    assert set(client.kinds_of([item.id for item in items]).values()) == {("tool",)}
    waves = reader.waves()
    assert [set(wave) for wave in waves] == [{"map"}] * 3
    assert len(waves[0]) == 1
    client.commit()

    client = reader.client()
    assert len(client.kinds_of([item.id for item in items])) == 600
    assert reader.waves() == [["head"]]  # the map is unchanged: none of it is fetched

    position = reader.registry.release(items[0], "1.0.1", b"more\n")
    indexes[str(items[0])] += wire.encode_index([wire.IndexLine(position, reader.registry.leaves[position])])
    reader.registry.publish_index(indexes)
    client = reader.client()
    assert len(client.kinds_of([item.id for item in items])) == 600
    fetched = [wave for wave in reader.waves() if "map" in wave]
    assert fetched == [["map"]] * len(fetched)  # one path out of about a hundred nodes
    assert 2 <= len(fetched) <= 3
    assert len(client.releases([items[0]])[items[0]]) == 2


def test_a_registry_with_too_many_names_is_not_listed(reader: ReaderState) -> None:
    reader.pin()
    with reader.client() as client:
        assert client.names() == (SKILL, TOOL)
    with reader.client(limits=replace(REGISTRY, listed_names=2)) as client:
        assert client.names() is None
    with reader.client(limits=replace(REGISTRY, suggested_names=2)) as client:
        assert (client.names(), client.names(suggests=True)) == ((SKILL, TOOL), None), "a hint is worth less"


def test_a_name_that_is_not_there_does_not_exist(reader: ReaderState) -> None:
    client = reader.client(reader.registry.fingerprint)
    absent = Identity("tool", "acme/text/none")
    assert client.releases([absent, Identity("role", "nobody/none")]) == {
        absent: (),
        Identity("role", "nobody/none"): (),
    }
    assert client.histories([absent]) == {}
    assert client.keysets(["nobody", "acme"])["nobody"].links == ()


def test_all_kinds_of_an_id_are_found_in_the_same_waves(reader: ReaderState) -> None:
    reader.registry.release(Identity("directive", TOOL.id))
    reader.registry.publish()
    client = reader.client(reader.registry.fingerprint)
    reader.waves()
    assert client.kinds_of([TOOL.id, "acme/none"]) == {TOOL.id: ("directive", "tool"), "acme/none": ()}
    assert {kind for wave in reader.waves() for kind in wave} <= {"map"}


def test_new_roots_are_followed_in_one_wave(reader: ReaderState) -> None:
    reader.pin()
    for number in range(5):
        reader.registry.logs = [key(f"log {number + 2}")]
        reader.registry.add_root()
    reader.registry.publish()
    with reader.client() as client:
        assert client.state.root.number == 6
    assert [wave for wave in reader.waves() if "root" in wave] == [["root"] * 5]


def test_a_partial_tile_that_was_replaced_by_the_full_one_is_cut_from_it(reader: ReaderState) -> None:
    client = reader.client(reader.registry.fingerprint)
    records = client.releases([TOOL])[TOOL]
    partial = Tile(0, 0, reader.registry.size)
    data = reader.registry.files.pop(partial.path)
    reader.registry.files[partial.full.path] = data + bytes(8192 - len(data))
    assert client.prove(records).paths


# remembered state


def test_nothing_is_remembered_of_a_run_that_fails(reader: ReaderState) -> None:
    reader.pin()
    path = reader.store.path("registry.example")
    before = path.read_bytes()
    reader.registry.publish()
    reader.registry.files.update({name: b"x" for name in reader.registry.files if name.startswith("index/")})
    with pytest.raises(RyeError) as raised, reader.client() as client:
        client.releases([TOOL])
    assert raised.value.code == "index-size"
    assert path.read_bytes() == before


def test_a_rollback_is_noticed_in_the_next_run(reader: ReaderState) -> None:
    older = reader.registry.fork()
    reader.registry.publish()
    reader.pin()
    reader.transport.files = older.files
    assert refusal(reader.client).code == "head-rollback"


def test_two_programs_that_ran_at_once_keep_the_larger_head(reader: ReaderState) -> None:
    reader.pin()
    first = reader.client()
    reader.registry.release(TOOL, "1.1.0")
    reader.registry.publish()
    second = reader.client()
    second.releases([TOOL])
    second.commit()
    first.commit()
    state = reader.store.load("registry.example")
    assert state is not None
    assert state.checkpoint == reader.registry.checkpoint()
    assert state.keysets["acme"].number == 1


def test_two_programs_that_were_shown_different_histories_notice(reader: ReaderState) -> None:
    reader.pin()
    other = reader.registry.fork()
    reader.registry.release(TOOL, "1.1.0")
    reader.registry.publish()
    first = reader.client()
    reader.transport.files = other.files
    other.deprecate(TOOL)
    other.publish()
    second = reader.client()
    second.commit()
    assert refusal(first.commit).code == "state-conflict"
    other.publish()
    third = reader.client()
    assert third.head.checkpoint.size > first.head.checkpoint.size
    third.commit()
    assert refusal(first.commit).code == "head-inconsistent"


# offline and cache


def test_offline_everything_comes_from_the_cache(reader: ReaderState) -> None:
    with reader.client(reader.registry.fingerprint) as client:
        records = client.releases([TOOL])[TOOL]
        client.fetch_items(records)
        client.prove(records)
    reader.waves()
    client = reader.client(offline=True)
    records = client.releases([TOOL])[TOOL]
    assert client.fetch_items(records)[0].file == b"count\n"
    assert client.prove(records).paths
    error = refusal(client.releases, [SKILL])
    assert error.code == "fetch-offline"
    assert reader.waves() == []


def test_offline_without_a_cache_says_so(reader: ReaderState) -> None:
    assert refusal(lambda: reader.client(offline=True)).code == "fetch-offline"


def test_a_head_gets_too_old_offline_too(reader: ReaderState) -> None:
    reader.pin()
    reader.registry.pass_time(days=4)
    assert len(reader.client(offline=True).warnings) == 1
    reader.registry.pass_time(days=4)
    assert refusal(lambda: reader.client(offline=True)).code == "head-frozen"


def test_damaged_cached_tiles_and_objects_are_fetched_anew(reader: ReaderState) -> None:
    with reader.client(reader.registry.fingerprint) as client:
        records = client.releases([TOOL])[TOOL]
        client.fetch_items(records)
        client.prove(records)
    for path in (reader.folder / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0" * path.stat().st_size)
    client = reader.client()
    records = client.releases([TOOL])[TOOL]
    assert client.fetch_items(records)[0].file == b"count\n"
    assert client.prove(records).paths


# files changed by a mirror


@pytest.mark.parametrize(
    ("victim", "change", "code"),
    [
        ("head", None, "fetch-not-found"),
        ("head", b"{}", "head-malformed"),
        ("head", b" " * 140_000, "fetch-too-large"),
        ("map", None, "map-missing"),
        ("map", b"", "map-hash"),
        ("map", EMPTY_MAP, "map-hash"),
        ("map", b" " * 200_000, "fetch-too-large"),
        ("index", None, "index-missing"),
        ("index", b"", "index-size"),
        ("index", b"x" * 100_000, "fetch-too-large"),
        ("tile", None, "tile-missing"),
        ("tile", b"", "tile-size"),
        ("tile", b"x" * 9_000, "tile-size"),
        ("tile", b"x" * 192, "tile-root"),
        ("blobs", None, "blob-missing"),
        ("blobs", b"", "blob-size"),
        ("blobs", b"x" * 100, "blob-size"),
        ("blobs", b"COUNT\n", "blob-hash"),
    ],
)
def test_a_changed_or_missing_file_is_named(reader: ReaderState, victim: str, change: bytes | None, code: str) -> None:
    reader.pin()
    assert reader.registry.size == 6
    for name in list(reader.registry.files):
        if name.split("/")[0] == victim:
            if change is None:
                del reader.registry.files[name]
            else:
                reader.registry.files[name] = change

    def run() -> None:
        with reader.client() as client:
            records = client.releases([TOOL])[TOOL]
            client.fetch_items(records)
            client.prove(records)

    before = reader.store.path("registry.example").read_bytes()
    assert refusal(run).code == code
    assert reader.store.path("registry.example").read_bytes() == before


def test_an_index_line_without_its_leaf_is_noticed_when_it_is_proved(reader: ReaderState) -> None:
    registry = reader.registry
    line = registry.index_lines()[str(TOOL)][0]
    invented = registry.fork()
    position = invented.release(TOOL, "6.6.6")
    lines = [line, wire.IndexLine(registry.size, invented.leaves[position])]
    registry.publish_index({**registry.index_files(), str(TOOL): wire.encode_index(lines)})
    client = reader.client(registry.fingerprint)
    records = client.releases([TOOL])[TOOL]
    assert [record.version for record in records] == ["1.0.0", "6.6.6"]
    assert client.prove(records[:1]).paths
    client.check_logged(records[:1])
    assert refusal(client.prove, records).code == "leaf-mismatch"
    assert refusal(client.check_logged, records).code == "leaf-mismatch"


def test_an_item_is_never_another_items_bytes(reader: ReaderState) -> None:
    client = reader.client(reader.registry.fingerprint)
    records = client.releases([TOOL, SKILL])
    tool, skill = records[TOOL][0].release.file, records[SKILL][0].release.file
    reader.registry.files[wire.blob_path(tool.sha256)] = reader.registry.files[wire.blob_path(skill.sha256)]
    assert refusal(client.fetch_items, records[TOOL]).code == "blob-hash"


# the outer layer: disk and network


def test_a_folder_is_read_by_the_same_code(reader: ReaderState, tmp_path: Path) -> None:
    registry = SimulatedRegistry(now=_now())
    registry.claim("acme")
    registry.release(TOOL, content=b"count\n")
    registry.publish()
    registry.write_to(tmp_path / "registry")
    with RegistryClient.open(
        (tmp_path / "registry").as_uri(), accept_root=registry.fingerprint, store=reader.store, cache=reader.cache
    ) as client:
        records = client.releases([TOOL])[TOOL]
        assert client.fetch_items(records)[0].file == b"count\n"
        assert client.prove(records).paths
        assert client.api is None


def test_nothing_of_this_imports_an_http_library() -> None:
    program = (
        "import rye.registry.client, sys; sys.exit(any(m in sys.modules for m in ('httpx', 'httpcore', 'ssl', 'nacl')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def test_a_door_is_asked_once_in_a_run_what_it_holds_back_of_an_item(reader: ReaderState) -> None:
    address = door_address("https://company.example", reader.registry.origin)
    index = hashlib.sha256(reader.registry.index_files()[str(TOOL)]).hexdigest()
    reader.registry.files[held_path(index)] = b'{"held":[{"version":"1.0.0","why":"it is blocked"}]}'
    with reader.client(reader.registry.fingerprint, address=address):
        pass
    with reader.client(address=address) as client:
        reader.waves()
        for wanted in ([TOOL], [TOOL, SKILL], [SKILL, TOOL]):
            [record] = client.histories(wanted)[TOOL].records
            assert record.held == "by policy of company.example: it is blocked"
        assert [kind for wave in reader.waves() for kind in wave if kind == "held"] == ["held"] * 2


def test_a_door_cannot_fill_the_disk_with_versions_that_do_not_exist(reader: ReaderState) -> None:
    """Each answer has up to 4 MB, and what is held back is remembered for each item."""
    origin = reader.registry.origin
    address = door_address("https://company.example", origin)
    index = hashlib.sha256(reader.registry.index_files()[str(TOOL)]).hexdigest()
    invented = [HeldRelease(f"9.9.{number}", "x" * 300) for number in range(10_000)]
    answer = HeldReleases([HeldRelease("1.0.0", "it is blocked"), *invented])
    reader.registry.files[held_path(index)] = wire.encode_json(answer)
    with reader.client(reader.registry.fingerprint, address=address) as client:
        client.histories([TOOL])
    assert read_held(reader.store.folder, origin, address) == {str(TOOL): {"1.0.0": "it is blocked"}}
