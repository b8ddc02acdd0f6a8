"""What this machine's trusted state knows as revoked or taken down is not installed, even if it was verified before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_claims import codes
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run, token

pytestmark = pytest.mark.processes

ALL = (("ci",), ("install",), ("install", "--frozen"), ("render", "acme/work/top"), ("show", "acme/work/top"))


@pytest.fixture
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry") / "data") as made:
        yield made


@pytest.fixture
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    author.release("work/top")
    return author


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    person = registry.user()
    person.ok("add", "acme/work/base", "acme/work/top", "--yes")
    assert set(codes(person, *ALL).values()) == {"ok"}
    return person


def states(person: Person) -> dict[str, str]:
    return {row["id"]: row["state"] for row in person.ok("list", "--json").json["items"]}


def revoke(registry: Registry, acme: Person, position: int) -> None:
    """Another owner revokes the author's key for everything at ``position`` or later in the log."""
    other = registry.user()
    other.ok("keys", "generate")
    other.ok("login", registry.url, "--token", token(registry.data))
    [key] = other.ok("keys", "list", "--json").json["keys"]
    acme.ok("namespace", "keys", "add", "acme", str(Path(key["path"]).with_suffix(".pub")))
    [own] = acme.ok("keys", "list", "--json").json["keys"]
    other.ok("namespace", "revoke", "acme", own["fingerprint"], "--from", str(position), "--yes")


def test_a_revocation_that_another_command_saw_holds_for_what_was_verified_before(
    registry: Registry, acme: Person, user: Person
) -> None:
    revoke(registry, acme, user.ok("info", "acme/work/top", "--json").json["log"])
    assert set(codes(user, *ALL).values()) == {"ok"}, "nothing on this machine knows of it yet"
    user.run("outdated")
    found = codes(user, *ALL)
    assert set(found.values()) == {"signer-revoked"}, found
    assert states(user) == {"acme/work/top": "unverified", "acme/work/base": "unverified"}
    user.ok("render", "acme/work/base")
    assert states(user) == {"acme/work/top": "unverified", "acme/work/base": "ok"}


def test_a_known_revocation_needs_no_network(registry: Registry, acme: Person, user: Person) -> None:
    revoke(registry, acme, user.ok("info", "acme/work/top", "--json").json["log"])
    user.run("outdated")
    registry.stop()
    assert user.run("render", "acme/work/top", "--json").error["code"] == "signer-revoked"
    assert user.run("render", "acme/work/top", "--offline", "--json").error["code"] == "signer-revoked"
    assert user.run("ci", "--offline", "--json").error["code"] == "signer-revoked"
    user.ok("render", "acme/work/base")
    registry.start()


def test_a_takedown_that_another_command_saw_holds_too(registry: Registry, user: Person) -> None:
    run("takedown", "directive:acme/work/top@1.0.0", "--reason", "A secret.", "--data", str(registry.data))
    user.run("outdated")
    found = codes(user, *ALL)
    assert set(found.values()) == {"release-taken-down"}, found
    assert states(user)["acme/work/top"] == "unverified"
    user.ok("render", "acme/work/base")


@pytest.mark.thorough
def test_what_was_taken_down_is_told_wherever_one_asks(registry: Registry, acme: Person, user: Person) -> None:
    run("takedown", "directive:acme/work/top@1.0.0", "--reason", "A secret.", "--data", str(registry.data))
    shown = user.ok("info", "acme/work/top", "--json").json
    assert shown["taken_down"] == "A secret."
    assert [row["taken_down"] for row in shown["versions"]] == [True]
    assert (shown["alarms"], shown["said"]["warnings"]) == (None, "unknown: the files are gone")
    text = user.ok("info", "acme/work/top").stdout
    assert "1.0.0 (taken down: A secret.)" in text
    assert "no alarms" not in text
    kept = user.ok("info", "acme/work/base", "--json").json
    assert (kept["taken_down"], kept["versions"][0]["taken_down"]) == (None, False)
    other = registry.user()
    error = other.fails("add", "acme/work/top", "--yes", code="unsolvable")
    assert "A secret." in error["message"]
    assert error["hint"].startswith("No version of directive:acme/work/top can be installed")
    assert "another range" not in error["hint"]
    acme.release("work/top", version="1.1.0")
    assert "the newest is 1.1.0" in other.fails("add", "acme/work/top@1.0.0", "--yes", code="unsolvable")["hint"]


@pytest.mark.thorough
def test_a_change_of_keys_that_revokes_nothing_costs_one_more_look(
    registry: Registry, acme: Person, user: Person
) -> None:
    acme.ok("keys", "generate", "--name", "second")
    keys = acme.ok("keys", "list", "--json").json["keys"]
    second = next(key for key in keys if key["name"] == "second")
    acme.ok("namespace", "keys", "add", "acme", str(Path(second["path"]).with_suffix(".pub")))
    user.ok("audit")
    assert set(states(user).values()) == {"ok"}, "the audit judged the rows by the new keys"
    registry.stop()
    assert set(codes(user, *ALL).values()) == {"ok"}
    registry.start()


def test_an_advisory_that_this_machine_saw_is_said_where_nothing_is_missing(
    registry: Registry, acme: Person, user: Person
) -> None:
    """Where nothing is to be installed no registry is asked: what another command saw is said all the same, offline too."""
    words = ["advisory", "publish", "acme/work/top", "--number", "ACME-1", "--severity", "high", "--title", "Leaks"]
    acme.ok(*words, "--range", "<2")
    assert "ACME-1" not in user.ok("ci").stderr, "nothing on this machine knows of it yet"
    user.run("audit")
    registry.stop()
    said = "directive:acme/work/top@1.0.0: advisory ACME-1 (high): Leaks"
    for command in (("ci",), ("install",), ("install",), ("ci", "--offline")):
        done = user.ok(*command)
        assert f"warning: {said}" in done.stderr, command
        assert "`rye update directive:acme/work/top` looks for an unaffected version" in done.stderr
    assert user.ok("ci", "--json").json["warnings"] == [said]
    registry.start()
    acme.ok("advisory", "withdraw", "acme/work/top", "ACME-1")
    user.ok("audit")
    assert "ACME-1" not in user.ok("ci").stderr
