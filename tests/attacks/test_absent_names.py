"""A name in a text that no item has: a stranger who takes the name gets nothing without a person's consent, and a run never looks
for it anywhere but among what is installed (docs/explanation/runtime.md)."""

from __future__ import annotations

import pytest

from rye.runtime.calls import CallError
from tests.mcp.sessions import opened, own_directive, tool
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

ID = "ghost/fs/wipe"
CALL = {"item_type": "tool", "item_id": ID, "parameters": {}}
RIGHT = f"<execute><tool>{ID.replace('/', '.')}</tool></execute>"


@pytest.fixture
def user(registry: Registry) -> Person:
    """Someone whose own directive has a right for a tool that nobody has published."""
    person = registry.user()
    person.ok("keys", "generate")
    own_directive(person, "work/ship", RIGHT)
    return person


def answer(person: Person) -> str:
    """What the run says of the call: the error's code, or ``allowed``."""
    run, code = opened(person, "work/ship"), "allowed"
    try:
        run.session.act("rye_execute", {**CALL, "dry_run": True})
    except CallError as error:
        code = error.code if f"rye add tool:{ID}" in str(error.hint) else f"{error.code} without the command"
    finally:
        run.session.close()
    return code


def stranger(registry: Registry) -> Person:
    """Someone who takes the name, with the same id."""
    person = registry.owner("ghost")
    person.sign("tools/fs/wipe.py", tool("fs/wipe"))
    person.publish(".ai/tools/fs/wipe.py")
    return person


def test_a_stranger_who_takes_the_name_is_run_only_after_consent(registry: Registry, user: Person) -> None:
    assert answer(user) == "not-installed"
    stranger(registry)
    before = user.path("rye.lock").read_bytes() if user.path("rye.lock").exists() else None
    assert answer(user) == "not-installed", "the registry has it now, and a run does not look there"
    refused = user.run("add", f"tool:{ID}", "--json")
    assert (refused.code, refused.error["code"]) == (1, "consent-needed")
    assert "ghost" in str(refused.error)
    assert answer(user) == "not-installed"
    assert before == (user.path("rye.lock").read_bytes() if user.path("rye.lock").exists() else None)
    user.ok("add", f"tool:{ID}", "--yes")
    assert answer(user) == "allowed"


@pytest.mark.parametrize(
    "place",
    [
        "tools/fs/wipe.py",  # the same local id, in the project's own namespace
        "tools/wipe.py",  # the same bare name
        "tools/ghost/fs/wipe-all.py",
        "packages/ghost/tools/fs/wipe.py",  # not in rye.lock
    ],
)
def test_a_file_with_a_name_like_it_is_not_run_in_its_place(user: Person, place: str) -> None:
    user.write(f".ai/{place}", tool("fs/wipe"))
    if not place.startswith("packages/"):
        user.ok("sign", f".ai/{place}")
    run = opened(user, "work/ship")
    with pytest.raises(CallError) as caught:
        run.session.act("rye_execute", {**CALL, "dry_run": True})
    run.session.close()
    assert caught.value.code in ("not-installed", "untrusted")


def test_the_very_item_of_the_project_is_run(user: Person) -> None:
    """The control: the user's own signed tool of that id."""
    user.write("rye.toml", user.path("rye.toml").read_text().replace("[project]", '[project]\nnamespace = "ghost"', 1))
    user.write(".ai/tools/fs/wipe.py", tool("fs/wipe"))
    user.ok("sign", ".ai/tools/fs/wipe.py")
    run = opened(user, "ghost/work/ship")
    assert run.session.act("rye_execute", {**CALL, "dry_run": True})["dry_run"] is True
    run.session.close()
