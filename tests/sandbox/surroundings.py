"""What an escaped tool would find: a project with secrets, a home folder, another process, servers of every kind."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

SECRET = "the secret"
HIDDEN = (
    ".env",
    ".env.local",
    ".ENV",
    "sub/deep/.env",
    "cert.pem",
    "sub/server.key",
    "id_rsa",
    ".ssh/config",
    ".git/config",
    ".git/modules/part/config",
    ".ai/runs/01/events.jsonl",
    "rye-config/keys/rye.pem.txt",
    "linked-secret",
    "build/.env",
)
SHOWN = ("shown.txt", "sub/shown.txt", "sub/deep/shown.txt", ".git/HEAD", ".ai/tools/own.py", "build/old.txt")
PROTECTED = (
    ".ai/tools/own.py",
    ".git/HEAD",
    ".claude/settings.json",
    "build/.git/HEAD",
    "build/sub/.claude/settings.json",
    ".github/workflows/ci.yml",
)


class Surroundings(Struct, frozen=True, kw_only=True):
    """Paths, addresses and process IDs of the scene."""

    project: Path
    outside: Path
    victim: int
    tcp: int
    other_tcp: int
    tcp6: int
    web: int
    udp: socket.socket
    named: str
    datagrams: socket.socket
    abstract: str


@contextmanager
def surroundings(base: Path) -> Iterator[Surroundings]:
    """The whole scene; everything stops at the end."""
    project, outside = Path(os.path.realpath(base)) / "project", Path(os.path.realpath(base)) / "outside"
    for name in (*HIDDEN, *SHOWN, *PROTECTED):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET, "utf-8")
    (project / ".env.link").symlink_to("linked-secret")
    (project / "innocent").symlink_to(".env")
    (project / "way-out").symlink_to(outside / "secret.txt")
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET, "utf-8")
    with ExitStack() as stack:
        victim = subprocess.Popen(
            [sys.executable, "-S", "-c", "import time; time.sleep(120)"],
            env={"TOKEN": SECRET},
            stdin=subprocess.DEVNULL,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        named, abstract = str(project / "sub" / "socket"), f"\0rye-test-{os.getpid()}-{base.name}"
        yield Surroundings(
            project=project,
            outside=outside,
            victim=victim.pid,
            tcp=_echoing(stack, socket.create_server(("127.0.0.1", 0))),
            other_tcp=_echoing(stack, socket.create_server(("127.0.0.1", 0))),
            tcp6=_echoing(stack, socket.create_server(("::1", 0), family=socket.AF_INET6)) if socket.has_ipv6 else 0,
            web=_web(stack),
            udp=_bound(stack, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            named=_named(stack, named),
            datagrams=_bound(stack, socket.AF_UNIX, socket.SOCK_DGRAM, str(project / "sub" / "datagrams")),
            abstract=_named(stack, abstract),
        )


def received(end: socket.socket) -> bytes:
    """The data received on a datagram socket, empty if none came."""
    end.setblocking(False)
    try:
        return end.recv(100)
    except BlockingIOError:
        return b""


def _bound(stack: ExitStack, family: int, kind: int, address: Any) -> socket.socket:
    end = stack.enter_context(socket.socket(family, kind))
    end.bind(address)
    return end


def _named(stack: ExitStack, address: str) -> str:
    server = _bound(stack, socket.AF_UNIX, socket.SOCK_STREAM, address)
    server.listen()
    _echoing(stack, server)
    return address


def _echoing(stack: ExitStack, server: socket.socket) -> int:
    """Sends ``reached`` to every client that connects."""
    stack.callback(server.close)

    def serve() -> None:
        while True:
            try:
                end, _ = server.accept()
            except OSError:
                return
            with end:
                try:
                    end.sendall(b"reached")
                    end.shutdown(socket.SHUT_WR)
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    stack.callback(_shut, server)
    name = server.getsockname()
    return int(name[1]) if isinstance(name, tuple) else 0


def _shut(server: socket.socket) -> None:
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


def _web(stack: ExitStack) -> int:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"page {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    stack.callback(server.shutdown)
    return int(server.server_address[1])
