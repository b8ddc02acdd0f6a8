"""Gemini CLI: an agent's tools are those that its model is offered."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from tests.clients.conftest import AGENTS, TakeSeat, started
from tests.clients.model import Provider
from tests.clients.program import Seat
from tests.clients.tool_server import TOOLS
from tests.scenes.person import Person

pytestmark = [pytest.mark.clients, pytest.mark.processes]
ALWAYS = {"complete_task"}
"""The tool that Gemini CLI gives every agent to return its result."""
TRUSTED = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def environment(provider: Provider) -> dict[str, str]:
    return {**TRUSTED, "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": provider.url}


def configure(seat: Seat) -> None:
    place = seat.home / ".gemini/settings.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}', "utf-8")


def acknowledge(seat: Seat) -> None:
    """Act as if the user had said yes to the question about the project's new agents."""
    known = {
        file.name.removesuffix(".md"): sha256(file.read_bytes()).hexdigest()
        for file in (seat.folder / ".gemini/agents").glob("*.md")
    }
    place = seat.home / ".gemini/acknowledgments/agents.json"
    place.parent.mkdir(exist_ok=True, parents=True)
    place.write_text(json.dumps({str(seat.folder): known}), "utf-8")


def tools(seat: Seat, provider: Provider, agent: str, said: str) -> set[str]:
    """The tools of one agent, when the session's model calls it."""
    provider.asked.clear()
    provider.call = ("invoke_agent", {"agent_name": agent, "prompt": "hello"})
    seat.run("-p", "hello", "--yolo", "-m", "gemini-2.5-flash")
    return provider.tools(said)


def test_skills_are_there_in_a_trusted_folder_until_they_are_undeployed(shop: Person, take_seat: TakeSeat) -> None:
    shop.ok("deploy", "--target", "gemini")
    found = take_seat("gemini", TRUSTED).run("skills", "list")
    assert "release-notes [Enabled]" in found.stdout + found.stderr
    assert "Agent loading error" not in found.stdout + found.stderr
    found = take_seat("gemini").run("skills", "list")
    assert "release-notes [Enabled]" not in found.stdout + found.stderr
    shop.ok("undeploy", "--all")
    found = take_seat("gemini", TRUSTED).run("skills", "list")
    assert "release-notes" not in found.stdout + found.stderr


def test_an_agent_has_its_tools_and_no_others(shop: Person, take_seat: TakeSeat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "gemini")
    seat = take_seat("gemini", environment(provider))
    configure(seat)
    acknowledge(seat)
    assert tools(seat, provider, "reviewer", "You are reviewer.") == {"read_file", "glob", "grep_search"} | ALWAYS
    assert tools(seat, provider, "nothing", "You are nothing.") == ALWAYS
    assert tools(seat, provider, "ship", "<process>") == {f"mcp_rye-ship_{tool}" for tool in TOOLS} | ALWAYS
    assert started(seat) == ['["mcp", "serve", "--as", "acme/work/ship@1.0.0"]']
    assert {"write_file", "web_fetch"} <= tools(seat, provider, "anything", "You are anything.")


def test_an_agent_of_the_project_waits_until_the_person_agreed(
    shop: Person, take_seat: TakeSeat, provider: Provider
) -> None:
    shop.ok("deploy", "--target", "gemini")
    seat = take_seat("gemini", environment(provider))
    configure(seat)
    with pytest.raises(AssertionError, match="no question"):
        tools(seat, provider, "reviewer", "You are reviewer.")


def test_the_user_s_scope(shop: Person, take_seat: TakeSeat, provider: Provider) -> None:
    shop.ok("deploy", "--target", "gemini", "--scope", "user")
    seat = take_seat("gemini", environment(provider), as_user=True)
    configure(seat)
    found = seat.run("skills", "list")
    assert "release-notes [Enabled]" in found.stdout + found.stderr
    assert tools(seat, provider, "reviewer", "You are reviewer.") == {"read_file", "glob", "grep_search"} | ALWAYS
    assert (seat.home / ".gemini/agents").is_dir()
    assert len(AGENTS) + 1 == len(list((seat.home / ".gemini/agents").iterdir()))
