"""The outer ASGI application: it serves static files and passes everything else to the framework.

Nearly all requests are reads, and they need no framework: match a path, read a small file, set headers. A path without
a file is passed to the framework, whose errors are the same for every path.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from registry_server.api.private_reading import kept_private, private_send
from registry_server.api.reading import PREFLIGHT, Compressed, ReadAnswer, answer, asked_by, joined_answer
from registry_server.sequencer.head_publication import shown_checkpoint
from registry_server.storage.objects import Objects
from registry_server.storage.served import Served, served, uncovered
from rye.errors import RyeError
from rye.limits import MIB
from rye.registry.protocol.joined import LENGTH_BYTES, MOST_BYTES, join, joined_files

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Gate = Callable[[Scope], Awaitable[ReadAnswer | None]]
"""Check whether a request may be answered; returns the refusal if not."""

_LARGE_BYTES = MIB // 4
"""Files from this size on are compressed in a thread."""
_AT_ONCE = 16
"""Files of one answer that are read at the same time."""
_HEAD_SECONDS = 0.5
"""How long the log size from the head is trusted before a tile beyond it causes another look."""


class Files:
    """Serves files from a store and passes other requests on."""

    def __init__(self, public: Objects, behind: Application, gate: Gate | None = None) -> None:
        """``gate``: the access check of a registry that is not public."""
        self._public = public
        self._behind = behind
        self._gate = gate
        self._compressed = Compressed()
        self._size = 0
        self._looked = -_HEAD_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file of the store; pass on any other (ASGI)."""
        if scope["type"] == "http":
            method = scope["method"]
            if self._gate is not None:
                refused = await self._gate(scope)
                if refused is not None:
                    await send_answer(send, refused if method != "HEAD" else replace(refused, body=b""))
                    return
            if method in ("GET", "HEAD", "OPTIONS"):
                file = served(scope["path"])
                if file is not None and method == "OPTIONS":
                    await send_answer(send, ReadAnswer(204, PREFLIGHT, b""))
                    return
                answer = await self._answer(file, scope) if file is not None else None
                if file is None and method == "GET":
                    answer = await self._joined(scope["path"])
                if answer is not None:
                    answer = answer if self._gate is None else kept_private(answer)
                    await send_answer(
                        send, answer if method == "GET" else ReadAnswer(answer.status, answer.headers, b"")
                    )
                    return
        await self._behind(scope, receive, send if self._gate is None else private_send(send))

    async def _answer(self, file: Served, scope: Scope) -> ReadAnswer | None:
        try:
            content = await self._get(file.path)
            if content is not None and file.needs_size > self._size and file.needs_size > await self._head_size():
                file = uncovered(file)
        except RyeError:
            return None  # the framework tries again and reports the error
        if content is None:
            return None
        asked = asked_by(scope)
        if len(content) > _LARGE_BYTES and file.may_compress:
            return await asyncio.to_thread(answer, file, content, asked, self._compressed)
        return answer(file, content, asked, self._compressed)

    async def _joined(self, path: str) -> ReadAnswer | None:
        """Answer with several files at once; None if the path asks for none, or one of them is not there."""
        paths = joined_files(path[1:]) if path.startswith("/") else None
        if paths is None:
            return None
        try:
            files = await asyncio.to_thread(self._get_all, paths)
        except RyeError:
            return None
        return joined_answer(join(files)) if files is not None else None

    def _get_all(self, paths: Sequence[str]) -> list[bytes] | None:
        """Return these files; None if one is missing, or they are more than one answer may have. A few at a time, so that no more
        than that is ever in memory."""
        files: list[bytes] = []
        left = MOST_BYTES
        for first in range(0, len(paths), _AT_ONCE):
            for content in self._public.get_all(paths[first : first + _AT_ONCE]):
                left -= LENGTH_BYTES + (len(content) if content is not None else MOST_BYTES)
                if content is None or left < 0:
                    return None
                files.append(content)
        return files

    async def _get(self, path: str) -> bytes | None:
        return self._public.get(path) if self._public.is_local else await asyncio.to_thread(self._public.get, path)

    async def _head_size(self) -> int:
        """Return the log size of the head in the store."""
        if time.monotonic() - self._looked > _HEAD_SECONDS:
            shown = shown_checkpoint("head", await self._get("head"))
            self._size = max(self._size, shown.size if shown else 0)
            self._looked = time.monotonic()
        return self._size


async def send_answer(send: Send, answer: ReadAnswer) -> None:
    """Send a whole answer."""
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
