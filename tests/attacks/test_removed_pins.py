"""After ``rye registry remove``, nothing of the registry is accepted, offline neither (DESIGN 6.1, Verified here).

A user removes a pin because they no longer trust the registry. What was verified under the pin must not count any longer, and
must not count again without a check when they pin the registry once more.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.simulation import DEPLOY, Attack, Scene, Stage
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
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    made.close()


@pytest.fixture
def scene(stage: Stage) -> Scene:
    """A user with an installed item, in a project that names its registry."""
    made = stage.scene(Attack("", "mirror", "", lambda scene: None))
    made.serve(made.past)
    made.user.write("rye.toml", f'[project]\nname = "shop"\nregistry = "{stage.server.url}"\n')
    made.user.ok("add", str(DEPLOY), "--yes")
    return made


def codes(user: Person, *more: str) -> set[str | None]:
    """How each use ends: None is success."""
    results = [user.run(*words, *more, "--json") for words in USES]
    return {result.error["code"] if result.code else None for result in results}


def states(user: Person) -> set[str]:
    return {row["state"] for row in user.ok("list", "--json").json["items"]}


def remove(scene: Scene, *more: str) -> None:
    scene.user.ok("registry", "remove", scene.server.url, *more)


def test_control_with_the_pin_everything_is_accepted_without_a_network(scene: Scene) -> None:
    assert codes(scene.user, "--offline") == {None}
    assert states(scene.user) == {"ok"}


@pytest.mark.parametrize("more", [(), ("--forget-trusted-history",)])
def test_without_the_pin_nothing_is_accepted(scene: Scene, more: tuple[str, ...]) -> None:
    remove(scene, *more)
    assert codes(scene.user, "--offline") <= REFUSED
    assert codes(scene.user) <= REFUSED
    assert states(scene.user) == {"unverified"}


def test_an_address_that_the_command_names_is_a_first_contact_too(scene: Scene) -> None:
    """The trusted history is kept, but it is no longer a pin: someone confirms the fingerprint again."""
    remove(scene)
    for words in (("ci",), ("info", str(DEPLOY)), ("registry", "add", scene.server.url)):
        error = scene.user.run("--registry", scene.server.url, *words, "--json").error
        assert error["code"] == "registry-unpinned"
    assert scene.past.fingerprint in error["hint"]


def test_a_bundle_does_not_bring_the_pin_back(scene: Scene) -> None:
    scene.user.ok("mirror", "--bundle", "../all.bundle")
    scene.user.ok("ci", "--bundle", "../all.bundle")
    remove(scene)
    assert scene.user.run("ci", "--bundle", "../all.bundle", "--json").error["code"] == "registry-unpinned"


def test_what_was_verified_under_a_removed_pin_is_verified_again_under_the_next(scene: Scene) -> None:
    remove(scene)
    scene.user.ok("registry", "add", scene.server.url, "--fingerprint", scene.past.fingerprint)
    assert states(scene.user) == {"unverified"}
    scene.user.ok("ci")
    assert states(scene.user) == {"ok"}
    assert codes(scene.user, "--offline") == {None}


def test_the_history_that_was_kept_still_shows_a_rollback(scene: Scene) -> None:
    scene.serve(scene.present)
    scene.user.ok("outdated")
    remove(scene)
    scene.serve(scene.past)
    add = ("registry", "add", scene.server.url, "--fingerprint", scene.past.fingerprint, "--json")
    assert scene.user.run(*add).error["code"] == "head-rollback"


def test_a_registry_that_is_pinned_at_another_address_stays_accepted_after_one_more_look(scene: Scene) -> None:
    scene.elsewhere.serve(scene.past.files)
    scene.user.ok("registry", "add", scene.elsewhere.url, "--fingerprint", scene.past.fingerprint)
    assert states(scene.user) == {"ok"}
    remove(scene)
    assert states(scene.user) == {"unverified"}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"https://other.example": "other.example"}'])
def test_pins_that_cannot_be_read_are_no_pins(scene: Scene, damage: str) -> None:
    pins = scene.user.home / "data" / "registries" / "addresses.json"
    pins.write_text(damage)
    assert None not in codes(scene.user, "--offline")
    assert states(scene.user) == {"unverified"}


def test_pins_that_others_can_write_are_no_pins(scene: Scene) -> None:
    pins = scene.user.home / "data" / "registries" / "addresses.json"
    pins.chmod(0o666)
    assert None not in codes(scene.user, "--offline")
    assert states(scene.user) == {"unverified"}
