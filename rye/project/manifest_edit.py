"""Editing ``rye.toml``. Comments, order and spacing are kept (tomlkit).

A table with sorted keys stays sorted, so that two branches that add different items rarely conflict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import InlineTable, Table

from rye.project.declared_sources import GitSource, Source
from rye.project.manifest import BYTE_ORDER_MARK, MAIN_GROUP


def add_dependencies(text: str, wanted: Mapping[str, str], group: str = MAIN_GROUP) -> str:
    """Return the manifest with each ``key = range`` of ``wanted`` in ``group``. An existing entry is changed in place.

    New entries go to their sorted positions if the table is sorted, otherwise to the end, in the order of ``wanted``.
    """
    if not wanted:
        return text
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = _dependencies(document, group)
    keys = [str(one) for one in table]
    for key in (key for key in keys if key in wanted):
        present = table[key]
        if isinstance(present, (InlineTable, Table)):
            present["version"] = wanted[key]
        else:
            table[key] = wanted[key]
    new = [key for key in wanted if key not in table]
    is_sorted, before = keys == sorted(keys), tomlkit.dumps(document)
    if is_sorted:
        new.sort()
    for key in new:
        table[key] = wanted[key]
    if is_sorted and keys and new and new[0] < keys[-1]:
        header = "dependencies" if group == MAIN_GROUP else f"groups.{group}"
        sorted_text = _with_lines_in_order(before, header, keys, {key: wanted[key] for key in new})
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


def _with_lines_in_order(text: str, header: str, keys: Collection[str], new: Mapping[str, str]) -> str | None:
    """Insert a line for each new entry, sorted by key, right after the entry of ``keys`` that sorts before it; None if the table
    is not found.

    Comments are above the entry they are about, so they stay with the next entry. The caller must check that the result means
    what it should: this only looks at lines, and a line can be part of a multi-line string.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    title = re.compile(rf"[ \t]*\[[ \t]*{re.escape(header)}[ \t]*\][ \t]*(?:#.*)?")
    start = next((number for number, line in enumerate(lines) if title.fullmatch(line)), None)
    if start is None:
        return None
    known, entries = frozenset(keys), list[tuple[str, int]]()
    for number in range(start + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        key = _key_of(lines[number])
        if key is not None and key in known:
            entries.append((key, number))
    after: dict[int, list[str]] = {}
    for key, wanted_range in new.items():
        place = max((number for name, number in entries if name < key), default=start)
        written = tomlkit.document()
        written[key] = wanted_range
        after.setdefault(place, []).append(tomlkit.dumps(written).rstrip("\n"))
    return "\n".join(row for number, line in enumerate(lines) for row in (line, *after.get(number, ())))


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


def remove_dependencies(text: str, keys: Collection[str]) -> tuple[str, list[str]]:
    """Return the manifest without ``keys``, and the groups that some were removed from."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    removed = []
    for group, table in ((MAIN_GROUP, document.get("dependencies")), *(document.get("groups") or {}).items()):
        for key in [key for key in dict.fromkeys(keys) if table is not None and key in table]:
            table.remove(key)
            removed.append(group)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document)), list(dict.fromkeys(removed))


def _mark(text: str) -> str:
    """Return the text's byte order mark, if any, which is kept."""
    return BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""


def _with_line_ends_of(before: str, after: str) -> str:
    """Use CRLF for every line if the file had CRLF, including new lines."""
    return after.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in before else after
