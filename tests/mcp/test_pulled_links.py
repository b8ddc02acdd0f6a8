"""A server that runs while a pull puts something else in the place of an item's file: nothing is read through a link, and nothing
waits for a pipe (docs/reference/attacks-repositories.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.workspace.items.effective_item import effective_item
from tests.mcp.sessions import SHIP, Caller, own_directive, own_knowledge, own_tool, play, project_with_key
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import knowledge
from tests.scenes.person import Person

SECRET = "token-of-the-user"
NOTE, TOOL = "knowledge/notes/style.md", "tools/fs/write.py"
LOAD = {"item_type": "knowledge", "item_id": "acme/notes/style"}
EXECUTE = {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = project_with_key(tmp_path)
    own_directive(made, "work/ship", SHIP)
    own_knowledge(made, "style")
    own_tool(made, "fs/write")
    made.write(".env", f"API={SECRET}\n")
    return made


def link_out(person: Person, place: Path) -> None:
    place.unlink()
    place.symlink_to(os.path.relpath(person.path(".env"), place.parent))


def link_elsewhere(person: Person, place: Path) -> None:
    """A link to a file outside of the project."""
    there = person.home / "there.md"
    there.write_text(SECRET)
    place.unlink()
    place.symlink_to(there)


def folder_link(person: Person, place: Path) -> None:
    """A link in the place of a folder above the file."""
    there = person.home / "there"
    place.parent.rename(person.home / "gone")
    there.mkdir()
    (there / place.name).write_text(SECRET)
    place.parent.symlink_to(there)


def same_bytes(person: Person, place: Path) -> None:
    """A link to the file's own bytes, whose signature holds."""
    there = person.home / "moved"
    place.rename(there)
    place.symlink_to(there)


def link_to_folder(person: Person, place: Path) -> None:
    """A link to a folder that has a main file."""
    there = person.home / "skill"
    there.mkdir()
    (there / "SKILL.md").write_text(SECRET)
    place.unlink()
    place.symlink_to(there)


def pipe(person: Person, place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


CHANGES = [link_out, link_elsewhere, folder_link, same_bytes, link_to_folder, pipe]


@pytest.mark.parametrize("change", rest_thorough(3, CHANGES))
def test_a_server_that_runs_already_reads_nothing_through_it(
    person: Person, change: Callable[[Person, Path], None]
) -> None:
    async def story(caller: Caller) -> None:
        assert "style" in str((await caller.ok("rye_load", **LOAD))["text"])
        change(person, person.path(f".ai/{NOTE}"))
        for _ in range(2):
            error = await caller.error("rye_load", **LOAD)
            assert SECRET not in str(error)
            assert error["code"] in ("untrusted", "not-installed")

    play(person, story)


@pytest.mark.parametrize("change", [same_bytes, pipe])
def test_a_server_that_runs_already_executes_no_tool_through_it(
    person: Person, change: Callable[[Person, Path], None]
) -> None:
    async def story(caller: Caller) -> None:
        await caller.ok("rye_execute", **EXECUTE)
        change(person, person.path(f".ai/{TOOL}"))
        assert (await caller.error("rye_execute", **EXECUTE))["code"] in ("untrusted", "not-installed")

    play(person, story)


@pytest.mark.parametrize("change", [link_out, folder_link, same_bytes])
@pytest.mark.parametrize("name", [f".ai/{NOTE}", f"./.ai/keys/../{NOTE}"])
def test_nor_does_a_command_that_names_the_file(
    person: Person, change: Callable[[Person, Path], None], name: str
) -> None:
    person.path(".ai/keys").mkdir(exist_ok=True)
    assert "style" in (effective_item(person.library, name).item.text or "")
    change(person, person.path(f".ai/{NOTE}"))
    with pytest.raises(RyeError) as raised:
        effective_item(person.library, name)
    assert raised.value.code == "not-a-file"
    assert "symbolic link" in raised.value.message


def test_a_link_in_the_users_own_items_is_not_followed_either(person: Person) -> None:
    space = person.folders.user_space
    place = space / "knowledge/notes/own.md"
    place.parent.mkdir(parents=True)
    place.write_text(knowledge("own"))

    async def story(caller: Caller) -> None:
        asked = {"item_type": "knowledge", "item_id": "notes/own"}
        assert (await caller.ok("rye_load", **asked))["text"]
        link_elsewhere(person, place)
        assert SECRET not in str(await caller.error("rye_load", **asked))

    play(person, story, as_=None)
