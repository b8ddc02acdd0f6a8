"""After ``rye registry remove``, nothing of the registry is accepted, offline neither (DESIGN 6.1, Verified here).

A user removes a pin because they no longer trust the registry. What was verified under the pin must not count any longer, and
must not count again without a check when they pin the registry once more.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.simulation import DEPLOY, Attack, Attacker, AttackRunner
from tests.scenes.person import Person

USES = (
    ("ci",),
    ("install",),
    ("install", "--frozen"),
    ("render", DEPLOY.id),
    ("show", DEPLOY.id),
    ("sbom",),
    ("lock", "--check"),
    ("facts", DEPLOY.id),
)
"""What reports an item as installed, or returns its content."""
REFUSED = {"unverified-item", "registry-unpinned", "fetch-offline"}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackRunner]:
    made = AttackRunner(tmp_path_factory.mktemp("attacks"))
    yield made
    made.close()


@pytest.fixture
def attacker(runner: AttackRunner) -> Attacker:
    """A user with an installed item, in a project that names its registry."""
    made = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
    made.serve(made.past)
    made.user.write("rye.toml", f'[project]\nname = "shop"\nregistry = "{runner.server.url}"\n')
    made.user.ok("add", str(DEPLOY), "--yes")
    return made


def codes(user: Person, *more: str) -> set[str | None]:
    """How each use ends: None is success."""
    results = [user.run(*words, *more, "--json") for words in USES]
    return {result.error["code"] if result.code else None for result in results}


def states(user: Person) -> set[str]:
    return {row["state"] for row in user.ok("list", "--json").json["items"]}


def remove(attacker: Attacker, *more: str) -> None:
    attacker.user.ok("registry", "remove", attacker.server.url, *more)


def test_control_with_the_pin_everything_is_accepted_without_a_network(attacker: Attacker) -> None:
    assert codes(attacker.user, "--offline") == {None}
    assert states(attacker.user) == {"ok"}


@pytest.mark.parametrize("more", [(), ("--forget-trusted-history",)])
def test_without_the_pin_nothing_is_accepted(attacker: Attacker, more: tuple[str, ...]) -> None:
    remove(attacker, *more)
    assert codes(attacker.user, "--offline") <= REFUSED
    assert codes(attacker.user) <= REFUSED
    assert states(attacker.user) == {"unverified"}


def test_an_address_that_the_command_names_is_a_first_contact_too(attacker: Attacker) -> None:
    """The trusted history is kept, but it is no longer a pin: someone confirms the fingerprint again."""
    remove(attacker)
    for words in (("ci",), ("info", str(DEPLOY))):
        error = attacker.user.run("--registry", attacker.server.url, *words, "--json").error
        assert error["code"] == "registry-unpinned"
    assert attacker.past.fingerprint in error["hint"]


def test_a_bundle_does_not_bring_the_pin_back(attacker: Attacker) -> None:
    attacker.user.ok("mirror", "--bundle", "../all.bundle")
    attacker.user.ok("ci", "--bundle", "../all.bundle")
    remove(attacker)
    assert attacker.user.run("ci", "--bundle", "../all.bundle", "--json").error["code"] == "registry-unpinned"


def test_only_the_command_that_pins_takes_the_kept_history_for_an_answer(attacker: Attacker) -> None:
    remove(attacker)
    attacker.user.ok("registry", "add", attacker.server.url)
    attacker.user.ok("ci")


def test_what_was_verified_under_a_removed_pin_is_verified_again_under_the_next(attacker: Attacker) -> None:
    remove(attacker)
    attacker.user.ok("registry", "add", attacker.server.url, "--fingerprint", attacker.past.fingerprint)
    assert states(attacker.user) == {"unverified"}
    attacker.user.ok("ci")
    assert states(attacker.user) == {"ok"}
    assert codes(attacker.user, "--offline") == {None}


def test_the_history_that_was_kept_still_shows_a_rollback(attacker: Attacker) -> None:
    attacker.serve(attacker.present)
    attacker.user.ok("outdated")
    remove(attacker)
    attacker.serve(attacker.past)
    add = ("registry", "add", attacker.server.url, "--fingerprint", attacker.past.fingerprint, "--json")
    assert attacker.user.run(*add).error["code"] == "head-rollback"


def test_a_registry_that_is_pinned_at_another_address_stays_accepted_after_one_more_look(attacker: Attacker) -> None:
    attacker.elsewhere.serve(attacker.past.files)
    attacker.user.ok("registry", "add", attacker.elsewhere.url, "--fingerprint", attacker.past.fingerprint)
    assert states(attacker.user) == {"ok"}
    remove(attacker)
    assert states(attacker.user) == {"unverified"}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"https://other.example": "other.example"}'])
def test_pins_that_cannot_be_read_are_no_pins(attacker: Attacker, damage: str) -> None:
    pins = attacker.user.home / "data" / "registries" / "addresses.json"
    pins.write_text(damage)
    assert None not in codes(attacker.user, "--offline")
    assert states(attacker.user) == {"unverified"}


def test_pins_that_others_can_write_are_no_pins(attacker: Attacker) -> None:
    pins = attacker.user.home / "data" / "registries" / "addresses.json"
    pins.chmod(0o666)
    assert None not in codes(attacker.user, "--offline")
    assert states(attacker.user) == {"unverified"}
