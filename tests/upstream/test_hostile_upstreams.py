"""Another registry that lies, stalls or leads elsewhere: the door keeps what it verified before, and passes nothing else on.

Each attack begins with the control: the honest registry's release comes through the same door.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_server.settings import Settings
from registry_server.storage.objects import Folder
from registry_server.upstream import door as doors
from registry_server.upstream import pulling
from registry_server.upstream.door import Door
from registry_server.upstream.doors import Doors
from registry_server.upstream.kept_files import Room
from registry_server.upstream_settings import Upstream
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.doors import decode_upstreams
from rye.registry.store.witness_demands import kept_evidence
from tests.attacks.hostile_server import (
    Fault,
    HostileServer,
    announces,
    answer,
    bomb,
    drips,
    encoded,
    endless,
    not_http,
    redirects,
    silent,
    status,
)
from tests.registry.simulated_registry import SimulatedRegistry, key

ONE, TWO, FOREIGN = (Identity("directive", f"{name}") for name in ("tools/one", "tools/two", "secret/one"))
BYTES, OTHER = b"the first text\n", b"the second text\n"


@dataclass
class Scene:
    """An honest registry with one release, a server that shows it, and a door to it."""

    folder: Path
    server: HostileServer
    registry: SimulatedRegistry
    door: Door

    def publish(self, identity: Identity, content: bytes, **changes: object) -> None:
        self.registry.release(identity, content=content, **changes)  # type: ignore[arg-type]
        self.registry.publish()
        self.server.serve(self.registry.files)

    def blob(self, content: bytes) -> bytes:
        return self.door.blob(hashlib.sha256(content).hexdigest(), lambda _: True)

    def index(self, identity: Identity, registry: SimulatedRegistry | None = None) -> str:
        return hashlib.sha256((registry or self.registry).index_files()[str(identity)]).hexdigest()

    def take(self, identity: Identity, content: bytes) -> None:
        """What a client asks for."""
        self.door.refresh()
        self.door.file(f"index/{self.index(identity)}")
        assert self.door.held(self.index(identity)) == []
        assert self.blob(content) == content

    def again(self) -> Door:
        """Another server of the same registry, or the same one after a restart."""
        return door_to(self.folder, self.server.url, self.registry.fingerprint)


def door_to(
    folder: Path,
    url: str,
    fingerprint: str,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    **rules: object,
) -> Door:
    upstream = Upstream(address=url, fingerprint=fingerprint, namespaces=("tools",), **rules)  # type: ignore[arg-type]
    settings = Settings(data=folder, upstream_check_seconds=0.0)
    return Door(upstream, Room(Folder(folder / "upstream", private=True), 10**8), settings, lambda _: False, now)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    bomb()  # takes a moment to make
    quick = replace(
        pulling.LIMITS,
        answer_seconds=0.5, file_seconds=1.5, stall_seconds=0.7, total_seconds=3.0, retries=0, speed_grace_seconds=0.3,
    )  # fmt: skip
    for module in (doors, pulling):
        monkeypatch.setattr(module, "LIMITS", quick)
    registry = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1))
    registry.claim("tools")
    registry.claim("secret")
    registry.release(FOREIGN, content=b"not for here\n")
    with HostileServer() as server:
        made = Scene(tmp_path, server, registry, door_to(tmp_path, server.url, registry.fingerprint))
        made.publish(ONE, BYTES)
        made.take(ONE, BYTES)  # the control
        yield made


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(RyeError) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (silent, "fetch-deadline"),
        (endless, "fetch-endless"),
        (announces(10**9), "fetch-too-large"),
        (drips(b"x" * 500, seconds=0.05), "fetch-slow"),
        (not_http, "fetch-truncated"),
        (redirects("http://169.254.169.254/latest/meta-data"), "fetch-redirect"),
        (redirects("http://127.0.0.1:1/head"), "fetch-redirect"),
        (redirects("file:///etc/passwd"), "fetch-redirect"),
        (lambda connection: encoded(bomb(), "gzip")(connection), "fetch-status"),
        (status(500), "fetch-status"),
    ],
)
def test_a_head_that_does_not_come_leaves_the_last_one_and_everything_under_it(
    scene: Scene, fault: Fault, code: str
) -> None:
    before = scene.door.file("head")
    scene.publish(ONE, OTHER, version="1.1.0")
    scene.server.faults["head"] = fault
    began = time.monotonic()
    scene.door.refresh()
    assert time.monotonic() - began < 20
    assert scene.door.trouble is not None
    assert scene.door.trouble.code == code
    assert scene.door.file("head") == before
    assert scene.blob(BYTES) == BYTES
    del scene.server.faults["head"]
    scene.door.refresh()
    assert scene.door.trouble is None
    assert scene.door.file("head") == scene.registry.files["head"]


def test_a_fork_is_never_shown(scene: Scene) -> None:
    fork = scene.registry.fork()
    scene.publish(TWO, OTHER)
    scene.take(TWO, OTHER)
    before = scene.door.file("head")
    for patch in range(3):
        fork.release(TWO, content=b"for you only\n", version=f"2.0.{patch}")
    fork.publish()
    scene.server.serve(fork.files)
    scene.door.refresh()
    assert scene.door.trouble is not None
    assert scene.door.trouble.code in ("head-inconsistent", "head-fork", "head-rollback")
    (kept,) = kept_evidence(scene.folder / "registries")
    assert len(kept[1].heads) == 2
    assert scene.door.file("head") == before
    assert refused(lambda: scene.blob(b"for you only\n")) == "not-found"
    after = scene.again()  # nor after a restart
    after.refresh()
    assert after.file("head") == before


def test_what_was_taken_down_is_not_given_out_for_another_release_and_not_kept(scene: Scene) -> None:
    """The other registry's owners took a file down of one release, and a second one has it as well."""
    shared = hashlib.sha256(BYTES).hexdigest()
    scene.publish(TWO, BYTES)
    scene.take(TWO, BYTES)

    def kept() -> bool:
        return any(path.name == shared for path in (scene.folder / "upstream").rglob("*"))

    assert kept()
    scene.registry.take_down(ONE, "1.0.0", [shared])
    scene.registry.publish()
    scene.server.serve(scene.registry.files)
    scene.door.refresh()
    assert not kept()
    assert refused(lambda: scene.blob(BYTES)) == "taken-down"


def test_a_rollback_is_never_shown_not_even_by_a_second_server(scene: Scene) -> None:
    old = dict(scene.registry.files)
    scene.publish(TWO, OTHER)
    scene.take(TWO, OTHER)
    scene.server.serve(old)
    second = scene.again()
    for door in (scene.door, second):
        door.refresh()
        assert door.trouble is not None
        assert door.trouble.code == "head-rollback"
        assert door.file("head") == scene.registry.files["head"]


def test_a_second_server_never_shows_an_older_head_and_needs_no_answer_of_the_other_registry(scene: Scene) -> None:
    second = scene.again()
    second.refresh()
    scene.publish(TWO, OTHER)
    scene.take(TWO, OTHER)
    scene.server.faults |= dict.fromkeys(["head", *scene.server.files], status(503))
    assert second.file("head") != scene.door.file("head")
    assert second.follow()
    assert second.file("head") == scene.door.file("head")
    assert second.file(f"index/{scene.index(TWO)}") == scene.registry.index_files()[str(TWO)]
    assert second.blob(hashlib.sha256(OTHER).hexdigest(), lambda _: True) == OTHER


def test_another_registry_at_the_address_is_never_shown(scene: Scene) -> None:
    other = SimulatedRegistry(origin="elsewhere.example", now=scene.registry.now)
    other.publish()
    scene.server.serve(other.files)
    scene.door.refresh()
    assert scene.door.trouble is not None
    assert scene.door.trouble.code in ("checkpoint-origin", "root-origin", "checkpoint-signature")
    stranger = door_to(scene.folder / "new", scene.server.url, scene.registry.fingerprint)
    stranger.refresh()
    assert stranger.trouble is not None
    assert stranger.trouble.code == "root-fingerprint"
    assert stranger.view is None


def test_wrong_bytes_are_not_passed_on_and_not_kept(scene: Scene) -> None:
    scene.publish(TWO, OTHER)
    scene.door.refresh()
    scene.door.file(f"index/{scene.index(TWO)}")
    path = wire.blob_path(hashlib.sha256(OTHER).hexdigest())
    scene.server.files[path] = b"some other text!"
    assert refused(lambda: scene.blob(OTHER)) == "blob-hash"
    scene.server.faults[path] = endless
    assert refused(lambda: scene.blob(OTHER)) == "blob-size"
    scene.server.faults[path] = redirects("http://127.0.0.1:1/x")
    assert refused(lambda: scene.blob(OTHER)) == "fetch-redirect"
    scene.server.serve(scene.registry.files)
    assert scene.blob(OTHER) == OTHER


def test_files_that_the_head_does_not_prove_are_not_passed_on(scene: Scene) -> None:
    fork = scene.registry.fork()
    fork.release(ONE, content=b"never logged\n", version="9.0.0")
    for content in (fork.index_files()[str(ONE)], b"any text\n", b""):
        sha256 = hashlib.sha256(content).hexdigest()
        scene.server.files |= {f"index/{sha256}": content, f"map/{sha256}": content}
        for path in (f"index/{sha256}", f"map/{sha256}"):
            with pytest.raises(RyeError):
                scene.door.file(path)
    assert refused(lambda: scene.blob(b"never logged\n")) == "not-found"
    tile = next(path for path in scene.registry.files if path.startswith("tile/0"))
    entries = next(path for path in scene.registry.files if path.startswith("tile/entries"))
    assert scene.door.file(tile) == scene.registry.files[tile]
    assert scene.door.file(entries) == scene.registry.files[entries]
    assert refused(lambda: scene.door.file("tile/0/000.p/255")) == "not-found"
    assert refused(lambda: scene.door.file("tile/7/000")) == "not-found"


def test_namespaces_that_are_not_allowed_stay_outside(scene: Scene) -> None:
    assert refused(lambda: scene.door.file(f"index/{scene.index(FOREIGN)}")) == "not-found"
    assert refused(lambda: scene.blob(b"not for here\n")) == "not-found"
    assert refused(lambda: scene.door.file("owners/secret")) == "not-found"


def test_a_new_head_without_its_files_is_not_shown(scene: Scene) -> None:
    """Otherwise what was verified once could not be proved any more."""
    before = scene.door.file("head")
    scene.publish(ONE, OTHER, version="1.1.0")
    for path in [path for path in scene.server.files if path.startswith(("map/", "index/"))]:
        del scene.server.files[path]
    scene.door.refresh()
    assert scene.door.trouble is not None
    assert scene.door.file("head") == before
    assert scene.blob(BYTES) == BYTES


def test_a_huge_index_is_refused(scene: Scene) -> None:
    sha256 = "a" * 64
    scene.server.faults[f"index/{sha256}"] = announces(10**9)
    assert refused(lambda: scene.door.file(f"index/{sha256}")) == "fetch-too-large"


def test_after_a_restart_without_the_other_registry_everything_verified_is_there(scene: Scene) -> None:
    scene.server.faults |= dict.fromkeys(["head", *scene.server.files], status(503))
    after = scene.again()
    after.refresh()
    assert after.trouble is not None
    assert after.file("head") == scene.registry.files["head"]
    assert after.blob(hashlib.sha256(BYTES).hexdigest(), lambda _: True) == BYTES
    for path in scene.registry.files:
        if path.startswith(("tile/0", "root/", "config", "checkpoint")):
            assert after.file(path) == scene.registry.files[path]


def test_a_release_that_is_dated_back_is_as_young_as_its_place_in_the_log(scene: Scene) -> None:
    strict = door_to(scene.folder, scene.server.url, scene.registry.fingerprint, minimum_release_age=24 * 3600)
    strict.refresh()
    scene.publish(TWO, OTHER, time=scene.registry.now - timedelta(days=30))
    strict.refresh()
    (held,) = strict.held(scene.index(TWO))
    assert held.why == "it is younger than 24 hours,"
    assert refused(lambda: strict.blob(hashlib.sha256(OTHER).hexdigest(), lambda _: True)) == "release-held"
    scene.door.refresh()
    assert scene.door.held(scene.index(TWO)) == []  # the control, without that rule


@pytest.mark.parametrize("signs_again", [False, True])
def test_after_a_quiet_time_a_release_that_is_dated_back_is_as_young_as_well(scene: Scene, signs_again: bool) -> None:
    """The log has not grown for ten days, so its last size was first seen then: what counts is when it was seen last."""
    clock = [scene.registry.now]
    days = {"minimum_release_age": 3 * 86400}
    strict = door_to(scene.folder, scene.server.url, scene.registry.fingerprint, now=lambda: clock[0], **days)
    strict.refresh()
    clock[0] += timedelta(days=10)
    scene.registry.now += timedelta(days=10)
    if signs_again:
        scene.registry.publish()
        scene.server.serve(scene.registry.files)
    strict.refresh()
    scene.publish(TWO, OTHER, time=scene.registry.now - timedelta(days=5))
    strict.refresh()
    (held,) = strict.held(scene.index(TWO))
    assert held.why == "it is younger than 3 days,"
    assert strict.held(scene.index(ONE)) == []  # the control: that one is older
    clock[0] += timedelta(days=3, hours=1)
    assert strict.held(scene.index(TWO)) == []


def test_the_same_bytes_in_a_release_that_is_not_held_are_served(scene: Scene) -> None:
    scene.publish(TWO, BYTES)
    strict = door_to(scene.folder, scene.server.url, scene.registry.fingerprint, block=(f"{ONE}@1.0.0",))
    strict.refresh()
    assert refused(lambda: strict.blob(hashlib.sha256(BYTES).hexdigest(), lambda _: True)) == "release-held"
    strict.file(f"index/{scene.index(TWO)}")
    assert strict.blob(hashlib.sha256(BYTES).hexdigest(), lambda _: True) == BYTES


def test_while_the_other_registry_stalls_nobody_waits_for_what_is_here(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where more people wait for something else than there are threads."""
    patient = replace(pulling.LIMITS, answer_seconds=60.0, file_seconds=60.0, stall_seconds=60.0, total_seconds=90.0)
    monkeypatch.setattr(pulling, "LIMITS", patient)
    scene.server.faults |= {f"index/{digit * 64}": silent for digit in "0123456789"}
    upstream = Upstream(address=scene.server.url, fingerprint=scene.registry.fingerprint, namespaces=("tools",))
    settings = Settings(data=scene.folder, upstream=(upstream,), upstream_threads=2, upstream_waiting=20)
    many = Doors(settings, Folder(scene.folder / "upstream", private=True), "own.example", lambda _: False)
    (door,) = many.all
    door.refresh()
    path = f"index/{scene.index(ONE)}"

    async def ask() -> None:
        def of(digit: str) -> Callable[[], bytes]:
            return lambda: door.file(f"index/{digit * 64}")

        waiting = [asyncio.create_task(many.ask(door, digit, of(digit))) for digit in "0123456789"]
        await asyncio.sleep(0.1)
        began = time.monotonic()
        assert await many.ask(door, path, lambda: door.file(path)) == scene.registry.files[path]
        await many.ask(door, "blob", lambda: door.blob(hashlib.sha256(BYTES).hexdigest(), lambda _: True))
        assert time.monotonic() - began < 30
        assert not any(one.done() for one in waiting)
        scene.server.closing.set()  # ends the silence
        assert all(isinstance(one, RyeError) for one in await asyncio.gather(*waiting, return_exceptions=True))

    asyncio.run(ask())
    many.stop()


def test_many_who_ask_for_one_file_cost_one_request(scene: Scene) -> None:
    scene.publish(TWO, OTHER)
    scene.door.refresh()
    scene.door.file(f"index/{scene.index(TWO)}")
    sha256 = hashlib.sha256(OTHER).hexdigest()
    path, ready = wire.blob_path(sha256), threading.Event()

    def slow(connection: object) -> None:
        ready.wait(1)
        answer(connection, 200, OTHER)  # type: ignore[arg-type]

    scene.server.faults[path] = slow
    upstream = Upstream(address=scene.server.url, fingerprint=scene.registry.fingerprint, namespaces=("tools",))
    settings = Settings(data=scene.folder, upstream=(upstream,), upstream_waiting=2)
    many = Doors(settings, Folder(scene.folder / "upstream", private=True), "own.example", lambda _: False)
    (door,) = many.all
    door.refresh()

    async def ask_often() -> list[bytes]:
        asking = [many.ask(door, sha256, lambda: door.blob(sha256, lambda _: True)) for _ in range(40)]
        running = asyncio.gather(*asking)
        await asyncio.sleep(0.2)
        ready.set()
        return await running

    assert asyncio.run(ask_often()) == [OTHER] * 40
    assert [request.path for request in scene.server.seen].count(path) == 1
    many.stop()


@pytest.mark.parametrize(
    "origin", ["registry.example", "registry.example/blobs", "registry.example/owners", "own.example"]
)
def test_an_upstream_takes_no_place_of_another_one_and_not_the_name_of_this_registry(scene: Scene, origin: str) -> None:
    """Each registry chooses its own origin. Under ``registry.example/blobs``, one got the requests for the other's bytes; with an
    origin twice in it, no client could read ``upstreams.json`` any more, and nobody pinned the company's registry."""
    strange = SimulatedRegistry(origin=origin, now=scene.registry.now, owners=[key("thief 1"), key("thief 2")])
    strange.claim("games")
    strange.publish()
    with HostileServer() as other:
        other.serve(strange.files)
        honest = Upstream(address=scene.server.url, fingerprint=scene.registry.fingerprint, namespaces=("tools",))
        hostile = Upstream(address=other.url, fingerprint=strange.fingerprint, namespaces=("games",))
        for order in ((honest, hostile), (hostile, honest)):
            settings = Settings(data=scene.folder, upstream=order)
            many = Doors(settings, Folder(scene.folder / "upstream", private=True), "own.example", lambda _: False)
            for door in many.all:
                door.refresh()
                assert door.trouble is None
            first = honest if origin == "own.example" else order[0]
            listed = wire.encode_json(many.offered())
            assert [one.fingerprint for one in decode_upstreams(listed)] == [first.fingerprint]
            for path in ("head", wire.blob_path(hashlib.sha256(BYTES).hexdigest()), "owners/head"):
                for place in (origin, scene.registry.origin):
                    found = many.find(f"/upstream/{place}/{path}")
                    assert found is None or found[0].rules == first
            (warning,) = many.warnings()
            assert (other.url if first is honest else scene.server.url) in warning
            many.stop()
