"""Pages that tell a true story: every command in them is run, in order, and every output is compared.

In such a page a ``console`` block holds commands and their output. A block below ``<!-- file: PATH -->`` is what a
person saves there. Any other comment, such as ``<!-- author publishes VERSION -->``, is an event elsewhere. The page's
date is the day of the test; fingerprints, times, addresses and the Python version have stand-ins.

``RYE_WRITE_DOCS=1`` writes the outputs into the page.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from datetime import date
from pathlib import Path

from tests.scenes.person import Person

DAY = "2026-03-02"
_ADDRESS = "http://127.0.0.1:8420"
_PARTS = re.compile(
    r"<!-- file: (?P<path>\S+) -->\n(?P<fence>`{3,})\w*\n(?P<content>.*?)^(?P=fence)$"
    r"|<!-- (?P<event>[^\n]+) -->"
    r"|^```console\n(?P<console>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_STAND_INS = (
    (re.compile(r"SHA256:[A-Za-z0-9+/]{20,}"), "SHA256:…"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "9f1c…"),
    (re.compile(r"(?<=sha256 )[0-9a-f]{32}\b"), "9f1c…"),
    (re.compile(r"(?:(?<=key id       )|(?<=\.ai/keys/))[0-9a-f]{16}"), "202d3091d496f75f"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-03-02T09:00:00Z"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), _ADDRESS),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.12.1"),
)


def check(page: Path, user: Person, happens: Callable[[str], None], address: str = _ADDRESS) -> None:
    """Play the page as ``user``; ``happens`` is called with each other event. Fails if the page is wrong.

    ``address``: of the registry, for the files in which the page has its stand-in.
    """
    text = page.read_text(encoding="utf-8")
    real = _played(text, user, happens, address)
    if os.environ.get("RYE_WRITE_DOCS"):
        page.write_text(real, encoding="utf-8")
    assert real == text


def commands(page: Path) -> list[str]:
    """The subcommand of each typed line."""
    return [line.split()[2] for line in page.read_text("utf-8").splitlines() if line.startswith("$ rye ")]


def _typed(user: Person, line: str) -> str:
    """What a command prints on a terminal; ``> FILE`` sends its output to a file."""
    words = shlex.split(line.replace(DAY, date.today().isoformat()))
    assert words[0] == "rye", line
    target = None
    if len(words) > 2 and words[-2] == ">":
        words, target = words[:-2], user.folder / words[-1]
    done = user.spawn(*words[1:], env={"CI": "1", "COLUMNS": "100"}, together=target is None)
    if target is not None:
        target.write_text(done.stdout, "utf-8")
    shown = done.stdout if target is None else done.stderr
    for place, name in (
        (f"{user.folder}/", ""),
        (f"{user.home}/ai/", "~/.ai/"),
        (f"{user.home}/config/", "~/.config/rye/"),
    ):
        shown = shown.replace(place, name)
    shown = shown.replace(date.today().isoformat(), DAY)
    for pattern, stand_in in _STAND_INS:
        shown = pattern.sub(stand_in, shown)
    assert "Traceback" not in shown
    return shown


def _played(page: str, user: Person, happens: Callable[[str], None], address: str) -> str:
    """The page with the real output of its commands."""

    def play(part: re.Match[str]) -> str:
        if part["event"] is not None:
            happens(part["event"])
        elif part["path"] is not None:
            content = part["content"].replace(DAY, date.today().isoformat()).replace(_ADDRESS, address)
            user.write(part["path"], content)
        else:
            lines = [line for line in part["console"].splitlines() if line.startswith("$ ")]
            return "```console\n" + "".join(f"{line}\n{_typed(user, line[2:])}" for line in lines) + "```"
        return part[0]

    return _PARTS.sub(play, page)
