"""One account cannot lock out the others, and the operator can see who sent what (findings of 2026-11-22: 64 slow bodies,
one full quota).
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from registry_server.accounts.quotas import Quotas
from registry_server.embedded import start_embedded, stop_embedded
from rye.errors import RyeError
from tests.scenes.publisher import Client, Publisher, error_code
from tests.scenes.registry_process import init, token

pytestmark = pytest.mark.processes


@dataclass
class Server:
    data: Path
    greedy: Client
    other: Client
    acme: Publisher


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    data = tmp_path / "data"
    init(data)
    with (data / "registry.toml").open("a") as settings:
        settings.write("concurrent_writes = 4\naccount_requests = 12\naccount_uploads_bytes = 300000\n")
    process, url = start_embedded(data)
    try:
        found = Server(data, Client(url, token(data)), Client(url, token(data)), Publisher("acme"))
        found.other.statements(found.acme.claim()).raise_for_status()
        yield found
    finally:
        stop_embedded(process)


def slow_body(client: Client) -> socket.socket:
    """A request whose body never ends."""
    parts = urlsplit(client.url)
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)))
    head = (
        f"POST /api/v1/blobs/{'0' * 64} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.token}\r\n"
        "Content-Length: 1000\r\n\r\nx"
    )
    connection.sendall(head.encode())
    return connection


def test_slow_bodies_hold_no_place_that_others_wait_for(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(slow_body(server.greedy))
        for number in range(3):
            assert server.other.publish(server.acme, f"a/item_{number}").status_code == 200
        refused = server.greedy.blob(b"one more")
        assert (refused.status_code, error_code(refused)) == (429, "too-many-requests")
        assert refused.headers["Retry-After"]


def test_one_token_fills_only_its_own_share_of_the_uploads(server: Server) -> None:
    for _ in range(3):
        server.greedy.blob(os.urandom(90_000)).raise_for_status()
    full = server.greedy.blob(os.urandom(90_000))
    assert (full.status_code, error_code(full)) == (507, "uploads-full")
    assert server.other.blob(os.urandom(90_000)).status_code == 201
    assert server.other.publish(server.acme, "a/item").status_code == 200


def test_the_database_knows_which_token_sent_an_entry(server: Server) -> None:
    answer = server.other.publish(server.acme, "a/item").json()["results"][0]
    with sqlite3.connect(server.data / "registry.db") as connection:
        rows = connection.execute(
            "SELECT token, address FROM submissions WHERE position = ?", (answer["log"],)
        ).fetchall()
    connection.close()
    assert rows == [(server.other.token.split("_")[1], "127.0.0.1")]


def fits(quotas: Quotas, owner: str, size: int) -> bool:
    """Whether the owner may keep an upload of this size in addition to its others."""
    try:
        quotas.keep(owner, "another", size)
    except RyeError:
        return False
    quotas.settle(owner, ["another"], lambda _: False)
    return True


def test_a_share_is_given_back() -> None:
    quotas = Quotas(1, 100)
    with quotas.request("a"):
        with quotas.request("b"):
            pass
        with pytest.raises(RyeError, match="requests running"), quotas.request("a"):
            pass
    with quotas.request("a"):
        pass
    few = Quotas(10, 100, 1)
    with few.place("a"), few.place("b"), pytest.raises(RyeError, match="requests running"), few.place("a"):
        pass
    quotas.keep("a", "x", 80)
    quotas.settle("a", ["x"], lambda _: True)
    assert not fits(quotas, "a", 30)
    assert fits(quotas, "b", 30)
    quotas.update({}, quotas.written())
    assert fits(quotas, "a", 30)


def test_an_upload_is_counted_and_refused_in_one_step() -> None:
    quotas = Quotas(1, 100, every_upload_bytes=150)
    quotas.keep("a", "x", 80)
    with pytest.raises(RyeError, match="This token has uploaded too many bytes"):
        quotas.keep("a", "y", 30)
    assert not quotas.reserve("a", {"x": 80, "y": 30})
    with pytest.raises(RyeError, match="The registry has too many"):
        quotas.keep("b", "z", 80)
    quotas.keep("b", "z", 70)
    assert not quotas.reserve("c", {"w": 1})
    assert not quotas.reserve("b", {"x": 80})  # it counts for everybody who has a part in it
    quotas.settle("b", ["z"], lambda _: False)
    assert quotas.reserve("b", {"x": 80})
    assert quotas.kept_bytes == 80  # but once for all of them
    quotas.settle("a", ["x"], lambda _: False)
    assert quotas.kept_bytes == 80  # one request may still write it
    quotas.forget(["x"])
    assert quotas.kept_bytes == 80
    quotas.settle("b", ["x"], lambda _: False)
    assert quotas.kept_bytes == 0


class TestSeveralOwners:
    """An upload that several brought is there until none of them needs it."""

    def brought(self) -> tuple[Quotas, list[str]]:
        quotas = Quotas(9, 100)
        for owner in ("a", "b"):
            quotas.keep(owner, "x", 80)
            quotas.settle(owner, ["x"], lambda _: True)
        return quotas, []

    def test_the_last_one_gives_it_back(self) -> None:
        quotas, given = self.brought()
        quotas.let_go("stranger", ["x", "unknown"], given.append)
        quotas.let_go("a", ["x"], given.append)
        quotas.let_go("a", ["x"], given.append)
        assert given == []
        assert (fits(quotas, "a", 100), fits(quotas, "b", 21)) == (True, False)
        quotas.let_go("b", ["x"], given.append)
        assert given == ["x"]
        assert not fits(quotas, "b", 21), "it counts until it is gone"
        quotas.update({}, quotas.written())
        assert fits(quotas, "b", 100)
        assert quotas.kept_bytes == 0

    def test_a_refused_request_gives_back_nothing_that_its_own_account_or_another_uploaded(self) -> None:
        quotas, given = self.brought()
        for owner in ("a", "c"):
            assert quotas.reserve(owner, {"x": 80})
            quotas.settle(owner, ["x"], lambda _: True, given.append)
        quotas.let_go("a", ["x"], given.append)
        assert given == []
        assert fits(quotas, "c", 100)

    def test_a_request_under_way_needs_it(self) -> None:
        quotas, given = self.brought()
        assert quotas.reserve("c", {"x": 80})
        for owner in ("a", "b"):
            quotas.let_go(owner, ["x"], given.append)
        assert given == []
        quotas.settle("c", ["x"], lambda _: True, given.append)
        assert given == ["x"]

    def test_who_brings_it_once_more_needs_it_again(self) -> None:
        quotas, given = self.brought()
        for owner in ("a", "b"):
            quotas.let_go(owner, ["x"], given.append)
        quotas.keep("a", "x", 80)
        assert fits(quotas, "b", 100)
        quotas.settle("a", ["x"], lambda _: True)
        assert quotas.reserve("c", {"x": 80})
        quotas.settle("c", ["x"], lambda _: True, given.append)
        assert given == ["x"]

    def test_the_same_upload_again_takes_no_more_room(self) -> None:
        quotas, _ = self.brought()
        quotas.keep("a", "x", 80)
        quotas.settle("a", ["x"], lambda _: True)
        assert (fits(quotas, "a", 20), fits(quotas, "a", 21), quotas.kept_bytes) == (True, False, 80)
