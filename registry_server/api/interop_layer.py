"""Answer programs other than Rye, in a layer between the static files and the framework.

On a registry that is not public, every path checks the reader and answers only with what they may read. A namespace
that they may not read looks like one that does not exist. Caches must revalidate every answer, because withdrawn items
must disappear at once; each answer has an entity tag, so revalidation is cheap.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from registry_server.accounts.tokens import Account
from registry_server.api.files import Application, Receive, Scope, Send, send_answer
from registry_server.api.git_reading import GitReading
from registry_server.api.private_reading import ACCOUNT_KEY, hidden_blob, is_limited, kept_private, require_reader
from registry_server.api.reading import Compressed, ReadAnswer, answer, asked_by
from registry_server.api.requests import reader_of
from registry_server.api.service import Service
from registry_server.interop.interop_pool import InteropDocument, MayRead
from registry_server.interop.paths import READER, GitPack, GitRefs, Wanted, wanted
from registry_server.storage.served import Served
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")
_INTERNAL = RyeError("internal", "The registry failed to answer; its log says why.", "Try again, or tell its operator.")

Failed = Callable[[RyeError, Scope], ReadAnswer]
_AGAIN = "public, max-age=0, must-revalidate"


class InteropLayer:
    """Answers other programs and passes other requests on."""

    def __init__(self, service: Service, behind: Application, failed: Failed) -> None:
        """``failed``: returns the answer for an error of a request, in the format that its clients expect."""
        self._service = service
        self._behind = behind
        self._failed = failed
        self._on = frozenset(service.settings.interoperate)
        self._compressed = Compressed()
        self._git = GitReading(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of another program's protocol; pass on any other (ASGI)."""
        asked = wanted(scope["path"]) if scope["type"] == "http" else None
        if asked is None or READER[type(asked)] not in self._on:
            await self._behind(scope, receive, send)
            return
        has_begun = False

        async def sending(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            answer = await self._made(asked, scope, receive, sending)
        except RyeError as error:
            self._service.refused(error.code)
            answer = self._private(self._failed(error, scope))
        except Exception as error:  # the framework's error handler is not around this layer
            if has_begun:
                raise  # the status has already been sent
            _log.error("a request failed", exc_info=error)
            self._service.refused("internal")
            answer = self._private(self._failed(_INTERNAL, scope))
        if answer is not None:
            await send_answer(send, answer if scope["method"] != "HEAD" else replace(answer, body=b""))

    async def _made(
        self, asked: Wanted | GitRefs | GitPack, scope: Scope, receive: Receive, send: Send
    ) -> ReadAnswer | None:
        """Return the answer; None if it has already been sent. Raises RyeError."""
        may_read = await self._reader(scope)
        method = scope["method"]
        if isinstance(asked, GitPack):
            _require(method == "POST", method)
            await self._git.pack(scope, receive, send, asked, partial(self._reader, scope, is_again=True))
            return None
        _require(method in ("GET", "HEAD"), method)
        if isinstance(asked, GitRefs):
            return await self._git.refs(scope, asked, may_read)
        document = await asyncio.wrap_future(self._service.interop_pool.document(asked, may_read))
        if document is None:
            raise hidden_blob(scope["path"])
        return self._private(self._answer(scope, document))

    async def _reader(self, scope: Scope, *, is_again: bool = False) -> MayRead:
        """Return the check of what the client may read. ``is_again``: look the reader up although the gate did."""
        settings = self._service.settings
        if settings.read == "public":
            return MayRead()
        account: Account | None = scope.get(ACCOUNT_KEY) if not is_again else None
        if account is None:  # a path that is open for another reason, e.g. below /api/
            account = require_reader(await reader_of(self._service, scope))
        reader = account
        return MayRead(reader.readable if is_limited(settings) else None)

    def _answer(self, scope: Scope, document: InteropDocument) -> ReadAnswer:
        file = Served(
            path="",
            media_type=document.media_type,
            cache_control=_AGAIN,
            is_immutable=False,
            tag=document.tag,
            may_compress=document.may_compress,
            needs_size=0,
        )
        return answer(file, document.content, asked_by(scope), self._compressed)

    def _private(self, answer: ReadAnswer) -> ReadAnswer:
        return answer if self._service.settings.read == "public" else kept_private(answer)


def _require(is_allowed: bool, method: str) -> None:
    if not is_allowed:
        raise RyeError("method-not-allowed", f"The method {method[:20]} is not allowed here.", None)
