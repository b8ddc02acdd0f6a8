"""``rye.api`` is what ``docs/reference/api.md`` says: its examples run, its names are all, and each method has an example."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, assert_type
from unittest import mock

import pytest

import rye.api
from rye.errors import RyeError
from rye.items.directive.template import new_directive
from rye.registry.store.state import StateStore
from rye.signing.keys import read_public_key
from rye.storage.home import Home
from tests.scenes.person import Person
from tests.scenes.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/api.md"
TEXT = PAGE.read_text("utf-8")
CODE = "".join(example.source for example in doctest.DocTestParser().get_examples(TEXT))
ROWS: dict[str, list[str]] = {
    row[1]: re.findall(r"`(\w+)`", row[2]) for row in re.finditer(r"^\| `(\w+)` \|.*\| (.*) \|$", TEXT, re.MULTILINE)
}


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    """``acme``, with a directive that depends on another; its newer release comes after the team's installation."""
    author = registry.owner("acme")
    author.release("ops/base")
    _release(author, "1.0.0")
    return author


def _release(author: Person, version: str) -> None:
    path = ".ai/directives/ops/deploy.md"
    relation = '<context><depends_on version="^1.0">acme/ops/base</depends_on></context>'
    text = new_directive("deploy", "ops").replace('version="0.1.0"', f'version="{version}"')
    author.write(path, text.replace("</cost>\n", f"</cost>\n    {relation}\n"))
    author.ok("sign", path)
    author.publish(path)


@pytest.fixture(scope="module")
def team(registry: Registry, acme: Person) -> Person:
    user = registry.user()
    user.ok("add", "acme/ops/deploy", "--yes")
    _release(acme, "1.1.0")
    return user


@pytest.mark.processes
def test_the_examples_run(registry: Registry, acme: Person, team: Person) -> None:
    key = read_public_key(Path(acme.public_key()).read_bytes()).key
    values: dict[str, Any] = {"address": registry.url, "fingerprint": registry.fingerprint, "acme_key": key}
    examples = doctest.DocTestParser().get_doctest(TEXT, values, "api.md", str(PAGE), 0)
    said: list[str] = []
    before = Path.cwd()
    with mock.patch.dict(os.environ, team.environment, clear=True):
        os.chdir(team.folder)
        try:
            result = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
        finally:
            os.chdir(before)
    assert result.failed == 0, "".join(said)
    assert result.attempted > 30


def test_the_page_the_module_and_the_promise_name_the_same() -> None:
    values = {name for name in rye.api.__all__ if inspect.isclass(getattr(rye.api, name))}
    functions = set(rye.api.__all__) - values
    assert ROWS.keys() == values
    assert {name for name in functions if f"`{name}(" in TEXT} == functions
    assert rye.api.__all__ == sorted(rye.api.__all__) == dir(rye.api)
    promise = (ROOT / "docs/reference/versions.md").read_text("utf-8")
    assert "| the Python names of `rye.api` ([api.md](api.md)) |" in promise
    assert "the Python modules of `rye` besides `rye.api`" in promise


@pytest.mark.parametrize("name", ROWS)
def test_each_promised_attribute_is_there(name: str) -> None:
    value = getattr(rye.api, name)
    attributes = {*dir(value), *re.findall(r"self\.(\w+) =", inspect.getsource(value))}
    assert set(ROWS[name]) <= attributes


def test_each_function_and_method_has_an_example() -> None:
    methods = {name for name in vars(rye.api.Registry) if not name.startswith("_")}
    assert methods == set(ROWS["Registry"])
    called = {"from_environment", "find", *methods}
    called |= {name for name in rye.api.__all__ if inspect.isfunction(getattr(rye.api, name))}
    assert {name for name in called if not re.search(rf"\b{name}\b", CODE)} == set()


@pytest.mark.processes
def test_importing_it_loads_next_to_nothing() -> None:
    code = "import sys; import rye.api; print(*sorted(name for name in sys.modules if '.' in name or name.startswith('rye')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith("rye")] == [
        "rye",
        "rye.api",
        "rye.errors",
        "rye.text",
        "rye.text.lazy",
    ]
    assert {name.partition(".")[0] for name in loaded} <= {"rye", *sys.stdlib_module_names, *_START_UP}


_START_UP = ("__editables", "_virtualenv", "coverage", "distutils")
"""Packages that a ``.pth`` file of the environment loads before any program."""


@pytest.mark.processes
def test_reading_and_checking_a_file_loads_no_network_and_no_command_line(tmp_path: Path) -> None:
    code = (
        "import sys; from rye.api import parse_item, verify_file;"
        "parse_item(b'# x', '.ai/directives/a/x.md'); verify_file(b'# x', [], '.ai/directives/a/x.md');"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    heavy = {"click", "httpx", "sqlite3", "rye.cli", "rye.workspace.context", "rye.registry.client"}
    assert heavy.isdisjoint(loaded.stdout.split())


def typed(home: rye.api.Home, folder: Path) -> None:
    """mypy checks here that a name of the front door is what it says, and not Any."""
    project = rye.api.Project.find(folder)
    assert_type(rye.api.read_lock(project.lock_path).items, tuple[rye.api.LockedItem, ...])
    assert_type(rye.api.verify_file(b"", ()).ok, bool)
    assert_type(rye.api.parse_item(b"", "x.md").text, str | None)
    assert_type(rye.api.render(project, "x", home=home).prompt, str)
    assert_type(rye.api.effective_item(project, "x", home=home).id, str)
    with rye.api.Registry.open("", home) as registry:
        [release] = assert_type(registry.releases("x"), tuple[rye.api.Release, ...])
        assert_type(registry.fetch(release), rye.api.VerifiedItem)
        assert_type(registry.prove(release).text, str)
        assert_type(rye.api.resolve({}, registry), dict[str, rye.api.Release])


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sign'"):
        rye.api.sign  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.processes
class TestRegistry:
    def test_nothing_is_sent_to_a_registry_that_is_not_pinned(self, registry: Registry, home: Home) -> None:
        with pytest.raises(RyeError) as caught:
            rye.api.Registry.open("http://127.0.0.1:9", home)
        assert caught.value.code == "registry-unpinned"
        assert not home.data.exists()

    def test_another_fingerprint_pins_nothing(self, registry: Registry, home: Home) -> None:
        with pytest.raises(RyeError) as caught:
            rye.api.Registry.open(registry.url, home, fingerprint="0" * 64)
        assert caught.value.code == "root-fingerprint"
        with pytest.raises(RyeError) as caught:
            rye.api.Registry.open(registry.url, home)
        assert caught.value.code == "registry-unpinned"

    def test_a_fingerprint_pins_for_the_next_time(self, registry: Registry, acme: Person, home: Home) -> None:
        with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint) as opened:
            assert opened.releases("directive:acme/ops/base")[0].version == "1.0.0"
        with rye.api.Registry.open(registry.url, home) as again:
            assert again.origin == registry.origin

    def test_a_pin_that_was_removed_meanwhile_stays_removed(self, registry: Registry, acme: Person, home: Home) -> None:
        """A program can keep a registry open for hours; what it stores at the end must not answer for the user."""
        with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint):
            pass
        acme.release("ops/later")  # so that there is a newer head to store
        with rye.api.Registry.open(registry.url, home) as opened:
            assert opened.releases("acme/ops/later")
            StateStore(home.registries).forget_address(registry.url)
        with pytest.raises(RyeError) as caught:
            rye.api.Registry.open(registry.url, home)
        assert caught.value.code == "registry-unpinned"

    def test_what_a_caller_made_up_is_not_fetched(self, registry: Registry, acme: Person, home: Home) -> None:
        """The values are the caller's: what is checked is what the registry states."""
        from msgspec.structs import replace

        with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint) as opened:
            [release, *_] = opened.releases("acme/ops/base")
            forged = replace(release, release=replace(release.release, version="9.9.9"))
            for action in (opened.fetch, opened.prove):
                with pytest.raises(RyeError) as caught:
                    action(forged)
                assert caught.value.code == "no-such-version"

    def test_a_file_that_was_changed_is_refused(self, registry: Registry, acme: Person, home: Home) -> None:
        with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint) as opened:
            [release, *_] = opened.releases("acme/ops/base")
            sha256 = release.release.file.sha256
            blob = next(path for path in registry.public.rglob(f"*{sha256[8:]}*") if path.is_file())
            data = blob.read_bytes()
            blob.chmod(0o644)
            blob.write_bytes(data.replace(b"Do the work.", b"Do no work.."))
            try:
                with pytest.raises(RyeError) as caught:
                    opened.fetch(release)
            finally:
                blob.write_bytes(data)
        assert caught.value.code == "blob-hash"

    def test_what_cannot_be_resolved_says_why(self, registry: Registry, acme: Person, home: Home) -> None:
        with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint) as opened:
            with pytest.raises(RyeError) as caught:
                rye.api.resolve({"acme/ops/base": "^7"}, opened)
            assert caught.value.code == "unsolvable"
            with pytest.raises(RyeError) as caught:
                rye.api.resolve({"acme/ops/none": "*"}, opened)
            assert caught.value.code == "no-such-item"


@pytest.mark.processes
def test_what_this_user_did_not_agree_to_is_refused(registry: Registry, team: Person, home: Home) -> None:
    """Another user on the same machine, who trusts the registry and never saw what this rye.lock approves."""
    with rye.api.Registry.open(registry.url, home, fingerprint=registry.fingerprint):
        pass
    project = rye.api.Project.find(team.folder)
    for use in (rye.api.effective_item, rye.api.render):
        with pytest.raises(RyeError) as caught:
            use(project, "acme/ops/deploy", home=home)
        assert caught.value.code == "project-not-accepted"
    assert rye.api.effective_item(project, "acme/ops/deploy", home=team.folders).id == "acme/ops/deploy"
