"""``--trust-lock``, before or behind the command, and ``RYE_TRUST_LOCK=1`` are the same for every command (docs/how-to/ci.md)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rye.cli.main import COMMANDS, program
from tests.cli.test_claims import clone
from tests.scenes.directive_text import SHELL
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person, Result
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

ITEM = "acme/work/keeps"
WORDS: dict[str, tuple[str, ...]] = {
    "add": ("acme/work/later", "--yes"),
    "approve": ("last", "1"),
    "audit": ("--level", "warning"),
    "deploy": ("--target", "claude"),
    "diff": (ITEM,),
    "facts": (ITEM,),
    "hooks approve": (ITEM, "--yes"),
    "hooks list": (ITEM,),
    "info": (ITEM,),
    "mcp config": ("claude",),
    "mcp serve": ("--as", ITEM),
    "override new": (ITEM,),
    "permissions check": (ITEM, "execute", "tool", "shell/run"),
    "permissions show": (ITEM,),
    "prime": ("reviewer",),
    "publish": ("--dry-run",),
    "remove": (ITEM,),
    "render": (ITEM,),
    "run": (ITEM,),
    "runs show": ("last",),
    "show": (ITEM,),
    "undeploy": ("--all",),
    "why": (ITEM,),
}
"""What is typed behind a command so that it does something. The others are run bare; many then say what they need."""
READS = ("ci", "install", "update", *(name.partition(" ")[0] for name in WORDS))
"""Commands that do something with the lock here."""
ENDLESS = {
    "demo": ("--no-such-option",),
    "log watch": ("--no-such-option",),
    "login": ("--no-such-option",),
    "registry serve": ("--no-such-option",),
}
"""Commands that would go on: a wrong option shows where the right one was understood."""
VARIES = re.compile(
    r"\b01[0-9A-Z]{24}\b|SHA256:[\w+/=-]+|"
    r"\b[0-9a-f]{16,}\b|\d+[:.]\d\d[:.]\d\d\S*|\d\d\d\d-\d\d-\d\d\S*|127\.0\.0\.1:\d+|\d+ (ms|s)\b"
)
"""New keys, runs, times and ports."""


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command without commands below it."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, (*path, name))


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/keeps", permissions=SHELL)
    author.release("work/later")
    return author


@pytest.fixture(scope="module")
def other(registry: Registry, acme: Person, tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, Path]:
    """A colleague who cloned the project and agreed to nothing, and a copy of what they have."""
    team = registry.user()
    team.ok("add", ITEM, "--yes")
    team.ok("deploy", "--target", "claude")
    cloned = clone(registry, team, trusts=False)
    kept = tmp_path_factory.mktemp("kept")
    shutil.copytree(cloned.folder, kept / "folder")
    shutil.copytree(cloned.home, kept / "home")
    return cloned, kept


def run_afresh(
    other: tuple[Person, Path], *words: str, env: dict[str, str] | None = None
) -> tuple[int, str, list[str]]:
    """Run in the clone as it was; return the exit code, what was said, and the project's files."""
    person, kept = other
    for folder, copy in ((person.folder, kept / "folder"), (person.home, kept / "home")):
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
    result: Result = person.run(*words, env=env)
    files = sorted(path.relative_to(person.folder).as_posix() for path in person.folder.rglob("*"))
    return result.code, VARIES.sub("…", result.stdout + result.stderr), files


@pytest.mark.parametrize("name", rest_thorough(4, sorted(COMMANDS, key=lambda name: (name not in READS, name))))
def test_every_command_takes_the_option_in_both_places_and_the_variable_alike(
    other: tuple[Person, Path], name: str
) -> None:
    command = program().get_command(click.Context(program()), name)
    assert command is not None
    for path in leaves(command, (name,)):
        words = (*path, *{**WORDS, **ENDLESS}.get(" ".join(path), ()))
        variable = run_afresh(other, *words, env={"RYE_TRUST_LOCK": "1"})
        assert run_afresh(other, "--trust-lock", *words) == variable, words
        assert run_afresh(other, *words, "--trust-lock") == variable, words
        assert "no such option: --trust-lock" not in variable[1].lower()


@pytest.mark.parametrize(
    "words",
    [
        ("ci",),
        ("install",),
        ("deploy", "--target", "claude"),
        ("render", ITEM),
        ("permissions", "check", ITEM, "execute", "tool", "shell/run"),
    ],
    ids=lambda words: words[0],
)
def test_without_either_the_same_command_stops(other: tuple[Person, Path], words: tuple[str, ...]) -> None:
    """The control: what the option allows is not allowed anyway."""
    code, said, _ = run_afresh(other, *words)
    assert code == 1
    assert "agreed" in said or "denied" in said
    assert run_afresh(other, *words, "--trust-lock")[0] == 0
