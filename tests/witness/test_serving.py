"""A witness over HTTP: a real server, and requests that are too large, too slow, too many, or something else."""

from __future__ import annotations

import hashlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rye.limits import WITNESS, WitnessLimits
from rye.registry.protocol import notes
from rye.registry.protocol.add_checkpoint import MAX_REQUEST_BYTES
from rye.registry.protocol.cosignatures import read_cosignatures
from rye.witness import serving
from rye.witness.folder import WitnessFolder
from rye.witness.serving import WitnessServer, WitnessService, asking_address
from tests.witness.test_deciding import FORK, LOG, ORIGIN, TREE

CHECKPOINT = f"/{hashlib.sha256(ORIGIN.encode()).hexdigest()}/checkpoint"


class Served:
    """A witness that is served on this machine."""

    def __init__(self, folder: WitnessFolder, limits: WitnessLimits = WITNESS):
        self.folder = folder
        service = WitnessService(folder, folder.cosigners(), lambda: 1_000_000.0)
        self.server = WitnessServer(("127.0.0.1", 0), service, limits)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.address = "127.0.0.1", int(self.server.server_address[1])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: Any) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(*self.address, timeout=5)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        finally:
            connection.close()

    def add(self, old: int, size: int) -> int:
        return self.ask("POST", "/add-checkpoint", TREE.request(old, size).encode())[0]


@contextmanager
def served_with(tmp_path: Path, **limits: Any) -> Iterator[Served]:
    folder = WitnessFolder(tmp_path / "witness")
    folder.create("witness.example")
    folder.add_log((LOG.verifier,))
    found = Served(folder, replace(WITNESS, **limits))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with served_with(tmp_path) as found:
        yield found


def is_cut(connection: socket.socket) -> bool:
    """Whether the server ends a connection within five seconds."""
    connection.settimeout(5)
    try:
        return connection.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_it_cosigns_over_one_connection_and_serves_what_it_cosigned(served: Served) -> None:
    assert served.ask("GET", CHECKPOINT)[0] == 404
    connection = http.client.HTTPConnection(*served.address, timeout=5)
    for old, size in ((0, 5), (5, 9)):  # kept alive
        connection.request("POST", "/add-checkpoint", TREE.request(old, size).encode())
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200
        note = notes.parse(TREE.note(size).encode().encode() + body)
        assert len(read_cosignatures(note, [one.verifier for one in served.folder.cosigners()])) == 2
    connection.close()
    status, _, note_ = served.ask("GET", CHECKPOINT)
    assert (status, len(notes.parse(note_).signatures)) == (200, 3)


def test_an_answer_on_a_kept_connection_comes_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body does not wait until the client's system confirms the head, which takes 40 ms (Nagle's algorithm)."""
    served.add(0, 5)
    at_once: list[int] = []
    answer = serving._Handler.do_GET

    def noting(handler: serving._Handler) -> None:
        at_once.append(handler.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        answer(handler)

    monkeypatch.setattr(serving._Handler, "do_GET", noting)
    connection = http.client.HTTPConnection(*served.address, timeout=5)
    for _ in range(2):
        connection.request("GET", CHECKPOINT)
        assert connection.getresponse().read()
    connection.close()
    assert len(at_once) == 2
    assert all(at_once)


def test_the_statuses_of_the_specification(served: Served) -> None:
    assert served.add(0, 7) == 200
    assert served.ask("POST", "/add-checkpoint", TREE.request(0, 9).encode()) == (409, "text/x.tlog.size", b"7\n")
    assert served.ask("POST", "/add-checkpoint", FORK.request(7, 9).encode())[0] == 422
    assert served.ask("POST", "/add-checkpoint", b"old x\n\n")[0] == 400
    elsewhere = TREE.request(7, 9).encode().replace(b"logs.example\n", b"elsewhere.example\n")
    assert served.ask("POST", "/add-checkpoint", elsewhere)[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/", b"x", {}, 404),
        ("POST", "/sign-subtree", b"x", {}, 404),
        ("GET", "/../witness.json", None, {}, 404),
        ("GET", "/ed25519.key", None, {}, 404),
        ("GET", "/add-checkpoint", None, {}, 404),
        ("POST", "/add-checkpoint", b"x" * (MAX_REQUEST_BYTES + 1), {}, 413),
        ("POST", "/add-checkpoint", None, {"Content-Length": "10000000000"}, 411),
        ("POST", "/add-checkpoint", None, {"Content-Length": "-1"}, 411),
        ("POST", "/add-checkpoint", None, {"Transfer-Encoding": "chunked"}, 411),
        ("DELETE", "/add-checkpoint", None, {}, 501),
    ],
)
def test_everything_else_is_refused(
    served: Served, method: str, path: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    assert served.ask(method, path, body, **headers)[0] == status
    assert served.add(0, 3) == 200


def test_a_silent_client_is_dropped_and_does_not_keep_others_waiting(tmp_path: Path) -> None:
    with served_with(tmp_path, silent_seconds=0.3) as served, socket.create_connection(served.address) as silent:
        silent.sendall(b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 100\r\n\r\nold")
        assert served.add(0, 3) == 200
        assert is_cut(silent)


@pytest.mark.parametrize(
    "head", [b"POST /add-checkpoint HTTP/1.1\r\n", b"GET /", b"POST /x HTTP/1.1\r\nContent-Length: 60000\r\n\r\n"]
)
def test_a_client_that_drips_is_dropped_as_well(tmp_path: Path, head: bytes) -> None:
    """It is never silent: 64 kB of one byte in nine seconds each would hold a thread for a week."""
    with served_with(tmp_path, request_seconds=0.5) as served, socket.create_connection(served.address) as dripping:
        dripping.sendall(head)
        dripping.settimeout(0.02)
        answer, until = b"x", time.monotonic() + 5
        while answer and time.monotonic() < until:
            try:
                dripping.sendall(b"o")
                answer = dripping.recv(100)
            except TimeoutError:
                continue
            except OSError:
                answer = b""
        assert answer == b""
        assert served.add(0, 3) == 200


def test_whoever_opens_all_connections_keeps_nobody_out(tmp_path: Path) -> None:
    """Each of them was a thread, and there was no end to them: a few thousand, and the witness took no more of anybody."""
    with served_with(tmp_path, connections=4) as served:
        before = threading.active_count()
        many = [socket.create_connection(served.address) for _ in range(40)]
        for one in many:
            with suppress(OSError):
                one.sendall(b"POST /add-checkpoint HTTP/1.1\r\n")
        assert served.add(0, 3) == 200
        assert threading.active_count() - before <= 5
        assert all(map(is_cut, many[:36]))
        for one in many:
            one.close()


def test_a_connection_that_has_lasted_long_takes_no_more_requests(tmp_path: Path) -> None:
    with served_with(tmp_path, connection_seconds=0.5) as served, socket.create_connection(served.address) as kept:
        until = time.monotonic() + 5
        kept.settimeout(5)
        asked = f"GET {CHECKPOINT} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        answers, part = 0, b"x"
        while part and time.monotonic() < until:
            try:
                kept.sendall(asked)
                part = kept.recv(10_000)
            except OSError:
                part = b""
            answers += part.startswith(b"HTTP/1.1 404")
            time.sleep(0.05)
        assert part == b""
        assert answers > 1
        assert served.add(0, 3) == 200


def test_no_head_of_a_request_fills_the_memory(served: Served) -> None:
    """Python's own limit is 100 lines of 64 kB each, for every connection."""
    many = {f"X-{number}": "x" * 1_000 for number in range(20)}
    for headers, status in (({"X-Long": "x" * 20_000}, 431), (many, 431), ({"X-Long": "x" * 10_000}, 404)):
        assert served.ask("GET", CHECKPOINT, None, **headers)[0] == status


def test_one_address_may_not_ask_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served_with(tmp_path, per_minute=3) as served:
        monkeypatch.setattr("rye.witness.serving.time.monotonic", lambda: 1_000.0)
        assert [served.add(0, 3), served.add(3, 4), served.add(4, 5), served.add(5, 6)] == [200, 200, 200, 429]
        monkeypatch.setattr("rye.witness.serving.time.monotonic", lambda: 1_060.0)
        assert served.add(5, 6) == 200


def test_a_stranger_does_not_use_up_what_the_log_may_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come from the web server in front, which the how-to recommends."""
    with served_with(tmp_path, per_minute=3) as served:
        monkeypatch.setattr("rye.witness.serving.time.monotonic", lambda: 1_000.0)

        def asked(by: str) -> int:
            return served.ask("GET", f"/{'a' * 64}/checkpoint", None, **{"X-Forwarded-For": by})[0]

        assert [asked("203.0.113.9") for _ in range(5)] == [404, 404, 404, 429, 429]
        assert asked("198.51.100.1, 203.0.113.9") == 429  # what the stranger says of itself comes before
        assert asked("192.0.2.1") == 404
        assert [asked(f"2001:db8::{number}") for number in range(5)] == [
            404,
            404,
            404,
            429,
            429,
        ]  # one client has all of a /64
        assert served.add(0, 3) == 200


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("127.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("127.0.0.1", ["192.0.2.1", "2001:db8::1"], "2001:db8::1"),
        ("::1", ["192.0.2.1, 192.0.2.2"], "192.0.2.2"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["unknown"], "127.0.0.1"),
        ("192.0.2.7", ["192.0.2.1"], "192.0.2.7"),
    ],
)
def test_only_a_web_server_on_this_machine_says_who_asks(peer: str, forwarded: list[str], expected: str) -> None:
    assert asking_address(peer, forwarded) == expected


def test_a_log_whose_state_is_lost_is_answered_with_500(served: Served) -> None:
    served.add(0, 3)
    served.folder._file(ORIGIN).unlink()
    assert served.add(0, 2) == 500
    assert served.add(3, 4) == 500
