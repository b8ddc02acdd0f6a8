"""Files that come with statements are counted as long as they are there, whatever happens while the statements are examined."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from registry_server.accounts import registry_keys
from registry_server.accounts.quotas import Quotas
from registry_server.api.examination import Examination
from registry_server.api.examiners import NOBODY
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer, expiring_since
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import MIB
from rye.registry.protocol import wire
from rye.registry.protocol.statements import AttachedFile, Release
from rye.signing.sign_item import sign
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code, now
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes

OTHER = b"a file that no statement refers to"
SIGNED = now()
SHA256 = hashlib.sha256(OTHER).hexdigest()
ONE = hashlib.sha256(b"1").hexdigest()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path / "data") as made:
        made.service._sweep()  # the next listing is a minute away
        yield made


@pytest.fixture
def acme(local: LocalRegistry) -> Publisher:
    return local.owner("acme")


def body(note: str, *files: bytes) -> dict[str, list[str]]:
    return {"notes": [note], "blobs": [base64.b64encode(data).decode() for data in files]}


def kept(local: LocalRegistry) -> list[str]:
    return sorted(path for path, _, _ in local.service.uploads.listing())


def counted(local: LocalRegistry) -> int:
    return local.service.quotas._kept.total()


class Held:
    """Holds the first call, before or after its work, until told to go on: unless said otherwise, the first examination."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        kind: type = Examination,
        name: str = "look_into",
        *,
        before: bool = True,
    ) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        work = getattr(kind, name)

        def slowly(*values: Any, **options: Any) -> Any:
            if before:
                self.wait()
            result = work(*values, **options)
            if not before:
                self.wait()
            return result

        monkeypatch.setattr(kind, name, slowly)

    def wait(self) -> None:
        if not self.begun.is_set():
            self.begun.set()
            assert self.end.wait(20)


@pytest.mark.parametrize("way", ["put", "with statements"])
def test_a_refused_request_does_not_uncount_what_another_kept_meanwhile(
    way: str, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = ({"Authorization": f"Bearer {local.token()}"} for _ in range(2))
    data = acme.file("a/good")
    good = body(acme.note(acme.release("a/good", data)), data, OTHER)
    bad = body(acme.note(acme.release("a/bad", b"not sent")), OTHER)
    held = Held(monkeypatch)

    async def ask() -> httpx.Response:
        refused = asyncio.create_task(local.client.post("/api/v1/statements", headers=one, json=bad))
        assert await asyncio.to_thread(held.begun.wait, 20)
        if way == "put":
            answer = await local.client.put(f"/api/v1/blobs/{SHA256}", headers=two, content=OTHER)
        else:
            answer = await local.client.post("/api/v1/statements", headers=two, json=good)
        assert answer.is_success
        held.end.set()
        return await refused

    assert error_code(local.loop.run_until_complete(ask())) == "blob-missing"
    local.service.sequencer.stop()  # its clean-up comes after the answer
    assert kept(local) == [SHA256]
    assert counted(local) == len(OTHER)


def test_a_listing_does_not_uncount_what_is_still_being_examined(
    local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = acme.file("a/good")
    good = body(acme.note(acme.release("a/good", data)), data, OTHER)
    headers = {"Authorization": f"Bearer {local.token()}"}
    held = Held(monkeypatch)

    async def ask() -> httpx.Response:
        asked = asyncio.create_task(local.client.post("/api/v1/statements", headers=headers, json=good))
        assert await asyncio.to_thread(held.begun.wait, 20)
        await asyncio.to_thread(lambda: local.service._sweep(always=True))
        held.end.set()
        return await asked

    assert local.loop.run_until_complete(ask()).status_code == 200
    local.service.sequencer.stop()  # its clean-up comes after the answer
    assert kept(local) == [SHA256]
    assert counted(local) == len(OTHER)


def test_a_listing_does_not_uncount_what_was_written_while_it_ran(
    local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, data = local.token(), acme.file("a/good")
    good = body(acme.note(acme.release("a/good", data)), data, OTHER)
    listing = Folder.listing

    def slowly(store: Folder, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        found = list(listing(store, prefix))
        assert local.post("/api/v1/statements", token, json=good).status_code == 200
        return iter(found)

    monkeypatch.setattr(Folder, "listing", slowly)
    local.service._sweep(always=True)
    monkeypatch.undo()
    local.service.sequencer.stop()  # its clean-up comes after the answer
    assert kept(local) == [SHA256]
    assert counted(local) == len(OTHER)


@pytest.mark.parametrize("when", ["listed", "under way"])
def test_what_is_brought_again_while_a_sweep_runs_stays(
    local: LocalRegistry, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Else a batch that finds it in this moment would lose it."""
    assert local.blob(OTHER, local.token()).status_code == 201
    local.service.uploads.make_older(SHA256, 0)
    listing, put_soon = Folder.listing, Folder.put_soon

    def then_uploaded(store: Folder, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        found = list(listing(store, prefix))
        local.service.quotas.keep(NOBODY.owner, SHA256, len(OTHER))
        store.put_soon(SHA256, OTHER)
        local.service.settle(NOBODY, [SHA256])
        return iter(found)

    def sweeping(store: Folder, path: str, content: bytes) -> None:
        local.service._sweep(always=True)
        assert store.get(path) == content, "a request is about to write it"
        put_soon(store, path, content)

    if when == "listed":
        monkeypatch.setattr(Folder, "listing", then_uploaded)
        local.service._sweep(always=True)
    else:
        monkeypatch.setattr(Folder, "put_soon", sweeping)
        assert local.blob(OTHER, local.token()).status_code == 201
    assert kept(local) == [SHA256]
    assert counted(local) >= len(OTHER)


def test_files_that_were_written_before_the_disk_was_full_count(
    local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = acme.file("a/good")
    put_soon = Folder.put_soon

    def full(store: Folder, path: str, content: bytes) -> None:
        if content == data:
            raise RyeError("storage-full", "The disk is full.", "Free some space.")
        put_soon(store, path, content)

    monkeypatch.setattr(Folder, "put_soon", full)
    refused = local.post(
        "/api/v1/statements", local.token(), json=body(acme.note(acme.release("a/good", data)), OTHER, data)
    )
    assert error_code(refused) == "storage-full"
    assert kept(local) == [SHA256]
    assert counted(local) == len(OTHER)


def test_a_publish_that_is_sent_again_leaves_no_upload(local: LocalRegistry, acme: Publisher) -> None:
    token, data = local.token(), acme.file("a/good")
    good = body(acme.note(acme.release("a/good", data)), data)
    assert local.post("/api/v1/statements", token, json=good).status_code == 200
    local.service.sequencer.stop()  # its clean-up comes after the answer
    local.service.sequencer.start()
    again = local.post("/api/v1/statements", token, json=good)
    assert again.json()["results"][0]["duplicate"]
    local.service.sequencer.stop()
    assert kept(local) == []
    assert counted(local) == 0


class TestCancelled:
    """A request that ends because its client has left. Nothing stops a thread: what is held for it is held until it is over."""

    @staticmethod
    def cancel(local: LocalRegistry, held: Held, method: str, path: str, **options: Any) -> None:
        """Cancel a request at the moment that ``held`` is for, then let its thread go on."""
        headers = {"Authorization": f"Bearer {local.token()}"}

        async def ask() -> None:
            asked = asyncio.create_task(local.client.request(method, path, headers=headers, **options))
            assert await asyncio.to_thread(held.begun.wait, 20)
            asked.cancel()
            await asyncio.sleep(0.05)
            asked.cancel()
            await asyncio.sleep(0.05)
            assert local.service._writing == 1, "its slot is taken as long as it writes"
            held.end.set()
            with pytest.raises(asyncio.CancelledError):
                await asked

        local.loop.run_until_complete(ask())
        assert local.service._writing == 0
        assert local.service.quotas._at_work == {}

    @pytest.mark.parametrize("way", ["reserving", "examining", "sweeping"])
    def test_files_with_statements(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        data, large = acme.file("a/good"), bytes(MIB)
        sent = body(acme.note(acme.release("a/good", data)), data, large)
        if way == "reserving":
            held = Held(monkeypatch, Quotas, "reserve", before=False)
        elif way == "examining":
            held = Held(monkeypatch)
        else:
            monkeypatch.setattr(local.service, "_is_sweep_due", lambda: True)
            held = Held(monkeypatch, Quotas, "keep", before=False)
        self.cancel(local, held, "POST", "/api/v1/statements", json=sent)
        assert counted(local) == sum(size for _, size, _ in local.service.uploads.listing())
        assert local.service.quotas.written() == set(kept(local)), "no request writes any of them"
        local.service.uploads.delete_all(kept(local))
        local.service._sweep(always=True)
        assert (counted(local), local.service.quotas.kept_bytes) == (0, 0)

    def test_an_upload(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cancel(local, Held(monkeypatch, Folder, "put_soon"), "PUT", f"/api/v1/blobs/{SHA256}", content=OTHER)
        assert kept(local) == [SHA256]
        assert counted(local) == len(OTHER)


class TestSentAgain:
    """A publish that is sent again brings back public files that the store has lost, as after an incomplete restore."""

    @pytest.fixture
    def good(self, local: LocalRegistry, acme: Publisher) -> tuple[dict[str, list[str]], bytes, str]:
        """A publish that is in the log: the request, its file, and the path at which it is public."""
        data = acme.file("a/good")
        sent = body(acme.note(acme.release("a/good", data)), data)
        assert local.post("/api/v1/statements", local.token(), json=sent).status_code == 200
        local.service.sequencer.stop()  # its clean-up comes after the answer
        local.service.sequencer.start()
        return sent, data, wire.blob_path(hashlib.sha256(data).hexdigest())

    @staticmethod
    def rest(local: LocalRegistry) -> None:
        local.service.sequencer.stop()
        assert (kept(local), counted(local)) == ([], 0)

    @pytest.mark.parametrize("state", rest_thorough(2, ["lost", "damaged", "whole"]))
    @pytest.mark.parametrize("way", ["with statements", "before a sweep", "put", "with others"])
    def test_its_file_is_public_when_it_is_answered(
        self,
        local: LocalRegistry,
        acme: Publisher,
        good: tuple[dict[str, list[str]], bytes, str],
        monkeypatch: pytest.MonkeyPatch,
        state: str,
        way: str,
    ) -> None:
        (sent, data, path), token, durable = good, local.token(), list[str]()
        if state == "lost":
            local.service.public.delete(path)
        elif state == "damaged":
            local.service.public.put(path, b"damaged")
        put_all = Folder.put_all

        def putting(store: Folder, objects: Any, ahead: Any = ()) -> None:
            objects = list(objects)
            put_all(store, objects, ahead)
            durable.extend(path for path, _ in objects)

        monkeypatch.setattr(Folder, "put_all", putting)
        if way == "before a sweep":
            monkeypatch.setattr(local.service, "_is_sweep_due", lambda: True)
        elif way == "put":
            assert local.blob(data, token).is_success
            sent = {**sent, "blobs": []}
        elif way == "with others":
            other = acme.file("a/other")
            more = body(acme.note(acme.release("a/other", other)), other)
            sent = {name: sent[name] + more[name] for name in sent}
        answer = local.post("/api/v1/statements", token, json=sent)
        assert answer.json()["results"][0]["duplicate"], answer.text
        assert local.get(f"/{path}").content == data
        if way != "with others":  # that one links files of its batch
            assert (path in durable) == (state != "whole")
        self.rest(local)

    def test_what_was_taken_down_does_not_come_back(
        self, local: LocalRegistry, acme: Publisher, good: tuple[dict[str, list[str]], bytes, str]
    ) -> None:
        sent, data, path = good
        run("takedown", hashlib.sha256(data).hexdigest(), "--reason", "A key.", "--data", str(local.data))
        assert local.service.public.get(path) is None
        local.post("/api/v1/statements", local.token(), json=sent)
        assert local.service.public.get(path) is None

    def test_an_upload_that_a_power_cut_damaged_replaces_nothing(
        self, local: LocalRegistry, good: tuple[dict[str, list[str]], bytes, str]
    ) -> None:
        sent, data, path = good
        local.service.uploads.put_soon(hashlib.sha256(data).hexdigest(), b"damaged")
        assert local.post("/api/v1/statements", local.token(), json=sent).status_code == 200
        assert local.service.public.get(path) == data


class TestRefused:
    """A request that the log refuses after its files were kept gives their room back: they expire in some minutes."""

    @pytest.fixture
    def other(self, local: LocalRegistry, acme: Publisher) -> dict[str, list[str]]:
        """A request that passes every examination, of a version that is in the log with other bytes."""
        assert local.publish(acme, "a/good", local.token()).status_code == 200
        self.rest(local)
        data = acme.file("a/good", text="Other work")
        return body(acme.note(acme.release("a/good", data)), data)

    @staticmethod
    def rest(local: LocalRegistry) -> None:
        local.service.sequencer.stop()  # its clean-up comes after the answer
        local.service.sequencer.start()

    @staticmethod
    def sweep(local: LocalRegistry, monkeypatch: pytest.MonkeyPatch, seconds: float = 630) -> None:
        """Look for expired uploads as after so many seconds."""
        now = time.time
        with monkeypatch.context() as moved:
            moved.setattr(time, "time", lambda: now() + seconds)
            local.service._sweep(always=True)

    @staticmethod
    def at_once(local: LocalRegistry, *bodies: dict[str, list[str]]) -> list[httpx.Response]:
        """Send requests of several tokens that become one batch."""
        headers = [{"Authorization": f"Bearer {local.token()}"} for _ in bodies]
        local.service.sequencer.stop()

        async def ask() -> list[httpx.Response]:
            asked = []
            for number, (header, one) in enumerate(zip(headers, bodies, strict=True), 1):
                posted = local.client.post("/api/v1/statements", headers=header, json=one)
                asked.append(asyncio.create_task(posted))
                while local.service.sequencer.waiting < number:
                    await asyncio.sleep(0.01)
            local.service.sequencer.start()
            return await asyncio.gather(*asked)

        return local.loop.run_until_complete(ask())

    def test_its_files_and_their_count_go(
        self, local: LocalRegistry, other: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = local.post("/api/v1/statements", local.token(), json=other)
        assert error_code(refused) == "version-exists"
        assert len(kept(local)) == 1, "a batch may have found it a moment ago"
        assert counted(local) > 0, "what is there counts"
        self.sweep(local, monkeypatch)
        assert (kept(local), counted(local)) == ([], 0)

    def test_no_batch_takes_what_is_about_to_go(self, local: LocalRegistry, acme: Publisher) -> None:
        """Else it could be deleted after the commit and before it is public."""
        assert local.publish(acme, "a/one", local.token()).status_code == 200
        two, one = acme.file("a/two"), acme.file("a/one", text="Other work")
        both = body(acme.note(acme.release("a/two", two)), two, one)
        both["notes"].append(acme.note(acme.release("a/one", one)))
        assert error_code(local.post("/api/v1/statements", local.token(), json=both)) == "version-exists"
        alone = body(acme.note(acme.release("a/two", two)))
        assert error_code(local.post("/api/v1/statements", local.token(), json=alone)) == "blob-missing"
        again = body(acme.note(acme.release("a/two", two)), two)
        assert local.post("/api/v1/statements", local.token(), json=again).status_code == 200

    @pytest.mark.parametrize("first", ["refused", "accepted"])
    def test_what_another_request_of_the_batch_brought_as_well_is_published(
        self, local: LocalRegistry, acme: Publisher, other: dict[str, list[str]], first: str
    ) -> None:
        data = acme.file("a/shared")
        good = body(acme.note(acme.release("a/shared", data)), data)
        bad = {name: other[name] + good[name] for name in other}
        bodies = [bad, good] if first == "refused" else [good, bad]
        codes = sorted(answer.status_code for answer in self.at_once(local, *bodies))
        assert codes == [200, 409]
        assert local.get(f"/{wire.blob_path(hashlib.sha256(data).hexdigest())}").content == data

    def test_of_two_refused_requests_the_last_gives_back(
        self, local: LocalRegistry, other: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert [answer.status_code for answer in self.at_once(local, other, other)] == [409, 409]
        self.sweep(local, monkeypatch)
        assert (kept(local), counted(local)) == ([], 0)

    @pytest.mark.parametrize("way", ["by itself", "meanwhile", "before the start"])
    def test_what_somebody_uploaded_for_later_stays(
        self, local: LocalRegistry, other: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        other["blobs"].append(base64.b64encode(OTHER).decode())
        submit = local.service.sequencer.submit

        def uploading(*values: Any) -> Future[Receipt]:
            local.service.keep_upload(NOBODY, SHA256, OTHER)
            return submit(*values)

        if way == "meanwhile":
            monkeypatch.setattr(local.service.sequencer, "submit", uploading)
        elif way == "before the start":
            local.service.uploads.put_soon(SHA256, OTHER)
        else:
            assert local.blob(OTHER, local.token()).status_code == 201
        assert error_code(local.post("/api/v1/statements", local.token(), json=other)) == "version-exists"
        self.sweep(local, monkeypatch)
        assert kept(local) == [SHA256]

    @pytest.mark.parametrize("is_local", [True, False], ids=["before a sweep", "bucket"])
    def test_files_that_stay_for_a_day_count_for_who_sent_them_and_are_bounded(
        self, local: LocalRegistry, other: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, is_local: bool
    ) -> None:
        """In a bucket, and when a sweep is due, a refused request's files do not expire sooner than others."""
        service, token = local.service, local.token()
        monkeypatch.setattr(service.uploads, "is_local", is_local)
        monkeypatch.setattr(service.quotas, "_uploads_bytes", 250_000)
        if is_local:
            monkeypatch.setattr(service, "_is_sweep_due", lambda: True)
        codes, sizes = [], 0
        for number in range(4):
            more = bytes([number]) * 100_000
            sent = {**other, "blobs": [*other["blobs"], base64.b64encode(more).decode()]}
            codes.append(error_code(local.post("/api/v1/statements", token, json=sent)))
            sizes = sum(size for _, size, _ in service.uploads.listing())
            assert counted(local) == service.quotas.kept_bytes == sizes
        assert codes == ["version-exists", "version-exists", "uploads-full", "uploads-full"]
        assert 200_000 < sizes < 250_000
        assert local.blob(b"another's", local.token()).status_code == 201
        self.sweep(local, monkeypatch, seconds=25 * 3600)
        assert (kept(local), counted(local), service.quotas.kept_bytes) == ([], 0, 0)

    @pytest.mark.parametrize("code", ["publish-timeout", "storage-full", "writer-silent"])
    def test_files_of_a_request_that_may_be_in_the_log_stay(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch, code: str
    ) -> None:
        """It may have been committed, and nothing of it be public yet."""
        data = acme.file("a/good")

        async def wait(future: Future[Any], _seconds: float) -> None:
            future.cancel()
            if code == "publish-timeout":
                raise TimeoutError
            raise RyeError(code, "It failed.", "Try again.")

        monkeypatch.setattr(local.service.sequencer, "submit", lambda *_values: Future())
        monkeypatch.setattr(local.service.answers, "wait", wait)
        sent = body(acme.note(acme.release("a/good", data)), data)
        assert error_code(local.post("/api/v1/statements", local.token(), json=sent)) == code
        self.sweep(local, monkeypatch)
        assert len(kept(local)) == 1
        assert counted(local) == len(data)


class TestKilled:
    """A server that is killed between a batch's commit and its clean-up leaves uploads of public files. The next start deletes
    them, and nothing else."""

    @staticmethod
    def killed(data: Path) -> Publisher:
        """Publish one release, and end before the clean-up; another upload waits."""
        acme = Publisher("acme")
        with LocalRegistry(data) as local:
            sequencer = local.service.sequencer
            sequencer.append([[acme.claim_candidate()]])
            local.service.uploads.put_soon(ONE, b"1")
            local.service.uploads.put_soon(SHA256, OTHER)
            (receipt,) = sequencer.work([[acme.candidate("a/one", sha256=ONE)]], None)
            assert isinstance(receipt, Receipt)
            assert kept(local) == sorted([ONE, SHA256])
        return acme

    def test_a_start_deletes_what_is_public(self, tmp_path: Path) -> None:
        self.killed(tmp_path / "data")
        with LocalRegistry(tmp_path / "data", make=False) as local:
            assert kept(local) == [SHA256]
            assert local.service.quotas.kept_bytes == len(OTHER)
            assert local.get(f"/{wire.blob_path(ONE)}").content == b"1"

    def test_while_the_store_shows_less_nothing_is_deleted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.killed(tmp_path / "data")
        monkeypatch.setattr(Sequencer, "is_shown", lambda _sequencer: False)
        with LocalRegistry(tmp_path / "data", make=False) as local:
            assert kept(local) == sorted([ONE, SHA256])

    @pytest.mark.parametrize("step", ["begun", "appended", "committed"])
    def test_a_batch_of_another_server_keeps_its_file(self, tmp_path: Path, step: str) -> None:
        """Another release of the same bytes, whose batch may have found the upload already."""
        acme = self.killed(tmp_path / "data")
        with LocalRegistry(tmp_path / "data", make=False) as local:
            service = local.service
            service.uploads.put_soon(ONE, b"1")

            def starting(now: str) -> None:
                if now == step:
                    assert service._newest_blobs() == {ONE}
                    service._sweep(always=True, left=frozenset({ONE}))
                    assert kept(local) == ([SHA256] if step != "committed" else sorted([ONE, SHA256]))

            keys = registry_keys.in_folder(service.settings.keys, "log")
            stores = Folder(service.settings.public), Folder(service.settings.uploads)
            other = Sequencer(service.engine, *stores, keys, service.settings, fault=starting)
            (receipt,) = other.append([[acme.candidate("a/two", sha256=ONE)]])
            assert isinstance(receipt, Receipt)
            assert local.get(f"/{wire.blob_path(ONE)}").content == b"1"
            with database.reader(service.engine) as connection:
                assert audit.verify(Ledger(connection), service.public) == []


def test_staging_takes_no_upload_away_from_a_batch_that_has_found_it(
    local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, token = acme.file("a/good"), local.token()
    release = acme.release("a/good", data)
    account = local.service.account(token)
    assert account is not None
    uploaded = Sequencer._uploaded

    def staged_meanwhile(sequencer: Sequencer, *values: Any) -> frozenset[str]:
        found = uploaded(sequencer, *values)
        local.service.let_go(account, local.service.staging._keep([release]))
        return found

    monkeypatch.setattr(Sequencer, "_uploaded", staged_meanwhile)
    answer = local.post("/api/v1/statements", token, json=body(acme.note(release), data))
    assert answer.status_code == 200
    assert local.service.public.get(wire.blob_path(release.file.sha256)) == data


@pytest.mark.parametrize("stands_for_a_bucket", [False, True])
def test_an_expired_upload_that_is_brought_again_during_the_listing_stays(
    local: LocalRegistry, monkeypatch: pytest.MonkeyPatch, stands_for_a_bucket: bool
) -> None:
    """A bucket deleted what the listing had found to be a day old, whatever was there by then."""
    service, store = local.service, local.service.uploads
    for content in (b"1", OTHER):
        store.put_soon(hashlib.sha256(content).hexdigest(), content)
    long_ago = time.time() - 25 * 3600
    for path in (ONE, SHA256):
        store.make_older(path, long_ago)
    listing = Folder.listing

    def brought_again(folder: Folder, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        rows = list(listing(folder, prefix))
        folder.put_soon(SHA256, OTHER)
        return iter(rows)

    monkeypatch.setattr(Folder, "listing", brought_again)
    monkeypatch.setattr(Folder, "is_local", not stands_for_a_bucket)
    service._sweep(always=True)
    monkeypatch.setattr(Folder, "listing", listing)
    assert kept(local) == [SHA256]
    assert service.quotas.kept_bytes == len(OTHER)


class TestStaged:
    """What is staged is kept elsewhere, so its upload expires soon, unless somebody else waits for it."""

    @staticmethod
    def skill(publisher: Publisher) -> tuple[bytes, Release]:
        """A skill with an attached file, the same one each time."""
        text = "---\nname: pdf\ndescription: Work\nmetadata:\n  version: 1.0.0\n---\n\n# pdf\n"
        data = sign(text, "skill", "SKILL.md", publisher.key, SIGNED).encode()
        release = publisher.release("pdf", data, identity=Identity("skill", f"{publisher.namespace}/pdf"))
        attached = AttachedFile("notes.txt", len(OTHER), SHA256)
        return data, replace(
            release, file=replace(release.file, suffix="SKILL.md"), attached=(attached,), capabilities=()
        )

    def stage(self, local: LocalRegistry, publisher: Publisher, token: str) -> None:
        data, draft = self.skill(publisher)
        assert local.blob(data, token).status_code == 201
        answer = local.post("/api/v1/stages", token, json={"drafts": [draft.text()]})
        assert answer.status_code == 201, answer.text

    @pytest.mark.parametrize("uploaders", ["other", "other staging", "staging other"])
    def test_what_another_waits_for_stays(self, local: LocalRegistry, acme: Publisher, uploaders: str) -> None:
        """Attack: someone stages a release of their own with the file that another has just uploaded."""
        tokens = {"other": local.token(), "staging": local.token("evil", scopes=["stage"])}
        data, release = self.skill(acme)
        assert local.blob(data, tokens["other"]).status_code == 201
        for who in uploaders.split():
            assert local.blob(OTHER, tokens[who]).status_code == 201
        self.stage(local, local.owner("evil"), tokens["staging"])
        published = local.statements(tokens["other"], acme.note(release))
        assert published.status_code == 200, published.text
        assert local.get(f"/{wire.blob_path(SHA256)}").content == OTHER

    def test_what_nobody_else_waits_for_expires_soon(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token("acme", scopes=["stage"])
        assert local.blob(OTHER, token).status_code == 201
        self.stage(local, acme, token)
        times = [local.service.uploads.modified(sha256) for sha256 in kept(local)]
        assert len(times) == 2
        assert all(time is not None and time <= expiring_since(local.service.settings) for time in times)

    def approve(self, local: LocalRegistry, acme: Publisher, token: str) -> httpx.Response:
        """Stage a skill with another token, and approve it with this one."""
        ci = local.token("acme", scopes=["stage"])
        assert local.blob(OTHER, ci).status_code == 201
        self.stage(local, acme, ci)
        (row,) = local.get("/api/v1/stages", ci).json()["stages"]
        _, draft = self.skill(acme)
        note = acme.note(replace(draft, time=now()))
        return local.post(f"/api/v1/stages/{row['id']}/approvals", token, json={"note": note})

    def test_what_is_approved_counts_until_it_is_public(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token, counts = local.token("acme"), list[int]()
        account = local.service.account(token)
        assert account is not None
        submit = local.service.sequencer.submit

        def counting(*values: Any) -> Future[Receipt]:
            counts.append(local.service.quotas._kept[account.owner])
            return submit(*values)

        monkeypatch.setattr(local.service.sequencer, "submit", counting)
        assert self.approve(local, acme, token).status_code == 200
        assert counts == [len(self.skill(acme)[0]) + len(OTHER)]
        local.service.sequencer.stop()  # its clean-up comes after the answer
        assert (kept(local), counted(local)) == ([], 0)

    def test_approving_does_not_exceed_the_account_s_share(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token = local.token("acme")
        assert local.blob(bytes(1000), token).status_code == 201
        monkeypatch.setattr(local.service.quotas, "_uploads_bytes", 1100)
        refused = self.approve(local, acme, token)
        assert (refused.status_code, error_code(refused)) == (507, "uploads-full")
        monkeypatch.undo()
        assert self.approve_again(local, acme, token).status_code == 200

    def approve_again(self, local: LocalRegistry, acme: Publisher, token: str) -> httpx.Response:
        (row,) = local.get("/api/v1/stages", token).json()["stages"]
        _, draft = self.skill(acme)
        note = acme.note(replace(draft, time=now()))
        return local.post(f"/api/v1/stages/{row['id']}/approvals", token, json={"note": note})

    def test_what_the_log_refuses_after_its_approval_expires_soon(
        self, local: LocalRegistry, acme: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refusing(*_values: Any) -> Future[Receipt]:
            future: Future[Receipt] = Future()
            future.set_exception(RyeError("version-exists", "It is published.", "Raise the version."))
            return future

        monkeypatch.setattr(local.service.sequencer, "submit", refusing)
        assert error_code(self.approve(local, acme, local.token("acme"))) == "version-exists"
        times = [local.service.uploads.modified(sha256) for sha256 in kept(local)]
        assert times
        assert all(time is not None and time <= expiring_since(local.service.settings) for time in times)
