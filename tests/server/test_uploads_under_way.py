"""Files that come with statements are counted as long as they are there, whatever happens while the statements are examined."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry_server.api.examination import Examination
from registry_server.storage.objects import Folder
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code

pytestmark = pytest.mark.processes

OTHER = b"a file that no statement refers to"
SHA256 = hashlib.sha256(OTHER).hexdigest()


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
    """Holds the first examination until told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        look_into = Examination.look_into

        def slowly(examination: Examination, *values: Any, **options: Any) -> Any:
            if not self.begun.is_set():
                self.begun.set()
                assert self.end.wait(20)
            return look_into(examination, *values, **options)

        monkeypatch.setattr(Examination, "look_into", slowly)


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
