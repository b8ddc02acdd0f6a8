"""A project as one run finds it: manifest and lock, as text and as values."""

from __future__ import annotations

from msgspec import Struct

from rye.errors import RyeError
from rye.installation.transaction import exclusive, needs_recovery
from rye.project.context import no_manifest
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem, is_conflicted
from rye.project.lock_file import read_lock
from rye.project.manifest import parse_manifest
from rye.workspace.context import Context
from rye.workspace.installing.project_texts import bytes_of, manifest_text_of


class ProjectState(Struct, frozen=True):
    """What was on disk when the run began. The manifest's text is not parsed: it may be one that the run replaces."""

    project: Project
    manifest_text: str
    """Empty where there is none; line endings as they are."""
    lock_bytes: bytes | None
    """None where there is no rye.lock."""
    lock: Lock
    rows: tuple[LockedItem, ...] = ()
    """Of a lock with git's conflict markers: the rows of both sides, whose files may be on disk."""
    conflicted: bool = False
    """Whether rye.lock has git's conflict markers, so that it must be written again."""

    def require_unchanged(self, command: str) -> None:
        """That nobody changed manifest or lock since. Raises RyeError ``lock-changed``."""
        now = bytes_of(self.project.lock_path), manifest_text_of(self.project)
        if now != (self.lock_bytes, self.manifest_text):
            raise RyeError(
                "lock-changed",
                "rye.lock or rye.toml was changed by another process; nothing was written.",
                f"Run `{command}` again.",
            )


def read_state(context: Context, project: Project, *, joins_sides: bool = False) -> ProjectState:
    """Read the project, after undoing an installation that was interrupted.

    ``joins_sides``: whether a lock with git's conflict markers is one to choose versions by; otherwise it is a LockError.
    """
    if needs_recovery(project):
        with exclusive(project):
            context.tell("undid an installation that was interrupted")
    require_manifest(project)
    data = bytes_of(project.lock_path)
    if joins_sides and data is not None and b"<<<<<<<" in data:
        from rye.project.lock_conflict import join_sides  # versions are compared there

        text = data.decode("utf-8", "replace")
        if is_conflicted(text):
            joined, manifest = join_sides(text), manifest_text_of(project)
            if joined.rows and not parse_manifest(manifest).dependencies:
                raise RyeError(
                    "no-manifest",
                    "rye.lock has git's conflict markers and names items, and rye.toml asks for none: a merge lost them.",
                    "Restore rye.toml: `git checkout --ours rye.toml` (or --theirs). If nothing is wanted, delete rye.lock.",
                )
            context.tell("rye.lock has conflict markers; versions are chosen again, those of both sides first")
            return ProjectState(project, manifest, data, joined.lock, joined.rows, conflicted=True)
    return ProjectState(project, manifest_text_of(project), data, read_lock(project))


def require_manifest(project: Project) -> None:
    """A lock or installed items without a rye.toml are an accident, never a wish to remove them. Raises RyeError
    ``no-manifest``."""
    if project.manifest_path.exists():
        return
    if project.lock_path.exists() or (project.packages.is_dir() and any(project.packages.iterdir())):
        raise no_manifest()
