"""``/git/NAMESPACE.git`` over HTTP (gitprotocol-http(5)): read-only, and only the smart protocol.

A request's body is read up to ``git_request_bytes`` and for at most ``request_seconds``; a gzipped body may not unpack
to more than the same size. At most ``git_sending`` packs are sent at a time; further requests are refused at once.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import parse_qs

from registry_server.api.files import Receive, Scope, Send
from registry_server.api.private_reading import kept_private
from registry_server.api.reading import ReadAnswer
from registry_server.api.requests import read_body
from registry_server.api.service import Service
from registry_server.interop import git_answers
from registry_server.interop.git_lines import Fetch, GitRefusal, ListRefs, read_lines, read_version_0, read_version_2
from registry_server.interop.git_objects import RepositorySnapshot
from registry_server.interop.interop_pool import MayRead
from registry_server.interop.paths import GitPack, GitRefs
from registry_server.sequencer.ledger import Ledger
from rye.errors import RyeError

_GZIP = 16 + zlib.MAX_WBITS
_MOST_QUERY = 200
_PIECE = 1 << 16


class GitReading:
    """Answers git. Belongs to one event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sending = 0

    async def refs(self, scope: Scope, wanted: GitRefs, may_read: MayRead) -> ReadAnswer:
        """Answer ``info/refs``. Raises RyeError."""
        asked = parse_qs(scope["query_string"].decode("latin-1")[:_MOST_QUERY]).get("service", [])
        if asked != ["git-upload-pack"]:
            raise RyeError(
                "git-dumb" if not asked else "git-read-only",
                "This repository is read-only and speaks only git's smart protocol.",
                f"git clone {self._service.address}/git/{wanted.namespace}.git",
            )
        snapshot = await self._newest(wanted.namespace, may_read)
        if _version(scope) == 2:
            body = git_answers.advertise_version_2()
        else:
            body = git_answers.advertise_version_0(snapshot.commit)
        return self._answer(200, git_answers.ADVERTISED, body)

    async def pack(
        self, scope: Scope, receive: Receive, send: Send, wanted: GitPack, reader: Callable[[], Awaitable[MayRead]]
    ) -> None:
        """Answer a POST to ``git-upload-pack``. ``reader``: looks up what the client may read, once the whole request is here.
        Raises RyeError before anything is sent."""
        headers = dict(scope["headers"])
        if headers.get(b"content-type", b"") != git_answers.ASKED.encode():
            raise RyeError("bad-request", f"The Content-Type of the request is not {git_answers.ASKED}.", None)
        body = await self._body(headers, receive)
        may_read = await reader()
        try:
            lines = read_lines(body)
            asked = read_version_2(lines) if _version(scope) == 2 else read_version_0(lines)
            if asked is None:
                pieces: Iterable[bytes] = ()
            elif isinstance(asked, ListRefs):
                snapshot = await self._newest(wanted.namespace, may_read)
                pieces = (git_answers.list_refs(asked, snapshot.commit),)
            else:
                pieces = await self._fetched(scope, asked, wanted.namespace, may_read)
        except GitRefusal as refusal:
            pieces = (git_answers.refused(str(refusal)),)
        await self._send(send, pieces)

    async def _fetched(self, scope: Scope, asked: Fetch, namespace: str, may_read: MayRead) -> Iterable[bytes]:
        wants = set(asked.wants)
        name = next(iter(wants))
        snapshot = await self._commit(namespace, name, may_read) if len(wants) == 1 else None
        if snapshot is None:
            raise GitRefusal(f"upload-pack: not our ref {name}")
        if _version(scope) == 2:
            return git_answers.fetched_version_2(asked, snapshot)
        return git_answers.fetched_version_0(asked, snapshot)

    async def _newest(self, namespace: str, may_read: MayRead) -> RepositorySnapshot:
        """Raises RyeError ``not-found``."""

        def work(ledger: Ledger, shown: int) -> RepositorySnapshot | None:
            return self._service.interop_pool.repositories.newest(ledger, shown, namespace)

        snapshot = await asyncio.wrap_future(self._service.interop_pool.ask(work)) if may_read(namespace) else None
        if snapshot is None:
            raise RyeError("not-found", f"There is no repository {namespace}.git here.", None)
        return snapshot

    async def _commit(self, namespace: str, name: str, may_read: MayRead) -> RepositorySnapshot | None:
        def work(ledger: Ledger, shown: int) -> RepositorySnapshot | None:
            return self._service.interop_pool.repositories.commit(ledger, shown, namespace, name)

        return await asyncio.wrap_future(self._service.interop_pool.ask(work)) if may_read(namespace) else None

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        settings = self._service.settings
        most = settings.git_request_bytes
        declared = headers.get(b"content-length", b"").decode("latin-1")
        body = await read_body(receive, declared, most, settings.request_seconds)
        encoding = headers.get(b"content-encoding", b"identity")
        if encoding == b"identity":
            return body
        if encoding not in (b"gzip", b"x-gzip"):
            raise RyeError("bad-request", "The only supported Content-Encoding for git requests is gzip.", None)
        return unpacked(body, most)

    async def _send(self, send: Send, pieces: Iterable[bytes]) -> None:
        if self._sending >= self._service.settings.git_sending:
            raise RyeError("busy", "The registry is sending too many repositories.", "Try again in a moment.")
        self._sending += 1
        try:
            start = self._answer(200, git_answers.RESULT, b"")
            headers = [(name, value) for name, value in start.headers if name != b"content-length"]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._sending -= 1

    def _answer(self, status: int, media_type: str, body: bytes) -> ReadAnswer:
        headers = (
            (b"content-type", media_type.encode()),
            (b"cache-control", b"no-cache"),
            (b"content-length", str(len(body)).encode()),
            (b"x-content-type-options", b"nosniff"),
        )
        answer = ReadAnswer(status, headers, body)
        return answer if self._service.settings.read == "public" else kept_private(answer)


def unpacked(body: bytes, most: int) -> bytes:
    """Unpack gzip: a single complete member of at most ``most`` bytes. Raises RyeError."""
    unpacking = zlib.decompressobj(_GZIP)
    try:
        content = unpacking.decompress(body, most + 1)
    except zlib.error:
        raise RyeError("bad-request", "The request body is not valid gzip.", None) from None
    if len(content) > most:
        raise RyeError("request-too-large", f"The request has more than {most:,} bytes.", None)
    if not unpacking.eof or unpacking.unused_data:
        raise RyeError("bad-request", "The request body is not valid gzip.", None)
    return content


def _version(scope: Scope) -> int:
    """The protocol version that the client asks for: 2, or 0 for anything else."""
    sent = next((value for name, value in scope["headers"] if name == b"git-protocol"), b"")
    return 2 if b"version=2" in sent[:_MOST_QUERY].split(b":") else 0
