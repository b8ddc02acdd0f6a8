"""A crash leaves ``/head`` or ``/checkpoint`` the older one, and the database is lost: `rye-registry restore --from store` goes
on from the newer one, or says what is missing for that. It never makes a second history of what was shown (server 1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import registry_keys
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.head_publication import check_contained, shown_checkpoint
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import load
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.registry.protocol import notes, tiles, wire
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.tiles import Tile
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN, run
from tests.server.fake_bucket import Asked, FakeBucket, serving
from tests.server.test_never_fork import copy_database

pytestmark = pytest.mark.processes


class Crash(Exception):
    """The process ends here."""


@dataclass
class Scene:
    """A registry in one kind of store, whose process can end while a head is shown."""

    data: Path
    bucket: FakeBucket | None
    acme: Publisher

    @contextmanager
    def sequencer(self, fault: Callable[[str], None] = lambda _step: None) -> Iterator[Sequencer]:
        settings = load(self.data, {}, {})
        engine = opening.open_database(settings)
        keys = registry_keys.in_folder(settings.keys, "log")
        yield Sequencer(engine, public_objects(settings), upload_objects(settings), keys, settings, fault=fault)
        engine.dispose()

    @property
    def public(self) -> Objects:
        return public_objects(load(self.data, {}, {}))

    def publish(self, number: int, sequencer: Sequencer) -> None:
        content = b"%d" % number
        sha256 = hashlib.sha256(content).hexdigest()
        sequencer.uploads.put_soon(sha256, content)
        (receipt,) = sequencer.append([[self.acme.candidate(f"a/item{number}", sha256=sha256)]])
        assert isinstance(receipt, Receipt), receipt

    def crash(self, older: str) -> tuple[Checkpoint, Checkpoint]:
        """Publish, and let the process end before it replaced ``older``. Returns what that and the other one show."""
        other = "checkpoint" if older == "head" else "head"
        if self.bucket is not None:
            self.bucket.fault = lambda asked: 403 if is_write(asked, older) else None
            with self.sequencer() as sequencer, pytest.raises(RyeError):
                self.publish(2, sequencer)
            self.bucket.fault = lambda _asked: None
        else:
            before = self.public.get(older) or b""
            with self.sequencer(ended_at("checkpoint" if older == "head" else "shown")) as sequencer, suppress(Crash):
                self.publish(2, sequencer)
            if (
                older == "checkpoint"
            ):  # a folder never leaves it behind, but whoever copied one file after the other might
                self.public.put(older, before)
        left, shown = self.shown(older), self.shown(other)
        assert left.size < shown.size
        return left, shown

    def shown(self, path: str) -> Checkpoint:
        found = shown_checkpoint(path, self.public.get(path))
        assert found is not None
        return found

    def lose_database(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            (self.data / f"registry.db{suffix}").unlink(missing_ok=True)

    def restore(self, source: str = "store", *, check: bool = True) -> dict[str, Any]:
        done = run("restore", "--from", source, "--data", str(self.data), "--json", check=False)
        assert "Traceback" not in done.stderr
        assert (done.returncode == 0) is check, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def goes_on_after(self, *shown: Checkpoint) -> None:
        """The server starts, a publish succeeds, and its log contains everything that was shown."""
        process, _ = start_embedded(self.data)
        stop_embedded(process)
        with self.sequencer() as sequencer:
            self.publish(3, sequencer)
            with database.reader(sequencer.engine) as connection:
                for checkpoint in shown:
                    check_contained(Ledger(connection), checkpoint)
        assert run("verify", "--data", str(self.data)).returncode == 0


def is_write(asked: Asked, path: str) -> bool:
    return asked.method == "PUT" and asked.key.endswith(f"/public/{path}")


def ended_at(last: str) -> Callable[[str], None]:
    def fault(step: str) -> None:
        if step == last:
            raise Crash

    return fault


@pytest.fixture(params=rest_thorough(1, ["folder", "bucket"]))
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    fake = FakeBucket()
    with serving(fake) as address:
        in_bucket = request.param == "bucket"
        values = {"objects": "s3://rye/registry", "s3_endpoint": address} if in_bucket else {}
        made = Scene(tmp_path / "data", fake if in_bucket else None, Publisher("acme"))
        found(made.data, ORIGIN, values, None, 365)
        with made.sequencer() as sequencer:
            sequencer.append([[made.acme.claim_candidate()]])
            made.publish(1, sequencer)
        yield made


@pytest.mark.parametrize("older", ["head", "checkpoint"])
def test_the_newer_of_the_two_is_restored_and_served(scene: Scene, older: str) -> None:
    left, shown = scene.crash(older)
    scene.lose_database()
    assert scene.restore()["size"] == shown.size
    assert scene.shown("head") == scene.shown("checkpoint") == shown
    scene.goes_on_after(left, shown)


@pytest.mark.thorough
@pytest.mark.parametrize("scene", ["folder"], indirect=True)
@pytest.mark.parametrize("size", rest_thorough(1, [257, 256, 258, 512]))
def test_at_the_ends_of_tiles_as_well(scene: Scene, size: int) -> None:
    """The head that belonged to a checkpoint has a proof from the tiles."""
    before = scene.shown("head").size
    with scene.sequencer() as sequencer:
        sequencer.append([[Publisher(f"n{number}").claim_candidate()] for number in range(size - before - 3)])
    _, shown = scene.crash("head")
    assert shown.size == size
    scene.lose_database()
    assert scene.restore()["size"] == size
    assert scene.shown("head") == shown
    scene.goes_on_after(shown)


def test_an_older_database_gets_there_as_well(scene: Scene) -> None:
    copy_database(scene.data / "registry.db", scene.data.parent / "old.db")
    left, shown = scene.crash("head")
    scene.lose_database()
    copy_database(scene.data.parent / "old.db", scene.data / "registry.db")
    refused = run("serve", "--data", str(scene.data), "--port", "0", "--json", check=False)
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "database-behind"
    assert error["hint"].endswith("rye-registry restore --from store")
    assert scene.restore()["size"] == shown.size
    scene.goes_on_after(left, shown)


def test_without_a_head_the_checkpoint_is_enough(scene: Scene) -> None:
    _, shown = scene.crash("head")
    scene.public.delete("head")
    scene.lose_database()
    assert scene.restore()["size"] == shown.size
    scene.goes_on_after(shown)


@pytest.mark.thorough
def test_a_copy_that_somebody_made_after_the_crash_is_as_good(scene: Scene) -> None:
    _, shown = scene.crash("head")
    copy = scene.data.parent / "copy"
    for path, _, _ in scene.public.listing():
        place = copy / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(scene.public.get(path) or b"")
    scene.lose_database()
    assert scene.restore(str(copy))["size"] == shown.size
    scene.goes_on_after(shown)


class TestWithSomethingMissing:
    """The newer one cannot be restored: the error names what is missing, nothing older is shown, and a complete copy helps."""

    @pytest.mark.parametrize("what", rest_thorough(1, ["tile", "entries", "blob", "signature"]))
    def test_nothing_older_is_restored(self, scene: Scene, what: str) -> None:
        _, shown = scene.crash("head")
        backup = str(scene.data.parent / "backup")
        run("backup", backup, "--data", str(scene.data))
        if what == "signature":
            note = notes.sign(shown.text(), [PrivateKey.generate(ORIGIN).signer]).encode()
            scene.public.put("checkpoint", note.encode())
            told = "The checkpoint is not signed by the registry's log."
        else:
            last: Tile = tiles.tile_at(0, (shown.size - 1) // tiles.WIDTH, shown.size)
            blob = wire.blob_path(hashlib.sha256(b"2").hexdigest())
            path = {"tile": last.path, "entries": last.entries_path, "blob": blob}[what]
            scene.public.delete(path)
            told = path.rpartition("/")[2]
        scene.lose_database()
        before = {path: scene.public.get(path) for path, _, _ in scene.public.listing()}
        error = scene.restore(check=False)["error"]
        assert error["code"] == ("blob-missing" if what == "blob" else "source-damaged")
        assert told in error["message"]
        if what != "blob":
            assert f"/checkpoint shows {shown.size} log entries and /head shows only" in error["message"]
            assert f"at least {shown.size} entries" in error["hint"]
        assert {path: scene.public.get(path) for path, _, _ in scene.public.listing()} == before
        assert scene.restore(backup)["size"] == shown.size
        scene.goes_on_after(shown)

    @pytest.mark.parametrize("size", [2, 4, 6, 8])
    def test_a_checkpoint_of_another_history_ends_no_circle(self, scene: Scene, size: int) -> None:
        """`restore --from store` was all that an operator was told to do, and it said the same."""
        key = registry_keys.in_folder(scene.data / "keys", "log")[0]
        foreign = Checkpoint(ORIGIN, size, hashlib.sha256(b"another tree").digest())
        scene.public.put("checkpoint", notes.sign(foreign.text(), [key.signer]).encode().encode())
        scene.lose_database()
        error = scene.restore(check=False)["error"]
        assert error["code"] == "source-damaged"
        assert f"/checkpoint shows {size} log entries" in error["message"]
        assert "--from store" not in error["hint"]
