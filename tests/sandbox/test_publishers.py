"""A grant is for the publisher whose item the user saw (DESIGN 6.1, Agreed here): an item of the same id from another registry,
source or key is another question. Keys that a namespace's keyset vouches for are one publisher."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.items.needs import NOTHING, Needs
from rye.permissions.policy_table import PolicyTable
from rye.project.lock import LockedItem, LockedSource
from rye.project.manifest import Manifest
from rye.runtime.project_items import ProjectItems
from rye.workspace.trusting.project_changes import (
    approval_in_force,
    grant_approvals,
    grants_in_force,
    published_by,
    publishers,
)
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

TOOL = "tool:text/asks"
GRANTS = f"""
[sandbox."{TOOL}"]
env = ["TOKEN"]

[policy.approval]
"rye.execute.tool.text.asks" = "allow"
"""
CODE = """__version__ = "1.0.0"
__category__ = "text"
__tool_description__ = "Tries things"


def execute(params):
    return {}
"""
ROW = LockedItem(
    kind="tool",
    id="acme/net/fetch",
    version="1.0.0",
    size=12,
    sha256="0" * 64,
    suffix=".py",
    registry="registry.example",
    keyset=1,
    signer="SHA256:a",
)
SOURCE = replace(ROW, source=LockedSource(place="run.py", path="../shared"), registry="path+../shared")
GRANT = Manifest(sandbox={str(ROW.identity): Needs(env=("TOKEN",))})


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Someone who agreed to what their own signed tool is granted."""
    made = Person(tmp_path)
    made.write("rye.toml", GRANTS)
    made.write(".ai/tools/text/asks.py", CODE)
    made.ok("keys", "generate")
    made.ok("sign")
    shown = made.terminal("trust", "project", answer=b"y\n")
    assert "env TOKEN to this project, signed by SHA256:" in shown
    return made


def in_force(person: Person) -> tuple[Needs, bool]:
    """What the tool is granted when it runs, and whether it is called without asking."""
    items = ProjectItems(person.library, person.project)
    item = items.read("tool", "text/asks", runs=True)
    manifest = items.manifest()
    rows = approval_in_force(person.library, person.project, manifest)
    return grants_in_force(person.library, person.project, manifest, TOOL, item.publisher), bool(rows)


GIVEN = (Needs(env=("TOKEN",)), True)


def test_a_tool_that_its_publisher_changed_keeps_its_grants(person: Person) -> None:
    assert in_force(person) == GIVEN
    person.write(".ai/tools/text/asks.py", CODE.replace("1.0.0", "1.1.0"))
    person.ok("sign")
    assert in_force(person) == GIVEN


def test_a_tool_that_another_trusted_key_signed_is_another_question(person: Person) -> None:
    person.ok("keys", "generate", "--name", "other")
    person.write(".ai/tools/text/asks.py", CODE)
    person.ok("sign", "--key", "other")
    assert in_force(person) == (NOTHING, False)
    person.terminal("trust", "project", answer=b"y\n")
    assert in_force(person) == GIVEN


def test_an_own_item_that_takes_the_place_of_one_of_your_space_is_another_question(person: Person) -> None:
    mine = person.folders.user_space / "tools/text/asks.py"
    mine.parent.mkdir(parents=True)
    shutil.move(person.path(".ai/tools/text/asks.py"), mine)
    assert in_force(person) == (NOTHING, False)
    person.terminal("trust", "project", answer=b"y\n")
    assert in_force(person) == GIVEN


def test_a_grant_to_a_tool_that_is_not_here_is_for_nobody_who_comes_later(tmp_path: Path) -> None:
    made = Person(tmp_path)
    made.write("rye.toml", GRANTS)
    made.terminal("trust", "project", answer=b"y\n")
    made.write(".ai/tools/text/asks.py", CODE)
    made.ok("keys", "generate")
    made.ok("sign")
    assert in_force(made) == (NOTHING, False)


@pytest.mark.parametrize(
    "other",
    [
        replace(ROW, registry="other.example"),
        SOURCE,
        replace(SOURCE, registry="path+../other"),
        replace(SOURCE, signer="SHA256:b"),
        replace(SOURCE, signer="path+../shared"),
    ],
)
def test_the_same_id_from_elsewhere_is_another_publisher(other: LockedItem) -> None:
    assert published_by(other) != published_by(ROW)
    assert other is SOURCE or published_by(other) != published_by(SOURCE)


def test_a_key_that_the_namespaces_keyset_vouches_for_is_the_same_publisher() -> None:
    assert published_by(replace(ROW, keyset=2, signer="SHA256:b", version="1.1.0")) == published_by(ROW)


def test_what_is_about_to_be_installed_is_asked_about_with_its_publisher(tmp_path: Path) -> None:
    made = Person(tmp_path)
    made.path(".ai").mkdir()
    [one] = grant_approvals(GRANT, publishers(made.folders, made.project, GRANT, [ROW]))
    assert one.text == "env TOKEN to registry.example"


def test_a_pattern_of_several_items_names_no_publisher() -> None:
    manifest = Manifest(
        policy=PolicyTable(approval={"rye.execute.tool.acme.*": "allow", "rye.execute.tool.acme.x": "allow"})
    )
    texts = [one.text for one in grant_approvals(manifest, lambda name: f"who has {name}")]
    assert texts == [
        "rye.execute.tool.acme.* = allow",
        "rye.execute.tool.acme.x = allow for who has tool:acme/x",
    ]
