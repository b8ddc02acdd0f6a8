"""``rye validate --fix``: mends what has one answer, after showing the change.

For every kind: a byte order mark and CR LF line endings go (DECISIONS "Every kind"). A kind whose module has a companion
a ``fixer`` with ``fix(text, source) -> Fixed`` does more. Installed items are never changed: overrides do that.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from rye.cli.author.proposed_change import ProposedChange, breaks_signature, offer
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.cli.options import Session
    from rye.items.location import Location
    from rye.project.discovery import Found


def offer_fixes(
    session: Session, found: Sequence[Found], kind: str | None, paths: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Show the fixes of all files and write them when that is agreed to. Gives the JSON of each change.

    ``paths`` are the arguments that named the files, for the hint.
    """
    proposed: list[ProposedChange] = []
    for entry in found:
        try:
            change = propose_fix(entry, kind)
        except RyeError as error:
            session.console.warn(error.message, error.hint)
            continue
        if change is not None:
            proposed.append(change)
    written = offer(session, proposed, shlex.join(["rye", "validate", "--fix", "--yes", *paths]))
    if not proposed:
        session.console.say("Nothing to fix.")
    return [change.as_json(written) for change in proposed]


def propose_fix(entry: Found, kind: str | None) -> ProposedChange | None:
    """The change that mends one file; None where there is nothing to mend, or where validation will say why it cannot be."""
    from rye.limits import CONTENT
    from rye.project.item_file import place, read_bytes
    from rye.text import content

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
    from rye.items.kinds import KINDS
    from rye.items.reading import Source

    fixer = KINDS[location.kind].fixer
    if fixer is None:
        return text, ()
    fixed = import_module(fixer).fix(text, Source(text, shown, location.name, location.category))
    return fixed.text, fixed.changes
