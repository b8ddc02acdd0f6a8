"""Agreement belongs to a checkout: another project in the same folder, a second clone, and one whose repository brings a mark
inherit nothing (DESIGN 6.1, Agreed here). The checkout itself keeps it, also in another place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.scenes.person import Person

MARK = ".ai/.rye/accepted"
GRANTS = """
[sandbox."tool:acme/net/fetch"]
network = ["evil.example:443"]
env = ["GITHUB_TOKEN"]

[policy.approval]
"rye.execute.*" = "allow"
"""

pytestmark = pytest.mark.processes


def put_project(person: Person, namespace: str) -> None:
    person.write("rye.toml", f'[project]\nname = "work"\nnamespace = "{namespace}"\n{GRANTS}')


@pytest.fixture
def user(tmp_path: Path) -> Person:
    """Someone who agreed to what a project grants."""
    person = Person(tmp_path)
    put_project(person, "acme")
    assert "agreed to what is shown above: 3 points" in person.terminal("trust", "project", answer=b"y\n")
    return person


def waiting(person: Person) -> int:
    """How many grants the person has not agreed to."""
    result = person.run("trust", "project", "--json")
    if result.code == 0:
        return 0
    assert result.error["code"] == "project-not-accepted"
    return len(result.error["approvals"])


def emptied(person: Person) -> None:
    shutil.rmtree(person.folder)
    person.folder.mkdir()


def test_the_next_project_in_the_same_folder_inherits_nothing(user: Person) -> None:
    assert waiting(user) == 0
    emptied(user)
    put_project(user, "other")
    assert waiting(user) == 3
    user.terminal("trust", "project", answer=b"y\n")
    assert waiting(user) == 0


def test_the_same_project_cloned_again_inherits_nothing(user: Person) -> None:
    emptied(user)
    put_project(user, "acme")
    assert waiting(user) == 3


def test_a_repository_that_knows_the_mark_inherits_nothing(user: Person) -> None:
    """Someone committed it by mistake; neither git nor an unpacked file brings the time at which it was written."""
    mark = user.path(MARK).read_text()
    emptied(user)
    put_project(user, "other")
    user.write(MARK, mark)
    assert waiting(user) == 3
    user.terminal("trust", "project", answer=b"y\n")
    assert waiting(user) == 0
    assert user.path(MARK).read_text() != mark


def test_a_repository_that_brings_a_mark_does_not_learn_that_of_its_user(tmp_path: Path) -> None:
    person = Person(tmp_path)
    put_project(person, "acme")
    person.write(MARK, "0" * 64)
    os.utime(person.path(MARK), ns=(1, 1))
    assert waiting(person) == 3
    person.terminal("trust", "project", answer=b"y\n")
    assert waiting(person) == 0
    assert person.path(MARK).read_text() != "0" * 64


def test_without_its_mark_a_checkout_says_why_it_asks_again(user: Person) -> None:
    """``rm -rf .ai`` takes the mark along: the error says that, and names the next command."""
    shutil.rmtree(user.path(".ai"))
    for words in (("trust", "project"), ("install",)):
        error = user.run(*words, "--json").error
        assert error["code"] == "project-not-accepted"
        assert f"no mark ({MARK}), as after a clone, or after .ai was deleted" in error["message"]
        assert "rye trust project" in error["hint"]
    user.terminal("trust", "project", answer=b"y\n")
    user.write("rye.toml", user.path("rye.toml").read_text().replace("evil.example:443", "evil.example:80"))
    assert "no mark" not in user.run("trust", "project", "--json").error["message"]  # the control


def test_a_copy_is_another_checkout_and_a_moved_folder_is_the_same(user: Person) -> None:
    copy = user.elsewhere(Path(shutil.copytree(user.folder, user.folder.with_name("copy"))))
    assert waiting(copy) == 3
    moved = user.elsewhere(user.folder.rename(user.folder.with_name("moved")))
    assert waiting(moved) == 0
    assert waiting(copy) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_checkout_that_cannot_be_written_says_that_nothing_is_remembered(tmp_path: Path) -> None:
    person = Person(tmp_path)
    put_project(person, "acme")
    person.path(".ai").mkdir()
    person.path(".ai").chmod(0o500)
    said = person.terminal("trust", "project", answer=b"y\n")
    assert "cannot remember your agreement" in said
    assert waiting(person) == 3


def test_records_behind_a_link_are_said_to_be_in_the_way(tmp_path: Path) -> None:
    person = Person(tmp_path)
    put_project(person, "acme")
    person.path("elsewhere").mkdir()
    person.path(".ai").symlink_to("elsewhere")
    said = person.terminal("trust", "project", answer=b"y\n")
    assert "cannot remember your agreement" in said
    assert waiting(person) == 3
