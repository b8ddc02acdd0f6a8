"""A door to a real server on this machine, which a test shuts: no connection, no answer, another status, another answer.

People use the gate's address, so that the server keeps running and any number of tests share it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self
from urllib.parse import urlsplit

_BLOCK = 65_536
_MEETING_SECONDS = 20.0


class Gate:
    """Passes connections on to ``address`` (http on loopback) until it is told otherwise. A context manager."""

    def __init__(self, address: str) -> None:
        self._behind = ("127.0.0.1", urlsplit(address).port)
        self._together: threading.Barrier | None = None
        self._open: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.port = 0
        self.connections = 0
        """So many were made so far."""
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()

    def open(self) -> None:
        """Pass everything on."""
        self._listen(b"")

    def refuse(self) -> None:
        """Nothing listens: a connection is refused at once."""
        if self._listening is not None:
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        self._drop()

    def hang(self) -> None:
        """Accept connections, and never say a word."""
        self._listen(None)

    def answer(self, status: str, body: bytes = b"") -> None:
        """Answer every request alike; ``status``: ``503 Service Unavailable`` and the like."""
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self._listen(head.encode() + body)

    def break_off(self) -> None:
        """Begin to answer, and close the connection."""
        self._listen(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nrye")

    def meet(self, together: threading.Barrier) -> None:
        """Pass everything on, but the first connection only once as many gates have one as the barrier says."""
        self._listen(b"")
        self._together = together

    def _listen(self, says: bytes | None) -> None:
        """``says``: what each connection is told; empty: what the server says; None: nothing."""
        self.refuse()
        self._together = None
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, args=(self._listening, says), daemon=True).start()

    def _serve(self, listening: socket.socket, says: bytes | None) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._talk, args=(connection, says), daemon=True).start()

    def _talk(self, connection: socket.socket, says: bytes | None) -> None:
        with contextlib.suppress(OSError, threading.BrokenBarrierError):
            if says is None:
                while connection.recv(_BLOCK):
                    pass
            elif says:
                connection.recv(_BLOCK)
                connection.sendall(says)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(_BLOCK):
                    pass
            else:
                together, self._together = self._together, None
                if together is not None:
                    together.wait(_MEETING_SECONDS)
                with socket.create_connection(self._behind) as there:
                    self._open.append(there)
                    back = threading.Thread(target=_copy, args=(there, connection), daemon=True)
                    back.start()
                    _copy(connection, there)
                    back.join()
        connection.close()

    def _drop(self) -> None:
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)


def _copy(here: socket.socket, there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(_BLOCK):
            there.sendall(data)
        there.shutdown(socket.SHUT_WR)
