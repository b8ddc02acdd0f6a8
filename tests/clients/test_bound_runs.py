"""A bound agent and the real `rye mcp serve`: calls that the directive's rights allow run, all others are denied, and the log
records both (design: agents 3.4). The model also tries the program's own shell, which the agent does not have."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.runtime.sandboxed_tools import backend
from tests.clients import test_claude, test_copilot, test_gemini, test_opencode
from tests.clients.model import Provider
from tests.clients.program import PROGRAMS, Seat
from tests.clients.tool_server import TOOLS
from tests.mcp.sessions import tool
from tests.scenes.directive_text import directive
from tests.scenes.installed import install, project_with_targets

pytestmark = [pytest.mark.clients, pytest.mark.processes]
RIGHTS = "<search><tool>acme/fs/*</tool></search><execute><tool>acme/fs/*</tool></execute>"
CAPABILITIES = ("rye.execute.tool.acme.fs.*", "rye.search.tool.acme.fs.*")
INSTRUCTIONS = "<process>"
"""Instructions that only the bound agent's model gets."""
RUNS, DENIED = "acme/fs/count", "acme/net/send"
LINGER = 10.0
"""Seconds for the server to finish its log after its program has exited."""
STARTS = 3
"""How often a program is started until its agent has tools."""
_START = "from rye.cli.start import main; main()"
_OWN_SHELL = {"claude": "Bash", "copilot": "bash", "gemini": "run_shell_command", "opencode": "bash"}


class Bound:
    """A project with a directive that is deployed as a bound agent, and two tools, of which it may run one."""

    def __init__(self, base: Path, provider: Provider):
        self.shop = project_with_targets(base / "shop", "")
        text = directive("work/ship", permissions=RIGHTS)
        install(self.shop, "directive", "acme/work/ship", text, capabilities=CAPABILITIES)
        install(self.shop, "tool", RUNS, tool("fs/count", "return {'counted': len(params['text'])}"))
        install(self.shop, "tool", DENIED, tool("net/send", "return {'sent': True}"))
        self.provider = provider
        self.home, self.tools = base / "person", base / "tools"
        for folder in (self.home, self.tools):
            folder.mkdir()
        kept = (f"export {name}={shlex.quote(value)}" for name, value in self.shop.environment.items())
        start = f'exec {shlex.join([sys.executable, "-c", _START])} "$@"'
        program = self.tools / "rye"
        program.write_text("\n".join(["#!/bin/sh", *kept, start, ""]), "utf-8")
        program.chmod(0o755)

    def seat(self, name: str, environment: Mapping[str, str]) -> Seat:
        """A user of the program, after `rye deploy` for it. Skips the test if the program is not installed."""
        program = PROGRAMS[name]
        if not program.is_installed():
            pytest.skip(program.why_not())
        self.shop.ok("deploy", "--target", name)
        return Seat(program, self.home, self.shop.folder, environment, self.tools)

    def play(self, name: str, prefix: str) -> None:
        """The scripted calls of the bound agent's model."""
        execute = f"{prefix}rye_execute"
        self.provider.script[INSTRUCTIONS] = [
            (execute, {"item_type": "tool", "item_id": RUNS, "parameters": {"text": "abcde"}}),
            (execute, {"item_type": "tool", "item_id": DENIED}),
            (_OWN_SHELL[name], {"command": f"touch {self.mark}", "description": "mark"}),
        ]

    @property
    def mark(self) -> Path:
        """A file that the program's own shell would create."""
        return self.shop.folder / "made-by-the-shell"

    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.shop.ok("runs", "show", "last", "--json").json["events"]
        return found


def claude(bound: Bound) -> None:
    seat = bound.seat("claude", test_claude.environment(bound.provider))
    test_claude.trust(seat, seat.folder)
    seat.run("-p", "hello", "--agent", "ship", "--allowedTools", "mcp__rye-ship", ok=False, linger=LINGER)


def copilot(bound: Bound) -> None:
    seat = bound.seat("copilot", test_copilot.environment(bound.provider))
    seat.run("-p", "hello", "--agent", "ship", "--trust-folder", "--allow-all-tools", linger=LINGER)


def gemini(bound: Bound) -> None:
    seat = bound.seat("gemini", test_gemini.environment(bound.provider))
    test_gemini.configure(seat)
    test_gemini.acknowledge(seat)
    bound.provider.call = ("invoke_agent", {"agent_name": "ship", "prompt": "hello"})
    seat.run("-p", "hello", "--yolo", "-m", "gemini-2.5-flash", linger=LINGER)


def opencode(bound: Bound) -> None:
    seat = bound.seat("opencode", {})
    test_opencode.configure(seat, bound.provider)
    bound.provider.call = ("task", {"subagent_type": "ship", "description": "ship", "prompt": "hello"})
    seat.run("run", "hello", "--model", "local/m", linger=LINGER)


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    try:
        backend({})
    except RyeError as error:
        pytest.skip(error.message)


TOLD = [
    ("call", f"tool:{RUNS}", None),
    ("allow", f"tool:{RUNS}@1.0.0", "allowed"),
    ("return", f"tool:{RUNS}@1.0.0", "done"),
    ("call", f"tool:{DENIED}", None),
    ("deny", f"tool:{DENIED}", "denied"),
    ("end", None, None),
]
"""The log's rows: event, item, decision."""


def started(base: Path, provider: Provider, run: Callable[[Bound], None], prefix: str, always: set[str]) -> Bound:
    """A run in which the agent got its tools. Copilot asks its model after a short wait although the agent's server is still
    starting, as it is on a busy machine: the agent then has no tool at all, which is safe, and the run begins again elsewhere."""
    for attempt in range(STARTS):
        folder = base / str(attempt)
        folder.mkdir()
        provider.asked.clear()
        bound = Bound(folder, provider)
        bound.play(run.__name__, prefix)
        run(bound)
        if provider.tools(INSTRUCTIONS) - always:
            break
    return bound


@pytest.mark.parametrize(
    ("run", "prefix", "always"),
    [
        (claude, "mcp__rye-ship__", {"DeferredToolPlaceholder"}),
        (copilot, "rye-ship-", test_copilot.ALWAYS),
        (gemini, "mcp_rye-ship_", test_gemini.ALWAYS),
        (opencode, "rye-ship_", set()),
    ],
    ids=["claude", "copilot", "gemini", "opencode"],
)
def test_a_bound_agent_does_what_its_directive_may_and_nothing_else(
    tmp_path: Path, provider: Provider, run: Callable[[Bound], None], prefix: str, always: set[str]
) -> None:
    bound = started(tmp_path, provider, run, prefix, always)
    assert provider.tools(INSTRUCTIONS) - always == {f"{prefix}{name}" for name in TOOLS}
    assert provider.script[INSTRUCTIONS] == [], "the model made all of its calls"
    heard = provider.heard(INSTRUCTIONS)
    assert "counted" in heard
    assert f"rye.execute.tool.{DENIED.replace('/', '.')}" in heard
    assert not bound.mark.exists()
    told = [(event["event"], event["item"], event["decision"]) for event in bound.events()]
    verified = bound.shop.run("runs", "verify", "last", "--json")
    if run is copilot and verified.json["state"] == "incomplete":  # it kills its servers as soon as it exits
        assert told in (TOLD, TOLD[:-1])
    else:
        assert told == TOLD
        assert (verified.code, verified.json["state"]) == (0, "ok")
    (listed,) = bound.shop.ok("runs", "list", "--json").json["runs"]
    assert (listed["principal"], listed["calls"], listed["denied"]) == ("directive:acme/work/ship@1.0.0", 2, 1)
