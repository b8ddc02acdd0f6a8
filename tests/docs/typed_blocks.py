"""Blocks of the documentation below ``<!-- typed: NAME -->``: what a person types there, for the tests that type it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.docs.page_commands import blocks

DOCS = Path(__file__).resolve().parents[2] / "docs"


def typed(page: str, name: str, real: Mapping[str, str] | None = None) -> Iterator[tuple[str, list[str]]]:
    """Program and words of each command, in page order.

    ``page``: below ``docs``. ``real``: texts of the page, and their replacements.
    """
    (block,) = [block for block in blocks((DOCS / page).read_text("utf-8")) if block.mark == f"typed: {name}"]
    for command in block.commands:
        for shown, meant in (real or {}).items():
            command = command.replace(shown, meant)
        program, *words = shlex.split(command)
        yield program, words
