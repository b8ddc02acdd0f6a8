"""OpenCode: ``debug agent`` lists an agent's tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.conftest import TakeSeat, started
from tests.clients.model import Provider
from tests.clients.program import Seat
from tests.scenes.person import Person

pytestmark = [pytest.mark.clients, pytest.mark.processes]


def configure(seat: Seat, provider: Provider) -> None:
    """Settings of a user whose only model is the provider's: ``--model local/m``."""
    model = {"name": "m", "tool_call": True, "limit": {"context": 100000, "output": 1000}}
    options = {"baseURL": f"{provider.url}/v1", "apiKey": "none"}
    local = {"npm": "@ai-sdk/openai-compatible", "name": "local", "options": options, "models": {"m": model}}
    settings = seat.home / ".config/opencode/opencode.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    patient = {"mcp_timeout": 60_000}  # on a busy machine, a server takes longer to start than OpenCode waits
    chosen = {"provider": {"local": local}, "model": "local/m", "small_model": "local/m", "experimental": patient}
    settings.write_text(json.dumps(chosen))


@pytest.fixture
def seat(take_seat: TakeSeat) -> Seat:
    return take_seat("opencode")


def skills(seat: Seat) -> set[str]:
    return {row["name"] for row in seat.run("debug", "skill").json}


def agent(seat: Seat, name: str) -> Any:
    return seat.run("debug", "agent", name).json


def tools(seat: Seat, name: str) -> set[str]:
    return {tool for tool, has in agent(seat, name)["tools"].items() if has}


def last(rules: list[dict[str, str]], permission: str, pattern: str) -> str:
    """The rule that applies: the last matching one."""
    return [row["action"] for row in rules if (row["permission"], row["pattern"]) == (permission, pattern)][-1]


def test_skills_and_agents_are_there_until_they_are_undeployed(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "opencode")
    assert "release-notes" in skills(seat)
    shop.ok("undeploy", "--all")
    assert "release-notes" not in skills(seat)
    assert seat.run("debug", "agent", "reviewer", ok=False).code != 0


def test_an_agent_has_its_tools_and_no_others(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "opencode")
    reviewer = agent(seat, "reviewer")
    assert {tool for tool, has in reviewer["tools"].items() if has} == {"read", "glob", "grep"}
    assert reviewer["steps"] == 7
    assert [last(reviewer["permission"], "read", pattern) for pattern in ("*", "*.env", "*.env.*")] == [
        "allow",
        "deny",
        "deny",
    ]
    assert tools(seat, "nothing") == set()
    assert tools(seat, "writer") == {"read", "glob", "grep", "edit", "write", "bash"}
    assert {"bash", "webfetch", "task"} <= tools(seat, "anything")


def test_a_bound_agent_s_server_is_denied_to_everybody_else(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "opencode")
    ship = agent(seat, "ship")
    assert not any(ship["tools"].values())
    assert last(ship["permission"], "rye-ship_*", "*") == "allow"
    for other in ("build", "anything"):
        assert last(agent(seat, other)["permission"], "rye-ship_*", "*") == "deny"
    assert "rye-ship" in seat.run("mcp", "list").stdout
    assert set(started(seat)) == {'["mcp", "serve", "--as", "acme/work/ship@1.0.0"]'}


def test_the_user_s_scope(shop: Person, take_seat: TakeSeat) -> None:
    shop.ok("deploy", "--target", "opencode", "--scope", "user")
    seat = take_seat("opencode", as_user=True)
    assert "release-notes" in skills(seat)
    assert tools(seat, "reviewer") == {"read", "glob", "grep"}
