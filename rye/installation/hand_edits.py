"""What a person changed in an installed file, as a diff against the bytes that rye.lock names."""

from __future__ import annotations

from collections.abc import Iterable

from rye.errors import RyeError
from rye.limits import CONTENT
from rye.permissions.comparing import unified
from rye.project.layout import Project
from rye.project.lock_file import item_files
from rye.registry.store.cache import Cache
from rye.storage.home import Home
from rye.storage.safe_files import read_bytes
from rye.verified.on_disk import Drift


def signed_hash(entry: Drift) -> tuple[str, int] | None:
    """Return the locked SHA-256 and size of a file; None if the lock does not name it."""
    if entry.item is None:
        return None
    sha256 = item_files(entry.item)[entry.path][0]
    return sha256, next((one.size for one in entry.item.attached if one.sha256 == sha256), entry.item.size)


def cached_bytes(home: Home, entries: Iterable[Drift]) -> dict[str, bytes]:
    """Return the locked bytes of these files that are in the user's cache, by path. Uses no network."""
    cache = Cache(home.registry_cache)
    contents: dict[str, bytes] = {}
    for entry in entries:
        known = signed_hash(entry)
        data = cache.get(known[0]) if known is not None else None
        if data is not None:
            contents[entry.path] = data
    return contents


def edit_diff(project: Project, entry: Drift, signed: bytes | None) -> tuple[str, ...]:
    """Return a unified diff from the locked bytes to the file; empty if either is unknown, not text, or a link."""
    if signed is None and entry.state != "extra":
        return ()
    path = project.root / entry.path
    if path.is_symlink():
        return ()
    try:
        present = read_bytes(path, CONTENT.attached_bytes).decode("utf-8")
        return unified((signed or b"").decode("utf-8"), present, f"signed/{entry.path}", entry.path)
    except (RyeError, UnicodeDecodeError):
        return ()
