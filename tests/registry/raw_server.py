"""A server whose bytes a test controls: it gives each connection to the test, which may answer, lie, stall or hang up."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class RawServer:
    """``requests`` are the clients' requests, each with the number of its connection, from 1."""

    host: str
    port: int
    requests: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def connections(self) -> list[int]:
        """The number of the connection that each request came on."""
        return [number for number, _ in self.requests]


@dataclass
class Peer:
    """One client's connection, on the server's side."""

    server: RawServer
    number: int
    socket: socket.socket

    def hear(self) -> bytes:
        """The next request. Ends the conversation if the client has hung up."""
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            piece = self.socket.recv(65_536)
            if not piece:
                raise ConnectionError
            request += piece
        self.server.requests.append((self.number, request))
        return request

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def wait(self) -> None:
        """Do nothing until the client hangs up."""
        while self.socket.recv(65_536):
            pass

    def reset(self) -> None:
        """Hang up so that the client sees a connection reset, not an end of file."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


Talk = Callable[[Peer], object]
"""What the server does with one connection, which is closed afterwards."""


def answer(data: bytes, *, then_wait: bool = False) -> Talk:
    """Answer the first request with these bytes; then close the connection, or keep it open and send nothing."""

    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(data)
        if then_wait:
            peer.wait()

    return talk


def answer_all(data: bytes) -> Talk:
    """Answer every request on a connection with these bytes."""

    def talk(peer: Peer) -> None:
        while True:
            peer.hear()
            peer.say(data)

    return talk


@contextmanager
def talking(talk: Talk, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """A server that runs until the block ends."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listening:
        server = RawServer(host, listening.getsockname()[1])
        open_ones: list[socket.socket] = []

        def converse(connected: socket.socket, number: int) -> None:
            with suppress(OSError):
                if tls is not None:
                    connected = tls.wrap_socket(connected, server_side=True)
                    open_ones.append(connected)
                with connected:
                    talk(Peer(server, number, connected))

        def accept() -> None:
            number = 0
            with suppress(OSError):
                while True:
                    connected, _ = listening.accept()
                    number += 1
                    open_ones.append(connected)
                    threading.Thread(target=converse, args=(connected, number), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
            thread.join(timeout=5)
            for connected in open_ones:
                with suppress(OSError):
                    connected.shutdown(socket.SHUT_RDWR)
                connected.close()
