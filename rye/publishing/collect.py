"""Reads the items to publish from disk, with their attached files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.attached import attached_files
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions
from rye.limits import CONTENT
from rye.project.item_file import load_item, read_item_bytes
from rye.publishing.release import AttachedBytes, Publishable, publishable


class RefusedItem(Struct, frozen=True):
    """An item that cannot be published, while others can."""

    shown: str
    error: RyeError


class Collected(Struct, frozen=True):
    """The items read from disk."""

    items: tuple[Publishable, ...]
    without_version: tuple[str, ...]
    """Files that were left out because they have no version (only when a whole project is published)."""
    refused: tuple[RefusedItem, ...] = ()


def collect(
    paths: Iterable[tuple[Path, str]],
    namespace: str,
    options: ReadOptions,
    version: str | None = None,
    *,
    leave_out_unversioned: bool = False,
) -> Collected:
    """Return the items to publish, in the order given; a duplicate path counts once.

    ``version``: for items whose format does not contain one. Raises RyeError ``other-version`` if every item has its own
    version, and ``named-twice`` if two files are the same item.
    """
    items: dict[Identity, Publishable] = {}
    left_out = []
    refused = []
    used = version is None
    for path, shown in paths:
        try:
            item = load_item(path, shown=shown, options=options)
        except RyeError as error:
            refused.append(RefusedItem(shown, error))
            continue
        metadata = item.reading.metadata
        # An invalid version is not a missing one: the item is reported as invalid, not left out silently.
        carries_none = metadata is not None and metadata.version is None and item.reading.ok
        if carries_none and version is None and leave_out_unversioned:
            left_out.append(shown)
            continue
        used = used or carries_none
        try:
            found = publishable(item, namespace, attached_bytes(item.path), version if carries_none else None)
        except RyeError as error:
            refused.append(RefusedItem(shown, error))
            continue
        known = items.setdefault(found.identity, found)
        if known.path.resolve() != found.path.resolve():
            raise RyeError(
                "named-twice",
                f"{known.shown} and {shown} are both {found.identity}.",
                "Publish one of them; an item has one file.",
            )
    if not used and not refused:
        raise RyeError(
            "other-version", "--version is for items without a version of their own; these have one.", "Leave it out."
        )
    return Collected(tuple(items.values()), tuple(left_out), tuple(refused))


def attached_bytes(main_file: Path) -> tuple[AttachedBytes, ...]:
    """Return the files attached to a main file such as ``SKILL.md``; () for others. Raises RyeError if one is not allowed."""
    if main_file.name not in KINDS.main_files():
        return ()

    files, problems = attached_files(main_file)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise RyeError("invalid-item", f"{main_file.parent}: {errors[0].message}", errors[0].hint)
    return tuple(
        AttachedBytes(file.path, read_item_bytes(main_file.parent / file.path, CONTENT.attached_bytes), file.executable)
        for file in files
    )
