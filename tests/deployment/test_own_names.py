"""Names of the agents and skills that programs bring: an item takes one only with a yes of its own (design: agents 2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye.deployment.targets.protocol import all_targets
from rye.project.agent_programs import program_names
from tests.scenes.installed import install, project_with_targets, write_manifest
from tests.scenes.item_texts import agent, skill
from tests.scenes.person import Person

TARGETS = f"targets = {json.dumps(program_names())}"


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    return project_with_targets(tmp_path, TARGETS)


def test_an_agent_does_not_take_a_program_s_own_name_unasked(shop: Person) -> None:
    install(shop, "agent", "acme/explore", agent("explore"))
    done = shop.run("deploy", "-y", "--json").json
    owners = {one.name for one in all_targets() if "explore" in one.own_agents}
    assert owners == {"claude", "copilot", "opencode"}
    assert {(row["target"], row["field"], row["code"]) for row in done["refused"]} == {
        (name, "name", "deploy-widening") for name in owners
    }
    assert all("'acme-explore'" in row["message"] for row in done["refused"])
    assert not shop.path(".opencode/agents/explore.md").exists()
    assert shop.path(".gemini/agents/explore.md").exists()
    shop.ok("deploy", "--allow-widening", "agent:acme/explore")
    assert shop.path(".opencode/agents/explore.md").exists()


def test_the_prefix_for_clashes_also_avoids_these_names(shop: Person) -> None:
    write_manifest(shop, f'{TARGETS}\nprefix = "on-clash"')
    install(shop, "agent", "acme/explore", agent("explore"))
    shop.ok("deploy")
    assert shop.path(".opencode/agents/acme-explore.md").exists()
    assert shop.path(".gemini/agents/explore.md").exists()


def test_a_skill_cannot_be_renamed_and_is_asked_about(shop: Person) -> None:
    install(shop, "skill", "acme/debug", skill("debug"))
    (refused,) = shop.run("deploy", "-y", "--json").json["refused"]
    assert (refused["target"], refused["field"], "prefix" in refused["message"]) == ("claude", "name", False)
    assert not shop.path(".claude/skills/debug/SKILL.md").exists()


def test_names_are_compared_as_they_are_written() -> None:
    for one in all_targets():
        for name in (*one.own_agents, *one.own_skills):
            assert name == name.lower()
