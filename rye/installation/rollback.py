"""One step back: the lock and manifest before the last change of the lock, kept in the project's work folder.

They are kept and replaced in the same transaction as the lock, so they always fit it. What they say is not believed: going back
resolves nothing, but every byte is fetched, verified and consented to as in any other installation.
"""

from __future__ import annotations

from rye.errors import RyeError
from rye.installation.transaction import Change
from rye.project.layout import LOCK, MANIFEST, Project
from rye.project.lock import Lock, parse_lock

_FOLDER = ".ai/.rye/previous"


def keep_previous(project: Project) -> list[Change]:
    """The changes that keep the present lock and manifest as what ``rye rollback`` returns to."""
    found = []
    for name in (LOCK, MANIFEST):
        source = project.root / name
        found.append(Change(f"{_FOLDER}/{name}", source.read_bytes() if source.exists() else None))
    return found


def previous(project: Project) -> tuple[Lock, str | None]:
    """The lock and the manifest's text before the last installation. Raises RyeError ``nothing-to-roll-back``."""
    folder = project.root / _FOLDER
    lock_file, manifest_file = folder / LOCK, folder / MANIFEST
    if not lock_file.exists() and not manifest_file.exists():
        raise RyeError(
            "nothing-to-roll-back",
            "No earlier installation is remembered here.",
            "Restore rye.lock from version control, then run `rye install`.",
        )
    lock = parse_lock(lock_file.read_text(encoding="utf-8")) if lock_file.exists() else Lock()
    return lock, manifest_file.read_text(encoding="utf-8") if manifest_file.exists() else None
