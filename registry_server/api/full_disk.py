"""What is served while a registry cannot be opened because its disk is full: the static files, and 507 for everything else.

Readers need nothing but the files, so a restart on a full disk must not stop them. The registry is opened as soon as there is
room, without another restart.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from registry_server.api.application import create_app
from registry_server.api.failure_words import for_strangers
from registry_server.api.files import Application, Files, Receive, Scope, Send, send_answer
from registry_server.api.private_reading import is_open
from registry_server.api.reading import ReadAnswer
from registry_server.api.service import Service
from registry_server.settings import Settings
from registry_server.storage.objects import Objects
from registry_server.storage.room import has_room
from registry_server.storage.store_factory import public_objects
from rye.errors import RyeError
from rye.registry.protocol import wire

_log = logging.getLogger("rye.registry")
RETRY_SECONDS = 2.0
"""How often the registry looks whether there is room."""


class Door:
    """The application that the server runs: the whole registry, or its files alone until it can be opened."""

    def __init__(self, settings: Settings, *, accept_clock: bool = False) -> None:
        """``accept_clock``: the operator vouches for this machine's clock."""
        self._settings = settings
        self._accept_clock = accept_clock
        self.service: Service | None = None
        """The running registry; None until it is open."""
        self._application: Application | None = None
        self._address: str | None = None

    @property
    def address(self) -> str | None:
        """The address that it listens on, if links begin with it; None: they begin with that of the settings."""
        return self._address

    @address.setter
    def address(self, url: str) -> None:
        self._address = url
        if self.service is not None:
            self.service.address = url

    def origin(self) -> str:
        """The registry's name, from its database or else from its files; empty: neither can be read."""
        if self.service is not None:
            return self.service.origin
        config = public_objects(self._settings).get("config.json")
        return "" if config is None else wire.decode_config(config).origin

    def open(self) -> None:
        """Open the registry, or serve its files alone if the disk is full. Raises RyeError for any other reason."""
        try:
            self._enter(self._started())
        except RyeError as error:
            if error.code != "storage-full":
                raise
            _log.warning("only files are served until there is room: %s", error)
            self._application = FilesOnly(self._settings, public_objects(self._settings), for_strangers(error))

    async def keep_trying(self) -> None:
        """Open the registry once there is room. Returns when it is open."""
        while self.service is None:
            await asyncio.sleep(RETRY_SECONDS)
            if has_room(self._settings):
                try:
                    self._enter(await asyncio.to_thread(self._started))
                except RyeError as error:
                    _log.warning("the registry cannot be opened yet: %s", error)
                else:
                    _log.info("there is room again; the registry is open")

    def _started(self) -> Service:
        service = Service(self._settings)
        try:
            _log.info("comparing what the store shows with the log of %s", service.origin)
            service.start(accept_clock=self._accept_clock)
        except BaseException:  # Ctrl-C as well: its threads would go on
            service.close(0)
            raise
        return service

    def _enter(self, service: Service) -> None:
        self.service = service
        self._application = create_app(service)
        if self._address is not None:
            service.address = self._address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on (ASGI)."""
        assert self._application is not None, "open() comes first"
        await self._application(scope, receive, send)


class FilesOnly:
    """The application for that time. Of a registry that is not public it serves nothing: its tokens cannot be read."""

    def __init__(self, settings: Settings, public: Objects, error: RyeError) -> None:
        self._error = error
        self._is_public = settings.read == "public"
        self._files = Files(public, self._refuse, self._gate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        await self._files(scope, receive, send)

    async def _gate(self, scope: Scope) -> ReadAnswer | None:
        return None if self._is_public or is_open(scope["path"]) else self._refusal()

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] != "http":
            return
        answer = self._refusal()
        if scope["path"] == "/livez":
            answer = _json(200, wire.encode_json(wire.LiveAnswer("ok")))
        await send_answer(send, answer if scope["method"] != "HEAD" else ReadAnswer(answer.status, answer.headers, b""))

    def _refusal(self) -> ReadAnswer:
        error = self._error
        return _json(
            507, wire.encode_json(wire.ErrorAnswer(wire.ErrorBody(error.code, error.message[:4000], error.hint)))
        )


def _json(status: int, body: bytes) -> ReadAnswer:
    headers: dict[str, Any] = {
        "content-type": "application/json",
        "cache-control": "no-store",
        "content-length": str(len(body)),
        "x-content-type-options": "nosniff",
    }
    return ReadAnswer(status, tuple((name.encode(), value.encode()) for name, value in headers.items()), body)
