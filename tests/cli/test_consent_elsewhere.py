"""Rights are said in the same words wherever consent is asked: at `rye add`, in a clone, and after `rye lock`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from rye.describing.right_words import tool_words
from rye.describing.words import ANY_COMMAND, NOT_DECLARED
from rye.items.agent_tools import agent_tools
from rye.items.identity import Identity
from tests.attacks.signed_items import release, skill
from tests.attacks.simulation import now
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

RELEASER, OPEN, READER = (
    Identity("agent", "acme/releaser"),
    Identity("skill", "acme/open"),
    Identity("skill", "acme/reader"),
)
AGENT = (
    "---\nname: releaser\nwhenToUse: always\ntools:\n  allowed: [Bash]\ntransitions:\n  onSuccess: complete\n"
    "metadata:\n  version: 1.0.0\n---\n\n# Releaser\n\n## System Prompt\n\nRelease it.\n"
)
READING = agent_tools(("Read",))
PLAIN = {"NO_COLOR": "1"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Its address and fingerprint."""
    made = SimulatedRegistry(now=now() - timedelta(hours=2))
    made.claim("acme")
    release(made, RELEASER, "1.0.0", AGENT)
    release(made, OPEN, "1.0.0", skill(OPEN))
    release(made, READER, "1.0.0", skill(READER).replace("metadata:", "allowed-tools: Read\nmetadata:"))
    made.publish()
    folder = tmp_path_factory.mktemp("registry")
    made.write_to(folder)
    return folder.as_uri(), made.fingerprint


def someone(base: Path, registry: tuple[str, str]) -> Person:
    person = Person(base)
    person.write("rye.toml", f'[project]\nname = "shop"\nregistry = "{registry[0]}"\n')
    person.ok("registry", "add", registry[0], "--fingerprint", registry[1])
    return person


@pytest.fixture
def clone(registry: tuple[str, str], tmp_path: Path) -> Person:
    """Someone who cloned a project in which another person agreed to everything."""
    team = someone(tmp_path / "team", registry)
    team.ok("add", *map(str, (RELEASER, OPEN, READER)), "-y")
    made = someone(tmp_path / "other", registry)
    for name in ("rye.toml", "rye.lock"):
        made.write(name, team.path(name).read_bytes())
    return made


@pytest.mark.parametrize("words", [("ci",), ("install",), ("trust", "project")])
def test_a_clone_says_what_tools_allow_and_what_nothing_limits(clone: Person, words: tuple[str, ...]) -> None:
    if words[0] == "trust":
        clone.ok("ci", "--trust-lock")
    said = clone.terminal(*words, answer=b"n\n", env=PLAIN)
    tools = said.partition("Tools of the agent program:")[2]
    assert "may run any shell command" in tools
    assert f"! {ANY_COMMAND}" in tools
    assert tool_words("Read", READING) in tools
    undeclared = said.partition(f"{NOT_DECLARED[0].upper()}{NOT_DECLARED[1:]}:")[2]
    assert str(OPEN) in undeclared
    assert str(READER) not in undeclared
    assert str(RELEASER) not in undeclared


def test_what_this_user_agreed_to_is_not_listed_again(clone: Person) -> None:
    clone.terminal("ci", answer=b"y\n", env=PLAIN)
    assert NOT_DECLARED not in clone.terminal("ci", env=PLAIN)


def test_an_installation_after_a_lock_says_what_nothing_limits(registry: tuple[str, str], tmp_path: Path) -> None:
    person = someone(tmp_path, registry)
    person.write("rye.toml", f'{person.path("rye.toml").read_text()}[dependencies]\n"{OPEN}" = "*"\n')
    person.ok("lock")
    assert NOT_DECLARED in person.terminal("install", answer=b"n\n", env=PLAIN)


def test_the_question_about_a_deploy_says_that_it_is_installed_in_any_case(
    registry: tuple[str, str], tmp_path: Path
) -> None:
    person = someone(tmp_path, registry)
    person.ok("add", str(READER), "-y")
    other = person.elsewhere(tmp_path / "second", TERM="xterm")
    other.folder.mkdir()
    other.write("rye.toml", f'[project]\nname = "second"\nregistry = "{registry[0]}"\n')
    other.path(".claude").mkdir()
    said = other.terminal("add", str(OPEN), answer=b"n\n", env=PLAIN)
    assert "It is installed with either answer. Deploy it to Claude Code as well?" in said
    assert "added 1" in said
