"""Workspaces through the program: one lock at the root, members that state their needs, and ``-p`` to name one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rye.project.lock import LockedItem, parse_lock
from tests.cli.test_claims import clone
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

WORKSPACE = '\n[workspace]\nmembers = ["services/*"]\n'


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        author.release("work/base", version)
    author.release("work/top", depends=(("acme/work/base", "~1.0"),))
    author.release("work/lint")
    return author


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    """A workspace with the members api and web; web has no dependencies yet."""
    person = registry.user()
    path = person.path("rye.toml")
    path.write_text(path.read_text() + WORKSPACE)
    person.ok("init", "services/api")
    person.ok("init", "services/web")
    person.ok("add", "acme/work/top", "-p", "services/api", "--yes")
    return person


def inside(person: Person, member: str) -> Person:
    """The same person, in a member's folder."""
    return person.elsewhere(person.folder / member)


def locked(person: Person) -> dict[str, LockedItem]:
    items = parse_lock(person.path("rye.lock").read_text()).items
    return {item.id.removeprefix("acme/work/"): item for item in items}


def text(person: Person, member: str = "") -> str:
    return (person.folder / member / "rye.toml").read_text()


class TestOneLock:
    def test_add_writes_the_members_file_and_the_roots_registry_and_lock(
        self, user: Person, registry: Registry
    ) -> None:
        assert '"acme/work/top" = "^1.0.0"' in text(user, "services/api")
        assert "acme/work/top" not in text(user)
        assert registry.url in text(user)
        assert "registry" not in text(user, "services/api")
        assert {name: item.version for name, item in locked(user).items()} == {"base": "1.0.0", "top": "1.0.0"}
        assert parse_lock(user.path("rye.lock").read_text()).wanted == {"services/api: acme/work/top": "^1.0.0"}
        assert user.path(".ai/packages/acme/directives/work/top.md").exists()
        assert sorted(path.name for path in user.path("services/api").iterdir()) == ["rye.toml"]

    def test_a_members_folder_works_on_the_whole_and_adds_to_itself(self, user: Person) -> None:
        web = inside(user, "services/web")
        web.ok("add", "acme/work/lint", "--group", "dev", "--yes")
        assert '[groups.dev]\n"acme/work/lint"' in text(user, "services/web")
        assert locked(user)["lint"].groups == ("dev",)
        for command in (["install"], ["ci"], ["install", "--locked"], ["lock", "--check"], ["audit"]):
            web.ok(*command)
            user.ok(*command)
        web.ok("remove", "acme/work/lint", "--yes")
        assert "lint" not in locked(user)

    def test_a_changed_member_makes_the_lock_stale(self, user: Person) -> None:
        user.ok("install")
        path = user.path("services/web/rye.toml")
        path.write_text(path.read_text() + '"acme/work/lint" = "*"\n')
        error = user.run("ci", "--json").error
        assert error["code"] == "lock-does-not-fit"
        assert "services/web/rye.toml asks for *" in error["message"]
        user.ok("install", "--yes")
        assert "lint" in locked(user)

    def test_a_member_that_goes_takes_its_items_along(self, user: Person) -> None:
        user.path("services/api/rye.toml").unlink()
        assert user.run("ci", "--json").error["code"] == "lock-does-not-fit"
        user.ok("install")
        assert locked(user) == {}

    def test_nothing_to_do_is_not_said_of_an_edited_member(self, user: Person) -> None:
        assert user.spawn("install").stdout == "everything is installed\n"
        path = user.path("services/api/rye.toml")
        path.write_text(path.read_text().replace('"acme/work/top" = "^1.0.0"\n', ""))
        assert "removed 2" in user.spawn("install").stdout

    def test_rollback_restores_the_members_file(self, user: Person) -> None:
        before = text(user, "services/api")
        user.ok("add", "acme/work/lint", "-p", "api", "--yes")
        after = text(user, "services/api")
        assert after != before
        user.ok("rollback")
        assert text(user, "services/api") == before
        assert "lint" not in locked(user)
        user.ok("rollback", "--yes")
        assert text(user, "services/api") == after
        user.ok("ci")

    def test_rollback_gives_up_edits_of_a_member_only_with_yes(self, user: Person) -> None:
        user.ok("add", "acme/work/lint", "-p", "api", "--yes")
        path = user.path("services/api/rye.toml")
        path.write_text(path.read_text() + '"acme/work/base" = "*"\n')
        error = user.run("rollback", "--json").error
        assert error["code"] == "edited-manifest"
        assert 'services/api/rye.toml: +"acme/work/base" = "*"' in error["message"]


class TestConflicts:
    def test_the_explanation_names_the_members(self, user: Person) -> None:
        error = user.run("add", "acme/work/base@^2", "-p", "web", "--yes", "--json").error
        assert error["code"] == "unsolvable"
        assert "services/web depends on directive:acme/work/base ^2" in error["message"]
        assert "services/api depends on directive:acme/work/top ^1.0.0" in error["message"]
        assert "requirements of your workspace cannot be met" in error["message"]
        assert "services/api asks for directive:acme/work/top ^1.0.0" in error["hint"]
        assert "base" not in text(user, "services/web")

    def test_an_override_of_the_root_settles_it(self, user: Person) -> None:
        path = user.path("rye.toml")
        path.write_text(path.read_text() + '\n[overrides]\n"acme/work/base" = "2.0.0"\n')
        user.ok("add", "acme/work/base@^2", "-p", "web", "--yes")
        assert locked(user)["base"].version == "2.0.0"
        user.ok("ci")


class TestChoosingAMember:
    def test_tree_why_list_and_outdated_show_what_it_needs(self, user: Person) -> None:
        needs_none = user.ok("outdated", "-p", "web").stderr
        assert "nothing to compare: web needs no items; `rye add [KIND:]ID -p web` adds one" in needs_none
        user.ok("add", "acme/work/lint", "-p", "web", "--yes")
        assert user.ok("tree", "-p", "web").stdout == "directive:acme/work/lint 1.0.0\n"
        assert len(user.ok("tree", "--json").json["tree"]) == 3
        assert [row["id"] for row in user.ok("list", "-p", "api", "--json").json["items"]] == [
            "acme/work/base",
            "acme/work/top",
        ]
        [row] = user.ok("outdated", "-p", "api", "--json").json["outdated"]
        assert (row["id"], row["direct"]) == ("acme/work/base", False)
        assert user.ok("outdated", "-p", "web", "--json").json["outdated"] == []
        assert user.ok("why", "base").stdout == (
            "services/api/rye.toml → directive:acme/work/top 1.0.0 → directive:acme/work/base 1.0.0\n"
        )
        assert user.ok("why", "base", "--json").json["chains"][0]["member"] == "services/api"
        assert user.ok("why", "base", "-p", "web", "--json").json["chains"] == []

    @pytest.mark.parametrize("command", [["tree"], ["list"], ["outdated"], ["why", "base"], ["add", "acme/work/lint"]])
    def test_one_that_is_not_there_is_an_error(self, user: Person, command: list[str]) -> None:
        error = user.run(*command, "-p", "services/ap", "--json").error
        assert error["code"] == "unknown-name"
        assert "services/api" in error["hint"]

    def test_remove_says_who_has_it(self, user: Person) -> None:
        error = user.run("remove", "acme/work/top", "--json").error
        assert error["code"] == "not-a-dependency"
        assert error["hint"] == "services/api has it: `rye remove acme/work/top -p services/api`."
        user.ok("remove", "acme/work/top", "-p", "services/api")
        assert locked(user) == {}

    def test_a_deploy_of_one_member_writes_what_it_asks_for(self, user: Person) -> None:
        user.ok("add", "acme/work/lint", "-p", "web", "--yes")
        shown = user.ok("deploy", "-p", "web", "--target", "claude", "--dry-run", "--json").json
        assert "lint" in json.dumps(shown["changes"])
        assert "top" not in json.dumps(shown["changes"])


class TestInit:
    def test_it_says_that_it_became_a_member(self, user: Person) -> None:
        shown = user.ok("init", "services/new")
        assert "It is a member of the workspace at" in shown.stderr
        assert user.ok("init", "services/other", "--json").json["workspace"] == str(user.folder)
        assert user.run("init", "elsewhere").stderr.find("member of") == -1
        user.ok("ci")

    def test_a_member_has_no_namespace_of_its_own(self, user: Person) -> None:
        assert user.run("init", "services/new", "--namespace", "evil", "--json").error["code"] == "contradiction"
        assert not user.path("services/new").exists()


def test_the_commands_of_the_docs_do_what_the_docs_say(registry: Registry, acme: Person) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "how-to" / "workspaces.md").read_text("utf-8")
    table, commands = (
        re.search(rf"<!-- {name} -->\n```[a-z]*\n(.*?)```", docs, re.DOTALL)
        for name in ("workspace", "workspace commands")
    )
    assert table is not None
    assert commands is not None
    person = registry.user()
    person.path("tools/lint").mkdir(parents=True)
    person.path("tools/lint/rye.toml").write_text("")
    path = person.path("rye.toml")
    path.write_text(path.read_text() + table[1])
    for line in commands[1].splitlines():
        words = line.replace("acme/workflows/deploy", "acme/work/top").split()[1:]
        person.ok(*words, *(["--yes"] if words[0] == "add" else []))
    assert "acme/work/top" in text(person, "services/api")
    assert sorted(locked(person)) == ["base", "top"]


class TestHostileRepositories:
    def test_a_members_items_are_part_of_what_is_accepted(self, registry: Registry, user: Person) -> None:
        other = clone(registry, user, trusts=False)
        error = other.run("ci", "--json").error
        assert error["code"] == "project-not-accepted"
        assert any(one["item"] == "directive:acme/work/top" for one in error["approvals"])

    def test_a_members_policy_never_counts_silently(self, user: Person) -> None:
        path = user.path("services/api/rye.toml")
        path.write_text(path.read_text() + '\n[policy]\nmax-tier = "unrestricted"\n')
        for command in (["install"], ["ci"], ["tree"], ["list"], ["audit"], ["lock", "--check"]):
            assert user.run(*command, "--json").error["code"] == "bad-member"
            assert inside(user, "services/api").run(*command, "--json").error["code"] == "bad-member"

    def test_a_link_out_of_the_project_is_refused(self, user: Person, tmp_path: Path) -> None:
        (tmp_path / "rye.toml").write_text('[dependencies]\n"acme/work/lint" = "*"\n')
        user.path("services/out").symlink_to(tmp_path)
        assert user.run("install", "--json").error["code"] == "bad-member"
        assert "lint" not in locked(user)

    def test_the_roots_policy_holds_for_members(self, user: Person) -> None:
        path = user.path("rye.toml")
        path.write_text(path.read_text() + f'\n[policy]\nrequired-signers = ["SHA256:{"A" * 43}"]\n')
        assert (
            inside(user, "services/web").run("add", "acme/work/lint", "--yes", "--json").error["code"] == "unsolvable"
        )
