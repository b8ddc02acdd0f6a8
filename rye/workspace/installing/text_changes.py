"""How much an update changes of what agents read, apart from the version and the signature, which every release changes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec import Struct

from rye.consent.agreement import MovedRow, bytes_hash
from rye.errors import RyeError
from rye.installation.plan import ItemChange
from rye.items.identity import Identity
from rye.limits import CONTENT
from rye.permissions.comparing import unified
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.lock import LockedItem, comparison
from rye.project.lock_file import item_folder, item_path
from rye.registry.store.cache import Cache
from rye.storage.home import Home


class TextChange(Struct, frozen=True):
    """The difference between the text that is installed and the one that replaces it."""

    added: int
    """Lines."""
    removed: int
    files: tuple[str, ...] = ()
    """The attached files that differ: ``+ path``, ``- path`` or ``~ path``."""
    command: str | None = None
    """What compares both at any time; None if nothing does."""


def text_changes(
    home: Home, project: Project, changes: Iterable[ItemChange], texts: Mapping[Identity, bytes]
) -> dict[Identity, TextChange]:
    """Compare the old text of each changed item with ``texts``, the new ones. An item is missing in the result if its old bytes
    are neither installed nor in the cache, if either is not text, or if nothing differs."""
    differences: dict[Identity, TextChange] = {}
    for change in changes:
        old, new, data = change.old, change.new, texts.get(change.identity)
        if old is None or new is None or data is None:
            continue
        if old.sha256 == new.sha256 and not old.approved.is_pending:
            continue
        before = _bytes_of(home, project, old)
        if before is None:
            continue
        try:
            texts_without = (_without(before, old), _without(data, new))
        except UnicodeDecodeError:
            continue
        files = tuple(_changed_files(old, new))
        signs = [line[:1] for line in unified(*texts_without, "", "")[2:]]
        if "+" in signs or "-" in signs or files:
            differences[change.identity] = TextChange(signs.count("+"), signs.count("-"), files, comparison(old, new))
    return differences


def _bytes_of(home: Home, project: Project, row: LockedItem) -> bytes | None:
    """The locked bytes of an item's own file; of a row that ``rye lock`` wrote, the bytes that are installed still."""
    with contextlib.suppress(RyeError):
        data = read_item_bytes(project.root / item_path(row), CONTENT.item_bytes)
        if row.approved.is_pending or sha256(data).hexdigest() == row.sha256:
            return data
    return Cache(home.registry_cache).get(row.sha256)


def files_before(home: Home, project: Project, change: ItemChange) -> dict[str, bytes]:
    """The locked bytes of the files that a change replaces, by path (``""``: the item's own file). A file whose bytes are neither
    installed nor in the cache is missing."""
    row = change.old
    if row is None:
        return {}
    found = {"": _bytes_of(home, project, row)}
    cache = Cache(home.registry_cache)
    for each in row.attached if not row.is_editable else ():
        data = None
        with contextlib.suppress(RyeError):
            data = read_item_bytes(project.root / item_folder(row) / each.path, CONTENT.attached_bytes)
        is_same = data is not None and (row.approved.is_pending or sha256(data).hexdigest() == each.sha256)
        found[each.path] = data if is_same else cache.get(each.sha256)
    return {path: data for path, data in found.items() if data is not None}


def files_agreed(home: Home, project: Project, row: LockedItem, moved: MovedRow) -> dict[str, bytes]:
    """The files of a row as this user agreed to them last, by path (``""``: the item's own file): all that are at their places,
    if those are they, or else the item's own file from there or from the cache, or nothing. What another run installed since is
    no such state."""
    present: dict[str, bytes] = {}
    for path, place in (
        ("", item_path(row)),
        *((each.path, f"{item_folder(row)}/{each.path}") for each in row.attached),
    ):
        with contextlib.suppress(RyeError):
            present[path] = read_item_bytes(
                project.root / place, CONTENT.attached_bytes if path else CONTENT.item_bytes
            )
    hashes = {path: sha256(data).hexdigest() for path, data in present.items()}
    if bytes_hash(hashes.pop("", ""), hashes.items()) == moved.bytes_before:
        return present
    own = present.get("")
    if own is None or sha256(own).hexdigest() != moved.own_before:
        own = Cache(home.registry_cache).get(moved.own_before) if moved.own_before else None
    return {"": own} if own is not None else {}


def _without(data: bytes, row: LockedItem) -> str:
    """The text without its signature and without the version that it says it has."""
    text = data.decode("utf-8").replace(row.version, "")
    return re.sub(r"[^\n]*\brye(?:os)?:signed:[^\n]*\n?", "", text, count=1)


def _changed_files(old: LockedItem, new: LockedItem) -> Iterable[str]:
    before, after = ({row.path: row for row in item.attached} for item in (old, new))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield f"{'+' if path not in before else '-' if path not in after else '~'} {path}"
