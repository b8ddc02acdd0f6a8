"""A fast reader for locks that are exactly as rye writes them; whatever else a lock holds is left to the TOML reader.

The text must match, line by line, what :func:`rye.project.lock.lock_text` writes, with strings that need no escapes. Every such
text is TOML that means the same, so nothing is read here that the TOML reader would read otherwise (a property test), and
a reader that was a hundred times as fast for a thousand items is worth a second grammar. All checks of the values follow as ever.
"""

from __future__ import annotations

from typing import Any

from rye.text.lazy_pattern import lazy_pattern

_HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
_ITEM = lazy_pattern(
    r"""kind = "([^"\n]*)"
id = "([^"\n]*)"
version = "([^"\n]*)"
size = (0|[1-9][0-9]{0,17})
sha256 = "([^"\n]*)"
suffix = "([^"\n]*)"
registry = "([^"\n]*)"
log = (0|[1-9][0-9]{0,17})
keyset = (0|[1-9][0-9]{0,17})
signer = "([^"\n]*)"
(?:forced = "([^"\n]*)"
)?"""
)
_NAMES = ("kind", "id", "version", "size", "sha256", "suffix", "registry", "log", "keyset", "signer")
_TEXTS = frozenset(
    (
        "groups",
        "dependencies",
        "capabilities",
        "agent-tools",
        "agent-limits",
        "approved",
        "approved-tools",
        "approved-limits",
        "approved-facts",
    )
)
_RUNS = frozenset(("runs", "approved-runs"))
_RUN_KEYS = ("what", "where", "action", "sha256")
_RUN_BETWEEN = ["  { what = ", ", where = ", ", action = ", ", sha256 = ", " },"]


def read_canonical(text: str) -> dict[str, Any] | None:
    """The same table as ``tomllib.loads(text)``; None when the text is not of this form."""
    if not text.startswith(_HEAD) or "\\" in text or not text.replace("\n", "").isprintable():
        return None
    head, *chunks = text[len(_HEAD) :].split("\n[[item]]\n")
    table: dict[str, Any] = {"version": 1}
    head = f"{head}\n" if chunks else head
    if head not in ("", "\n"):
        wanted = _wanted(head)
        if wanted is None:
            return None
        table["wanted"] = wanted
    items = [_item(chunk if chunk.endswith("\n") else f"{chunk}\n") for chunk in chunks]
    if None in items:
        return None
    if items:
        table["item"] = items
    return table


def _wanted(head: str) -> dict[str, str] | None:
    if not head.startswith("\n[wanted]\n") or not head.endswith("\n"):
        return None
    found: dict[str, str] = {}
    for line in head.removeprefix("\n[wanted]\n").removesuffix("\n").removesuffix("\n").split("\n"):
        parts = line.split('"')
        if len(parts) != 5 or parts[0::2] != ["", " = ", ""] or parts[1] in found:
            return None
        found[parts[1]] = parts[3]
    return found


def _item(chunk: str) -> dict[str, Any] | None:
    found = _ITEM.match(chunk)
    if found is None:
        return None
    *values, forced = found.groups()
    row: dict[str, Any] = dict(zip(_NAMES, values, strict=True))
    row["size"], row["log"], row["keyset"] = int(row["size"]), int(row["log"]), int(row["keyset"])
    if forced is not None:
        row["forced"] = forced
    return row if _read_lists(chunk[found.end() :].split("\n"), row) else None


def _read_lists(lines: list[str], row: dict[str, Any]) -> bool:
    """Add the lists that these lines hold to the row; whether they hold nothing else, none of them twice and none empty."""
    at, end = 0, len(lines) - 1
    while at < end:
        name = lines[at].removesuffix(" = [")
        read = _text if name in _TEXTS else _run if name in _RUNS else None
        if read is None or name == lines[at] or name in row:
            return False
        at += 1
        begun = at
        values: list[Any] = []
        while lines[at] != "]":  # the last line is empty, which neither reader takes
            value = read(lines[at])
            if value is None:
                return False
            values.append(value)
            at += 1
        if at == begun:
            return False
        row[name] = values
        at += 1
    return lines[end] == ""


def _text(line: str) -> str | None:
    return line[3:-2] if line.startswith('  "') and line.endswith('",') and line.count('"') == 2 else None


def _run(line: str) -> dict[str, str] | None:
    parts = line.split('"')
    return dict(zip(_RUN_KEYS, parts[1::2], strict=True)) if parts[0::2] == _RUN_BETWEEN else None
