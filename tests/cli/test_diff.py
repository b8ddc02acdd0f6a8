"""Looking at the locked items and going back: list, tree, why, outdated, diff, rollback."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from rye.workspace.installing import install_steps, rolling_back
from tests.scenes.directive_text import SEARCH, SHELL
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

HOOK = ("cost.current > 3", "notify", "${cost.current}")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    author.release("work/middle", depends=(("acme/work/base", "^1.0"),))
    author.release("work/top", depends=(("acme/work/base", "^1.0"), ("acme/work/middle", "*")))
    author.release("work/item", permissions=SEARCH, depends=(("acme/work/base", "^1.0"),))
    author.release(
        "work/item", "2.0.0", permissions=SHELL, depends=(("acme/work/middle", "*"),), hooks=(HOOK,), text="New words."
    )
    author.release("work/item", "1.1.0", text="Small change.")
    return author


class TestList:
    def test_installed_items_have_version_tier_signer_and_space(self, user: Person) -> None:
        user.ok("add", "acme/work/item@2.0.0", "--yes")
        rows = user.ok("list", "--json").json["items"]
        assert [(row["id"], row["version"], row["tier"], row["space"], row["state"]) for row in rows] == [
            ("acme/work/base", "1.0.0", "safe", "installed", "ok"),
            ("acme/work/item", "2.0.0", "elevated", "installed", "ok"),
            ("acme/work/middle", "1.0.0", "safe", "installed", "ok"),
        ]
        assert all(row["signer"].startswith("SHA256:") for row in rows)
        assert "acme/work/item\t2.0.0\televated" in user.ok("list").stdout

    def test_every_space_is_shown_and_can_be_chosen(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        user.new("directive", "mine/own")
        rows = user.ok("list", "--json").json["items"]
        assert [(row["space"], row["id"]) for row in rows] == [("project", "mine/own"), ("installed", "acme/work/base")]
        assert len(user.ok("list", "--space", "installed", "--json").json["items"]) == 1
        assert len(user.ok("list", "--space", "project", "--json").json["items"]) == 1
        assert user.ok("list", "--kind", "tool", "--json").json["items"] == []

    def test_a_changed_file_shows(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        user.write(".ai/packages/acme/directives/work/base.md", "changed")
        assert user.ok("list", "--json").json["items"][0]["state"] == "changed"


class TestTree:
    def test_what_stands_twice_is_marked(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        assert user.ok("tree").stdout == (
            "directive:acme/work/top 1.0.0\n"
            "├── directive:acme/work/base 1.0.0\n"
            "└── directive:acme/work/middle 1.0.0\n"
            "    └── directive:acme/work/base 1.0.0\n"
        )
        assert user.ok("tree", "--depth", "0").stdout == "directive:acme/work/top 1.0.0\n"
        assert [node["depth"] for node in user.ok("tree", "--json").json["tree"]] == [0, 1, 1, 2]

    def test_why_shows_every_chain(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        user.ok("add", "acme/work/middle", "--group", "dev", "--yes")
        chains = user.ok("why", "acme/work/base", "--json").json["chains"]
        base, middle, top = (f"directive:acme/work/{name}@1.0.0" for name in ("base", "middle", "top"))
        assert [(chain["group"], chain["chain"]) for chain in chains] == [
            ("dev", [middle, base]),
            ("main", [top, base]),
            ("main", [top, middle, base]),
        ]
        assert "rye.toml (dev) → directive:acme/work/middle" in user.ok("why", "base").stdout

    def test_why_of_something_else_suggests(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        done = user.run("why", "acme/work/bas", "--json")
        assert (done.error["code"], "acme/work/base" in done.error["hint"]) == ("not-installed", True)


class TestOutdated:
    def test_current_wanted_and_latest(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        user.write("rye.toml", '[dependencies]\n"acme/work/item" = "^1.0"\n')
        user.ok("lock")
        (row,) = user.ok("outdated", "--json").json["outdated"]
        assert (row["id"], row["current"], row["wanted"], row["latest"], row["direct"]) == (
            "acme/work/item",
            "1.0.0",
            "1.1.0",
            "2.0.0",
            True,
        )
        assert user.ok("outdated").stdout == "directive:acme/work/item\t1.0.0\t1.1.0\t2.0.0\n"

    def test_nothing_newer_is_said(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        assert "newest" in user.ok("outdated").stderr

    def test_a_locked_release_that_was_yanked_without_a_successor_is_no_failure(
        self, user: Person, acme: Person
    ) -> None:
        acme.release("work/only")
        user.ok("add", "acme/work/only", "--yes")
        acme.ok("yank", "acme/work/only@1.0.0", "--reason", "broken", "--yes")
        assert user.ok("update", "--json").json["changes"] == []
        assert user.ok("outdated", "--json").json == {"outdated": []}
        shown = user.ok("outdated")
        assert shown.stdout == "directive:acme/work/only\t1.0.0\t1.0.0\t-\tyanked: broken\n"
        assert "directive:acme/work/only was yanked, and no newer version can be installed." in shown.stderr

    def test_of_one_item_the_command_that_takes_its_latest_version_is_named(self, user: Person, acme: Person) -> None:
        acme.release("work/bad")
        acme.release("work/bad", "2.0.0")
        user.ok("add", "acme/work/bad@1.0.0", "--yes")
        acme.ok("yank", "acme/work/bad@1.0.0", "--reason", "broken", "--yes")
        shown = user.ok("outdated")
        assert "yanked: broken" in shown.stdout
        command = "rye add directive:acme/work/bad@^2.0.0"
        assert f"`{command}`" in shown.stderr
        command = "rye add 'directive:acme/work/bad@^2.0.0'"
        assert f"`{command}`" in user.ok("update").stderr
        user.ok(*shlex.split(command)[1:], "--yes")
        assert "newest" in user.ok("outdated").stderr

    def test_a_locked_release_that_the_policy_refuses_by_now_is_a_row_and_no_failure(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        manifest = user.path("rye.toml").read_text()
        user.write("rye.toml", f'{manifest}\n[policy]\nminimum-release-age = "3d"\n')
        (row,) = user.ok("outdated", "--json").json["outdated"]
        assert (row["current"], row["wanted"], row["latest"]) == ("1.0.0", None, None)
        assert row["refused"].startswith("younger than minimum-release-age (released ")
        shown = user.ok("outdated").stdout
        assert shown.startswith("directive:acme/work/base\t1.0.0\t-\t-\trefused: younger than minimum-release-age")
        user.write("rye.toml", f'{manifest}\n[policy]\nrequired-signers = ["SHA256:{"A" * 43}"]\n')
        assert "refused: required-signers does not list SHA256:" in user.ok("outdated").stdout

    def test_a_locked_release_whose_key_was_revoked_is_a_row_and_no_failure(
        self, registry: Registry, user: Person, acme: Person
    ) -> None:
        leaky = registry.owner("leaky")
        leaky.release("work/bad")
        user.ok("add", "leaky/work/bad", "acme/work/item@1.0.0", "--yes")
        person = leaky
        person.ok("keys", "generate", "--name", "second")
        person.write("second.pem", person.ok("keys", "export", "second").stdout)
        person.ok("namespace", "keys", "add", "leaky", "second.pem")
        keys = person.ok("keys", "list", "--json").json["keys"]
        first = next(key["fingerprint"] for key in keys if key["name"] == "default")
        person.ok(
            "namespace", "revoke", *("leaky", first, "--from", "1", "--key", "default", "--key", "second", "--yes")
        )
        rows = {row["id"]: row for row in user.ok("outdated", "--json").json["outdated"]}
        assert rows["leaky/work/bad"]["refused"] == "every key that signed it was revoked"
        assert (rows["acme/work/item"]["latest"], rows["acme/work/item"]["refused"]) == ("2.0.0", None)


class TestDiff:
    def test_two_releases_differ_in_text_rights_dependencies_and_hooks(self, user: Person) -> None:
        found = user.ok("diff", "acme/work/item@1.0.0", "acme/work/item@2.0.0", "--json").json
        assert "+New words." in found["text"]
        assert [row["capability"] for row in found["capabilities"]["widened"]] == ["rye.execute.tool.shell.run"]
        assert found["capabilities"]["narrowed"] == []
        assert found["dependencies"] == {
            "added": ["depends_on acme/work/middle@*"],
            "removed": ["depends_on acme/work/base@^1.0"],
        }
        assert [hook["item_id"] for hook in found["hooks"]["added"]] == ["notify"]
        assert (found["equal"], found["signer_changed"]) == (False, False)
        back = user.ok("diff", "acme/work/item@2.0.0", "acme/work/item@1.0.0").stdout
        assert "  - rye.execute.tool.shell.run" in back

    def test_rights_are_compared_exactly_not_by_their_words(self, user: Person, acme: Person) -> None:
        acme.release("words/item", permissions=SEARCH)
        acme.release(
            "words/item", "1.0.1", permissions="<search><tool>a*</tool><tool>[!a]*</tool><tool>b</tool></search>"
        )
        found = user.ok("diff", "acme/words/item@1.0.1", "acme/words/item@1.0.0", "--json").json
        assert found["capabilities"]["widened"] != []  # only * grants the empty id
        found = user.ok("diff", "acme/words/item@1.0.0", "acme/words/item@1.0.1", "--json").json
        assert found["capabilities"]["widened"] == []

    def test_what_is_installed_is_compared_with_the_newest(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        found = user.ok("diff", "acme/work/item", "--json").json
        assert (found["old"], found["new"]) == ("directive:acme/work/item@1.0.0", "directive:acme/work/item@2.0.0")
        assert user.ok("diff", "acme/work/item@1.1.0", "--json").json["new"].endswith("@1.1.0")

    def test_a_version_that_is_not_there_is_said_with_those_that_are(self, user: Person) -> None:
        done = user.run("diff", "acme/work/item@1.0.0", "acme/work/item@7.0.0", "--json")
        assert done.error["code"] == "no-such-version"
        assert "2.0.0" in done.error["hint"]

    def test_hand_edits_are_compared_with_the_signed_bytes_even_without_a_cache(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        path = user.path(".ai/packages/acme/directives/work/base.md")
        path.write_text(path.read_text().replace("Do the work.", "Do my work."))
        user.write(".ai/packages/acme/planted.txt", "planted")
        user.ok("cache", "clean")
        files = user.ok("diff", "--edited", "--json").json["files"]
        assert [(row["path"].rsplit("/", 1)[-1], row["state"]) for row in files] == [
            ("base.md", "changed"),
            ("planted.txt", "extra"),
        ]
        assert "-Do the work.\n+Do my work." in files[0]["diff"]

    @pytest.mark.parametrize("words", [(), ("a/b", "a/c", "a/d"), ("--edited", "acme/work/base"), ("--effective",)])
    def test_wrong_words(self, user: Person, words: tuple[str, ...]) -> None:
        assert user.run("diff", *words).code == 2

    def test_without_an_item_the_hint_names_the_ways_to_compare(self, user: Person) -> None:
        """A user of git expects `diff` alone to show their edits."""
        hint = user.run("diff", "--json").error["hint"]
        assert "`rye diff --edited`" in hint
        assert "`rye diff ID`" in hint


class TestRollback:
    def test_it_returns_to_exactly_the_lock_before_and_forward_again(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        before = {name: user.path(name).read_bytes() for name in ("rye.lock", "rye.toml")}
        both = ("--approve", "acme/work/item@2.0.0", "--approve", "acme/work/middle@1.0.0", "--yes")
        user.ok("add", "acme/work/item@2.0.0", *both)
        after = user.path("rye.lock").read_bytes()
        assert user.run("rollback", "--dry-run").code == 0
        assert user.path("rye.lock").read_bytes() == after
        user.ok("rollback")
        assert {name: user.path(name).read_bytes() for name in before} == before
        assert 'version="1.0.0"' in user.path(".ai/packages/acme/directives/work/item.md").read_text()
        assert not user.path(".ai/packages/acme/directives/work/middle.md").exists()
        assert user.run("rollback", "--yes", "--json").error["code"] == "consent-needed"
        user.ok("rollback", *both)
        assert user.path("rye.lock").read_bytes() == after

    def test_a_repair_does_not_count_as_an_update(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        before = user.path("rye.lock").read_bytes()
        user.ok("add", "acme/work/item@1.1.0", "--yes")
        user.path(".ai/packages/acme/directives/work/item.md").unlink()
        user.ok("install")
        user.ok("rollback", "--yes")
        assert user.path("rye.lock").read_bytes() == before

    def test_edits_of_the_manifest_since_are_not_given_up_silently(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        user.ok("add", "acme/work/item@1.1.0", "--yes")
        path = user.path("rye.toml")
        edited = path.read_bytes() + b'"acme/work/top" = "^1"\n'
        path.write_bytes(edited)
        lock = user.path("rye.lock").read_bytes()
        refused = user.run("rollback")
        assert refused.code == 1
        assert "acme/work/top" in refused.stderr
        assert "rye rollback --yes" in refused.stderr
        assert user.run("rollback", "--json").error["code"] == "edited-manifest"
        assert "acme/work/top" in user.ok("rollback", "--dry-run").stderr
        assert (path.read_bytes(), user.path("rye.lock").read_bytes()) == (edited, lock)
        assert "acme/work/top" in user.ok("rollback", "--yes").stderr
        assert b"acme/work/top" not in path.read_bytes()
        user.ok("rollback", "--yes")
        assert path.read_bytes() == edited

    def test_line_endings_come_back_as_they_were(self, user: Person) -> None:
        path = user.path("rye.toml")
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        before = path.read_bytes().replace(b"\n", b"\r\n")
        path.write_bytes(before)
        user.ok("add", "acme/work/item@1.1.0", "--yes")
        user.ok("rollback", "--yes")
        assert path.read_bytes() == before

    def test_a_comment_since_is_an_edit_as_well(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        user.ok("add", "acme/work/item@1.1.0", "--yes")
        path = user.path("rye.toml")
        path.write_text(path.read_text() + "# ask Friday\n")
        assert "ask Friday" in user.run("rollback").stderr

    def test_a_range_that_was_edited_by_hand_asks_for_its_version_again(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        path = user.path("rye.toml")
        path.write_text(path.read_text().replace('"1.0.0"', '"1.1.0"'))
        user.ok("install", "--yes")
        user.ok("rollback", "--yes")
        assert 'version = "1.0.0"' in user.path("rye.lock").read_text()
        assert user.run("lock", "--check").code == 1
        user.ok("install", "--yes")
        assert 'version = "1.1.0"' in user.path("rye.lock").read_text()

    def test_ids_that_are_almost_right_are_answered_with_those_that_are(self, user: Person) -> None:
        user.ok("add", "acme/work/item@1.0.0", "--yes")
        for command in ("update", "remove"):
            assert "acme/work/item" in user.run(command, "acme/work/itme", "--json").error["hint"]

    def test_a_state_that_is_exchanged_while_its_writer_is_looked_up_is_not_taken(
        self, user: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was read was one state, and what was recognized as this user's was another one, read a moment later."""
        for version in ("1.0.0", "1.1.0"):
            user.ok("add", f"acme/work/item@{version}", "--yes")
        path = user.path(".ai/.rye/previous/rye.toml")
        own, asked = path.read_bytes(), install_steps.require_own_previous
        path.write_bytes(own + b"# not mine\n")

        def exchanged(*words: Any) -> None:
            path.write_bytes(own)
            asked(*words)

        monkeypatch.setattr(rolling_back, "require_own_previous", exchanged)
        assert user.run("rollback", "--yes", "--json").error["code"] == "nothing-to-roll-back"
        assert b"not mine" not in user.path("rye.toml").read_bytes()
        user.ok("rollback", "--yes")

    def test_without_a_past_it_says_so(self, user: Person) -> None:
        assert user.run("rollback", "--json").error["code"] == "nothing-to-roll-back"


class TestEffective:
    def test_what_an_override_makes_of_an_item(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        assert user.ok("diff", "acme/work/base", "--effective").stdout == "acme/work/base is used as published\n"
        user.ok("override", "new", "acme/work/base", "# base")
        (path,) = user.path(".ai/overrides").rglob("*.overrides.md")
        text = path.read_text()
        path.write_text(text.replace("Do the work.", "Do our work.").replace(">*</tool>", ">bench.*</tool>"))
        found = user.ok("diff", "acme/work/base", "--effective", "--json").json
        assert "+Do our work." in found["diff"]
        assert found["overrides"] == [".ai/overrides/acme/work/base.overrides.md"]
        assert found["capabilities"]["widened"] == []
        assert found["capabilities"]["narrowed"] == ["rye.search.tool.*"]
        assert "+Do our work." in user.ok("diff", "acme/work/base", "--effective").stdout

    def test_an_update_says_what_its_overrides_no_longer_fit(self, user: Person, acme: Person) -> None:
        acme.release("fit/item")
        user.ok("add", "acme/fit/item", "--yes")
        user.ok("override", "new", "acme/fit/item", "# item")
        acme.release("fit/item", "1.1.0", text="Changed.")
        lock = user.path("rye.lock").read_bytes()
        done = user.run("update", "--strict-overrides", "--json")
        assert (done.code, done.error["code"]) == (1, "overrides-do-not-fit")
        assert user.path("rye.lock").read_bytes() == lock
        assert "override of acme/fit/item" in user.ok("update").stderr
