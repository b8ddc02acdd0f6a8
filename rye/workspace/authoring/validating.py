"""Validating a person's items: each by the rules of its kind, and folders as closed sets."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.placeholder_text import PLACEHOLDER_TEXT
from rye.items.reading import ReadOptions, Source
from rye.limits import CONTENT
from rye.project.checking import Checked, check_among, check_files, check_item
from rye.project.context import arguments_or_own_items, own_items, read_options
from rye.project.item_file import ItemFile, item_of, load_item, place
from rye.project.layout import find_project
from rye.project.same_ids import same_ids
from rye.text.diagnostics import Diagnostic, in_order
from rye.text.diagnostics import strict as as_errors

if TYPE_CHECKING:
    from rye.workspace.context import Context


def validate_items(
    context: Context, paths: Sequence[str], kind: str | None = None, *, strict: bool = False
) -> tuple[Checked, ...]:
    """The findings of each file, sorted by line. ``paths``: by default, the project's own items.

    ``strict``: warnings become errors, except ``placeholder-text``.

    Raises RyeError if no item is found, or if a single named file cannot be read.
    """
    checked = check_files(arguments_or_own_items(context.cwd, paths), kind, read_options(context.cwd))
    if strict:
        checked = [replace(one, diagnostics=in_order(_strictly(one.diagnostics))) for one in checked]
    return tuple(checked)


def _strictly(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Warnings as errors, except for a template's placeholder text, which breaks no rule of a format."""
    unfinished = [one for one in found if one.code == PLACEHOLDER_TEXT]
    return [*as_errors(one for one in found if one.code != PLACEHOLDER_TEXT), *unfinished]


Members = MutableMapping[Path, tuple[tuple[int, int], ItemFile]]
"""The items read for :func:`validate_text`, each with its file's modification time and size; kept by the caller."""


def validate_text(path: Path, text: str, members: Members) -> Checked | None:
    """The findings that `rye validate` would report if an editor's text were saved.

    None if the text is not an item: it is outside every kind's folder and has no sign of a kind. ``members`` caches the
    other items of a closed set (agents, roles), which are read from disk. Nothing is written. Raises RyeError, for example
    for an invalid rye.toml.
    """
    data = text.encode("utf-8", "surrogatepass")
    folder = path.parent
    if len(data) <= CONTENT.item_bytes and place(path, text.replace("\r\n", "\n").removeprefix("\ufeff"), None) is None:
        return None
    try:
        options = read_options(folder)
        item = item_of(path, data, str(path), options=options)
    except RyeError as error:
        if error.code == "unknown-kind-of-file":
            return None
        raise
    checked = _among_members(item, options, members)
    twice = same_ids([item]).get(item.shown, ())
    return replace(checked, diagnostics=in_order((*checked.diagnostics, *twice)))


def _among_members(item: ItemFile, options: ReadOptions, members: Members) -> Checked:
    """One text's findings, including those about the closed set that its file belongs to."""
    path = item.path
    project = find_project(path.parent)
    kind = KINDS[item.location.kind]
    if kind.set_rules is None or project is None or item.location.namespace is not None or item.reading.value is None:
        return check_item(item)
    own = {found for found in own_items(project.ai) if found.name.endswith(kind.endings)}
    others = {
        str(other): member.reading
        for other in own - {path}
        if (member := _member(other, members)) is not None and member.location.kind == kind.name
    }
    return check_among(item, others, options) if path in own else check_item(item)


def _member(path: Path, members: Members) -> ItemFile | None:
    """Another item of the set, or None if it cannot be read."""
    try:
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = members.get(path)
        if known is None or known[0] != stamp:
            members[path] = known = (stamp, load_item(path, options=read_options(path.parent)))
        return known[1]
    except (OSError, RyeError):
        return None


def fixed_text(path: Path, text: str) -> tuple[str, tuple[str, ...]]:
    """The text as `rye validate --fix` would write it, and what changes; the same text if nothing can be fixed."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    location = place(path, plain, None)
    if location is None or location.namespace is not None or len(text) > CONTENT.item_bytes:
        return text, ()
    changes = []
    if text.startswith("\ufeff"):
        changes.append("Removed the byte order mark.")
    if "\r\n" in text:
        changes.append("Changed CR LF line endings to LF.")
    fixer = KINDS[location.kind].load_fixer()
    if fixer is None:
        return plain, tuple(changes)
    fixed = fixer.fix(plain, Source(plain, str(path), location.name, location.category))
    return fixed.text, (*changes, *fixed.changes)
