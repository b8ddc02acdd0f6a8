"""Changing ``rye.toml`` for a person: their comments, order and spacing stay (tomlkit)."""

from __future__ import annotations

from collections.abc import Sequence

import tomlkit
from tomlkit.items import InlineTable, Table

from rye.project.manifest import BYTE_ORDER_MARK, MAIN_GROUP


def add_dependency(text: str, key: str, wanted_range: str, group: str = MAIN_GROUP) -> str:
    """The manifest with ``key`` wanting ``wanted_range`` in ``group``; an entry with the same key is changed in place."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    if group == MAIN_GROUP:
        table = document.setdefault("dependencies", tomlkit.table())
    else:
        groups = document.get("groups")
        if groups is None:
            groups = tomlkit.table(is_super_table=True)
            document["groups"] = groups
        table = groups.setdefault(group, tomlkit.table())
    assert isinstance(table, (Table, InlineTable))
    present = table.get(key)
    if isinstance(present, (InlineTable, Table)):
        present["version"] = wanted_range
    else:
        table[key] = wanted_range
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def set_deploy_targets(text: str, targets: Sequence[str]) -> str:
    """The manifest with these targets under ``[deploy]``."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    table = document.setdefault("deploy", tomlkit.table())
    table["targets"] = list(targets)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document))


def remove_dependency(text: str, key: str) -> tuple[str, list[str]]:
    """The manifest without ``key``, and the groups it was taken out of (none: it was not there)."""
    mark, document = _mark(text), tomlkit.parse(text.removeprefix(BYTE_ORDER_MARK))
    removed = []
    main = document.get("dependencies")
    if main is not None and key in main:
        main.remove(key)
        removed.append(MAIN_GROUP)
    for group, table in (document.get("groups") or {}).items():
        if key in table:
            table.remove(key)
            removed.append(group)
    return mark + _with_line_ends_of(text, tomlkit.dumps(document)), removed


def _mark(text: str) -> str:
    """The byte order mark that an editor put before the text, if any: it stays."""
    return BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""


def _with_line_ends_of(before: str, after: str) -> str:
    """CR LF in every line where the file had it: a new line must not be the odd one."""
    return after.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in before else after
