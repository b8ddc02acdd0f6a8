"""Whether a lock is up to date with its manifest, and which of its items a group needs."""

from __future__ import annotations

from collections.abc import Iterable

from rye.errors import RyeError, UsageError
from rye.project.declared_sources import PathSource
from rye.project.forced_versions import forced_range
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest, Wanted


def wanted_key(line: Wanted) -> str:
    """Under what the lock remembers a line: ``group/key`` outside the main group, so that moving between groups counts; of a
    workspace's member after its folder, as ``services/api: key``."""
    key = line.key if line.group == "main" else f"{line.group}/{line.key}"
    return f"{line.member}: {key}" if line.member else key


def source_key(name: str) -> str:
    """Under what the lock remembers a source: no line of dependencies is written like it."""
    return f"source {name}"


def wanted_ranges(manifest: Manifest) -> dict[str, str]:
    """What the lock remembers of the manifest."""
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


def require_fixed(items: Iterable[LockedItem], manifest: Manifest) -> None:
    """That no item comes from an editable folder: its bytes are those of no lock. Raises RyeError ``editable-source``."""
    names = {item.registry for item in items if item.is_editable}
    names |= {one.origin for one in manifest.sources.values() if isinstance(one, PathSource) and one.editable}
    if names:
        raise RyeError(
            "editable-source",
            f"{', '.join(sorted(names))}: items of an editable folder are used as they lie there, so rye.lock fixes nothing.",
            "Take `editable = true` out of [sources] in rye.toml and run `rye install`, which copies and locks them.",
        )


def require_groups(manifest: Manifest, named: frozenset[str]) -> None:
    """That the manifest has these groups. Raises UsageError ``unknown-group``."""
    unknown = named - set(manifest.groups)
    if unknown:
        raise UsageError(
            "unknown-group", f"There is no group {min(unknown)!r}.", f"Groups: {', '.join(manifest.groups)}."
        )


def in_groups(items: Iterable[LockedItem], without: frozenset[str]) -> list[LockedItem]:
    """The items that some group needs which is not left out."""
    return [item for item in items if not set(item.groups) <= without]
