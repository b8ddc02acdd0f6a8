"""``docs/how-to/keys.md`` is true: its commands run, in order, as the person of each block."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rye.registry.protocol import notes
from rye.registry.protocol.statements import Keyset
from rye.signing.keys import PublicKey
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.ssh_agents import SK_DUMMY, OpenSshAgent, needs_sk_dummy, needs_ssh_agent, openssh_agent

pytestmark = [needs_ssh_agent, pytest.mark.processes]
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "keys.md").read_text("utf-8")
BLOCKS = re.findall(r"<!-- run: (\w+) -->\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def play(person: Person, agent: OpenSshAgent, line: str, **words: str) -> None:
    for name, value in words.items():
        line = line.replace(name, value)
    program, *arguments = shlex.split(line)
    if program == "rye":
        person.ok(*arguments)
    elif "ed25519-sk" in line:
        agent.call(program, *arguments[:-2], "-w", str(SK_DUMMY), "-f", str(person.folder / arguments[-1]))
    elif program == "ssh-add" and arguments[-1] == "stick":
        agent.call(program, "-q", "-S", str(SK_DUMMY), str(person.folder / arguments[-1]))
    else:
        agent.call(program, *arguments[:-1], str(person.folder / arguments[-1]))


def lines_of(person: str) -> list[str]:
    return [line for who, block in BLOCKS if who == person for line in block.rstrip("\n").split("\n")]


def test_the_page_has_these_people() -> None:
    assert [who for who, _ in BLOCKS] == ["you", "stick", "you", "you", "you", "colleague", "lost", "colleague", "you"]


def test_what_you_and_a_colleague_type(registry: Registry, tmp_path: Path) -> None:
    with openssh_agent(tmp_path / "ssh") as agent:
        you, colleague, leaver = registry.owner("acme"), registry.owner("others"), registry.owner("leavers")
        you.environment["SSH_AUTH_SOCK"] = str(agent.path)
        for other in (colleague, leaver):
            you.ok("namespace", "keys", "add", "acme", other.public_key())
        blocks = [block.rstrip("\n").split("\n") for who, block in BLOCKS if who == "you"]
        for line in (*blocks[0], *blocks[1]):
            play(you, agent, line)
        moved = you.fingerprint("desk")
        for line in (*blocks[2], *blocks[3]):
            play(you, agent, line)
        colleague.path("new.pem").write_text(you.path("new.pem").read_text())
        new = you.fingerprint("new")
        first, second = (block.rstrip("\n").split("\n") for who, block in BLOCKS if who == "colleague")
        for line in first:
            play(colleague, agent, line, FINGERPRINT=moved)
        play(you, agent, blocks[4][0].replace("acme", "acme --key new"), THEIRS=leaver.fingerprint())
        for line in second:
            play(colleague, agent, line, STOLEN=new)
        shown = you.ok("namespace", "show", "acme", "--json").json
        assert [row["key"] for row in shown["revoked"]] == [new]
        assert moved not in shown["keys"]
        assert leaver.fingerprint() not in shown["keys"]
        assert colleague.fingerprint() in shown["keys"]


@needs_sk_dummy
def test_what_a_person_with_a_stick_types(registry: Registry, tmp_path: Path) -> None:
    with openssh_agent(tmp_path / "ssh") as agent:
        person = registry.reader("tools")
        person.ok("login", registry.url, "--token", registry.token)
        person.environment["SSH_AUTH_SOCK"] = str(agent.path)
        for line in lines_of("stick"):
            play(person, agent, line)
    registry.user().ok("add", "tools/pdf-notes", "--yes")


def test_what_a_person_without_any_key_types(registry: Registry, tmp_path: Path) -> None:
    before = registry.owner("alone")
    person = registry.reader("alone")
    for line in lines_of("lost"):
        person.ok(*shlex.split(line)[1:])
    keyset = Keyset.parse(notes.parse(person.path("recovery.keyset").read_bytes()).text)
    assert [PublicKey(key).fingerprint for key in keyset.keys] == [person.fingerprint()] != [before.fingerprint()]
    assert keyset.recovery is not None
