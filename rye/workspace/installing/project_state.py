"""A project as one run finds it: manifest and lock, as text and as values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.installation.journal import needs_recovery
from rye.installation.transaction import exclusive
from rye.limits import PROJECT
from rye.project.context import read_manifests
from rye.project.layout import LOCK, Project, find_project, no_manifest, read_project_file
from rye.project.lock import Lock, LockedItem, is_conflicted
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest
from rye.project.members import MemberText, joined_text, whole_manifest
from rye.project.ownership import refuse_foreign

if TYPE_CHECKING:
    from rye.workspace.context import Context


def bytes_of(path: Path) -> bytes | None:
    """The content of rye.toml or rye.lock; None if missing. Raises RyeError if it is not a regular file."""
    return read_project_file(path, PROJECT.lock_bytes if path.name == LOCK else PROJECT.manifest_bytes)


def manifest_text_of(project: Project) -> str:
    """The text of the project's manifest, line endings as on disk; empty if missing."""
    return read_manifests(project)[0]


def joined_manifests(project: Project) -> str:
    """The text of the project's and its members' manifests, joined."""
    return joined_text(*read_manifests(project))


class ProjectState(Struct, frozen=True, kw_only=True):
    """What was on disk when the run began. The manifest's text is parsed only if it mentions a workspace, because the run may
    replace it."""

    project: Project
    manifest_text: str
    """Empty if it does not exist; line endings as on disk."""
    lock_bytes: bytes | None
    """None if rye.lock does not exist."""
    lock: Lock
    members: tuple[MemberText, ...] = ()
    """The manifests of a workspace's members."""
    rows: tuple[LockedItem, ...] = ()
    """For a lock with git's conflict markers: the rows of both sides, whose files can be on disk."""
    conflicted: bool = False
    """Whether rye.lock has git's conflict markers, so that it must be rewritten."""

    @property
    def manifest(self) -> Manifest:
        """The project's manifest, with what its members need."""
        return whole_manifest(self.manifest_text, self.members)

    @property
    def joined_manifests(self) -> str:
        """The text of all manifests, joined."""
        return joined_text(self.manifest_text, self.members)

    def require_unchanged(self, command: str) -> None:
        """Raise RyeError ``lock-changed`` if the manifest or lock changed since they were read."""
        now = bytes_of(self.project.lock_path), *read_manifests(self.project)
        if now != (self.lock_bytes, self.manifest_text, self.members):
            raise RyeError(
                "lock-changed",
                "rye.lock or rye.toml was changed by another process, so nothing was written.",
                f"Run `{command}` again.",
            )


def read_state(context: Context, project: Project, *, joins_sides: bool = False) -> ProjectState:
    """Read the project, after undoing an interrupted installation.

    ``joins_sides``: whether to read a lock with git's conflict markers as both sides; otherwise it is a LockError.
    """
    if needs_recovery(project):
        with exclusive(project):
            context.tell("Undid an interrupted installation.")
    require_manifest(project)
    data = bytes_of(project.lock_path)
    if joins_sides and data is not None and b"<<<<<<<" in data:
        from rye.project.lock_conflict import join_sides  # loads version comparison

        text = data.decode("utf-8", "replace")
        if is_conflicted(text):
            joined, (manifest, members) = join_sides(text), read_manifests(project)
            if joined.rows and not whole_manifest(manifest, members).dependencies:
                raise RyeError(
                    "no-manifest",
                    "rye.lock has git's conflict markers and lists items, but rye.toml lists none: a merge lost them.",
                    "Restore rye.toml: `git checkout --ours rye.toml` (or --theirs). If you want no items, delete rye.lock.",
                )
            context.tell("rye.lock has conflict markers; choosing versions again, preferring those of both sides")
            return ProjectState(
                project=project,
                manifest_text=manifest,
                lock_bytes=data,
                lock=joined.lock,
                members=members,
                rows=joined.rows,
                conflicted=True,
            )
    text, members = read_manifests(project)
    return ProjectState(project=project, manifest_text=text, lock_bytes=data, lock=read_lock(project), members=members)


def require_manifest(project: Project) -> None:
    """Raise RyeError ``no-manifest`` for a lock or installed items without a rye.toml: that is an accident, never a wish to
    remove them."""
    if project.manifest_path.exists():
        return
    if project.lock_path.exists() or (project.packages.is_dir() and any(project.packages.iterdir())):
        raise no_manifest()


def undo_interrupted(root: Path) -> None:
    """Restore the project in ``root`` to its state before an interrupted installation.

    If another run is switching, waits until it ends. Raises RyeError, also for another user's project, whose
    journal would otherwise write files as this user.
    """
    refuse_foreign(root)
    with exclusive(Project(root)):
        pass


def manifest_keys(cwd: Path) -> Mapping[str, object]:
    """The tables of the rye.toml at or above a folder; empty if it is missing or invalid, which the command itself reports."""
    try:
        project = find_project(cwd)
        data = read_project_file(project.manifest_path, PROJECT.manifest_bytes) if project is not None else None
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (RyeError, ValueError, RecursionError):
        return {}
