"""The project's lock on disk: reading it, where the files of its items are, and how it stands to rye.toml.

* The files of an item are ``.ai/packages/<namespace>/<kind folder>/<category>/<name><suffix>`` (DESIGN §6). An item of an
  editable folder has such a path for messages and lookups, but no file there, so code that reads the path finds nothing.
* Lock and manifest together say whether the lock is up to date, which of its items a group needs, and which of its versions
  may change when versions are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.limits import PROJECT
from rye.project.declared_sources import PathSource
from rye.project.forced_versions import forced_range
from rye.project.layout import Project, read_project_file
from rye.project.lock import Lock, LockedItem, LockError, parse_lock
from rye.project.manifest import Manifest, Requested


def read_lock(project: Project) -> Lock:
    """Return the project's lock; an empty one if the file does not exist. Raises LockError."""
    return _parsed(read_project_file(project.lock_path, PROJECT.lock_bytes))


def read_lock_at(path: Path) -> Lock:
    """Return the lock in this file. Raises RyeError ``no-such-file`` and LockError."""
    data = read_project_file(path, PROJECT.lock_bytes)
    if data is None:
        raise RyeError("no-such-file", f"There is no file {str(path)!r}.", "Check the path.")
    return _parsed(data)


class Locks:
    """The locks of projects, each read once: for a caller that looks at many items of one moment, all of which are then judged by
    the same rows. It saves a read and a hash of the file for each item; parsing is saved by :func:`_parsed`."""

    def __init__(self) -> None:
        self._rows: dict[Path, dict[Identity, LockedItem]] = {}

    def rows(self, project: Project) -> Mapping[Identity, LockedItem]:
        """The rows of a project's lock, by identity. Raises LockError."""
        if project.root not in self._rows:
            self._rows[project.root] = read_lock(project).by_identity()
        return self._rows[project.root]


def editable_rows(project: Project) -> tuple[LockedItem, ...]:
    """Return the rows of editable folders. Most locks have none and are not parsed. Raises LockError."""
    data = read_project_file(project.lock_path, PROJECT.lock_bytes)
    if data is None or b"editable" not in data:
        return ()
    return tuple(row for row in _parsed(data).items if row.is_editable)


@lru_cache(maxsize=2)
def _parsed(data: bytes | None) -> Lock:
    """The lock in these bytes. Kept, because several parts of one command read the same lock, and each must see a file that was
    written meanwhile: an audit reads it four times, a check five times, an install and a deploy twice."""
    try:
        return parse_lock(data.decode("utf-8").replace("\r\n", "\n")) if data is not None else Lock()
    except UnicodeDecodeError:
        raise LockError("it is not UTF-8.") from None


def item_folder(item: LockedItem) -> str:
    """The folder that contains the item's own file, relative to the project, with ``/``."""
    return item_path(item).rpartition("/")[0]


def item_path(item: LockedItem) -> str:
    """The item's own file."""
    kind = KINDS[item.kind]
    namespace, _, local_id = item.id.partition("/")
    place = f".ai/packages/{namespace}/{kind.folder}/{local_id}"
    return f"{place}/{kind.main_file}" if kind.main_file is not None else place + item.suffix


def item_files(item: LockedItem) -> dict[str, tuple[str, bool]]:
    """Map the path of each file of the item → (SHA-256, executable). Empty for an editable item."""
    if item.is_editable:
        return {}
    files = {item_path(item): (item.sha256, False)}
    if item.attached:
        folder = item_folder(item)
        files.update({f"{folder}/{entry.path}": (entry.sha256, entry.executable) for entry in item.attached})
    return files


def wanted_key(line: Requested) -> str:
    """Return a line's key in the lock: ``group/key`` outside the main group, so that moving a line to another group
    counts as a change. For a workspace member the folder comes first: ``services/api: key``.
    """
    key = line.key if line.group == "main" else f"{line.group}/{line.key}"
    return f"{line.member}: {key}" if line.member else key


def source_key(name: str) -> str:
    """Return a source's key in the lock, which no dependency can have."""
    return f"source {name}"


def wanted_ranges(manifest: Manifest) -> dict[str, str]:
    """Return what the lock records about the manifest."""
    ranges = {
        wanted_key(line): line.range + (" (pre-release)" if line.pre_release else "") for line in manifest.dependencies
    }
    if manifest.sources:
        ranges |= {source_key(source.name): source.spec for source in manifest.sources.values()}
    return ranges


def is_stale(lock: Lock, manifest: Manifest) -> bool:
    """Whether the manifest's dependencies or overrides changed since the lock was written."""
    return dict(lock.wanted) != wanted_ranges(manifest) or bool(wrongly_forced(lock.items, manifest))


def wrongly_forced(items: Iterable[LockedItem], manifest: Manifest) -> list[LockedItem]:
    """The items whose forced version in the lock differs from ``[overrides]``."""
    overrides = manifest.overrides
    if not overrides:
        return [item for item in items if item.forced is not None]
    return [item for item in items if item.forced != forced_range(overrides, item.identity)]


def require_lock(project: Project, manifest: Manifest) -> None:
    """Require a lock if rye.toml lists items: without it, nobody knows which versions they are. Raises RyeError ``no-lock``."""
    if manifest.dependencies and not project.lock_path.exists():
        message = "rye.lock does not exist, so nobody knows which versions rye.toml means."
        raise RyeError("no-lock", message, "Run `rye install`, and commit rye.lock.")


def require_fixed(items: Iterable[LockedItem], manifest: Manifest) -> None:
    """Require that no item comes from an editable folder, which the lock does not pin. Raises RyeError ``editable-source``."""
    names = {item.registry for item in items if item.is_editable}
    names |= {one.origin for one in manifest.sources.values() if isinstance(one, PathSource) and one.editable}
    if names:
        raise RyeError(
            "editable-source",
            f"{', '.join(sorted(names))}: items of an editable folder are used in place, so rye.lock does not pin them.",
            "Remove `editable = true` from [sources] in rye.toml and run `rye install`, which copies and pins them.",
        )


def require_groups(manifest: Manifest, named: frozenset[str]) -> None:
    """Require that the manifest has these groups. Raises UsageError ``unknown-name``."""
    unknown = named - set(manifest.groups)
    if unknown:
        raise UsageError(
            "unknown-name",
            f"There is no group {min(unknown)!r}.",
            f"Groups: {', '.join(manifest.groups)}.",
            what="group",
        )


def in_groups(items: Iterable[LockedItem], without: frozenset[str]) -> list[LockedItem]:
    """Return the items that a group outside ``without`` needs."""
    return [item for item in items if not set(item.groups) <= without]


class Unlock(Struct, frozen=True):
    """Created by :meth:`nothing`, :meth:`only` or :meth:`everything`."""

    identities: frozenset[Identity] = frozenset()
    all: bool = False
    exact: tuple[tuple[Identity, str], ...] = ()
    """Items that must get exactly this version; their locked version may change."""

    @classmethod
    def nothing(cls) -> Unlock:
        """Keep every locked version that the manifest allows."""
        return cls()

    @classmethod
    def only(cls, identities: Iterable[Identity]) -> Unlock:
        """Let these items change to another version."""
        return cls(frozenset(identities))

    @classmethod
    def to(cls, versions: Mapping[Identity, str], others: Iterable[Identity] = ()) -> Unlock:
        """Move some items to exactly these versions, and let ``others`` change to any."""
        return cls(frozenset((*versions, *others)), exact=tuple(sorted(versions.items())))

    @classmethod
    def everything(cls) -> Unlock:
        """Let every item change; the locked versions are not preferred."""
        return cls(all=True)

    @property
    def is_nothing(self) -> bool:
        """Whether no locked version may change."""
        return not self.all and not self.identities

    def frees(self, identity: Identity) -> bool:
        """Whether the version of this item may change."""
        return self.all or identity in self.identities
