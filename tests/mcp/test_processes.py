"""The real program, as agent programs start it: over pipes, killed, with a log that cannot be written (design: agents 3.1)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.mcp.sessions import Caller, own_directive, own_knowledge, play, project_with_key, runs_of
from tests.scenes.effort import FUZZ
from tests.scenes.nursery import RYE, can_fork, fork_piped
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
STYLE = {"item_type": "knowledge", "item_id": "acme/notes/style"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Person:
    made = project_with_key(tmp_path_factory.mktemp("processes"))
    own_directive(made, "work/ship")
    own_knowledge(made, "style")
    return made


class Piped:
    """A server on pipes; the test talks to it line by line in the older era."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self.process = process
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read()
        found: dict[str, Any] = json.loads(line)
        assert found["id"] == self._number
        return found

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hello(self) -> dict[str, Any]:
        found = self.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def load(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("tools/call", name="rye_load", arguments=STYLE)["result"]
        return found


@contextmanager
def server(shop: Person, *arguments: str, starts: bool = False) -> Iterator[Piped]:
    """``starts``: Python itself, as an agent program does it; the others are forked."""
    words = ["mcp", "serve", *arguments]
    process: subprocess.Popen[bytes]
    if starts or not can_fork(shop.environment):
        process = subprocess.Popen(
            [sys.executable, "-c", RYE, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=shop.folder,
            env=shop.environment,
        )
    else:
        process = fork_piped(words, shop.environment, shop.folder)
    try:
        yield Piped(process)
    finally:
        process.kill()
        process.communicate()


def test_a_run_ends_with_its_client_and_says_at_its_start_what_it_enforces(shop: Person) -> None:
    with server(shop, "--as", "acme/work/ship", starts=True) as piped:
        hello = piped.hello()["result"]
        assert hello["serverInfo"]["name"] == "rye"
        start = json.loads(hello["instructions"].split("\n")[-1])
        assert start["not_enforced"] == ["turns", "tokens", "spend"]
        assert not piped.load()["isError"]
        out, err = piped.process.communicate(timeout=20)
        assert (piped.process.returncode, out) == (0, b"")
        assert err.split(b"\n")[0] == json.dumps({"rye": "mcp", **start}).encode()
    shown = shop.run("runs", "verify", start["run"], "--json")
    assert (shown.code, shown.json["state"]) == (0, "ok")
    listed = shop.ok("runs", "list", "--json").json["runs"]
    assert {"run": start["run"], "principal": "directive:acme/work/ship@1.0.0", "state": "ok"}.items() <= listed[
        0
    ].items()
    events = shop.ok("runs", "show", "last", "--json").json["events"]
    assert [event["event"] for event in events] == ["call", "allow", "return", "end"]


def test_a_killed_run_verifies_as_incomplete_and_a_changed_one_as_broken(shop: Person) -> None:
    with server(shop, "--as", "acme/work/ship") as piped:
        piped.hello()
        piped.load()
        piped.process.kill()
        piped.process.wait(10)
    found = shop.run("runs", "verify", "last", "--json")
    assert (found.code, found.json["state"], found.json["lines"]) == (1, "incomplete", 3)
    path = runs_of(shop)[-1] / "events.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"allow"', b'"deny_"', 1))
    found = shop.run("runs", "verify", "last", "--json")
    assert (found.code, found.json["state"], found.json["line"]) == (1, "broken", 2)
    path.write_bytes(data)


@pytest.mark.skipif(not FUZZ, reason="starts one more server; make fuzz plays it")
def test_a_polite_signal_seals_the_log(shop: Person) -> None:
    with server(shop, "--as", "acme/work/ship") as piped:
        piped.hello()
        piped.load()
        piped.process.send_signal(signal.SIGTERM)
        piped.process.wait(10)
    assert shop.run("runs", "verify", "last").code == 0


def test_a_runs_folder_that_is_no_folder_stops_every_effect(shop: Person) -> None:
    runs, aside = shop.path(".ai/runs"), shop.path(".ai/aside")
    runs.rename(aside)
    runs.write_text("")

    async def story(caller: Caller) -> None:
        error = await caller.error("rye_load", **STYLE)
        assert error["code"] == "not-runnable"
        assert "sentences" not in json.dumps(error)

    try:
        play(shop, story)
    finally:
        runs.unlink()
        aside.rename(runs)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--as", "acme/work/none"), "no-such-item"),
        (("--as", "tool:acme/work/ship"), "wrong-kind"),
        (("--as", "acme/work/ship@9.9.9"), "other-version"),
        (("--http", "0.0.0.0:0"), "token-demanded"),
        (("--http", "nowhere"), "bad-argument"),
    ],
)
def test_a_server_that_cannot_be_what_was_asked_for_does_not_start(
    shop: Person, arguments: tuple[str, ...], code: str
) -> None:
    found = shop.run("mcp", "serve", *arguments, "--json")
    assert found.code in (1, 2)
    assert found.error["code"] == code


@pytest.mark.thorough
def test_nothing_but_serving_imports_the_sdk(shop: Person) -> None:
    """Every command's module, in one process; `rye mcp serve` imports it when it runs."""
    script = """
import sys
from importlib import import_module
from rye.cli.main import COMMANDS, Families
for target, _, _ in COMMANDS.values():
    module, _, name = target.partition(":")
    found = getattr(import_module(module), name)
    if isinstance(found, Families):
        for below, _, _ in found.table.values():
            import_module(below.partition(":")[0])
print(sorted({name.partition(".")[0] for name in sys.modules} & {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=shop.environment, check=True, timeout=60
    )
    assert done.stdout.decode().strip() == "[]"
