"""``update ID@VERSION``, what holds an item back, what ``lock`` changed, and versions that do not exist (findings D7, D8)."""

from __future__ import annotations

import pytest

from rye.project.lock import parse_lock
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0"):
        author.release("work/base", version)
    author.release("work/top", depends=(("acme/work/base", "~1.1"),))
    return author


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    person = registry.user()
    person.ok("add", "acme/work/base@^1.0", "--yes")
    return person


def version(person: Person, name: str = "base") -> str:
    items = parse_lock(person.path("rye.lock").read_text()).items
    return next(item.version for item in items if item.id == f"acme/work/{name}")


class TestExactly:
    def test_it_is_that_version_and_rye_toml_stays(self, user: Person) -> None:
        before = user.path("rye.toml").read_bytes()
        for wanted in ("1.0.0", "1.2.0", "1.1.0"):
            user.ok("update", f"acme/work/base@{wanted}")
            assert version(user) == wanted
        assert user.path("rye.toml").read_bytes() == before
        user.ok("install")
        assert version(user) == "1.1.0"

    @pytest.mark.parametrize(
        ("wanted", "code", "said"),
        [
            ("2.0.0", "outside-range", "^1.0"),
            ("7.0.0", "no-such-version", "7.0.0"),
            ("^1", "bad-version", "^1"),
            ("1.0", "bad-version", "1.0"),
        ],
    )
    def test_what_it_cannot_be_changes_nothing(self, user: Person, wanted: str, code: str, said: str) -> None:
        before = user.path("rye.lock").read_bytes()
        error = user.run("update", f"acme/work/base@{wanted}", "--json").error
        assert error["code"] == code
        assert said in error["message"]
        assert error["hint"]
        assert user.path("rye.lock").read_bytes() == before

    def test_another_items_range_is_explained(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        error = user.run("update", "acme/work/base@1.0.0", "--json").error
        assert error["code"] == "unsolvable"
        assert "~1.1" in error["message"]

    def test_two_versions_of_one_item_contradict(self, user: Person) -> None:
        words = ("acme/work/base@1.0.0", "acme/work/base@1.1.0")
        assert user.run("update", *words, "--json").error["code"] == "contradiction"


class TestHeldBack:
    def test_the_one_who_holds_is_named(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        [held] = user.ok("update", "--json").json["held_back"]
        assert (held["id"], held["version"], held["latest"]) == ("acme/work/base", "1.1.0", "2.0.0")
        assert held["by"] == ["rye.toml asks for ^1.0", "directive:acme/work/top 1.0.0 needs ~1.1"]
        assert "stays at 1.1.0, not 2.0.0" in user.ok("update").stderr

    def test_outdated_advises_no_range_for_what_only_others_need(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        assert "`rye add directive:acme/work/base@^2.0.0`" in user.ok("outdated").stderr
        user.ok("remove", "acme/work/base")
        told = user.ok("outdated").stderr
        assert "What needs it holds back its latest version: `rye update --dry-run`" in told
        assert "rye add" not in told
        assert "directive:acme/work/top 1.0.0 needs ~1.1" in user.ok("update", "--dry-run").stderr

    def test_nothing_is_said_where_everything_is_newest(self, user: Person) -> None:
        user.ok("add", "acme/work/base@^2", "--yes")
        done = user.ok("update", "--json").json
        assert "held_back" not in done
        assert "stays" not in user.ok("update").stderr


class TestYanked:
    """A locked version that was yanked and has no successor stays, and keeps nothing else from moving."""

    def test_everything_else_moves_and_it_is_said(self, user: Person, acme: Person) -> None:
        acme.release("work/only")
        user.ok("add", "acme/work/only", "--yes")
        user.ok("update", "acme/work/base@1.0.0")
        acme.ok("yank", "acme/work/only@1.0.0", "--reason", "broken", "--yes")
        told = user.ok("update")
        assert (version(user), version(user, "only")) == ("1.2.0", "1.0.0")
        assert "directive:acme/work/only@1.0.0 was yanked by its publisher: broken." in told.stderr
        assert "stays" in told.stderr
        assert "`rye remove directive:acme/work/only`" in told.stderr
        for words in ((), ("acme/work/only",), ("acme/work/only@1.0.0",)):
            done = user.ok("update", *words, "--json").json
            expected = {"kind": "directive", "id": "acme/work/only", "version": "1.0.0", "reason": "broken"}
            assert done["yanked"] == [{**expected, "latest": None}]
            assert done["changes"] == []
            assert any("was yanked" in one for one in done["warnings"])
        user.ok("remove", "acme/work/only")
        user.fails("add", "acme/work/only", code="unsolvable")

    def test_an_older_version_that_was_not_yanked_is_taken(self, user: Person, acme: Person) -> None:
        acme.release("work/back")
        acme.release("work/back", "1.1.0")
        user.ok("add", "acme/work/back@^1.0", "--yes")
        acme.ok("yank", "acme/work/back@1.1.0", "--reason", "broken", "--yes")
        assert version(user, "back") == "1.1.0"
        [row] = user.ok("update", "acme/work/base", "--json").json["yanked"]
        assert (row["version"], row["latest"]) == ("1.1.0", "1.0.0")
        assert "`rye update directive:acme/work/back@1.0.0`" in user.ok("update", "acme/work/base").stderr
        done = user.ok("update", "--json").json
        assert "yanked" not in done
        said = "directive:acme/work/back goes back to 1.0.0: 1.1.0 was yanked by its publisher: broken"
        assert said in done["warnings"]
        assert version(user, "back") == "1.0.0"

    def test_what_holds_it_is_said_once(self, user: Person, acme: Person) -> None:
        acme.release("work/held")
        acme.release("work/held", "2.0.0")
        user.ok("add", "acme/work/held@^1", "--yes")
        acme.ok("yank", "acme/work/held@1.0.0", "--reason", "broken", "--yes")
        told = user.ok("update").stderr
        assert "`rye add 'directive:acme/work/held@^2.0.0'`" in told
        assert told.count("rye.toml asks for ^1") == 1 + ("directive:acme/work/base stays" in told)

    def test_one_that_others_need_names_what_shows_them(self, user: Person, acme: Person) -> None:
        acme.release("work/below")
        acme.release("work/above", depends=(("acme/work/below", "^1"),))
        user.ok("add", "acme/work/above", "--yes")
        acme.ok("yank", "acme/work/below@1.0.0", "--reason", "broken", "--yes")
        assert "`rye why directive:acme/work/below`" in user.ok("update").stderr


class TestLock:
    def test_it_says_what_moved(self, user: Person) -> None:
        user.write("rye.toml", user.path("rye.toml").read_text().replace("^1.0", "^2") + '"acme/work/none" = "*"\n')
        assert user.run("lock", "--json").error["code"] == "no-such-item"
        text = user.path("rye.toml").read_text().replace('"acme/work/none" = "*"\n', "")
        user.write("rye.toml", text)
        for dry in (True, False):
            done = user.ok("lock", "--json", *(["--dry-run"] if dry else [])).json
            assert done["changes"] == [
                {"action": "update", "kind": "directive", "id": "acme/work/base", "from": "1.2.0", "to": "2.0.0"}
            ]
        assert user.ok("lock", "--json").json["changes"] == []
        user.write("rye.toml", text.replace('"acme/work/base" = "^2"', '"acme/work/top" = "*"'))
        moved = user.ok("lock", "--json").json["changes"]
        assert [(one["action"], one["id"], one["from"], one["to"]) for one in moved] == [
            ("downgrade", "acme/work/base", "2.0.0", "1.1.0"),
            ("add", "acme/work/top", None, "1.0.0"),
        ]
        user.write("rye.toml", text.replace('"acme/work/base" = "^2"\n', ""))
        assert {one["action"] for one in user.ok("lock", "--json").json["changes"]} == {"remove"}


class TestNames:
    @pytest.mark.parametrize("wanted", ["9.9", "^9", ">=3 <4"])
    def test_a_version_that_does_not_exist_lists_the_newest(self, user: Person, wanted: str) -> None:
        error = user.run("add", f"acme/work/base@{wanted}", "--json").error
        assert error["code"] == "no-such-version"
        assert "2.0.0, 1.2.0, 1.1.0" in error["hint"]
        assert wanted not in user.path("rye.toml").read_text()

    def test_a_name_without_a_namespace_says_how_to_add_it(self, user: Person) -> None:
        error = user.run("install", "base", "--json").error
        assert "rye add" in error["hint"]
        assert "rye search base" in error["hint"]

    def test_verify_points_to_the_audit_of_what_is_installed(self, user: Person) -> None:
        error = user.run("verify", "--json").error
        assert error["code"] == "no-items"
        assert "`rye audit`" in error["hint"]
