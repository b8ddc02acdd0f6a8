"""Places on this machine that show proofs of who owns a namespace: a website, and a DNS server that answers with TXT records."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dns.flags
import dns.message
import dns.rdatatype
import dns.resolver
import dns.rrset

Answer = tuple[int, dict[str, str], bytes]


class Website(ThreadingHTTPServer):
    """Answers every path with ``answer``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.answer: Answer = (404, {}, b"")
        self.asked: list[str] = []

    @property
    def domain(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def shows(self, text: str | bytes) -> None:
        self.answer = (200, {}, text.encode() if isinstance(text, str) else text)


class _Page(BaseHTTPRequestHandler):
    server: Website

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def website() -> Iterator[Website]:
    server = Website()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _same_port() -> tuple[socket.socket, socket.socket]:
    """Sockets for UDP and TCP; another program may have the port of one for the other."""
    for _ in range(20):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        try:
            return datagrams, socket.create_server(datagrams.getsockname())
        except OSError:
            datagrams.close()
    raise AssertionError("no port is free for both")


class NameServer:
    """Answers every question for TXT records with ``texts``; over UDP, and over TCP what does not fit."""

    def __init__(self) -> None:
        self.texts: list[list[bytes]] = []
        self.code = 0
        self.asked: list[str] = []
        self._udp, self._tcp = _same_port()
        self.port: int = self._udp.getsockname()[1]
        for work in (self._datagrams, self._streams):
            threading.Thread(target=work, daemon=True).start()

    def resolver(self) -> dns.resolver.Resolver:
        made = dns.resolver.Resolver(configure=False)
        made.nameservers, made.port = ["127.0.0.1"], self.port
        return made

    def close(self) -> None:
        self._udp.close()
        self._tcp.close()

    def _reply(self, data: bytes, most: int) -> bytes:
        asked = dns.message.from_wire(data)
        name = asked.question[0].name
        self.asked.append(name.to_text())
        reply = dns.message.make_response(asked)
        reply.set_rcode(self.code)  # type: ignore[arg-type]
        for strings in self.texts:
            quoted = " ".join('"' + part.decode("latin-1").replace('"', '\\"') + '"' for part in strings)
            reply.answer.append(dns.rrset.from_text(name, 60, "IN", dns.rdatatype.TXT, quoted))
        written = reply.to_wire(max_size=65_535)
        if len(written) > most:
            reply.answer.clear()
            reply.flags |= dns.flags.TC
            written = reply.to_wire()
        return written

    def _datagrams(self) -> None:
        while True:
            try:
                data, address = self._udp.recvfrom(4096)
                self._udp.sendto(self._reply(data, 512), address)
            except OSError:
                return

    def _streams(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            with connection:
                size = int.from_bytes(connection.recv(2), "big")
                written = self._reply(connection.recv(size), 65_535)
                connection.sendall(len(written).to_bytes(2, "big") + written)
