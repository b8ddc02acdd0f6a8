"""Opens the stores of objects that the settings name: folders below the data folder, or parts of a bucket.

``watch``: told of every request to a bucket.
"""

from __future__ import annotations

from pathlib import Path

from registry_server.settings import Settings
from registry_server.storage.objects import Folder, Objects
from registry_server.storage.store_watch import StoreWatch


def public_objects(settings: Settings, watch: StoreWatch | None = None) -> Objects:
    """Return the store of everything that is served."""
    return _open(settings, watch, settings.public, "public")


def staged_objects(settings: Settings, watch: StoreWatch | None = None) -> Objects:
    """Return the store of the files of releases that wait for approval.

    They are never served, and no other release uses them.
    """
    return _open(settings, watch, settings.staged, "staged", private=True)


def analysed_objects(settings: Settings, watch: StoreWatch | None = None) -> Objects:
    """Return the store of what pages say about releases. It is never served: readers may be allowed to see less."""
    return _open(settings, watch, settings.analyses, "analyses", private=True)


def upload_objects(settings: Settings, watch: StoreWatch | None = None) -> Objects:
    """Return the store of blobs that nothing refers to yet.

    They are never served: they may belong to a publish that is refused.
    """
    return _open(settings, watch, settings.uploads, "uploads", private=True)


def upstream_objects(settings: Settings, watch: StoreWatch | None = None) -> Objects:
    """Return the store of verified files of other registries. The doors serve them, to whom may read them."""
    return _open(settings, watch, settings.upstream_files, "upstream", private=True)


def _open(settings: Settings, watch: StoreWatch | None, folder: Path, part: str, *, private: bool = False) -> Objects:
    if not settings.objects:
        return Folder(folder, private=private)
    from registry_server.storage.bucket import open_bucket

    return open_bucket(settings, part, watch)
