"""The user's cache: what was fetched and verified once, shared by all of their projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import UsageError
from rye.project.manifest import parse_age
from rye.registry.store.cache import Cache
from rye.storage.folders import cache_dir, data_dir
from rye.storage.verdicts import VERDICTS, Verdicts

if TYPE_CHECKING:
    from rye.registry.store.cache import CacheInfo


def _cache() -> Cache:
    return Cache(cache_dir() / "registry")


def cache_folder() -> Path:
    """Where it is; it may not be there yet."""
    return _cache().folder


def cache_info() -> CacheInfo:
    """How much is in it."""
    return _cache().info()


def clean_cache() -> CacheInfo:
    """Delete everything in it, and what was found when it was checked; what was deleted. What is needed is fetched again."""
    Verdicts(data_dir() / VERDICTS).forget()
    return _cache().clean()


def prune_cache(older_than: str) -> CacheInfo:
    """Delete what was not used for that long, e.g. ``3d``; what was deleted. Raises UsageError ``bad-age``."""
    age = parse_age(older_than)
    if age is None:
        raise UsageError("bad-age", f"{older_than!r} is not an age.", "Write 36h, 3d or 2w.")
    return _cache().prune(age.total_seconds())
