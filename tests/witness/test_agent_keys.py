"""A witness whose key is in OpenSSH's ssh-agent: no private key is stored, and without the agent nothing counts as signed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.cosignatures import CosignerKey, read_cosignatures
from rye.signing.agent_key import AgentKey
from rye.signing.keys import PublicKey, read_public_line
from rye.signing.ssh_agent import Agent, agent_of
from rye.witness.folder import WitnessFolder
from rye.witness.serving import WitnessService
from tests.scenes.person import Person
from tests.scenes.ssh_agents import OpenSshAgent, needs_sk_dummy, needs_ssh_agent, openssh_agent
from tests.witness.test_deciding import FORK, LOG, ORIGIN, TREE, Tree

pytestmark = [needs_ssh_agent, pytest.mark.processes]
NAME = "witness.example/w1"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path / "ssh") as running:
        yield running


@pytest.fixture
def rye(tmp_path: Path, agent: OpenSshAgent) -> Person:
    person = Person(tmp_path / "person")
    person.environment["SSH_AUTH_SOCK"] = str(agent.path)
    return person


def opened(root: Path, agent: OpenSshAgent) -> WitnessFolder:
    def found() -> Agent:
        return agent_of(agent.environment, lambda path: False)

    def key(public: PublicKey) -> AgentKey:
        return AgentKey(public, "desk", found, lambda line: None, lambda line: None, lambda: None)

    return WitnessFolder(root, key)


def asks(folder: WitnessFolder, old: int, size: int, tree: Tree = TREE) -> tuple[int, bytes]:
    status, _, body = WitnessService(folder, folder.cosigners()).add_checkpoint(tree.request(old, size).encode())
    return status, body


def test_init_says_which_key_is_which(tmp_path: Path) -> None:
    said = Person(tmp_path).ok("witness", "init", NAME, "--data", str(tmp_path / "w")).stdout
    assert [line.split()[0] for line in said.splitlines()] == ["Ed25519", "ML-DSA-44"]
    assert all(line.split()[1].startswith(f"{NAME}+") for line in said.splitlines())


def test_the_agent_signs_and_no_private_key_is_stored(rye: Person, agent: OpenSshAgent, tmp_path: Path) -> None:
    agent.make("other")
    line = agent.make("desk")
    root = tmp_path / "w"
    (vkey,) = rye.ok("witness", "init", NAME, "--agent", "desk@desk", "--data", str(root), "--json").json["keys"]
    key = CosignerKey.from_vkey(vkey)
    assert (key.name, key.algorithm_name, key.key) == (NAME, "Ed25519", read_public_line(line).raw)
    assert os.listdir(root) == ["witness.json"]
    rye.ok("witness", "add-log", LOG.verifier.vkey, "--data", str(root))
    assert json.loads((root / "witness.json").read_text())["agent_key"] == line, "adding a log keeps the key"
    folder = opened(root, agent)
    status, body = asks(folder, 0, 5)
    assert status == 200
    note = notes.parse(TREE.note(5).encode().encode() + body)
    assert [one.key for one in read_cosignatures(note, [key])] == [key]
    assert asks(folder, 5, 9)[0] == 200
    assert asks(folder, 9, 12, FORK)[0] == 422, "it refuses forks as every witness does"
    shown = rye.ok("witness", "list", "--data", str(root), "--json").json
    assert (shown["keys"], shown["logs"][0]["size"]) == ([vkey], 9)


def test_without_the_agent_nothing_counts_as_signed(rye: Person, agent: OpenSshAgent, tmp_path: Path) -> None:
    agent.make("desk")
    root = tmp_path / "w"
    rye.ok("witness", "init", NAME, "--agent", "desk@desk", "--data", str(root))
    rye.ok("witness", "add-log", LOG.verifier.vkey, "--data", str(root))
    folder = opened(root, agent)
    assert asks(folder, 0, 5)[0] == 200  # the control
    kept = root / "signed" / hashlib.sha256(ORIGIN.encode()).hexdigest()
    before = kept.read_bytes()
    agent.call("ssh-add", "-q", "-D")
    with pytest.raises(RyeError) as raised:
        asks(folder, 5, 9)
    assert raised.value.code == "ssh-agent-locked"
    assert kept.read_bytes() == before
    agent.call("ssh-add", "-q", str(agent.folder / "desk"))
    assert asks(folder, 5, 9)[0] == 200


def test_a_key_that_the_agent_does_not_have_makes_no_witness(rye: Person, agent: OpenSshAgent, tmp_path: Path) -> None:
    agent.make("desk")
    init = ("witness", "init", NAME, "--data", str(tmp_path / "w"), "--agent")
    rye.fails(*init, "elsewhere", code="unknown-key")
    assert not (tmp_path / "w").exists()
    rye.ok(*init, "desk@desk")
    rye.fails(*init, "desk@desk", code="already-exists")


@needs_sk_dummy
def test_a_security_key_is_refused(rye: Person, agent: OpenSshAgent, tmp_path: Path) -> None:
    agent.make_security_key("stick")
    root = tmp_path / "w"
    error = rye.fails("witness", "init", NAME, "--agent", "stick@desk", "--data", str(root), code="bad-witness")
    assert "security key" in error["message"]
    assert not root.exists()
