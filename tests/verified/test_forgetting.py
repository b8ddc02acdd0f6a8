"""Whatever a verdict depends on is changed, one thing at a time: what was verified is forgotten, or looked at again.

The rows of a table are the fields of :class:`Basis` and :class:`LockBasis`, so a new field without a change fails here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import rye
import rye.verified.memory
import rye.workspace.installing.install
from rye.registry.store.pins import addresses_path, remember_withdrawn, state_path, witnesses_path
from rye.storage import private_files, verdicts
from rye.storage.verdicts import running_code
from rye.verified.memory import Basis, LockBasis, Memory
from rye.workspace.installing.install import up_to_date
from tests.attacks.simulation import DEPLOY, SKILL, Attack, AttackRunner
from tests.registry.simulated_registry import key
from tests.scenes.person import Person
from tests.sources.texts import skill

FROM_REGISTRY, FROM_FOLDER = {str(DEPLOY.id), str(SKILL.id)}, {"shared/pdf"}


class VerifiedUser(Person):
    """Someone with two installed items of a registry and one of a folder, who checked them twice."""

    patch: pytest.MonkeyPatch
    fingerprint_of_root: str
    address: str

    @property
    def registries(self) -> Path:
        return self.home / "data" / "registries"

    def edit_json(self, path: Path, change: Callable[[Any], object]) -> None:
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    def edit_state(self, change: Callable[[Any], object]) -> None:
        self.edit_json(state_path(self.registries, "registry.example"), change)

    def edit_addresses(self, change: Callable[[Any], object]) -> None:
        self.edit_json(addresses_path(self.registries), change)

    def append(self, relative: str, text: str) -> None:
        path = self.path(relative)
        path.write_text(path.read_text() + text)

    def pin_again(self) -> None:
        self.ok("registry", "remove", self.address)
        self.ok("registry", "add", self.address, "--fingerprint", self.fingerprint_of_root)
        self.ok("config", "set", "registry", self.address)

    def trust(self, label: str) -> str:
        path = self.home / f"{label}.pem"
        path.write_text(key(label).public.pem)
        self.ok("trust", "add", str(path), "--label", label, "--yes")
        return key(label).public.fingerprint

    def other_code(self) -> None:
        self.patch.setattr(verdicts, "running_code", lambda: b"other code")

    def other_version(self) -> None:
        self.patch.setattr(rye, "__version__", "99.0.0")
        running_code.cache_clear()

    def known_rows(self) -> set[str]:
        return {row["id"] for row in self.ok("list", "--json").json["items"] if row["state"] != "unverified"}


class Answer(Struct, frozen=True):
    """What the next installation asked."""

    remembered: bool | None
    """Whether the lock was known as verified and complete; None: it did not come to that."""
    up_to_date: bool | None


def answer(user: VerifiedUser, *words: str) -> Answer:
    """Run ``rye ci --offline``, and listen."""
    asked: dict[str, bool] = {}

    def listening(name: str, function: Callable[..., bool]) -> Callable[..., bool]:
        def listen(*arguments: Any) -> bool:
            asked[name] = function(*arguments)
            return asked[name]

        return listen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "knows_whole", listening("remembered", Memory.knows_whole))
        patch.setattr(rye.workspace.installing.install, "up_to_date", listening("up_to_date", up_to_date))
        user.run("ci", "--offline", *words)
    return Answer(asked.get("remembered"), asked.get("up_to_date"))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackRunner]:
    made = AttackRunner(tmp_path_factory.mktemp("runner"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def template(runner: AttackRunner) -> Path:
    attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None, start="installed"))
    attacker.serve(attacker.past)
    person = attacker.user
    for label in ("removed later", "revoked later"):
        path = person.write(f"../{label}.pem", key(label).public.pem)
        person.ok("trust", "add", str(path), "--label", label, "--yes")
    person.write("../shared/pdf/SKILL.md", skill("pdf"))
    person.ok("add", "../shared", "pdf", "--yes")
    for _ in range(2):
        person.ok("ci")
    return person.folder.parent


@pytest.fixture
def user(
    runner: AttackRunner, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[VerifiedUser]:
    shutil.copytree(template, tmp_path / "copy", symlinks=True)
    made = VerifiedUser(tmp_path / "copy")
    made.environment["RYE_TRUST_LOCK"] = "1"
    made.patch, made.fingerprint_of_root, made.address = monkeypatch, runner.past.fingerprint, runner.server.url
    yield made
    running_code.cache_clear()


Change = Callable[[VerifiedUser], object]


def own_policy(user: VerifiedUser, text: str) -> None:
    user.write("../home/config/policy.toml", text)


def organization_policy(user: VerifiedUser) -> None:
    user.environment["RYE_POLICY"] = str(user.write("../organization.toml", "[policy]\n"))


def other_address(user: VerifiedUser) -> None:
    user.edit_addresses(lambda addresses: addresses.update({"https://other.example": "other.example"}))
    user.environment["RYE_REGISTRY"] = "https://other.example"


FORGETS: dict[str, dict[str, Change]] = {
    "rules": {"newer rules": lambda user: user.patch.setattr(rye.verified.memory, "RULES_VERSION", 99)},
    "root": {"another root": lambda user: user.edit_state(lambda state: state.update(roots=["another\n\n— sig\n"]))},
    "removal": {
        "the pin is removed": lambda user: user.ok("registry", "remove", user.address),
        "the pin is removed and made again": lambda user: user.pin_again(),
        "the address is pinned as another registry": lambda user: user.edit_addresses(
            lambda addresses: addresses.update({user.address: "other.example"})
        ),
        "the pins are gone": lambda user: addresses_path(user.registries).unlink(),
    },
    "witnesses": {
        "a policy of witnesses": lambda user: private_files.write(
            witnesses_path(user.registries, "registry.example"),
            '{"version":1,"policy":"quorum none\\n","max_age_seconds":1}',
        )
    },
    "keyset": {
        "a later keyset": lambda user: user.edit_state(lambda state: state["keysets"]["acme"].update(sha256="0" * 64))
    },
    "withdrawn": {
        "a takedown": lambda user: remember_withdrawn(
            user.registries, "registry.example", ["directive:acme/ops/other 1.0.0"]
        )
    },
    "distrusted": {
        "a key is revoked": lambda user: user.ok("trust", "revoke", key("revoked later").public.fingerprint),
        "others can write the trust store": lambda user: os.chmod(user.home / "config" / "trusted-keys.toml", 0o666),
    },
    "keys": {
        "a key is trusted": lambda user: user.trust("new"),
        "a key is removed": lambda user: user.ok("trust", "remove", key("removed later").public.fingerprint),
        "the trust store is gone": lambda user: os.unlink(user.home / "config" / "trusted-keys.toml"),
    },
    "lock": {
        "every row": lambda user: user.path("rye.lock").write_text(
            user.path("rye.lock").read_text().replace("size = ", "size = 1")
        )
    },
    "manifests": {
        "a comment": lambda user: user.append("rye.toml", "# more\n"),
        "the project's policy": lambda user: user.append("rye.toml", '\n[policy]\nsources = "path"\n'),
        "the project's environment": lambda user: user.append("rye.toml", '\n[environment]\nprovides = ["shell"]\n'),
    },
    "policies": {
        "the user's policy": lambda user: own_policy(user, "[policy]\n"),
        "the organization's policy": organization_policy,
    },
    "rows": {
        "another registry in a row": lambda user: user.path("rye.lock").write_text(
            user.path("rye.lock").read_text().replace('"registry.example"', '"other.example"')
        )
    },
    "code": {
        "other code": lambda user: user.other_code(),
        "another version": lambda user: user.other_version(),
    },
}
"""What forgets, by field; ``code`` is in every key (:meth:`rye.storage.verdicts.Verdicts.key`)."""
ROWS_THAT_STAY = {
    "distrusted": set[str](),
    "keys": FROM_REGISTRY,
    "lock": set[str](),
    "manifests": FROM_REGISTRY | FROM_FOLDER,
    "policies": FROM_REGISTRY | FROM_FOLDER,
    "root": FROM_FOLDER,
    "removal": FROM_FOLDER,
    "witnesses": FROM_FOLDER,
    "keyset": FROM_FOLDER,
    "withdrawn": FROM_FOLDER,
    "rows": FROM_FOLDER,
    "rules": set[str](),
    "code": set[str](),
}
"""The items whose own rows do not depend on the field."""


def test_control_nothing_is_forgotten_without_a_change(user: VerifiedUser) -> None:
    for _ in range(2):
        assert answer(user) == Answer(remembered=True, up_to_date=True)
        assert user.known_rows() == FROM_REGISTRY | FROM_FOLDER


def test_every_field_is_changed() -> None:
    assert set(FORGETS) == {*Basis.__struct_fields__, *LockBasis.__struct_fields__, "code"}
    assert set(ROWS_THAT_STAY) == set(FORGETS)


@pytest.mark.parametrize(("field", "name"), [(field, name) for field, changes in FORGETS.items() for name in changes])
def test_a_change_forgets(user: VerifiedUser, field: str, name: str) -> None:
    FORGETS[field][name](user)
    assert answer(user).remembered is not True


@pytest.mark.parametrize(("field", "name"), [(field, name) for field, changes in FORGETS.items() for name in changes])
def test_a_change_forgets_the_rows_that_depend_on_it_and_no_others(user: VerifiedUser, field: str, name: str) -> None:
    FORGETS[field][name](user)
    assert user.known_rows() & (FROM_REGISTRY | FROM_FOLDER) == ROWS_THAT_STAY[field]


TODAY: dict[str, Change] = {
    "the bytes of a file": lambda user: user.append(".ai/packages/acme/directives/ops/deploy.md", "more\n"),
    "a file is gone": lambda user: user.path(".ai/packages/acme/directives/ops/deploy.md").unlink(),
    "a file is executable": lambda user: user.path(".ai/packages/acme/directives/ops/deploy.md").chmod(0o755),
    "the folder of a source": lambda user: user.write("../shared/pdf/SKILL.md", skill("pdf", body="Other.")),
    "the source's path": lambda user: user.path("rye.toml").write_text(
        user.path("rye.toml").read_text().replace("../shared", "../theirs")
    ),
    "a policy that refuses": lambda user: own_policy(user, '[policy]\nsources = "signed"\n'),
    "the registry's address": other_address,
}
"""What is never remembered."""


@pytest.mark.parametrize("name", TODAY)
def test_what_must_hold_today_is_looked_at_each_time(user: VerifiedUser, name: str) -> None:
    TODAY[name](user)
    assert answer(user).up_to_date is not True


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    "damage",
    [torn, lambda path: path.write_bytes(b"nonsense" * 1000), lambda path: path.chmod(0o666), Path.unlink],
    ids=["torn", "nonsense", "writable by others", "gone"],
)
def test_a_memory_that_cannot_be_believed_knows_nothing(user: VerifiedUser, damage: Callable[[Path], object]) -> None:
    damage(user.home / "data" / verdicts.VERDICTS)
    assert user.known_rows() == set()
    assert answer(user).remembered is False
