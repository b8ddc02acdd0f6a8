"""Only `rye lock` and `rye install` resolve a rye.lock with git's conflict markers (DESIGN 6.1)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rye.project.lock import LockError, is_conflicted, parse_lock
from rye.project.lock_conflict import join_sides
from tests.scenes.directive_text import SHELL
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    for name in ("one", "two"):
        author.release(f"work/{name}", permissions=SHELL)
    author.release("work/base")
    return author


@pytest.fixture
def merged(registry: Registry, acme: Person, tmp_path: Path) -> Person:
    """Two branches each added an item; git merged the installed files, and left markers in rye.lock."""
    user = registry.user()
    user.ok("add", "acme/work/base", "--yes")
    sides = {}
    base = user.path("rye.lock").read_bytes()
    for name in ("one", "two"):
        branch = registry.colleague(user)
        shutil.copytree(user.folder, branch.folder, dirs_exist_ok=True)
        branch.ok("add", f"acme/work/{name}", "--yes")
        sides[name] = branch
    files = []
    for number, data in enumerate(
        (sides["one"].path("rye.lock").read_bytes(), base, sides["two"].path("rye.lock").read_bytes())
    ):
        (tmp_path / str(number)).write_bytes(data)
        files.append(str(tmp_path / str(number)))
    text = subprocess.run(["git", "merge-file", "-p", *files], capture_output=True, check=False).stdout
    assert b"<<<<<<<" in text
    user.path("rye.lock").write_bytes(text)
    user.path("rye.toml").write_text(sides["one"].path("rye.toml").read_text() + '"acme/work/two" = "^1.0.0"\n')
    place = ".ai/packages/acme/directives/work"
    for name in ("one", "two"):
        shutil.copy(sides[name].path(f"{place}/{name}.md"), user.path(f"{place}/{name}.md"))
    return user


def test_everything_else_says_who_resolves_it(merged: Person) -> None:
    for verb in (("ci",), ("list",), ("lock", "--check"), ("install", "--locked")):
        error = merged.run(*verb, "--json").error
        assert (error["code"], "`rye install` or `rye lock`" in error["message"]) == ("bad-lock", True), verb


def test_install_takes_both_and_asks_for_what_not_both_sides_approve(merged: Person) -> None:
    """Files from the merge have the signed bytes, so they are not hand edits."""
    before = merged.path("rye.lock").read_bytes()
    error = merged.run("install", "--json").error
    assert error["code"] == "consent-needed"
    assert merged.path("rye.lock").read_bytes() == before
    merged.ok("install", "--yes")
    lock = parse_lock(merged.path("rye.lock").read_text())
    assert [item.id for item in lock.items] == ["acme/work/base", "acme/work/one", "acme/work/two"]
    assert all(set(item.approved.of("right")) == set(item.capabilities) for item in lock.items)
    merged.ok("ci")


def test_lock_resolves_it_and_approves_nothing(merged: Person) -> None:
    merged.ok("lock")
    lock = parse_lock(merged.path("rye.lock").read_text())
    assert {item.id: bool(item.approved.of("right")) for item in lock.items} == {
        "acme/work/base": True,
        "acme/work/one": False,
        "acme/work/two": False,
    }
    merged.ok("lock", "--check")


def test_an_edit_by_hand_is_still_one(merged: Person) -> None:
    path = merged.path(".ai/packages/acme/directives/work/two.md")
    path.write_text(path.read_text().replace("Do the work", "Do other work"))
    assert merged.run("install", "--yes", "--json").error["code"] == "edited-files"


def test_markers_that_do_not_fit_together_are_refused() -> None:
    for text in ("<<<<<<< a\n", "<<<<<<< a\n=======\n", "=======\n>>>>>>> b\n<<<<<<< a\n", "<<<<<<< a\n>>>>>>> b\n"):
        with pytest.raises(LockError, match="do not match up"):
            join_sides(text)
    assert not is_conflicted('x = "<<<<<<<"\n')


@pytest.mark.parametrize("verb", ["lock", "install"])
def test_markers_go_from_a_lock_whose_sides_say_the_same(tmp_path: Path, verb: str) -> None:
    """No choice changes, and the file still has to be written."""
    person = Person(tmp_path)
    person.ok("init")
    person.write("rye.lock", "<<<<<<< a\nversion = 1\n=======\nversion = 1\n>>>>>>> b\n")
    person.ok(verb)
    assert "<<<<<<<" not in person.path("rye.lock").read_text()
    person.ok("ci")
