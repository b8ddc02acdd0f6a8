"""docs/reference/commands matches the help of each command."""

from __future__ import annotations

from pathlib import Path

from rye.cli.main import COMMANDS
from tests.docs.command_pages import INDEX, pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "commands"


def test_the_pages_are_as_the_commands_make_them() -> None:
    written = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert written == dict(pages()), "run `make command-pages`"


def test_every_command_has_a_place() -> None:
    made = pages()
    assert all(f"[`rye {name}`](" in made[INDEX] for name in COMMANDS)
    text = "".join(made.values())
    assert all(f"\n## rye {name}\n" in text for name in COMMANDS)
    assert "### rye namespace keys" in text
