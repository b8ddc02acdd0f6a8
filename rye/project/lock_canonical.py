"""A fast reader for locks that are exactly as rye writes them; whatever else a lock holds is left to the TOML reader.

The text must match, line by line, what :func:`rye.project.lock.lock_text` writes, with strings that need no escapes. Every such
text is TOML that means the same, so nothing is read here that the TOML reader would read otherwise (a property test), and
a reader that was a hundred times as fast for a thousand items is worth a second grammar. All checks of the values follow as ever.
"""

from __future__ import annotations

import re
from typing import Any

_TEXT = r'"[^"\\\x00-\x1f\x7f]*"'
_TEXTS = (
    "groups|dependencies|capabilities|agent-tools|agent-limits|approved|approved-tools|approved-limits|approved-facts"
)
_RUNS = "runs|approved-runs"
_RUN = rf"\{{ what = {_TEXT}, where = {_TEXT}, action = {_TEXT}, sha256 = {_TEXT} \}}"
_ITEM = re.compile(
    rf"""kind = ({_TEXT})
id = ({_TEXT})
version = ({_TEXT})
size = (0|[1-9][0-9]{{0,17}})
sha256 = ({_TEXT})
suffix = ({_TEXT})
registry = ({_TEXT})
log = (0|[1-9][0-9]{{0,17}})
keyset = (0|[1-9][0-9]{{0,17}})
signer = ({_TEXT})
(?:forced = ({_TEXT})
)?((?:(?:{_TEXTS}) = \[
(?:  {_TEXT},
)+|(?:{_RUNS}) = \[
(?:  {_RUN},
)+)\]
)*"""
)
_LIST = re.compile(rf"({_TEXTS}) = \[\n((?:  {_TEXT},\n)+)\]\n|({_RUNS}) = \[\n((?:  {_RUN},\n)+)\]\n")
_RUN_ROW = re.compile(rf"  {_RUN.replace(_TEXT, f'({_TEXT})')},\n")
_WANTED = re.compile(rf"\[wanted\]\n((?:{_TEXT} = {_TEXT}\n)+)\n?")
_PAIR = re.compile(rf"({_TEXT}) = ({_TEXT})\n")
_HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
_NAMES = ("kind", "id", "version", "size", "sha256", "suffix", "registry", "log", "keyset", "signer")
_NUMBERS = ("size", "log", "keyset")


def read_canonical(text: str) -> dict[str, Any] | None:
    """The same table as ``tomllib.loads(text)``; None when the text is not of this form."""
    if not text.startswith(_HEAD) or "\\" in text or "\r" in text:
        return None
    head, *chunks = text[len(_HEAD) :].split("\n[[item]]\n")
    table: dict[str, Any] = {"version": 1}
    head = f"{head}\n" if chunks else head
    if head not in ("", "\n"):
        found = _WANTED.fullmatch(head.removeprefix("\n")) if head.startswith("\n") else None
        if found is None:
            return None
        pairs = _PAIR.findall(found[1])
        wanted = {key[1:-1]: value[1:-1] for key, value in pairs}
        if len(wanted) != len(pairs):
            return None
        table["wanted"] = wanted
    items = [_item(chunk if chunk.endswith("\n") else f"{chunk}\n") for chunk in chunks]
    if None in items:
        return None
    if items:
        table["item"] = items
    return table


def _item(chunk: str) -> dict[str, Any] | None:
    found = _ITEM.fullmatch(chunk)
    if found is None:
        return None
    row: dict[str, Any] = {}
    for name, value in zip(_NAMES, found.groups(), strict=False):
        row[name] = int(value) if name in _NUMBERS else value[1:-1]
    if found[11] is not None:
        row["forced"] = found[11][1:-1]
    for name, lines, runs, rows in _LIST.findall(chunk, max(found.end(10), found.end(11))):
        if (name or runs) in row:
            return None
        if runs:
            row[runs] = [
                {"what": what[1:-1], "where": where[1:-1], "action": action[1:-1], "sha256": sha256[1:-1]}
                for what, where, action, sha256 in _RUN_ROW.findall(rows)
            ]
        else:
            row[name] = [line[3:-2] for line in lines.split("\n")[:-1]]
    return row
