"""A registry that leaves out an advisory which this machine has seen: `rye audit` says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import wire
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import now
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.person import Person

BASE = Identity("directive", "acme/work/base")
Lines = list[wire.IndexLine]


class Scene:
    """A person who installed an item, and the registry that it is from."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "registry"
        self.registry = SimulatedRegistry(now=now() - timedelta(hours=2))
        self.registry.claim("acme")
        release(self.registry, BASE, "1.0.0", directive(BASE))
        self.show()
        self.person = Person(base)
        address = self.folder.as_uri()
        self.person.write("rye.toml", f'[project]\nname = "shop"\nregistry = "{address}"\n')
        self.person.ok("registry", "add", address, "--fingerprint", self.registry.fingerprint)
        self.person.ok("add", str(BASE), "-y")

    def show(self) -> None:
        self.registry.pass_time(minutes=1)
        self.registry.publish()
        self.registry.write_to(self.folder)

    def show_without(self, hidden: Callable[[Lines], Lines]) -> None:
        """Sign an index in which the item has other lines than the log."""
        self.registry.pass_time(minutes=1)
        index = self.registry.index_lines()
        index[str(BASE)] = hidden(index[str(BASE)])
        self.registry.publish_index({name: wire.encode_index(found) for name, found in index.items()})
        self.registry.write_to(self.folder)

    def findings(self, *options: str) -> list[tuple[str, str]]:
        done = self.person.run("audit", "--json", *options)
        assert done.code == int(any(each["severity"] == "error" for each in done.json["findings"]))
        return [(each["rule"], each["severity"]) for each in done.json["findings"]]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.mark.parametrize("by_owners", [False, True])
def test_one_that_was_seen_and_is_left_out_is_an_error(scene: Scene, by_owners: bool) -> None:
    scene.registry.advise(BASE, "*", by_owners=by_owners)
    scene.show()
    assert scene.findings() == [("advisory", "error")]
    scene.show_without(lambda lines: lines[:-1])
    for options in ((), ("--offline",)):
        assert scene.findings(*options) == [("advisory-vanished", "error")]
    (finding,) = scene.person.run("audit", "--json").json["findings"]
    assert "RYE-2026-1 (high): it does harm" in finding["message"]
    assert "nobody withdrew it" in finding["message"]
    assert "rye log verify" in finding["hint"]
    scene.registry.advise(BASE, "<0.0.0-0", by_owners=by_owners)
    scene.show()
    assert scene.findings() == []


def test_one_of_other_versions_counts_as_well(scene: Scene) -> None:
    scene.registry.advise(BASE, "^2")
    scene.show()
    assert scene.findings() == []
    scene.show_without(lambda lines: lines[:-1])
    assert scene.findings() == [("advisory-vanished", "error")]


def test_the_milder_one_that_it_replaced_does_not_stand_for_it(scene: Scene) -> None:
    scene.registry.advise(BASE, "*", severity="low")
    scene.registry.pass_time(minutes=1)
    scene.registry.advise(BASE, "*", severity="critical")
    scene.show()
    assert scene.findings() == [("advisory", "error")]
    scene.show_without(lambda lines: lines[:-1])
    assert scene.findings() == [("advisory-vanished", "error"), ("advisory", "warning")]


def test_one_that_was_withdrawn_or_replaced_is_none(scene: Scene) -> None:
    scene.registry.advise(BASE, "*")
    scene.show()
    scene.findings()
    scene.registry.pass_time(minutes=1)
    scene.registry.advise(BASE, "^2", severity="low")
    scene.show()
    assert scene.findings() == []
    scene.registry.pass_time(minutes=1)
    scene.registry.advise(BASE, "<0.0.0-0")
    scene.show()
    assert scene.findings() == []
    scene.show_without(lambda lines: lines[:-3])
    assert scene.findings() == [], "nothing is hidden that was in force"
