"""Run the API under granian in this process, until SIGTERM or SIGINT: one process, one event loop, one sequencer.

The ready file and the announcement follow when the port answers. After the signal, running requests can finish;
``stop_seconds`` later the process exits even if a store or a database hangs. That is the same as a crash, and crashes
lose nothing.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from registry_server.api.full_disk import Door
from registry_server.api.interpreter import tune_interpreter
from rye.errors import RyeError

if TYPE_CHECKING:
    from registry_server.settings import Settings


_log = logging.getLogger("rye.registry")
_MARGIN_SECONDS = 0.5
"""How long before the end of ``stop_seconds`` the process exits."""
_ANSWER_SECONDS = 5.0


def serve(
    settings: Settings, ready_file: Path | None, announce: Callable[[str], None], *, accept_clock: bool = False
) -> None:
    """Serve until told to stop. Raises RyeError if the address is unavailable, before anything is started.

    ``accept_clock``: the operator vouches for this machine's clock.
    """
    _probe(settings.host, settings.port)
    if ready_file is not None and not ready_file.absolute().parent.is_dir():
        raise RyeError(
            "cannot-write",
            f"The folder of {ready_file} does not exist.",
            "Create it, or choose another path for --ready-file.",
        )
    _log.info("opening the registry in %s", settings.data)
    door = Door(settings, accept_clock=accept_clock)

    def forget() -> None:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)

    ending = _Ending(max(settings.stop_seconds - _MARGIN_SECONDS, 0.1), forget)
    try:
        door.open()
        tune_interpreter()
        asyncio.run(_run(door, settings, ready_file, announce, ending))
    finally:
        forget()
        if door.service is not None:
            door.service.close(settings.stop_seconds)


class _Ending:
    """Ends the process some time after the signal, if it has not exited by itself."""

    def __init__(self, seconds: float, last: Callable[[], None]) -> None:
        self._seconds = seconds
        self._last = last
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()

    def _end(self) -> None:
        _log.warning(
            "running requests did not finish in time and are cut off, as in a crash; no acknowledged publish is lost"
        )
        self._last()
        logging.shutdown()
        os._exit(0)


async def _run(
    door: Door,
    settings: Settings,
    ready_file: Path | None,
    announce: Callable[[str], None],
    ending: _Ending,
) -> None:
    class Listening(Server):
        """Binds once and reports the port: the embedded server would bind again for its worker, to another free
        port."""

        bound_port = 0
        telling: asyncio.Task[None] | None = None

        def _init_shared_socket(self) -> None:
            super()._init_shared_socket()  # type: ignore[no-untyped-call]
            if self._ssp is not None:
                self._shd = self._ssp.build()
                self._ssp = None
            holder: Any = self._shd
            with socket.socket(fileno=os.dup(holder.get_fd())) as bound:
                self.bound_port = bound.getsockname()[1]

        def startup(self, spawn_target: Any, target_loader: Any) -> None:
            super().startup(spawn_target, target_loader)  # type: ignore[no-untyped-call]
            self.telling = asyncio.get_running_loop().create_task(_tell(self.bound_port))

    async def _tell(port: int) -> None:
        await _until_answering(settings.host, port)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{port}"
        if not settings.address:
            door.address = url
        if ready_file is not None:
            facts = {"url": url, "host": settings.host, "port": port, "pid": os.getpid(), "origin": door.origin()}
            temporary = ready_file.with_name(f".{ready_file.name}.{os.getpid()}.tmp")
            temporary.write_text(json.dumps(facts) + "\n", encoding="utf-8")
            os.replace(temporary, ready_file)
        announce(url)

    server = Listening(
        door,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=10_000, keep_alive=True, max_buffer_size=64 * 1024),
        websockets=False,
        log_enabled=False,
        backlog=1024,
    )
    server.workers_kill_timeout = settings.stop_seconds
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ending.begin()
        server.stop()  # type: ignore[no-untyped-call]

    for number in (signal.SIGTERM, signal.SIGINT):
        if sys.platform == "win32":  # the loop takes no signals there
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        else:
            loop.add_signal_handler(number, stop)
    trying = loop.create_task(door.keep_trying())
    try:
        await server.serve()
    except (OSError, RuntimeError) as error:
        if server.bound_port:
            raise RyeError(
                "serving-failed", f"Serving ended: {error}.", "Start it again; the log says more."
            ) from error
        raise _in_use(settings.host, settings.port, str(error)) from error
    finally:
        if server.telling is not None:
            server.telling.cancel()
        trying.cancel()
        if door.service is not None:
            await door.service.examiners.close()
            door.service.token_lookup.close()


async def _until_answering(host: str, port: int) -> None:
    """Wait until a request is answered: a bound port does not mean that a server is listening yet."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while True:
        try:
            reading, writing = await asyncio.open_connection(address, port)
            try:
                writing.write(b"HEAD /config.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                await writing.drain()
                if await asyncio.wait_for(reading.read(5), _ANSWER_SECONDS) == b"HTTP/":
                    return
            finally:
                writing.close()
        except (OSError, TimeoutError):
            pass
        await asyncio.sleep(0.02)


def _probe(host: str, port: int) -> None:
    """Refuse an address that is in use. The server's own socket may share its port, so it would not notice."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family[0], socket.SOCK_STREAM) as probe:
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
            probe.listen(1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _in_use(host, port, "another program is listening there") from error
        raise RyeError(
            "cannot-listen",
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            "Choose another --host or --port.",
        ) from error


def _in_use(host: str, port: int, why: str) -> RyeError:
    return RyeError(
        "address-in-use",
        f"Port {port} of {host} is in use: {why}.",
        f"Stop that program, or choose another port: --port {port + 1 if port else 8421}",
    )
