"""Files of installed items that a person edited. They are never overwritten silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rye.errors import RyeError
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.placement import item_files
from rye.verified.on_disk import Drift, Present, edited

SHOWN_DIFF_LINES = 40


def refuse_hand_edits(
    project: Project,
    items: Sequence[LockedItem],
    present: Mapping[str, Present],
    discard_command: str,
    signed: Iterable[LockedItem] = (),
) -> None:
    """Raise RyeError ``edited-files`` if a person changed or added a file. ``discard_command``: discards the edits.

    ``signed``: more items; a file that matches one of them is not an edit.
    """
    found = edited(project, items, present)
    if found:
        known = {(path, sha256) for item in signed for path, (sha256, _) in item_files(item).items()}
        found = [entry for entry in found if (entry.path, present[entry.path].sha256) not in known]
    if found:
        raise edited_files(project, found, discard_command)


def edited_files(project: Project, edits: Sequence[Drift], discard_command: str) -> RyeError:
    """The error: the first file's diff, and the two ways to continue."""
    from rye.installation.hand_edits import cached_bytes, edit_diff

    first = edits[0]
    what = "was changed" if first.state == "changed" else "was added"
    more = f" (and {len(edits) - 1} more)" if len(edits) > 1 else ""
    signed = cached_bytes(edits)
    diffs = {entry.path: edit_diff(project, entry, signed.get(entry.path)) for entry in edits}
    shown = [line.replace("\n", "\\n") for line in diffs[first.path][:SHOWN_DIFF_LINES]]
    if len(diffs[first.path]) > SHOWN_DIFF_LINES:
        shown.append("…")
    keep = (
        f"; after that, `rye override new {first.item.id}` makes a change that upgrades keep"
        if first.item is not None
        else ""
    )
    return RyeError(
        "edited-files",
        "\n".join([f"{first.path} {what} by hand{more}; installed files are never overwritten silently.", *shown]),
        f"`rye diff --edited` shows every difference. `{discard_command}` restores them as rye.lock has them{keep}.",
        details={
            "files": [
                {"path": entry.path, "state": entry.state, "diff": "\n".join(diffs[entry.path]) or None}
                for entry in edits
            ]
        },
    )
