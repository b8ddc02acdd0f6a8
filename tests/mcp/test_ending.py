"""A server that ends, or is killed, while one of its tools runs: the tool ends, and what it left is swept."""

from __future__ import annotations

import fcntl
import json
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.sessions import own_directive, project_with_key
from tests.mcp.test_processes import Piped, server
from tests.sandbox.calling import LINUX, demanded
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
STAYS = """
__version__ = "1.0.0"
__tool_description__ = "Writes settings and waits"
__needs__ = {"write": ["build/"]}

import os, time

def execute(params):
    os.makedirs(params["folder"] + "/.claude")
    open(params["folder"] + "/.claude/settings.json", "w").write("{}")
    while True:
        open(params["folder"] + "/alive", "w").write(str(time.monotonic()))
        time.sleep(0.01)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    demanded(LINUX[1])
    made = project_with_key(tmp_path)
    own_directive(made, "work/ship")
    made.write(".ai/tools/fs/stays.py", STAYS)
    table = '\n[sandbox."tool:acme/fs/stays"]\nwrite = ["build/"]\n'
    made.write("rye.toml", made.path("rye.toml").read_text("utf-8") + table)
    made.ok("sign")
    made.environment["RYE_TRUST_LOCK"] = "1"
    return made


def started(piped: Piped, shop: Person) -> None:
    """Call the tool and wait until it has written what it should not."""
    piped.hello()
    arguments = {"item_type": "tool", "item_id": "acme/fs/stays", "parameters": {"folder": str(shop.path("build"))}}
    call = {"name": "rye_execute", "arguments": arguments}
    piped._send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call})
    until = time.monotonic() + 10
    while not shop.path("build/alive").exists() and time.monotonic() < until:
        time.sleep(0.02)
    if not shop.path("build/.claude/settings.json").exists():
        assert piped.process.stdout is not None
        pytest.fail(str(piped.process.stdout.readline()))


def token(shop: Person) -> str:
    return str(shop.ok("mcp", "token", "--as", "acme/work/ship", "--json").json["token"])


def asked(url: str, token: str, ask: Callable[[Client], Awaitable[object]]) -> None:
    """One request over HTTP with a token of the directive."""

    async def main() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as own,
            Client(streamable_http_client(url, http_client=own), mode="auto") as client,
        ):
            await ask(client)

    anyio.run(main)


def call(url: str, token: str, shop: Person) -> None:
    """Call the tool. The server ends meanwhile, so there may be no answer."""
    arguments = {"item_type": "tool", "item_id": "acme/fs/stays", "parameters": {"folder": str(shop.path("build"))}}
    with suppress(Exception):
        asked(url, token, lambda client: client.call_tool("rye_execute", arguments))


def address(piped: Piped) -> str:
    """The address that a server over HTTP prints."""
    assert piped.process.stdout is not None
    return piped.process.stdout.readline().decode().removeprefix("listening on ").strip()


def has_started(shop: Person) -> None:
    until = time.monotonic() + 30
    while not shop.path("build/alive").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert shop.path("build/.claude/settings.json").exists()


def journals(shop: Person) -> list[Path]:
    return list(Path(shop.environment["RYE_DATA_DIR"]).glob("calls/*"))


def until_over(journal: Path) -> None:
    """Wait until no process of a killed call is left: each holds the lock of its journal."""
    until = time.monotonic() + 30
    with journal.open("rb") as stream:
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.01)
    pytest.fail("the killed call does not end")


def is_alive(shop: Person) -> bool:
    before = shop.path("build/alive").read_text("utf-8")
    time.sleep(0.2)
    return shop.path("build/alive").read_text("utf-8") != before


@pytest.mark.parametrize("how", rest_thorough(1, ["end of input", "SIGTERM", "SIGHUP", "SIGINT"]))
def test_a_server_that_ends_sweeps_what_its_tool_left(shop: Person, how: str) -> None:
    with server(shop, "--as", "acme/work/ship") as piped:
        started(piped, shop)
        if how == "end of input":
            assert piped.process.stdin is not None
            piped.process.stdin.close()
            piped.process.stdin = None
        else:
            piped.process.send_signal(getattr(signal, how))
        piped.process.wait(20)
    assert not shop.path("build/.claude").exists()
    assert not is_alive(shop)
    assert list(Path(shop.environment["RYE_DATA_DIR"]).glob("calls/*")) == []


@pytest.mark.thorough
@pytest.mark.parametrize("how", rest_thorough(1, ["SIGTERM", "SIGHUP", "SIGINT"]))
def test_a_server_over_http_that_ends_sweeps_what_its_tool_left(shop: Person, how: str) -> None:
    with server(shop, "--http", "127.0.0.1:0") as piped:
        url = address(piped)
        caller = Thread(target=call, args=(url, token(shop), shop), daemon=True)
        caller.start()
        has_started(shop)
        piped.process.send_signal(getattr(signal, how))
        piped.process.wait(30)
        caller.join(30)
    assert not shop.path("build/.claude").exists()
    assert not is_alive(shop)
    assert journals(shop) == []


STYLE = {"item_type": "directive", "item_id": "acme/work/ship"}
REQUESTS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "prompts/get": lambda client: client.get_prompt("acme/work/ship", {}),
    "prompts/list": lambda client: client.list_prompts(),
    "tools/call": lambda client: client.call_tool("rye_load", STYLE),
}


@pytest.mark.parametrize("how", rest_thorough(1, REQUESTS))
def test_a_running_server_sweeps_after_a_killed_one(shop: Person, how: str) -> None:
    """Two servers of one project: one is killed during a call; the other one sweeps before it answers anything."""
    with server(shop, "--http", "127.0.0.1:0") as lasting:
        url, ours = address(lasting), token(shop)
        with server(shop, "--as", "acme/work/ship") as piped:
            started(piped, shop)
            asked(url, ours, REQUESTS["prompts/list"])  # the tool runs: nothing is swept under it
            assert shop.path("build/.claude").exists()
            piped.process.kill()
            piped.process.wait(10)
        [journal] = journals(shop)
        until_over(journal)
        with suppress(Exception):  # whatever it answers
            asked(url, ours, REQUESTS[how])
        assert not shop.path("build/.claude").exists()
        assert journals(shop) == []


def test_the_next_command_sweeps_after_a_killed_server_and_refuses_a_damaged_journal(shop: Person) -> None:
    with server(shop, "--as", "acme/work/ship") as piped:
        started(piped, shop)
        running = shop.run("verify", ".ai/directives/work/ship.md")
        assert "renamed" not in running.stderr
        piped.process.kill()
        piped.process.wait(10)
    [journal] = journals(shop)
    until_over(journal)
    assert not is_alive(shop)
    data = journal.read_bytes()
    journal.write_bytes(data[:-1])
    damaged = shop.run("deploy", "--check", "--json")
    assert damaged.error["code"] == "journal-damaged"
    assert str(journal) in json.dumps(damaged.error)
    assert shop.run("explain", "journal-damaged").code == 0
    journal.write_bytes(data)
    swept = shop.run("verify", ".ai/directives/work/ship.md")
    assert "renamed to refused-by-rye" in swept.stderr
    assert not shop.path("build/.claude").exists()
    assert "renamed" not in shop.run("verify", ".ai/directives/work/ship.md").stderr
