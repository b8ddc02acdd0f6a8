"""Keys in OpenSSH's ssh-agent sign what files sign, and each thing that can go wrong with an agent says what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.signing.agent_key import described
from rye.signing.keys import read_public_line
from rye.signing.verification import verify
from tests.scenes.person import Person
from tests.scenes.ssh_agents import OpenSshAgent, needs_ssh_agent, openssh_agent

pytestmark = [needs_ssh_agent, pytest.mark.processes]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path / "ssh") as running:
        yield running


@pytest.fixture
def rye(tmp_path: Path, agent: OpenSshAgent) -> Person:
    person = Person(tmp_path, "acme")
    person.environment["SSH_AUTH_SOCK"] = str(agent.path)
    return person


def test_a_key_of_the_agent_signs_as_a_key_in_a_file_does(rye: Person, agent: OpenSshAgent) -> None:
    line = agent.make("desk")
    added = rye.ok("keys", "add", "--agent", "--json").json
    assert (added["place"], added["default"]) == ("ssh-agent", True)
    path = rye.directive("work/one")
    public = read_public_line(line)
    data = rye.path(path).read_bytes()
    assert verify(data, "directive", path, [public]).verdict == "valid"
    assert rye.ok("verify", path, "--json").json["results"][0]["fingerprint"] == public.fingerprint


def test_only_the_public_half_is_stored(rye: Person, agent: OpenSshAgent) -> None:
    line = agent.make("desk")
    stored = Path(rye.ok("keys", "add", "--agent", "--json").json["path"])
    assert stored.read_text() == line + "\n"
    assert sorted(path.name for path in stored.parent.iterdir()) == ["default", "default.pub", "default.ssh-agent"]
    rye.fails("keys", "export", "--private", code="key-in-ssh-agent")
    rye.fails("keys", "passphrase", code="key-in-ssh-agent", env={"RYE_NEW_PASSPHRASE": "long enough"})


@pytest.mark.parametrize("which", ["comment", "OpenSSH's fingerprint", "Rye's fingerprint"])
def test_a_key_is_named_by_comment_or_by_either_fingerprint(rye: Person, agent: OpenSshAgent, which: str) -> None:
    agent.make("other")
    wanted = read_public_line(agent.make("desk"))
    selector = {"comment": "desk@desk", "OpenSSH's fingerprint": wanted.openssh_fingerprint}.get(
        which, wanted.fingerprint
    )
    added = rye.ok("keys", "add", "--agent", selector, "--json").json
    assert (added["fingerprint"], added["openssh_fingerprint"]) == (wanted.fingerprint, wanted.openssh_fingerprint)
    assert added["openssh_fingerprint"] in agent.call("ssh-add", "-l")


def test_without_a_name_several_keys_are_a_question(rye: Person, agent: OpenSshAgent) -> None:
    agent.make("one")
    agent.make("two")
    error = rye.fails("keys", "add", "--agent", code="ambiguous-key")
    assert "one@desk" in error["message"]
    assert "two@desk" in error["message"]
    assert rye.ok("keys", "list", "--json").json["keys"] == []


def test_keys_of_other_types_are_not_offered(rye: Person, agent: OpenSshAgent) -> None:
    agent.make("curve", "-t", "ecdsa")
    error = rye.fails("keys", "add", "--agent", code="unknown-key")
    assert "ssh-keygen -t ed25519" in error["hint"]
    agent.make("desk")
    rye.ok("keys", "add", "--agent")


def test_an_agent_s_key_and_a_file_s_are_named_alike(rye: Person, agent: OpenSshAgent) -> None:
    rye.ok("keys", "generate")
    agent.make("desk")
    rye.ok("keys", "add", "--agent", "--name", "desk")
    path = rye.directive("work/one", signed=False)
    rye.ok("sign", path, "--key", "desk")
    signer = rye.ok("verify", path, "--json").json["results"][0]["fingerprint"]
    listed = {key["name"]: key for key in rye.ok("keys", "list", "--json").json["keys"]}
    assert signer == listed["desk"]["fingerprint"]
    assert (listed["default"]["place"], listed["desk"]["place"]) == ("file", "ssh-agent")
    rye.ok("keys", "default", "desk")
    rye.fails("keys", "add", "--agent", "--name", "default", code="already-exists")
    rye.ok("sign", path, "--key", listed["default"]["openssh_fingerprint"], "--force", "--yes")


def test_a_line_that_is_not_shown_whole_says_so() -> None:
    assert described(b"statement\nreason short\n").startswith("statement; reason short, SHA-256 ")
    assert f"reason {'a' * 193}… (307 characters), SHA-256" in described(b"statement\nreason " + b"a" * 300 + b"\n")


def test_what_is_signed_is_shown_before_the_agent_is_asked(rye: Person, agent: OpenSshAgent) -> None:
    agent.make("desk")
    rye.ok("keys", "add", "--agent")
    path = rye.directive("work/one", signed=False)
    agent.call("ssh-add", "-q", "-D")
    result = rye.run("sign", path)
    assert result.code == 1
    assert result.stderr.index(
        "Asking your agent to sign with 'default': directive one.md, SHA-256"
    ) < result.stderr.index("error")


def test_a_key_that_was_removed_from_the_agent(rye: Person, agent: OpenSshAgent) -> None:
    agent.make("other")
    agent.make("desk")
    rye.ok("keys", "add", "--agent", "desk@desk")
    agent.call("ssh-add", "-q", "-d", str(agent.folder / "desk"))
    path = rye.directive("work/one", signed=False)
    error = rye.fails("sign", path, code="ssh-agent-key-gone")
    assert "ssh-add" in error["hint"]
    agent.call("ssh-add", "-q", str(agent.folder / "desk"))
    rye.ok("sign", path)


def test_a_locked_agent(rye: Person, agent: OpenSshAgent) -> None:
    agent.make("desk")
    rye.ok("keys", "add", "--agent")
    agent.lock("word")
    path = rye.directive("work/one", signed=False)
    before = rye.path(path).read_bytes()
    error = rye.fails("sign", path, code="ssh-agent-locked")
    assert "ssh-add -X" in error["hint"]
    assert rye.path(path).read_bytes() == before
    agent.lock("word", unlock=True)
    rye.ok("sign", path)


@pytest.mark.parametrize(("answer", "code"), [("exit 1", "ssh-agent-declined"), ("exit 0", None)])
def test_a_confirmation_that_is_declined(tmp_path: Path, answer: str, code: str | None) -> None:
    asker = tmp_path / "ask"
    asker.write_text(f"#!/bin/sh\n{answer}\n")
    asker.chmod(0o700)
    with openssh_agent(tmp_path / "ssh", SSH_ASKPASS=str(asker), SSH_ASKPASS_REQUIRE="force", DISPLAY=":9") as agent:
        rye = Person(tmp_path, "acme")
        rye.environment["SSH_AUTH_SOCK"] = str(agent.path)
        agent.make("desk", add=("-c",))
        rye.ok("keys", "add", "--agent")
        path = rye.directive("work/one", signed=False)
        if code is None:
            rye.ok("sign", path)
        else:
            rye.fails("sign", path, code=code)


def test_no_agent(rye: Person, agent: OpenSshAgent, tmp_path: Path) -> None:
    agent.make("desk")
    rye.ok("keys", "add", "--agent")
    path = rye.directive("work/one", signed=False)
    for place in ("", str(tmp_path / "nothing")):
        error = rye.fails("sign", path, code="ssh-agent-missing", env={"SSH_AUTH_SOCK": place})
        assert "ssh-agent" in error["hint"]
    rye.ok("sign", path)
    assert rye.ok("verify", path, env={"SSH_AUTH_SOCK": ""}).code == 0, "verifying needs no agent"


def test_the_agent_s_stored_line_gives_the_public_half(rye: Person, agent: OpenSshAgent) -> None:
    """A colleague adds the key from its ``.pub`` file, OpenSSH's or Rye's."""
    agent.make("desk")
    key = rye.ok("keys", "add", "--agent", "--json").json
    assert os.path.exists(Path(key["path"]).with_suffix(".pub"))
    other = Person(rye.folder.parent / "other")
    other.ok("trust", "add", str(agent.folder / "desk.pub"), "--label", "colleague", "--yes")
    listed = other.ok("trust", "list", "--json").json["keys"]
    assert [entry["fingerprint"] for entry in listed] == [key["fingerprint"]]
