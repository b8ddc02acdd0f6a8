"""Security keys (FIDO) sign items and statements, and a namespace can require them. Played with OpenSSH's sk-dummy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.signing.keys import PublicKey, read_public_line
from rye.signing.signature_line import FoundLine, find, layout_of
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.ssh_agents import OpenSshAgent, needs_sk_dummy, needs_ssh_agent, openssh_agent

pytestmark = [needs_ssh_agent, needs_sk_dummy, pytest.mark.processes]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path_factory.mktemp("ssh")) as running:
        running.make_security_key("stick")
        running.make_security_key("untouched", "-O", "no-touch-required")
        running.make("plain")
        yield running


def key_of(agent: OpenSshAgent, name: str) -> PublicKey:
    return read_public_line((agent.folder / f"{name}.pub").read_text())


def holder(registry: Registry, agent: OpenSshAgent, namespace: str, *names: str) -> Person:
    """Someone with these keys of the agent, the first of them the default, and with a token."""
    person = registry.reader(namespace)
    person.environment["SSH_AUTH_SOCK"] = str(agent.path)
    person.ok("login", registry.url, "--token", registry.token)
    for name in names:
        person.ok("keys", "add", "--agent", f"{name}@desk", "--name", name)
    return person


@pytest.mark.thorough
def test_a_stick_from_nothing_to_a_published_item(registry: Registry, agent: OpenSshAgent) -> None:
    rye = holder(registry, agent, "stick", "stick")
    rye.ok("namespace", "claim", "stick", "--require", "hardware")
    path = rye.directive("work/one")
    rye.ok("publish", path, "--yes", "--allow-uncommitted")
    shown = rye.ok("namespace", "show", "stick", "--json").json
    assert (shown["require"], shown["security_keys"]) == ("hardware", [key_of(agent, "stick").fingerprint])
    reader = registry.user()
    reader.ok("add", "stick/work/one", "--yes")
    assert reader.ok("audit", "--json").code == 0
    text = rye.path(path).read_text()
    found = find(text, layout_of("directive", path))
    assert isinstance(found, FoundLine)
    assert found.line is not None
    assert (len(found.line.signature), found.line.signature[64]) == (69, 1)


def test_the_fingerprint_of_a_security_key_is_openssh_s(agent: OpenSshAgent) -> None:
    key = key_of(agent, "stick")
    assert key.fingerprint == key.openssh_fingerprint
    assert key.fingerprint in agent.call("ssh-add", "-l")


def test_a_signature_without_presence_does_not_count(registry: Registry, agent: OpenSshAgent) -> None:
    """The key was made with no-touch-required, so its authenticator signs without a person; its signature is refused here."""
    rye = holder(registry, agent, "touch", "untouched")
    rye.fails("namespace", "claim", "touch", code="ssh-agent-answer")
    control = holder(registry, agent, "touch", "stick")
    control.ok("namespace", "claim", "touch")


def test_where_hardware_is_required_other_keys_do_not_count(registry: Registry, agent: OpenSshAgent) -> None:
    rye = holder(registry, agent, "strict", "plain", "stick")
    rye.ok("namespace", "claim", "strict", "--key", "plain", "--key", "stick", "--require", "hardware")
    path = rye.directive("work/one", signed=False)
    rye.ok("sign", path, "--key", "plain")
    error = rye.fails("publish", path, "--yes", "--allow-uncommitted", "--key", "stick", code="not-signed")
    assert error["hint"]
    rye.ok("sign", path, "--key", "stick", "--force", "--yes")
    error = rye.fails("publish", path, "--yes", "--allow-uncommitted", "--key", "plain", code="not-an-owner")
    assert "requires a security key" in error["message"]
    rye.ok("publish", path, "--yes", "--allow-uncommitted", "--key", "stick")


def test_only_a_security_key_lowers_what_is_required(registry: Registry, agent: OpenSshAgent, tmp_path: Path) -> None:
    rye = holder(registry, agent, "lower", "plain", "stick")
    rye.ok("namespace", "claim", "lower", "--key", "plain", "--key", "stick", "--require", "hardware")
    rye.ok("keys", "generate", "--name", "third")
    listed = rye.ok("keys", "list", "--json").json["keys"]
    third = next(str(Path(key["path"]).with_suffix(".pub")) for key in listed if key["name"] == "third")
    change = ("namespace", "keys", "add", "lower", third, "--require", "none")
    rye.fails(*change, "--key", "plain", code="signatures-missing")
    rye.ok(*change, "--key", "stick")
    assert rye.ok("namespace", "show", "lower", "--json").json["require"] is None
    rye.ok("namespace", "keys", "remove", "lower", key_of(agent, "stick").fingerprint, "--key", "plain")


def test_verification_of_the_person_can_be_required(registry: Registry, agent: OpenSshAgent) -> None:
    """A touch alone is not enough: sk-dummy says that it did not verify anybody."""
    rye = holder(registry, agent, "pin", "stick")
    rye.fails("namespace", "claim", "pin", "--require", "hardware-verified", code="signatures-missing")
    rye.ok("namespace", "claim", "pin", "--require", "hardware")


def test_a_plain_namespace_moves_to_a_stick(registry: Registry, agent: OpenSshAgent) -> None:
    rye = registry.owner("tostick")
    rye.environment["SSH_AUTH_SOCK"] = str(agent.path)
    rye.publish(rye.directive("work/one"))
    moved = rye.ok("keys", "move", "default", "--agent", "stick@desk", "--yes", "--json").json
    assert (moved["hardware"], moved["namespaces"]) == (True, ["tostick"])
    rye.ok("keys", "remove", "default", "--yes")
    rye.publish(rye.directive("work/one", "1.1.0"))
    registry.user().ok("add", "tostick/work/one@1.0.0", "--yes")


def test_a_colleague_gives_the_pub_file_of_a_stick(registry: Registry, agent: OpenSshAgent) -> None:
    rye = registry.owner("colleagues")
    rye.ok("namespace", "keys", "add", "colleagues", str(agent.folder / "stick.pub"))
    shown = rye.ok("namespace", "show", "colleagues", "--json").json
    assert shown["security_keys"] == [key_of(agent, "stick").fingerprint]
