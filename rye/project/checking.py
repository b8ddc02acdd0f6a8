"""Validating files on disk: the rules of each kind, a directive's calls against its permissions, and rules across a folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.placeholder_text import placeholder_text
from rye.items.reading import Reading, ReadOptions
from rye.items.rights import Caller
from rye.project.context import FileToRead
from rye.project.item_file import ItemFile, load_item
from rye.project.same_ids import same_ids
from rye.text.diagnostics import Diagnostic, in_order


class Checked(Struct, frozen=True):
    """One file's findings. ``item`` is None if the file could not be read."""

    shown: str
    kind: str | None
    diagnostics: tuple[Diagnostic, ...]
    text: str | None
    item: ItemFile | None


def check_files(found: Iterable[FileToRead], kind: str | None, options: ReadOptions) -> list[Checked]:
    """Validate every file. An unreadable file is a finding, unless it is the only file: then its error is raised."""
    entries = list(found)
    checked: list[Checked] = []
    sets: dict[tuple[Path, str], dict[str, Reading[object]]] = defaultdict(dict)
    for entry in entries:
        try:
            item = load_item(entry.path, shown=entry.shown, kind=kind, options=options)
        except RyeError as error:
            if len(entries) == 1:
                raise
            finding = Diagnostic("error", error.code, error.message, hint=error.hint)
            checked.append(Checked(entry.shown, kind, (finding,), None, None))
            continue
        if entry.set_root is not None:
            sets[(entry.set_root, item.location.kind)][entry.shown] = item.reading
        checked.append(check_item(item))
    across = _across(sets, options)
    twice = same_ids(one.item for one in checked if one.item is not None)
    return [
        replace(c, diagnostics=in_order((*c.diagnostics, *across.get(c.shown, ()), *twice.get(c.shown, ()))))
        for c in checked
    ]


def check_item(item: ItemFile) -> Checked:
    """Check one file by the rules of its kind, without rules across files."""
    own = item.location.namespace is None and item.text is not None
    unfinished = placeholder_text(item.text or "") if own else ()
    found = in_order((*item.reading.diagnostics, *_static(item), *unfinished))
    return Checked(item.shown, item.location.kind, found, item.text, item)


def check_among(item: ItemFile, others: Mapping[str, Reading[object]], options: ReadOptions) -> Checked:
    """Check one file, including the rules across its closed set. ``others``: the readings of the set."""
    found = check_item(item)
    rules = KINDS[item.location.kind].load_set_rules()
    if rules is None:
        return found
    across = rules.check_set({**others, item.shown: item.reading}, options).get(item.shown, ())
    return replace(found, diagnostics=in_order((*found.diagnostics, *across)))


def _static(item: ItemFile) -> tuple[Diagnostic, ...]:
    """Find calls that no permission covers and permissions that no call uses (DECISIONS Directives 7)."""
    value = item.reading.value
    if not isinstance(value, Caller):
        return ()
    from rye.permissions.static_check import check_calls  # most files make no calls

    return check_calls(value)


def _across(
    sets: Mapping[tuple[Path, str], Mapping[str, Reading[object]]], options: ReadOptions
) -> dict[str, tuple[Diagnostic, ...]]:
    diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
    for (_, kind), readings in sets.items():
        rules = KINDS[kind].load_set_rules()
        if rules is not None:
            diagnostics.update(rules.check_set(readings, options))
    return diagnostics
