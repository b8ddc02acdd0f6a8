"""Codex: what it tells its model about skills and agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.conftest import AGENTS, TakeSeat, started
from tests.clients.program import Seat
from tests.scenes.person import Person

pytestmark = [pytest.mark.clients, pytest.mark.processes]
EXPRESSIBLE = {*AGENTS} - {"nothing"}


def trust(seat: Seat, folder: Path) -> None:
    """Act as if the user had said yes to the program's question."""
    place = seat.home / ".codex/config.toml"
    place.parent.mkdir(exist_ok=True)
    place.write_text(f'[projects."{folder}"]\ntrust_level = "trusted"\n', "utf-8")


def told(seat: Seat) -> str:
    """Everything that the model is sent."""
    return seat.run("debug", "prompt-input").stdout


def roles(seat: Seat) -> set[str]:
    """Our agents that the model can start."""
    text = told(seat)
    return {name for name in (*AGENTS, "ship", "handmade") if f"\\n{name}: {{" in text}


@pytest.fixture
def seat(take_seat: TakeSeat) -> Seat:
    return take_seat("codex")


def test_skills_and_agents_are_there_until_they_are_undeployed(shop: Person, seat: Seat) -> None:
    shop.ok("deploy", "--target", "codex")  # Codex has no agents without tools: told, and no failure
    text = told(seat)
    assert "release-notes: Writes release notes." in text
    assert ".agents/knowledge/acme/notes/style.md" in text
    assert roles(seat) == set()  # the folder is not trusted
    trust(seat, shop.folder)
    assert roles(seat) == EXPRESSIBLE
    shop.ok("undeploy", "--all")
    assert "release-notes" not in told(seat)
    assert "style.md" not in told(seat)
    assert roles(seat) == set()


def test_an_agent_with_a_key_that_codex_does_not_know_would_be_dropped(shop: Person, seat: Seat) -> None:
    """So Codex knows all keys that we write."""
    shop.run("deploy", "--target", "codex")
    trust(seat, shop.folder)
    file = shop.path(".codex/agents/reviewer.toml")
    file.write_text(file.read_text() + 'tools = ["x"]\n')
    assert roles(seat) == EXPRESSIBLE - {"reviewer"}


def test_the_file_of_an_agent_brings_no_server(shop: Person, seat: Seat) -> None:
    """So a bound agent is refused. Codex lists an agent whose file names a server, and starts no server for the session; what it
    offers the agent's model needs a model's answers, which these tests do not have for Codex."""
    refused = shop.run("deploy", "--target", "codex", "--json").json["refused"]
    assert ("directive:acme/work/ship", "permissions") in {(row["item"], row["field"]) for row in refused}
    trust(seat, shop.folder)
    text = 'name = "handmade"\ndescription = "x"\ndeveloper_instructions = "x"\n[mcp_servers.rye-x]\ncommand = "rye"\n'
    shop.write(".codex/agents/handmade.toml", text)
    assert roles(seat) == EXPRESSIBLE | {"handmade"}
    assert started(seat) == []


def test_the_user_s_scope(shop: Person, take_seat: TakeSeat) -> None:
    shop.run("deploy", "--target", "codex", "--scope", "user")
    seat = take_seat("codex", as_user=True)
    assert "release-notes: Writes release notes." in told(seat)
    assert "style.md" in told(seat)
    assert roles(seat) == EXPRESSIBLE


def test_an_export_is_a_marketplace(shop: Person, seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.exporting.withdrawn", lambda *_: ({}, ()))
    shop.run("deploy", "export", "--for", "codex", "out")
    seat.run("plugin", "marketplace", "add", str(shop.folder / "out"))
    seat.run("plugin", "add", "acme@shop")
    assert "release-notes: Writes release notes." in told(seat)
