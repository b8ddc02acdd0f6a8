"""The user's cache of fetched and verified files, shared by all of their projects."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import UsageError
from rye.permissions.policy_table import parse_age
from rye.registry.store.cache import Cache
from rye.storage.home import Home

if TYPE_CHECKING:
    from rye.registry.store.cache import CacheInfo


def cache_info(home: Home) -> CacheInfo:
    """The number and size of the cached files."""
    return _with_repositories(Cache(home.registry_cache).info(), _repositories(home))


def clean_cache(home: Home) -> CacheInfo:
    """Delete the cache and the stored results of checks. Return what was deleted. Rye fetches files again when it needs them."""
    home.verdicts().forget()
    gone = _repositories(home)
    cache = Cache(home.registry_cache)
    found = _with_repositories(cache.info(), gone)
    cache.clean()
    for place in gone:
        _remove(place)
    return found


def prune_cache(home: Home, older_than: str) -> CacheInfo:
    """Delete files not used for an age such as ``3d``. Return what was deleted. Raises UsageError ``bad-argument``."""
    age = parse_age(older_than)
    if age is None:
        raise UsageError(
            "bad-argument", f"{older_than!r} is not a valid age.", "Write an age such as 36h, 3d or 2w.", what="age"
        )
    limit = time.time() - age.total_seconds()
    gone = [place for place in _repositories(home) if _last_use(place) < limit]
    found = _with_repositories(Cache(home.registry_cache).prune(age.total_seconds()), gone)
    for place in gone:
        _remove(place)
    return found


def _repositories(home: Home) -> list[Path]:
    folder = home.git_cache
    return sorted(folder.glob("*.git")) if folder.is_dir() else []


def _with_repositories(info: CacheInfo, places: Iterable[Path]) -> CacheInfo:
    """``info`` plus the files of these repositories."""
    sizes = [path.lstat().st_size for place in places for path in place.rglob("*") if path.is_file()]
    return replace(info, objects=info.objects + len(sizes), bytes=info.bytes + sum(sizes))


def _last_use(place: Path) -> float:
    """When the repository was last read or written."""
    times = [path.lstat() for path in (place, *place.glob("objects/pack/*"))]
    return max(max(one.st_mtime, one.st_atime) for one in times)


def _remove(place: Path) -> None:
    if place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)
    place.with_suffix(".lock").unlink(missing_ok=True)
