"""The user's cache: what was fetched and verified once, shared by all of their projects."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

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


def prune_cache(older_than: timedelta) -> CacheInfo:
    """Delete what was not used for that long; what was deleted."""
    return _cache().prune(older_than.total_seconds())
