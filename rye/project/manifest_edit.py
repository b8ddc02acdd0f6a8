"""Editing ``rye.toml``. Comments, order and spacing are kept (tomlkit).

A table with sorted keys stays sorted, so that two branches that add different items rarely conflict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import InlineTable, Table

from rye.project.declared_sources import GitSource, Source
from rye.project.manifest import BYTE_ORDER_MARK, MAIN_GROUP


def add_dependency(text: str, key: str, wanted_range: str, group: str = MAIN_GROUP) -> str:
    """Return the manifest with ``key = wanted_range`` in ``group``. An existing entry is changed in place.

    A new entry goes to its sorted position if the table is sorted, otherwise to the end.
    """
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = _dependencies(document, group)
    present = table.get(key)
    if isinstance(present, (InlineTable, Table)):
        present["version"] = wanted_range
    else:
        keys = [str(one) for one in table]
        table[key] = wanted_range
        if present is None and keys == sorted(keys) and keys and key < keys[-1]:
            header = "dependencies" if group == MAIN_GROUP else f"groups.{group}"
            sorted_text = _with_line_in_order(text.removeprefix(BYTE_ORDER_MARK), header, keys, key, wanted_range)
            if sorted_text is not None and tomllib.loads(sorted_text) == document.unwrap():
                return mark + _with_line_ends_of(text, sorted_text)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def _dependencies(document: TOMLDocument, group: str) -> Table | InlineTable:
    """Return the table of a group; create it if needed."""
    if group == MAIN_GROUP:
        table = document.setdefault("dependencies", tomlkit.table())
    else:
        groups = document.get("groups")
        if groups is None:
            groups = tomlkit.table(is_super_table=True)
            document["groups"] = groups
        table = groups.setdefault(group, tomlkit.table())
    assert isinstance(table, (Table, InlineTable))
    return table


def add_dependencies(text: str, keys: Sequence[str], wanted_range: str, group: str = MAIN_GROUP) -> str:
    """Add many new keys at once, like :func:`add_dependency`."""
    if len(keys) < 2:
        return add_dependency(text, keys[0], wanted_range, group) if keys else text
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = _dependencies(document, group)
    header = "dependencies" if group == MAIN_GROUP else f"groups.{group}"
    present = [str(one) for one in table]
    is_sorted = present == sorted(present) and bool(present)
    for key in sorted(keys):
        table[key] = wanted_range
    if is_sorted and min(keys) < present[-1]:
        lines: str | None = text.removeprefix(BYTE_ORDER_MARK)
        known = list(present)
        for key in sorted(keys):
            lines = _with_line_in_order(lines, header, known, key, wanted_range) if lines is not None else None
            known.append(key)
        if lines is not None and tomllib.loads(lines) == document.unwrap():
            return mark + _with_line_ends_of(text, lines)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def add_source(text: str, source: Source) -> str:
    """Return the manifest with a source. A source with the same name is replaced in place."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = document.setdefault("sources", tomlkit.table())
    assert isinstance(table, (Table, InlineTable))
    row = tomlkit.inline_table()
    if isinstance(source, GitSource):
        row["git"] = source.url
        if source.rev is not None:
            row["rev"] = source.rev
        if source.path:
            row["path"] = source.path
    else:
        row["path"] = source.path
        if source.editable:
            row["editable"] = True
    table[source.name] = row
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def remove_source(text: str, name: str) -> str:
    """Return the manifest without a source; ``[sources]`` goes with the last one."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = document.get("sources")
    if table is not None and name in table:
        table.remove(name)
        if not table:
            document.remove("sources")
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def set_deploy_targets(text: str, targets: Sequence[str]) -> str:
    """Return the manifest with these targets in ``[deploy]``."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = document.setdefault("deploy", tomlkit.table())
    table["targets"] = list(targets)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def _with_line_in_order(text: str, header: str, keys: Sequence[str], key: str, wanted_range: str) -> str | None:
    """Insert a line right after the entry that sorts before it; None if the table is not found.

    Comments are above the entry they are about, so they stay with the next entry. The caller must check that the result means
    what it should: this only looks at lines, and a line can be part of a multi-line string.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    title = re.compile(rf"[ \t]*\[[ \t]*{re.escape(header)}[ \t]*\][ \t]*(?:#.*)?")
    place = next((number for number, line in enumerate(lines) if title.fullmatch(line)), None)
    if place is None:
        return None
    smaller = {one for one in keys if one < key}
    for number in range(place + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if _key_of(lines[number]) in smaller:
            place = number
    written = tomlkit.document()
    written[key] = wanted_range
    return "\n".join([*lines[: place + 1], tomlkit.dumps(written).rstrip("\n"), *lines[place + 1 :]])


def _key_of(line: str) -> str | None:
    """Return the key of an entry on one line, or None."""
    try:
        return next(iter(tomllib.loads(line)), None)
    except (ValueError, RecursionError):
        return None


def set_registry(text: str, address: str) -> str:
    """Return the manifest with ``[project] registry`` set, replacing an earlier value."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    if "project" in document:
        project = document["project"]
        assert isinstance(project, (Table, InlineTable))
        project["registry"] = address
        return mark + _with_line_ends_of(text, tomlkit.dumps(document))
    table = tomlkit.table()
    table["registry"] = address
    first = tomlkit.document()
    first["project"] = table
    rest = tomlkit.dumps(document)
    return mark + _with_line_ends_of(text, tomlkit.dumps(first) + (f"\n{rest}" if rest else ""))


def remove_dependency(text: str, key: str) -> tuple[str, list[str]]:
    """Return the manifest without ``key``, and the groups it was removed from (empty: it was not in the manifest)."""
    return remove_dependencies(text, [key])


def remove_dependencies(text: str, keys: Collection[str]) -> tuple[str, list[str]]:
    """Return the manifest without ``keys``, and the groups that some were removed from."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    removed = []
    for group, table in ((MAIN_GROUP, document.get("dependencies")), *(document.get("groups") or {}).items()):
        for key in [key for key in keys if table is not None and key in table]:
            table.remove(key)
            removed.append(group)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document)), list(dict.fromkeys(removed))


def _mark(text: str) -> str:
    """Return the text's byte order mark, if any, which is kept."""
    return BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""


def _with_line_ends_of(before: str, after: str) -> str:
    """Use CRLF for every line if the file had CRLF, including new lines."""
    return after.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in before else after
