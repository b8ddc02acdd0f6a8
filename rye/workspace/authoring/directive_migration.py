"""Bringing old directives up to date (DECISIONS Directives)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.directive.fix import migrate
from rye.items.reading import Source
from rye.limits import CONTENT
from rye.project.checking import Checked, check_files
from rye.project.context import expand, read_options
from rye.project.item_file import load_item, place, read_item_bytes
from rye.workspace.authoring.proposed_change import Agree, ProposedChange, breaks_signature, write_agreed

if TYPE_CHECKING:
    from rye.workspace.context import Context


class MigratedDirective(Struct, frozen=True):
    """A directive as it is on disk now, and the proposed change, or None if it was up to date."""

    checked: Checked
    change: ProposedChange | None


class MigrationOutcome(Struct, frozen=True):
    """``written``: whether there were changes and they were agreed to."""

    directives: tuple[MigratedDirective, ...]
    written: bool


def migrate_directives(context: Context, paths: Sequence[str], agree: Agree) -> MigrationOutcome:
    """Propose changes that bring the directives up to date, and write them if ``agree`` returns true.

    Raises RyeError ``no-items``, ``file-too-large``, ``unreadable``, ``changed-meanwhile``.
    """
    found = expand(paths, context.cwd)
    if any(entry.set_root is not None for entry in found):
        found = [e for e in found if load_item(e.path, shown=e.shown).location.kind == "directive"]
        if not found:
            raise RyeError("no-items", "That folder contains no directives.", "Name a directive's file.", what="items")
    proposed = [change for entry in found if (change := _propose(entry.path, entry.shown)) is not None]
    written = write_agreed(context, proposed, agree)
    changes = {change.shown: change for change in proposed}
    checked = check_files(found, "directive", read_options(context.cwd))
    return MigrationOutcome(tuple(MigratedDirective(one, changes.get(one.shown)) for one in checked), written)


def _propose(path: Path, shown: str) -> ProposedChange | None:
    """The change that brings one directive up to date, or None."""
    data = read_item_bytes(path, CONTENT.item_bytes)
    if len(data) > CONTENT.item_bytes:
        raise RyeError(
            "file-too-large",
            f"{shown} has more than {CONTENT.item_bytes:,} bytes.",
            "Split it, then migrate the parts.",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RyeError("unreadable", f"{shown} is not UTF-8 (byte {error.start}).", "Save the file as UTF-8.") from None
    location = place(path, text, "directive")
    assert location is not None
    fixed = migrate(text, Source(text, shown, location.name, location.category))
    new = fixed.text.encode("utf-8")
    if new == data:
        return None
    return ProposedChange(
        path=path,
        shown=shown,
        kind="directive",
        old=data,
        new=new,
        changes=fixed.changes,
        breaks_signature=breaks_signature(data, new, "directive", path.name),
    )
