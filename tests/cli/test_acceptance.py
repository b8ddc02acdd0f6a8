"""Approvals in a repository are the team's record; here they count only after this user agreed (DESIGN 6.1, Agreed here)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_claims import clone, edit, of
from tests.scenes.approvals import but
from tests.scenes.directive_text import SHELL
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PLAIN = """```yaml
name: plain
title: Plain
version: 1.0.0
category: work
description: Plain words.
```

# Plain

Plain words.
"""


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/top", hooks=(("cost.current > 3", "notify", "1"),))
    author.release("work/shell", permissions=SHELL)
    author.release("work/keeps", permissions=SHELL)
    author.release("work/later")
    return author


@pytest.fixture
def team(registry: Registry, acme: Person) -> Person:
    user = registry.user()
    user.ok("add", "acme/work/top", "acme/work/shell", "acme/work/keeps", "--yes")
    user.ok("hooks", "approve", "acme/work/top", "--yes")
    return user


@pytest.fixture
def other(registry: Registry, team: Person) -> Person:
    """A colleague who cloned the project."""
    return clone(registry, team, trusts=False)


def context(person: Person) -> str:
    person.write("context.json", json.dumps({"cost": {"current": 9}}))
    return "context.json"


def hooks(person: Person, *words: str, item: str = "acme/work/top") -> tuple[int, int]:
    """Actions and skipped hooks."""
    found = person.ok("hooks", "eval", item, "--context", context(person), "--json", *words).json
    return len(found["actions"]), len(found["skipped"])


@pytest.mark.parametrize(
    "verb",
    rest_thorough(
        3,
        [
            (("ci",),),
            (("ci", "--yes"),),
            (("install",),),
            (("install", "--yes"),),
            (("install", "--frozen"),),
            (("install", "--locked"),),
        ],
    ),
)
def test_a_clone_installs_nothing_that_only_the_lock_approves(other: Person, verb: tuple[str, ...]) -> None:
    shutil.rmtree(other.path(".ai/packages"))
    error = other.run(*verb, "--json").error
    assert error["code"] == "project-not-accepted"
    whats = {row["what"] for row in error["approvals"]}
    assert {"right", "hook", "signer"} <= whats
    assert "--trust-lock" in error["hint"]
    assert not other.path(".ai/packages").exists()


def test_consent_that_travels_in_the_repository_executes_nothing(team: Person, other: Person) -> None:
    """A commit approved every right and hook, and brought the correct installed files."""
    assert hooks(team) == (1, 0)
    assert hooks(other) == (0, 1)
    [skipped] = other.ok(
        "hooks", "eval", ".ai/packages/acme/directives/work/top.md", "--context", context(other), "--json"
    ).json["skipped"]
    assert skipped["reason"] == "it is not approved here"
    assert [row["approved"] for row in other.ok("hooks", "list", "acme/work/top", "--json").json["hooks"]] == [False]


def test_one_screen_shows_all_of_it_and_asks_once(other: Person) -> None:
    refused = other.terminal("ci", answer=b"n\n")
    assert "Agree to what rye.lock approves? [y/N/d]" in refused
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"
    shown = other.terminal("ci", answer=b"y\n")
    for line in ("Keys that sign its items", "rye.execute.tool.shell.run", "when cost.current > 3: execute"):
        assert line in shown, shown
    assert "everything is installed" in shown
    other.ok("ci")
    assert hooks(other) == (1, 0)


def test_later_only_what_is_new_is_asked(team: Person, other: Person) -> None:
    other.terminal("trust", "project", answer=b"y\n")
    other.ok("ci")
    team.ok("add", "acme/work/later", "--yes")
    for name in ("rye.toml", "rye.lock"):
        other.write(name, team.path(name).read_bytes())
    error = other.run("ci", "--json").error
    assert error["code"] == "project-not-accepted"
    assert {row["item"] for row in error["approvals"]} == {"directive:acme/work/later"}


def test_trust_project_forgets(other: Person) -> None:
    assert other.run("trust", "project", "--yes", "--json").error["code"] == "project-not-accepted"
    other.terminal("trust", "project", answer=b"y\n")
    assert other.ok("trust", "project", "--json").json["agreed"] == 0
    other.ok("ci")
    assert other.ok("trust", "project", "--forget", "--json").json["forgotten"]
    assert not other.ok("trust", "project", "--forget", "--json").json["forgotten"]
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_trusting_the_lock_is_for_one_run_and_remembers_nothing(other: Person, how: str) -> None:
    words, env = (["--trust-lock"], {}) if how == "flag" else ([], {"RYE_TRUST_LOCK": "1"})
    other.ok("ci", *words, env=env)
    other.ok("install", *words, env=env)
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"
    for no in ("0", "off", "none", "0 "):
        assert other.run("ci", "--json", env={"RYE_TRUST_LOCK": no}).error["code"] == "project-not-accepted"


def test_trusting_the_lock_agrees_to_nothing_more_than_it_approves(team: Person, other: Person) -> None:
    edit(other, of("acme/work/shell", approved=but(right=())))
    assert other.run("ci", "--trust-lock", "--json").error["code"] == "consent-needed"
    assert other.run("install", "--trust-lock", "--json").error["code"] == "consent-needed"


def test_an_approval_that_would_hide_an_update_s_new_right_is_asked_about(
    registry: Registry, acme: Person, team: Person
) -> None:
    """``approved = ["rye.*"]`` in the lock, and the next version requests it."""
    acme.release("wide/item")
    team.ok("add", "acme/wide/item", "--yes")
    edit(team, of("acme/wide/item", approved=but(right=("rye.*",))))
    acme.release("wide/item", "1.1.0", permissions="<execute>*</execute>")
    error = team.run("update", "--no-input", "--json").error
    assert error["code"] == "project-not-accepted"
    assert [row["value"] for row in error["approvals"]] == ["rye.execute.*"]


def test_who_gave_the_approvals_here_is_never_asked_about_them(acme: Person, team: Person) -> None:
    team.ok("ci")
    team.ok("install")
    shutil.rmtree(team.path(".ai/packages"))
    team.ok("ci")
    acme.release("work/shell", "1.1.0")  # asks for less
    team.ok("update", "--no-input")
    team.ok("lock")
    team.ok("remove", "acme/work/top")
    team.ok("rollback", "--yes")
    team.ok("ci")


def test_locking_first_and_installing_with_consent_is_one_s_own_approval(user_of: Person) -> None:
    user_of.write("rye.toml", '[dependencies]\n"acme/work/shell" = "*"\n')
    user_of.ok("lock")
    user_of.ok("install", "--yes")
    user_of.ok("ci")


@pytest.fixture
def user_of(registry: Registry, acme: Person) -> Person:
    return registry.user()


def test_the_memory_is_the_user_s_alone(other: Person) -> None:
    """A file that others can write, or a link, is ignored."""
    other.terminal("trust", "project", answer=b"y\n")
    [place] = (other.home / "data/accepted").iterdir()
    place.chmod(0o666)
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"
    place.chmod(0o600)
    other.ok("ci")
    kept = place.rename(place.with_name("kept"))
    place.symlink_to(kept)
    assert other.run("ci", "--json").error["code"] == "project-not-accepted"


def test_another_checkout_of_the_same_user_is_another_project(team: Person, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(team.folder, copy)
    team.folder = copy
    assert team.run("ci", "--json").error["code"] == "project-not-accepted"


class TestNoManifest:
    """A missing rye.toml next to a lock or installed items is an accident, never a request to remove them."""

    @pytest.mark.parametrize("verb", [("install",), ("install", "--yes"), ("ci",), ("lock",), ("update",), ("audit",)])
    def test_nothing_is_removed(self, team: Person, verb: tuple[str, ...]) -> None:
        team.path("rye.toml").unlink()
        before = team.path("rye.lock").read_bytes()
        for lock in (True, False):
            if not lock:
                team.path("rye.lock").unlink()
            assert team.run(*verb, "--json").error["code"] == "no-manifest"
            assert team.path(".ai/packages/acme/directives/work/top.md").exists()
            if lock:
                assert team.path("rye.lock").read_bytes() == before


def test_trusting_a_lock_remembers_none_of_its_signers(registry: Registry, acme: Person, team: Person) -> None:
    """The next project asks about the first item of a signer whom only the committer of a lock agreed to."""
    victim = registry.user()
    for name in ("rye.toml", "rye.lock"):
        victim.write(name, team.path(name).read_bytes())
    victim.ok("ci", "--trust-lock")
    shutil.rmtree(victim.folder)
    victim.folder.mkdir()
    victim.ok("init")
    error = victim.run("add", "acme/work/later", "--json").error
    assert error["code"] == "consent-needed"
    [change] = error["changes"]
    assert change["signer_unknown"] is True


class TestRights:
    """An installed item may do here what this user agreed to, whatever its text declares."""

    ACTION = ("execute", "tool", "shell/run")

    def test_what_only_the_lock_approves_is_denied_with_the_command(self, team: Person, other: Person) -> None:
        asked = ("permissions", "check", "acme/work/keeps", *self.ACTION)
        assert team.ok(*asked, "--json").json["reason"] is None
        found = other.run(*asked, "--json")
        assert (found.code, found.json["allowed"], found.json["by"]) == (1, False, None)
        for words in ("project-not-accepted", "rye trust project"):
            assert words in found.json["reason"]
            assert words in other.run(*asked).stderr
        assert other.ok(*asked, "--trust-lock", "--json").json["allowed"] is True
        assert other.ok(*asked, "--json", env={"RYE_TRUST_LOCK": "1"}).json["allowed"] is True
        other.terminal("trust", "project", answer=b"y\n")
        assert other.ok(*asked, "--json").json["allowed"] is True

    def test_a_caller_that_was_not_agreed_to_denies_for_the_chain(self, other: Person) -> None:
        other.ok("new", "directive", "work/own")
        asked = ("permissions", "check", "work/own", "search", "tool", "--json")
        alone, below = other.run(*asked).json, other.run(*asked, "--parent", "acme/work/keeps").json
        assert alone["reason"] is None
        assert (below["allowed"], below["levels"][0]) == (False, None)

    def test_an_action_that_the_text_forbids_anyway_names_no_acceptance(self, other: Person) -> None:
        found = other.run("permissions", "check", "acme/work/keeps", "execute", "tool", "other/x", "--json").json
        assert (found["allowed"], found["reason"]) == (False, None)

    def test_show_lists_apart_what_is_missing(self, team: Person, other: Person) -> None:
        whole = team.ok("permissions", "show", "acme/work/keeps", "--json").json
        assert whole["not_agreed"] == []
        shown = other.ok("permissions", "show", "acme/work/keeps", "--json").json
        assert (shown["capabilities"], shown["highest"]) == ([], None)
        assert {(row["what"], row["value"]) for row in shown["not_agreed"]} == {
            ("right", row["capability"]) for row in whole["capabilities"]
        }
        text = other.ok("permissions", "show", "acme/work/keeps")
        assert "not agreed\tright rye.execute.tool.shell.run" in text.stdout
        assert "every action is denied" not in text.stdout
        assert "rye trust project" in text.stderr

    def test_rights_that_a_commit_took_out_of_the_lock_s_approvals_are_denied(self, team: Person) -> None:
        edit(team, of("acme/work/keeps", approved=but(right=())))
        found = team.run("permissions", "check", "acme/work/keeps", *self.ACTION, "--json").json
        assert found["allowed"] is False
        assert "rye install" in found["reason"]
        assert team.run("render", "acme/work/keeps", "--json").error["code"] == "consent-needed"

    def test_a_hook_s_own_rights_are_those_agreed_to(self, team: Person, other: Person) -> None:
        listed = ("hooks", "list", "acme/work/top", "--json")
        mine, theirs = team.ok(*listed).json["hooks"], other.ok(*listed).json["hooks"]
        assert [row["required"] for row in mine] == [row["required"] for row in theirs]
        assert [row["allowed"] for row in theirs] == [False]


class TestRendering:
    """A text that comes with rights, hooks or executable files is printed only after this user agreed to them."""

    def test_a_clone_renders_nothing_that_only_the_lock_approves(self, team: Person, other: Person) -> None:
        error = other.run("render", "acme/work/keeps", "--json").error
        assert error["code"] == "project-not-accepted"
        assert "rye trust project" in error["hint"]
        assert {row["item"] for row in error["approvals"]} == {"directive:acme/work/keeps"}
        path = ".ai/packages/acme/directives/work/keeps.md"
        assert other.run("render", path, "--json").error["code"] == "project-not-accepted"
        expected = team.ok("render", "acme/work/keeps").stdout
        assert other.ok("render", "acme/work/keeps", "--trust-lock").stdout == expected
        assert other.ok("render", "acme/work/keeps", env={"RYE_TRUST_LOCK": "1"}).stdout == expected
        assert other.run("render", "acme/work/keeps", "--json").error["code"] == "project-not-accepted"

    def test_on_a_terminal_it_asks_for_this_item_once(self, other: Person) -> None:
        assert "Do the work" not in other.terminal("render", "acme/work/keeps", answer=b"n\n")
        shown = other.terminal("render", "acme/work/keeps", answer=b"y\n")
        assert "rye.execute.tool.shell.run" in shown
        assert "Agree to what rye.lock approves? [y/N/d]" in shown
        assert "Do the work" in shown
        other.ok("render", "acme/work/keeps")
        assert other.run("render", "acme/work/top", "--json").error["code"] == "project-not-accepted"

    def test_an_item_that_comes_with_nothing_renders_as_before(
        self, registry: Registry, acme: Person, team: Person
    ) -> None:
        acme.write(".ai/knowledge/work/plain.md", PLAIN)
        acme.ok("sign", ".ai/knowledge/work/plain.md")
        acme.publish(".ai/knowledge/work/plain.md")
        team.ok("add", "acme/work/plain", "--yes")
        assert "Plain words." in clone(registry, team, trusts=False).ok("render", "acme/work/plain").stdout
