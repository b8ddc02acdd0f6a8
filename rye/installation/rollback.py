"""One step back: the lock and manifest before the last installation, kept in the project's work folder."""

from __future__ import annotations

from rye.errors import RyeError
from rye.project.atomic import replace_file
from rye.project.layout import LOCK, MANIFEST, Project
from rye.project.lock import Lock, parse_lock


def remember(project: Project) -> None:
    """Keep the present lock and manifest as what ``rye rollback`` returns to. Called under the project's lock."""
    folder = project.ai / ".rye" / "previous"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (LOCK, MANIFEST):
        source = project.root / name
        if source.exists():
            replace_file(folder / name, source.read_bytes())
        else:
            (folder / name).unlink(missing_ok=True)


def previous(project: Project) -> tuple[Lock, str | None]:
    """The lock and the manifest's text before the last installation. Raises RyeError ``nothing-to-roll-back``."""
    folder = project.ai / ".rye" / "previous"
    if not folder.is_dir():
        raise RyeError(
            "nothing-to-roll-back",
            "No earlier installation is remembered here.",
            "Restore rye.lock from version control, then run `rye install`.",
        )
    lock_file, manifest_file = folder / LOCK, folder / MANIFEST
    lock = parse_lock(lock_file.read_text(encoding="utf-8")) if lock_file.exists() else Lock()
    return lock, manifest_file.read_text(encoding="utf-8") if manifest_file.exists() else None
