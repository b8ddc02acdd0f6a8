"""A fast reader for locks that are exactly as rye writes them. All other locks go to the TOML reader.

The text must match, line by line, what :func:`rye.project.lock.lock_text` writes, with strings that need no escapes.
Every such text is TOML with the same meaning, so both readers agree (a property test checks this). Reading a
thousand items is a hundred times faster, which is worth a second grammar. The values are still checked afterwards.
"""

from __future__ import annotations

from typing import Any

from rye.text.lazy_pattern import lazy_pattern

_HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
_ITEM = lazy_pattern(
    r"""kind = "([^"\n]*+)"
id = "([^"\n]*+)"
version = "([^"\n]*+)"
size = (0|[1-9][0-9]{0,17})
sha256 = "([^"\n]*+)"
suffix = "([^"\n]*+)"
registry = "([^"\n]*+)"
log = (0|[1-9][0-9]{0,17})
keyset = (0|[1-9][0-9]{0,17})
signer = "([^"\n]*+)"
(?:forced = "([^"\n]*+)"
)?"""
)
_LIST = lazy_pattern(
    r"""([a-z-]+) = \[
(?:  "((?:[^"\n]*+",
  ")*+[^"\n]*+)",
|((?:  \{ what = "[^"\n]*", where = "[^"\n]*", action = "[^"\n]*", sha256 = "[^"\n]*" \},
)+))\]
"""
)
"""A list's name, and either its strings (from the first to the last quotation mark) or its runs, unparsed."""
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n"
_BETWEEN = '",\n  "'
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


def read_canonical(text: str) -> dict[str, Any] | None:
    """Return the same table as ``tomllib.loads(text)``; None if the text is not in this form."""
    if not text.startswith(_HEAD) or "\\" in text or not _is_plain(text):
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


def _is_plain(text: str) -> bool:
    """Whether every character except line ends is printable."""
    return not text.encode().translate(None, _PLAIN) if text.isascii() else text.replace("\n", "").isprintable()


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
    kind, name, version, size, sha256, suffix, registry, log, keyset, signer, forced = found.groups()
    row: dict[str, Any] = {
        "kind": kind,
        "id": name,
        "version": version,
        "size": int(size),
        "sha256": sha256,
        "suffix": suffix,
        "registry": registry,
        "log": int(log),
        "keyset": int(keyset),
        "signer": signer,
    }
    if forced is not None:
        row["forced"] = forced
    return row if _read_lists(chunk, found.end(), row) else None


def _read_lists(chunk: str, at: int, row: dict[str, Any]) -> bool:
    """Add the lists from position ``at`` on to the row. Return whether there is nothing else, no duplicate and no empty list."""
    end = len(chunk)
    while at < end:
        found = _LIST.match(chunk, at)
        if found is None:
            return False
        name, texts, runs = found.groups()
        if name in row or name not in (_RUNS if texts is None else _TEXTS):
            return False
        row[name] = texts.split(_BETWEEN) if texts is not None else [_run(line) for line in runs.split("\n")[:-1]]
        at = found.end()
    return True


def _run(line: str) -> dict[str, str]:
    return dict(zip(_RUN_KEYS, line.split('"')[1::2], strict=True))
