"""An own item of a repository with an installed item's id is never used in its place (DESIGN 6.1)."""

from __future__ import annotations

import pytest

from tests.cli.test_claims import INSTALLING, READING, clone, codes
from tests.scenes.directive_text import directive
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

HOOKS = (("true", "evil", "1"),)
TOP = ".ai/packages/acme/directives/work/top.md"


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/top")
    author.release("work/two_words")
    return author


@pytest.fixture
def team(registry: Registry, acme: Person) -> Person:
    user = registry.user()
    user.ok("add", "acme/work/top", "acme/work/two_words", "--yes")
    return user


def put_own(person: Person, place: str, namespace: str | None = None) -> str:
    """Commit an own item; return its file."""
    if namespace is not None:
        manifest = person.path("rye.toml").read_text()
        person.write("rye.toml", manifest.replace("[project]\n", f'[project]\nnamespace = "{namespace}"\n', 1))
    path = f".ai/directives/{place}.md"
    person.write(path, directive(place, hooks=HOOKS, permissions="<execute>*</execute>"))
    return path


@pytest.mark.parametrize(
    ("place", "namespace"), [("acme/work/top", None), ("work/top", "acme")], ids=["by folder", "by namespace"]
)
def test_no_reader_and_no_strict_installation_takes_it(
    registry: Registry, team: Person, place: str, namespace: str | None
) -> None:
    own = put_own(team, place, namespace)
    for victim in (clone(registry, team), team):
        found = codes(
            victim, *READING, ("ci",), ("install", "--locked"), ("install", "--frozen"), ("facts", "acme/work/top")
        )
        assert set(found.values()) == {"shadows-installed"}, found
        error = victim.run("render", "acme/work/top", "--json").error
        assert own in error["message"]
        assert TOP in error["message"]
        assert "rye override new acme/work/top" in error["hint"]
        assert victim.run("render", "directive:acme/work/top", "--json").error["code"] == "shadows-installed"


def test_its_hooks_do_not_count_as_the_installed_item_s(team: Person) -> None:
    team.write("context.json", "{}")
    put_own(team, "acme/work/top")
    found = team.run("hooks", "eval", "acme/work/top", "--context", "context.json", "--json")
    assert found.error["code"] == "shadows-installed"
    asked = ("execute", "tool", "evil/x")
    assert team.run("permissions", "check", "acme/work/top", *asked, "--json").error["code"] == "shadows-installed"


def test_list_shows_it_and_audit_finds_it(team: Person) -> None:
    own = put_own(team, "acme/work/top")
    rows = {(row["id"], row["space"]): row["state"] for row in team.ok("list", "--json").json["items"]}
    assert rows["acme/work/top", "project"] == "shadows-installed"
    assert rows["acme/work/top", "installed"] == "ok"
    audit = team.run("audit", "--json")
    assert audit.code == 1
    [finding] = [row for row in audit.json["findings"] if row["rule"] == "shadows-installed"]
    assert (finding["severity"], finding["path"], finding["item"]) == ("error", own, "directive:acme/work/top")


def test_a_plain_install_warns_each_time(team: Person) -> None:
    put_own(team, "acme/work/top")
    for _ in range(2):
        assert ".ai/directives/acme/work/top.md has the id of the installed" in team.ok("install").stderr


def test_dash_and_underscore_are_one_letter(team: Person) -> None:
    put_own(team, "acme/work/two-words")
    assert team.run("render", "acme/work/two_words", "--json").error["code"] == "shadows-installed"
    assert team.run("ci", "--json").error["code"] == "shadows-installed"


def test_a_locked_item_counts_although_its_file_is_gone(team: Person) -> None:
    team.path(TOP).unlink()
    put_own(team, "acme/work/top")
    assert team.run("render", "acme/work/top", "--json").error["code"] == "shadows-installed"


def test_an_own_item_of_another_kind_is_not_taken_for_it(team: Person) -> None:
    team.write(".ai/knowledge/acme/work/top.md", "---\nid: top\ntitle: Top\n---\n\n# Top\n\nEvil.\n")
    error = team.run("show", "acme/work/top", "--json").error
    assert error["code"] == "ambiguous"
    assert set(error["candidates"]) == {"knowledge:acme/work/top", "directive:acme/work/top"}
    team.ok("show", "directive:acme/work/top")
    team.ok("ci")


def test_a_file_whose_path_is_the_id_is_not_taken_for_it(registry: Registry, team: Person) -> None:
    team.write("acme/work/top", directive("work/top", hooks=HOOKS))
    for victim in (clone(registry, team), team):
        for command in (("render",), ("facts",), ("permissions", "show")):
            assert victim.run(*command, "acme/work/top", "--json").error["code"] == "shadows-installed"
        victim.ok("show", "./acme/work/top", "--kind", "directive")


def test_own_items_with_names_of_their_own_work_as_before(team: Person) -> None:
    """This includes one with the short name of an installed item: it is a different item."""
    put_own(team, "work/mine")
    put_own(team, "work/top")
    assert set(codes(team, *INSTALLING, *READING, ("render", "work/mine")).values()) == {"ok"}
    shown = team.ok("show", "work/top", "--json")
    assert shown.json["space"] == "project"
    assert "the installed directive:acme/work/top has the same short name" in shown.stderr
    assert "installed" not in team.ok("show", ".ai/directives/work/top.md").stderr
    assert {row["state"] for row in team.ok("list", "--json").json["items"]} == {"ok"}
