"""Three real registries, each behind a gate that a test shuts, and a user whose project needs an item of each.

A module imports the fixtures that it uses: ``three``, ``gates`` and ``user``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from rye.project.lock import parse_lock
from tests.scenes.gates import Gate
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

NAMES = ("acme", "zeta", "omni")


class Three:
    """The registries with their owners, and a user whose project needs an item of each. Each has ``work/base``, ``work/top``,
    which needs it, and ``work/extra``."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.registries = {
            name: stack.enter_context(Registry(folder / name / "data", f"{name}.example.org")) for name in NAMES
        }
        self.gates = {name: stack.enter_context(Gate(registry.url)) for name, registry in self.registries.items()}
        self.owners = {name: registry.owner(name) for name, registry in self.registries.items()}
        for name, owner in self.owners.items():
            self._use_all(owner, f'name = "{name}"\nnamespace = "{name}"', [one for one in NAMES if one != name])
        self._released: set[tuple[str, str]] = set()
        for name in ("work/base", "work/top", "work/extra"):
            self.release(name, "1.0.0")
        self.user = Person(folder / "user")
        self._use_all(self.user, 'name = "shop"', NAMES)
        self.user.ok("add", *(f"{name}/work/top" for name in NAMES), "--yes")

    def release(self, name: str, version: str) -> None:
        """Release a version of an item of the same name in each registry, unless another test did."""
        if (name, version) not in self._released:
            self._released.add((name, version))
            for namespace, owner in self.owners.items():
                needs = ((f"{namespace}/work/base", "^1.0"),) if name == "work/top" else ()
                owner.release(name, version, depends=needs)

    def take_down(self, namespace: str, release: str) -> None:
        run("takedown", release, "--reason", "A secret.", "--data", str(self.registries[namespace].data))

    def _use_all(self, person: Person, project: str, names: Sequence[str]) -> None:
        """A project of this person that has these registries, which they pinned."""
        lines = "".join(f'{name} = "{self.gates[name].url}"\n' for name in names)
        person.write("rye.toml", f"[project]\n{project}\n\n[registries]\n{lines}")
        for name in names:
            person.ok("registry", "add", self.gates[name].url, "--fingerprint", self.registries[name].fingerprint)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    with ExitStack() as stack:
        yield Three(tmp_path_factory.mktemp("three"), stack)


@pytest.fixture
def gates(three: Three) -> Iterator[dict[str, Gate]]:
    yield three.gates
    for gate in three.gates.values():
        gate.open()


@pytest.fixture
def user(three: Three, gates: dict[str, Gate], tmp_path: Path) -> Person:
    shutil.copytree(three.user.home, tmp_path / "home")
    shutil.copytree(three.user.folder, tmp_path / "project")
    person = Person(tmp_path)
    person.environment["RYE_TRUST_LOCK"] = "1"  # the project was accepted in the other folder
    return person


def versions(person: Person) -> dict[str, str]:
    return {item.id: item.version for item in parse_lock(person.path("rye.lock").read_text()).items}


def ask_for(person: Person, line: str) -> None:
    """Write a line of [dependencies] by hand."""
    text = person.path("rye.toml").read_text()
    person.write("rye.toml", text.replace("[dependencies]\n", f"[dependencies]\n{line}\n", 1))


SILENCES: dict[str, Callable[[Gate], None]] = {
    "off": Gate.refuse,
    "hanging": Gate.hang,
    "broken off": Gate.break_off,
    "out of order": lambda gate: gate.answer("503 Service Unavailable"),
}
