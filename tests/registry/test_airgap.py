"""A bundle is a registry in one file: read strictly, verified by the ordinary client, with its age shown."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import MirrorLimits
from rye.registry import airgap as bundle
from rye.registry.airgap import (
    AirgapError,
    AirgapFile,
    WantedPart,
    decode_airgap,
    encode_airgap,
    open_airgap,
    open_client,
)
from rye.registry.client import RegistryClient
from rye.registry.protocol import wire
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.seam import FetchError, Request
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key

ONE = Identity("directive", "acme/work/one")
SKILL = Identity("skill", "acme/helper")
OTHER = Identity("directive", "acme/work/unrelated")
ADDRESS = "https://registry.example"
LOCK = b"version = 1\n"
NOW = datetime.now(UTC).replace(microsecond=0)


def filled(now: datetime = NOW) -> SimulatedRegistry:
    registry = SimulatedRegistry(now=now)
    registry.claim("acme", [key("acme")])
    registry.release(ONE)
    registry.release(SKILL, attached={"scripts/run.sh": b"echo\n"})
    registry.release(OTHER, content=b"nobody asked for this\n")
    registry.publish()
    return registry


def pinned(registry: SimulatedRegistry, folder: Path) -> StateStore:
    store = StateStore(folder)
    store.save(TrustedState.pin(registry.files["root/1"], registry.fingerprint))
    return store


def written(registry: SimulatedRegistry, base: Path, name: str = "b.rye-bundle") -> Path:
    wanted = [WantedPart(ADDRESS, registry.origin, ((ONE, "1.0.0"), (SKILL, "1.0.0")))]
    store = pinned(registry, base / "writer")
    bundle.write_airgap(base / name, LOCK, wanted, lambda _: MemoryTransport(registry.files), store)
    return base / name


def opened(
    path: Path, base: Path, registry: SimulatedRegistry, *, as_of: date | None = None, now: datetime = NOW
) -> RegistryClient:
    return open_client(
        open_airgap(path),
        ADDRESS,
        StateStore(base / "state"),
        Cache(base / "cache"),
        accept_root=registry.fingerprint,
        as_of=as_of,
        now=lambda: now,
    )


class TestRoundTrip:
    def test_another_machine_verifies_everything_from_the_file_alone(self, tmp_path: Path) -> None:
        registry = filled()
        path = written(registry, tmp_path)
        registry.files.clear()
        with opened(path, tmp_path, registry) as client:
            assert client.kinds_of([ONE.id]) == {ONE.id: ("directive",)}
            records = client.releases([ONE, SKILL])
            chosen = [*records[ONE], *records[SKILL]]
            one, skill = client.fetch_items(chosen)
            proofs = client.prove(chosen)
        assert one.file == b"text\n"
        assert skill.attached == {"scripts/run.sh": b"echo\n"}
        assert set(proofs.paths) >= {record.line.log for record in chosen}
        assert StateStore(tmp_path / "state").load(registry.origin) is not None

    def test_only_what_the_lock_names_is_in_it(self, tmp_path: Path) -> None:
        registry = filled()
        data = written(registry, tmp_path).read_bytes()
        assert b"nobody asked for this" not in data
        read = open_airgap(tmp_path / "b.rye-bundle")
        assert read.lock == LOCK
        assert read.registries == ((ADDRESS, registry.origin),)

    def test_a_machine_that_accepted_a_head_of_the_future_finds_the_step_back_in_it(self, tmp_path: Path) -> None:
        registry = filled()
        registry.pass_time(hours=2)
        registry.publish()
        with RegistryClient(
            ADDRESS,
            MemoryTransport(registry.files),
            StateStore(tmp_path / "state"),
            Cache(tmp_path / "cache"),
            now=lambda: registry.now,
        ) as client:
            client.refresh(registry.fingerprint)
        registry.pass_time(hours=-2)
        registry.step_back()
        registry.publish()
        path = written(registry, tmp_path)
        with opened(path, tmp_path, registry) as client:
            assert client.head.snapshot.time == NOW

    def test_the_same_registry_makes_the_same_bytes(self, tmp_path: Path) -> None:
        registry = filled()
        first = written(registry, tmp_path / "1").read_bytes()
        assert written(registry, tmp_path / "2").read_bytes() == first

    def test_a_machine_that_saw_an_older_head_proves_that_the_bundle_s_contains_it(self, tmp_path: Path) -> None:
        registry = filled()
        older = written(registry, tmp_path, "older")
        for number in range(300):
            registry.release(OTHER, f"1.0.{number + 1}", b"x")
        registry.publish()
        with opened(older, tmp_path, registry) as client:
            assert client.head.checkpoint.size < registry.size
        with opened(written(registry, tmp_path, "newer"), tmp_path, registry) as client:
            assert client.head.checkpoint.size == registry.size

    def test_several_roots_travel_along(self, tmp_path: Path) -> None:
        registry = filled()
        registry.add_root()
        registry.publish()
        with opened(written(registry, tmp_path), tmp_path, registry) as client:
            assert client.state.root.number == 2

    def test_a_release_that_the_registry_does_not_have_makes_no_bundle(self, tmp_path: Path) -> None:
        registry = filled()
        wanted = [WantedPart(ADDRESS, registry.origin, ((ONE, "9.9.9"),))]
        store = pinned(registry, tmp_path / "writer")
        with pytest.raises(RyeError) as error:
            bundle.write_airgap(tmp_path / "b", LOCK, wanted, lambda _: MemoryTransport(registry.files), store)
        assert error.value.code == "no-such-version"
        assert not (tmp_path / "b").exists()

    def test_a_registry_that_is_not_pinned_makes_no_bundle(self, tmp_path: Path) -> None:
        registry = filled()
        wanted = [WantedPart(ADDRESS, registry.origin, ((ONE, "1.0.0"),))]
        with pytest.raises(RyeError) as error:
            bundle.write_airgap(
                tmp_path / "b", LOCK, wanted, lambda _: MemoryTransport(registry.files), StateStore(tmp_path / "empty")
            )
        assert error.value.code == "registry-unpinned"


class TestAttacks:
    def test_a_swapped_blob_is_found_by_its_hash(self, tmp_path: Path) -> None:
        registry = filled()
        read = open_airgap(written(registry, tmp_path))
        path = "0/" + wire.blob_path(hashlib.sha256(b"text\n").hexdigest())
        forged = AirgapFile(read.registries, read.lock, {**read.files, path: b"evil\n"})
        store, cache = StateStore(tmp_path / "s"), Cache(tmp_path / "c")
        client = open_client(forged, ADDRESS, store, cache, accept_root=registry.fingerprint)
        with pytest.raises(TrustError) as error:
            client.fetch_items(client.releases([ONE])[ONE])
        assert error.value.code == "blob-hash"

    def test_another_registry_in_the_place_of_the_pinned_one(self, tmp_path: Path) -> None:
        registry = filled()
        fake = SimulatedRegistry(now=NOW, owners=[key("thief 1"), key("thief 2")])
        fake.claim("acme", [key("thief")])
        fake.release(ONE, content=b"evil\n")
        fake.release(SKILL)
        fake.publish()
        with pytest.raises(TrustError) as error:
            opened(written(fake, tmp_path), tmp_path, registry)
        assert error.value.code == "root-fingerprint"

    def test_an_unpinned_registry_is_proposed_never_trusted(self, tmp_path: Path) -> None:
        path = written(filled(), tmp_path)
        store = StateStore(tmp_path / "s")
        with pytest.raises(RyeError) as error:
            open_client(open_airgap(path), ADDRESS, store, Cache(tmp_path / "c"))
        assert error.value.code == "registry-unpinned"
        assert store.origins() == []

    def test_a_bundle_that_is_behind_what_was_seen(self, tmp_path: Path) -> None:
        registry = filled()
        older = written(registry, tmp_path, "older")
        registry.release(ONE, "2.0.0", b"fix\n")
        registry.publish()
        with opened(written(registry, tmp_path, "newer"), tmp_path, registry):
            pass
        with pytest.raises(AirgapError) as error:
            opened(older, tmp_path, registry)
        assert error.value.code == "bundle-outdated"

    def test_a_bundle_without_this_registry(self, tmp_path: Path) -> None:
        registry = filled()
        store = StateStore(tmp_path / "s")
        store.remember_address("https://other.example", "other.example")
        with pytest.raises(AirgapError) as error:
            open_client(open_airgap(written(registry, tmp_path)), "https://other.example", store, Cache(tmp_path / "c"))
        assert error.value.code == "bundle-other-registry"

    def test_a_file_that_is_not_in_it_is_not_found_and_sizes_hold(self, tmp_path: Path) -> None:
        transport = open_airgap(written(filled(), tmp_path)).transport("registry.example")
        missing, large = transport.fetch_many([Request("index/" + "0" * 64, 10), Request("head", 10)])
        assert isinstance(missing, FetchError)
        assert missing.code == "fetch-not-found"
        assert isinstance(large, FetchError)
        assert large.code == "fetch-too-large"


class TestAge:
    """DESIGN §5: a head older than 7 days is refused; rule 4 of the bundle says what a user can declare."""

    DAY = f"{NOW - timedelta(days=20):%Y-%m-%d}"

    def old(self, tmp_path: Path) -> tuple[SimulatedRegistry, Path]:
        registry = filled(NOW - timedelta(days=20))
        # It was written 20 days ago. The writer uses the real clock, so its client gets the time explicitly.
        recorder = bundle._Recorder(MemoryTransport(registry.files))
        client = RegistryClient(
            ADDRESS,
            recorder,
            StateStore(tmp_path / "own"),
            Cache(tmp_path / "own-cache"),
            now=lambda: NOW - timedelta(days=20),
        )
        client.refresh(registry.fingerprint, registry.origin)
        client.fetch_items(client.releases([ONE])[ONE])
        client.prove(client.releases([ONE])[ONE])
        bundle._complete(client, recorder)
        files = {f"0/{name}": data for name, data in recorder.files.items()}
        listing = b'[{"address":"https://registry.example","origin":"registry.example"}]'
        path = tmp_path / "old"
        path.write_bytes(encode_airgap({**files, "rye.lock": LOCK, "registries.json": listing}))
        return registry, path

    def test_over_seven_days_it_is_refused_and_the_error_names_the_day(self, tmp_path: Path) -> None:
        registry, path = self.old(tmp_path)
        with pytest.raises(AirgapError) as error:
            opened(path, tmp_path, registry)
        assert error.value.code == "bundle-old"
        assert f"--bundle-as-of {self.DAY}" in (error.value.hint or "")

    def test_with_the_stated_day_it_is_taken(self, tmp_path: Path) -> None:
        registry, path = self.old(tmp_path)
        with opened(path, tmp_path, registry, as_of=date.fromisoformat(self.DAY)) as client:
            assert client.fetch_items(client.releases([ONE])[ONE])

    def test_another_day_does_not_do(self, tmp_path: Path) -> None:
        registry, path = self.old(tmp_path)
        for days in (1, 30):
            with pytest.raises(AirgapError) as error:
                opened(path, tmp_path, registry, as_of=(NOW - timedelta(days=days)).date())
            assert error.value.code == "bundle-old"

    def test_a_stated_day_does_not_bring_back_an_expired_root(self, tmp_path: Path) -> None:
        registry, path = self.old(tmp_path)
        later = NOW + timedelta(days=400)
        with pytest.raises(TrustError) as error:
            opened(path, tmp_path, registry, as_of=date.fromisoformat(self.DAY), now=later)
        assert error.value.code == "root-expired"


class TestStrictReader:
    LISTING = b'[{"address":"https://r.example","origin":"r.example"}]'

    def good(self, **files: bytes) -> dict[str, bytes]:
        return {"registries.json": self.LISTING, "rye.lock": b"", "0/head": b"{}", **files}

    def sealed(self, body: bytes) -> bytes:
        return body + f"end {hashlib.sha256(body).hexdigest()}\n".encode()

    def refused(self, data: bytes, code: str = "airgap-malformed") -> None:
        with pytest.raises(AirgapError) as error:
            decode_airgap(data)
        assert error.value.code == code
        assert error.value.hint

    def test_the_form_is_what_the_docstring_says(self) -> None:
        data = encode_airgap(self.good())
        lines = data.split(b"\n")
        assert lines[:3] == [b"rye.bundle-file/v1", b"0/head 2", b"{}"]
        assert lines[-2].startswith(b"end ")
        assert decode_airgap(data).files == {"0/head": b"{}"}

    @pytest.mark.parametrize(
        "name",
        [
            "../head",
            "0/../head",
            "/etc/passwd",
            "0//head",
            "0/head/x",
            "0/tile/entries/000",
            "0/blobs/sha256/aa/" + "b" * 64,
            "0/index/" + "A" * 64,
            "0/root/0",
            "00/head",
            "100/head",
            "0/checkpoint",
            "rye.toml",
            ".ai/packages/x.md",
            "0/map/" + "a" * 63,
            "0/shards/" + "a" * 64,
        ],
    )
    def test_no_other_name_is_a_file_of_a_bundle(self, name: str) -> None:
        self.refused(encode_airgap({**self.good(), name: b"x"}))

    def test_files_of_a_registry_that_is_not_listed(self) -> None:
        self.refused(encode_airgap({**self.good(), "1/head": b"x"}))

    @pytest.mark.parametrize(
        "listing",
        [
            b"",
            b"[]",
            b"{}",
            b"nonsense",
            b"\xff",
            b'[{"address":"a","origin":"Not An Origin"}]',
            b'[{"address":"a","origin":"r.example","more":1}]',
            b'[{"address":"a","origin":"r.example"},{"address":"b","origin":"r.example"}]',
        ],
    )
    def test_a_list_of_registries_of_another_form(self, listing: bytes) -> None:
        self.refused(encode_airgap({**self.good(), "registries.json": listing}))

    def test_without_a_lock(self) -> None:
        files = self.good()
        del files["rye.lock"]
        self.refused(encode_airgap(files))

    def test_unsorted_repeated_and_cut_files(self) -> None:
        title = b"rye.bundle-file/v1\n"
        one, two = b"0/config.json 1\nx\n", b"0/head 1\nx\n"
        rest = b"registries.json %d\n%s\nrye.lock 0\n\n" % (len(self.LISTING), self.LISTING)
        assert decode_airgap(self.sealed(title + one + two + rest)).files.keys() == {"0/config.json", "0/head"}
        self.refused(self.sealed(title + two + one + rest))
        self.refused(self.sealed(title + two + two + rest))
        for size in (b"2", b"0", b"01", b"-1", b"+1", b"9" * 12, b"", b"1 "):
            self.refused(self.sealed(title + b"0/head " + size + b"\nx\n" + rest))

    def test_damage_anywhere_and_an_end_anywhere(self) -> None:
        data = encode_airgap(self.good())
        for at in range(len(data)):
            with pytest.raises(AirgapError):
                decode_airgap(data[:at])
            with pytest.raises(AirgapError):
                decode_airgap(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        self.refused(data + b"\n")
        self.refused(data.replace(b"{}", b"[]"), "bundle-damaged")

    def test_too_many_files_and_too_many_bytes(self, tmp_path: Path) -> None:
        data = encode_airgap(self.good())
        with pytest.raises(AirgapError):
            decode_airgap(data, limits=MirrorLimits(airgap_files=2))
        path = tmp_path / "b"
        path.write_bytes(data)
        with pytest.raises(AirgapError) as error:
            open_airgap(path, MirrorLimits(airgap_bytes=10))
        assert error.value.code == "bundle-too-large"

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(RyeError) as error:
            open_airgap(tmp_path / "absent")
        assert error.value.code == "no-such-file"

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=300))
    def test_any_bytes_are_an_error_in_words(self, noise: bytes) -> None:
        for data in (noise, b"rye.bundle-file/v1\n" + noise, self.sealed(b"rye.bundle-file/v1\n" + noise)):
            with pytest.raises(AirgapError):
                decode_airgap(data)
