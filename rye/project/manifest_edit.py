"""Changing ``rye.toml`` for a person: their comments, order and spacing stay (tomlkit)."""

from __future__ import annotations

from rye.project.manifest import MAIN_GROUP


def new_manifest(name: str, namespace: str | None, registry: str | None) -> str:
    """The text of a manifest that ``rye init`` writes."""
    lines = ["[project]", f'name = "{name}"']
    if namespace:
        lines.append(f'namespace = "{namespace}"')
    if registry:
        lines.append(f'registry = "{registry}"')
    return "\n".join([*lines, "", "[dependencies]", ""])


def add_dependency(text: str, key: str, wanted_range: str, group: str = MAIN_GROUP) -> str:
    """The manifest with ``key`` wanting ``wanted_range`` in ``group``; an entry with the same key is changed in place."""
    import tomlkit
    from tomlkit.items import InlineTable, Table

    document = tomlkit.parse(text)
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
    return tomlkit.dumps(document)


def remove_dependency(text: str, key: str) -> tuple[str, list[str]]:
    """The manifest without ``key``, and the groups it was taken out of (none: it was not there)."""
    import tomlkit

    document = tomlkit.parse(text)
    removed = []
    main = document.get("dependencies")
    if main is not None and key in main:
        main.remove(key)
        removed.append(MAIN_GROUP)
    for group, table in (document.get("groups") or {}).items():
        if key in table:
            table.remove(key)
            removed.append(group)
    return tomlkit.dumps(document), removed
