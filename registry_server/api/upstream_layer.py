"""Answer requests for files of other registries, in a layer behind the static files: ``/upstream/ORIGIN/…``, ``/upstreams.json``.

Whoever may read this registry may read them; where reading depends on the namespace, bytes of items need the right for theirs, as
with this registry's own. What can be held back later is revalidated by every cache.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

from registry_server.accounts.tokens import Account
from registry_server.api.files import Application, Receive, Scope, Send, send_answer
from registry_server.api.private_reading import ACCOUNT_KEY, hidden_blob, is_limited, kept_private
from registry_server.api.reading import Compressed, ReadAnswer, answer, asked_by
from registry_server.api.service import Service
from registry_server.storage.served import Served, served
from registry_server.upstream.door import Door
from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.doors import UPSTREAMS_PATH, HeldReleases
from rye.registry.transport.seam import FetchError, NoAnswer

_AGAIN = "public, max-age=0, must-revalidate"
_HELD = re.compile(r"held/([0-9a-f]{64})")
_OWN = frozenset({"not-found", "busy", "release-held", "taken-down", "namespace-conflict"})
"""Codes that this registry raises itself; any other is about the other registry."""

Failed = Callable[[RyeError, Scope], ReadAnswer]


class UpstreamLayer:
    """Answers for other registries and passes other requests on."""

    def __init__(self, service: Service, behind: Application, failed: Failed) -> None:
        """``failed``: returns the answer for an error of a request."""
        self._service = service
        self._behind = behind
        self._failed = failed
        self._compressed = Compressed()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for such a file; pass on any other (ASGI)."""
        path = scope.get("path", "")
        is_asked = path == f"/{UPSTREAMS_PATH}" or path.startswith("/upstream/")
        if scope["type"] != "http" or not is_asked or scope["method"] not in ("GET", "HEAD"):
            await self._behind(scope, receive, send)
            return
        try:
            made = await self._made(path, scope)
        except RyeError as error:
            told = _told(error)
            self._service.refused(told.code)
            made = self._failed(told, scope)
        if self._service.settings.read != "public":
            made = kept_private(made)
        await send_answer(send, made if scope["method"] == "GET" else replace(made, body=b""))

    async def _made(self, path: str, scope: Scope) -> ReadAnswer:
        doors = self._service.doors
        if path == f"/{UPSTREAMS_PATH}":
            offered = await asyncio.to_thread(doors.offered)
            return self._answer(_json("upstreams.json"), wire.encode_json(offered), scope)
        found = doors.find(path)
        if found is None:
            raise hidden_blob(path)
        door, below = found
        held = _HELD.fullmatch(below)
        if held is not None:
            releases = await doors.ask(door, below, lambda: door.held(held[1]))
            return self._answer(_json("held"), wire.encode_json(HeldReleases(releases)), scope)
        file = served(f"/{below}")
        if file is None:
            raise hidden_blob(path)
        if below in ("head", "checkpoint"):
            await doors.newest_head(door)
        if not below.startswith("blobs/"):
            return self._answer(file, await doors.ask(door, below, lambda: door.file(below)), scope)
        content = await self._blob(door, file.path.rpartition("/")[2], scope)
        return self._answer(replace(file, cache_control=_AGAIN), content, scope)

    async def _blob(self, door: Door, sha256: str, scope: Scope) -> bytes:
        account: Account | None = scope.get(ACCOUNT_KEY)
        may_read: Callable[[str], bool] = lambda _namespace: True  # noqa: E731
        readable: tuple[str, ...] | None = None
        if is_limited(self._service.settings):
            if account is None:
                raise hidden_blob(scope["path"])
            readable = account.readable
            may_read = may_read if readable is None else account.may_read
        return await self._service.doors.ask(door, (sha256, readable), lambda: door.blob(sha256, may_read))

    def _answer(self, file: Served, content: bytes, scope: Scope) -> ReadAnswer:
        return answer(file, content, asked_by(scope), self._compressed)


def _json(name: str) -> Served:
    return Served(
        path=name,
        media_type="application/json",
        cache_control=_AGAIN,
        is_immutable=False,
        tag=None,
        may_compress=True,
        needs_size=0,
    )


def _told(error: RyeError) -> RyeError:
    """The error for this registry's clients."""
    if error.code in _OWN or error.code.startswith(("store-", "storage-", "database-")):
        return error
    if isinstance(error, NoAnswer):
        hint = "What was read through this registry before is still served. Try again later."
        return RyeError("upstream-unavailable", f"The other registry does not answer: {error.reason}.", hint)
    if isinstance(error, FetchError) and error.code == "fetch-not-found":
        return RyeError("not-found", error.message, None)
    return RyeError(
        "upstream-refused",
        f"What the other registry gave is refused ({error.code}): {error.message}",
        "Do not read it elsewhere instead. Tell the operator of this registry.",
    )
