"""A mirror verifies everything before its head moves, resumes interrupted runs, and never accepts a fork."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import MirrorLimits
from rye.registry.client import RegistryClient
from rye.registry.mirroring import Mirrored, entries, mirror, steps
from rye.registry.protocol import wire
from rye.registry.protocol.tiles import Tile
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.file import FileTransport
from rye.registry.transport.seam import Fetched, Request
from rye.registry.trust.trusted import TrustedState
from rye.storage.safe_files import file_lock
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key

ONE = Identity("directive", "acme/work/one")
SKILL = Identity("skill", "acme/helper")


def filled(now: datetime | None = None) -> SimulatedRegistry:
    registry = SimulatedRegistry(now=now or datetime.now(UTC).replace(microsecond=0))
    registry.claim("acme", [key("acme")])
    registry.release(ONE)
    registry.release(SKILL, attached={"scripts/run.sh": b"echo\n"})
    registry.publish()
    return registry


def trusted(registry: SimulatedRegistry, state: TrustedState | None = None) -> TrustedState:
    """The state that a client trusts after reading a registry's head (the client's own tests cover the checks of a head)."""
    known = state or TrustedState.pin(registry.files["root/1"], registry.fingerprint)
    for number in range(known.root.number + 1, len(registry.roots) + 1):
        known = known.accept_root(registry.files[f"root/{number}"])
    return TrustedState(origin=known.origin, roots=known.roots, head=registry.files["head"].decode())


def run(registry: SimulatedRegistry, target: Path, limits: MirrorLimits | None = None) -> Mirrored:
    transport = MemoryTransport(registry.files)
    return mirror(transport, trusted(registry), target, limits=limits or MirrorLimits())


def paths(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


class TestCopy:
    def test_it_has_every_public_file_byte_for_byte_and_no_api(self, tmp_path: Path) -> None:
        registry = filled()
        done = run(registry, tmp_path / "copy")
        assert paths(tmp_path / "copy") == registry.files.keys()
        for path, data in registry.files.items():
            assert (tmp_path / "copy" / path).read_bytes() == data
        assert wire.decode_config((tmp_path / "copy" / "config.json").read_bytes()).api is None
        assert (done.before, done.audit.size) == (None, registry.size)

    def test_a_client_reads_it_as_a_file_registry(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
        address = (tmp_path / "copy").as_uri()
        with RegistryClient.open(address, accept_root=registry.fingerprint, store=store, cache=cache) as client:
            records = client.releases([ONE, SKILL])
            client.prove([*records[ONE], *records[SKILL]])
            (files,) = client.fetch_items(records[SKILL])
        assert files.attached == {"scripts/run.sh": b"echo\n"}

    def test_a_second_run_fetches_nothing_and_a_later_one_only_what_is_new(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        assert run(registry, tmp_path / "copy").fetched == 0
        before = registry.size
        registry.release(ONE, "1.1.0", b"new\n")
        registry.publish()
        transport = MemoryTransport(registry.files)
        done = mirror(transport, trusted(registry), tmp_path / "copy")
        asked = {path for wave in transport.requested for path in wave}
        assert done.before == before
        assert not any(wire.blob_path(hashlib.sha256(b"text\n").hexdigest()) in path for path in asked)
        assert wire.blob_path(hashlib.sha256(b"new\n").hexdigest()) in asked

    @pytest.mark.slow
    def test_logs_with_full_tiles_on_several_levels(self, tmp_path: Path) -> None:
        registry = filled()
        snapshot = registry.sign(registry.snapshot(), registry.log_signers())
        while registry.size < 600:
            registry.append(snapshot)
        registry.write_files()
        done = run(registry, tmp_path / "copy", MirrorLimits(entry_bundles_at_once=1))
        assert paths(tmp_path / "copy") == registry.files.keys()
        assert done.audit.size == 600
        assert steps(trusted(registry)) == 3
        registry.publish()
        again = run(registry, tmp_path / "copy")
        assert again.before == 600
        assert again.fetched < 10

    @pytest.mark.slow
    def test_a_partial_tile_that_became_full_meanwhile_is_cut(self, tmp_path: Path) -> None:
        registry = filled()
        state = trusted(registry)
        size = registry.size
        older = dict(registry.files)
        snapshot = registry.sign(registry.snapshot(), registry.log_signers())
        while registry.size < 256:
            registry.append(snapshot)
        registry.write_files()
        partial = Tile(0, 0, size)
        present = {**older, **registry.files, "head": older["head"]}
        del present[partial.path], present[partial.entries_path]
        mirror(MemoryTransport(present), state, tmp_path / "copy")
        assert (tmp_path / "copy" / partial.path).read_bytes() == older[partial.path]
        assert (tmp_path / "copy" / partial.entries_path).read_bytes() == older[partial.entries_path]


class _Broken:
    """A network that fails after a given number of files."""

    def __init__(self, inner: MemoryTransport, files: int):
        self._inner, self._left = inner, files

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        self._left -= len(requests)
        if self._left < 0:
            raise KeyboardInterrupt
        return self._inner.fetch_many(requests)

    def close(self) -> None:
        self._inner.close()


class TestInterrupted:
    def test_at_any_file_the_head_is_the_old_one_and_the_next_run_goes_on(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        old = (tmp_path / "copy" / "head").read_bytes()
        registry.release(ONE, "1.1.0", b"new\n")
        registry.release(ONE, "1.2.0", b"newer\n")
        registry.publish()
        limits = MirrorLimits(files_at_once=1)
        for files in range(20):
            transport = _Broken(MemoryTransport(registry.files), 1)
            try:
                mirror(transport, trusted(registry), tmp_path / "copy", limits=limits)
                break
            except KeyboardInterrupt:
                pass
            assert (tmp_path / "copy" / "head").read_bytes() == old
            # Everything that the old head refers to is still complete.
            store, cache = StateStore(tmp_path / f"s{files}"), Cache(tmp_path / f"c{files}")
            address = (tmp_path / "copy").as_uri()
            with RegistryClient.open(address, accept_root=registry.fingerprint, store=store, cache=cache) as client:
                client.fetch_items(client.releases([ONE])[ONE])
        assert files == 4  # each run got one file further: tile, entries, index, one blob, the last blob
        assert registry.files.keys() <= paths(tmp_path / "copy")

    def test_what_was_fetched_before_the_break_is_not_fetched_again(self, tmp_path: Path) -> None:
        registry = filled()
        with pytest.raises(KeyboardInterrupt):
            mirror(_Broken(MemoryTransport(registry.files), 3), trusted(registry), tmp_path / "copy")
        transport = MemoryTransport(registry.files)
        mirror(transport, trusted(registry), tmp_path / "copy")
        assert not any(path.startswith("tile/") for wave in transport.requested for path in wave)

    def test_damage_on_the_disk_is_found_and_mended(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        damaged = sorted(path for path in registry.files if path.split("/")[0] in ("tile", "blobs", "index", "map"))
        for path in damaged:
            place = tmp_path / "copy" / path
            place.write_bytes(b"\x00" + place.read_bytes()[1:])
        run(registry, tmp_path / "copy")
        for path in damaged:
            assert (tmp_path / "copy" / path).read_bytes() == registry.files[path], path


class TestRefused:
    def refused(self, registry: SimulatedRegistry, target: Path, code: str) -> RyeError:
        with pytest.raises(RyeError) as error:
            run(registry, target)
        assert error.value.code == code
        assert error.value.hint
        assert not (target / "head").exists()
        return error.value

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_a_blob_that_was_swapped_or_cut(self, tmp_path: Path, length: int) -> None:
        registry = filled()
        path = wire.blob_path(hashlib.sha256(b"text\n").hexdigest())
        registry.files[path] = b"evil\n"[:length]
        self.refused(registry, tmp_path / "copy", "blob-hash" if length == 5 else "blob-size")

    def test_a_missing_blob(self, tmp_path: Path) -> None:
        registry = filled()
        del registry.files[wire.blob_path(hashlib.sha256(b"text\n").hexdigest())]
        self.refused(registry, tmp_path / "copy", "blob-missing")

    def test_an_entry_that_the_tree_does_not_have(self, tmp_path: Path) -> None:
        registry = filled()
        path = Tile(0, 0, registry.size).entries_path
        registry.files[path] = registry.files[path].replace(b"one", b"0ne")
        self.refused(registry, tmp_path / "copy", "entry-mismatch")
        assert not any(path.startswith("tile/entries") for path in paths(tmp_path / "copy"))

    def test_a_tile_that_was_changed(self, tmp_path: Path) -> None:
        registry = filled()
        path = Tile(0, 0, registry.size).path
        registry.files[path] = bytes(32) + registry.files[path][32:]
        self.refused(registry, tmp_path / "copy", "tile-root")

    def test_an_index_that_is_not_the_log_s_even_when_it_is_signed(self, tmp_path: Path) -> None:
        registry = filled()
        registry.release(ONE, "2.0.0", b"hidden\n")
        registry.publish_index({n: d for n, d in registry.index_files().items() if n != str(ONE)})
        error = self.refused(registry, tmp_path / "copy", "audit-failed")
        assert error.details["findings"]

    def test_a_release_that_a_stranger_signed(self, tmp_path: Path) -> None:
        registry = filled()
        registry.release(ONE, "2.0.0", b"theft\n", keys=[key("thief")])
        registry.publish()
        self.refused(registry, tmp_path / "copy", "audit-failed")

    def test_a_fork_of_what_the_copy_has_keeps_both_heads(self, tmp_path: Path) -> None:
        registry = filled()
        other = registry.fork()
        registry.release(ONE, "2.0.0", b"one\n")
        registry.publish()
        run(registry, tmp_path / "copy")
        old = (tmp_path / "copy" / "head").read_bytes()
        for version in ("2.0.0", "3.0.0"):
            other.release(ONE, version, b"another\n")
        other.publish()
        with pytest.raises(RyeError) as error:
            run(other, tmp_path / "copy")
        assert error.value.code == "mirror-fork"
        evidence = error.value.details["evidence"]
        assert isinstance(evidence, dict)
        assert evidence["trusted"].encode() == registry.files["checkpoint"]
        assert evidence["offered"].encode() == other.files["checkpoint"]
        assert (tmp_path / "copy" / "head").read_bytes() == old

    def test_a_registry_that_is_behind_the_copy(self, tmp_path: Path) -> None:
        registry = filled()
        older = registry.fork()
        registry.release(ONE, "2.0.0", b"one\n")
        registry.publish()
        run(registry, tmp_path / "copy")
        with pytest.raises(RyeError) as error:
            run(older, tmp_path / "copy")
        assert error.value.code == "mirror-newer"

    def test_a_folder_that_holds_something_else_is_left_alone(self, tmp_path: Path) -> None:
        target = tmp_path / "home"
        target.mkdir()
        (target / "letter.txt").write_text("dear")
        self.refused(filled(), target, "wrong-folder")
        assert [path.name for path in target.iterdir()] == ["letter.txt"]

    def test_the_folder_of_a_registry_that_is_written_to_is_no_mirror(self, tmp_path: Path) -> None:
        registry = filled()
        registry.files["config.json"] = wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, registry.origin, "/api"))
        registry.write_to(tmp_path / "public")
        with pytest.raises(RyeError) as error:
            run(registry, tmp_path / "public")
        assert (error.value.code, error.value.details["what"]) == ("wrong-folder", "mirror")

    def test_a_mirror_of_another_registry(self, tmp_path: Path) -> None:
        run(filled(), tmp_path / "copy")
        other = SimulatedRegistry(origin="other.example")
        with pytest.raises(RyeError) as error:
            run(other, tmp_path / "copy")
        assert (error.value.code, error.value.details["what"]) == ("wrong-folder", "mirror")

    def test_two_programs_do_not_write_to_one_folder(self, tmp_path: Path) -> None:
        from filelock import FileLock

        registry = filled()  # another one may be of another second, and a fork is found before the lock
        run(registry, tmp_path / "copy")
        with FileLock(tmp_path / "copy" / ".rye-mirror.lock"), pytest.raises(RyeError) as error:
            run(registry, tmp_path / "copy")
        assert (error.value.code, error.value.details["what"]) == ("in-use", "mirror")


class TestFolder:
    def test_old_files_go_when_nobody_can_still_read_them(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        first = paths(tmp_path / "copy")
        registry.release(ONE, "2.0.0", b"one\n")
        registry.publish()
        run(registry, tmp_path / "copy")
        assert first <= paths(tmp_path / "copy")
        run(registry, tmp_path / "copy", MirrorLimits(stale_seconds=0))
        assert paths(tmp_path / "copy") == registry.files.keys()

    def test_a_link_in_the_folder_is_replaced_never_followed(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        place = tmp_path / "copy" / wire.blob_path(hashlib.sha256(b"text\n").hexdigest())
        outside = tmp_path / "outside"
        outside.write_bytes(b"text\n")
        place.unlink()
        place.symlink_to(outside)
        run(registry, tmp_path / "copy")
        assert not place.is_symlink()
        assert place.read_bytes() == b"text\n"
        assert outside.read_bytes() == b"text\n"

    @pytest.mark.parametrize("link", ["index", "map", "tile/entries", "blobs/sha256", "root", ".rye-mirror"])
    def test_no_file_elsewhere_is_deleted_or_written_through_a_folder(self, tmp_path: Path, link: str) -> None:
        """A mirror that came with a repository: pruning would delete every old file below the link."""
        registry = filled()
        run(registry, tmp_path / "copy")
        place, outside = tmp_path / "copy" / link, tmp_path / "documents"
        outside.mkdir()
        (outside / "letter").write_text("dear")
        os.utime(outside / "letter", (0, 0))
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        place.symlink_to(outside if link != ".rye-mirror" else tmp_path / "new")
        registry.release(ONE, "2.0.0", b"one\n")
        registry.publish()
        with pytest.raises(RyeError) as error:
            run(registry, tmp_path / "copy", MirrorLimits(stale_seconds=0))
        assert (error.value.code, error.value.details["what"]) == ("wrong-folder", "mirror")
        assert [path.name for path in outside.iterdir()] == ["letter"]
        assert not (tmp_path / "new").exists()

    def test_the_mark_is_written_through_no_link_that_appears(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        registry, mine = filled(), tmp_path / "mine"
        mine.write_text("dear")

        @contextmanager
        def locked(path: Path, seconds: float) -> Iterator[None]:
            (path.parent / ".rye-mirror").unlink(missing_ok=True)
            (path.parent / ".rye-mirror").symlink_to(mine)
            with file_lock(path, seconds):
                yield

        monkeypatch.setattr("rye.registry.mirroring.file_lock", locked)
        run(registry, tmp_path / "copy")
        assert mine.read_text() == "dear"
        assert not (tmp_path / "copy/.rye-mirror").is_symlink()

    def test_a_link_that_takes_a_folder_s_place_meanwhile_leads_nowhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another program exchanges the folder just before a file in it is deleted as out of date."""
        registry = filled()
        run(registry, tmp_path / "copy")
        outside = shutil.copytree(tmp_path / "copy/index", tmp_path / "documents")
        before, unlink, done = sorted(path.name for path in outside.iterdir()), os.unlink, list[str]()
        registry.release(ONE, "2.0.0", b"one\n")
        registry.publish()

        def exchanged(path: Any, **named: Any) -> None:
            if not done and Path(path).name in before:
                done.append(str(path))
                (tmp_path / "copy/index").rename(tmp_path / "moved")
                (tmp_path / "copy/index").symlink_to(outside, target_is_directory=True)
            unlink(path, **named)

        monkeypatch.setattr(os, "unlink", exchanged)
        with suppress(RyeError):
            run(registry, tmp_path / "copy", MirrorLimits(stale_seconds=0))
        assert done
        assert sorted(path.name for path in outside.iterdir()) == before

    def test_a_damaged_head_says_what_to_delete(self, tmp_path: Path) -> None:
        registry = filled()
        run(registry, tmp_path / "copy")
        (tmp_path / "copy" / "head").write_bytes(b"")
        with pytest.raises(RyeError) as error:
            run(registry, tmp_path / "copy")
        assert error.value.code == "mirror-damaged"
        (tmp_path / "copy" / "head").unlink()
        assert run(registry, tmp_path / "copy").fetched == 0

    def test_an_exported_copy_can_be_carried_on(self, tmp_path: Path) -> None:
        registry = filled()
        registry.write_to(tmp_path / "export")
        assert run(registry, tmp_path / "export").fetched == 0

    def test_entries_alone_are_checked_without_a_folder(self, tmp_path: Path) -> None:
        registry = filled()
        found = list(entries(MemoryTransport(registry.files), registry.checkpoint()))
        assert [entry.decode() for entry in found] == registry.leaves
        registry.write_to(tmp_path / "public")
        assert list(entries(FileTransport(tmp_path / "public"), registry.checkpoint())) == found
