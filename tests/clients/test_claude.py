"""Claude Code: an agent's tools are those that its session reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import AGENTS, TakeSeat, started
from tests.clients.model import Provider
from tests.clients.program import Seat
from tests.clients.tool_server import TOOLS
from tests.scenes.person import Person

pytestmark = [pytest.mark.clients, pytest.mark.processes]
_PATIENT = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000", "MCP_CONNECT_TIMEOUT_MS": "60000"}
"""Left to itself, Claude Code asks its model after a short wait, with no tools if a server is still starting: on a busy machine,
always."""


def trust(seat: Seat, folder: Path) -> None:
    """Act as if the user had said yes to the program's question."""
    trusted = {"projects": {str(folder): {"hasTrustDialogAccepted": True}}}
    (seat.home / ".claude.json").write_text(json.dumps(trusted), "utf-8")


def session(seat: Seat, *words: str) -> Any:
    """What a session reports about itself before its first request."""
    done = seat.run("-p", "hello", "--output-format", "stream-json", "--verbose", *words, ok=False)
    first = json.loads(done.stdout.splitlines()[0])
    assert first["subtype"] == "init", done
    return first


@pytest.fixture
def seat(take_seat: TakeSeat, provider: Provider) -> Seat:
    return take_seat("claude", environment(provider))


def environment(provider: Provider) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": provider.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        **_PATIENT,
    }


def test_skills_and_agents_are_there_until_they_are_undeployed(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "claude")
    assert "Validation passed" in seat.run("plugin", "validate", ".claude").stdout
    assert "No MCP servers" in seat.run("mcp", "list").stdout  # a bound agent's server is only for that agent
    found = session(seat)
    assert "release-notes" in found["skills"]
    assert {*AGENTS, "ship"} <= set(found["agents"])
    shop.ok("undeploy", "--all")
    found = session(seat)
    assert "release-notes" not in found["skills"]
    assert not {*AGENTS, "ship"} & set(found["agents"])


def test_an_agent_has_its_tools_and_no_others(shop: Person, seat: Seat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "claude")
    assert set(session(seat, "--agent", "reviewer")["tools"]) == {"Read", "Glob", "Grep"}
    assert provider.tools("You are reviewer.") - {"DeferredToolPlaceholder"} == {"Read", "Glob", "Grep"}
    assert session(seat, "--agent", "nothing")["tools"] == []
    writing = set(session(seat, "--agent", "writer")["tools"])
    assert {"Read", "Write", "Edit", "Bash"} <= writing <= {"Read", "Write", "Edit", "Bash", "Glob", "Grep"}
    assert {"Bash", "WebFetch", "Task"} <= set(session(seat, "--agent", "anything")["tools"])


def test_a_bound_agent_has_the_tools_of_its_server_alone(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "claude")
    assert session(seat, "--agent", "ship")["tools"] == []  # the folder is not trusted: no server and no tools
    trust(seat, shop.folder)
    assert set(session(seat, "--agent", "ship")["tools"]) == {f"mcp__rye-ship__{tool}" for tool in TOOLS}
    assert started(seat) == ['["mcp", "serve", "--as", "acme/work/ship@1.0.0"]']


def test_a_server_of_the_session_does_not_take_the_place_of_the_agent_s(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "claude")
    entry = {"command": "rye", "args": ["mcp", "serve", "--as", "acme/everything"]}
    shop.write(".mcp.json", json.dumps({"mcpServers": {"rye": entry}}))
    shop.write(".claude/settings.local.json", json.dumps({"enableAllProjectMcpServers": True}))
    trust(seat, shop.folder)
    tools = session(seat, "--agent", "ship")["tools"]
    assert set(tools) == {f"mcp__rye-ship__{tool}" for tool in TOOLS}


def test_the_user_s_scope(shop: Person, take_seat: TakeSeat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "claude", "--scope", "user")
    found = session(take_seat("claude", environment(provider), as_user=True))
    assert "release-notes" in found["skills"]
    assert {*AGENTS, "ship"} <= set(found["agents"])


def test_an_export_is_a_marketplace(shop: Person, seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.exporting.withdrawn", lambda *_: ({}, ()))
    shop.run("deploy", "export", "--for", "claude", "out")
    assert "Validation passed" in seat.run("plugin", "validate", "out").stdout
    seat.run("plugin", "marketplace", "add", str(shop.folder / "out"))
    seat.run("plugin", "install", "acme@shop")
    assert "acme@shop" in seat.run("plugin", "list").stdout
    assert "acme:release-notes" in session(seat)["skills"]
