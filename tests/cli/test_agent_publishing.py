"""A namespace whose only key is in an ssh-agent: everything that its owner signs is accepted by the registry and by a reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.ssh_agents import OpenSshAgent, needs_ssh_agent, openssh_agent

pytestmark = [needs_ssh_agent, pytest.mark.processes]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path_factory.mktemp("ssh")) as running:
        yield running


@pytest.fixture(scope="module")
def owner(registry: Registry, agent: OpenSshAgent) -> Person:
    person = registry.reader("desk")
    person.ok("login", registry.url, "--token", registry.token)
    person.environment["SSH_AUTH_SOCK"] = str(agent.path)
    agent.make("desk")
    person.ok("keys", "add", "--agent")
    person.ok("namespace", "claim", "desk", "--yes")
    return person


@pytest.mark.thorough
def test_what_is_published_is_installed_elsewhere(registry: Registry, owner: Person) -> None:
    path = owner.directive("work/one")
    shown = owner.ok("publish", path, "--yes", "--allow-uncommitted").stderr
    assert "Asking your agent to sign with 'default': rye.release/v1" in shown
    assert "desk/work/one" in shown
    reader = registry.user()
    reader.ok("add", "desk/work/one", "--yes")
    assert reader.ok("info", "desk/work/one", "--json").json["signers"] == [owner.fingerprint()]


def test_every_statement_of_an_owner(registry: Registry, owner: Person) -> None:
    owner.ok("publish", owner.directive("work/two"), "--yes", "--allow-uncommitted")
    owner.ok("yank", "desk/work/two@1.0.0", "--reason", "It was wrong", "--yes")
    owner.ok("unyank", "desk/work/two@1.0.0", "--yes")
    owner.ok("deprecate", "desk/work/two", "--reason", "Use one", "--yes")
    advisory = ("--number", "DESK-1", "--range", "<2.0.0", "--severity", "low", "--title", "It was wrong")
    owner.ok("advisory", "publish", "desk/work/two", *advisory, "--yes")
    owner.ok("advisory", "withdraw", "desk/work/two", "DESK-1", "--yes")


def test_a_stage_is_approved_with_it(owner: Person) -> None:
    staged = owner.ok(
        "publish", owner.directive("work/three"), "--stage", "--yes", "--allow-uncommitted", "--json"
    ).json
    assert staged
    owner.approve_stage("directive:desk/work/three@1.0.0")


def test_keys_of_the_namespace_change_with_it(owner: Person, agent: OpenSshAgent) -> None:
    """A colleague's OpenSSH public key is a file that `namespace keys add` takes as it is."""
    agent.make("colleague")
    owner.ok("namespace", "keys", "add", "desk", str(agent.folder / "colleague.pub"), "--yes")
    listed = owner.ok("namespace", "show", "desk", "--json").json
    assert len(listed["keys"]) == 2
    spoken = agent.call("ssh-keygen", "-l", "-f", str(agent.folder / "colleague.pub")).split(" ")[1]
    owner.ok("namespace", "keys", "remove", "desk", spoken, "--yes")
    assert len(owner.ok("namespace", "show", "desk", "--json").json["keys"]) == 1


def test_another_key_of_the_agent_alone_is_told_from_another_text(owner: Person, agent: OpenSshAgent) -> None:
    """`--restore` takes the published signature back, and never a text."""
    path = owner.directive("work/resigned")
    owner.ok("publish", path, "--yes", "--allow-uncommitted")
    published = owner.path(path).read_bytes()
    agent.make("other")
    owner.ok("keys", "add", "--agent", "other@desk", "--name", "other")
    owner.ok("sign", path, "--key", "other", "--force", "--yes")
    resigned = owner.path(path).read_bytes()
    assert resigned != published
    publish = ("publish", path, "--yes", "--allow-uncommitted")
    error = owner.fails(*publish, code="signature-differs")
    assert f"rye publish {path} --restore" in error["hint"]
    assert "version bump" not in error["hint"]
    assert owner.path(path).read_bytes() == resigned
    owner.ok(*publish, "--restore")
    assert owner.path(path).read_bytes() == published

    for key in ("default", "other"):
        owner.directive("work/resigned", text="Another text", signed=False)
        owner.ok("sign", path, "--key", key)
        changed = owner.path(path).read_bytes()
        error = owner.fails(*publish, "--restore", code="version-exists")
        assert "rye version bump patch" in error["hint"]
        assert owner.path(path).read_bytes() == changed


def test_without_the_agent_nothing_is_published(owner: Person, tmp_path: Path) -> None:
    path = owner.directive("work/four")
    owner.fails(
        "publish",
        path,
        "--yes",
        "--allow-uncommitted",
        code="ssh-agent-missing",
        env={"SSH_AUTH_SOCK": str(tmp_path / "gone")},
    )
    owner.fails("info", "desk/work/four", code="no-such-item")
