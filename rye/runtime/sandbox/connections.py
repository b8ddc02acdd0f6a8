"""Network access from a sandbox: each ``connect`` of a tool stops in the kernel and is answered here (seccomp_unotify(2)).

The tool has TCP sockets that it cannot connect itself. This side decides, connects its own socket, and replaces the tool's
socket with it. So no address can change between check and use, no rule allows a port on any host, and nothing listens. A
connection leads either to an address that is granted as an address or, through :data:`ADDRESS`, to a proxy that only reaches
the granted hosts (:mod:`rye.runtime.sandbox.granted_hosts`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rye.limits import SANDBOX
from rye.runtime.sandbox.granted_hosts import BadRequest, Request, may_connect, may_connect_directly, parse_request
from rye.runtime.sandbox.profile import HostPort

ADDRESS = ("127.0.0.1", 3128)
"""The proxy address in the tool's environment; nothing listens there."""

_RECEIVE, _SEND, _IS_VALID, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_IN_PLACE = 1
_NOTICE = struct.Struct("=QIIiIQ6Q")
_IPV4, _IPV6 = struct.Struct("!2xH4s"), struct.Struct("!2xH4x16s")
_CHUNK = 1 << 16
_MOST_REFUSED = 64
"""How many refused places are kept for the report."""

Resolve = Callable[[str, int], Sequence[str]]


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host from the system's resolver, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


class Supervisor:
    """Answers the connections of one tool call until stopped. ``channel``: receives the filter's descriptor from the
    launcher."""

    def __init__(self, channel: socket.socket, network: Sequence[HostPort], resolve: Resolve = resolved):
        self.channel, self.network, self.resolve = channel, tuple(network), resolve
        self.free = threading.BoundedSemaphore(SANDBOX.connections)
        self.open: set[socket.socket] = set()
        self.lock = threading.Lock()
        self.stopping = False
        self.refused: dict[str, None] = {}
        """The places that were requested but not granted, in the order of the requests."""
        self.thread = threading.Thread(target=self._listen, daemon=True)

    @staticmethod
    def environment() -> dict[str, str]:
        """Return the variables that make programs use the proxy."""
        address = f"http://{ADDRESS[0]}:{ADDRESS[1]}"
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return {**dict.fromkeys(names, address), "NODE_USE_ENV_PROXY": "1"}

    def start(self) -> None:
        """Start answering, in a thread."""
        self.thread.start()

    def stop(self) -> None:
        """Close all connections. The kernel refuses any further attempts."""
        with self.lock:
            self.stopping = True
            left = list(self.open)
        for each in left:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        if self.thread.is_alive():
            self.thread.join(2)

    # -- questions of the filter

    def _listen(self) -> None:
        with self.channel:
            try:
                _, descriptors, _, _ = socket.recv_fds(self.channel, 1, 1)
            except OSError:
                return
            if not descriptors:
                return
            listener = descriptors[0]
            poll = select.poll()
            poll.register(listener, select.POLLIN)
            poll.register(self.channel, select.POLLIN)
            try:
                while not self.stopping:
                    for descriptor, event in poll.poll(1000):
                        if descriptor == self.channel.fileno():
                            if self.stopping:
                                return
                            poll.unregister(self.channel)  # the launcher closed its end, as expected
                        elif event & select.POLLIN:
                            self._take(listener)
                        else:
                            return
            finally:
                os.close(listener)

    def _take(self, listener: int) -> None:
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notice)
        except OSError:
            return  # the caller is gone
        number, pid, _, _, _, _, descriptor, pointer, size, *_ = _NOTICE.unpack(notice)
        if not self.free.acquire(blocking=False):
            _answer(listener, number, errno.ECONNREFUSED)
            return
        own = os.dup(listener)
        arguments = (own, number, pid, descriptor & 0xFFFFFFFF, pointer, size & 0xFFFFFFFF)
        threading.Thread(target=self._connect, args=arguments, daemon=True).start()

    def _connect(self, listener: int, number: int, pid: int, descriptor: int, pointer: int, size: int) -> None:
        """Answer one ``connect``, and serve the proxy's end if there is one."""
        try:
            ours: socket.socket | None = None
            theirs: socket.socket | None = None
            try:
                named = _address(_memory(pid, pointer, size))
                fcntl.ioctl(
                    listener, _IS_VALID, struct.pack("=Q", number)
                )  # else the memory may belong to another process
                if named == ADDRESS:
                    theirs, ours = _pair()
                elif named is not None and (granted := may_connect_directly(self.network, *named)):
                    theirs = _connected(named[0], granted.port)
                if theirs is None:
                    _answer(listener, number, errno.EACCES)
                else:
                    theirs.setblocking(not _is_non_blocking(pid, descriptor))
                    asked = struct.pack("=QIIII", number, _IN_PLACE, theirs.fileno(), descriptor, os.O_CLOEXEC)
                    fcntl.ioctl(listener, _ADD_DESCRIPTOR, asked)
                    _answer(listener, number, 0)
            except OSError as error:
                with contextlib.suppress(OSError):
                    _answer(listener, number, error.errno or errno.EACCES)
            finally:
                os.close(listener)
                if theirs is not None:
                    theirs.close()
            if ours is not None:
                with ours:
                    self._serve(ours)
        finally:
            self.free.release()

    # -- the proxy

    def _serve(self, end: socket.socket) -> None:
        with self._kept(end), contextlib.suppress(OSError):
            end.settimeout(SANDBOX.connect_seconds)
            head, rest = _head(end)
            try:
                request = parse_request(head)
            except BadRequest as error:
                _refuse(end, "400 Bad Request", str(error))
                return
            if request.place not in self.network:
                with self.lock:
                    if len(self.refused) < _MOST_REFUSED:
                        self.refused[str(request.place)] = None
                _refuse(end, "403 Forbidden", f"{request.place} is not granted to this tool in [sandbox] of rye.toml")
                return
            try:
                upstream = self._upstream(request)
            except OSError as error:
                _refuse(end, "502 Bad Gateway", f"{request.place} cannot be reached: {error}")
                return
            with upstream, self._kept(upstream):
                if request.tunnel:
                    end.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                upstream.sendall(request.forward + rest)
                _relay(end, upstream)

    def _upstream(self, request: Request) -> socket.socket:
        """Connect to the first permitted address that answers. Raises OSError."""
        refused = 0
        last: OSError | None = None
        for address in self.resolve(request.place.host, request.place.port):
            if not may_connect(request.place, address):
                refused += 1
                continue
            try:
                return _connected(address, request.place.port)
            except OSError as error:
                last = error
        if last is not None:
            raise last
        why = "it resolves to a private address; grant the address itself" if refused else "it has no address"
        raise OSError(errno.EACCES, why)

    @contextlib.contextmanager
    def _kept(self, end: socket.socket) -> Any:
        """Register a socket while it is open, so that :meth:`stop` can close it."""
        with self.lock:
            if self.stopping:
                raise OSError(errno.ECANCELED, "stopped")
            self.open.add(end)
        try:
            yield
        finally:
            with self.lock:
                self.open.discard(end)


def _answer(listener: int, number: int, error: int) -> None:
    fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", number, 0, -error, 0))


def _memory(pid: int, pointer: int, size: int) -> bytes:
    """Read the address argument from the caller's memory. If it changes meanwhile, only what is read here counts."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), min(size, 128), pointer)


def _address(data: bytes) -> tuple[str, int] | None:
    """Return address and port of a ``struct sockaddr_in`` or ``sockaddr_in6``; None for anything else."""
    family = int.from_bytes(data[:2], "little")
    if family == socket.AF_INET and len(data) >= _IPV4.size:
        port, packed = _IPV4.unpack_from(data)
        return socket.inet_ntop(socket.AF_INET, packed), port
    if family == socket.AF_INET6 and len(data) >= _IPV6.size:
        port, packed = _IPV6.unpack_from(data)
        return socket.inet_ntop(socket.AF_INET6, packed), port
    return None


def _is_non_blocking(pid: int, descriptor: int) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as stream:
            flags = next(line.split()[1] for line in stream if line.startswith("flags:"))
    except (OSError, StopIteration):
        return False
    return bool(int(flags, 8) & os.O_NONBLOCK)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets. They are TCP because programs set TCP options on theirs."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        server.settimeout(SANDBOX.connect_seconds)
        one = socket.create_connection(server.getsockname(), SANDBOX.connect_seconds)
        while True:
            other, peer = server.accept()
            if peer == one.getsockname():
                return one, other
            other.close()


def _connected(address: str, port: int) -> socket.socket:
    """Connect to an address, without any name lookup."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    end = socket.socket(family, socket.SOCK_STREAM)
    try:
        end.settimeout(SANDBOX.connect_seconds)
        end.connect((address, port))
    except BaseException:
        end.close()
        raise
    return end


def _head(end: socket.socket) -> tuple[bytes, bytes]:
    """Read up to the first empty line; also return what came after it. Raises OSError if there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = end.recv(_CHUNK)
        if not more or len(data) > SANDBOX.request_head_bytes:
            raise OSError(errno.EPROTO, "no request")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _refuse(end: socket.socket, status: str, why: str) -> None:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    end.sendall(head.encode() + body)


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until both sides are done."""
    one.settimeout(None)
    other.settimeout(None)
    to = {one: other, other: one}
    reading = [one, other]
    while reading:
        for end in select.select(reading, [], [])[0]:
            data = end.recv(_CHUNK)
            if data:
                to[end].sendall(data)
            else:
                reading.remove(end)
                with contextlib.suppress(OSError):
                    to[end].shutdown(socket.SHUT_WR)
