"""Examples of codes: one that fails and one that works. A test runs all of them (tests/explaining/test_examples.py).

``examples/AREA.toml`` has one table per code. Either both texts are parts of a file in the small project ``examples/project``. It
contains the good text (after the commands in ``first``, if there are any), and ``run`` is the command that reads it::

    [R04]
    file = ".ai/directives/work/deploy.md"
    bad = "<model />"
    good = '<model tier="general" />'

Or, without ``file``, they are commands, one per line, that run in that project one after another::

    [no-such-file]
    bad = "rye validate .ai/skils"
    good = "rye validate .ai/skills"

The examples of a code that several things share have a table each, whose name is the code and the thing::

    ["already-exists project"]
    bad = "rye init"

With ``registry = true``, the user owns the namespace ``acme`` in a registry and has published the project's skill there; the good
commands run after the bad ones.
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
    """``file``: the file of the project that contains the texts; None: they are commands."""

    bad: str
    good: str
    file: str | None = None
    first: str = ""
    """Commands, one per line, that run before the file is changed."""
    run: str | None = None
    registry: bool = False

    @property
    def shown(self) -> tuple[tuple[str, list[str]], ...]:
        """Both texts as a page or terminal shows them: a title and lines."""
        place = f", in {self.file}" if self.file else ""
        if self.run is not None:
            place += f", as `{self.run}` finds"
        return (f"Wrong{place}:", _visible(self.bad)), ("Right:", _visible(self.good))

    @property
    def command(self) -> str:
        """The command that reads the file."""
        return self.run or f"rye validate {self.file}"


def examples(area: str) -> Mapping[str, Example]:
    """Return the examples of one area by the names of their tables: ``CODE``, or ``CODE WHAT``.

    Raises msgspec.ValidationError for a malformed row.
    """
    path = EXAMPLES / f"{area}.toml"
    if not path.is_file():
        return {}
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, Example])


def code_of(name: str) -> str:
    """The code of the example in the table with this name."""
    return name.partition(" ")[0]


def example_of(written: Mapping[str, Example], code: str, what: str | None = None) -> Example | None:
    """The example of a code in one area: the one about ``what``; if nothing is named, the first."""
    names = [f"{code} {what}", code] if what else [name for name in written if code_of(name) == code]
    return next((written[name] for name in names if name in written), None)


def _visible(text: str) -> list[str]:
    """The lines, with characters that pages and terminals do not show replaced by their code points."""
    shown = "".join(
        letter if letter == "\n" or letter.isprintable() else "    " if letter == "\t" else f"<U+{ord(letter):04X}>"
        for letter in text.strip("\n")
    )
    return [line.rstrip() for line in shown.split("\n")]
