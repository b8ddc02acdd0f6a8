"""Examples of codes: what goes wrong, and what does not. A test runs all of them (tests/explaining/test_examples.py).

``examples/AREA.toml`` has one table per code. Either both texts are part of a file of the small project in
``examples/project``, which has the good one as it stands (after the commands in ``first``, where there are any), and ``run`` is
the command that reads it::

    [R04]
    file = ".ai/directives/work/deploy.md"
    bad = "<model />"
    good = '<model tier="general" />'

or, without ``file``, they are commands, one a line, that are run in that project one after the other::

    [no-such-file]
    bad = "rye validate .ai/skils"
    good = "rye validate .ai/skills"

With ``registry = true`` the namespace ``acme`` is the person's own in a registry, with the project's skill published in it; the
good commands come after the bad ones.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

EXAMPLES = Path(__file__).with_name("examples")
PROJECT = EXAMPLES / "project"


class Example(Struct, frozen=True, forbid_unknown_fields=True):
    """``file``: which file of the project the texts are part of; None: they are commands."""

    bad: str
    good: str
    file: str | None = None
    first: str = ""
    """Commands, one a line, that come before the file is changed."""
    run: str | None = None
    registry: bool = False

    @property
    def shown(self) -> tuple[tuple[str, list[str]], ...]:
        """Both texts as a page or a terminal can show them: a title, and lines."""
        place = f", in {self.file}" if self.file else ""
        if self.run is not None:
            place += f", as `{self.run}` finds"
        return (f"Wrong{place}:", _visible(self.bad)), ("Right:", _visible(self.good))

    @property
    def command(self) -> str:
        """The command that reads the file."""
        return self.run or f"rye validate {self.file}"


def examples(area: str) -> Mapping[str, Example]:
    """The examples of one area, by code. Raises msgspec.ValidationError for a row that is not of its form."""
    path = EXAMPLES / f"{area}.toml"
    if not path.is_file():
        return {}
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, Example])


def _visible(text: str) -> list[str]:
    """Characters that neither a page nor a terminal shows, by their numbers."""
    shown = "".join(
        letter if letter == "\n" or letter.isprintable() else "    " if letter == "\t" else f"<U+{ord(letter):04X}>"
        for letter in text.strip("\n")
    )
    return [line.rstrip() for line in shown.split("\n")]
