"""What brings items to today's rules where there is one answer, as changes to propose.

For every kind: a byte order mark and CR LF line endings go (DECISIONS "Every kind"). A kind with a ``fixer`` does more. Installed
items are never changed: overrides do that.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.reading import Source
from rye.limits import CONTENT
from rye.project.item_file import place, read_bytes
from rye.text import content
from rye.workspace.proposed_change import ProposedChange, breaks_signature

if TYPE_CHECKING:
    from rye.items.location import Location
    from rye.project.discovery import Found
    from rye.workspace.context import Context


def propose_fixes(context: Context, found: Iterable[Found], kind: str | None) -> list[ProposedChange]:
    """The changes that ``rye validate --fix`` offers; a file that must not be changed is a warning."""
    proposed: list[ProposedChange] = []
    for entry in found:
        try:
            change = _propose_fix(entry, kind)
        except RyeError as error:
            context.warn(error.message, error.hint)
            continue
        if change is not None:
            proposed.append(change)
    return proposed


def _propose_fix(entry: Found, kind: str | None) -> ProposedChange | None:
    """The change that fixes one file; None where there is nothing to fix, or where validation will say why it cannot be."""
    try:
        data = read_bytes(entry.path, CONTENT.item_bytes)
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
            f"{entry.shown} is an installed item; it is not changed.",
            "Keep changes of your own with `rye override new`.",
        )
    broken = breaks_signature(data, new, location.kind, entry.path.name)
    return ProposedChange(entry.path, entry.shown, location.kind, data, new, (*changes, *more), broken)


def _fixed(text: str, shown: str, location: Location) -> tuple[str, tuple[str, ...]]:
    fixer = KINDS[location.kind].load_fixer()
    if fixer is None:
        return text, ()
    fixed = fixer.fix(text, Source(text, shown, location.name, location.category))
    return fixed.text, fixed.changes


def propose_migration(path: Path, shown: str) -> ProposedChange | None:
    """What brings one directive up to date; None where nothing does. Raises RyeError when the file is not text."""
    from rye.items.directive.fix import migrate as migrated  # the XML parser, which only directives need

    data = read_bytes(path, CONTENT.item_bytes)
    if len(data) > CONTENT.item_bytes:
        raise RyeError(
            "too-large", f"{shown} has more than {CONTENT.item_bytes:,} bytes.", "Split it, then migrate the parts."
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RyeError("not-utf8", f"{shown} is not UTF-8 (byte {error.start}).", "Save the file as UTF-8.") from None
    location = place(path, text, "directive")
    assert location is not None
    fixed = migrated(text, Source(text, shown, location.name, location.category))
    new = fixed.text.encode("utf-8")
    if new == data:
        return None
    broken = breaks_signature(data, new, "directive", path.name)
    return ProposedChange(path, shown, "directive", data, new, fixed.changes, broken)
