"""A directive that names what is not installed: every command says it, and none of them fails for it."""

from __future__ import annotations

import pytest

from tests.scenes.directive_text import directive
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

CODE = "absent-item"
COUNT = "absent/text/count"
RIGHTS = "<execute><tool>absent.text.count</tool></execute>"
TOOL = '''"""Counts."""

__version__ = "1.0.0"
__category__ = "text"
__tool_description__ = "Count words"


def execute(params: dict) -> dict:
    return {}
'''


@pytest.fixture(scope="module")
def author(registry: Registry) -> Person:
    """``work/clean`` calls ``text/count``, which it does not depend on; ``work/any`` has a right with a pattern only."""
    acme = registry.owner("absent")
    acme.sign("directives/work/clean.md", directive("work/clean", "1.0.0", permissions=RIGHTS))
    acme.sign("directives/work/any.md", directive("work/any", "1.0.0", permissions=RIGHTS.replace("text.count", "*")))
    said = acme.ok("publish", ".ai/directives/work/clean.md", "--dry-run").stderr
    assert f"tool:{COUNT}, which is not installed" in said
    acme.publish(".ai/directives/work/clean.md")
    acme.publish(".ai/directives/work/any.md")
    acme.sign("tools/text/count.py", TOOL)
    acme.publish(".ai/tools/text/count.py")
    assert "not installed" not in acme.run("validate").stderr
    return acme


def codes(person: Person) -> list[str]:
    return [one["rule"] for one in person.run("audit", "--json").json["findings"]]


def test_add_says_it_and_adding_both_says_nothing(registry: Registry, author: Person) -> None:
    user = registry.user()
    said = user.ok("add", "absent/work/clean", "--yes").stderr
    assert (
        f"directive:absent/work/clean 1.0.0 has a right for tool:{COUNT}, which is not installed (`rye add tool:{COUNT}`)"
        in said
    )
    assert "which is not installed" not in user.ok("install").stderr  # nothing changed
    both = registry.user()
    done = both.ok("add", "absent/work/clean", f"tool:{COUNT}", "--yes", "--json")
    assert done.json["warnings"] == []


def test_add_says_it_in_json_and_in_a_dry_run_and_keeps_its_exit_code(registry: Registry, author: Person) -> None:
    user = registry.user()
    for options in (("--dry-run",), ()):
        (warning,) = user.ok("add", "absent/work/clean", "--yes", "--json", *options).json["warnings"]
        assert f"tool:{COUNT}, which is not installed" in warning


def test_an_item_that_is_here_already_is_not_missed(registry: Registry, author: Person) -> None:
    """Installed, the project's own, or provided by the agent program."""
    installed, own, provided = registry.user(), registry.user(), registry.user()
    installed.ok("add", f"tool:{COUNT}", "--yes")
    manifest = own.path("rye.toml").read_text()
    own.write("rye.toml", manifest.replace("[project]", '[project]\nnamespace = "absent"', 1))
    own.write(".ai/tools/text/count.py", TOOL)
    provided.write("rye.toml", f'{provided.path("rye.toml").read_text()}\n[environment]\nprovides = ["tool:{COUNT}"]\n')
    for user in (installed, own, provided):
        assert user.ok("add", "absent/work/clean", "--yes", "--json").json["warnings"] == []


def test_an_update_says_what_the_new_version_names(registry: Registry, author: Person) -> None:
    author.sign("directives/work/grows.md", directive("work/grows", "1.0.0"))
    author.publish(".ai/directives/work/grows.md")
    user = registry.user()
    assert user.ok("add", "absent/work/grows", "--yes", "--json").json["warnings"] == []
    author.sign("directives/work/grows.md", directive("work/grows", "1.1.0", permissions=RIGHTS))
    author.publish(".ai/directives/work/grows.md")
    done = user.ok("update", "--approve", "absent/work/grows@1.1.0")
    assert f"tool:{COUNT}, which is not installed" in done.stderr


def test_an_item_of_a_source_says_it(registry: Registry, author: Person) -> None:
    user = registry.user()
    folder = user.path("upstream/.ai/directives/work")
    folder.mkdir(parents=True)
    (folder / "clean.md").write_text(directive("work/clean", "1.0.0", permissions=RIGHTS))
    done = user.ok("add", "./upstream", "--all", "--as", "theirs", "--yes")
    assert f"directive:theirs/work/clean 1.0.0 has a right for tool:{COUNT}, which is not installed (" in done.stderr


FORMULA = """formula = "release"
version = 1
extends = ["base"]

[[steps]]
id = "tag"
description = "Tag it."
"""
AGENT = """---
name: developer
whenToUse: Use it to write.
transitions:
  onSuccess: tester
metadata:
  version: 1.0.0
---

## System Prompt

Write it.
"""


@pytest.mark.parametrize(
    ("kind", "path", "text", "named"),
    [
        ("formula", "formulas/release.formula.toml", FORMULA, "is made from formula:base"),
        ("agent", "agents/developer.md", AGENT, "hands over to agent:tester"),
    ],
)
def test_other_kinds_name_items_too(
    registry: Registry, author: Person, kind: str, path: str, text: str, named: str
) -> None:
    user = registry.user()
    user.write(f"upstream/.ai/{path}", text)
    done = user.ok("add", "./upstream", "--all", "--as", "theirs", "--yes")
    verb, _, other = named.rpartition(f"{kind}:")
    full = f"{kind}:theirs/{other}"
    assert f"{verb}{full}, which is not installed (`rye add {full}`)" in done.stderr
    assert codes(user).count(CODE) == 1


def test_publish_names_what_is_here_but_no_dependency(registry: Registry, author: Person) -> None:
    """Who adds the directive does not get the tool, which only its author has."""
    said = author.ok("publish", ".ai/directives/work/clean.md", "--dry-run").stderr
    assert "depend on" not in said  # published before, so nothing new
    author.sign("directives/work/uses.md", directive("work/uses", "1.0.0", permissions=RIGHTS))
    said = author.ok("publish", ".ai/directives/work/uses.md", "--dry-run").stderr
    assert f"has a right for tool:{COUNT} and does not depend on it, so others lack it." in said
    needs = directive("work/uses", "1.0.0", permissions=RIGHTS, depends=((f"tool:{COUNT}", "^1.0"),))
    author.sign("directives/work/uses.md", needs)
    said = author.ok("publish", ".ai/directives/work/uses.md", "--dry-run").stderr
    assert "depend on" not in said
    author.path(".ai/directives/work/uses.md").unlink()


def test_deploy_audit_and_check_say_it_until_it_is_added(registry: Registry, author: Person) -> None:
    user = registry.user()
    user.ok("add", "absent/work/clean", "--yes")
    deployed = user.ok("deploy", "--target", "claude", "--yes").stderr
    assert f"tool:{COUNT}, which is not installed" in deployed
    assert f"rye add tool:{COUNT}" in deployed
    assert codes(user) == [CODE]
    assert user.ok("audit").code == 0
    assert user.run("audit", "--level", "warning").code == 1
    assert CODE in str(user.run("check", "--json").json["checks"])
    user.ok("add", f"tool:{COUNT}", "--yes")
    assert codes(user) == []


def test_a_pattern_is_no_finding(registry: Registry, author: Person) -> None:
    user = registry.user()
    user.ok("add", "absent/work/any", "--yes")
    assert codes(user) == []


def test_a_name_of_another_kind_is_absent(registry: Registry, author: Person) -> None:
    user = registry.user()
    user.ok("add", "absent/work/clean", "--yes")
    user.write(".ai/knowledge/text/count.md", "# Count\n")
    assert CODE in codes(user)
