"""Moving from one key to another, and what is said before a key that is needed goes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.workspace.trusting.key_uses import KeyUses, OwnNamespace
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.ssh_agents import OpenSshAgent, needs_ssh_agent, openssh_agent

pytestmark = pytest.mark.processes


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OpenSshAgent]:
    with openssh_agent(tmp_path / "ssh") as running:
        running.make("desk")
        yield running


def owner(registry: Registry, namespace: str, agent: OpenSshAgent | None = None) -> Person:
    person = registry.owner(namespace)
    if agent is not None:
        person.environment["SSH_AUTH_SOCK"] = str(agent.path)
    return person


def keys_of(person: Person, namespace: str) -> list[str]:
    found = person.ok("namespace", "show", namespace, "--json").json["keys"]
    return [key if isinstance(key, str) else key["fingerprint"] for key in found]


@needs_ssh_agent
def test_a_key_moves_into_the_agent(registry: Registry, agent: OpenSshAgent) -> None:
    rye = owner(registry, "moves", agent)
    rye.publish(rye.directive("work/one"))
    rye.ok("namespace", "claim", "moves2")
    old = rye.fingerprint()
    moved = rye.ok("keys", "move", "default", "--agent", "desk@desk", "--yes", "--json").json
    assert (sorted(moved["namespaces"]), moved["left"]) == (["moves", "moves2"], [])
    assert keys_of(rye, "moves") == keys_of(rye, "moves2") == [moved["fingerprint"]]
    assert [key["name"] for key in rye.ok("keys", "list", "--json").json["keys"] if key["default"]] == ["default-agent"]
    rye.ok("keys", "remove", "default", "--yes")
    rye.publish(rye.directive("work/one", "1.1.0"))
    reader = registry.user()
    reader.ok("add", "moves/work/one@1.0.0", "--yes")
    assert reader.ok("info", "moves/work/one", "--json").json["signers"] == [moved["fingerprint"]] != [old]


@needs_ssh_agent
def test_what_the_old_key_signed_and_published_is_not_warned_about(registry: Registry, agent: OpenSshAgent) -> None:
    rye = owner(registry, "moved", agent)
    rye.publish(rye.directive("work/one"))
    rye.ok("keys", "move", "default", "--agent", "desk@desk", "--yes", "--json")
    assert "does not accept" not in rye.ok("sign").stderr
    rye.directive("work/two", signed=False)
    said = rye.ok("sign", "--key", "default").stderr
    assert "work/two.md is signed with a key that moved does not accept" in said, "what the old key signs now"
    other = Person(rye.home.parent / "other")
    other.ok("keys", "generate")
    rye.ok("trust", "add", other.public_key(), "--yes")
    foreign = other.path(other.directive("work/three"))
    rye.write(".ai/directives/work/three.md", foreign.read_bytes())
    assert "work/three.md is signed" in rye.ok("sign", ".ai/directives/work/three.md").stderr, "no key that it ever had"


@needs_ssh_agent
def test_a_namespace_that_has_the_new_key_already_is_left_as_it_is(
    registry: Registry, agent: OpenSshAgent, tmp_path: Path
) -> None:
    """As after a command that was interrupted before it read the registry's answer, or on a second machine."""
    rye = owner(registry, "twice", agent)
    seen = rye.home / "data" / "registries"
    shutil.copytree(seen, tmp_path / "seen")
    move = ("keys", "move", "default", "--agent", "desk@desk", "--yes", "--json")
    rye.ok(*move)
    number = rye.ok("namespace", "show", "twice", "--json").json["number"]
    shutil.rmtree(seen)
    (tmp_path / "seen").rename(seen)
    rye.ok("keys", "default", "default")
    again = rye.ok(*move).json
    assert (again["namespaces"], again["left"], again["default"]) == (["twice"], [], True)
    assert rye.ok("namespace", "show", "twice", "--json").json["number"] == number


@needs_ssh_agent
def test_a_namespace_that_needs_others_is_named_with_its_command(registry: Registry, agent: OpenSshAgent) -> None:
    rye, other = owner(registry, "team", agent), registry.owner("elsewhere")
    rye.ok("namespace", "keys", "add", "team", other.public_key(), "--threshold", "2", "-o", "two.keyset")
    other.ok("namespace", "sign", str(rye.path("two.keyset")), "--yes")
    other.ok("namespace", "submit", str(rye.path("two.keyset")))
    rye.ok("namespace", "show", "team")
    moved = rye.ok("keys", "move", "default", "--agent", "desk@desk", "--yes", "--json").json
    assert moved["namespaces"] == []
    (left,) = moved["left"]
    assert left["namespace"] == "team"
    assert "signature" in left["why"]
    rye.ok(*left["command"].split(" ")[1:])
    note = str(rye.path("team.keyset"))
    other.ok("namespace", "sign", note, "--yes")
    other.ok("namespace", "submit", note)
    assert moved["fingerprint"] in keys_of(rye, "team")


def test_the_only_key_of_a_namespace_is_not_removed_by_accident(registry: Registry) -> None:
    rye = owner(registry, "alone")
    rye.ok("keys", "generate", "--name", "spare")
    rye.ok("keys", "default", "spare")
    error = rye.fails("keys", "remove", "default", "--yes", code="key-needed")
    assert "alone (nobody else has one" in error["message"]
    assert "keys move default" in error["hint"]
    rye.ok("keys", "default", "default")
    rye.ok("keys", "remove", "spare", "--yes")
    hatch = "rye keys remove default --leave-without-key alone"
    assert f"`{hatch}` deletes it all the same" in error["hint"]
    rye.fails("keys", "remove", "default", "--force", "--yes", code="usage", exit_code=2)
    rye.fails("keys", "remove", "default", "--leave-without-key", "another", "--yes", code="key-needed")
    rye.ok("keys", "export", "default")
    left = rye.ok(*hatch.split()[1:], "--yes")
    assert "has no key of alone" in left.stderr


def test_that_others_have_keys_is_said(registry: Registry) -> None:
    rye, other = owner(registry, "shared"), registry.owner("colleague")
    rye.ok("namespace", "keys", "add", "shared", other.public_key())
    error = rye.fails("keys", "remove", "default", "--yes", code="key-needed")
    assert "shared (1 key of somebody else remains)" in error["message"]


def test_a_second_key_of_this_machine_is_enough(registry: Registry) -> None:
    rye = owner(registry, "two")
    second = rye.ok("keys", "generate", "--name", "second", "--json").json
    rye.ok("namespace", "keys", "add", "two", str(Path(second["path"]).with_suffix(".pub")))
    rye.ok("keys", "remove", "second", "--yes")


def test_the_list_says_where_since_when_and_for_what(registry: Registry) -> None:
    rye = owner(registry, "listed")
    rye.ok("keys", "generate", "--name", "idle")
    listed = {key["name"]: key for key in rye.ok("keys", "list", "--json").json["keys"]}
    (use,) = listed["default"]["namespaces"]
    assert (use["namespace"], use["registry"]) == ("listed", registry.url)
    assert listed["default"]["last_used"].startswith("20")
    assert (listed["idle"]["namespaces"], listed["idle"]["last_used"]) == ([], None)
    shown = rye.ok("keys", "list").stdout
    assert "listed since 20" in shown
    assert "never" in shown


def test_a_registry_with_several_addresses_is_one_and_two_are_told_apart() -> None:
    def own(namespace: str, address: str, origin: str) -> OwnNamespace:
        return OwnNamespace(
            namespace=namespace, registry=address, origin=origin, keys=1, since={}, accepted=frozenset({"default"})
        )

    one, mirror = own("acme", "https://a.example.org", "a"), own("acme", "https://mirror.example.org", "a")
    assert list(KeyUses((one, mirror)).named((one, mirror))) == ["acme"]
    other = own("acme", "https://b.example.org", "b")
    assert list(KeyUses((one, mirror, other)).named((one, mirror, other))) == ["acme in a", "acme in b"]


def test_doctor_warns_of_a_namespace_with_one_key(registry: Registry) -> None:
    rye = owner(registry, "single")

    def status() -> str:
        checks = rye.run("doctor", "--json").json["checks"]
        return str(next(check["status"] for check in checks if check["name"] == "namespaces"))

    assert status() == "warning"
    second = rye.ok("keys", "generate", "--name", "second", "--json").json
    rye.ok("namespace", "keys", "add", "single", str(Path(second["path"]).with_suffix(".pub")))
    assert status() == "ok"
