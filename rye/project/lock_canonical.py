"""A fast reader for locks that are exactly as rye writes them. All other locks go to the TOML reader.

The text must match, line by line, what :func:`rye.project.lock.lock_text` writes, with strings that need no escapes.
Every such text is TOML with the same meaning, so both readers agree (a property test checks this). Reading a
thousand items is a hundred times faster, which is worth a second grammar. The values are still checked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rye.consent.ask import Key
from rye.consent.sorts import lock_keys

_HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
_HEADS = "\n[heads]\n"
_PLAIN = bytes((0x0A, *range(0x20, 0x7F)))
_BETWEEN = '",\n  "'
_TEXTS = ("groups", "dependencies", "capabilities", "agent-tools", "agent-limits")
_RUN_KEYS = ("what", "where", "action", "sha256")
_AROUND_RUN = ["  { what = ", ", where = ", ", action = ", ", sha256 = ", " },"]
_AROUND = ["kind = ", "\nid = ", "\nversion = ", "\nsuffix = ", "\nregistry = "]
"""What stands before the texts of a row that follow a text."""
_MOST_DIGITS = 18


def read_canonical(text: str) -> dict[str, Any] | None:
    """Return the same table as ``tomllib.loads(text)``; None if the text is not in this form."""
    if not text.startswith(_HEAD) or "\\" in text or not _is_plain(text):
        return None
    head, *chunks = text[len(_HEAD) :].split("\n[[item]]\n")
    table: dict[str, Any] = {"version": 1}
    head = f"{head}\n" if chunks else head
    head, mark, heads = head.partition(_HEADS)
    if mark:
        table["heads"] = found = _heads(heads)
        if found is None or (head and not head.endswith("\n")):
            return None
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


def _is_plain(text: str) -> bool:
    """Whether every character except line ends is printable."""
    return not text.encode().translate(None, _PLAIN) if text.isascii() else text.replace("\n", "").isprintable()


def _wanted(head: str) -> dict[str, str] | None:
    if not head.startswith("\n[wanted]\n"):
        return None
    wanted: dict[str, str] = {}
    for line in head.removeprefix("\n[wanted]\n").removesuffix("\n").removesuffix("\n").split("\n"):
        parts = line.split('"')
        if len(parts) != 5 or parts[0::2] != ["", " = ", ""] or parts[1] in wanted:
            return None
        wanted[parts[1]] = parts[3]
    return wanted


def _heads(text: str) -> dict[str, list[str]] | None:
    """The tables of lines: ``"origin" = [``, lines of text, ``]``, and an empty line at the end."""
    heads: dict[str, list[str]] = {}
    lines = text.removesuffix("\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    current: list[str] | None = None
    for line in lines:
        if current is None:
            parts = line.split('"')
            if len(parts) != 3 or parts[0] or parts[2] != " = [" or parts[1] in heads:
                return None
            current = heads[parts[1]] = []
        elif line == "]" and current:
            current = None
        elif line.startswith('  "') and line.endswith('",') and '"' not in line[3:-2] and len(line) >= 5:
            current.append(line[3:-2])
        else:
            return None
    return heads if heads and current is None else None


def _item(chunk: str) -> dict[str, Any] | None:
    """Split a row at its quotation marks: every second part is a text, and what stands between them is known."""
    parts = chunk.split('"', 14)
    if len(parts) != 15 or [*parts[0:5:2], *parts[8:11:2]] != _AROUND or not parts[14].startswith("\n"):
        return None
    log, _, keyset = parts[12].partition("\nkeyset = ")
    size = _number(parts[6], "\nsize = ", "\nsha256 = ")
    position = _number(log, "\nlog = ", "")
    number = _number(keyset, "", "\nsigner = ")
    texts = parts[1:14:2]
    if size is None or position is None or number is None or "\n" in "".join(texts):
        return None
    kind, name, version, sha256, suffix, registry, signer = texts
    row: dict[str, Any] = {
        "kind": kind,
        "id": name,
        "version": version,
        "size": size,
        "sha256": sha256,
        "suffix": suffix,
        "registry": registry,
        "log": position,
        "keyset": number,
        "signer": signer,
    }
    rest = parts[14][1:]
    if rest.startswith('forced = "'):
        forced, _, rest = rest.removeprefix('forced = "').partition('"\n')
        if '"' in forced or "\n" in forced:  # an unclosed text runs to the end of the row, which is a line end
            return None
        row["forced"] = forced
    return _with_lists(row, rest)


def _number(text: str, before: str, after: str) -> int | None:
    """The number between two texts, as rye writes numbers."""
    digits = text[len(before) : len(text) - len(after)]
    if f"{before}{digits}{after}" != text or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if len(digits) <= _MOST_DIGITS and (digits == "0" or digits[0] != "0") else None


def _with_lists(row: dict[str, Any], text: str) -> dict[str, Any] | None:
    """Add the lists to the row and return it; None if there is anything else, a duplicate or an empty list."""
    readers = _readers(lock_keys())
    while text:
        block, _, text = text.partition("\n]\n")
        name, _, inside = block.partition(" = [\n")
        read = readers.get(name)
        values = read(inside) if read is not None else None
        if values is None or name in row:
            return None
        row[name] = values
    return row


@lru_cache(maxsize=2)
def _readers(keys: tuple[Key, ...]) -> dict[str, Callable[[str], list[Any] | None]]:
    """The lists that a row can have, and what reads their lines. Hooks are left to the TOML reader."""
    approved = {key.key: _runs if key.form == "runs" else _texts for key in keys if key.form != "hooks"}
    return {**dict.fromkeys(_TEXTS, _texts), "runs": _runs, **approved}


def _texts(inside: str) -> list[str] | None:
    """The texts of a list, one on each line."""
    found = inside[3:-2].split(_BETWEEN)
    whole = inside.startswith('  "') and inside.endswith('",')
    return found if whole and (inside.count('"'), inside.count("\n")) == (2 * len(found), len(found) - 1) else None


def _runs(inside: str) -> list[dict[str, str]] | None:
    """The runs of a list, one on each line."""
    runs = []
    for line in inside.split("\n"):
        parts = line.split('"')
        if len(parts) != 9 or parts[0::2] != _AROUND_RUN:
            return None
        runs.append(dict(zip(_RUN_KEYS, parts[1::2], strict=True)))
    return runs
