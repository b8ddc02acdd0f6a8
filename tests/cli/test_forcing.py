"""``[overrides]`` through the program: chosen, shown, locked, agreed to, and never stronger than a policy."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rye.project.lock import LockedItem, parse_lock
from tests.cli.test_claims import clone, edit
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

BASE = "directive:acme/work/base"


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0"):
        author.release("work/base", version)
    author.release("work/top", depends=(("acme/work/base", "~1.1"),))
    author.release("work/foe", conflicts=(("acme/work/base", "^2"),))
    author.ok("yank", "acme/work/base@1.2.0", "--reason", "broken", "--yes")
    return author


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    person = registry.user()
    person.ok("add", "acme/work/top", "--yes")
    return person


def force(person: Person, *lines: str) -> None:
    path = person.path("rye.toml")
    head = path.read_text().partition("\n[overrides]")[0]
    path.write_text("\n".join([head, "[overrides]", *lines, ""]) if lines else head)


def locked(person: Person, name: str = "base") -> LockedItem:
    items = parse_lock(person.path("rye.lock").read_text()).items
    return next(item for item in items if item.id == f"acme/work/{name}")


class TestForcing:
    def test_install_takes_the_forced_version_and_says_so_everywhere(self, user: Person) -> None:
        assert locked(user).version == "1.1.0"
        force(user, '"acme/work/base" = "2.0.0"')
        shown = user.ok("install", "--yes")
        assert (locked(user).version, locked(user).forced) == ("2.0.0", "2.0.0")
        assert "forced by [overrides] of rye.toml: 2.0.0" in shown.stderr
        assert "directive:acme/work/top 1.0.0 asks for ~1.1" in shown.stderr
        assert "base 2.0.0 (forced)" in user.ok("tree").stdout
        rows = {row["id"]: row["forced"] for row in user.ok("tree", "--json").json["tree"]}
        assert rows == {"acme/work/top": None, "acme/work/base": "2.0.0"}
        assert "[overrides] of rye.toml forces directive:acme/work/base 2.0.0" in user.ok("why", "base").stdout
        assert user.ok("why", "base", "--json").json["forced"] == "2.0.0"
        finding = next(f for f in user.run("audit", "--json").json["findings"] if f["rule"] == "forced-version")
        assert (finding["severity"], finding["item"], finding["path"]) == ("warning", BASE, "rye.toml")
        assert "asks for ~1.1" in finding["message"]
        assert user.ok("install").stdout == "everything is installed\n"
        assert user.ok("lock", "--check", "--json").json["fits"] is True
        user.ok("ci")
        user.ok("install", "--locked")

    def test_outdated_and_update_go_by_it(self, user: Person) -> None:
        force(user, '"acme/work/base" = "<1.1"')
        user.ok("install", "--yes")
        [row] = user.ok("outdated", "--json").json["outdated"]
        assert (row["current"], row["wanted"], row["latest"], row["forced"]) == ("1.0.0", "1.0.0", "2.0.0", "<1.1")
        assert "forced by [overrides]: <1.1" in user.ok("outdated").stdout
        held = user.ok("update", "--json").json["held_back"]
        assert held[0]["by"] == ["[overrides] of rye.toml forces <1.1"]
        error = user.run("update", "acme/work/base@1.1.0", "--json").error
        assert error["code"] == "outside-range"
        assert "[overrides] of rye.toml forces" in error["message"]

    def test_a_version_in_everybodys_range_is_only_information(self, user: Person) -> None:
        force(user, f'"{BASE}" = "1.1.0"')
        user.ok("install", "--yes")
        assert locked(user).forced == "1.1.0"
        finding = next(f for f in user.ok("audit", "--json").json["findings"] if f["rule"] == "forced-version")
        assert finding["severity"] == "info"

    def test_it_goes_when_the_line_goes(self, user: Person) -> None:
        force(user, '"acme/work/base" = "2.0.0"')
        user.ok("install", "--yes")
        force(user)
        assert user.run("ci", "--json").error["code"] == "lock-does-not-fit"
        user.ok("install", "--yes")
        assert (locked(user).version, locked(user).forced) == ("1.1.0", None)

    def test_what_forces_nothing_is_told_each_time(self, user: Person) -> None:
        before = user.path("rye.lock").read_bytes()
        force(user, '"acme/work/bass" = "2.0.0"')
        for command in (["install"], ["ci"]):
            assert "[overrides] acme/work/bass in rye.toml has no effect" in user.ok(*command).stderr
        assert user.path("rye.lock").read_bytes() == before
        found = user.ok("audit", "--json").json["findings"]
        assert [f["rule"] for f in found] == ["unused-override"]

    def test_a_range_that_is_none_names_its_line(self, user: Person) -> None:
        force(user, '"acme/work/base" = "new"')
        error = user.run("install", "--yes", "--json").error
        assert error["code"] == "bad-range"
        assert "[overrides] acme/work/base" in error["message"]

    def test_remove_leaves_no_row_and_warns(self, user: Person) -> None:
        force(user, '"acme/work/base" = "2.0.0"')
        user.ok("install", "--yes")
        assert "has no effect" in user.ok("remove", "acme/work/top").stderr


class TestWhatItCannotLift:
    @pytest.mark.parametrize(
        ("version", "said"),
        [("1.2.0", "was yanked"), ("7.0.0", "no version of directive:acme/work/base matches 7.0.0")],
    )
    def test_what_may_not_be_chosen_is_named_with_the_override(self, user: Person, version: str, said: str) -> None:
        before = user.path("rye.lock").read_bytes()
        force(user, f'"acme/work/base" = "{version}"')
        error = user.run("install", "--yes", "--json").error
        assert error["code"] == "unsolvable"
        assert said in error["message"]
        assert "(forced)" in error["message"]
        assert f"[overrides] of rye.toml forces {BASE} {version}" in error["hint"]
        assert user.path("rye.lock").read_bytes() == before

    def test_conflicts_hold(self, user: Person) -> None:
        user.ok("add", "acme/work/foe", "--yes")
        force(user, '"acme/work/base" = "2.0.0"')
        error = user.run("install", "--yes", "--json").error
        assert error["code"] == "unsolvable"
        assert "conflicts with directive:acme/work/base ^2" in error["message"]

    def test_a_minimum_age_and_required_signers_hold(self, user: Person) -> None:
        force(user, '"acme/work/base" = "2.0.0"')
        text = user.path("rye.toml").read_text()
        for policy, said in (
            ('minimum-release-age = "3d"', "younger than minimum-release-age"),
            (f'required-signers = ["SHA256:{"A" * 43}"]', "not signed by a key that the policy requires"),
        ):
            user.path("rye.toml").write_text(f"{text}\n[policy]\n{policy}\n")
            error = user.run("install", "--yes", "--json").error
            assert error["code"] == "unsolvable"
            assert said in error["message"]


class TestHostileRepositories:
    def test_a_clone_asks_about_what_is_forced(self, registry: Registry, user: Person) -> None:
        force(user, '"acme/work/base" = "2.0.0"')
        user.ok("install", "--yes")
        other = clone(registry, user, trusts=False)
        for command in (["install", "--yes"], ["ci"]):
            error = other.run(*command, "--json").error
            assert error["code"] == "project-not-accepted"
            assert {"item": BASE, "what": "forced", "value": "2.0.0"} in error["approvals"]
        shown = other.terminal("trust", "project", answer=b"y\n")
        assert "[overrides] of rye.toml forces" in shown
        other.ok("ci")

    def test_a_pull_that_brings_one_asks_again(self, registry: Registry, user: Person) -> None:
        other = clone(registry, user, trusts=False)
        other.terminal("trust", "project", answer=b"y\n")
        other.ok("ci")
        force(user, '"acme/work/base" = "1.1.0"')
        user.ok("install", "--yes")
        for name in ("rye.toml", "rye.lock"):
            other.write(name, user.path(name).read_bytes())
        assert other.run("ci", "--json").error["code"] == "project-not-accepted"

    @pytest.mark.parametrize("version", rest_thorough(1, ["1.1.0", "1.0.0"]))
    def test_a_pull_that_brings_one_in_rye_toml_alone_asks_too(
        self, registry: Registry, user: Person, version: str
    ) -> None:
        """Omitting it from the lock avoids no question, neither for the installed version nor for an older one."""
        other = clone(registry, user, trusts=False)
        other.terminal("trust", "project", answer=b"y\n")
        other.ok("ci")
        force(other, f'"acme/work/base" = "{version}"')
        before = other.path("rye.lock").read_bytes()
        assert other.run("ci", "--json").error["code"] == "lock-does-not-fit"
        for environment in ({}, {"RYE_TRUST_LOCK": "1"}):
            error = other.run("install", "--json", env=environment).error
            assert error["code"] == "consent-needed"
            assert f"is forced by [overrides] of rye.toml ({version})" in error["message"]
            assert "install --yes" in error["hint"]
        shown = other.terminal("install", answer=b"n\n")
        assert f"forced by [overrides] of rye.toml: {version}" in shown
        assert other.path("rye.lock").read_bytes() == before
        other.terminal("install", answer=b"y\n")
        assert (locked(other).version, locked(other).forced) == (version, version)
        assert other.ok("install").stdout == "everything is installed\n"
        other.ok("ci")

    def test_an_item_that_a_pull_adds_and_forces_is_asked_about(self, registry: Registry, user: Person) -> None:
        other = clone(registry, user, trusts=False)
        other.terminal("trust", "project", answer=b"y\n")
        other.ok("ci")
        text = (
            other.path("rye.toml").read_text().replace('"acme/work/top"', '"acme/work/foe" = "*"\n"acme/work/top"', 1)
        )
        other.path("rye.toml").write_text(text)
        force(other, '"acme/work/foe" = "1.0.0"')
        error = other.run("install", "--json").error
        assert error["code"] == "consent-needed"
        assert "is forced by [overrides] of rye.toml (1.0.0)" in error["message"]
        other.ok("install", "--yes")
        assert locked(other, "foe").forced == "1.0.0"

    def test_one_that_the_lock_does_not_have_is_asked_about_too(self, registry: Registry, user: Person) -> None:
        force(user, '"acme/work/base" = "1.0.0"')
        other = clone(registry, user, trusts=False)
        error = other.run("install", "--yes", "--json").error
        assert error["code"] == "project-not-accepted"
        assert [one["value"] for one in error["approvals"] if one["what"] == "forced"] == ["1.0.0"]

    def test_a_lock_that_claims_a_forced_version_does_not_fit(self, registry: Registry, user: Person) -> None:
        other = clone(registry, user)
        edit(other, lambda item: replace(item, forced="<2") if item.id.endswith("base") else item)
        error = other.run("ci", "--json").error
        assert error["code"] == "lock-does-not-fit"
        [problem] = error["problems"]
        assert (problem["rule"], problem["item"]) == ("G1", BASE)

    def test_a_lock_outside_of_the_forced_range_does_not_fit(self, registry: Registry, user: Person) -> None:
        force(user, '"acme/work/base" = "2.0.0"')
        other = clone(registry, user)
        edit(other, lambda item: replace(item, forced="2.0.0") if item.id.endswith("base") else item)
        error = other.run("ci", "--json").error
        assert error["code"] == "lock-does-not-fit"
        assert "forces 2.0.0, but 1.1.0 is locked" in error["message"]
        other.ok("install", "--yes")
        assert locked(other).version == "2.0.0"


def test_a_new_project_with_yes_needs_no_more_than_before(registry: Registry, acme: Person) -> None:
    person = registry.user()
    person.write(
        "rye.toml",
        f'[project]\nregistry = "{registry.url}"\n[dependencies]\n"acme/work/top" = "*"\n'
        '[overrides]\n"acme/work/base" = "2.0.0"\n',
    )
    person.ok("install", "--yes")
    assert locked(person).forced == "2.0.0"
    person.ok("ci")
