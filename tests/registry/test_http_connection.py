"""One connection to a server that may not speak proper HTTP: what counts as an answer, and when a connection is reused."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.transport import http_connection
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.seam import Fetched, FetchError, Request
from tests.registry.raw_server import Peer, RawServer, answer, answer_all, talking
from tests.scenes.effort import rest_thorough

ONCE = replace(REGISTRY, retries=0)
IMPATIENT = replace(ONCE, stall_seconds=0.3, connect_seconds=0.3)
OK = b"HTTP/1.1 200 OK\r\n"
TEXT = OK + b"Content-Length: 4\r\n\r\ntext"


def transport(server: RawServer, prefix: str = "/registry", token: str | None = None) -> HttpTransport:
    return HttpTransport(f"http://{server.place}{prefix}", ONCE, token=token)


def fetch(transport: HttpTransport, most: int = 100_000) -> Fetched:
    return transport.fetch_many([Request("head", most)])[0]


def fetched_from(data: bytes, *, then_wait: bool = False, limits: RegistryLimits = ONCE) -> Fetched:
    with talking(answer(data, then_wait=then_wait)) as server:
        return fetch(HttpTransport(f"http://{server.place}", limits))


def failure(fetched: Fetched) -> FetchError:
    assert isinstance(fetched, FetchError), fetched
    return fetched


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


# the request


def test_a_request_is_plain_and_whole() -> None:
    with talking(answer(TEXT)) as server:
        assert fetch(transport(server, "/some/where/", token="sesame")) == b"text"
    assert server.requests == [
        (
            1,
            b"GET /some/where/head HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept-Encoding: identity\r\nUser-Agent: rye\r\n"
            b"Accept: */*\r\nAuthorization: Bearer sesame\r\n\r\n" % server.port,
        )
    ]


def test_an_address_may_hold_more_than_a_request_line() -> None:
    with talking(answer(TEXT)) as server:
        assert fetch(transport(server, '/é{x}%20"[~]')) == b"text"
    assert server.requests[0][1].startswith(b"GET /%C3%A9%7Bx%7D%20%22[~]/head HTTP/1.1\r\n")


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python knows no IPv6")
def test_an_ipv6_address() -> None:
    try:
        with talking(answer(TEXT), host="::1") as server:
            assert fetch(transport(server)) == b"text"
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert b"\r\nHost: [::1]:%d\r\n" % server.port in server.requests[0][1]


def test_a_host_that_can_have_no_address_is_unreachable() -> None:
    error = failure(fetch(HttpTransport(f"http://{'x' * 64}.example", ONCE)))
    assert error.code == "fetch-unreachable"


@pytest.mark.parametrize("token", ["a\r\nX-Evil: y", "a\nb", "a b", "ä", "\x00", ""])
def test_a_token_adds_no_header(token: str) -> None:
    with pytest.raises(RyeError) as raised:
        HttpTransport("http://127.0.0.1:1", ONCE, token=token)
    assert (raised.value.code, raised.value.details["what"]) == ("invalid-value", "token")


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        ("/new?a=b c#part", b"GET /new?a=b%20c HTTP/1.1\r\n"),
        ("sub/./../new", b"GET /registry/new HTTP/1.1\r\n"),
        ("?q", b"GET /registry/head?q HTTP/1.1\r\n"),
        ("/\x1b[2J", b"GET /%1B[2J HTTP/1.1\r\n"),
    ],
)
def test_a_redirect_on_the_same_host_is_followed(location: str, asked: bytes) -> None:
    def talk(peer: Peer) -> None:
        moved = b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: %b\r\n\r\n" % location.encode()
        first = peer.hear().startswith(b"GET /registry/head HTTP")
        peer.say(moved if first else TEXT)

    with talking(talk) as server:
        assert fetch(transport(server)) == b"text"
    assert server.requests[1][1].startswith(asked)


# what counts as an answer

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEXT + b"and more that nobody asked for",
        OK + b"\r\ntext",
        b"HTTP/1.0 200 OK\r\n\r\ntext",
        b"HTTP/1.1 200\r\ncontent-length:4\r\n\r\ntext",
        OK + b"X: \xe4\r\nContent-Length: 4\r\n\r\ntext",
        CHUNKED + b"4\r\ntext\r\n0\r\n\r\n",
        CHUNKED + b"1;a=b\r\nt\r\n03\r\next\r\n00\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + TEXT,
    ],
)
def test_a_whole_answer_is_a_file(data: bytes) -> None:
    assert fetched_from(data) == b"text"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTT",
        OK + b"Content-Length: 10\r\n\r\n",
        OK + b"Content-Length: 10\r\n\r\nhalf",
        CHUNKED,
        CHUNKED + b"4\r\nte",
        CHUNKED + b"4\r\ntext\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_no_file(data: bytes) -> None:
    assert failure(fetched_from(data)).code == "fetch-truncated"


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"SSH-2.0-server\r\n",
        b"\x15\x03\x03\x00\x02\x02\x0a",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        CHUNKED + b"g\r\ntext",
        CHUNKED + b"4\r\ntextXXmore\r\n",
        OK + b"X: y\r\n" * 30_000,
        OK + b"X: " + b"y" * 120_000,
        CHUNKED + b"4;" + b"x" * 120_000,
        CHUNKED + b"0\r\nX: " + b"y" * 120_000,
    ],
    ids=lambda data: repr(data[-60:])[:60],
)
def test_what_is_not_http_is_no_file_and_is_not_waited_for(data: bytes) -> None:
    assert failure(fetched_from(data, then_wait=True)).code == "fetch-truncated"


def test_a_chunked_body_stops_at_the_limit() -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(CHUNKED + b"fffffffffffffff\r\n")
        while True:
            peer.say(b"x" * 65_536)

    with talking(talk) as server:
        assert failure(fetch(transport(server), most=1_000)).code == "fetch-endless"


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_is_not_waited_for(status: int) -> None:
    error = failure(fetched_from(b"HTTP/1.1 %d X\r\nContent-Length: 4\r\n\r\n" % status, then_wait=True))
    assert error.code == "fetch-status"
    assert str(status) in error.message


# which connection is used


def test_a_connection_is_used_again() -> None:
    with talking(answer_all(TEXT)) as server:
        found = transport(server)
        assert [fetch(found) for _ in range(3)] == [b"text"] * 3
    assert server.connections == [1, 1, 1]


@pytest.mark.parametrize("hang_up", [Peer.reset, lambda peer: peer.socket.close()], ids=["reset", "close"])
def test_a_connection_that_the_server_closed_meanwhile_is_no_failure(hang_up: Callable[[Peer], None]) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(TEXT)
        hang_up(peer)

    with talking(talk) as server:
        found = transport(server)
        assert fetch(found) == b"text"
        time.sleep(0.05)
        assert fetch(found) == b"text"
    assert server.connections == [1, 2]


@pytest.mark.parametrize("hang_up", [Peer.reset, lambda peer: peer.socket.close()], ids=["reset", "close"])
def test_a_connection_that_the_server_closes_on_being_asked_again_is_no_failure(
    hang_up: Callable[[Peer], None],
) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(TEXT)
        peer.hear()
        hang_up(peer)

    with talking(talk) as server:
        found = transport(server)
        assert [fetch(found) for _ in range(3)] == [b"text"] * 3
    assert server.connections == [1, 1, 2, 2, 3]


def test_a_new_connection_without_an_answer_is_a_failure() -> None:
    with talking(Peer.hear) as server:
        assert failure(fetch(transport(server))).code == "fetch-truncated"
    assert server.connections == [1]


def test_a_new_connection_that_is_reset_is_a_failure() -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.reset()

    with talking(talk) as server:
        assert failure(fetch(transport(server))).code == "fetch-unreachable"


def test_half_an_answer_on_a_kept_connection_is_a_failure() -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(TEXT)
        peer.hear()
        peer.say(TEXT[:-1])

    with talking(talk) as server:
        found = transport(server)
        assert fetch(found) == b"text"
        assert failure(fetch(found)).code == "fetch-truncated"
    assert server.connections == [1, 1]


def test_a_connection_with_an_unread_body_is_not_used_again() -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(TEXT) + TEXT)
        peer.wait()

    with talking(talk) as server:
        found = transport(server)
        assert [failure(fetch(found)).code for _ in range(2)] == ["fetch-not-found"] * 2
    assert server.connections == [1, 2]


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 4\r\nConnection: Close\r\n\r\ntext",
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ntext",
    ],
)
def test_a_connection_that_the_server_will_close_is_not_used_again(data: bytes) -> None:
    with talking(answer_all(data)) as server:
        found = transport(server)
        assert [fetch(found), fetch(found)] == [b"text", b"text"]
    assert server.connections == [1, 2]


def test_a_connection_is_kept_for_seconds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "_IDLE_SECONDS", -1)
    with talking(answer_all(TEXT)) as server:
        found = transport(server)
        assert [fetch(found), fetch(found)] == [b"text", b"text"]
    assert server.connections == [1, 2]


# timeouts


@pytest.mark.parametrize("data", [b"", OK, OK + b"Content-Length: 4\r\n\r\nte", CHUNKED + b"4"])
@pytest.mark.slow
def test_a_server_that_stalls_is_given_up(data: bytes) -> None:
    error = failure(fetched_from(data, then_wait=True, limits=IMPATIENT))
    assert error.code in ("fetch-unreachable", "fetch-deadline")  # the connection's limit, or that of the whole wave
    assert "no answer in time (ReadTimeout)" in error.message or "nothing else did" in error.message


@pytest.fixture
def full() -> Iterator[int]:
    """A port whose connection backlog is full."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for connecting in waiting:
            connecting.setblocking(False)
            connecting.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]
        for connecting in waiting:
            connecting.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses")
@pytest.mark.slow
def test_a_connection_that_does_not_open_is_given_up(full: int) -> None:
    error = failure(fetch(HttpTransport(f"http://127.0.0.1:{full}", IMPATIENT)))
    assert error.code == "fetch-unreachable"
    assert "no answer in time (ConnectTimeout)" in error.message


# proxies


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "All_Proxy"])
def test_a_proxy_is_used_where_one_is_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with talking(answer_all(TEXT)) as proxy:
        monkeypatch.setenv(name, f"http://{proxy.place}")
        assert fetch(HttpTransport("http://registry.example/x", ONCE)) == b"text"
    assert proxy.requests[0][1].startswith(b"GET http://registry.example/x/head HTTP/1.1\r\n")
    assert b"\r\nuser-agent: rye\r\n" in proxy.requests[0][1].lower()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (OK + b"Content-Length: -1\r\n\r\n", "fetch-truncated"),
        (b"\x16not HTTP\r\n\r\n", "fetch-truncated"),
        (OK + b"Content-Length: 1000000\r\n\r\n", "fetch-too-large"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\n\r\n", "fetch-redirect"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "fetch-not-found"),
        (OK, "fetch-unreachable"),
    ],
)
def test_a_proxys_answers_count_as_much(monkeypatch: pytest.MonkeyPatch, data: bytes, code: str) -> None:
    with talking(answer(data, then_wait=True)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.place}")
        assert failure(fetch(HttpTransport("http://registry.example", IMPATIENT))).code == code


def test_a_proxy_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert failure(fetch(HttpTransport("http://registry.example", ONCE))).code == "fetch-unreachable"


@pytest.mark.processes
@pytest.mark.parametrize(
    "environment",
    rest_thorough(1, [{}, {"NO_PROXY": "localhost"}, {"ftp_proxy": "http://127.0.0.1:1"}, {"http_proxy": ""}]),
    ids=repr,
)
def test_without_a_proxy_httpx_is_not_imported(environment: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from rye.registry.transport.factory import open_transport\n"
        "from rye.registry.transport.seam import Request\n"
        "print(open_transport(sys.argv[1]).fetch_many([Request('head', 9)]))\n"
        "print(sorted({'httpx', 'httpcore', 'h11', 'certifi'} & set(sys.modules)))\n"
    )
    with talking(answer(TEXT)) as server:
        arguments = [sys.executable, "-c", program, f"http://{server.place}"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=os.environ | environment)
    assert done.stdout == "[b'text']\n[]\n"
