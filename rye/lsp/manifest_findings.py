"""Reports the error in a rye.toml with its position: the parser's message names the line or the key."""

from __future__ import annotations

import re

from rye.errors import RyeError
from rye.project.manifest import parse_manifest
from rye.text.diagnostics import Diagnostic

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|\[([A-Za-z][\w.-]*)\]")


def manifest_findings(text: str) -> tuple[Diagnostic, ...]:
    """Return the error of a manifest, if it has one; the parser stops at the first."""
    try:
        parse_manifest(text.replace("\r\n", "\n"))
    except RyeError as error:
        line, column = _place(text, error.message)
        message = error.message.removeprefix("rye.toml: ")
        return (Diagnostic("error", error.code, message, line, column, error.hint),)
    return ()


def _place(text: str, message: str) -> tuple[int | None, int | None]:
    said = _PLACE.search(message)
    if said is not None:
        return int(said[1]), int(said[2])
    plain = text.replace("\r\n", "\n").removeprefix("\ufeff")
    words = [next(filter(None, groups)) for groups in _QUOTED.findall(message)]
    for word in words:
        found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", plain)
        if found is not None:
            return plain.count("\n", 0, found.start()) + 1, found.start() - plain.rfind("\n", 0, found.start())
    return None, None
