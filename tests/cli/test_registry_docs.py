"""The page about copies shows commands that exist, with options that exist, and codes that the code has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from rye.cli.main import program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "mirrors.md").read_text("utf-8")
COMMANDS = sorted(set(re.findall(r"^(rye .+)$", PAGE, re.MULTILINE)))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_exists_with_its_options(line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = program()
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_there_are_commands_on_the_page() -> None:
    assert len(COMMANDS) >= 9


def test_every_code_of_the_page_is_one_of_the_program_s() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "rye" / "registry").rglob("*.py"))
    for room in ("workspace", "cli"):
        sources += "".join(path.read_text("utf-8") for path in (ROOT / "rye" / room).rglob("*.py"))
    codes = set(re.findall(r"\(`([a-z]+-[a-z-]+)`\)", PAGE))
    assert {"not-a-mirror", "mirror-busy", "bundle-old", "bundle-outdated", "bundle-other-lock"} <= codes
    for code in codes:
        assert f'"{code}"' in sources, code


def test_the_limits_of_the_page_are_the_program_s() -> None:
    from rye.limits import MIRROR

    assert MIRROR.airgap_bytes == 1024**3
    assert f"{MIRROR.airgap_files:,} files" in PAGE
    assert f"--interval {MIRROR.watch_seconds:g}" in PAGE
