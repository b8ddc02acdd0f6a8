"""Completions at a position. The caller provides the known names; the form of the text decides which ones fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.items.directive.grammar import children_at, rule_at
from rye.lsp.cursor import Cursor, cursor_at, inputs_of

Kind = Literal["element", "attribute", "value", "id", "capability", "input"]
Names = Callable[[str], list[str]]
"""The names of a kind of value: ``item``, ``item tool``, ``published`` (:func:`rye.workspace.completion.names.names`)."""

_LINE_ID = re.compile(r"^[ \t]*[\"']([a-z0-9_/:-]*)\Z")
_LIST_ID = re.compile(r"^([ \t]*)-[ \t]+[\"']?([a-z0-9_/:-]*)\Z")
_QUOTED_CAPABILITY = re.compile(r"[\"'](rye\.[A-Za-z0-9_.*-]*)\Z")
_TABLE = re.compile(r"^[ \t]*\[([^\[\]\n]+)\]", re.MULTILINE)
_TOP_KEY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:", re.MULTILINE)


class Offer(Struct, frozen=True):
    """One completion: ``text`` replaces everything from ``start`` to the position."""

    text: str
    kind: Kind
    start: int
    detail: str = ""


def offers_in_directive(text: str, offset: int, names: Names) -> list[Offer]:
    """Return the completions at an offset of a directive."""
    cursor = cursor_at(text, offset)
    if cursor.what == "placeholder":
        found = [(name, type_) for name, type_ in inputs_of(text).items()]
        return [Offer(name, "input", cursor.start, type_) for name, type_ in found if name.startswith(cursor.begun)]
    if cursor.what == "element":
        return _elements(cursor)
    if cursor.what == "attribute":
        return _attributes(cursor)
    if cursor.what == "value":
        return _values(cursor, names)
    if cursor.what == "capability":
        return _capabilities(cursor.begun, cursor.start, names)
    if cursor.what == "text":
        return _text(cursor, names)
    return []


def offers_in_manifest(text: str, offset: int, names: Names) -> list[Offer]:
    """Return the completions at an offset of rye.toml: ids in the tables of dependencies, capabilities in strings that start
    with ``rye.``."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset][-400:]
    capability = _QUOTED_CAPABILITY.search(line)
    if capability is not None:
        return _capabilities(capability[1], offset - len(capability[1]), names)
    begun = _LINE_ID.match(line)
    headers = _TABLE.findall(text[:offset])
    table = headers[-1].strip() if headers else ""
    if begun is not None and (table in ("dependencies", "overrides") or table.startswith("groups.")):
        return _ids(begun[1], offset, names("published"))
    return []


def offers_in_frontmatter(text: str, offset: int, names: Names) -> list[Offer]:
    """Return ids below ``dependencies:`` in the frontmatter of a Markdown file, or at the top level of a YAML file."""
    before = text[:offset]
    if text.startswith("---") and before.find("\n---", 3) >= 0:
        return []
    line = before[before.rfind("\n") + 1 :][-400:]
    listed = _LIST_ID.match(line)
    keys = _TOP_KEY.findall(before)
    if listed is None or not keys or keys[-1] != "dependencies":
        return []
    return _ids(listed[2], offset, names("published"))


def _elements(cursor: Cursor) -> list[Offer]:
    if cursor.element == "/":
        return [Offer(cursor.path[-1], "element", cursor.start)] if cursor.path else []
    known = children_at(cursor.path, fence=cursor.fence)
    offers = []
    for name in known:
        rule = rule_at((*cursor.path, name), fence=cursor.fence)
        if name.startswith(cursor.begun):
            offers.append(Offer(name, "element", cursor.start, rule.says if rule is not None else ""))
    return offers


def _attributes(cursor: Cursor) -> list[Offer]:
    rule = rule_at(cursor.path, fence=cursor.fence)
    given = {name for name, _ in cursor.given}
    return [
        Offer(name, "attribute", cursor.start, ", ".join(values))
        for name, values in (rule.attributes.items() if rule is not None else ())
        if name.startswith(cursor.begun) and name not in given
    ]


def _values(cursor: Cursor, names: Names) -> list[Offer]:
    if cursor.attribute == "item_id":
        item_type = dict(cursor.given).get("item_type", "")
        wanted = f"item {item_type}" if item_type in ITEM_TYPES else "item"
        return _ids(cursor.begun, cursor.start + len(cursor.begun), [_bare(name) for name in names(wanted)])
    rule = rule_at(cursor.path, fence=cursor.fence)
    values = rule.attributes.get(cursor.attribute, ()) if rule is not None else ()
    return [Offer(value, "value", cursor.start) for value in values if value.startswith(cursor.begun)]


def _text(cursor: Cursor, names: Names) -> list[Offer]:
    rule = rule_at(cursor.path, fence=cursor.fence)
    end = cursor.start + len(cursor.begun)
    if rule is None:
        return []
    if rule.text == "item":
        return _ids(cursor.begun, end, names("published") if "context" in cursor.path else names("item"))
    if rule.text == "capability":
        ids = [_bare(name) for name in names(f"item {cursor.path[-1]}")]
        groups = {f"{name.rpartition('/')[0]}/*" for name in ids if "/" in name}
        return [
            Offer(path, "capability", cursor.start)
            for path in sorted({*ids, *groups})
            if path.startswith(cursor.begun) or path.replace("/", ".").startswith(cursor.begun)
        ]
    return []


def _capabilities(begun: str, start: int, names: Names) -> list[Offer]:
    found = {"rye.*", *(f"rye.{primary}.*" for primary in PRIMARIES)}
    for primary in PRIMARIES:
        for item_type in ITEM_TYPES:
            found.add(f"rye.{primary}.{item_type}.*")
            if begun.startswith(f"rye.{primary}.{item_type}."):
                ids = (_bare(name).replace("/", ".") for name in names(f"item {item_type}"))
                found.update(f"rye.{primary}.{item_type}.{path}" for path in ids)
    return [Offer(text, "capability", start) for text in sorted(found) if text.startswith(begun)]


def _ids(begun: str, offset: int, names: Iterable[str]) -> list[Offer]:
    return [Offer(name, "id", offset - len(begun)) for name in dict.fromkeys(names) if name.startswith(begun)]


def _bare(name: str) -> str:
    return name.rpartition(":")[2]
