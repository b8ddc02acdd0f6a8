"""Making a project: its rye.toml."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.project.layout import MANIFEST
from rye.project.manifest import parse_manifest
from rye.project.new_manifest import new_manifest
from rye.storage.atomic import replace_file


def new_project(root: Path, name: str | None, namespace: str | None) -> Path:
    """Make a project in ``root``, which is made too; its manifest's path. ``name`` None: the folder's.

    Raises UsageError ``bad-name`` and RyeError ``project-exists``.
    """
    if namespace is not None and not is_segment(namespace):
        raise UsageError(
            "bad-name", f"{namespace!r} cannot be a namespace.", "Names: a-z, 0-9, '-' and '_', at most 64."
        )
    manifest = root / MANIFEST
    if manifest.exists():
        raise RyeError("project-exists", f"{manifest} exists.", "Add items with `rye add [KIND:]ID`.")
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, None)
    parse_manifest(text)
    replace_file(manifest, text.encode())
    return manifest
