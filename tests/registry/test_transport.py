"""Transports: folders that reads must not escape, and a real web server that is slow, endless, broken or redirects clients."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import UsageError
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.transport.factory import open_transport
from rye.registry.transport.file import FileTransport
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.seam import (
    Fetched,
    FetchError,
    NoAnswer,
    OfflineTransport,
    Request,
    Transport,
    is_safe_path,
)
from tests.registry.memory_transport import MemoryTransport

QUICK = replace(
    REGISTRY,
    retry_seconds=0.01,
    stall_seconds=0.5,
    connect_seconds=2,
    file_seconds=1.5,
    total_seconds=4,
    speed_grace_seconds=0.2,
)


def one(transport: Transport, path: str = "head", most: int = 100) -> Fetched:
    return transport.fetch_many([Request(path, most)])[0]


def code_of(fetched: Fetched) -> str:
    assert isinstance(fetched, FetchError)
    return fetched.code


Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A web server whose answers a test controls. ``seen`` has the path and headers of each request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.answer: Answer = body(b"text")
        self.address = ""
        self.connections = 0


def body(data: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@contextmanager
def running(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 0

        def setup(self) -> None:
            site.connections += 1
            super().setup()

        def do_GET(self) -> None:
            site.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            try:
                site.answer(self)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore clients that hang up: these tests do that on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_address[1]}/registry"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as found:
        yield found


def client(site: Site, limits: RegistryLimits = QUICK, token: str | None = None) -> HttpTransport:
    return HttpTransport(site.address, limits, token=token)


# https


def test_files_come_in_order_over_few_connections(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body(handler.path.encode())(handler)

    site.answer = answer
    transport = client(site, replace(QUICK, concurrency=4))
    for _ in range(2):
        found = transport.fetch_many([Request(f"blobs/{number}", 100) for number in range(50)])
        assert found == [f"/registry/blobs/{number}".encode() for number in range(50)]
    assert site.connections <= 4
    transport.close()
    assert transport.fetch_many([]) == []


def test_nothing_is_asked_for_compressed_and_compression_is_refused(site: Site) -> None:
    assert one(client(site)) == b"text"
    assert site.seen[0][1]["accept-encoding"] == "identity"
    site.answer = body(b"\x1f\x8b", Content_Encoding="gzip")
    assert code_of(one(client(site))) == "fetch-status"


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, "fetch-not-found"), (410, "fetch-not-found"), (403, "fetch-status"), (204, "fetch-status")],
)
def test_a_status_that_a_repeat_does_not_change_is_final(site: Site, status: int, code: str) -> None:
    site.answer = body(b"", status)
    assert code_of(one(client(site))) == code
    assert len(site.seen) == 1


def test_one_bad_file_does_not_lose_the_others(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body(b"", 404)(handler) if handler.path.endswith("1") else body(b"text")(handler)

    site.answer = answer
    found = client(site).fetch_many([Request(f"x/{number}", 10) for number in range(3)])
    assert [found[0], code_of(found[1]), found[2]] == [b"text", "fetch-not-found", b"text"]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_passing_failure_is_repeated(site: Site, status: int) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body(b"", status)(handler) if len(site.seen) < 3 else body(b"text")(handler)

    site.answer = answer
    assert one(client(site)) == b"text"
    assert len(site.seen) == 3


def test_repeats_end(site: Site) -> None:
    site.answer = body(b"", 503)
    assert code_of(one(client(site))) == "fetch-status"
    assert len(site.seen) == 1 + QUICK.retries


@pytest.mark.slow
def test_retry_after_is_honoured_and_a_long_one_fails_at_once(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body(b"", 503, Retry_After="1")(handler) if len(site.seen) < 2 else body(b"text")(handler)

    site.answer = answer
    started = time.monotonic()
    assert one(client(site, replace(QUICK, file_seconds=5))) == b"text"
    assert time.monotonic() - started >= 1
    for value in ("3600", "Fri, 31 Dec 2999 23:59:59 GMT"):
        site.seen.clear()
        site.answer = body(b"", 503, Retry_After=value)
        assert code_of(one(client(site))) == "fetch-status"
        assert len(site.seen) == 1


@pytest.mark.parametrize(("announced", "code"), [(True, "fetch-too-large"), (False, "fetch-endless")])
def test_reading_stops_at_the_limit(site: Site, announced: bool, code: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if announced:
            handler.send_header("Content-Length", "1000000000000")
        handler.send_header("Connection", "close")
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 65_536)

    site.answer = answer
    started = time.monotonic()
    assert code_of(one(client(site), most=1_000)) == code
    assert time.monotonic() - started < 20  # the answer never ends
    site.answer = body(b"x" * 101)
    assert code_of(one(client(site), most=100)) == "fetch-too-large"
    assert one(client(site), most=101) == b"x" * 101


def test_a_body_that_drips_is_given_up(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    site.answer = answer
    assert code_of(one(client(site), most=1_000)) == "fetch-slow"


@pytest.mark.slow
def test_headers_that_drip_hit_the_deadline(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        for number in range(1000):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: " if number == 0 else b"x")
            time.sleep(0.05)

    site.answer = answer
    started = time.monotonic()
    assert code_of(one(client(site))) == "fetch-deadline"
    assert time.monotonic() - started < 20  # of fifty seconds


@pytest.mark.slow
def test_a_server_that_never_answers_hits_the_deadline_and_holds_nobody_else_up(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.endswith("slow"):
            time.sleep(3)
        body(b"text")(handler)

    site.answer = answer
    requests = [Request("slow", 10), *(Request(f"fast/{number}", 10) for number in range(5))]
    found = client(site, replace(QUICK, concurrency=1, stall_seconds=5)).fetch_many(requests)
    assert code_of(found[0]) == "fetch-deadline"
    assert found[1:] == [b"text"] * 5


@pytest.mark.slow
@pytest.mark.parametrize("begins", [True, False])
def test_a_server_that_falls_silent_after_it_answered_is_given_up_once_and_not_asked_again(
    site: Site, begins: bool
) -> None:
    """With the head of an answer, or without a word; for all files of the wave together, and without repeats."""
    over = threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        if begins:
            handler.send_response(200)
            handler.send_header("Content-Length", "90")
            handler.end_headers()
        over.wait(10)

    calm = client(site, replace(QUICK, file_seconds=30, total_seconds=30))
    hasty = client(site, replace(QUICK, stall_seconds=20, file_seconds=30, total_seconds=30))
    assert one(calm) == one(hasty) == b"text"
    site.answer, before = silent, len(site.seen)
    started = time.monotonic()
    paths = [f"map/{number}" for number in range(20)]
    found = calm.fetch_many([Request(path, 100) for path in paths])
    hasty.hurry(0.1)
    hurried = one(hasty)
    over.set()
    assert {code_of(each) for each in found} <= {"fetch-deadline", "fetch-unreachable"}
    assert all(isinstance(each, NoAnswer) for each in found)
    assert isinstance(hurried, NoAnswer)
    assert "head did not arrive, and nothing else did for " in hurried.message
    assert time.monotonic() - started < 8, "about one; with the repeats, or for each file, it would be many more"
    assert len(site.seen) - before <= 2 * QUICK.concurrency + 1


def test_a_pause_that_the_server_asks_for_is_no_silence(site: Site) -> None:
    def paused(handler: BaseHTTPRequestHandler) -> None:
        site.answer = body(b"more")
        body(b"", 503, Retry_After="1")(handler)

    calm = client(site, replace(QUICK, stall_seconds=0.4, file_seconds=10, total_seconds=10))
    assert one(calm) == b"text"
    site.answer = paused
    assert one(calm) == b"more"


def test_all_files_together_have_a_deadline(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.4)
        body(b"text")(handler)

    site.answer = answer
    transport = client(site, replace(QUICK, concurrency=1, total_seconds=1.6))
    found = transport.fetch_many([Request(f"x/{number}", 10) for number in range(10)])
    assert found[0] == b"text"
    assert code_of(found[-1]) == "fetch-deadline"
    assert code_of(one(transport)) == "fetch-deadline"


def test_an_answer_that_breaks_off_is_not_taken_for_a_file(site: Site) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.close_connection = True

    site.answer = answer
    assert code_of(one(client(site))) == "fetch-truncated"
    assert len(site.seen) == 1 + QUICK.retries


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert code_of(one(HttpTransport(f"http://127.0.0.1:{port}", QUICK))) == "fetch-unreachable"


def test_redirects_stay_on_the_host_so_the_token_does(site: Site) -> None:
    with running(Site()) as evil:
        for target in (
            evil.address,
            evil.address.replace("http:", "https:"),
            "//evil.example/x",
            "ftp://x/",
            "http://[bad",
        ):
            site.answer = body(b"", 302, Location=target)
            assert code_of(one(client(site, token="secret"))) == "fetch-redirect"
        assert evil.seen == []
    assert site.seen[0][1]["authorization"] == "Bearer secret"

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body(b"text")(handler) if handler.path == "/moved" else body(b"", 307, Location="/moved")(handler)

    site.answer = answer
    assert one(client(site)) == b"text"
    assert code_of(one(client(site, token="secret"))) == "fetch-redirect"
    site.answer = body(b"", 302, Location="/again")
    site.seen.clear()
    assert code_of(one(client(site))) == "fetch-redirect"
    assert len(site.seen) == 1 + QUICK.redirects


# addresses and paths


@pytest.mark.parametrize(
    "address",
    [
        "http://registry.example",
        "ftp://registry.example",
        "registry.example",
        "https://",
        "https://u:p@registry.example",
        "https://registry.example?x",
        "https://registry.example#x",
        "https://registry .example",
        "file://host/x",
        "file:x",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "https://registry.example\\@evil.example",
    ],
)
def test_an_address_that_is_not_safe_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_transport(address)
    assert (raised.value.code, raised.value.details["what"]) == ("bad-argument", "registry")


@pytest.mark.parametrize(
    "address", ["https://registry.example/x", "http://127.0.0.1:8080", "http://localhost", "http://[::1]:80"]
)
def test_https_everywhere_and_http_on_this_machine(address: str) -> None:
    assert isinstance(open_transport(address), HttpTransport)


def test_http_elsewhere_only_when_the_user_allowed_it() -> None:
    assert isinstance(open_transport("http://registry.example", allow_http=True), HttpTransport)


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a/../b", "a//b", ".x", "a/.x", "", "a\\b", "a b", "a%2e", "a\n", "ä", "a?b", "x" * 5001]
)
def test_a_path_that_is_not_plain_is_fetched_nowhere(path: str, tmp_path: Path, site: Site) -> None:
    assert not is_safe_path(path)
    assert code_of(one(FileTransport(tmp_path), path)) == "fetch-unsafe"
    assert code_of(one(client(site), path)) == "fetch-unsafe"
    assert site.seen == []


# file


def test_a_folder_is_a_registry(tmp_path: Path) -> None:
    (tmp_path / "registry" / "root").mkdir(parents=True)
    (tmp_path / "registry" / "root" / "1").write_bytes(b"root")
    transport = open_transport((tmp_path / "registry").as_uri())
    found = transport.fetch_many([Request("root/1", 4), Request("root/2", 4), Request("root/1", 3), Request("root", 9)])
    assert found[0] == b"root"
    assert [code_of(item) for item in found[1:]] == ["fetch-not-found", "fetch-too-large", "fetch-not-found"]
    transport.close()


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "registry" / "inner").mkdir(parents=True)
    (tmp_path / "registry" / "good").write_bytes(b"good")
    for name, target in (
        ("file", tmp_path / "secret"),
        ("folder", tmp_path),
        ("loop", tmp_path / "registry/loop"),
        ("fine", tmp_path / "registry/good"),
    ):
        (tmp_path / "registry" / name).symlink_to(target)
    transport = FileTransport(tmp_path / "registry")
    assert code_of(one(transport, "file")) == "fetch-unsafe"
    assert code_of(one(transport, "folder/secret")) == "fetch-unsafe"
    assert code_of(one(transport, "loop")) in ("fetch-unreachable", "fetch-not-found")
    assert one(transport, "fine") == b"good"


def test_a_pipe_in_the_folder_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "head")
    assert code_of(one(FileTransport(tmp_path))) == "fetch-not-found"


# in memory, and no transport


def test_memory_and_offline() -> None:
    memory = MemoryTransport({"head": b"text"})
    assert one(memory) == b"text"
    assert code_of(one(memory, most=3)) == "fetch-too-large"
    assert code_of(one(memory, "none")) == "fetch-not-found"
    assert code_of(one(OfflineTransport())) == "fetch-offline"
