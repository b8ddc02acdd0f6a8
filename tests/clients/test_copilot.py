"""Copilot CLI: an agent's tools are those that its model is offered."""

from __future__ import annotations

import pytest

from tests.clients.conftest import TakeSeat, started
from tests.clients.model import Provider
from tests.clients.program import Seat
from tests.clients.tool_server import TOOLS
from tests.scenes.person import Person

pytestmark = [pytest.mark.clients, pytest.mark.processes]
ALWAYS = {"skill", "sql"}
"""Tools that Copilot gives every agent, regardless of its list: the skills' texts, and a database of the session."""


def environment(provider: Provider) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": provider.url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "claude-sonnet-4.5",
    }


@pytest.fixture
def seat(take_seat: TakeSeat, provider: Provider) -> Seat:
    return take_seat("copilot", environment(provider))


def tools(seat: Seat, provider: Provider, agent: str, said: str) -> set[str]:
    """The tools of one agent's session."""
    provider.asked.clear()
    seat.run("-p", "hello", "--agent", agent, "--trust-folder", ok=False)
    return provider.tools(said)


def test_skills_are_there_until_they_are_undeployed(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "copilot")
    assert "release-notes - Writes release notes." in seat.run("skill", "list").stdout
    assert "No MCP servers" in seat.run("mcp", "list").stdout  # a bound agent's server is only for that agent
    shop.ok("undeploy", "--all")
    assert "release-notes" not in seat.run("skill", "list").stdout


def test_an_agent_has_its_tools_and_no_others(shop: Person, seat: Seat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "copilot")
    assert tools(seat, provider, "reviewer", "You are reviewer.") == {"view", "glob", "grep"} | ALWAYS
    assert tools(seat, provider, "nothing", "You are nothing.") == ALWAYS
    writing = tools(seat, provider, "writer", "You are writer.")
    assert {"view", "create", "edit", "bash"} <= writing
    assert not {name for name in writing if "web" in name or "agent" in name or name == "task"}
    assert {"bash", "task"} <= tools(seat, provider, "anything", "You are anything.")
    shop.ok("undeploy", "--all")
    provider.asked.clear()
    assert "reviewer" in seat.run("-p", "hello", "--agent", "reviewer", "--trust-folder", ok=False).stderr
    assert provider.asked == []


def test_a_bound_agent_has_the_tools_of_its_server_alone(shop: Person, seat: Seat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "copilot")
    assert tools(seat, provider, "ship", "<process>") == {f"rye-ship-{tool}" for tool in TOOLS} | ALWAYS
    assert started(seat) == ['["mcp", "serve", "--as", "acme/work/ship@1.0.0"]']


def test_the_user_s_scope(shop: Person, take_seat: TakeSeat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "copilot", "--scope", "user")
    seat = take_seat("copilot", environment(provider), as_user=True)
    assert "release-notes - Writes release notes." in seat.run("skill", "list").stdout
    assert tools(seat, provider, "reviewer", "You are reviewer.") == {"view", "glob", "grep"} | ALWAYS


def test_an_export_is_a_marketplace(shop: Person, seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.exporting.withdrawn", lambda *_: ({}, ()))
    shop.run("deploy", "export", "--for", "copilot", "out")
    seat.run("plugin", "marketplace", "add", str(shop.folder / "out"))
    assert "Installed 1 skill" in seat.run("plugin", "install", "acme@shop").stdout
    assert "release-notes - Writes release notes." in seat.run("skill", "list").stdout
