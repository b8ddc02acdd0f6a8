"""Fixing items where there is one possible fix: changes are proposed, and written if they are agreed to.

For every kind, a byte order mark and CR LF line endings are removed (DECISIONS "Every kind" 1). A ``fixer`` does more.
Installed items are never changed; overrides are for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.reading import Source
from rye.limits import CONTENT
from rye.project.context import arguments_or_own_items
from rye.project.item_file import place, read_item_bytes
from rye.text import content
from rye.workspace.authoring.proposed_change import Agree, ProposedChange, breaks_signature, write_agreed

if TYPE_CHECKING:
    from rye.items.location import Location
    from rye.project.context import FileToRead
    from rye.workspace.context import Context


class FixOutcome(Struct, frozen=True):
    """The proposed changes, and whether they were agreed to and written."""

    proposed: tuple[ProposedChange, ...]
    written: bool


def fix_items(context: Context, paths: Sequence[str], kind: str | None, agree: Agree) -> FixOutcome:
    """Propose fixes, and write them if ``agree`` returns true. ``paths``: default, the project's own items.

    A file that must not be changed gives a warning. Raises RyeError ``changed-meanwhile``.
    """
    proposed: list[ProposedChange] = []
    for entry in arguments_or_own_items(context.cwd, paths):
        try:
            change = _propose_fix(entry, kind)
        except RyeError as error:
            context.warn(error.message, error.hint)
            continue
        if change is not None:
            proposed.append(change)
    return FixOutcome(tuple(proposed), write_agreed(context, proposed, agree))


def _propose_fix(entry: FileToRead, kind: str | None) -> ProposedChange | None:
    """The change that fixes one file; None if nothing can be fixed (validation says why)."""
    try:
        data = read_item_bytes(entry.path, CONTENT.item_bytes)
    except RyeError:
        return None
    if len(data) > CONTENT.item_bytes:
        return None
    changes = []
    if data.startswith(content.BOM):
        changes.append("Removed the byte order mark.")
    if b"\r\n" in data:
        changes.append("Changed CR LF line endings to LF.")
    try:
        text = content.fixed(data).decode("utf-8")
    except UnicodeDecodeError:
        return None
    location = place(entry.path, text, kind)
    if location is None:
        return None
    text, more = _fixed(text, entry.shown, location)
    new = text.encode("utf-8")
    if new == data:
        return None
    if location.namespace is not None:
        raise RyeError(
            "installed-item",
            f"{entry.shown} is an installed item and was not changed.",
            KINDS[location.kind].changed_by(f"{location.namespace}/{location.local_id}"),
        )
    broken = breaks_signature(data, new, location.kind, entry.path.name)
    return ProposedChange(
        path=entry.path,
        shown=entry.shown,
        kind=location.kind,
        old=data,
        new=new,
        changes=(*changes, *more),
        breaks_signature=broken,
    )


def _fixed(text: str, shown: str, location: Location) -> tuple[str, tuple[str, ...]]:
    fixer = KINDS[location.kind].load_fixer()
    if fixer is None:
        return text, ()
    fixed = fixer.fix(text, Source(text, shown, location.name, location.category))
    return fixed.text, fixed.changes
