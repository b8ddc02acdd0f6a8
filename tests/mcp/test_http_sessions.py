"""Sessions over HTTP are shared fairly: nobody without a token keeps a token's owner out (rye.mcp.http_sessions)."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from rye.mcp.http_sessions import FairSessions, OpenSession, gives_way
from tests.mcp.sessions import own_directive, project_with_key
from tests.mcp.test_http import Running

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MOST = 5
"""Sessions that these servers keep at once: each takes the SDK some 20 ms to open."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def session(name: str, owner: str, used: float, *, busy: bool = False) -> OpenSession:
    return OpenSession(name, owner, used, busy)


def ends(owner: str, *sessions: OpenSession) -> str | None:
    found = gives_way(sessions, owner)
    return found.name if found is not None else None


@pytest.mark.parametrize(
    ("owner", "given", "expected"),
    [
        ("new", [session("a", "", 1), session("b", "", 2)], "a"),
        ("new", [session("a", "", 1, busy=True), session("b", "", 2)], "b"),
        ("new", [session("a", "", 1, busy=True), session("b", "", 2, busy=True), session("c", "one", 0)], "a"),
        ("new", [session("a", "one", 2), session("b", "two", 1)], "b"),
        ("new", [session("a", "one", 2, busy=True), session("b", "two", 1, busy=True)], None),
        ("", [session("a", "", 2), session("b", "", 1), session("c", "one", 0)], "b"),
        ("", [session("a", "", 2, busy=True), session("b", "", 1, busy=True), session("c", "one", 0)], None),
        ("one", [session("a", "two", 0), session("b", "one", 1)], "b"),
        ("one", [session("a", "two", 0), session("b", "one", 1, busy=True)], None),
        ("one", [], None),
    ],
)
def test_whoever_has_the_most_gives_way(owner: str, given: list[OpenSession], expected: str | None) -> None:
    assert ends(owner, *given) == expected


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    shop = project_with_key(tmp_path_factory.mktemp("sessions"))
    own_directive(shop, "work/ship")
    running = Running(shop, sessions=MOST)
    yield running
    running.stop()


def opened(client: httpx2.Client, server: Running, token: str | None = None) -> tuple[int, str]:
    given = {"Authorization": f"Bearer {token}"} if token is not None else {}
    answer = client.post(server.url, content=json.dumps(HELLO), headers={**ACCEPT, **given})
    return answer.status_code, answer.headers.get("mcp-session-id", "")


def lists(client: httpx2.Client, server: Running, name: str, token: str | None = None) -> int:
    given = {"Authorization": f"Bearer {token}"} if token is not None else {}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    headers = {**ACCEPT, **given, "mcp-session-id": name}
    return client.post(server.url, content=json.dumps(asked), headers=headers).status_code


@pytest.mark.processes
def test_clients_without_a_token_leave_room_for_those_with_one(server: Running) -> None:
    token = server.token()
    with httpx2.Client(timeout=20) as client:
        names = []
        for _ in range(MOST):
            status, name = opened(client, server)
            assert status == 200
            names.append(name)
        assert lists(client, server, names[0]) == 200  # so that the second one is idle for the longest time
        status, own = opened(client, server, token)
        assert status == 200
        assert lists(client, server, own, token) == 200
        assert lists(client, server, names[1]) == 404
        assert lists(client, server, names[0]) == 200
        status, name = opened(client, server)  # one more without a token takes the place of another without one
        assert (status, lists(client, server, own, token), lists(client, server, name)) == (200, 200, 200)
        assert lists(client, server, names[2]) == 404


@pytest.mark.processes
def test_a_request_that_opens_nothing_ends_nothing(tmp_path: Path) -> None:
    shop = project_with_key(tmp_path)
    running = Running(shop, sessions=MOST)
    try:
        with httpx2.Client(timeout=20) as client:
            names = [opened(client, running)[1] for _ in range(MOST)]
            body = json.dumps(HELLO)
            for headers in ({"mcp-session-id": ""}, {"mcp-protocol-version": "2026-07-28"}, {"mcp-session-id": "x"}):
                assert client.post(running.url, content=body, headers={**ACCEPT, **headers}).status_code >= 400
            for method, path in (("GET", "/mcp"), ("PUT", "/mcp"), ("GET", "/"), ("POST", "/other")):
                url = f"http://127.0.0.1:{running.port}{path}"
                assert client.request(method, url, content=body, headers=ACCEPT).status_code >= 400
            assert {lists(client, running, name) for name in names} == {200}
    finally:
        running.stop()


@pytest.mark.processes
def test_no_answer_but_the_end_of_a_session_takes_it_out_of_the_count(tmp_path: Path) -> None:
    """The SDK kept it: 256 of them without a token, and everybody else got 503 for half an hour."""
    running = Running(project_with_key(tmp_path))
    fair = running.gate._app
    assert isinstance(fair, FairSessions)
    modern = {"mcp-protocol-version": "2026-07-28"}
    try:
        with httpx2.Client(timeout=20) as client:
            for count, (path, headers) in enumerate([("/other", {}), ("/mcp", modern), ("/mcp/", {})], 1):
                given = {**ACCEPT, **headers, "mcp-session-id": (name := opened(client, running)[1])}
                for method in ("POST", "DELETE"):
                    client.request(method, f"http://127.0.0.1:{running.port}{path}", content=b"{}", headers=given)
                assert (lists(client, running, name), len(fair._kept)) == (200, count)
            given = {**ACCEPT, "mcp-session-id": name}
            assert client.request("DELETE", running.url, headers=given).status_code == 200
            assert (lists(client, running, name), len(fair._kept)) == (404, 2)
            url = f"{running.url}%0A"  # leads to the SDK as well
            assert client.post(url, content=json.dumps(HELLO), headers=ACCEPT).status_code == 200
            assert len(fair._kept) == 3
    finally:
        running.stop()


@pytest.mark.processes
def test_first_requests_that_never_end_keep_nobody_out(tmp_path: Path) -> None:
    """The SDK takes a place for a session before it has read the request that opens it."""
    shop = project_with_key(tmp_path)
    own_directive(shop, "work/ship")
    running = Running(shop, sessions=MOST)
    fair = running.gate._app
    assert isinstance(fair, FairSessions)
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nContent-Type: application/json\r\n"
    head += f"Accept: {ACCEPT['Accept']}\r\nContent-Length: 500\r\n\r\n{{"
    try:
        with ExitStack() as stack, httpx2.Client(timeout=20) as client:
            slow = [stack.enter_context(socket.create_connection(("127.0.0.1", running.port))) for _ in range(MOST)]
            for one in slow:
                one.sendall(head.encode())
            wait_for(fair, MOST)
            token = running.token()
            status, own = opened(client, running, token)
            assert (status, lists(client, running, own, token)) == (200, 200)
            assert opened(client, running)[0] == 200
            slow[0].settimeout(20)
            assert slow[0].recv(100).startswith(b"HTTP/1.1 503")
            assert len(fair._kept) == MOST
        wait_for(fair, 2)  # whoever hangs up leaves nothing behind
    finally:
        running.stop()


def wait_for(fair: FairSessions, count: int) -> None:
    """Wait until this many sessions are open or opening."""
    end = time.monotonic() + 20
    while len(fair._kept) != count:
        assert time.monotonic() < end, len(fair._kept)
        time.sleep(0.02)
