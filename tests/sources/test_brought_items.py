"""Items that a project's files add from a source that this user approved: they are unsigned, so each needs its own approval.

The first item of a source asks about the source. Items that come later through ``rye.toml``, a workspace member or ``rye.lock``,
for example with a ``git pull``, are not used until this user approves them, with or without capabilities.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye.project.lock import parse_lock
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.sources.texts import skill

ROOT = '[project]\nname = "root"\n\n[workspace]\nmembers = ["services/*"]\n'


@pytest.fixture
def user(person: Person) -> Person:
    """A user who approved a folder and uses one of its items."""
    for name in ("pdf", "docx"):
        path = person.folder.parent / "shared" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(skill(name))
    person.write("rye.toml", ROOT)
    person.ok("add", "../shared", "pdf", "-y")
    person.ok("ci")
    return person


def ids(user: Person) -> set[str]:
    return {item.id for item in parse_lock(user.path("rye.lock").read_text()).items}


def in_rye_toml(user: Person) -> None:
    text = user.path("rye.toml").read_text()
    user.write("rye.toml", text.replace("[dependencies]\n", '[dependencies]\n"skill:shared/docx" = "*"\n'))


def in_a_member(user: Person) -> None:
    user.write("services/api/rye.toml", '[project]\nname = "api"\n\n[dependencies]\n"skill:shared/docx" = "*"\n')


def in_a_group(user: Person) -> None:
    user.write("rye.toml", user.path("rye.toml").read_text() + '\n[groups.dev]\n"skill:shared/docx" = "*"\n')


@pytest.mark.parametrize("bring", [in_rye_toml, in_a_member, in_a_group])
@pytest.mark.parametrize("environment", rest_thorough(1, [{}, {"RYE_TRUST_LOCK": "1"}]), ids=["", "trusts the lock"])
def test_one_that_the_lock_does_not_have_is_asked_about(
    user: Person, bring: object, environment: dict[str, str]
) -> None:
    assert callable(bring)
    bring(user)
    for words in (["install"], ["update"], ["install", "--locked"], ["ci"]):
        refused = user.run(*words, "--json", env=environment)
        expected = "consent-needed" if words[-1] in ("install", "update") else "lock-does-not-fit"
        assert refused.error["code"] == expected, words
    asked = user.run("install", "--json", env=environment).error
    assert "skill:shared/docx" in asked["message"]
    assert "is a new, unsigned item from path+../shared" in asked["message"]
    assert "install --yes" in asked["hint"]
    assert (ids(user), user.path(".ai/packages/shared/skills/docx").exists()) == ({"shared/pdf"}, False)
    user.ok("install", "-y", env=environment)
    assert ids(user) == {"shared/pdf", "shared/docx"}
    user.ok("ci", env=environment)


@pytest.mark.processes
def test_a_person_is_asked_and_may_say_no(user: Person) -> None:
    in_a_member(user)
    shown = user.terminal("install", answer=b"n\n")
    assert "+ skill:shared/docx" in shown
    assert "not signed (folder ../shared)" in shown
    assert ids(user) == {"shared/pdf"}
    user.terminal("install", answer=b"y\n")
    assert ids(user) == {"shared/pdf", "shared/docx"}


def test_one_that_comes_along_while_another_is_named_is_asked_about(user: Person) -> None:
    other = user.folder.parent / "shared" / "xlsx" / "SKILL.md"
    other.parent.mkdir()
    other.write_text(skill("xlsx"))
    in_a_member(user)
    message = user.run("add", "../shared", "xlsx", "--json").error["message"]
    assert "skill:shared/docx" in message
    assert "xlsx" not in message
    assert ids(user) == {"shared/pdf"}


def test_one_that_the_command_names_is_not(user: Person) -> None:
    user.ok("add", "../shared", "docx")
    assert ids(user) == {"shared/pdf", "shared/docx"}


def test_one_that_an_item_needs_by_now_is_asked_about(user: Person) -> None:
    path = user.folder.parent / "shared" / "pdf" / "SKILL.md"
    path.write_text(skill("pdf", 'metadata:\n  dependencies: "skill:shared/docx"'))
    assert user.run("install", "--json").error["code"] == "consent-needed"
    assert ids(user) == {"shared/pdf"}
    user.ok("install", "-y")
    assert ids(user) == {"shared/pdf", "shared/docx"}


def test_what_rye_lock_chose_is_asked_about_when_it_is_installed(user: Person) -> None:
    in_a_member(user)
    user.ok("lock")
    assert user.run("ci", "--json").code == 1
    assert user.run("install", "--json").error["code"] == "consent-needed"
    user.ok("install", "-y")


def accepted_clone(user: Person, base: Path) -> Person:
    """Another user's checkout next to the same folder, which they approved."""
    other = Person(base)
    (base / "shared").symlink_to(user.folder.parent / "shared")
    pull(user, other)
    other.terminal("install", answer=b"y\n")
    other.ok("ci")
    return other


def pull(user: Person, other: Person) -> None:
    for path in ("rye.toml", "rye.lock", "services/api/rye.toml"):
        if user.path(path).exists():
            other.write(path, user.path(path).read_bytes())


@pytest.mark.processes
def test_one_that_the_lock_has_too_is_what_an_accepted_clone_is_asked_about(user: Person, tmp_path: Path) -> None:
    other = accepted_clone(user, tmp_path / "other")
    in_a_member(user)
    user.ok("install", "-y")
    pull(user, other)
    for words in (["ci"], ["install"], ["install", "-y"]):
        refused = other.run(*words, "--json").error
        assert refused["code"] == "project-not-accepted", words
        assert "skill:shared/docx source path+../shared" in refused["message"]
        assert "pdf" not in refused["message"]
    assert not other.path(".ai/packages/shared/skills/docx").exists()
    other.ok("ci", "--trust-lock")
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"  # no approval was stored
    shown = other.terminal("ci", answer=b"y\n")
    assert re.search(r"path\+\.\./shared\s+skill:shared/docx", shown)
    other.ok("ci")


@pytest.mark.processes
def test_a_change_of_what_was_agreed_to_is_the_teams_as_before(user: Person, tmp_path: Path) -> None:
    """A pull that changes an item this user already has is refused for widened rights alone; a changed text is said."""
    other = accepted_clone(user, tmp_path / "other")
    (user.folder.parent / "shared" / "pdf" / "SKILL.md").write_text(skill("pdf", body="Read it twice."))
    user.ok("install", "-y")
    pull(user, other)
    other.ok("ci")


def test_a_rollback_to_a_folder_s_older_state_says_that_there_is_none(user: Person) -> None:
    """`rye install` would change nothing: rye.lock is already what the folder has."""
    path = user.folder.parent / "shared" / "pdf" / "SKILL.md"
    old = path.read_text()
    path.write_text(old + "More.\n")
    user.ok("install", "--yes")
    error = user.run("rollback", "--yes", "--json").error
    assert error["code"] == "source-changed"
    assert error["message"].startswith("The previous lock cannot be installed: ")
    assert "Restore the folder's files" in error["hint"]
    path.write_text(old)
    user.ok("rollback", "--yes")
