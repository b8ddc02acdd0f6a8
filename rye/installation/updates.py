"""Finds available updates: for each locked item, its version, the newest one that the manifest allows, and the newest
overall.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.installation.environment import Environment
from rye.installation.resolving import latest_version, solve
from rye.installation.sources import History, Sources
from rye.items.identity import Identity
from rye.project.forced_versions import forced_range
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import Unlock
from rye.project.manifest import Manifest
from rye.registry.trust.records import ReleaseRecord
from rye.resolution.outcome import Unsolvable
from rye.resolution.problem import Exclusion
from rye.sources.record import SourceRecord


class Newer(Struct, frozen=True, kw_only=True):
    """One item with a newer version, or whose version is now refused. ``wanted`` None: an update would no longer need it, or
    finds no release that is allowed."""

    identity: Identity
    current: str
    wanted: str | None
    latest: str | None
    refused: str | None = None
    """Why the locked release would be refused today; None if it would not. A yank is not a reason."""
    forced: str | None = None
    """The range that ``[overrides]`` in rye.toml forces on it."""
    yanked: str | None = None
    """Why the publisher withdrew the locked release; empty if no reason was given, None if it was not withdrawn."""
    changed: str | None = None
    """For an item from a source whose files changed under the same version: where they are as an update would take them."""

    @property
    def is_outdated(self) -> bool:
        """Whether there is more to say than that its release was yanked: another version, other files, or a refusal."""
        versions = {self.current, self.wanted, self.latest or self.current}
        return self.refused is not None or self.changed is not None or len(versions) > 1


def newer_versions(manifest: Manifest, lock: Lock, sources: Sources, environment: Environment) -> list[Newer]:
    """Return every locked item whose ``wanted`` (what ``rye update`` would choose) or ``latest`` version differs from the locked
    one, or whose source has other files under that version, and every item that is now refused or was yanked.

    If an update has no solution, e.g. because the policy refuses every release of an item, ``wanted`` is the locked version. It
    is for the items of a registry that does not answer, too; they are shown as they were known before, or left out.
    """
    chosen = _chosen(manifest, lock, sources, environment)
    wanted = {identity: record.version for identity, record in chosen.items()}
    histories = sources.told(item.identity for item in lock.items)
    updates = []
    for item in lock.items:
        history = histories.get(item.identity)
        latest = latest_version(history, environment)
        refused = _refused(history, item, environment)
        allowed = wanted.get(item.identity)
        if refused is not None and allowed == item.version:
            allowed = None
        changed = _changed(item, chosen.get(item.identity)) if allowed == item.version else None
        newer = (allowed or item.version, latest or item.version) != (item.version, item.version)
        yanked = _yanked(history, item)
        if refused is not None or newer or changed is not None or yanked is not None:
            forced = forced_range(manifest.overrides, item.identity)
            updates.append(
                Newer(
                    identity=item.identity,
                    current=item.version,
                    wanted=allowed,
                    latest=latest,
                    refused=refused,
                    forced=forced,
                    yanked=yanked,
                    changed=changed,
                )
            )
    return sorted(updates, key=lambda newer: newer.identity)


def _chosen(
    manifest: Manifest, lock: Lock, sources: Sources, environment: Environment
) -> Mapping[Identity, ReleaseRecord | SourceRecord | LockedItem]:
    """Return what an update would choose; without a solution, the locked items, even if the policy refuses them."""
    for unlock in (Unlock.everything(), Unlock.nothing()):
        try:
            return solve(manifest, lock, sources, environment, unlock).records
        except Unsolvable:
            continue
    return {item.identity: item for item in lock.items}


def _changed(item: LockedItem, chosen: ReleaseRecord | SourceRecord | LockedItem | None) -> str | None:
    """Return where a source has other files of this item: the commit, or the folder."""
    if not isinstance(chosen, SourceRecord):
        return None
    now = chosen.release
    there = {(file.path, file.sha256, file.executable) for file in now.attached}
    here = {(file.path, file.sha256, file.executable) for file in item.attached}
    if (now.file.sha256, there) == (item.sha256, here):
        return None
    return chosen.source.commit or chosen.source.path


def _yanked(history: History | None, item: LockedItem) -> str | None:
    """Return why the publisher withdrew the locked release; None if it did not."""
    for record in history.records if history is not None else ():
        if record.version == item.version and isinstance(record, ReleaseRecord) and record.yank is not None:
            return record.yank.reason
    return None


def _refused(history: History | None, item: LockedItem, environment: Environment) -> str | None:
    """Return why the locked release could no longer be chosen; None if it could."""
    for record in history.records if history is not None else ():
        if record.version == item.version:
            for reason, why in environment.exclusions(record).items():
                if reason is Exclusion.TOO_NEW:
                    return f"younger than minimum-release-age ({why})"
                if reason is Exclusion.HELD:
                    return f"held back {why}"
                if reason is not Exclusion.YANKED:
                    return why
    return None
