"""Answers to reads: tags from names, weak validators, ranges, compression, CORS, and no tile cached before a head covers it."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from registry_server.api import files
from registry_server.api.files import Files
from registry_server.api.reading import Compressed, ReadAnswer, ReadHeaders, answer
from registry_server.storage.objects import Folder
from registry_server.storage.served import Served, served
from rye.registry.protocol import joined, notes, wire
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import Checkpoint
from rye.signing.keys import PrivateKey
from tests.scenes.registry_process import ORIGIN

HASH = "ab" + "0" * 62
TEXT = b"a line of an index\n" * 200


def file(path: str) -> Served:
    found = served(path)
    assert found is not None
    return found


def ask(path: str = f"/index/{HASH}", content: bytes = TEXT, **asked: str) -> ReadAnswer:
    return answer(file(path), content, ReadHeaders(**asked), Compressed())


def header(made: ReadAnswer, name: str) -> str | None:
    values = [value.decode() for key, value in made.headers if key == name.encode()]
    assert len(values) <= 1
    return values[0] if values else None


def test_the_tag_of_a_file_that_never_changes_comes_from_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashed(*_: object) -> None:
        raise AssertionError("hashed")

    monkeypatch.setattr("hashlib.sha256", hashed)
    for path in (f"/index/{HASH}", f"/blobs/sha256/ab/{HASH}", "/tile/0/000", "/root/1"):
        tag = header(ask(path), "etag")
        assert tag == f'"{path[1:].replace("/", "-")}"'
    with pytest.raises(AssertionError):
        ask("/head")


@pytest.mark.parametrize("sent", ['"{tag}"', 'W/"{tag}"', '"other", W/"{tag}"', "*"])
def test_a_validator_matches_weakly(sent: str) -> None:
    made = ask(if_none_match=sent.format(tag=f"index-{HASH}"))
    assert (made.status, made.body) == (304, b"")
    assert header(made, "etag") == f'"index-{HASH}"'
    assert "immutable" in (header(made, "cache-control") or "")


@pytest.mark.parametrize("accepted", ["", "gzip", "zstd, gzip", "identity"])
@pytest.mark.parametrize("content", [b"short", b"long " * 1000])
def test_unchanged_has_the_tag_of_the_whole_answer(accepted: str, content: bytes) -> None:
    """RFC 9110 15.4.5. A cache would take the strong tag for the compressed bytes that it keeps."""
    whole = ask(content=content, accept_encoding=accepted)
    made = ask(content=content, accept_encoding=accepted, if_none_match=header(whole, "etag") or "")
    assert (made.status, header(made, "etag"), header(made, "vary")) == (
        304,
        header(whole, "etag"),
        header(whole, "vary"),
    )


def test_another_tag_does_not_match() -> None:
    assert ask(if_none_match='"other"').status == 200


@pytest.mark.parametrize(
    ("wanted", "status", "body", "place"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=3-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("items=0-1", 200, b"0123456789", None),
        ("bytes=0-" + "9" * 400, 200, b"0123456789", None),
    ],
)
def test_one_range_is_answered_and_nothing_else(wanted: str, status: int, body: bytes, place: str | None) -> None:
    made = ask(f"/blobs/sha256/ab/{HASH}", b"0123456789", range=wanted)
    assert (made.status, made.body, header(made, "content-range")) == (status, body, place)
    assert header(made, "content-length") == str(len(body))


def test_a_range_of_an_older_file_is_the_whole_new_one() -> None:
    assert ask(content=b"0123", range="bytes=0-1", if_range='"older"').status == 200
    assert ask(content=b"0123", range="bytes=0-1", if_range=f'"index-{HASH}"').status == 206
    assert (
        ask(content=b"0123", range="bytes=0-1", if_range=f'W/"index-{HASH}"').status == 200
    )  # a weak tag proves nothing


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("gzip, zstd", "zstd"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("zstd;q=0.1, gzip;q=0.5", "gzip"),
        ("br", None),
        ("gzip;q=0", None),
        ("gzip;q=x", None),
        ("", None),
    ],
)
def test_text_is_compressed_for_who_accepts_it(accepted: str, encoding: str | None) -> None:
    made = ask(accept_encoding=accepted)
    assert header(made, "content-encoding") == encoding
    assert header(made, "vary") == "Accept-Encoding"
    if encoding == "zstd":
        assert zstandard.decompress(made.body) == TEXT
    else:
        assert (gzip.decompress(made.body) if encoding else made.body) == TEXT
    assert header(made, "etag") == (f'W/"index-{HASH}"' if encoding else f'"index-{HASH}"')


def test_items_and_short_files_are_not_compressed() -> None:
    assert header(ask(f"/blobs/sha256/ab/{HASH}", accept_encoding="gzip"), "content-encoding") is None
    assert header(ask(content=b"short", accept_encoding="gzip"), "content-encoding") is None
    assert header(ask(accept_encoding="gzip", range="bytes=0-3"), "content-encoding") is None


def test_what_is_compressed_once_is_remembered_up_to_a_bound() -> None:
    compressed = Compressed(most_bytes=150)
    first = compressed.get("a", "gzip", TEXT)
    assert compressed.get("a", "gzip", b"never looked at") is first
    for name in "bcdef":
        compressed.get(name, "gzip", TEXT)
    assert compressed._bytes == sum(map(len, compressed._kept.values())) <= 150


def test_any_page_may_read() -> None:
    assert header(ask(), "access-control-allow-origin") == "*"


async def _call(
    app: Files, method: str, path: str, *headers: tuple[bytes, bytes]
) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> None:
        raise AssertionError("nothing to receive")

    await app({"type": "http", "method": method, "path": path, "headers": list(headers)}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


async def _behind(_scope: object, _receive: object, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"framework"})


def head(size: int) -> bytes:
    key = PrivateKey.generate()
    signer = Signer(VerifierKey(ORIGIN, key.public.raw), key.sign)
    return notes.sign(Checkpoint(ORIGIN, size, b"\0" * 32).text(), [signer]).encode().encode()


def test_a_tile_is_immutable_only_once_a_head_covers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_HEAD_SECONDS", 0.0)
    monkeypatch.setattr(files, "shown_checkpoint", lambda _path, data: Checkpoint.parse(notes.parse(data).text))
    store = Folder(tmp_path)
    app = Files(store, _behind)
    store.put_all([("head", head(7)), ("tile/0/000.p/7", b"7" * 224), ("tile/0/000.p/8", b"8" * 256),
                   ("tile/entries/000.p/8", b"e"), ("tile/1/000.p/1", b"1" * 32)])  # fmt: skip

    def is_immutable(path: str) -> bool:
        status, headers, _ = asyncio.run(_call(app, "GET", path))
        assert status == 200
        return b"immutable" in headers[b"cache-control"]

    covered = {path: is_immutable(path) for path in
               ("/tile/0/000.p/7", "/tile/0/000.p/8", "/tile/entries/000.p/8", "/tile/1/000.p/1")}  # fmt: skip
    assert covered == {
        "/tile/0/000.p/7": True,
        "/tile/0/000.p/8": False,
        "/tile/entries/000.p/8": False,
        "/tile/1/000.p/1": False,
    }
    store.put("head", head(256))
    assert all(map(is_immutable, covered))


def test_head_requests_and_preflights_have_no_body_and_the_rest_goes_to_the_framework(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put(f"index/{HASH}", b"0123")
    app = Files(store, _behind)
    status, headers, body = asyncio.run(_call(app, "HEAD", f"/index/{HASH}"))
    assert (status, headers[b"content-length"], body) == (200, b"4", b"")
    ranged = asyncio.run(_call(app, "HEAD", f"/index/{HASH}", (b"range", b"bytes=1-2")))
    assert (ranged[0], ranged[1][b"content-length"]) == (200, b"4")  # RFC 9110 §14.2: ranges are for GET
    status, headers, body = asyncio.run(_call(app, "OPTIONS", "/head"))
    assert (status, body) == (204, b"")
    assert b"GET" in headers[b"access-control-allow-methods"]
    for method, path in (("GET", "/head"), ("GET", "/nothing"), ("OPTIONS", "/api/v1/statements"), ("POST", "/head")):
        assert asyncio.run(_call(app, method, path))[0] == 404


def test_a_head_is_sent_as_it_is_in_the_store(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put("head", TEXT)
    status, headers, body = asyncio.run(_call(Files(store, _behind), "GET", "/head", (b"accept-encoding", b"zstd")))
    assert (status, zstandard.decompress(body)) == (200, TEXT)
    assert headers[b"cache-control"] == b"public, max-age=0, must-revalidate"
    assert len(TEXT) <= wire.MAX_HEAD_BYTES


class TestJoined:
    """Several files in one answer (:mod:`rye.registry.protocol.joined`)."""

    NAMES = tuple(f"{number:064x}" for number in range(20))

    @pytest.fixture
    def store(self, tmp_path: Path) -> Folder:
        store = Folder(tmp_path)
        for name in self.NAMES:
            store.put(f"map/{name}", name.encode())
        return store

    def asked(self, store: Folder, path: str, method: str = "GET") -> tuple[int, bytes, dict[bytes, bytes]]:
        """Status, body and headers; 404 where the request is passed on."""
        messages: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        async def behind(_scope: Any, _receive: Any, send: Any) -> None:
            await files.send_answer(send, ReadAnswer(404, (), b""))

        async def receive() -> None:
            raise AssertionError("no body is read")

        scope = {"type": "http", "method": method, "path": path, "headers": []}
        asyncio.run(Files(store, behind)(scope, receive, send))
        return messages[0]["status"], messages[1]["body"], dict(messages[0]["headers"])

    def test_they_come_in_the_order_of_the_path(self, store: Folder) -> None:
        status, body, headers = self.asked(store, f"/map/{'-'.join(reversed(self.NAMES))}")
        assert (status, joined.split(body, 20)) == (200, [name.encode() for name in reversed(self.NAMES)])
        assert headers[b"content-length"] == b"%d" % len(body)
        assert headers[b"cache-control"] == b"no-store"

    def test_one_that_is_missing_is_an_answer_for_none(self, store: Folder) -> None:
        assert self.asked(store, f"/map/{self.NAMES[0]}-{'f' * 64}")[0] == 404
        assert self.asked(store, f"/index/{'-'.join(self.NAMES)}")[0] == 404

    def test_a_short_question_has_no_long_answer(self, store: Folder) -> None:
        assert self.asked(store, f"/map/{'-'.join([self.NAMES[0]] * 20)}")[0] == 404

    def test_nobody_gets_more_than_the_limit(self, store: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        read: list[str] = []
        whole = Folder.get_all

        def get_all(self: Folder, paths: Sequence[str]) -> list[bytes | None]:
            read.extend(paths)
            return whole(self, paths)

        monkeypatch.setattr(Folder, "get_all", get_all)
        monkeypatch.setattr(files, "MOST_BYTES", 10 * 68)
        assert self.asked(store, f"/map/{'-'.join(self.NAMES[:10])}")[0] == 200
        read.clear()
        assert self.asked(store, f"/map/{'-'.join(self.NAMES)}")[0] == 404
        assert len(read) == 16, "no more is read than one step beyond it"

    def test_they_are_only_for_get(self, store: Folder) -> None:
        for method in ("POST", "HEAD", "OPTIONS"):
            assert self.asked(store, f"/map/{'-'.join(self.NAMES)}", method)[0] == 404
