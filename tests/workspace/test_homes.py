"""Two users in one process: what one keeps is unknown to the other, whatever the process's own variables say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.project.layout import Project
from rye.storage.home import Home
from rye.workspace.authoring.new_item import NewItem, write_new_item
from rye.workspace.authoring.signature_check import verify_items
from rye.workspace.authoring.signing import sign_items
from rye.workspace.context import LibraryContext
from rye.workspace.installing.adding import add
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.registries.pinned_registries import pinned_registries
from rye.workspace.registries.pinning import PinRequest, pin_registry
from rye.workspace.trusting.own_keys import OwnKeys
from rye.workspace.trusting.trusted_keys import trust_entries, trust_key
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
FOLDERS = ("config", "data", "cache")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/top")
    return author


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LibraryContext, LibraryContext]]:
    """Ann and Ben, each with a home and an empty project. Whoever started the process has a third home, which stays empty."""
    for variable in ("RYE_CONFIG_DIR", "RYE_DATA_DIR", "RYE_CACHE_DIR", "RYE_USER_SPACE", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "process"))
    contexts = []
    for name in ("ann", "ben"):
        folder = tmp_path / name / "project"
        folder.mkdir(parents=True)
        (folder / "rye.toml").write_text('[project]\nname = "shop"\nnamespace = "shop"\n', "utf-8")
        home = Home(*(tmp_path / name / each for each in FOLDERS))
        contexts.append(LibraryContext(cwd=folder, home=home, assume_yes=True))
    ann, ben = contexts
    yield ann, ben
    assert not (tmp_path / "process").exists()


def test_who_one_trusts_and_what_one_signs_is_unknown_to_the_other(
    users: tuple[LibraryContext, LibraryContext],
) -> None:
    ann, ben = users
    keys = OwnKeys(ann, lambda question: "")
    key = keys.generate("default", seal=False).public
    write_new_item(ann, NewItem("knowledge", "notes/tea"))
    [signed] = sign_items(ann, keys, ()).signed
    assert [judged.verification.verdict for judged in verify_items(ann, [signed.shown])] == ["valid"]
    file = str(ann.cwd / signed.shown)
    assert [judged.verification.verdict for judged in verify_items(ben, [file])] == ["untrusted"]
    assert (OwnKeys(ben, lambda question: "").list(), trust_entries(ben.home)) == ((), ())
    trust_key(ben, key, "ann", "by hand")
    assert [judged.verification.verdict for judged in verify_items(ben, [file])] == ["valid"]
    assert [entry.label for entry in trust_entries(ann.home)] == ["default"]


def test_both_pin_and_install_for_themselves(
    registry: Registry, acme: Person, users: tuple[LibraryContext, LibraryContext]
) -> None:
    ann, ben = users
    pin_registry(ann, PinRequest(address=registry.url, fingerprint=registry.fingerprint, make_default=True))
    assert [pin.registry for pin in pinned_registries(ann.home)] == [registry.url]
    assert pinned_registries(ben.home) == ()
    installed = _added(ann)
    with pytest.raises(RyeError) as caught:
        _added(ben)
    assert caught.value.code == "no-registry"
    ben.registry = registry.url
    with pytest.raises(RyeError) as caught:
        _added(ben)
    assert caught.value.code == "registry-unpinned", "what Ann pinned is no pin of Ben's"
    assert not ben.home.registry_cache.exists(), "nor does he read from her cache"
    pin_registry(ben, PinRequest(address=registry.url, fingerprint=registry.fingerprint))
    assert _added(ben) == installed == "installed"
    for context in users:
        assert (context.cwd / ".ai/packages/acme/directives/work/top.md").is_file()
        assert context.home.registry_cache.is_dir()
        assert context.home.verdicts().remembers


def _added(context: LibraryContext) -> str:
    outcome = add(
        context, Project(context.cwd), InstallRequest(command="add"), ["acme/work/top"], "main", lambda proposal: True
    )
    return outcome.result
