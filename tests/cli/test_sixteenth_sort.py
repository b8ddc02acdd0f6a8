"""A new sort of thing that needs a yes is one row of the table: every command asks about it, and rye.lock records it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rye.items.identity import Identity
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import now
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.nursery import also_for
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
BASE, OTHER, TOP = (Identity("directive", f"acme/work/{name}") for name in ("base", "other", "top"))
LISTED = 'approved-neighbours = [\n  "directive:acme/work/base",\n]\n'
MANIFEST = '[project]\nname = "shop"\nnamespace = "shop"\nregistry = "{}"\n'


@pytest.fixture(scope="module", autouse=True)
def with_row(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The row, in every program that is started: Python runs ``sitecustomize`` before anything else."""
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text("from tests.sixteenth_sort import added\n\nadded()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(folder), str(ROOT))))
        with also_for(os.environ):
            yield


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Its address and fingerprint. TOP gains a neighbour in 1.1.0, keeps it in 1.2.0, and gains another in 1.3.0."""
    made = SimulatedRegistry(now=now() - timedelta(hours=2))
    made.claim("acme")
    for each in (BASE, OTHER):
        release(made, each, "1.0.0", directive(each))
    for version, names in (("1.0.0", ()), ("1.1.0", (BASE,)), ("1.2.0", (BASE,)), ("1.3.0", (BASE, OTHER))):
        depends = tuple((each.id, "^1.0") for each in names)
        release(made, TOP, version, directive(TOP, version, depends=depends))
    made.publish()
    folder = tmp_path_factory.mktemp("registry")
    made.write_to(folder)
    return folder.as_uri(), made.fingerprint


class Colleague:
    """A person whose program has the row."""

    def __init__(self, base: Path, registry: tuple[str, str]) -> None:
        self.person = Person(base)
        self.person.write("rye.toml", MANIFEST.format(registry[0]))
        self.ok("registry", "add", registry[0], "--fingerprint", registry[1])

    def ok(self, *words: str) -> str:
        done = self.person.spawn(*words)
        assert done.code == 0, done
        return done.stderr

    def refused(self, *words: str) -> Any:
        done = self.person.spawn(*words, "--json")
        assert done.code == 1, done
        return done.error

    @property
    def lock(self) -> str:
        return self.person.path("rye.lock").read_text("utf-8")

    def without_files(self) -> None:
        shutil.rmtree(self.person.path(".ai/packages"))


@pytest.fixture
def colleague(registry: tuple[str, str], tmp_path: Path) -> Colleague:
    made = Colleague(tmp_path, registry)
    made.ok("add", str(BASE), str(OTHER), f"{TOP}@1.0.0", "--yes")
    made.person.write("rye.toml", made.person.path("rye.toml").read_text().replace('"1.0.0"', '"*"'))
    made.ok("install", "--yes")
    return made


@pytest.mark.thorough
def test_an_update_asks_about_it_and_records_the_yes(colleague: Colleague) -> None:
    assert "approved-neighbours" not in colleague.lock
    error = colleague.refused("update", f"{TOP}@1.1.0", "--yes")
    assert (error["code"], error["changes"][0]["neighbours"]) == ("consent-needed", [str(BASE)])
    assert error["changes"][0]["needs_approval"] is True
    assert f"adds neighbour: {BASE}" in error["message"]
    shown = colleague.ok("update", f"{TOP}@1.1.0", "--approve", f"{TOP.id}@1.1.0")
    assert f"Items that it works with: {BASE}" in shown
    assert LISTED in colleague.lock
    colleague.ok("update", f"{TOP}@1.2.0")  # has no more than what was approved
    assert LISTED in colleague.lock
    assert colleague.refused("update", f"{TOP}@1.3.0")["changes"][0]["neighbours"] == [str(OTHER)]


def test_a_first_installation_asks_and_yes_suffices(registry: tuple[str, str], tmp_path: Path) -> None:
    first = Colleague(tmp_path, registry)
    changes = first.refused("add", f"{TOP}@1.1.0")["changes"]
    assert {change["id"]: change["neighbours"] for change in changes} == {BASE.id: [], TOP.id: [str(BASE)]}
    first.ok("add", f"{TOP}@1.1.0", "--yes")
    assert LISTED in first.lock


@pytest.mark.thorough
def test_a_build_installs_what_the_lock_approves_and_nothing_else(colleague: Colleague) -> None:
    colleague.ok("update", f"{TOP}@1.1.0", "--approve", f"{TOP.id}@1.1.0")
    colleague.without_files()
    colleague.ok("ci")
    colleague.ok("render", str(TOP))
    colleague.person.write("rye.lock", colleague.lock.replace(LISTED, ""))
    for files in (True, False):
        if not files:
            colleague.without_files()
        error = colleague.refused("ci", "--trust-lock")
        assert (error["code"], error["changes"][0]["neighbours"]) == ("consent-needed", [str(BASE)])
        audited = colleague.person.spawn("audit", "--json")
        assert "findings" in audited.json, audited
        found = audited.json["findings"]
        assert any(row["message"].endswith(f"no one approved: neighbour {BASE}.") for row in found)
        assert colleague.refused("render", str(TOP))["code"] == ("consent-needed" if files else "no-such-item")


@pytest.mark.thorough
def test_an_approval_in_advance_does_not_fit(colleague: Colleague) -> None:
    colleague.ok("update", f"{TOP}@1.1.0", "--approve", f"{TOP.id}@1.1.0")
    more = LISTED.replace("]", f'  "{OTHER}",\n]')
    colleague.person.write("rye.lock", colleague.lock.replace(LISTED, more))
    error = colleague.refused("ci", "--trust-lock")
    assert error["code"] == "lock-does-not-fit"
    assert f"rye.lock approves something that it does not ask for: {OTHER}" in error["message"]


def test_what_only_the_lock_approves_is_asked_about_on_each_machine(
    colleague: Colleague, registry: tuple[str, str], tmp_path: Path
) -> None:
    colleague.ok("update", f"{TOP}@1.1.0", "--approve", f"{TOP.id}@1.1.0")
    other = Colleague(tmp_path / "other", registry)
    for name in ("rye.toml", "rye.lock"):
        other.person.write(name, colleague.person.path(name).read_bytes())
    asked = {(row["item"], row["what"], row["value"]) for row in other.refused("ci", "--yes")["approvals"]}
    assert (str(TOP), "neighbour", str(BASE)) in asked
    other.ok("ci", "--trust-lock")
    assert other.refused("render", str(TOP))["code"] == "project-not-accepted"
    said = other.person.terminal("trust", "project", answer=b"y\n")
    assert "Items that it works with" in said
    other.ok("render", str(TOP))
